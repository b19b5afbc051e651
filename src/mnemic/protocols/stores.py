"""What a record is to the flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mnemic.protocols.feed import RecordFeed
from mnemic.protocols.work import ErasureWork, KnowledgeWork, LifecycleWork, RelationWork, VectorWork
from mnemic.types import (
    CatalogDelta,
    Change,
    Event,
    Filters,
    Kind,
    MemoryRecord,
    Message,
    Receipt,
    Stats,
    Stored,
    VerifyReport,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["KeywordIndex", "Store", "VectorIndex"]


class Store(Protocol):
    """The record: every write is a list of changes in one transaction, every question names its user.

    Users are named on the way in and numbered inside; the number comes from ``user``. Records carry a number of their
    own, the *doc*, that grows with time over all kinds and is never used twice. ``mnemic.testing.StoreSuite`` is the full
    statement of what is promised.
    """

    @property
    def location(self) -> str:
        """Where the record is, for people."""
        ...

    def apply(self, user: str, changes: Sequence[Change], *, model: str = "") -> tuple[Receipt, ...]:
        """Apply changes in order, all or nothing; ``model`` names the embedder of the vectors they carry."""
        ...

    @property
    def fence(self) -> str:
        """The word that fences recalled text in prompts, made with the record."""
        ...

    def user(self, name: str) -> int | None:
        """The number of a user, or None when nothing is stored for it."""
        ...

    def last_event(self, user: int) -> int:
        """The newest event that concerns a user."""
        ...

    def catalog(self, user: int, *, after: int, event: int, vectors: bool = True) -> CatalogDelta:
        """What a cache must learn that knows docs up to ``after`` and events up to ``event`` (-1: nothing).

        Without ``vectors`` these are left out, for a cache that does not hold them.
        """
        ...

    def postings(self, user: int, term: str) -> list[int]:
        """Docs with a term, ascending, each as often as the term occurs in it."""
        ...

    def matching(self, user: int, filters: Filters) -> list[int]:
        """Docs whose tags and metadata match."""
        ...

    def fetch(self, user: int, docs: Sequence[int]) -> dict[int, Stored]:
        """Records by doc; those that are gone are missing."""
        ...

    def docs_of(self, user: str, ids: Sequence[str], *, kind: Kind | None = None) -> dict[str, int]:
        """The docs of those ids that this user has, of one kind or of any."""
        ...

    def get(self, user: str, id: str) -> Stored:
        """One record by id; raises NotFound."""
        ...

    def list_memories(
        self, user: str, filters: Filters, *, order: str, limit: int | None, offset: int
    ) -> tuple[MemoryRecord, ...]:
        """Memories, ``newest``, ``oldest`` or by ``importance`` first."""
        ...

    def list_messages(self, user: str, filters: Filters, *, limit: int | None, newest: bool) -> tuple[Message, ...]:
        """Messages in the order they were said; with ``newest`` the limit keeps the last ones."""
        ...

    def history(self, user: str, id: str) -> tuple[Event, ...]:
        """The audit trail of one record, oldest first; raises NotFound."""
        ...

    def stats(self, user: str) -> Stats:
        """Counts."""
        ...

    def verify(self, *, deep: bool = True) -> VerifyReport:
        """Check every invariant."""
        ...

    @property
    def embedding(self) -> VectorWork:
        """The work on vectors."""
        ...

    @property
    def relations(self) -> RelationWork:
        """Links, lineage, and what replaced what."""
        ...

    @property
    def lifecycle(self) -> LifecycleWork:
        """What consolidation works on."""
        ...

    @property
    def knowledge(self) -> KnowledgeWork:
        """What waits to be processed, and what was made of the rest."""
        ...

    @property
    def erasure(self) -> ErasureWork:
        """Letting things go for good."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


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
