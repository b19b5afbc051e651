"""Every error Mnemic raises, in one tree.

Each message says what happened, why, and what to do about it::

    MnemicError
    ├── InvalidInput            (also ValueError)      the caller's value cannot be used
    │   ├── UnknownArgument     (also TypeError)       the method takes no argument of that name
    │   └── TooManyHits                                a description takes too much to be erased unseen
    ├── NotFound                (also LookupError)     no such record for this user
    ├── ConfigurationError                             an argument of the handle is wrong
    │   └── MissingExtra        (also ImportError)     an optional package is not installed
    ├── StoreError                                     the record cannot do its work
    │   ├── StoreUnavailable                           no such folder, no permission, busy too long
    │   ├── StoreReadOnly                              reading works, writing does not
    │   ├── StoreFull                                  the disk has no room; nothing was half-written
    │   ├── StoreCorrupt                               the file is damaged or not ours
    │   ├── StoreClosed                                the handle was closed
    │   ├── SchemaTooNew                               written by a newer Mnemic
    │   ├── SchemaTooOld                               written by a Mnemic before the first release
    │   ├── Conflict                                   somebody else changed it meanwhile; nothing was stored
    │   └── EmbeddingMismatch                          vectors of another model or dimension
    ├── EmbedderError                                  the embedder failed on this input
    │   └── EmbedderUnavailable                        the embedder cannot be had at all
    └── LanguageModelError                             the language model gave no usable answer
        └── LanguageModelUnavailable                   the language model cannot be had at all
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "Conflict",
    "EmbedderError",
    "EmbedderUnavailable",
    "EmbeddingMismatch",
    "InvalidInput",
    "LanguageModelError",
    "LanguageModelUnavailable",
    "MissingExtra",
    "MnemicError",
    "NotFound",
    "SchemaTooNew",
    "SchemaTooOld",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "TooManyHits",
    "UnknownArgument",
]


class MnemicError(Exception):
    """Base of every error raised on purpose by Mnemic."""


class InvalidInput(MnemicError, ValueError):
    """A value from the caller cannot be used; nothing was changed."""


class UnknownArgument(InvalidInput, TypeError):
    """The method takes no argument of that name; nothing was done."""


class TooManyHits(InvalidInput):
    """A description takes more records than are erased without being seen first; nothing was erased."""


class NotFound(MnemicError, LookupError):
    """No such record for this user (records of other users are never told apart from missing ones)."""


class ConfigurationError(MnemicError):
    """An argument given when the handle was made is wrong."""


class MissingExtra(ConfigurationError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, what: str, extra: str, *, package: str = "mnemic") -> None:
        super().__init__(
            f'{what} needs an optional package that is not installed. Run: pip install "{package}[{extra}]"'
        )


class StoreError(MnemicError):
    """The record cannot do its work."""


class StoreUnavailable(StoreError):
    """The store cannot be opened or stayed busy for too long."""


class StoreReadOnly(StoreError):
    """The store can be read but not written."""


class StoreFull(StoreError):
    """There is no room left; the failed write was rolled back as a whole."""


class StoreCorrupt(StoreError):
    """The file is damaged or is not a Mnemic record."""


class StoreClosed(StoreError):
    """The handle was closed before this call."""


class SchemaTooNew(StoreError):
    """The record was written by a newer version of Mnemic."""


class SchemaTooOld(StoreError):
    """The record was written by a version of Mnemic before the first release; export it with that version."""


class Conflict(StoreError):
    """Records changed between reading and writing; nothing was stored. Read again and repeat."""


class EmbeddingMismatch(StoreError):
    """The record holds vectors of another model or dimension."""

    def __init__(self, held: tuple[str, int], offered: tuple[str, int]) -> None:
        super().__init__(
            f"This memory holds vectors of {held[0]!r} ({held[1]} numbers each), the embedder in use makes "
            f"{offered[0]!r} ({offered[1]}). Open it with the first embedder, or call memory.reembed() once with the "
            "new one: nothing is lost, the vectors are made anew."
        )


class EmbedderError(MnemicError):
    """The embedder failed on this input."""


class EmbedderUnavailable(EmbedderError):
    """The embedder cannot be had: no weights, no package or no server."""


class LanguageModelError(MnemicError):
    """The language model gave no usable answer to this question."""


class LanguageModelUnavailable(LanguageModelError):
    """The language model cannot be had: no package, no key, no server, or it did not answer in time."""
