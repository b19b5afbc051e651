"""Changes to rows: everything one change touches, inside the transaction it is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mnemic.errors import EmbeddingMismatch, NotFound
from mnemic.stores.sqlite import rows
from mnemic.stores.sqlite.connection import Connection
from mnemic.text.canonical import to_json
from mnemic.text.clock import now, to_micros
from mnemic.types import AddMemory, AddMessage, Archive, Change, Indexing, MemoryRecord, Receipt, Restore, Revise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["apply", "check_header", "put_vector", "user_number"]


def user_number(db: Connection, name: str) -> int:
    """The number of a user, made on first sight."""
    row = db.execute("SELECT user FROM users WHERE name = ?", (name,)).fetchone()
    return row[0] if row else db.execute("INSERT INTO users(name) VALUES(?) RETURNING user", (name,)).fetchone()[0]


def check_header(db: Connection, model: str, dimension: int, *, claim: bool) -> None:
    """Refuse vectors of another model; the first model that writes one claims the record."""
    held = dict(db.execute("SELECT key, value FROM header WHERE key IN ('model', 'dimension')").fetchall())
    if not held and claim:
        db.execute("INSERT INTO header VALUES('model', ?), ('dimension', ?)", (model, dimension))
    elif held and (held["model"], held["dimension"]) != (model, dimension):
        raise EmbeddingMismatch((held["model"], held["dimension"]), (model, dimension))


def put_vector(db: Connection, user: int, doc: int, vector: NDArray[np.float32]) -> None:
    """Store one vector as float16: half the bytes, and no measurable loss in ranking."""
    blob = vector.astype("<f2").tobytes()
    db.execute("INSERT OR REPLACE INTO vectors(user, doc, vector) VALUES(?, ?, ?)", (user, doc, blob))


class _Writer:
    """One transaction: the connection, the user and the moment that all its changes share."""

    def __init__(self, db: Connection, user: int, model: str) -> None:
        self.db, self.user, self.model = db, user, model
        self.checked_dimension = 0
        self.at = to_micros(now())

    def _next_doc(self) -> int:
        sql = "UPDATE header SET value = value + 1 WHERE key = 'next_doc' RETURNING value - 1"
        return self.db.execute(sql).fetchone()[0]

    def _event(self, operation: str, doc: int, id: str, version: int = 1, **detail: object) -> None:
        self.db.execute(
            "INSERT INTO events(user, at, operation, doc, id, version, detail) VALUES(?, ?, ?, ?, ?, ?, ?)",
            (self.user, self.at, operation, doc, id, version, to_json(detail)),
        )

    def _index(self, doc: int, indexing: Indexing) -> tuple[str, ...]:
        """Full text and vector; what cannot be done yet is noted and returned."""
        terms = " ".join(f"{self.user}:{term}" for term in indexing.terms)
        self.db.execute("INSERT INTO fulltext(rowid, terms) VALUES(?, ?)", (doc, terms))
        if indexing.vector is None:
            self.db.execute(
                "INSERT OR REPLACE INTO pending(task, doc, user, since) VALUES('embed', ?, ?, ?)",
                (doc, self.user, self.at),
            )
            return ("embed",)
        if len(indexing.vector) != self.checked_dimension:
            check_header(self.db, self.model, len(indexing.vector), claim=True)
            self.checked_dimension = len(indexing.vector)
        put_vector(self.db, self.user, doc, indexing.vector)
        return ()

    def _unindex(self, doc: int) -> None:
        self.db.execute("DELETE FROM fulltext WHERE rowid = ?", (doc,))
        for table in ("vectors", "vectors_next"):
            self.db.execute(f"DELETE FROM {table} WHERE user = ? AND doc = ?", (self.user, doc))
        self.db.execute("DELETE FROM pending WHERE task = 'embed' AND doc = ?", (doc,))

    def _insert(self, table: str, columns: str, values: tuple[object, ...]) -> bool:
        """Insert a row unless its id is taken; whether it was inserted."""
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table}({columns}) VALUES({marks}) ON CONFLICT(user, id) DO NOTHING RETURNING 1"
        return bool(self.db.execute(sql, values).fetchall())

    def _known_message(self, id: str, content: str) -> Receipt:
        (held,) = self.db.execute("SELECT hash FROM messages WHERE user = ? AND id = ?", (self.user, id)).fetchone()
        if held == rows.message_hash(content):
            return Receipt(id=id, outcome="duplicate", reason="a message with this id and content is stored")
        return Receipt(
            id=id,
            outcome="rejected",
            reason="another message has this id; messages are never rewritten: give the new one an id of its own",
        )

    def add_message(self, change: AddMessage) -> Receipt:
        message = change.message
        assert message.id is not None
        if self._memory(message.id):
            return Receipt(
                id=message.id, outcome="rejected", reason="a memory has this id: give the message one of its own"
            )
        doc = self._next_doc()
        if not self._insert("messages", rows.MESSAGE_COLUMNS, rows.message_row(change, doc, self.user, self.at)):
            return self._known_message(message.id, message.content)
        pending = self._index(doc, change.indexing)
        self._event("add", doc, message.id)
        return Receipt(id=message.id, outcome="stored", pending=pending)

    def add_memory(self, change: AddMemory) -> Receipt:
        record = change.record
        if (held := self._find(record.id)) and not self._is(record, held):
            reason = "another record of this user has this id, or the memory it names was forgotten: restore() brings it back"
            return Receipt(id=record.id, outcome="rejected", reason=reason)
        same = (record.id,) if held else self._live_twin(record.project, record.session, record.content)
        if same:
            reason = "the same statement is already remembered at this level"
            return Receipt(id=str(same[0]), outcome="duplicate", reason=reason)
        doc = self._next_doc()
        self._insert("memories", rows.MEMORY_COLUMNS, rows.memory_row(record, doc, self.user, change.indexing))
        self._add_lineage(doc, record.source_ids)
        pending = self._index(doc, change.indexing)
        self._event("remember", doc, record.id)
        return Receipt(id=record.id, outcome="stored", pending=pending)

    def _memory(self, id: str) -> bool:
        return bool(self.db.execute("SELECT 1 FROM memories WHERE user = ? AND id = ?", (self.user, id)).fetchall())

    def _is(self, record: MemoryRecord, held: tuple[str, int, str, int]) -> bool:
        """Whether a stored record is this very memory, live and at the same level."""
        table, doc, status, _ = held
        sql = "SELECT hash, project, session FROM memories WHERE doc = ?"
        level = (rows.content_hash(record.content), record.project, record.session)
        return table == "memories" and status != "archived" and self.db.execute(sql, (doc,)).fetchone() == level

    def _live_twin(self, project: str | None, session: str | None, content: str) -> tuple[Any, ...] | None:
        return self.db.execute(
            "SELECT id FROM memories WHERE user = ? AND ifnull(project, '') = ? AND ifnull(session, '') = ? "
            "AND hash = ? AND status != 'archived'",
            (self.user, project or "", session or "", rows.content_hash(content)),
        ).fetchone()

    def _add_lineage(self, doc: int, source_ids: tuple[str, ...]) -> None:
        for source in source_ids:
            parent = self._find(source)
            if parent is None:
                raise NotFound(f"The source {source!r} of a memory does not exist for this user; nothing was stored.")
            self.db.execute("INSERT OR IGNORE INTO lineage(child, parent) VALUES(?, ?)", (doc, parent[1]))

    def _find(self, id: str) -> tuple[str, int, str, int] | None:
        """Table, doc, status and version of an id of this user."""
        for table in ("memories", "messages", "episodes"):
            sql = f"SELECT doc, status, version FROM {table} WHERE user = ? AND id = ?"
            if row := self.db.execute(sql, (self.user, id)).fetchone():
                return table, *row
        return None

    def _required(self, id: str) -> tuple[str, int, str, int]:
        found = self._find(id)
        if found is None:
            raise NotFound(f"This user has no record with the id {id!r}.")
        return found

    def revise(self, change: Revise) -> Receipt:
        record = change.record
        _, doc, status, version = self._required(record.id)
        if version == record.version:
            return Receipt(id=record.id, outcome="duplicate", reason="this version is already stored")
        if version != record.version - 1 or status == "archived":
            reason = "the memory was archived or changed meanwhile; read it again and repeat the update"
            return Receipt(id=record.id, outcome="rejected", reason=reason)
        twin = self._live_twin(record.project, record.session, record.content)
        if twin and twin[0] != record.id:
            return Receipt(id=record.id, outcome="rejected", reason=f"the memory {twin[0]!r} already says this")
        old = self.db.execute(f"SELECT {rows.MEMORY_COLUMNS} FROM memories WHERE doc = ?", (doc,)).fetchone()
        kept = dict(zip(rows.MEMORY_COLUMNS.split(", "), old, strict=True)) | {"hash": None}
        self.db.execute("INSERT INTO versions VALUES(?, ?, ?, ?)", (doc, version, self.at, json.dumps(kept)))
        names = rows.MEMORY_COLUMNS.split(", ")
        values = rows.memory_row(record, doc, self.user, change.indexing)
        assignments = ", ".join(f"{name} = ?" for name in names[1:])
        self.db.execute(f"UPDATE memories SET {assignments} WHERE doc = ?", (*values[1:], doc))
        self._unindex(doc)
        pending = self._index(doc, change.indexing)
        self._event("update", doc, record.id, record.version)
        return Receipt(id=record.id, outcome="stored", pending=pending)

    def archive(self, change: Archive) -> Receipt:
        table, doc, status, version = self._required(change.id)
        if status == "archived":
            return Receipt(id=change.id, outcome="duplicate", reason="already archived")
        sql = f"UPDATE {table} SET tier_before = status, status = 'archived' WHERE doc = ?"
        self.db.execute(sql, (doc,))
        self._event("archive", doc, change.id, version, reason=change.reason)
        return Receipt(id=change.id, outcome="stored")

    def restore(self, change: Restore) -> Receipt:
        table, doc, status, version = self._required(change.id)
        if status != "archived":
            return Receipt(id=change.id, outcome="duplicate", reason="not archived")
        if table == "memories":
            project, session, content = self.db.execute(
                "SELECT project, session, content FROM memories WHERE doc = ?", (doc,)
            ).fetchone()
            if twin := self._live_twin(project, session, content):
                return Receipt(id=change.id, outcome="rejected", reason=f"the memory {twin[0]!r} already says this")
        sql = f"UPDATE {table} SET status = ifnull(tier_before, 'short_term'), tier_before = NULL WHERE doc = ?"
        self.db.execute(sql, (doc,))
        self._event("restore", doc, change.id, version)
        return Receipt(id=change.id, outcome="stored")

    def change(self, change: Change) -> Receipt:
        match change:
            case AddMessage():
                return self.add_message(change)
            case AddMemory():
                return self.add_memory(change)
            case Revise():
                return self.revise(change)
            case Archive():
                return self.archive(change)
            case Restore():
                return self.restore(change)


def apply(db: Connection, user: str, changes: Sequence[Change], model: str) -> tuple[Receipt, ...]:
    """Apply changes in order; the caller's transaction makes them all or nothing."""
    writer = _Writer(db, user_number(db, user), model)
    return tuple(writer.change(change) for change in changes)
