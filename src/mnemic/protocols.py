"""Protocols between the components: any class with these methods fits, without inheritance.

Of models: embedders, rerankers and tokenizers. Of a record for a derived index: its feed, an initial full read, then
changes. Of the indexes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from mnemic.types import CatalogDelta, Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
    Floats: TypeAlias = NDArray[np.float32]

TokenCounter: TypeAlias = Callable[[str], int]
"""Returns the number of tokens of a text."""

InputKind = Literal["query", "document"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def id(self) -> str:
        """Model and variant. Stored in the record, so it must be constant for the same vectors."""
        ...

    @property
    def dimension(self) -> int | None:
        """The dimension of the vectors; None while the model is not loaded."""
        ...

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts.

        Args:
            texts: any number of strings, possibly none.
            kind: ``document`` for stored texts, ``query`` for queries; used by models with prefixes.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            EmbedderUnavailable: the model is unavailable; the caller may store the text and embed later.
            EmbedderError: this input cannot be embedded.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """Rescores the first hits."""

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """How well each text answers the query: float32 of shape (len(texts),), higher is better."""
        ...


class Mark(NamedTuple):
    """The position of a reader: number and time (microseconds since 1970) of an event. (0, 0) is before the first."""

    sequence: int
    at: int


class Model(NamedTuple):
    """The embedder of the stored vectors, and their dimension."""

    name: str
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One record for an index.

    ``tier`` is its tier; an archived record keeps the tier it had.
    """

    doc: int
    user: int
    tier: Literal["short_term", "long_term"]
    stored: Stored
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Records in one snapshot, and the model of their vectors.

    ``without_vector`` are the requested docs that have no vector yet, ``gone`` those that were erased.
    """

    model: Model | None
    entries: Sequence[Entry] = ()
    without_vector: Sequence[int] = ()
    gone: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The distinct docs of some events, and the last of these events.

    ``reembedded``: one of the events is a reembed of the whole record, possibly by a model of the same name.
    """

    until: Mark
    docs: Sequence[int] = ()
    reembedded: bool = False


class Lock(Protocol):
    """A lock held by one handle at a time; it ends with its process or its connection."""

    @property
    def held(self) -> bool:
        """Whether this handle holds the lock."""
        ...

    def acquire(self) -> bool:
        """Acquire the lock if it is free; returns whether this handle holds it."""
        ...

    def release(self) -> None:
        """Release the lock, if this handle holds it."""
        ...


class RecordFeed(Protocol):
    """The record as an outbox.

    Every change writes an event in its transaction, and events become visible in the order of their numbers: a reader at a
    mark has missed nothing before it. Reading an event twice is harmless.
    """

    @property
    def name(self) -> str:
        """The unique, constant name of the record."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder of the record, for files of the index; None in RAM and on a server."""
        ...

    def lock(self, what: str) -> Lock:
        """A named lock on this record, exclusive among all handles on all machines."""
        ...

    def model(self) -> Model | None:
        """The embedder of the stored vectors; None without vectors."""
        ...

    def last(self) -> Mark:
        """The newest event of all users."""
        ...

    def holds(self, mark: Mark) -> bool:
        """Whether this mark belongs to this record: it does not after an older copy was restored."""
        ...

    def changes(self, after: int, limit: int) -> Changed:
        """The docs of the next events, at most ``limit``."""
        ...

    def docs(self, after: int, limit: int) -> Sequence[int]:
        """The next docs with a vector, ascending."""
        ...

    def entries(self, docs: Sequence[int]) -> Entries:
        """These records, in one snapshot."""
        ...

    def gone(self, after: int) -> Sequence[int]:
        """The docs of events after a number that no longer exist: they were erased."""
        ...

    def waiting(self, user: int, after: int) -> Sequence[int]:
        """The docs of a user's events after a number that have a vector."""
        ...

    def sizes(self) -> dict[int, int]:
        """The number of vectors by user."""
        ...

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function after each commit of this process; it must return at once."""
        ...


class KeywordIndex(Protocol):
    """A keyword index of one user's records; ``columns`` is a snapshot of the catalog, rows are positions in it."""

    def apply(self, delta: CatalogDelta, columns: Any) -> None:
        """Apply new and changed records."""
        ...

    def postings(self, columns: Any, term: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows that contain a term, ascending, and its frequency in each."""
        ...

    def occurrences(self, columns: Any, term: str, corpus: Any) -> Any:
        """The ``Occurrences`` of a term in a ``Corpus``."""
        ...

    def scores(self, columns: Any, terms: Sequence[str], corpus: Any) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the corpus alone; zero outside it."""
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """An approximate nearest-neighbour index for users with too many vectors for exact search, derived from the record.

    Users with at most ``exact_below`` records are always searched exactly, and so are all others while ``serves`` is False.
    Results are docs of the record; the caller skips erased docs and those of other users. No method raises because the index
    is stale, damaged or unreachable: the record is then searched without it. ``mnemic_testing.VectorIndexSuite`` is the full
    specification.
    """

    @property
    def exact_below(self) -> int:
        """Users with at most this many records are searched without the index."""
        ...

    def open(self, feed: RecordFeed) -> None:
        """Start to follow a record; called once, before anything else. Must return quickly."""
        ...

    def serves(self, model: str | None) -> bool:
        """Whether it can be searched now, with vectors of this model."""
        ...

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> Sequence[int] | None:
        """About k docs of a user nearest to a unit vector; None if the index is unavailable."""
        ...

    def waiting(self, user: int) -> Sequence[int] | None:
        """Committed docs of a user that may not be indexed yet: the caller compares them exactly.

        Called before ``nearest``, so that docs indexed in between are in both. None if the index is unavailable.
        """
        ...

    def wake(self) -> None:
        """Notify the index of a write, to be indexed in the background. Returns at once."""
        ...

    def drain(self, seconds: float | None = None) -> bool:
        """Index all pending changes now, within ``seconds``; returns whether this process has none left."""
        ...

    def erase(self) -> bool:
        """Remove everything of erased records; returns whether that is done."""
        ...

    def findings(self) -> Sequence[str]:
        """Differences from the record, one line each; they are repaired."""
        ...

    def close(self) -> None:
        """Close the index; pending changes are indexed next time."""
        ...
