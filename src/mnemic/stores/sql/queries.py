"""Read queries. Each is restricted to one user: tenant isolation."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from mnemic.errors import NotFound, StoreCorrupt
from mnemic.protocols import Model
from mnemic.stores.schema import EPISODES, LIVE, MEMORIES, MESSAGES, NOT_ENDED, RECORDS, Table
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection, Cursor, Database, Dialect
from mnemic.stores.sql.rows import MOST_BOOST, USED, importance_sql
from mnemic.text.differences import CUT, agrees, without_sentences
from mnemic.text.sentences import sentences
from mnemic.text.values import LATEST, from_micros, now, to_micros
from mnemic.types import (
    CatalogDelta,
    Episode,
    Event,
    Kind,
    Level,
    MemoryRecord,
    Message,
    Record,
    RecordFilter,
    Stored,
    TextVectors,
    Waiting,
)
from mnemic.types.literals import TRANSITIONS
from mnemic.vectors import unpacked

ALL = 2**62
"""A limit above any number of rows."""
NOBODY = -1
"""The number of a user for whom nothing is stored."""
AMONG = "(SELECT value FROM json_each(?))"
"""A list that is bound as one value."""
SHOWN_LINKS = f"""(SELECT k.* FROM links k WHERE NOT EXISTS (SELECT 1 FROM members JOIN consolidations c
    ON c.user_id = members.user_id AND c.id = members.consolidation AND c.undone_at IS NULL AND c.at >= k.created_at
    JOIN records absorbed ON absorbed.doc = +members.doc AND NOT absorbed.{LIVE} WHERE members.doc IN (k.source, k.target)))"""
"""The links, without those that memories had when they were absorbed: their representatives have them too.

The unary plus makes SQLite look for members first: most links have none.
"""

D = TypeVar("D", bound=Database)


class Reader(Generic[D]):
    """Queries on a record."""

    def __init__(self, database: D) -> None:
        self._db = database

    def user(self, name: str) -> int | None:
        """The number of a user; None if nothing is stored for it."""
        with self._db.read() as db:
            user_id = user_id_of(db, name)
            return None if user_id == NOBODY else user_id

    @contextmanager
    def _snapshot(self, name: str) -> Generator[tuple[Connection, int]]:
        """A connection as one snapshot, and the number of a user in it."""
        with self._db.read() as db, db:
            yield db, user_id_of(db, name)

    def _all(self, sql: str, *values: object) -> list[Any]:
        """The rows of one query."""
        with self._db.read() as db:
            return db.execute(sql, values).fetchall()

    def _rows(self, user: str | int, sql: str, *values: object) -> list[Any]:
        """The rows of one query; its first value is the number of the user, here given by name or number."""
        with self._db.read() as db:
            user_id = user if isinstance(user, int) else user_id_of(db, user)
            return db.execute(sql, (user_id, *values)).fetchall()

    def _column(self, user: str | int, sql: str, *values: object) -> list[Any]:
        """The values of a query for one column."""
        return [value for (value,) in self._rows(user, sql, *values)]

    def _select(self, user: str, view: Table, rest: str, *values: object) -> list[Any]:
        """The records of a view; ``rest`` is the SQL after FROM, whose first value is the number of the user."""
        with self._snapshot(user) as (db, user_id):
            return records_of(db, rows.select(db, view, rest, (user_id, *values)))

    def _by_time(self, user: str, view: Table, filters: RecordFilter, limit: int | None, *, newest: bool) -> list[Any]:
        """Messages or episodes by the time they were said or began, oldest first; ``newest``: the limit keeps the last."""
        direction = "DESC" if newest else "ASC"
        with self._db.read() as db, nullcontext() if view is MESSAGES else db:  # messages are one query
            where, values = filter_clause(db.dialect, user_id_of(db, user), view, filters)
            rest = f"{where} ORDER BY said_at {direction}, doc {direction} LIMIT ?"
            names = rows.MESSAGE if view is MESSAGES else ()
            selected = rows.select(db, view, rest, (*values, ALL if limit is None else limit), names=names)
            selected = selected[::-1] if newest else selected
            return [*map(rows.message_from, selected)] if view is MESSAGES else records_of(db, selected)


def user_id_of(db: Connection, name: str) -> int:
    """The number of a user, or ``NOBODY``."""
    row = db.execute("SELECT user_id FROM users WHERE name = ?", (name,)).fetchone()
    return row[0] if row else NOBODY


class Header(dict[str, Any]):
    """The header of a record."""

    def __missing__(self, key: str) -> Any:
        raise StoreCorrupt(
            f"The header of the record has no {key}: it is damaged. Nothing was changed. Look at it with mnemic doctor --deep, "
            "or restore a backup."
        )


def header(db: Connection) -> Header:
    """The header of the record, with model and dimension once there are vectors."""
    entries = Header(db.execute("SELECT key, value FROM header").fetchall())
    if "dimension" in entries:
        entries["dimension"] = int(entries["dimension"])
    return entries


def model_of(db: Connection) -> Model | None:
    """The embedder of the stored vectors and their dimension; None without vectors."""
    entries = header(db)
    return Model(str(entries["model"]), entries["dimension"]) if "model" in entries or "dimension" in entries else None


def size(db: Connection) -> int:
    """The size of the record in bytes."""
    return int(db.execute(db.dialect.size).fetchone()[0])


def last_event(db: Connection, user_id: int) -> int:
    """The newest event of a user (0: none); events of user 0 concern all users."""
    sql = "SELECT (SELECT max(sequence) FROM events WHERE user_id = ?), (SELECT max(sequence) FROM events WHERE user_id = 0)"
    last, last_shared = db.execute(sql, (user_id,)).fetchone()
    return max(last or 0, last_shared or 0)


# Caches

# Operations that do not change the text of a record, and so neither its terms nor its vector.
_KEEP_TEXT = frozenset(
    ("weigh", "promote", "absorb", "archive", "restore", "undo", "link", "unlink", "supersede", "feel")
)


def changes_since(db: Connection, user_id: int, after: int) -> tuple[int, list[int], set[int], bool]:
    """Changes to a user's records since an event.

    Returns:
        The last event, the changed docs, those of them with an unchanged text, and whether all vectors were recomputed.
    """
    events = db.execute(
        "SELECT sequence, doc, operation FROM events WHERE user_id IN (?, 0) AND sequence > ? ORDER BY sequence",
        (user_id, after),
    ).fetchall()
    last = events[-1][0] if events else after
    docs = {doc for _, doc, _ in events if doc is not None}
    unchanged = docs - {doc for _, doc, operation in events if operation not in _KEEP_TEXT}
    return last, sorted(docs), unchanged, any(op == "reembed" for *_, op in events)


LATE = 60_000_000
"""Microseconds by which a use may be recorded late; a writer delays it by at most half of that."""


def used_docs(db: Connection, user_id: int, since: int) -> list[int]:
    """The docs of the memories of a user with uses recorded since a moment (microseconds since 1970)."""
    sql = "SELECT doc FROM access WHERE last_at >= ? AND user_id = ?"
    return [doc for (doc,) in db.execute(sql, (since - LATE, user_id))]


_ROWS = f"""SELECT {", ".join(rows.CATALOG.values())}, told FROM records LEFT JOIN {USED} AS used ON used_doc = doc
    WHERE user_id = ?"""
_VALIDITY = f"""SELECT doc, coalesce(valid_at, said_at, created_at),
    CASE WHEN invalid_at <= delete_after OR delete_after IS NULL THEN invalid_at ELSE delete_after END,
    expired_at, created_at,
    (SELECT json_group_array(parent) FROM lineage WHERE child = doc),
    CASE WHEN expired_at IS NOT NULL
        THEN (SELECT max(source) FROM {SHOWN_LINKS} l WHERE target = doc AND type = 'supersedes') END, valid_at, said_at IS NULL
    FROM memories WHERE user_id = ?"""
_VECTORS = "SELECT doc, vector FROM vectors WHERE user_id = ?"


def _delta_rows(db: Connection, select: str, user_id: int, after: int, docs: Sequence[int]) -> Iterator[Cursor]:
    """Rows with a doc above ``after``, and those of ``docs``."""
    yield db.execute(f"{select} AND doc > ? ORDER BY doc", (user_id, after))
    if docs:
        sql = f"{select} AND doc <= ? AND doc IN {AMONG}"
        yield db.execute(sql, (user_id, after, docs))


# Records


def _sources(db: Connection, docs: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Kind and id of the sources of each doc, messages oldest first."""
    sql = f"""SELECT l.child, r.kind, r.id FROM lineage l LEFT JOIN records r ON r.doc = l.parent WHERE l.child IN {AMONG}
        ORDER BY l.child, CASE r.kind WHEN 'message' THEN r.said_at END, l.parent"""
    selected = db.execute(sql, (docs,)) if docs else ()
    return rows.group_values((child, (kind, parent)) for child, kind, parent in selected)


def _standings(db: Connection, docs: Sequence[int]) -> dict[int, rows.Standing]:
    """Uses, importance and successors of memories, by doc."""
    sql = f"""SELECT m.doc, coalesce(a.count, 0), coalesce(a.last_at, 0), {importance_sql("m")},
        (SELECT json_group_array(id) FROM records WHERE {LIVE}
            AND doc IN (SELECT source FROM links WHERE target = m.doc AND type = 'supersedes'))
        FROM memories m LEFT JOIN access a ON a.doc = m.doc WHERE m.doc IN {AMONG}"""
    selected = db.execute(sql, (to_micros(now()), docs)) if docs else ()
    return {
        doc: rows.Standing(count, last_at, importance, tuple(sorted(json.loads(successors))))
        for doc, count, last_at, importance, successors in selected
    }


def records_of(db: Connection, selected: Sequence[rows.Row]) -> list[Any]:
    """Records built from rows, with their lineage and standing."""
    sources = _sources(db, [row["doc"] for row in selected if row["kind"] != "message"])
    standings = _standings(db, [row["doc"] for row in selected if row["kind"] == "memory"])
    return [rows.record_from(row, sources.get(row["doc"], ()), standings.get(row["doc"])) for row in selected]


def fetch(db: Connection, user_id: int, docs: Sequence[int]) -> dict[int, Stored]:
    """The records behind docs, by doc."""
    where = f"WHERE user_id = ? AND doc IN {AMONG}"
    return stored_records(db, rows.select(db, RECORDS, where, (user_id, [int(doc) for doc in docs])))


def stored_records(db: Connection, selected: Sequence[rows.Row]) -> dict[int, Stored]:
    """The records of whole rows, by doc."""
    return {
        row["doc"]: Stored(
            kind=row["kind"], value=value, status=rows.public_status(row["status"]), project=row["project"],
            episode=0 if row["waits"] == 0 and row["episode"] is None else row["episode"],
        )
        for row, value in zip(selected, records_of(db, selected), strict=True)
    }  # fmt: skip


def docs_of(db: Connection, user_id: int, ids: Sequence[str], kind: str | None = None) -> dict[str, int]:
    """The docs of the ids that exist for this user."""
    sql = f"SELECT id, doc FROM records WHERE user_id = ? AND id IN {AMONG}"
    cursor = db.execute(f"{sql} AND kind = ?", (user_id, ids, kind)) if kind else db.execute(sql, (user_id, ids))
    return dict(cursor.fetchall())


def _doc_of(db: Connection, user_id: int, id: str) -> int:
    """The doc of an id.

    Raises:
        NotFound: this user has no such record.
    """
    row = db.execute("SELECT doc FROM records WHERE user_id = ? AND id = ?", (user_id, id)).fetchone()
    if row is None:
        raise NotFound(f"This user has no record with the id {id!r}.")
    return row[0]


Condition: TypeAlias = tuple[str, str, Sequence[object]]
"""The column a condition needs, its SQL, and the values it binds."""


def _stored_conditions(dialect: Dialect, user_id: int, table: str, filters: RecordFilter) -> list[Condition]:
    """The filters that the catalog does not hold; keys and values are always bound."""
    conditions: list[Condition] = [
        ("metadata", *dialect.has_metadata(user_id, table, key, value))
        for key, value in (filters.metadata or {}).items()
    ]
    if filters.tags is not None:
        conditions.insert(0, ("tags", *dialect.has_tags(user_id, table, filters.tags)))
    if filters.tags is not None or filters.category is not None or filters.min_importance is not None:
        conditions.append(("kind", "kind = 'memory'", ()))  # others have none: a smaller index is read
    if filters.min_importance is not None:
        least = filters.min_importance
        salient = (least - MOST_BOOST) / (1 - MOST_BOOST) - 1e-9  # what has less cannot reach it: no use is looked up
        sql = f"(pinned = 1 OR salience >= ?) AND {importance_sql(table)} >= ?"
        conditions.append(("importance", sql, (salient, to_micros(now()), least)))
    if filters.category is not None:
        conditions.append(_membership("category", filters.category))
    if "quarantined" in (filters.status or ()):  # archived in the catalog
        conditions.append(_membership("status", filters.status or ()))
    return conditions + _comparisons(
        ("trust", ">=", filters.min_trust), ("speaker", "=", filters.speaker),
    )  # fmt: skip


def _comparisons(*comparisons: tuple[str, str, object]) -> list[Condition]:
    """Comparisons of a column with a value; those with None do not count."""
    return [(name, f"{name} {sign} ?", (value,)) for name, sign, value in comparisons if value is not None]


def _membership(column: str, values: Sequence[str], negation: str = "") -> Condition:
    return (column, f"{negation}({column} IN {AMONG})", (values,))


def _where_clause(conditions: Sequence[Condition], user_id: int, columns: Collection[str]) -> tuple[str, list[Any]]:
    """The clause of some conditions and its values; a condition on a column that the view lacks matches nothing."""
    if any(name not in columns for name, *_ in conditions):
        return "WHERE user_id = ? AND 1 = 0", [user_id]
    clauses = ["user_id = ?", *(sql for _, sql, _ in conditions)]
    return f"WHERE {' AND '.join(clauses)}", [user_id, *(value for *_, bound in conditions for value in bound)]


def _reach_conditions(filters: RecordFilter, *, memories: bool) -> list[Condition]:
    """Reach, session and project as SQL; ``Catalog.mask`` is the same in arrays."""
    conditions: list[Condition] = []
    if filters.reach == "session":
        conditions.append(("session", "session IS NOT DISTINCT FROM ?", (filters.session,)))
    elif memories:
        conditions.append(("session", "(session IS NULL OR session IS NOT DISTINCT FROM ?)", (filters.session,)))
    if filters.reach == "project":
        conditions.append(("project", "project IS NOT DISTINCT FROM ?", (filters.project,)))
    elif filters.reach != "user" and filters.project is not None:
        conditions.append(("project", "(project IS NULL OR project = ?)", (filters.project,)))
    return conditions


def filter_clause(dialect: Dialect, user_id: int, view: Table, filters: RecordFilter) -> tuple[str, list[Any]]:
    """The clause that selects the records of a view, and its values."""
    memories = view is MEMORIES
    time = "coalesce(said_at, created_at)" if memories else "said_at"
    statuses = filters.status if filters.status is not None else ("short_term", "consolidating", "long_term")
    if "archived" in statuses:
        statuses = (*statuses, "quarantined")
    conditions = [
        *_reach_conditions(filters, memories=memories),
        *_stored_conditions(dialect, user_id, view.name, filters),
        _membership("status", statuses),
        *_comparisons(
            ("session", "=", filters.in_session), ("role", "=", filters.role),
            ("said_at", "<=", None if memories else filters.at), ("created_at", "<=", None if memories else filters.known_at),
        ),
        *(
            ("said_at", f"{time} {sign} ?", (moment,))
            for sign, moment in ((">=", filters.since), ("<", filters.until))
            if moment is not None
        ),
    ]  # fmt: skip
    if filters.types is not None:
        conditions.append(_membership("type", filters.types))
    if filters.exclude:
        conditions.append(_membership("id", filters.exclude, "NOT "))
    if memories:
        conditions.append(("valid_at", *_validity_condition(filters)))
    return _where_clause(conditions, user_id, view.names)


def _validity_condition(filters: RecordFilter) -> tuple[str, list[object]]:
    """Valid time and transaction time as SQL; ``Validity.hidden`` is the same in arrays.

    The unary plus keeps the planner from an index on a bound that nearly all rows satisfy.
    """
    if filters.expired:
        return "1 = 1", []
    known_at = LATEST if filters.known_at is None else filters.known_at
    current = "(expired_at IS NULL OR expired_at > ?)"
    until = f"""(CASE WHEN expired_at > ? THEN {LATEST}
        WHEN invalid_at <= delete_after OR delete_after IS NULL THEN coalesce(invalid_at, {LATEST})
        ELSE delete_after END)"""
    if filters.at is None:
        today = to_micros(now()) if filters.known_at is None else known_at
        has_begun = "(valid_at IS NULL OR +valid_at <= ?)"
        values: list[object] = [known_at, known_at, known_at, today, today]
        return f"+created_at <= ? AND {current} AND {until} > ? AND {has_begun}", values
    holds_at = f"coalesce(valid_at, said_at, created_at) <= ? AND ? < {until}"
    return (
        f"+created_at <= ? AND {holds_at} AND ({current} OR {until} < {LATEST})",
        [known_at, filters.at, filters.at, known_at, known_at, known_at],
    )


def events(db: Connection, user_id: int, where: str, values: Sequence[object]) -> tuple[Event, ...]:
    """Events of a user, each with the content of its version; ``where`` selects and orders them."""
    sql = f"SELECT sequence, at, operation, id, version, detail, doc FROM events WHERE user_id = ? AND {where}"
    selected = db.execute(sql, (user_id, *values)).fetchall()
    docs = sorted({row[-1] for row in selected})
    content: dict[tuple[int, int], str] = {}
    for doc, version, text in db.execute(f"SELECT doc, version, content FROM records WHERE doc IN {AMONG}", (docs,)):
        content[doc, version] = text
    for doc, version, row in db.execute(f"SELECT doc, version, row FROM versions WHERE doc IN {AMONG}", (docs,)):
        content[doc, version] = json.loads(row)["content"]
    return tuple(
        Event(
            sequence=sequence, at=from_micros(at), operation=operation, id=id_ or "", version=version,
            content=content.get((doc, version)), detail=json.loads(detail),
        )
        for sequence, at, operation, id_, version, detail, doc in selected
    )  # fmt: skip


LEVEL = "project IS NOT DISTINCT FROM ? AND session IS NOT DISTINCT FROM ?"


class Records(Reader[D]):
    """Queries on records of all kinds."""

    def last_event(self, user_id: int) -> int:
        """The newest event that concerns a user; a cache at this event is current."""
        with self._db.read() as db:
            return last_event(db, user_id)

    def catalog(
        self, user_id: int, *, after: int, event: int, used_since: int = 0, vectors: bool = True
    ) -> CatalogDelta:
        """The update for a cache that has docs up to ``after`` and events up to ``event`` (-1: an empty cache).

        ``used_since`` is the moment of the last update, in microseconds since 1970.
        """
        with self._db.read() as db, db:
            moment, last = to_micros(now()), last_event(db, user_id)
            touched, unchanged, reembedded = list[int](), set[int](), False
            if event >= 0:
                last, docs, unchanged, reembedded = changes_since(db, user_id, event)
                used = set(used_docs(db, user_id, used_since)) - set(docs)
                unchanged |= used
                touched = sorted(doc for doc in (*docs, *used) if doc <= after)
            entries = header(db)
            columns = rows.catalog_columns(_delta_rows(db, _ROWS, user_id, after, touched))
            matrix = None
            if vectors:  # their number is at most that of the rows, unless all were recomputed
                changed_docs = [doc for doc in touched if doc not in unchanged]
                selected = _delta_rows(db, _VECTORS, user_id, -1 if reembedded else after, changed_docs)
                matrix = rows.vector_matrix(selected, len(columns) if columns else 0)
            return CatalogDelta(
                event=last, moment=moment, rows=columns, vectors=matrix, touched=touched, kept=unchanged, reembedded=reembedded,
                model=entries.get("model"), dimension=entries.get("dimension"),
                validity=[row for part in _delta_rows(db, _VALIDITY, user_id, after, touched) for row in part.fetchall()],
            )  # fmt: skip

    def postings(self, user_id: int, term: str) -> list[int]:
        """Docs of a user that contain a term, ascending, each repeated by its term frequency."""
        with self._db.read() as db:
            return db.dialect.postings(db, user_id, term)

    def matching(self, user_id: int, filters: RecordFilter, docs: Sequence[int] | None = None) -> list[int]:
        """Docs, or those among ``docs``, that match the filters which the catalog does not hold, such as tags; in no order."""
        with self._db.read() as db:
            conditions = _stored_conditions(db.dialect, user_id, RECORDS.name, filters)
            where, values = _where_clause(conditions, user_id, RECORDS.names)
            if docs is not None:
                where, values = f"{where} AND doc IN {AMONG}", [*values, docs]
            return [doc for (doc,) in db.execute(f"SELECT doc FROM records {where}", values)]

    def fetch(self, user_id: int, docs: Sequence[int]) -> dict[int, Stored]:
        """The records of docs, by doc; missing ones are left out."""
        with self._db.read() as db:
            return fetch(db, user_id, docs)

    def docs_of(self, user: str, ids: Sequence[str], *, kind: Kind | None = None) -> dict[str, int]:
        """The docs of the ids that exist for this user, of one kind or any."""
        with self._db.read() as db:
            return docs_of(db, user_id_of(db, user), ids, kind)

    def get(self, user: str, id: str) -> Stored:
        """One record by id, archived or not.

        Raises:
            NotFound: this user has no such record.
        """
        with self._snapshot(user) as (db, user_id):
            doc = _doc_of(db, user_id, id)
            return fetch(db, user_id, [doc])[doc]

    def list_memories(
        self, user: str, filters: RecordFilter, *, order: str, limit: int | None, offset: int
    ) -> tuple[MemoryRecord, ...]:
        """Memories by the time they were created, ``newest`` or ``oldest`` first."""
        direction = "DESC" if order == "newest" else "ASC"
        with self._snapshot(user) as (db, user_id):
            where, values = filter_clause(db.dialect, user_id, MEMORIES, filters)
            rest = f"{where} ORDER BY created_at {direction}, doc {direction} LIMIT ? OFFSET ?"
            selected = rows.select(db, MEMORIES, rest, (*values, ALL if limit is None else limit, offset))
            return tuple(records_of(db, selected))

    def list_messages(
        self, user: str, filters: RecordFilter, *, limit: int | None, newest: bool
    ) -> tuple[Message, ...]:
        """Messages of a user, oldest first."""
        return tuple(self._by_time(user, MESSAGES, filters, limit, newest=newest))

    def history(self, user: str, id: str) -> tuple[Event, ...]:
        """The audit trail of one record.

        Raises:
            NotFound: this user has no such record.
        """
        with self._snapshot(user) as (db, user_id):
            return events(db, user_id, "doc = ? ORDER BY sequence", (_doc_of(db, user_id, id),))


class Knowledge(Reader[Database]):
    """Queries of processing."""

    def conversations(self, user: str) -> list[tuple[str | None, str | None, int]]:
        """Project, session and number of unprocessed messages by conversation, the longest waiting first."""
        sql = f"""SELECT project, session, count(*) FROM records WHERE user_id = ? AND waits = 1 AND {LIVE}
            GROUP BY project, session ORDER BY min(said_at), min(doc)"""
        return self._rows(user, sql)

    def sessions(self, user: str, since: int, until: int) -> list[tuple[str | None, str, int]]:
        """Project, name and time of the last message of the sessions whose last message lies between two times."""
        sql = f"""SELECT project, session, max(said_at) FROM messages
            WHERE user_id = ? AND said_at >= ? AND session IS NOT NULL AND {LIVE}
            GROUP BY project, session HAVING max(said_at) <= ? ORDER BY max(said_at)"""
        return self._rows(user, sql, since, until)

    def waiting(self, user: str, level: Level, limit: int) -> list[Waiting]:
        """The first unprocessed messages of a conversation, oldest first, without what is gone of them, with their vectors."""
        with self._snapshot(user) as (db, user_id):
            rest = f"WHERE user_id = ? AND {LEVEL} AND waits = 1 AND {LIVE} ORDER BY said_at, doc LIMIT ?"
            selected = rows.select(db, MESSAGES, rest, (user_id, *level, limit), names=rows.MESSAGE)
            vectors = text_vectors(db, user_id, [row["doc"] for row in selected])
            messages = [rows.message_from(row) for row in selected]
            current = current_messages(db, user_id, messages)
            return [
                Waiting(
                    doc=row["doc"],
                    message=message if message is original else _without_marks(message),
                    project=row["project"],
                    vector=vectors[row["doc"]].text if row["doc"] in vectors else None,
                )
                for row, original, message in zip(selected, messages, current, strict=True)
            ]

    def with_outdated(self, user: str) -> list[Message]:
        """Messages that are forgotten, or of which something is or has ended, that a longer memory made of them, or an
        episode, still says: another device made it.
        """
        gone = "SELECT doc FROM events WHERE user_id = ?1 AND operation = 'archive'"
        rest = f"""WHERE user_id = ?1 AND kind = 'message' AND doc IN (
            SELECT a.parent FROM memories old JOIN lineage a ON a.child = old.doc JOIN lineage b ON b.parent = a.parent
            JOIN records held ON held.doc = b.child JOIN messages m ON m.doc = a.parent AND m.{LIVE}
            WHERE old.user_id = ?1 AND old.said_at IS NOT NULL AND (old.expired_at IS NOT NULL OR old.status = 'archived')
            AND old.doc IN (SELECT doc FROM events WHERE user_id = ?1 AND operation = 'supersede'
                UNION {gone} AND detail LIKE '%"everywhere"%')
            AND held.expired_at IS NULL AND held.delete_after IS NULL AND held.{LIVE}
            AND length(held.content) > length(old.content) AND replace(held.content, old.content, '') <> held.content
            UNION SELECT old.doc FROM messages old JOIN lineage l ON l.parent = old.doc JOIN records e ON e.doc = l.child
            WHERE old.doc IN ({gone}) AND old.status = 'archived' AND e.kind = 'episode' AND e.{LIVE}
            AND replace(e.content, substr(old.content, 1, {BEGINNING}), '') <> e.content) ORDER BY doc"""
        return self._select(user, RECORDS, rest)

    def vectors(self, user: str, ids: Sequence[str]) -> dict[str, TextVectors]:
        """Vectors by id; records without valid ones are missing."""
        with self._snapshot(user) as (db, user_id):
            docs = docs_of(db, user_id, ids)
            vectors = text_vectors(db, user_id, list(docs.values()))
            return {id_: vectors[doc] for id_, doc in docs.items() if doc in vectors}

    def pending(self, user: str, task: str) -> list[str]:
        """Ids of the memories with a pending task, oldest first."""
        sql = f"""SELECT m.id FROM pending p JOIN memories m ON m.doc = p.doc WHERE p.user_id = ? AND p.task = ?
            AND m.{LIVE} ORDER BY p.doc"""
        return self._column(user, sql, task)

    def unrefined(self, user: str, limit: int) -> list[Episode]:
        """Episodes that the language model has not yet refined, oldest first."""
        rest = f"""WHERE user_id = ?1 AND doc IN (SELECT doc FROM pending WHERE user_id = ?1 AND task = 'refine')
            AND {LIVE} ORDER BY doc LIMIT ?2"""
        return self._select(user, EPISODES, rest, limit)

    def episodes(self, user: str, filters: RecordFilter, *, limit: int | None, newest: bool) -> list[Episode]:
        """Episodes in the order they began; with ``newest`` the limit keeps the last ones."""
        return self._by_time(user, EPISODES, filters, limit, newest=newest)

    def latest(self, user: str, level: Level, limit: int) -> list[Episode]:
        """The last live episodes of one conversation, newest first."""
        return self._latest(user, LEVEL, *level, limit)

    def recent(self, user: str, project: str | None, limit: int) -> list[Episode]:
        """The last live episodes of a project (None: of no project) in any conversation, newest first."""
        return self._latest(user, "project IS NOT DISTINCT FROM ?", project, limit)

    def _latest(self, user: str, where: str, *values: object) -> list[Episode]:
        rest = f"WHERE user_id = ? AND {where} AND {LIVE} ORDER BY ended_at DESC, doc DESC LIMIT ?"
        return self._select(user, EPISODES, rest, *values)

    def duplicates(self, user: str, records: Sequence[MemoryRecord]) -> dict[str, str]:
        """The ids of new memories whose statement a stored one at their level makes already, with the id of that one."""
        today = to_micros(now())
        with self._snapshot(user) as (db, user_id):
            duplicates: dict[str, str] = {}
            for record in records:
                level, digest = (record.project, record.session), rows.content_hash(record.spoken)
                statements = same_statements(db, user_id, level, digest, moment_said(record, today), today=today)
                if statements:
                    duplicates[record.id] = statements[0].id
            return duplicates

    def messages_of(self, user: str, episode: Episode) -> list[Message]:
        """The live messages of an episode, oldest first, without what was forgotten of them or has ended."""
        rest = f"WHERE user_id = ? AND id IN {AMONG} AND {LIVE}"
        with self._snapshot(user) as (db, user_id):
            selected = rows.select(db, MESSAGES, rest, (user_id, episode.message_ids), names=rows.MESSAGE)
            by_id = {row["id"]: row for row in selected}
            messages = [rows.message_from(by_id[id_]) for id_ in episode.message_ids if id_ in by_id]
            return [m for m in current_messages(db, user_id, messages) if m.content]

    def memories(self, user: str, ids: Iterable[str]) -> list[MemoryRecord]:
        """The memories among some records, in the order of the ids."""
        return [record for record in self.records(user, [*ids]).values() if isinstance(record, MemoryRecord)]

    def records(self, user: str, ids: Sequence[str]) -> dict[str, Record]:
        """Records by id, in the order of the ids; missing ones are left out."""
        by_id = {value.id: value for value in self._select(user, RECORDS, f"WHERE user_id = ? AND id IN {AMONG}", ids)}
        return {id_: by_id[id_] for id_ in dict.fromkeys(ids) if id_ in by_id}

    def texts(self, after: int, limit: int) -> list[tuple[int, str, list[Any]]]:
        """The next records of all users as (doc, id, texts), ascending by doc.

        Texts include those of versions, and the reasons of links and events.
        """
        with self._db.read() as db, db:
            selected = rows.select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, limit))
            related = rows.group_values(_related_texts(db, [row["doc"] for row in selected]))
            return [(row["doc"], row["id"], _row_texts(row) + related.get(row["doc"], [])) for row in selected]


class Statement(NamedTuple):
    """What a live memory says besides its words."""

    id: str
    key: str | None
    trust: float


_SAME = f"""SELECT id, key, trust FROM memories WHERE user_id = ?1 AND coalesce(project, '') = ?2
    AND coalesce(session, '') = ?3 AND hash = ?4 AND {LIVE}"""
_HOLDING = f"{NOT_ENDED.format(now='?5')} AND (valid_at IS NULL OR valid_at <= ?6)"


def same_statements(
    db: Connection, user_id: int, level: Level, digest: bytes, moment: int | None, *, today: int
) -> list[Statement]:
    """The live memories with the same text at a level that hold at a moment and have begun by today, oldest first.

    Without a moment they are those that have expired.
    """
    where, moments = ("expired_at IS NOT NULL", ()) if moment is None else (_HOLDING, (moment, max(moment, today)))
    values = (user_id, level[0] or "", level[1] or "", digest, *moments)
    return [Statement(*row) for row in db.execute(f"{_SAME} AND {where} ORDER BY doc", values).fetchall()]


def moment_said(record: MemoryRecord, today: int) -> int:
    """The moment for which a memory says something: when it was said, else today or when it begins; in microseconds."""
    if record.said_at is not None:
        return to_micros(record.said_at)
    return today if record.valid_at is None else max(today, to_micros(record.valid_at))


def text_vectors(db: Connection, user_id: int, docs: Sequence[int], *, long: bool = False) -> dict[int, TextVectors]:
    """Valid vectors by doc, with those of passages; ``long``: only of texts with passages."""
    rest = " AND passages IS NOT NULL" if long else ""
    sql = f"SELECT doc, vector, passages FROM vectors WHERE user_id = ? AND doc IN {AMONG}{rest}"
    vectors = {doc: _text_vectors(vector, parts or b"") for doc, vector, parts in db.execute(sql, (user_id, docs))}
    return {doc: v for doc, v in vectors.items() if v.text.any()}


def _text_vectors(vector: bytes, passages: bytes) -> TextVectors:
    count = len(passages) // max(len(vector), 1)
    matrix = unpacked(vector + passages[: count * len(vector)], 1 + count)
    return TextVectors(matrix[0], matrix[1:])


_TEXTS = ("session", "content", "role", "speaker", "title", "category", "key", "summary", "context")
_JSON = ("metadata", "keywords", "tags", "related_files", "related_entities")


def _row_texts(row: rows.Row) -> list[Any]:
    """The texts of a row; JSON columns are parsed."""
    texts = [row[name] for name in _TEXTS if row.get(name)]
    return texts + [json.loads(row[name]) for name in _JSON if row.get(name)]


def _related_texts(db: Connection, docs: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Texts of records in other tables."""
    for doc, row in db.execute(f"SELECT doc, row FROM versions WHERE doc IN {AMONG}", (docs,)):
        yield doc, _row_texts(json.loads(row))
    yield from db.execute(f"SELECT source, reason FROM links WHERE reason != '' AND source IN {AMONG}", (docs,))
    sql = f"SELECT doc, detail FROM events WHERE detail LIKE '%\"reason\"%' AND doc IN {AMONG}"
    for doc, detail in db.execute(sql, (docs,)):
        yield doc, json.loads(detail).get("reason")


_GONE = f"""SELECT p.id, r.doc, r.content, r.status, CASE WHEN r.status = 'archived' THEN
    (SELECT e.detail FROM events e WHERE e.doc = r.doc AND e.operation IN {TRANSITIONS} ORDER BY e.sequence DESC LIMIT 1) END,
    CASE WHEN r.expired_at IS NULL THEN r.invalid_at <= ? AND r.updated_at <= ?
    ELSE r.expired_at <= ? AND (r.invalid_at IS NULL OR r.invalid_at <= ?) END
    FROM records p JOIN lineage l ON l.parent = p.doc JOIN records r ON r.doc = l.child
    WHERE p.user_id = ? AND p.id IN {AMONG} AND p.kind = 'message' AND r.kind = 'memory'
    AND r.said_at IS NOT NULL AND (r.status = 'archived' OR r.expired_at IS NOT NULL OR r.invalid_at IS NOT NULL)"""
_AFTER = f"""WITH RECURSIVE later(old, doc) AS (
    SELECT target, source FROM links WHERE target IN {AMONG} AND type = 'supersedes'
    UNION SELECT later.old, links.source FROM links JOIN later ON links.target = later.doc AND links.type = 'supersedes')
    SELECT later.old, content FROM later JOIN memories m ON m.doc = later.doc WHERE {LIVE}"""


_NOW = RecordFilter()
BEGINNING = 12
"""Characters of a message by which an episode is known to tell it still."""


@dataclass(slots=True)
class Omissions:
    """What memories derived from a message said: what was forgotten, what has ended, and whether some of it holds again."""

    forgotten: list[str] = field(default_factory=list[str])
    ended: list[str] = field(default_factory=list[str])
    holds_again: bool = False

    @property
    def texts(self) -> list[str]:
        """All that no longer holds."""
        return [*self.forgotten, *self.ended]


def omissions_of(
    db: Connection, user_id: int, messages: Sequence[Message], filters: RecordFilter = _NOW
) -> Mapping[str, Omissions]:
    """What is gone of messages, by id. A value that came back, in whatever words, holds."""
    known_at, at = (LATEST if moment is None else moment for moment in (filters.known_at, filters.at))
    times = (to_micros(now()) if filters.at is None else at, known_at, known_at, at)
    selected = db.execute(_GONE, (*times, user_id, [str(m.id) for m in messages])).fetchall() if messages else []
    replacements = _replacements(db, [doc for _, doc, *_, ended in selected if ended], filters)
    by_id = {str(message.id): message for message in messages}
    omissions = defaultdict[str, Omissions](Omissions)
    for id_, doc, content, status, detail, ended in selected:
        omitted = omissions[id_]
        if status == "archived" and json.loads(detail or "{}").get("everywhere"):
            omitted.forgotten.append(content)
        elif ended and any(agrees(content, later) and agrees(later, content) for later in replacements.get(doc, ())):
            omitted.holds_again = True
        elif ended:
            omitted.ended += _wordings(by_id[id_], content)
    return omissions


def _wordings(message: Message, statement: str) -> list[str]:
    """A statement as a message says it: word for word, else the sentences that agree with it."""
    if remove_texts(message, [statement]).content != message.content:
        return [statement]
    return [s for s in sentences(message.content) if agrees(s, statement, speaker=message.name or "")]


def _replacements(db: Connection, docs: Sequence[int], filters: RecordFilter) -> dict[int, list[str]]:
    """What holds in place of ended memories, by doc."""
    where, values = _validity_condition(RecordFilter(at=filters.at, known_at=filters.known_at))
    return rows.group_values(db.execute(f"{_AFTER} AND {where}", (docs, *values)) if docs else ())


def remove_texts(message: Message, texts: Sequence[str]) -> Message:
    """A message without the sentences that say these texts."""
    return replace(message, content=without_sentences(message.content, texts)) if texts else message


def current_messages(db: Connection, user_id: int, messages: Sequence[Message]) -> list[Message]:
    """Messages without what is gone of them."""
    omissions = omissions_of(db, user_id, messages)
    return [remove_texts(m, omissions[str(m.id)].texts) for m in messages]


class ShownMessage(NamedTuple):
    """What recall shows of a message: what holds of it; all of it but for what was forgotten, if nothing holds.

    ``holds`` tells whether something does; None if no sentence of it is known to have ended.
    """

    message: Message
    holds: bool | None


def shown_message(message: Message, omitted: Omissions) -> ShownMessage:
    """What recall shows of a message, given what is gone of it."""
    unforgotten = remove_texts(message, omitted.forgotten)
    current = remove_texts(message, omitted.texts)
    if not current.content and omitted.ended:
        return ShownMessage(unforgotten if unforgotten.content else message, omitted.holds_again)
    has_ended = omitted.holds_again or current.content != unforgotten.content
    return ShownMessage(current if current.content else message, True if has_ended else None)


LATER = """WITH RECURSIVE later(doc) AS (SELECT source FROM links WHERE target = ?1 AND type = 'supersedes'
    UNION SELECT source FROM links JOIN later ON target = later.doc AND type = 'supersedes')"""
"""All that took the place of a memory, and of that in turn."""


def _without_marks(message: Message) -> Message:
    """A message without the marks of what is left out of it, which nobody said."""
    return replace(message, content=message.content.replace(f" {CUT}", "").replace(f"{CUT} ", ""))
