"""The knowledge side of the record: what waits to be processed, episodes, links, and what is known of a thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mnemic.stores.schema import LIVE, MESSAGES
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.texts import wording
from mnemic.types import Episode, Filters, MemoryRecord, Message, Waiting
from mnemic.vectors import unpacked

__all__ = ["Knowledge"]

Level = tuple[str | None, str | None]
"""Project and session of a conversation."""

_LEVEL = "project IS NOT DISTINCT FROM ? AND session IS NOT DISTINCT FROM ?"
_AMONG = "(SELECT value FROM json_each(?))"


class Knowledge:
    """Questions that processing and the graph ask; every one names its user."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def conversations(self, user: str) -> list[tuple[str | None, str | None, int]]:
        """Project, session and number of the messages that wait to be processed, longest waiting first."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT project, session, count(*) FROM records WHERE user_id = ? AND waits = 1 AND {LIVE}
                GROUP BY project, session ORDER BY min(said_at), min(doc)"""
            return [(row[0], row[1], row[2]) for row in db.execute(sql, (number,))]

    def waiting(self, user: str, level: Level, limit: int) -> list[Waiting]:
        """The first messages of a conversation that wait, in the order they were said, with their vectors."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            rest = f"WHERE user_id = ? AND {_LEVEL} AND waits = 1 AND {LIVE} ORDER BY said_at, doc LIMIT ?"
            found = rows.select(db, MESSAGES, rest, (number, *level, limit), names=rows.MESSAGE)
            vectors = _held(self._vectors(db, number, [row["doc"] for row in found]))
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
        return db.execute(sql, (user, db.dialect.many(docs))).fetchall()

    def vectors(self, user: str, ids: Sequence[str]) -> dict[str, queries.Vector]:
        """Vectors by id, float32; records without one are missing."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, ids, None)
            held = _held(self._vectors(db, number, list(docs.values())))
            return {id_: held[doc] for id_, doc in docs.items() if doc in held}

    def left(self, user: str, task: str) -> list[str]:
        """Ids of the memories with work of a kind left to do, oldest first."""
        with self._db.read() as db, db:
            sql = f"""SELECT m.id FROM pending p JOIN memories m ON m.doc = p.doc WHERE p.user_id = ? AND p.task = ?
                AND m.{LIVE} ORDER BY p.doc"""
            return [id_ for (id_,) in db.execute(sql, (queries.user_number(db, user), task))]

    def unrefined(self, user: str, limit: int) -> list[Episode]:
        """Episodes that the language model has still to tell, oldest first."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT p.doc FROM pending p JOIN episodes e ON e.doc = p.doc WHERE p.user_id = ?
                AND p.task = 'refine' AND e.{LIVE} ORDER BY p.doc LIMIT ?"""
            docs = [row[0] for row in db.execute(sql, (number, limit))]
            found = {} if number is None else queries.fetch(db, number, docs)
            episodes = (s.value for _, s in sorted(found.items()))
            return [e for e in episodes if isinstance(e, Episode)]

    def keyed(self, user: str, key: str, project: str | None, session: str | None) -> list[MemoryRecord]:
        """The believed memories under a key at a level, in the order they were made."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            sql = f"""SELECT doc FROM memories WHERE user_id = ? AND key = ? AND {_LEVEL}
                AND {LIVE} AND expired_at IS NULL ORDER BY doc"""
            docs = [row[0] for row in db.execute(sql, (number, key, project, session))]
            found = {} if number is None else queries.fetch(db, number, docs)
            return [stored.value for _, stored in sorted(found.items()) if isinstance(stored.value, MemoryRecord)]

    def episodes(self, user: str, filters: Filters, *, limit: int | None, newest: bool) -> list[Episode]:
        """Episodes in the order they began; with ``newest`` the limit keeps the last ones."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            return [] if number is None else queries.list_episodes(db, number, filters, limit=limit, newest=newest)

    def latest(self, user: str, level: Level, limit: int) -> list[Episode]:
        """The last episodes of one conversation that are not archived, the latest first."""
        with self._db.read() as db, db:
            return queries.latest_episodes(db, queries.user_number(db, user), _LEVEL, level, limit)

    def recent(self, user: str, project: str | None, limit: int) -> list[Episode]:
        """The last episodes of a project (None: of no project) in any conversation, the latest first."""
        with self._db.read() as db, db:
            return queries.latest_episodes(
                db, queries.user_number(db, user), "project IS NOT DISTINCT FROM ?", (project,), limit
            )

    def twins(
        self, user: str, project: str | None, spoken: Sequence[str], *, session: str | None = None
    ) -> dict[str, str]:
        """Those of some statements, each with its speaker's name, that are believed at a level, with the id of each."""
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
        """The messages an episode tells of that are not forgotten, in the order they were said."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, episode.message_ids, "message")
            found = {} if number is None else queries.fetch(db, number, list(docs.values()))
            live = (s.value for s in found.values() if s.status != "archived")
            by_id = {value.id: value for value in live if isinstance(value, Message)}
            return [by_id[id_] for id_ in episode.message_ids if id_ in by_id]

    def records(self, user: str, ids: Sequence[str]) -> dict[str, Message | Episode | MemoryRecord]:
        """Records by id, in the order of the ids; those that are missing are left out."""
        with self._db.read() as db, db:
            number = queries.user_number(db, user)
            docs = {} if number is None else queries.docs_of(db, number, ids, None)
            found = {} if number is None else queries.fetch(db, number, list(docs.values()))
            return {id_: found[docs[id_]].value for id_ in dict.fromkeys(ids) if id_ in docs}

    def wording(self, after: int, limit: int) -> list[tuple[int, str, list[Any]]]:
        """The next records of all users as (number, id, what they say, at any time), by number."""
        with self._db.read() as db, db:
            return wording(db, after, limit)


def _held(found: Iterable[tuple[int, bytes]]) -> dict[int, queries.Vector]:
    """Those that are directions, by doc."""
    vectors = ((doc, unpacked(blob)[0]) for doc, blob in found)
    return {doc: vector for doc, vector in vectors if vector.any()}
