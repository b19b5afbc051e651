"""What the indexes over a record are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mnemic.protocols.feed import RecordFeed
from mnemic.types import CatalogDelta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["KeywordIndex", "VectorIndex"]


class KeywordIndex(Protocol):
    """The words of one user's records; ``columns`` is the catalog's snapshot, rows are its positions."""

    def apply(self, delta: CatalogDelta, columns: Any) -> None:
        """Learn of new and changed records."""
        ...

    def postings(self, columns: Any, term: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows that contain a term, ascending, and how often each does."""
        ...

    def occurrences(self, columns: Any, term: str, corpus: Any) -> Any:
        """Where the records of a ``Corpus`` contain a term: an ``Occurrences``."""
        ...

    def scores(self, columns: Any, terms: Sequence[str], corpus: Any) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the corpus alone; zero outside it."""
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """Which vectors are near, for users whose vectors are too many to multiply: approximate, and derived from the record.

    Users with at most ``exact_below`` records are searched exactly and never asked for here, and so are all others while
    the index cannot be asked (``serves``). ``docs`` are those of the record; a doc that is gone, or of another user, is
    passed over by the caller. Nothing here raises because the index is late, damaged or out of reach: the record is
    searched without it. ``mnemic.testing.VectorIndexSuite`` is the full statement of what is promised.
    """

    @property
    def exact_below(self) -> int:
        """Up to how many records of a user are searched without the index."""
        ...

    def open(self, feed: RecordFeed) -> None:
        """Begin to follow a record; called once, before anything else, and must not take long."""
        ...

    def serves(self, model: str | None) -> bool:
        """Whether it can be asked now, about vectors of this model."""
        ...

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> Sequence[int] | None:
        """The docs of a user whose vectors are nearest to a unit vector, about k of them; None when it cannot say."""
        ...

    def waiting(self, user: int) -> Sequence[int] | None:
        """Docs of a user that are committed and may not be in the index yet: they are compared one by one.

        Asked before ``nearest``: what was taken in between is then in both. None when it cannot say.
        """
        ...

    def wake(self) -> None:
        """Something was written: take it in when there is time. Returns at once."""
        ...

    def drain(self, seconds: float | None = None) -> bool:
        """Take in everything now, for at most so long; whether nothing is left that this process could take in."""
        ...

    def erase(self) -> bool:
        """Records were erased for good: leave nothing of them behind; whether that is done."""
        ...

    def findings(self) -> Sequence[str]:
        """What differs from the record, each in a sentence; what does is made anew."""
        ...

    def close(self) -> None:
        """Let go of everything; what is not taken in yet is taken in next time."""
        ...
