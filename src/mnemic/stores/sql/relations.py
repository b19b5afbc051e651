"""Queries on links, lineage and supersession."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.errors import NotFound
from mnemic.stores.schema import LIVE
from mnemic.stores.sql import queries
from mnemic.stores.sql.connection import Database
from mnemic.types import Emotion, Episode, Graph, Link, LinkType, MemoryRecord, RecordFilter

__all__ = ["Relations"]

# Steps along links, in either direction, to live memories; UNION stops at cycles.
_WALK = f"""WITH RECURSIVE walk(doc, depth) AS (SELECT CAST(?1 AS BIGINT), CAST(0 AS BIGINT)
    UNION SELECT m.doc, w.depth + 1 FROM walk w JOIN links l ON l.source = w.doc OR l.target = w.doc
        JOIN memories m ON m.doc = CASE WHEN l.source = w.doc THEN l.target ELSE l.source END
        WHERE w.depth < ?2 AND l.type IN (SELECT value FROM json_each(?3)) AND m.{LIVE})
    SELECT doc, min(depth) FROM walk GROUP BY doc ORDER BY 2, 1 LIMIT ?4"""
_LINKS = """SELECT a.id, b.id, l.type, l.strength, l.reason, l.source, l.target FROM links l
    JOIN memories a ON a.doc = l.source JOIN memories b ON b.doc = l.target"""
_AMONG = "(SELECT value FROM json_each(?))"


class Relations:
    """Queries on the relations of records, each restricted to one user."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def episodes(self, user: str, docs: Sequence[int]) -> dict[int, Episode]:
        """Episodes by doc."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            found = {} if number is None or not docs else queries.fetch(db, number, docs)
            return {doc: s.value for doc, s in found.items() if isinstance(s.value, Episode)}

    def predecessors(self, user: str, ids: Sequence[str]) -> dict[str, list[MemoryRecord]]:
        """The memories that each memory superseded, by the id of the latter."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, ids, "memory")
            sql = f"SELECT source, target FROM links WHERE type = 'supersedes' AND source IN {_AMONG} ORDER BY target"
            pairs = db.execute(sql, (db.dialect.bind_list(list(docs.values())),)).fetchall()
            old = {} if number is None else queries.fetch(db, number, [target for _, target in pairs])
            by_doc = {doc: id_ for id_, doc in docs.items()}
            found: dict[str, list[MemoryRecord]] = {}
            for source, target in pairs:
                if isinstance(record := old[target].value, MemoryRecord) and record.status != "archived":
                    found.setdefault(by_doc[source], []).append(record)
            return found

    def emotions(self, user: int, docs: Sequence[int]) -> dict[int, Emotion]:
        """Emotions of messages and memories by doc; records without an estimate are left out."""
        with self._db.read() as db, db:
            named = db.dialect.bind_list(docs)
            sql = f"""SELECT doc, valence, arousal, emotion_confidence FROM records
                WHERE user_id = ? AND valence IS NOT NULL AND doc IN {_AMONG}"""
            found = db.execute(sql, (user, named))
            return {doc: Emotion(valence=v, arousal=a, confidence=c) for doc, v, a, c in found}

    def with_key(self, user: str, key: str, filters: RecordFilter) -> list[MemoryRecord]:
        """The memories whose metadata has a key, whatever its value."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            return [] if number is None else queries.memories_with_key(db, number, key, filters)

    def memories_of(self, user: str, ids: Sequence[str]) -> dict[str, list[str]]:
        """The memories derived from messages, archived ones included, by message id; those with a lifetime are left out."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT m.id, r.id FROM messages m JOIN lineage l ON l.parent = m.doc JOIN memories r ON r.doc = l.child
                WHERE m.user_id = ? AND m.id IN {_AMONG} AND r.delete_after IS NULL
                ORDER BY +m.doc, r.doc"""  # the unary plus makes SQLite look up the ids instead of scanning in order
            found: dict[str, list[str]] = {}
            for message, memory in db.execute(sql, (number, db.dialect.bind_list(ids))):
                found.setdefault(message, []).append(memory)
            return found

    def episodes_of(self, user: str, ids: Sequence[str]) -> list[int]:
        """Docs of the episodes of messages, archived ones included, ascending."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT DISTINCT e.doc FROM messages m JOIN lineage l ON l.parent = m.doc
                JOIN episodes e ON e.doc = l.child WHERE m.user_id = ? AND m.id IN {_AMONG} ORDER BY e.doc"""
            return [row[0] for row in db.execute(sql, (number, db.dialect.bind_list(ids))).fetchall()]

    def stored_after(self, user: int, moment: int) -> list[int]:
        """Docs of the messages and episodes stored after ``moment`` (microseconds since 1970)."""
        with self._db.read() as db:
            sql = "SELECT doc FROM records WHERE user_id = ? AND created_at > ? AND kind != 'memory' ORDER BY doc"
            return [doc for (doc,) in db.execute(sql, (user, moment))]

    def ids(self, user: int, docs: Sequence[int]) -> dict[int, str]:
        """Ids of live memories and episodes, by doc."""
        with self._db.read() as db:
            sql = f"SELECT doc, id FROM records WHERE user_id = ? AND {LIVE} AND kind != 'message' AND doc IN {_AMONG}"
            return dict(db.execute(sql, (user, db.dialect.bind_list(docs))).fetchall())

    def links(self, user: int, docs: Sequence[int]) -> list[tuple[int, int, float]]:
        """The links from or to memories, as (source doc, target doc, strength)."""
        with self._db.read() as db:
            named = db.dialect.bind_list(docs)
            sql = "SELECT source, target, strength FROM links WHERE user_id = ? AND"
            found = db.execute(f"{sql} source IN {_AMONG}", (user, named)).fetchall()
            found += db.execute(f"{sql} target IN {_AMONG}", (user, named)).fetchall()
            return [(int(source), int(target), float(strength)) for source, target, strength in sorted(set(found))]

    def edges(self, user: int, docs: Sequence[int]) -> list[tuple[int, int, str, float, int]]:
        """The same links as (source doc, target doc, type, strength, last access to either end or creation of the link)."""
        with self._db.read() as db:
            sql = f"""SELECT l.source, l.target, l.type, l.strength, l.created_at, coalesce(a.last_at, 0),
                coalesce(b.last_at, 0) FROM links l
                LEFT JOIN access a ON a.doc = l.source LEFT JOIN access b ON b.doc = l.target
                WHERE l.user_id = ? AND (l.source IN {_AMONG} OR l.target IN {_AMONG}) ORDER BY l.source, l.target, l.type"""
            named = db.dialect.bind_list(docs)
            found = db.execute(sql, (user, named, named)).fetchall()
            return [(int(a), int(b), kind, float(strength), max(times)) for a, b, kind, strength, *times in found]

    def graph(self, user: str, id: str, *, depth: int, types: Sequence[LinkType], most: int) -> Graph:
        """The memories within ``depth`` links of one, at most ``most``, and the links among them.

        Raises:
            NotFound: this user has no such memory.
        """
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            start = None if number is None else queries.docs_of(db, number, [id], "memory").get(id)
            if number is None or start is None:
                raise NotFound(f"This user has no memory with the id {id!r}; the graph is one of memories.")
            named = db.dialect.bind_list(types)
            depths = dict(db.execute(_WALK, (start, depth, named, most)).fetchall())
            found = queries.fetch(db, number, list(depths))
            inside = db.dialect.bind_list(list(depths))
            sql = (
                f"{_LINKS} WHERE l.source IN {_AMONG} AND l.target IN {_AMONG} AND l.type IN {_AMONG} ORDER BY 6, 7, 3"
            )
            links = db.execute(sql, (inside, inside, named)).fetchall()
            memories = {doc: s.value for doc in depths if isinstance((s := found[doc]).value, MemoryRecord)}
            return Graph(
                memories=tuple(memories.values()),
                links=tuple(
                    Link(source=a, target=b, type=kind, strength=strength, reason=reason)
                    for a, b, kind, strength, reason, *_ in links
                ),
                depths={record.id: depths[doc] for doc, record in memories.items()},
            )
