"""Changes to records and links. Every function runs inside the given transaction."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from mnemic import types
from mnemic.errors import Conflict, EmbeddingMismatch, InvalidInput, NotFound
from mnemic.stores.schema import LIVE, NOT_ENDED, RECORDS
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.connection import Connection, Cursor
from mnemic.stores.sql.queries import AMONG, LEVEL, Statement
from mnemic.stores.sql.tombstones import last_erased, owner_of
from mnemic.stores.sql.trails import UNCHANGED
from mnemic.text.values import counted, from_micros, now, to_json, to_micros
from mnemic.types import Receipt
from mnemic.types.literals import TRANSITIONS, UNTRUSTED
from mnemic.types.records import is_trusted
from mnemic.vectors import packed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RESTATED_BY_TRUSTED = "said by a source that is trusted"
OTHER_VALUE = "it gives another value of the same thing"
"""Reasons of supersessions."""

SPREAD = 100_000
"""Microseconds within which an event follows one of a clock that is ahead."""


class StoredRecord(NamedTuple):
    """What changes need to know of a record; ``since`` is the start of its validity."""

    doc: int
    kind: str
    id: str
    status: str
    version: int
    hash: bytes
    project: str | None
    session: str | None
    key: str | None
    invalid_at: int | None
    delete_after: int | None
    expired_at: int | None
    since: int

    def holds(self, moment: int) -> bool:
        """Whether it has not ended at a time (microseconds since 1970)."""
        ends = (self.invalid_at, self.delete_after)
        return self.expired_at is None and all(end is None or end > moment for end in ends)

    @property
    def is_archived(self) -> bool:
        """Whether it was forgotten, absorbed or quarantined."""
        return rows.public_status(self.status) == "archived"


_ENDS = "(m.expired_at IS NOT NULL OR m.invalid_at IS NOT NULL)"
"""Whether a memory has ended, or will."""

_SELECT = f"""SELECT {", ".join(StoredRecord._fields[:-1])}, coalesce(valid_at, said_at, created_at) FROM records"""


def check_header(db: Connection, model: str, dimension: int, *, claim: bool) -> None:
    """Refuse vectors of another model; with ``claim`` the first model is entered in the header."""
    stored_model = queries.model_of(db)
    if stored_model is None and claim:
        sql = "INSERT INTO header VALUES('dimension', ?), ('model', ?) ON CONFLICT DO NOTHING RETURNING 1"
        if db.execute(sql, (str(dimension), model)).fetchall():
            db.dialect.set_dimension(db, "vectors", dimension)
        else:  # another writer was first
            stored_model = queries.model_of(db)
    if stored_model is not None and stored_model != (model, dimension):
        raise EmbeddingMismatch(stored_model, (model, dimension))


def lock_known_user(db: Connection, name: str) -> int | None:
    """The number of a user; other writers of it wait until the transaction ends. None, without a write, for an unknown one."""
    row = db.execute(f"SELECT user_id FROM users WHERE name = ? {db.dialect.user_lock}", (name,)).fetchone()
    return row[0] if row else None


def lock_user(db: Connection, name: str) -> int:
    """Like ``lock_known_user``; a new user is created."""
    while (user_id := lock_known_user(db, name)) is None:  # another writer may create it first
        sql = "INSERT INTO users(name) VALUES(?) ON CONFLICT DO NOTHING RETURNING user_id"
        if row := db.execute(sql, (name,)).fetchone():
            return row[0]
    return user_id


def set_header(db: Connection, **values: object) -> None:
    """Write header entries."""
    for key, value in values.items():
        sql = "INSERT INTO header VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
        db.execute(sql, (key, str(value)))


def put_vector(
    db: Connection,
    user_id: int,
    doc: int,
    vector: NDArray[np.float32] | None,
    passages: NDArray[np.float32] | None,
    *,
    table: str = "vectors",
) -> None:
    """Store a vector and those of the passages; None marks a record whose text the model rejects."""
    sql = f"""INSERT INTO {table}(user_id, doc, vector, passages) VALUES(?, ?, ?, ?)
        ON CONFLICT(user_id, doc) DO UPDATE SET vector = excluded.vector, passages = excluded.passages"""
    blob = None if passages is None or not len(passages) else packed(passages)
    db.execute(sql, (user_id, doc, None if vector is None else db.dialect.bind_vector(vector), blob))


def drop_pending(db: Connection, task: str, doc: int) -> bool:
    """Remove a pending task; returns whether there was one."""
    return bool(db.execute("DELETE FROM pending WHERE task = ? AND doc = ? RETURNING 1", (task, doc)).fetchall())


def delete_link(db: Connection, source: int, target: int, kind: str) -> None:
    """Remove a link."""
    db.execute("DELETE FROM links WHERE source = ? AND target = ? AND type = ?", (source, target, kind))


def insert(db: Connection, table: str, row: Mapping[str, object], rest: str = "") -> Cursor:
    """Insert a row given by column; ``rest`` is the SQL after it."""
    sql = f"INSERT INTO {table}({', '.join(row)}) VALUES({', '.join('?' * len(row))}) {rest}"
    return db.execute(sql, tuple(row.values()))


class Transaction:
    """The connection, user and time that all changes of one transaction share.

    ``aliases`` are the ids of memories that were not stored, with those of their duplicates. ``shared_detail`` is
    added to the detail of every event.
    """

    def __init__(self, db: Connection, user_id: int) -> None:
        self.db, self.user_id = db, user_id
        self.now = to_micros(now())
        self._checked = ("", 0)
        self.shared_detail: dict[str, object] = {}
        self._owner: bytes | None = None
        self._last: dict[int, int] = {}
        self.aliases: dict[str, str] = {}

    def event(
        self,
        operation: str,
        doc: int | None = None,
        id: str | None = None,
        version: int | None = None,
        **detail: object,
    ) -> None:
        """Write an event; caches follow events."""
        moment = self.now if doc is None else self._next_time(doc)
        self.db.execute(
            "INSERT INTO events(user_id, at, operation, doc, id, version, detail) VALUES(?, ?, ?, ?, ?, ?, ?)",
            (self.user_id, moment, operation, doc, id, version, to_json(self.shared_detail | detail)),
        )

    def _next_time(self, doc: int) -> int:
        """A time after all events of a record, whichever clock wrote them: events are ordered by it on every device."""
        if doc not in self._last:
            (last,) = self.db.execute("SELECT coalesce(max(at), 0) FROM events WHERE doc = ?", (doc,)).fetchone()
            # Two devices whose clocks are behind must not choose the same time.
            self._last[doc] = last if last < self.now else last + secrets.randbelow(SPREAD)
        self._last[doc] = max(self.now, self._last[doc] + 1)
        return self._last[doc]

    def index(self, doc: int, indexing: types.Indexing) -> tuple[str, ...]:
        """Store full text and vector; returns the tasks that stay pending."""
        self.db.dialect.index(self.db, self.user_id, doc, indexing.terms)
        if indexing.vector is None:
            self.add_pending("embed", doc)
            return ("embed",)
        made_by = indexing.model, len(indexing.vector)
        if made_by != self._checked:
            check_header(self.db, *made_by, claim=True)
            self._checked = made_by
        put_vector(self.db, self.user_id, doc, indexing.vector, indexing.passages)
        return ()

    def unindex(self, doc: int) -> None:
        """Remove a record from full text and vectors."""
        self.db.dialect.unindex(self.db, doc)
        for table in ("vectors", "vectors_next"):
            self.db.execute(f"DELETE FROM {table} WHERE user_id = ? AND doc = ?", (self.user_id, doc))
        drop_pending(self.db, "embed", doc)

    def add_pending(self, task: str, doc: int) -> None:
        """Add a pending task."""
        sql = """INSERT INTO pending(task, doc, user_id, since) VALUES(?, ?, ?, ?) ON CONFLICT(task, doc)
            DO UPDATE SET since = excluded.since, attempts = 0, error = NULL"""
        self.db.execute(sql, (task, doc, self.user_id, self.now))

    def add_uses(self, doc: int, count: int, moment: int) -> None:
        """Add to the access count of a memory of this user, used at a time (microseconds since 1970)."""
        sql = """INSERT INTO access(user_id, doc, count, last_at) SELECT user_id, doc, ?, ? FROM memories
            WHERE doc = ? AND user_id = ?
            ON CONFLICT(doc) DO UPDATE SET count = access.count + excluded.count,
            last_at = CASE WHEN access.last_at > excluded.last_at THEN access.last_at ELSE excluded.last_at END"""
        self.db.execute(sql, (count, moment, doc, self.user_id))

    def insert(self, row: dict[str, Any]) -> bool:
        """Insert a record unless its id is taken; returns whether it was inserted."""
        row = row | self.db.dialect.filter_columns(row)
        self._last[row["doc"]] = self._last_erased(row["id"])  # what is added again is newer than its erasure
        return bool(insert(self.db, "records", row, "ON CONFLICT(user_id, id) DO NOTHING RETURNING 1").fetchall())

    def _last_erased(self, id: str) -> int:
        """The time of the last erasure of an id; 0 without one."""
        if self._owner is None:
            erased = self.db.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone()
            self._owner = owner_of(self.db, self.user_id) if erased else b""
        return last_erased(self.db, self._owner, id) if self._owner else 0

    def rewrite(self, row: dict[str, Any], version: int) -> None:
        """Replace a record by its next version, and store the previous one."""
        doc = row["doc"]
        (old,) = rows.select(self.db, RECORDS, "WHERE doc = ?", (doc,))
        values = (self.user_id, doc, version, self.now, rows.version_json(old))
        self.db.execute("INSERT INTO versions VALUES(?, ?, ?, ?, ?)", values)
        self.update(doc, **row, **self.db.dialect.filter_columns(row))

    def update(self, doc: int, /, **columns: object) -> None:
        """Set columns of a record."""
        assignments = ", ".join(f"{name} = ?" for name in columns)
        self.db.execute(f"UPDATE records SET {assignments} WHERE doc = ?", (*columns.values(), doc))

    def find(self, id: str) -> StoredRecord | None:
        """The record of this user with an id, or its duplicate; None if there is none."""
        return self.find_stored(self.aliases.get(id, id))

    def find_stored(self, id: str) -> StoredRecord | None:
        """Like ``find``, without duplicates."""
        row = self.db.execute(f"{_SELECT} WHERE user_id = ? AND id = ?", (self.user_id, id)).fetchone()
        return StoredRecord(*row) if row else None

    def by_doc(self, doc: int) -> StoredRecord:
        """The record with a doc, which must exist."""
        return StoredRecord(*self.db.execute(f"{_SELECT} WHERE doc = ?", (doc,)).fetchone())

    def get(self, id: str) -> StoredRecord:
        """Like ``find``, for an id that must exist.

        Raises:
            NotFound: it does not exist.
        """
        record = self.find(id)
        if record is None:
            raise NotFound(f"This user has no record with the id {id!r}.")
        return record

    def add_lineage(self, doc: int, source_ids: Iterable[str]) -> None:
        """Add lineage edges to the sources of a record.

        Raises:
            NotFound: a source does not exist.
        """
        for source in source_ids:
            parent = self.find(source)
            if parent is None:
                raise NotFound(f"The source {source!r} of a memory does not exist for this user; nothing was stored.")
            self.add_parent(doc, parent.doc)

    def add_parent(self, child: int, parent: int) -> bool:
        """Add a lineage edge unless it exists; returns whether it is new."""
        sql = "INSERT INTO lineage VALUES(?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"
        return bool(self.db.execute(sql, (self.user_id, child, parent)).fetchall())

    def drop_parent(self, child: int, parent: int) -> None:
        """Remove a lineage edge, if there is one."""
        self.db.execute("DELETE FROM lineage WHERE child = ? AND parent = ?", (child, parent))


def _rejection(id: str, reason: str) -> Receipt:
    return Receipt(id=id, outcome="rejected", reason=reason)


def _duplicate(id: str, reason: str) -> Receipt:
    return Receipt(id=id, outcome="duplicate", reason=reason)


def _existing_message(t: Transaction, id: str, content: str) -> Receipt:
    existing = t.get(id)
    if existing.kind != "message":
        return _rejection(id, "a memory has this id: give the message another one")
    if existing.hash == rows.message_hash(content):
        if existing.status == "quarantined":
            return _duplicate(id, "this message is in quarantine: admin.release() brings it back")
        if existing.is_archived:
            return _duplicate(id, "this message was forgotten: restore() brings it back")
        return _duplicate(id, "a message with this id and content is stored")
    return _rejection(id, "another message has this id; messages are never rewritten: give the new one another id")


def add_message(t: Transaction, change: types.AddMessage) -> Receipt:
    """Store a message under its id."""
    message = change.message
    assert message.id is not None
    doc = t.db.dialect.next_docs(t.db)
    if not t.insert(rows.message_row(change, doc, t.user_id, t.now)):
        return _existing_message(t, message.id, message.content)
    pending = t.index(doc, change.indexing)
    t.event("add", doc, message.id, 1)
    return Receipt(id=message.id, outcome="stored", pending=pending)


def add_memory(t: Transaction, change: types.AddMemory) -> Receipt:
    """Store a memory, unless the same statement is live at the same level; one that is archived may be stored beside it."""
    record = change.record
    if (existing := t.find_stored(record.id)) and not _is_same_memory(record, existing):
        why = "another record of this user has this id, or the memory it names was forgotten: restore() brings it back"
        return _rejection(record.id, why)
    statements = () if existing or record.status == "archived" else _same_statements(t, record)
    if duplicate := record.id if existing else next((s.id for s in statements if _subsumes(s, record)), None):
        t.aliases[record.id] = duplicate
        return _duplicate(duplicate, "the same statement is already remembered at this level")
    doc = t.db.dialect.next_docs(t.db)
    t.insert(rows.memory_row(record, doc, t.user_id, change.indexing))
    t.add_lineage(doc, record.source_ids)
    pending = t.index(doc, change.indexing)
    if record.access_count:
        t.add_uses(doc, record.access_count, to_micros(record.last_accessed_at or record.created_at))
    if change.enrich:
        t.add_pending("enrich", doc)
    t.event("remember", doc, record.id, 1)
    receipt = Receipt(id=record.id, outcome="stored", pending=pending)
    if change.settle:
        return _settle(t, record, statements, receipt)
    if record.expired_at is None:
        _end_less_trusted(t, record, statements)
    return receipt


def _same_statements(t: Transaction, record: types.MemoryRecord) -> list[Statement]:
    """The live memories with the same text at the same level that hold when it is said, or are expired like this one."""
    level, digest = (record.project, record.session), rows.content_hash(record.spoken)
    moment = queries.moment_said(record, t.now) if record.expired_at is None else None
    return queries.same_statements(t.db, t.user_id, level, digest, moment, today=t.now)


def _subsumes(statement: Statement, record: types.MemoryRecord) -> bool:
    """Whether a memory with the same text says all that a new one does: of its key, and with the trust of its source."""
    return (
        (statement.key == record.key or None in (statement.key, record.key))
        and not (is_trusted(record.trust) and record.trust > statement.trust)
        and not (statement.key is None and record.key is not None and record.trust >= statement.trust)
    )


def _end_less_trusted(t: Transaction, record: types.MemoryRecord, statements: Sequence[Statement]) -> dict[str, str]:
    """End the memories with the same words as a trusted one, and less trust; returns the reason by id."""
    if not is_trusted(record.trust):
        return {}
    reasons = {s.id: RESTATED_BY_TRUSTED for s in statements if s.key in (None, record.key) and s.trust < record.trust}
    for id_, reason in reasons.items():
        supersede(t, types.Supersede(id=id_, by=record.id, at=None, reason=reason))
    return reasons


def _settle(t: Transaction, record: types.MemoryRecord, statements: Sequence[Statement], receipt: Receipt) -> Receipt:
    """The receipt of a new memory, after what it takes the place of has ended."""
    reasons = _end_less_trusted(t, record, statements)
    for statement in statements:
        if statement.id not in reasons and statement.key in (None, record.key) and record.trust >= statement.trust:
            reasons[statement.id] = f"it has the key {record.key} now"
            supersede(t, types.Supersede(id=statement.id, by=record.id, at=None, reason=reasons[statement.id]))
    earlier, later = _settle_key(t, record) if record.key is not None else ([], None)
    if reasons := reasons | dict.fromkeys(earlier, f"the same key, {record.key}"):
        return replace(receipt, outcome="superseded", reason=replacing(reasons))
    return replace(receipt, reason=f"it ends where {later!r} begins, a later value of its key" if later else "")


def replacing(ended: Mapping[str, str]) -> str:
    """The reason on the receipt of a memory that took the place of others, given by id with why they ended."""
    return f"replaces {', '.join(map(repr, ended))}: {next(iter(ended.values()))}"


class Value(NamedTuple):
    """A value of a key: when it was said, since when it is true (microseconds since 1970), whether it still holds."""

    id: str
    trust: float
    said: int
    since: int
    expired_at: int | None


_VALUES = f"""SELECT id, trust, coalesce(said_at, valid_at, created_at), coalesce(valid_at, said_at, created_at), expired_at
    FROM memories WHERE user_id = ? AND key = ? AND {LEVEL} AND {LIVE}
    AND (invalid_at > ? OR (invalid_at IS NULL AND expired_at IS NULL)) AND (delete_after IS NULL OR delete_after > ?)
    ORDER BY doc"""
"""The values of a key at a level that hold or held at some time from a moment on."""


def _settle_key(t: Transaction, record: types.MemoryRecord) -> tuple[list[str], str | None]:
    """End the earlier values of a new memory's key, and the new one where a later value begins.

    What is less trusted never ends what is more trusted: the two are linked as contradicting. Only the first reason quotes the
    key, or it would remain after the memory is erased.

    Returns:
        The ids of the values that ended now, and that of the later value.
    """
    since = to_micros(record.valid_at or record.said_at or record.created_at)
    selected = t.db.execute(_VALUES, (t.user_id, record.key, record.project, record.session, since, since)).fetchall()
    values = {value.id: value for value in (Value(*row) for row in selected)}
    new, ended = values.pop(record.id, None), list[str]()
    if new is None:  # it never holds: its delete_after is over by then
        return [], None
    after = [other for other in values.values() if other.said > new.said and other.trust >= new.trust]
    later = min(after, key=lambda other: other.said, default=None)
    for other in values.values():
        reason = OTHER_VALUE if ended else f"the same key, {record.key}"
        if other is later:
            _end_value(t, new, other, f"{reason}, and that was said later")
        elif other.said <= new.said and other.trust <= new.trust:
            _end_value(t, other, new, reason)
            ended += [other.id] if other.expired_at is None else []
        elif other not in after and other.expired_at is None:
            link = types.Link(source=new.id, target=other.id, type="contradicts", reason=reason)
            put_link(t, types.PutLink(link=link))
    return ended, later.id if later else None


def _end_value(t: Transaction, value: Value, successor: Value, reason: str) -> None:
    """End a value when the next one became true, or was said again if that is not later."""
    moment = from_micros(successor.since if successor.since > value.since else successor.said)
    supersede(t, types.Supersede(id=value.id, by=successor.id, at=moment, reason=reason))


def _is_same_memory(record: types.MemoryRecord, existing: StoredRecord) -> bool:
    """Whether a stored record is this memory: live, with the same text and level."""
    if existing.kind != "memory" or existing.is_archived or existing.hash != rows.content_hash(record.spoken):
        return False
    return (existing.project, existing.session) == (record.project, record.session)


def revise(t: Transaction, change: types.Revise) -> Receipt:
    """Write the next version of a memory."""
    record = change.record
    existing = t.find_stored(record.id)
    if existing is None:
        duplicate = t.get(record.id)  # raises NotFound for an unknown id
        return _duplicate(record.id, f"the memory {duplicate.id!r} already says this")
    doc, version = existing.doc, existing.version
    if version == record.version and _is_same_write(t, rows.memory_row(record, doc, t.user_id, change.indexing)):
        return _duplicate(record.id, "this version is already stored")
    same_expiry = (existing.expired_at is None) == (record.expired_at is None)
    erased = any(t.find(id_) is None for id_ in record.source_ids)
    if existing.is_archived:
        return _rejection(record.id, "the memory is forgotten or was merged: restore() it, or remember() the statement")
    if version != record.version - 1 or not same_expiry or erased:
        return _rejection(record.id, "the memory was changed in the meantime; read it again and repeat the update")
    if conflict := _revision_conflict(t, existing, record):
        return _rejection(record.id, conflict)
    status = cast("types.Status", existing.status)  # it may have been promoted since the caller read it
    record = replace(record, status=status)
    end = None if record.invalid_at is None else to_micros(record.invalid_at)
    t.unindex(doc)
    t.rewrite(rows.memory_row(record, doc, t.user_id, change.indexing), version)
    t.add_lineage(doc, [id_ for id_ in record.source_ids if (source := t.find(id_)) and source.kind == "message"])
    pending = t.index(doc, change.indexing)
    if change.left and change.operation == "update":
        t.add_pending("enrich", doc)
    elif not change.left and change.operation == "enrich":
        drop_pending(t.db, "enrich", doc)
    detail: dict[str, Any] = {} if end == existing.invalid_at else {"invalid_at": end}
    if change.operation == "update" and existing.hash == rows.content_hash(record.spoken):
        detail["text"] = UNCHANGED
    t.event(change.operation, doc, record.id, record.version, **detail)
    if change.said is not None and add_memory(t, change.said).changed:
        supersede(t, types.Supersede(id=change.said.record.id, by=record.id, at=None, reason="edited"))
    return Receipt(id=record.id, outcome="stored", pending=pending)


def _revision_conflict(t: Transaction, existing: StoredRecord, record: types.MemoryRecord) -> str:
    """Why the next version of a memory cannot hold: another one has its text, or its key if it had ended."""
    after = existing._replace(
        hash=rows.content_hash(record.spoken),
        invalid_at=None if record.invalid_at is None else to_micros(record.invalid_at),
        delete_after=None if record.delete_after is None else to_micros(record.delete_after),
    )
    if not after.holds(t.now):
        return ""
    return _text_conflict(t, after) if existing.holds(t.now) else _conflict(t, after)


def _is_same_write(t: Transaction, row: Mapping[str, Any]) -> bool:
    """Whether the stored version of a memory is this one, but for its time and tier: the write is repeated."""
    (existing,) = rows.select(t.db, RECORDS, "WHERE doc = ?", (row["doc"],))
    return all(existing[name] == value for name, value in row.items() if name not in ("hash", "status", "updated_at"))


def archive(t: Transaction, change: types.Archive) -> Receipt:
    """Remove a record from search; it can be restored."""
    record = t.get(change.id)
    doc, version = record.doc, record.version
    detail: dict[str, Any] = {"reason": change.reason}
    if change.everywhere and record.kind == "memory":
        detail["everywhere"] = True
    if record.is_archived:
        operation, last_detail = last_transition(t, doc)
        absorbed = operation == "absorb"
        if not (absorbed or (operation in ("archive", "") and detail.keys() > last_detail.keys())):
            return _duplicate(change.id, "already archived")
        t.event("archive", doc, change.id, version, **detail)
        reason = "it was absorbed by another memory; undo will not restore it" if absorbed else ""
        return Receipt(id=change.id, outcome="forgotten", reason=reason)
    t.update(doc, tier_before=record.status, status="archived")
    t.event("archive", doc, change.id, version, **detail)
    return Receipt(id=change.id, outcome="forgotten", reason=_superseded_note(t, doc))


def _superseded_note(t: Transaction, doc: int) -> str:
    """A note that names the memories a forgotten one had replaced: only the user can decide whether they are true again."""
    sql = f"""SELECT m.id FROM links l JOIN memories m ON m.doc = l.target WHERE l.source = ? AND l.type = 'supersedes'
        AND m.{LIVE} AND {_ENDS} ORDER BY m.doc"""
    predecessors = [row[0] for row in t.db.execute(sql, (doc,)).fetchall()]
    if not predecessors:
        return ""
    return f"it had taken the place of {', '.join(map(repr, predecessors))}: restore() makes that hold again"


def last_transition(t: Transaction, doc: int) -> tuple[str, dict[str, Any]]:
    """The last operation that archived or restored a record, with its detail."""
    sql = f"""SELECT operation, detail FROM events WHERE doc = ?
        AND operation IN {TRANSITIONS} ORDER BY sequence DESC LIMIT 1"""
    row = t.db.execute(sql, (doc,)).fetchone()
    return (row[0], json.loads(row[1])) if row else ("", {})


def is_absorbed(t: Transaction, doc: int, consolidation: str) -> bool:
    """Whether a consolidation absorbed a record, and nothing has archived or restored it since."""
    operation, detail = last_transition(t, doc)
    return operation == "absorb" and detail.get("consolidation") == consolidation


def has_conflict(t: Transaction, doc: int, *, ignored: str | None = None) -> bool:
    """Whether a live memory of the same level, but for one that is ``ignored``, has the text or the key of a memory."""
    record = t.by_doc(doc)
    return _key_holder(t, record) is not None or bool(_text_conflict(t, record, ignored=ignored))


def bring_back(t: Transaction, record: StoredRecord, operation: str, **detail: object) -> None:
    """Return an archived record to the tier it had."""
    sql = "UPDATE records SET status = coalesce(tier_before, 'short_term'), tier_before = NULL WHERE doc = ?"
    t.db.execute(sql, (record.doc,))
    t.event(operation, record.doc, record.id, record.version, **detail)


def restore(t: Transaction, change: types.Restore) -> Receipt:
    """Bring an archived record back."""
    record = t.get(change.id)
    if record.status == "quarantined":
        reason = "it is in quarantine, perhaps for something it was made from: admin.release() brings both back"
        return _rejection(change.id, reason)
    if record.status != "archived":
        return _reinstate(t, change.id, record) if record.kind == "memory" else _live_receipt(t, record)
    if record.holds(t.now) and (reason := _conflict(t, record)):
        return _rejection(change.id, reason)
    bring_back(t, record, "restore")
    return Receipt(id=change.id, outcome="restored")


def _live_receipt(t: Transaction, record: StoredRecord) -> Receipt:
    """The receipt of a record that needs no restoring; that of a message names what it says that has ended."""
    sql = f"""SELECT m.id FROM lineage l JOIN memories m ON m.doc = l.child WHERE l.parent = ? AND m.{LIVE}
        AND {_ENDS} ORDER BY m.doc"""
    ended = [row[0] for row in t.db.execute(sql, (record.doc,)).fetchall()] if record.kind == "message" else []
    reason = f"; of what it says, {', '.join(map(repr, ended))} ended: restore() makes that hold again" if ended else ""
    return _duplicate(record.id, f"not archived{reason}")


def _reinstate(t: Transaction, id: str, record: StoredRecord) -> Receipt:
    """Make a memory that has ended, or will, hold again beside what takes its place; refused while another one has its key."""
    if record.expired_at is None and record.invalid_at is None:
        return _live_receipt(t, record)
    if reason := _conflict(t, record):
        return _rejection(id, reason)
    sql = "DELETE FROM links WHERE target = ? AND type = 'supersedes' RETURNING source"
    later = [t.by_doc(source).id for (source,) in t.db.execute(sql, (record.doc,)).fetchall()]
    t.update(record.doc, expired_at=None, invalid_at=None)
    record_reinstatement(t, record, "restore", after=sorted(later))
    return Receipt(id=id, outcome="restored", reason="valid again")


def record_reinstatement(t: Transaction, record: StoredRecord, operation: str, **detail: object) -> None:
    """Write the event of an ended memory that holds again. One that is archived stays so: its last transition is repeated."""
    last = last_transition(t, record.doc) if record.is_archived else None
    t.event(operation, record.doc, record.id, record.version, **detail)
    if last is not None:
        t.event(last[0], record.doc, record.id, record.version, **last[1])


def _conflict(t: Transaction, record: StoredRecord) -> str:
    """Why a memory cannot hold again: another one has its key, or its text."""
    if holder := _key_holder(t, record):
        return f"the memory {holder!r} holds its key now: remember() this one with the key, or forget that one"
    return _text_conflict(t, record)


def _text_conflict(t: Transaction, record: StoredRecord, *, ignored: str | None = None) -> str:
    """Why a memory cannot hold: another one that holds now has its text and level, and no other key."""
    if record.kind != "memory" or record.since > t.now:
        return ""
    level = (record.project, record.session)
    statements = queries.same_statements(t.db, t.user_id, level, record.hash, t.now, today=t.now)
    apart = [s for s in statements if s.id not in (record.id, ignored)]
    others = (s.id for s in apart if s.key == record.key or None in (s.key, record.key))
    return next((f"the memory {id_!r} already says this" for id_ in others), "")


def _key_holder(t: Transaction, record: StoredRecord) -> str | None:
    """The id of the live memory that has the key of a memory at its level, now or from a later time on."""
    sql = f"""SELECT id FROM memories WHERE user_id = ?1 AND key = ?2 AND project IS NOT DISTINCT FROM ?3
        AND session IS NOT DISTINCT FROM ?4 AND doc != ?5 AND {LIVE} AND {NOT_ENDED.format(now="?6")} ORDER BY doc LIMIT 1"""
    row = t.db.execute(sql, (t.user_id, record.key, record.project, record.session, record.doc, t.now)).fetchone()
    return row[0] if row else None


_LOST = f"""SELECT 1 FROM events e JOIN records r ON r.doc = e.doc AND r.kind != 'episode' WHERE e.user_id = ?
    AND e.sequence > ? AND e.operation IN ('archive', 'supersede')
    AND (e.doc IN {AMONG} OR e.doc IN (SELECT child FROM lineage WHERE parent IN {AMONG})) LIMIT 1"""


def _has_lost(t: Transaction, ids: Sequence[str], since: int) -> bool:
    """Whether one of some messages was forgotten, or something that it says ended, after an event."""
    docs = [*queries.docs_of(t.db, t.user_id, ids).values()]
    return bool(t.db.execute(_LOST, (t.user_id, since, docs, docs)).fetchall())


def add_episode(t: Transaction, change: types.AddEpisode) -> Receipt:
    """Store an episode or its next version, and assign its messages to it."""
    record = change.record
    existing = t.find(record.id)
    if existing and (existing.kind != "episode" or existing.is_archived or existing.version > record.version):
        raise Conflict(
            f"The episode {record.id!r} was changed or merged in the meantime. Nothing was stored; process() again."
        )
    if existing and existing.version == record.version:
        return _duplicate(record.id, "this episode is stored")
    if change.since is not None and _has_lost(t, record.message_ids, change.since):
        raise Conflict(
            f"A message of the episode {record.id!r} was forgotten or corrected in the meantime. Nothing was stored; process() "
            "again."
        )
    doc = existing.doc if existing else t.db.dialect.next_docs(t.db)
    row = rows.episode_row(change, doc, t.user_id)
    if existing:
        t.unindex(doc)
        t.rewrite(row, existing.version)
    else:
        t.insert(row)
    _assign_messages(t, doc, change)
    t.add_lineage(doc, (*record.source_ids, *record.message_ids))
    pending = t.index(doc, change.indexing)
    drop_pending(t.db, "refine", doc)
    if change.refine:
        t.add_pending("refine", doc)
    t.event("episode", doc, record.id, record.version)
    return Receipt(id=record.id, outcome="stored", pending=pending)


def _assign_messages(t: Transaction, doc: int, change: types.AddEpisode) -> None:
    """Assign messages to an episode, unless another process assigned one of them to another episode in the meantime.

    Messages of a merged episode stay with it when one of its restored sources gets a new version.
    """
    parents = [source.doc for id_ in change.record.source_ids if (source := t.find(id_))]
    ids = change.record.message_ids
    sql = f"""UPDATE records SET episode = ?, waits = 0 WHERE user_id = ? AND id IN {AMONG}
        AND (waits = 1 OR episode IN {AMONG})"""
    t.db.execute(sql, (doc, t.user_id, ids, parents))
    sql = f"""SELECT count(*) FROM messages WHERE user_id = ? AND id IN {AMONG} AND (episode = ?
        OR EXISTS (SELECT 1 FROM lineage WHERE child = ? AND parent = messages.doc))"""
    (count,) = t.db.execute(sql, (t.user_id, ids, doc, doc)).fetchone()
    if count != len(set(change.record.message_ids)):
        raise Conflict(
            f"Some messages of episode {change.record.id!r} belong to another episode by now: another process processed them. "
            "Nothing was stored; process() continues with the unprocessed ones."
        )


def mark_processed(t: Transaction, change: types.MarkProcessed) -> Receipt:
    """Mark messages as processed without an episode."""
    sql = f"UPDATE records SET waits = 0 WHERE user_id = ? AND waits = 1 AND id IN {AMONG}"
    t.db.execute(sql, (t.user_id, change.ids))
    return Receipt(id=change.ids[0] if change.ids else "", outcome="stored")


def set_emotions(t: Transaction, change: types.SetEmotions) -> Receipt:
    """Store the emotions of messages."""
    sql = "UPDATE records SET valence = ?, arousal = ?, emotion_confidence = ? WHERE user_id = ? AND id = ?"
    for id_, emotion in change.emotions.items():
        t.db.execute(sql, (emotion.valence, emotion.arousal, emotion.confidence, t.user_id, id_))
    return Receipt(id="", outcome="stored")


def _get_memory(t: Transaction, id: str) -> StoredRecord:
    record = t.get(id)
    if record.kind != "memory":
        raise InvalidInput(f"{id!r} is not a memory; only memories can be linked and superseded.")
    return record


def supersede(t: Transaction, change: types.Supersede) -> Receipt:
    """End the validity of a memory, and link its successor."""
    record = _get_memory(t, change.id)
    successor = None if change.by is None else _get_memory(t, change.by)
    if successor is not None and change.by != change.id and successor.doc == record.doc:
        return _duplicate(change.id, "nothing takes its own place")
    successors = _successors(t, record.doc, successor.doc) if change.with_successors and successor is not None else []
    for later in successors:
        at = None if change.at is None else max(change.at, from_micros(later.since))
        supersede(t, replace(change, id=later.id, at=at, with_successors=False))
    receipt = _end_validity(t, change, record, successor)
    if not successors:
        return receipt
    reason = f"{', '.join(repr(later.id) for later in successors)}, which had replaced it, ended too"
    return Receipt(id=change.id, outcome="stored", reason=reason)


def _successors(t: Transaction, doc: int, successor: int) -> list[StoredRecord]:
    """The memories that hold in place of an ended one and give way to another, if that holds."""
    sql = f"""{queries.LATER} SELECT m.doc FROM later JOIN memories m ON m.doc = later.doc
            JOIN memories own ON own.doc = ?2 AND own.expired_at IS NULL
        WHERE m.{LIVE} AND m.expired_at IS NULL AND m.doc != own.doc AND (own.trust >= {UNTRUSTED} OR m.trust < {UNTRUSTED})
        ORDER BY m.doc"""
    return [t.by_doc(later) for (later,) in t.db.execute(sql, (doc, successor)).fetchall()]


def _end_validity(
    t: Transaction, change: types.Supersede, record: StoredRecord, successor: StoredRecord | None
) -> Receipt:
    """End one memory now, or at a later time, and link its successor."""
    doc, version, expired, invalid = record.doc, record.version, record.expired_at, record.invalid_at
    ended = None if change.at is None else to_micros(change.at)
    ends_earlier = ended is not None and (invalid is None or ended < invalid)
    end: int | None = ended if ends_earlier else invalid
    later = expired is None and ended is not None and (end or 0) > t.now  # valid until then
    if expired is None and not later:
        t.update(doc, expired_at=t.now, invalid_at=end)
    elif later or ends_earlier:
        t.update(doc, invalid_at=end)
    if expired is None or ends_earlier:
        t.event("supersede", doc, change.id, version, by=change.by, reason=change.reason)
    if later:
        return Receipt(id=change.id, outcome="stored", reason="valid until another replaces it")
    linked = successor is not None and _link_successor(t, successor.doc, doc, change.reason)
    if expired is None:
        return Receipt(id=change.id, outcome="stored")
    if linked:
        t.event("link", doc, change.id, version, source=change.by, type="supersedes")
    return _duplicate(change.id, "its time had ended before")


def _link_successor(t: Transaction, source: int, target: int, reason: str) -> bool:
    """Link a memory to its successor, unless they are linked; returns whether the link is new."""
    sql = "SELECT 1 FROM links WHERE source = ? AND target = ? AND type = 'supersedes'"
    return not t.db.execute(sql, (source, target)).fetchall() and _upsert_link(
        t, source, target, "supersedes", 1.0, reason
    )


def _upsert_link(t: Transaction, source: int, target: int, kind: str, strength: float, reason: str) -> bool:
    """Insert or update a link; returns whether anything changed."""
    if source == target:
        raise InvalidInput("A memory cannot be linked to itself.")
    changed = t.db.execute(
        """INSERT INTO links(user_id, source, target, type, strength, reason, created_at) VALUES(?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(source, target, type) DO UPDATE SET strength = excluded.strength, reason = excluded.reason,
        consolidation = '' WHERE (links.strength, links.reason) != (excluded.strength, excluded.reason) RETURNING 1""",
        (t.user_id, source, target, kind, strength, reason, t.now),
    ).fetchall()
    return bool(changed)


def put_link(t: Transaction, change: types.PutLink) -> Receipt:
    """Link two memories."""
    link = change.link
    source, target = _get_memory(t, link.source), _get_memory(t, link.target)
    if source.doc == target.doc and link.source != link.target:
        return _duplicate(link.source, "both are one memory")
    if not _upsert_link(t, source.doc, target.doc, link.type, link.strength, link.reason):
        return _duplicate(link.source, "linked so already")
    t.event("link", source.doc, link.source, source.version, target=link.target, type=link.type)
    t.event("link", target.doc, link.target, target.version, source=link.source, type=link.type)
    return Receipt(id=link.source, outcome="stored")


def drop_link(t: Transaction, change: types.DropLink) -> Receipt:
    """Remove links from one memory to another."""
    source, target = _get_memory(t, change.source), _get_memory(t, change.target)
    sql = "DELETE FROM links WHERE source = ? AND target = ? AND type = coalesce(?, type) RETURNING type"
    removed = [row[0] for row in t.db.execute(sql, (source.doc, target.doc, change.type)).fetchall()]
    if not removed:
        return _duplicate(change.source, "there was no such link")
    t.event("unlink", source.doc, change.source, source.version, target=change.target, types=removed)
    t.event("unlink", target.doc, change.target, target.version, source=change.source, types=removed)
    reason = _reinstate_unlinked(t, target.doc) if "supersedes" in removed else ""
    return Receipt(id=change.source, outcome="stored", reason=reason)


def _reinstate_unlinked(t: Transaction, doc: int) -> str:
    """What becomes of a memory after the link from a successor was removed: it holds again unless another one remains."""
    record = t.by_doc(doc)
    sql = f"""SELECT m.id FROM {queries.SHOWN_LINKS} l JOIN memories m ON m.doc = l.source
        WHERE l.target = ? AND l.type = 'supersedes'"""
    if remaining := t.db.execute(f"{sql} ORDER BY m.doc", (doc,)).fetchone():
        return f"{record.id!r} does not hold: {remaining[0]!r} took its place too"
    receipt = _reinstate(t, record.id, record)
    return f"{record.id!r} holds again" if receipt.changed else f"{record.id!r} does not hold: {receipt.reason}"


# Quarantine removes records and their descendants from search until they are released. The event stores whether a record was
# forgotten or absorbed before; its release restores that state.

_DESCENDANTS = f"""WITH RECURSIVE down(doc) AS (SELECT doc FROM records WHERE doc IN {AMONG}
    UNION SELECT child FROM lineage JOIN down ON parent = down.doc) SELECT doc FROM down ORDER BY doc"""


def descendants(db: Connection, docs: Sequence[int]) -> list[int]:
    """Records and their descendants, ascending."""
    return [doc for (doc,) in db.execute(_DESCENDANTS, (docs,)).fetchall()]


def _descendants(t: Transaction, ids: Sequence[str]) -> list[int]:
    """Docs of records and their descendants; raises NotFound."""
    return descendants(t.db, [t.get(id_).doc for id_ in ids])


def quarantine(t: Transaction, change: types.Quarantine) -> Receipt:
    """Remove records and their descendants from search, including forgotten and absorbed ones."""
    count = 0
    for doc in _descendants(t, change.ids):
        record = t.by_doc(doc)
        if record.status == "quarantined":
            continue
        before = last_transition(t, doc) if record.status == "archived" else None
        # what was archived keeps the tier it had before
        sql = """UPDATE records SET tier_before = CASE status WHEN 'archived' THEN tier_before ELSE status END,
            status = 'quarantined' WHERE doc = ?"""
        t.db.execute(sql, (doc,))
        t.event("archive", doc, record.id, record.version, reason=change.reason, quarantine=True, before=before)
        count += 1
    return Receipt(id=change.ids[0], outcome="quarantined" if count else "duplicate", reason=counted({"record": count}))


def release(t: Transaction, change: types.Release) -> Receipt:
    """Release records and their descendants, except those with another source in quarantine."""
    remaining = [doc for doc in _descendants(t, change.ids) if t.by_doc(doc).status == "quarantined"]
    count = 0
    while ready := [doc for doc in remaining if not _has_quarantined_source(t, doc)]:
        for doc in ready:
            _release_record(t, doc)
        count += len(ready)
        remaining = [doc for doc in remaining if doc not in ready]
    return Receipt(id=change.ids[0], outcome="restored" if count else "duplicate", reason=counted({"record": count}))


def _has_quarantined_source(t: Transaction, doc: int) -> bool:
    """Whether a source of a record is in quarantine."""
    sql = """SELECT 1 FROM lineage l JOIN records p ON p.doc = l.parent
        WHERE l.child = ? AND p.status = 'quarantined'"""
    return bool(t.db.execute(sql, (doc,)).fetchall())


def _release_record(t: Transaction, doc: int) -> None:
    before = last_transition(t, doc)[1].get("before")
    record = t.by_doc(doc)
    if before is not None:  # it was forgotten or absorbed before the quarantine
        operation, detail = before
        if operation == "absorb" and not _is_member(t, doc, detail.get("consolidation", "")):
            operation, detail = "archive", {"reason": "it has no representative any more"}
    elif record.holds(t.now) and (reason := _conflict(t, record)):
        operation, detail = "archive", {"reason": f"released, but {reason}"}
    else:
        bring_back(t, record, "restore", reason="released from quarantine")
        return
    t.update(doc, status="archived")
    t.event(operation or "archive", doc, record.id, record.version, **detail)


def _is_member(t: Transaction, doc: int, consolidation: str) -> bool:
    """Whether a memory is a member of a consolidation that was not undone."""
    sql = """SELECT 1 FROM members m JOIN consolidations c ON c.user_id = m.user_id AND c.id = m.consolidation
        WHERE m.user_id = ? AND m.consolidation = ? AND m.doc = ? AND c.undone_at IS NULL"""
    return bool(t.db.execute(sql, (t.user_id, consolidation, doc)).fetchall())
