"""The store on an SQL engine; each method delegates to the module of its subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from mnemic import types
from mnemic.stores.schema import MESSAGES
from mnemic.stores.sql import changes, consolidation, lifecycle, queries
from mnemic.stores.sql.changes import Transaction
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.integrity import Integrity
from mnemic.stores.sql.lifecycle import Lifecycle
from mnemic.stores.sql.queries import Knowledge, Reader, Relations
from mnemic.stores.sql.transfer import Transfer
from mnemic.stores.sql.vectors import Embedding

__all__ = ["SqlStore"]

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
    types.SetEmotions: changes.set_emotions,
    types.Quarantine: changes.quarantine,
    types.Release: changes.release,
}


def _apply(db: Connection, user: str, wanted: Sequence[types.Change], model: str) -> tuple[types.Receipt, ...]:
    """Apply changes in order, inside the caller's transaction."""
    number = changes.lock_known_user(db, user)
    if number is None:
        # late ones: the name of an erased user stays away
        if all(isinstance(change, types.Touch | types.KeepQuestions) for change in wanted):
            return tuple(types.Receipt(id="", outcome="duplicate", reason="this user has no records") for _ in wanted)
        number = changes.lock_user(db, user)
    transaction = Transaction(db, number, model)
    return tuple(_APPLIED[type(change)](transaction, change) for change in wanted)


class SqlStore(Reader[D]):
    """A record in a database. Safe for several threads and several processes at once.

    Args:
        database: connections to it.
        integrity: the checks of its engine.
    """

    def __init__(self, database: D, integrity: Integrity) -> None:
        super().__init__(database)
        self._integrity = integrity
        self.location = database.name

    def apply(self, user: str, changes: Sequence[types.Change], *, model: str = "") -> tuple[types.Receipt, ...]:
        """Apply changes in one transaction; ``model`` is the embedder of their vectors.

        Raises:
            NotFound: a change names a record this user does not have.
            EmbeddingMismatch: the record holds vectors of another model.
            StoreError: the database cannot be written. On every error nothing was written.
        """
        return self._db.apply(lambda db: _apply(db, user, changes, model))

    @property
    def fence(self) -> str:
        """The word that fences recalled text in prompts: random, and constant for a record."""
        with self._db.read() as db:
            return str(queries.header(db)["fence"])

    def last_event(self, user: int) -> int:
        """The newest event that concerns a user; a cache at this event is current."""
        with self._db.read() as db:
            return queries.last_event(db, user)

    def catalog(
        self, user: int, *, after: int, event: int, used_since: int = 0, vectors: bool = True
    ) -> types.CatalogDelta:
        """The update for a cache that has docs up to ``after`` and events up to ``event`` (-1: an empty cache).

        ``used_since`` is the moment of the last update, in microseconds since 1970.
        """
        with self._db.read() as db, db:
            return queries.catalog(db, user, after=after, event=event, used_since=used_since, vectors=vectors)

    def postings(self, user: int, term: str) -> list[int]:
        """Docs of a user that contain a term, ascending, each repeated by its term frequency."""
        with self._db.read() as db:
            return db.dialect.postings(db, user, term)

    def matching(self, user: int, filters: types.RecordFilter, docs: Sequence[int] | None = None) -> list[int]:
        """Docs, or those among ``docs``, that match the filters which the catalog does not hold, such as tags."""
        with self._db.read() as db:
            return queries.matching(db, user, filters, docs)

    def fetch(self, user: int, docs: Sequence[int]) -> dict[int, types.Stored]:
        """The records of docs, by doc; missing ones are left out."""
        with self._db.read() as db:
            return queries.fetch(db, user, docs)

    def docs_of(self, user: str, ids: Sequence[str], *, kind: types.Kind | None = None) -> dict[str, int]:
        """The docs of the ids that exist for this user, of one kind or any."""
        with self._of(user) as (db, number):
            return queries.docs_of(db, number, ids, kind)

    def get(self, user: str, id: str) -> types.Stored:
        """One record by id, archived or not.

        Raises:
            NotFound: this user has no such record.
        """
        with self._snapshot(user) as (db, number):
            doc = queries.located(db, number, id)
            return queries.fetch(db, number, [doc])[doc]

    def list_memories(
        self, user: str, filters: types.RecordFilter, *, order: str, limit: int | None, offset: int
    ) -> tuple[types.MemoryRecord, ...]:
        """Memories of a user in order."""
        with self._snapshot(user) as (db, number):
            return tuple(queries.list_memories(db, number, filters, order=order, limit=limit, offset=offset))

    def list_messages(
        self, user: str, filters: types.RecordFilter, *, limit: int | None, newest: bool
    ) -> tuple[types.Message, ...]:
        """Messages of a user, oldest first."""
        with self._of(user) as (db, number):
            return tuple(queries.list_by_time(db, number, MESSAGES, filters, limit=limit, newest=newest))

    def history(self, user: str, id: str) -> tuple[types.Event, ...]:
        """The audit trail of one record.

        Raises:
            NotFound: this user has no such record.
        """
        with self._snapshot(user) as (db, number):
            return queries.events(db, number, "doc = ? ORDER BY sequence", (queries.located(db, number, id),))

    def stats(self, user: str) -> types.Stats:
        """Counts of a user's records and pending work."""
        with self._db.read() as db, db:
            return queries.stats(db, user, self.location)

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
        with self._db.consolidation_lock() as free:
            if not free:
                return False
            with self._db.read() as db:  # they may have been released since the last read
                return bool(db.execute("SELECT 1 FROM records WHERE status = 'consolidating' LIMIT 1").fetchall())

    @property
    def embedding(self) -> Embedding:
        """Vectors: missing ones, and the rebuild for another model."""
        return Embedding(self._db)

    @property
    def knowledge(self) -> Knowledge:
        """Queries of processing."""
        return Knowledge(self._db)

    @property
    def relations(self) -> Relations:
        """Queries on links, lineage and supersession."""
        return Relations(self._db)

    @property
    def lifecycle(self) -> Lifecycle:
        """Queries of consolidation and retention."""
        return Lifecycle(self._db)

    @property
    def transfer(self) -> Transfer:
        """Moving users between records."""
        return Transfer(self._db)

    def close(self) -> None:
        """Close every connection."""
        self._db.close()
