"""The exceptions of Mnemic.

Each message says what happened, why, and what to do about it::

    MnemicError
    ├── InvalidInput            (also ValueError)      a value of the caller is invalid
    │   ├── UnknownArgument     (also TypeError)       the method takes no argument of that name
    │   └── TooManyHits                                a description matches too many records to erase
    ├── NotFound                (also LookupError)     no such record for this user
    ├── ConfigurationError                             a setting is wrong: an argument, a location, a file
    │   └── MissingExtra        (also ImportError)     an optional package is not installed
    ├── StoreError                                     the store failed
    │   ├── StoreUnavailable                           no such folder, no permission, busy too long
    │   ├── StoreReadOnly                              reading works, writing does not
    │   ├── StoreFull                                  the disk is full; the write was rolled back
    │   ├── StoreCorrupt                               the file is damaged or not a record
    │   ├── WrongKey                                   the record is encrypted under another key, or not at all
    │   ├── StoreClosed                                the handle was closed
    │   ├── SchemaTooNew                               written by a newer Mnemic
    │   ├── SchemaTooOld                               written by an unreleased version of Mnemic
    │   ├── Conflict                                   changed concurrently; the message says what was stored
    │   └── EmbeddingMismatch                          vectors of another model or dimension
    ├── EmbedderError                                  the embedder or the reranker failed on this input
    │   └── EmbedderUnavailable                        the embedder or the reranker is unavailable
    └── LanguageModelError                             the language model gave no usable answer
        └── LanguageModelUnavailable                   the language model is unavailable
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
    "WrongKey",
]


class MnemicError(Exception):
    """Base of every error raised on purpose by Mnemic."""


class InvalidInput(MnemicError, ValueError):
    """A value of the caller is invalid; nothing was changed."""


class UnknownArgument(InvalidInput, TypeError):
    """The method takes no argument of that name; nothing was done."""


class TooManyHits(InvalidInput):
    """A description matches more records than are erased without a preview; nothing was erased."""


class NotFound(MnemicError, LookupError):
    """No such record for this user (records of other users are indistinguishable from missing ones)."""


class ConfigurationError(MnemicError):
    """A setting is invalid: an argument of a constructor or an adapter, a location, a settings file, or the keyring."""


class MissingExtra(ConfigurationError, ImportError):
    """A required optional package is not installed."""

    def __init__(self, what: str, extra: str, *, package: str = "mnemic", run: str | None = None) -> None:
        run = run or f'pip install "{package}[{extra}]"'
        super().__init__(f"{what} needs an optional package that is not installed. Run: {run}")


class StoreError(MnemicError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The store cannot be opened, or was busy for too long."""


class StoreReadOnly(StoreError):
    """The store can be read but not written."""


class StoreFull(StoreError):
    """The disk is full; the write was rolled back."""


class StoreCorrupt(StoreError):
    """The file is damaged or is not a Mnemic record."""


class WrongKey(StoreError):
    """The key is missing or wrong, or a key was given and the record is plain."""


class StoreClosed(StoreError):
    """The handle was closed before this call."""


class SchemaTooNew(StoreError):
    """The record was written by a newer version of Mnemic."""


class SchemaTooOld(StoreError):
    """The record was written by an unreleased version of Mnemic; export it with that version."""


class Conflict(StoreError):
    """The records were changed by someone else in the meantime.

    The message says what was stored (usually nothing) and what to do.
    """


class EmbeddingMismatch(StoreError):
    """The record holds vectors of another model or dimension."""

    def __init__(self, held: tuple[str, int], offered: tuple[str, int]) -> None:
        super().__init__(
            f"This memory holds vectors of {held[0]!r} (dimension {held[1]}), but the embedder in use is {offered[0]!r} "
            f"(dimension {offered[1]}). Open it with the embedder that it was made with (embedder=..., or the settings in "
            "mnemic.toml, which only the commands read), or call memory.admin.reembed() once to recompute all vectors."
        )


class EmbedderError(MnemicError):
    """The embedder or the reranker failed on this input."""


class EmbedderUnavailable(EmbedderError):
    """The embedder or the reranker is unavailable: no weights, no package or no server."""


class LanguageModelError(MnemicError):
    """The language model gave no usable answer."""


class LanguageModelUnavailable(LanguageModelError):
    """The language model is unavailable: no package, no key, no server, or no answer in time."""
