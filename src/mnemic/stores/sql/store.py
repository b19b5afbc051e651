"""The store on an SQL engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from mnemic import types
from mnemic.protocols import VectorSearch
from mnemic.stores.sql import changes, consolidation, lifecycle, queries
from mnemic.stores.sql.changes import Transaction
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.integrity import Integrity
from mnemic.stores.sql.lifecycle import Lifecycle
from mnemic.stores.sql.queries import Knowledge, Records
from mnemic.stores.sql.relations import Relations
from mnemic.stores.sql.statistics import Statistics
from mnemic.stores.sql.sync import SyncedRows
from mnemic.stores.sql.transfer import Transfer
from mnemic.stores.sql.vectors import Embedding

D = TypeVar("D", bound=Database)


_APPLIED: Mapping[type[types.Change], Callable[[Transaction, Any], types.Receipt]] = {
    types.AddMessage: changes.add_message,
    types.AddMemory: changes.add_memory,
    types.AddEpisode: changes.add_episode,
    types.MarkProcessed: changes.mark_processed,
    types.Revise: changes.revise,
    types.Supersede: changes.supersede,
    types.PutLink: changes.put_link,
    types.DropLink: changes.drop_link,
    types.Archive: changes.archive,
    types.Restore: changes.restore,
    types.Consolidate: consolidation.consolidate,
    types.MarkConsolidating: consolidation.mark_consolidating,
    types.Undo: consolidation.undo,
    types.Touch: consolidation.record_access,
    types.KeepQuestions: lifecycle.keep_questions,
    types.KeepContexts: lifecycle.keep_contexts,
    types.SetEmotions: changes.set_emotions,
    types.Quarantine: changes.quarantine,
    types.Release: changes.release,
}


def _apply(db: Connection, user: str, batch: Sequence[types.Change]) -> tuple[types.Receipt, ...]:
    """Apply changes in order, inside the caller's transaction."""
    user_id = changes.lock_known_user(db, user)
    if user_id is None:
        # late ones: the name of an erased user stays away
        if all(isinstance(change, types.Touch | types.KeepQuestions | types.KeepContexts) for change in batch):
            return tuple(types.Receipt(id="", outcome="duplicate", reason="this user has no records") for _ in batch)
        user_id = changes.lock_user(db, user)
    transaction = Transaction(db, user_id)
    return tuple(_APPLIED[type(change)](transaction, change) for change in batch)


class SqlStore(Records[D]):
    """A record in a database. Safe for several threads and several processes at once.

    Args:
        database: connections to it.
        integrity: the checks of its engine.

    Attributes:
        location: the place of the record, for messages.
        embedding: vectors: missing ones, and the rebuild for another model.
        knowledge: queries of processing.
        relations: queries on links, lineage and supersession.
        lifecycle: queries of consolidation and retention.
        statistics: counts of records.
        transfer: moving users between records.
        synced: the records of a user that two devices share.
    """

    def __init__(self, database: D, integrity: Integrity) -> None:
        super().__init__(database)
        self._integrity = integrity
        self.location = database.name
        self.embedding = Embedding(database)
        self.knowledge = Knowledge(database)
        self.relations = Relations(database)
        self.lifecycle = Lifecycle(database)
        self.statistics = Statistics(database)
        self.transfer = Transfer(database)
        self.synced = SyncedRows(database)

    def apply(self, user: str, changes: Sequence[types.Change]) -> tuple[types.Receipt, ...]:
        """Apply changes in one transaction.

        Raises:
            NotFound: a change names a record this user does not have.
            EmbeddingMismatch: the record holds vectors of another model.
            StoreError: the database cannot be written. On every error nothing was written.
        """
        return self._db.apply(lambda db: _apply(db, user, changes))

    @property
    def fence(self) -> str:
        """The word that fences recalled text in prompts: random, and constant for a record."""
        with self._db.read() as db:
            return str(queries.header(db)["fence"])

    @property
    def index(self) -> VectorSearch | None:
        """The vector index of the engine, for users with too many vectors for exact search; None if it has none."""
        return None

    def verify(self, *, deep: bool = True) -> types.VerifyReport:
        """Check every invariant of the record; ``deep`` also checks texts, full text, vectors and what filters use."""
        with self._db.read() as db, db:
            return self._integrity.verify(db, deep=deep, idle=self._idle)

    def repair(self) -> tuple[str, ...]:
        """Repair what is safe, with all other writers excluded; returns a line for each repair."""
        idle = self._idle()
        with self._db.write() as db:
            return tuple(self._integrity.repair(db, idle=idle))

    def _idle(self) -> bool:
        """Whether memories are claimed although no consolidation is running."""
        with self.lifecycle.exclusive() as free:
            return free and self.lifecycle.has_claims()  # they may have been released since the last read

    def close(self) -> None:
        """Close every connection."""
        self._db.close()
