"""Read queries. Each is restricted to one user: tenant isolation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mnemic.errors import StoreCorrupt
from mnemic.stores.schema import EPISODES, LIVE, MEMORIES, MESSAGES, RECORDS
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection, Cursor, Dialect
from mnemic.stores.sql.rows import counts_by_status
from mnemic.text.clock import LATEST, from_micros, now, to_micros
from mnemic.types import CatalogRows, CatalogVectors, Episode, Event, MemoryRecord, Message, RecordFilter, Stats, Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]

__all__ = [
    "catalog",
    "events",
    "fetch",
    "find",
    "latest_episodes",
    "list_episodes",
    "list_memories",
    "list_messages",
    "log",
    "matching",
    "memories_with_key",
    "postings",
    "stats",
    "user_number",
    "validity",
]

ALL = 2**62
"""A limit above any number of rows."""

_CATALOG = """SELECT doc, kind, CASE status WHEN 'quarantined' THEN 'archived' ELSE status END, session, project,
    coalesce(said_at, created_at), CASE kind WHEN 'message' THEN role WHEN 'episode' THEN 'episode' ELSE type END, speaker,
    length, coalesce(importance, 0.5), traits, coalesce(valid_at, said_at, created_at), utc_offset, told
    FROM records WHERE user_id = ?"""
_VALIDITY = """SELECT doc, coalesce(valid_at, said_at, created_at),
    CASE WHEN invalid_at <= delete_after OR delete_after IS NULL THEN invalid_at ELSE delete_after END,
    expired_at, created_at,
    (SELECT json_group_array(parent) FROM lineage WHERE child = doc),
    (SELECT max(source) FROM links WHERE target = doc AND type = 'supersedes'), valid_at FROM memories WHERE user_id = ?"""


def user_number(db: Connection, name: str) -> int | None:
    """The number of a user; None if nothing is stored for it."""
    row = db.execute("SELECT user_id FROM users WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def catalog(db: Connection, user: int, *, after: int, docs: Sequence[int] = ()) -> CatalogRows | None:
    """Catalog columns of a user's records: those with a doc above ``after``, and ``docs``."""
    from mnemic.stores.sql.columns import catalog_columns

    return catalog_columns(_after_or_among(db, _CATALOG, user, after, docs))


def validity(db: Connection, user: int, *, after: int, docs: Sequence[int] = ()) -> list[tuple[Any, ...]]:
    """Times and sources of memories, selected as in ``catalog``."""
    return [row for part in _after_or_among(db, _VALIDITY, user, after, docs) for row in part.fetchall()]


def _after_or_among(db: Connection, select: str, user: int, after: int, docs: Sequence[int]) -> Iterator[Cursor]:
    yield db.execute(f"{select} AND doc > ? ORDER BY doc", (user, after))
    if docs:
        sql = f"{select} AND doc <= ? AND doc IN (SELECT value FROM json_each(?))"
        yield db.execute(sql, (user, after, db.dialect.bind_list(docs)))


# Operations that do not change the text of a record, and so neither its terms nor its vector.
_KEEP_TEXT = frozenset(
    ("weigh", "promote", "absorb", "archive", "restore", "undo", "link", "unlink", "supersede", "feel")
)


def changed(db: Connection, user: int, after: int) -> tuple[int, list[int], set[int], bool]:
    """Changes to a user's records since an event.

    Returns:
        The last event, the changed docs, those of them with an unchanged text, and whether all vectors were recomputed.
    """
    found = db.execute(
        "SELECT sequence, doc, operation FROM events WHERE user_id IN (?, 0) AND sequence > ? ORDER BY sequence",
        (user, after),
    ).fetchall()
    last = found[-1][0] if found else after
    docs = {doc for _, doc, _ in found if doc is not None}
    kept = docs - {doc for _, doc, operation in found if operation not in _KEEP_TEXT}
    return last, sorted(docs), kept, any(op == "reembed" for *_, op in found)


class Header(dict[str, Any]):
    """The header of a record."""

    def __missing__(self, key: str) -> Any:
        raise StoreCorrupt(
            f"The header of the record has no {key}: it is damaged. Nothing was changed. Look at it with mnemic doctor --deep, "
            "or restore a backup."
        )


def header(db: Connection) -> Header:
    """The header of the record, with model and dimension once there are vectors."""
    held = Header(db.execute("SELECT key, value FROM header").fetchall())
    if "dimension" in held:
        held["dimension"] = int(held["dimension"])
    return held


def last_event(db: Connection, user: int) -> int:
    """The newest event of a user (0: none); events of user 0 concern all users."""
    sql = "SELECT (SELECT max(sequence) FROM events WHERE user_id = ?), (SELECT max(sequence) FROM events WHERE user_id = 0)"
    own, everybody = db.execute(sql, (user,)).fetchone()
    return max(own or 0, everybody or 0)


def vectors(db: Connection, user: int, *, after: int, docs: Sequence[int] = (), most: int = 0) -> CatalogVectors | None:
    """Stored vectors, selected as in ``catalog``; ``most`` is their expected maximum number."""
    from mnemic.stores.sql.columns import vector_matrix

    select = "SELECT doc, vector FROM vectors WHERE user_id = ?"
    return vector_matrix(_after_or_among(db, select, user, after, docs), most)


def postings(db: Connection, user: int, term: str) -> list[int]:
    """The docs of a user that contain a term, ascending, each repeated by its term frequency."""
    return db.dialect.postings(db, user, term)


def _sources(db: Connection, docs: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Kind and id of the sources of each doc, messages oldest first."""
    sql = """SELECT l.child, r.kind, r.id FROM lineage l LEFT JOIN records r ON r.doc = l.parent
        WHERE l.child IN (SELECT value FROM json_each(?))
        ORDER BY l.child, CASE r.kind WHEN 'message' THEN r.said_at END, l.parent"""
    found: dict[int, list[tuple[str, str]]] = {}
    for child, kind, parent in db.execute(sql, (db.dialect.bind_list(docs),)):
        found.setdefault(child, []).append((kind, parent))
    return found


def _values(db: Connection, found: Sequence[rows.Row]) -> list[Any]:
    """Records built from rows, with their lineage."""
    sources = _sources(db, [row["doc"] for row in found if row["kind"] != "message"])
    return [_value(row, sources.get(row["doc"], ())) for row in found]


def _value(row: rows.Row, sources: Sequence[tuple[str, str]]) -> Message | Episode | MemoryRecord:
    if row["kind"] == "message":
        return rows.message_from(row)
    if row["kind"] == "memory":
        return rows.memory_from(row, [id_ for _, id_ in sources])
    messages = [id_ for kind, id_ in sources if kind == "message"]
    return rows.episode_from(row, messages, [id_ for kind, id_ in sources if kind == "episode"])


def fetch(db: Connection, user: int, docs: Sequence[int]) -> dict[int, Stored]:
    """The records behind docs, by doc."""
    where = "WHERE user_id = ? AND doc IN (SELECT value FROM json_each(?))"
    found = rows.select(db, RECORDS, where, (user, db.dialect.bind_list([int(doc) for doc in docs])))
    return {row["doc"]: _stored_record(row, value) for row, value in zip(found, _values(db, found), strict=True)}


def _stored_record(row: rows.Row, value: Message | Episode | MemoryRecord) -> Stored:
    episode = 0 if row["waits"] == 0 and row["episode"] is None else row["episode"]
    return Stored(
        kind=row["kind"], value=value, status=rows.public_status(row["status"]), project=row["project"], episode=episode
    )


def find(db: Connection, user: int, id: str) -> int | None:
    """The doc of an id of this user."""
    row = db.execute("SELECT doc FROM records WHERE user_id = ? AND id = ?", (user, id)).fetchone()
    return row[0] if row else None


def docs_of(db: Connection, user: int, ids: Sequence[str], kind: str | None) -> dict[str, int]:
    """The docs of the ids that exist for this user."""
    sql = "SELECT id, doc FROM records WHERE user_id = ? AND id IN (SELECT value FROM json_each(?))"
    values = (user, db.dialect.bind_list(ids))
    found = db.execute(f"{sql} AND kind = ?", (*values, kind)) if kind else db.execute(sql, values)
    return dict(found.fetchall())


def _metadata_conditions(
    dialect: Dialect, user: int, table: str, filters: RecordFilter
) -> tuple[list[str], list[object]]:
    """SQL conditions for tags, metadata and trust; keys and values are always bound."""
    found = [dialect.filters.has_metadata(user, table, key, wanted) for key, wanted in (filters.metadata or {}).items()]
    if filters.tags is not None:
        found.insert(0, dialect.filters.has_tags(user, table, filters.tags))
    if filters.min_trust is not None:
        found.append(("trust >= ?", [filters.min_trust]))
    return [clause for clause, _ in found], [value for _, bound in found for value in bound]


def matching(db: Connection, user: int, filters: RecordFilter) -> list[int]:
    """The docs of a user whose tags and metadata match; the catalog applies the other filters."""
    clauses, values = _metadata_conditions(db.dialect, user, "records", filters)
    sql = f"SELECT doc FROM records WHERE {' AND '.join(['user_id = ?', *clauses])} ORDER BY doc"
    return [doc for (doc,) in db.execute(sql, (user, *values))]


def _reach(filters: RecordFilter, *, memories: bool) -> tuple[list[str], list[object]]:
    """Reach, session and project as SQL; ``Catalog.mask`` is the same in arrays."""
    clauses: list[str] = []
    values: list[object] = []
    if filters.reach == "session" and filters.session is None:
        clauses.append("session IS NULL")
    elif filters.reach == "session":
        clauses.append("session = ?")
        values.append(filters.session)
    elif memories:
        clauses.append("(session IS NULL OR session IS NOT DISTINCT FROM ?)")
        values.append(filters.session)
    if filters.reach == "project":
        clauses.append("project IS NOT DISTINCT FROM ?")
        values.append(filters.project)
    elif filters.reach != "user" and filters.project is not None:
        clauses.append("(project IS NULL OR project = ?)")
        values.append(filters.project)
    return clauses, values


def _where(dialect: Dialect, user: int, table: str, filters: RecordFilter, time: str) -> tuple[str, list[object]]:
    memories = table == "memories"
    clauses, values = _reach(filters, memories=memories)
    more, bound = _metadata_conditions(dialect, user, table, filters)
    clauses += more
    values += bound
    statuses = filters.status if filters.status is not None else ("short_term", "consolidating", "long_term")
    if "archived" in statuses:
        statuses = (*statuses, "quarantined")
    for clause, value in (
        ("status IN (SELECT value FROM json_each(?))", dialect.bind_list(statuses)),
        (
            "type IN (SELECT value FROM json_each(?))",
            dialect.bind_list(filters.types) if filters.types is not None else None,
        ),
        ("session = ?", filters.in_session),
        ("role = ?", filters.role),
        (f"{time} <= ?", None if memories else filters.at),
        ("created_at <= ?", None if memories else filters.known_at),
        (f"{time} >= ?", filters.since),
        (f"{time} < ?", filters.until),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    return " AND ".join(clauses), values


def _valid_then(filters: RecordFilter) -> tuple[str, list[object]]:
    """Valid time and transaction time as SQL; ``Validity.hidden`` is the same in arrays.

    The unary plus keeps the planner from an index on a bound that nearly all rows satisfy.
    """
    if filters.expired:
        return "1 = 1", []
    known = LATEST if filters.known_at is None else filters.known_at
    current = "(expired_at IS NULL OR expired_at > ?)"
    until = f"""(CASE WHEN expired_at > ? THEN {LATEST}
        WHEN invalid_at <= delete_after OR delete_after IS NULL THEN coalesce(invalid_at, {LATEST})
        ELSE delete_after END)"""
    if filters.at is None:
        today = to_micros(now()) if filters.known_at is None else known
        begun = "(valid_at IS NULL OR +valid_at <= ?)"
        return f"+created_at <= ? AND {current} AND {until} > ? AND {begun}", [known, known, known, today, today]
    true = f"coalesce(valid_at, said_at, created_at) <= ? AND ? < {until}"
    return (
        f"+created_at <= ? AND {true} AND ({current} OR {until} < {LATEST})",
        [known, filters.at, filters.at, known, known, known],
    )


def list_memories(
    db: Connection, user: int, filters: RecordFilter, *, order: str, limit: int | None, offset: int
) -> list[MemoryRecord]:
    """Memories ordered by ``newest``, ``oldest`` or ``importance``."""
    where, values = _where(db.dialect, user, "memories", filters, "created_at")
    clock, moments = _valid_then(filters)
    where, values = f"{where} AND {clock}", [*values, *moments]
    by = {
        "newest": "created_at DESC, doc DESC",
        "oldest": "created_at, doc",
        "importance": "importance DESC, doc DESC",
    }[order]
    rest = f"WHERE user_id = ? AND {where} ORDER BY {by} LIMIT ? OFFSET ?"
    most = ALL if limit is None else limit
    return _values(db, rows.select(db, MEMORIES, rest, (user, *values, most, offset)))


def memories_with_key(db: Connection, user: int, key: str, filters: RecordFilter) -> list[MemoryRecord]:
    """Valid memories whose metadata has a key."""
    where, values = _where(db.dialect, user, "memories", filters, "created_at")
    clock, moments = _valid_then(filters)
    has_key, keys = db.dialect.filters.has_key(user, "memories", key)
    rest = f"WHERE user_id = ? AND {where} AND {clock} AND {has_key} ORDER BY doc"
    return _values(db, rows.select(db, MEMORIES, rest, (user, *values, *moments, *keys)))


def list_episodes(
    db: Connection, user: int, filters: RecordFilter, *, limit: int | None, newest: bool
) -> list[Episode]:
    """Episodes by begin, oldest first; with ``newest`` the limit keeps the last ones."""
    where, values = _where(db.dialect, user, "episodes", filters, "said_at")
    direction = "DESC" if newest else "ASC"
    rest = f"WHERE user_id = ? AND {where} ORDER BY said_at {direction}, doc {direction} LIMIT ?"
    found = rows.select(db, EPISODES, rest, (user, *values, ALL if limit is None else limit))
    return _values(db, found[::-1] if newest else found)


def latest_episodes(
    db: Connection, user: int | None, where: str, values: Sequence[object], limit: int
) -> list[Episode]:
    """The last live episodes of a level, newest first."""
    rest = f"WHERE user_id = ? AND {where} AND {LIVE} ORDER BY ended_at DESC, doc DESC LIMIT ?"
    return _values(db, rows.select(db, EPISODES, rest, (user, *values, limit)))


def list_messages(
    db: Connection, user: int, filters: RecordFilter, *, limit: int | None, newest: bool
) -> list[Message]:
    """Messages, oldest first; with ``newest`` the limit keeps the last ones."""
    where, values = _where(db.dialect, user, "messages", filters, "said_at")
    direction = "DESC" if newest else "ASC"
    rest = f"WHERE user_id = ? AND {where} ORDER BY said_at {direction}, doc {direction} LIMIT ?"
    most = ALL if limit is None else limit
    found = rows.select(db, MESSAGES, rest, (user, *values, most), names=rows.MESSAGE)
    return [rows.message_from(row) for row in (reversed(found) if newest else found)]


_EVENT = "sequence, at, operation, id, version, detail, doc"


def events(db: Connection, user: int, doc: int) -> list[Event]:
    """The audit trail of one record, oldest first, each event with the content of its version."""
    sql = f"SELECT {_EVENT} FROM events WHERE user_id = ? AND doc = ? ORDER BY sequence"
    return _event_values(db, db.execute(sql, (user, doc)).fetchall())


def log(db: Connection, user: int, kinds: Sequence[str], limit: int | None) -> list[Event]:
    """The audit trail of all records of some kinds, newest first."""
    among = "EXISTS (SELECT 1 FROM records r WHERE r.doc = events.doc AND r.kind IN (SELECT value FROM json_each(?)))"
    sql = f"SELECT {_EVENT} FROM events WHERE user_id = ? AND {among} ORDER BY sequence DESC LIMIT ?"
    return _event_values(
        db, db.execute(sql, (user, db.dialect.bind_list(kinds), ALL if limit is None else limit)).fetchall()
    )


def _event_values(db: Connection, found: Sequence[tuple[Any, ...]]) -> list[Event]:
    docs = db.dialect.bind_list(sorted({row[-1] for row in found}))
    among = "doc IN (SELECT value FROM json_each(?))"
    content: dict[tuple[int, int], str] = {}
    for doc, version, text in db.execute(f"SELECT doc, version, content FROM records WHERE {among}", (docs,)):
        content[doc, version] = text
    for doc, version, row in db.execute(f"SELECT doc, version, row FROM versions WHERE {among}", (docs,)):
        content[doc, version] = json.loads(row)["content"]
    return [
        Event(
            sequence=sequence, at=from_micros(at), operation=operation, id=id_, version=version,
            content=content.get((doc, version)), detail=json.loads(detail),
        )
        for sequence, at, operation, id_, version, detail, doc in found
    ]  # fmt: skip


def stats(db: Connection, user: str, location: str, schema_version: int) -> Stats:
    """Counts of one user; size, model and schema describe the whole record."""
    number = user_number(db, user)

    def count(sql: str) -> dict[Any, int]:
        return dict(db.execute(sql, (number,)).fetchall())

    messages = count("SELECT status, count(*) FROM messages WHERE user_id = ? GROUP BY 1")
    sessions = count("SELECT 1, count(DISTINCT session) FROM messages WHERE user_id = ?")
    projects = count("SELECT 1, count(DISTINCT project) FROM records WHERE user_id = ? AND kind != 'episode'")
    held = header(db)
    return Stats(
        messages=messages.get("short_term", 0),
        episodes=count(f"SELECT 1, count(*) FROM episodes WHERE user_id = ? AND {LIVE}")[1],
        memories=counts_by_status(count("SELECT status, count(*) FROM memories WHERE user_id = ? GROUP BY 1").items()),
        links=count("SELECT 1, count(*) FROM links WHERE user_id = ?")[1],
        sessions=sessions[1],
        projects=projects[1],
        pending={
            **count(f"""SELECT p.task, count(*) FROM pending p JOIN records r ON r.doc = p.doc WHERE p.user_id = ?
                AND (p.task = 'embed' OR r.{LIVE}) GROUP BY 1"""),
            **count(
                f"SELECT 'process', count(*) FROM records WHERE user_id = ? AND waits = 1 AND {LIVE} HAVING count(*) > 0"
            ),
        },
        embedding_model=held.get("model"),
        dimension=held.get("dimension"),
        schema_version=schema_version,
        bytes_on_disk=db.dialect.size(db),
        location=location,
    )
