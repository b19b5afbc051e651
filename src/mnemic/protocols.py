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
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total)."""

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


class Model(NamedTuple):
    """The embedder of the stored vectors, and their dimension."""

    name: str
    dimension: int


class Position(NamedTuple):
    """The position of a reader of the record.

    It reads all records with a vector in the order of their docs, then the changes since it began.

    Attributes:
        model: the embedder of the vectors.
        sequence: the number of the last event read, 0 before the first; while it reads the records, of the last one before it
            began.
        at: the time of this event, in microseconds since 1970.
        filled: the last doc read; None once all records were read.
    """

    model: Model
    sequence: int
    at: int
    filled: int | None


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
class Page:
    """Records or changes, and the position after them.

    Attributes:
        position: the next position; the same if there is nothing more.
        entries: the records as they are now, in one snapshot.
        removed: docs without a vector: it is missing, or the record was erased.
        erased: whether some of them were erased.
    """

    position: Position
    entries: Sequence[Entry]
    removed: Sequence[int]
    erased: bool


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
    position has missed nothing before it. Reading a page twice is harmless.
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

    def start(self) -> Position | None:
        """The position of a new reader; None without vectors."""
        ...

    def page(self, position: Position, limit: int) -> Page | None:
        """The next records or changes, at most ``limit``.

        None if a reader at this position must begin anew: an older copy of the record was restored, or all vectors were
        computed again.
        """
        ...

    def waiting(self, user: int, position: Position) -> Sequence[int]:
        """The docs of a user's later events that have a vector."""
        ...

    def sizes(self) -> dict[int, int]:
        """The number of vectors by user."""
        ...

    def wake(self) -> None:
        """Ask for a call of ``VectorIndex.catch_up`` soon. Returns at once."""
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


class VectorSearch(Protocol):
    """An approximate nearest-neighbour search for users with too many vectors for exact search.

    Users with at most ``exact_below`` records are always searched exactly, and so are all others while ``serves`` is False.
    Results are docs of the record; the caller skips erased docs and those of other users. No method raises because the search
    is unavailable: the record is then searched without it.
    """

    @property
    def exact_below(self) -> int:
        """Users with at most this many records are searched without the index."""
        ...

    def serves(self, model: str | None) -> bool:
        """Whether it can be searched now, with vectors of this model."""
        ...

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> Sequence[int] | None:
        """About k docs of a user nearest to a unit vector, best first; None if the search is unavailable.

        Then come committed docs of the user that may not be indexed yet: the caller compares all docs exactly.
        """
        ...


@runtime_checkable
class VectorIndex(VectorSearch, Protocol):
    """An index derived from the record, which may be stale, damaged or unreachable at any time.

    ``mnemic_testing.VectorIndexSuite`` is the full specification.
    """

    def open(self, feed: RecordFeed) -> None:
        """Start to follow a record; called once, before anything else. Must return quickly.

        Raises:
            StoreUnavailable: the index cannot be used by this handle; the record is searched exactly.
        """
        ...

    def catch_up(self) -> bool:
        """Index the next changes, a few hundred at most; returns whether there may be more.

        Called by a background thread soon after each commit, and to wait for the index.

        Raises:
            StoreError: the index or the record is unavailable; called again later.
        """
        ...

    def erase(self) -> bool:
        """Remove everything of erased records; returns whether that is done.

        Raises:
            StoreError: the index is unavailable.
        """
        ...

    def findings(self) -> Sequence[str]:
        """Differences from the record, one line each; they are repaired.

        Raises:
            StoreError: the index or the record is unavailable.
        """
        ...

    def close(self) -> None:
        """Close the index; pending changes are indexed next time."""
        ...
