"""What a record is to the flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mnemic.protocols.work import KnowledgeWork, LifecycleWork, RelationWork, VectorWork
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

__all__ = ["KeywordIndex", "Store"]


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

    def catalog(self, user: int, *, after: int, event: int) -> CatalogDelta:
        """What a cache must learn that knows docs up to ``after`` and events up to ``event`` (-1: nothing)."""
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

    def scores(self, columns: Any, terms: Sequence[str], corpus: NDArray[np.bool_]) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the ``corpus`` rows alone; zero outside them."""
        ...
