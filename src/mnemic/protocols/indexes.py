"""Protocols of the indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mnemic.protocols.feed import RecordFeed
from mnemic.types import CatalogDelta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
