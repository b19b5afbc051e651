"""Queries on links, lineage and supersession."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.errors import NotFound
from mnemic.stores.schema import LIVE, MEMORIES
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, SHOWN_LINKS, Reader, fetch, records_of
from mnemic.types import Emotion, Graph, Link, LinkType, MemoryRecord, Message, RecordFilter

# Steps along links, in either direction, to live memories; UNION stops at cycles.
_WALK = f"""WITH RECURSIVE walk(doc, depth) AS (SELECT CAST(?1 AS BIGINT), CAST(0 AS BIGINT)
    UNION SELECT m.doc, w.depth + 1 FROM walk w JOIN {SHOWN_LINKS} l ON l.source = w.doc OR l.target = w.doc
        JOIN memories m ON m.doc = CASE WHEN l.source = w.doc THEN l.target ELSE l.source END
        WHERE w.depth < ?2 AND l.type IN (SELECT value FROM json_each(?3)) AND m.{LIVE})
    SELECT doc, min(depth) FROM walk GROUP BY doc ORDER BY 2, 1 LIMIT ?4"""
_LINKS = f"""SELECT a.id, b.id, l.type, l.strength, l.reason FROM {SHOWN_LINKS} l LEFT JOIN memories a ON a.doc = l.source
    LEFT JOIN memories b ON b.doc = l.target"""
_AMONG_THEM = (
    f"WHERE l.source IN {AMONG} AND l.target IN {AMONG} AND l.type IN {AMONG} ORDER BY l.source, l.target, l.type"
)


def _links(db: Connection, rest: str, *values: object) -> tuple[Link, ...]:
    """Links; ``rest`` is the SQL that selects and orders them.

    Raises:
        TypeError: a memory that a link names is missing: the file is damaged.
    """
    selected = db.execute(f"{_LINKS} {rest}", values).fetchall()
    if any(None in row[:2] for row in selected):
        raise TypeError("a link names a memory that is missing")
    return tuple(Link(source=a, target=b, type=kind, strength=s, reason=reason) for a, b, kind, s, reason in selected)


class Relations(Reader[Database]):
    """Queries on links, lineage and supersession."""

    def without_forgotten(self, user: str, messages: Sequence[Message]) -> list[Message]:
        """Messages without the sentences of memories that were forgotten everywhere; empty where nothing else was said."""
        with self._snapshot(user) as (db, user_id):
            omissions = queries.omissions_of(db, user_id, messages)
            return [queries.remove_texts(m, omissions[str(m.id)].forgotten) for m in messages]

    def holding(self, user: str, messages: Sequence[Message]) -> list[Message]:
        """Messages without what was forgotten of them and what has ended; empty where nothing else was said."""
        with self._snapshot(user) as (db, user_id):
            return queries.current_messages(db, user_id, messages)

    def standing(self, user: str, messages: Sequence[Message], filters: RecordFilter) -> list[queries.ShownMessage]:
        """What recall shows of messages, as of the times of the filters."""
        with self._snapshot(user) as (db, user_id):
            omissions = queries.omissions_of(db, user_id, messages, filters)
            return [queries.shown_message(m, omissions[str(m.id)]) for m in messages]

    def successors(self, user: str, id: str) -> list[MemoryRecord]:
        """The memories that hold in place of an ended one."""
        later = queries.LATER.replace("?1", "(SELECT doc FROM memories WHERE user_id = ?1 AND id = ?2)")
        sql = f"{later} SELECT m.doc FROM later JOIN memories m ON m.doc = later.doc WHERE m.{LIVE} AND m.expired_at IS NULL"
        with self._snapshot(user) as (db, user_id):
            stored = fetch(db, user_id, [doc for (doc,) in db.execute(sql, (user_id, id)).fetchall()]).values()
            return [entry.value for entry in stored if isinstance(entry.value, MemoryRecord)]

    def predecessors(self, user: str, ids: Sequence[str]) -> dict[str, list[MemoryRecord]]:
        """The memories that each memory superseded, by the id of the latter."""
        sql = f"""SELECT m.id, l.target FROM memories m JOIN {SHOWN_LINKS} l ON l.source = m.doc AND l.type = 'supersedes'
            WHERE m.user_id = ? AND m.id IN {AMONG} ORDER BY l.target"""
        with self._snapshot(user) as (db, user_id):
            pairs = db.execute(sql, (user_id, ids)).fetchall()
            old = fetch(db, user_id, [target for _, target in pairs])
            predecessors: dict[str, list[MemoryRecord]] = {}
            for id_, target in pairs:
                if isinstance(record := old[target].value, MemoryRecord) and record.status != "archived":
                    predecessors.setdefault(id_, []).append(record)
            return predecessors

    def emotions(self, user_id: int, docs: Sequence[int]) -> dict[int, Emotion]:
        """Emotions of messages and memories by doc; records without an estimate are left out."""
        sql = f"""SELECT doc, valence, arousal, emotion_confidence FROM records
            WHERE user_id = ? AND valence IS NOT NULL AND doc IN {AMONG}"""
        selected = self._rows(user_id, sql, docs)
        return {doc: Emotion(valence=v, arousal=a, confidence=c) for doc, v, a, c in selected}

    def with_key(self, user: str, key: str, filters: RecordFilter) -> list[MemoryRecord]:
        """The memories whose metadata has a key, whatever its value."""
        with self._snapshot(user) as (db, user_id):
            where, values = queries.filter_clause(db.dialect, user_id, MEMORIES, filters)
            has_key, keys = db.dialect.has_key(user_id, "memories", key)
            return records_of(db, rows.select(db, MEMORIES, f"{where} AND {has_key} ORDER BY doc", (*values, *keys)))

    def memories_of(self, user: str, ids: Sequence[str]) -> dict[str, list[str]]:
        """The memories derived from messages, archived ones included, by message id; those with a lifetime are left out."""
        # the unary plus makes SQLite look up the ids instead of scanning in order
        sql = f"""SELECT m.id, r.id FROM messages m JOIN lineage l ON l.parent = m.doc JOIN memories r ON r.doc = l.child
            WHERE m.user_id = ? AND m.id IN {AMONG} AND r.delete_after IS NULL ORDER BY +m.doc, r.doc"""
        return rows.group_values(self._rows(user, sql, ids))

    def episodes_of(self, user: str, ids: Sequence[str]) -> list[int]:
        """Docs of the episodes of messages, archived ones included, ascending."""
        sql = f"""SELECT DISTINCT e.doc FROM messages m JOIN lineage l ON l.parent = m.doc
            JOIN episodes e ON e.doc = l.child WHERE m.user_id = ? AND m.id IN {AMONG} ORDER BY e.doc"""
        return self._column(user, sql, ids)

    def stored_after(self, user_id: int, moment: int) -> list[int]:
        """Docs of the messages and episodes stored after ``moment`` (microseconds since 1970)."""
        sql = "SELECT doc FROM records WHERE user_id = ? AND created_at > ? AND kind != 'memory' ORDER BY doc"
        return self._column(user_id, sql, moment)

    def with_forgotten(self, docs: Sequence[int]) -> list[int]:
        """Those of some messages of which a sentence was forgotten, wherever it was said."""
        sql = f"""SELECT DISTINCT l.parent FROM lineage l JOIN records r ON r.doc = l.child WHERE l.parent IN {AMONG}
            AND r.status = 'archived' AND EXISTS (SELECT 1 FROM events e WHERE e.doc = r.doc AND e.operation = 'archive'
            AND e.detail LIKE '%"everywhere"%') ORDER BY 1"""
        return [doc for (doc,) in self._all(sql, docs)]

    def ids(self, user_id: int, docs: Sequence[int], *, archived: bool = False) -> dict[int, str]:
        """Ids of live memories and episodes, by doc; those of archived ones too with ``archived``."""
        live = "1 = 1" if archived else LIVE
        sql = f"SELECT doc, id FROM records WHERE user_id = ? AND {live} AND kind != 'message' AND doc IN {AMONG}"
        return dict(self._rows(user_id, sql, docs)) if docs else {}

    def links(self, user_id: int, docs: Sequence[int]) -> list[tuple[int, int, str, float, int]]:
        """The links from or to memories, as (source doc, target doc, type, strength, last access to either end or creation)."""
        sql = f"""SELECT l.source, l.target, l.type, l.strength, l.created_at, coalesce(a.last_at, 0),
            coalesce(b.last_at, 0) FROM {SHOWN_LINKS} l
            LEFT JOIN access a ON a.doc = l.source LEFT JOIN access b ON b.doc = l.target
            WHERE l.user_id = ? AND (l.source IN {AMONG} OR l.target IN {AMONG}) ORDER BY l.source, l.target, l.type"""
        return [
            (a, b, kind, strength, max(times)) for a, b, kind, strength, *times in self._rows(user_id, sql, docs, docs)
        ]

    def all_links(self, user: str) -> tuple[Link, ...]:
        """All links of a user, ordered by ids."""
        with self._snapshot(user) as (db, user_id):
            return _links(db, "WHERE l.user_id = ? ORDER BY a.id, b.id, l.type", user_id)

    def graph(self, user: str, id: str, *, depth: int, types: Sequence[LinkType], most: int) -> Graph:
        """The memories within ``depth`` links of one, at most ``most``, and the links among them.

        Raises:
            NotFound: this user has no such memory.
        """
        with self._snapshot(user) as (db, user_id):
            start = queries.docs_of(db, user_id, [id], "memory").get(id)
            if start is None:
                raise NotFound(f"This user has no memory with the id {id!r}; the graph is one of memories.")
            depths = dict(db.execute(_WALK, (start, depth, types, most)).fetchall())
            docs = list(depths)
            stored = fetch(db, user_id, docs)
            memories = {doc: s.value for doc in depths if isinstance((s := stored[doc]).value, MemoryRecord)}
            return Graph(
                memories=tuple(memories.values()),
                links=_links(db, _AMONG_THEM, docs, docs, types),
                depths={record.id: depths[doc] for doc, record in memories.items()},
            )
