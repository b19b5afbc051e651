"""Queries of processing: unprocessed messages, pending work, episodes and memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mnemic.stores.schema import LIVE, MESSAGES
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.texts import wording
from mnemic.types import Episode, MemoryRecord, Message, RecordFilter, Waiting
from mnemic.vectors import unpacked

__all__ = ["Knowledge"]

Level = tuple[str | None, str | None]
"""Project and session of a conversation."""

_LEVEL = "project IS NOT DISTINCT FROM ? AND session IS NOT DISTINCT FROM ?"
_AMONG = "(SELECT value FROM json_each(?))"


class Knowledge:
    """Queries of processing, each restricted to one user."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def conversations(self, user: str) -> list[tuple[str | None, str | None, int]]:
        """Project, session and number of unprocessed messages by conversation, the longest waiting first."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT project, session, count(*) FROM records WHERE user_id = ? AND waits = 1 AND {LIVE}
                GROUP BY project, session ORDER BY min(said_at), min(doc)"""
            return [(row[0], row[1], row[2]) for row in db.execute(sql, (number,))]

    def waiting(self, user: str, level: Level, limit: int) -> list[Waiting]:
        """The first unprocessed messages of a conversation, oldest first, with their vectors."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            rest = f"WHERE user_id = ? AND {_LEVEL} AND waits = 1 AND {LIVE} ORDER BY said_at, doc LIMIT ?"
            found = rows.select(db, MESSAGES, rest, (number, *level, limit), names=rows.MESSAGE)
            vectors = _unpacked(self._vectors(db, number, [row["doc"] for row in found]))
            return [
                Waiting(
                    doc=row["doc"],
                    message=rows.message_from(row),
                    project=row["project"],
                    vector=vectors.get(row["doc"]),
                )
                for row in found
            ]

    def _vectors(self, db: Connection, user: int | None, docs: Sequence[int]) -> list[tuple[int, bytes]]:
        sql = f"SELECT doc, vector FROM vectors WHERE user_id = ? AND doc IN {_AMONG}"
        return db.execute(sql, (user, db.dialect.bind_list(docs))).fetchall()

    def vectors(self, user: str, ids: Sequence[str]) -> dict[str, queries.Vector]:
        """Vectors by id, float32; records without one are missing."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, ids, None)
            held = _unpacked(self._vectors(db, number, list(docs.values())))
            return {id_: held[doc] for id_, doc in docs.items() if doc in held}

    def pending(self, user: str, task: str) -> list[str]:
        """Ids of the memories with a pending task, oldest first."""
        with self._db.read() as db, db:
            sql = f"""SELECT m.id FROM pending p JOIN memories m ON m.doc = p.doc WHERE p.user_id = ? AND p.task = ?
                AND m.{LIVE} ORDER BY p.doc"""
            return [id_ for (id_,) in db.execute(sql, (queries.user_number(db, user), task))]

    def unrefined(self, user: str, limit: int) -> list[Episode]:
        """Episodes that the language model has not yet refined, oldest first."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT p.doc FROM pending p JOIN episodes e ON e.doc = p.doc WHERE p.user_id = ?
                AND p.task = 'refine' AND e.{LIVE} ORDER BY p.doc LIMIT ?"""
            docs = [row[0] for row in db.execute(sql, (number, limit))]
            found = {} if number is None else queries.fetch(db, number, docs)
            episodes = (s.value for _, s in sorted(found.items()))
            return [e for e in episodes if isinstance(e, Episode)]

    def with_key(self, user: str, key: str, project: str | None, session: str | None) -> list[MemoryRecord]:
        """The unexpired memories with a key at a level, oldest first."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT doc FROM memories WHERE user_id = ? AND key = ? AND {_LEVEL}
                AND {LIVE} AND expired_at IS NULL ORDER BY doc"""
            docs = [row[0] for row in db.execute(sql, (number, key, project, session))]
            found = {} if number is None else queries.fetch(db, number, docs)
            return [stored.value for _, stored in sorted(found.items()) if isinstance(stored.value, MemoryRecord)]

    def episodes(self, user: str, filters: RecordFilter, *, limit: int | None, newest: bool) -> list[Episode]:
        """Episodes in the order they began; with ``newest`` the limit keeps the last ones."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            return [] if number is None else queries.list_episodes(db, number, filters, limit=limit, newest=newest)

    def latest(self, user: str, level: Level, limit: int) -> list[Episode]:
        """The last live episodes of one conversation, newest first."""
        with self._db.read() as db, db:
            return queries.latest_episodes(db, queries.user_number(db, user), _LEVEL, level, limit)

    def recent(self, user: str, project: str | None, limit: int) -> list[Episode]:
        """The last live episodes of a project (None: of no project) in any conversation, newest first."""
        with self._db.read() as db, db:
            return queries.latest_episodes(
                db, queries.user_number(db, user), "project IS NOT DISTINCT FROM ?", (project,), limit
            )

    def duplicates(
        self, user: str, project: str | None, spoken: Sequence[str], *, session: str | None = None
    ) -> dict[str, str]:
        """Statements (with the speaker's name) that are already stored as live memories at a level, with their ids."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT id FROM memories WHERE user_id = ? AND coalesce(project, '') = ? AND coalesce(session, '') = ?
                AND hash = ? AND {LIVE} AND expired_at IS NULL"""
            found: dict[str, str] = {}
            for text in spoken:
                level = (number, project or "", session or "", rows.content_hash(text))
                if row := db.execute(sql, level).fetchone():
                    found[text] = row[0]
            return found

    def messages_of(self, user: str, episode: Episode) -> list[Message]:
        """The live messages of an episode, oldest first."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, episode.message_ids, "message")
            found = {} if number is None else queries.fetch(db, number, list(docs.values()))
            live = (s.value for s in found.values() if s.status != "archived")
            by_id = {value.id: value for value in live if isinstance(value, Message)}
            return [by_id[id_] for id_ in episode.message_ids if id_ in by_id]

    def records(self, user: str, ids: Sequence[str]) -> dict[str, Message | Episode | MemoryRecord]:
        """Records by id, in the order of the ids; missing ones are left out."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, ids, None)
            found = {} if number is None else queries.fetch(db, number, list(docs.values()))
            return {id_: found[docs[id_]].value for id_ in dict.fromkeys(ids) if id_ in docs}

    def texts(self, after: int, limit: int) -> list[tuple[int, str, list[Any]]]:
        """The next records of all users as (doc, id, texts of all versions), ascending by doc."""
        with self._db.read() as db, db:
            return wording(db, after, limit)


def _unpacked(found: Iterable[tuple[int, bytes]]) -> dict[int, queries.Vector]:
    """Valid vectors by doc."""
    vectors = ((doc, unpacked(blob)[0]) for doc, blob in found)
    return {doc: vector for doc, vector in vectors if vector.any()}
