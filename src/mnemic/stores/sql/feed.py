"""The record as an outbox for a derived index."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypeVar

from mnemic.protocols import Changed, Entries, Entry, Mark, Model
from mnemic.stores.sql import queries
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.stores.sql.rows import public_status
from mnemic.vectors import unpacked

__all__ = ["SqlFeed"]

_PLACES = f"SELECT doc, user_id, status, tier_before FROM records WHERE doc IN {AMONG}"
_NEXT = "SELECT doc, user_id FROM records WHERE doc > ? ORDER BY doc LIMIT ?"
_HELD = f"SELECT doc FROM vectors WHERE user_id = ? AND doc IN {AMONG}"
_SINCE = (
    "SELECT sequence, at, operation, doc FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?"
)

D = TypeVar("D", bound=Database)


class SqlFeed(Reader[D]):
    """See ``RecordFeed``; engines implement ``_complete``."""

    def __init__(self, database: D) -> None:
        super().__init__(database)
        self._name = self._set_name()

    def _set_name(self) -> str:
        def work(db: Connection) -> str:
            sql = "INSERT INTO header VALUES('record', ?) ON CONFLICT DO NOTHING"
            db.execute(sql, (secrets.token_hex(8),))
            return str(queries.header(db)["record"])

        return self._db.apply(work)

    def _complete(self) -> int:
        """The highest event number up to which all events are committed."""
        with self._db.read() as db:
            (last,) = db.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
            return int(last)

    @property
    def name(self) -> str:
        """The unique name of the record."""
        return self._name

    def model(self) -> Model | None:
        """The embedder of the stored vectors."""
        with self._db.read() as db:
            return queries.model_of(db)

    def last(self) -> Mark:
        """The newest event such that all earlier ones can be read."""
        until = self._complete()
        with self._db.read() as db:
            sql = "SELECT sequence, at FROM events WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1"
            row = db.execute(sql, (until,)).fetchone()
            return Mark(*row) if row else Mark(0, 0)

    def holds(self, mark: Mark) -> bool:
        """Whether the event exists with this time; if it does not, it was erased."""
        with self._db.read() as db, db:
            row = db.execute("SELECT at FROM events WHERE sequence = ?", (mark.sequence,)).fetchone()
            if row is not None:
                return row[0] == mark.at
            (last,) = db.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
            return mark.sequence <= last

    def changes(self, after: int, limit: int) -> Changed:
        """The docs of the next events."""
        until = self._complete()
        with self._db.read() as db:
            found = db.execute(_SINCE, (after, until, limit)).fetchall()
        docs = dict.fromkeys(doc for *_, doc in found if doc is not None)
        return Changed(
            until=Mark(*found[-1][:2]) if found else Mark(after, 0),
            docs=tuple(docs),
            reembedded=any(operation == "reembed" for _, _, operation, _ in found),
        )

    def docs(self, after: int, limit: int) -> list[int]:
        """The next docs with a vector."""
        with self._db.read() as db, db:
            while page := db.execute(_NEXT, (after, limit)).fetchall():
                found: list[int] = []
                for user in {user for _, user in page}:
                    docs = db.dialect.bind_list([doc for doc, owner in page if owner == user])
                    found += [doc for (doc,) in db.execute(_HELD, (user, docs))]
                if found:
                    return sorted(found)
                after = page[-1][0]
            return []

    def entries(self, docs: Sequence[int]) -> Entries:
        """These records, in one snapshot."""
        with self._db.read() as db, db:
            named = db.dialect.bind_list(list(docs))
            places = {doc: row for doc, *row in db.execute(_PLACES, (named,))}
            found: list[Entry] = []
            for user in sorted({row[0] for row in places.values()}):
                found += _entries(db, user, {doc: row for doc, row in places.items() if row[0] == user})
            held = {entry.doc for entry in found}
            return Entries(
                model=queries.model_of(db),
                entries=sorted(found, key=lambda entry: entry.doc),
                without_vector=[doc for doc in docs if doc in places and doc not in held],
                gone=[doc for doc in docs if doc not in places],
            )

    def gone(self, after: int) -> list[int]:
        """The docs of later events that no longer exist."""
        with self._db.read() as db:
            sql = """SELECT DISTINCT doc FROM events e WHERE sequence > ? AND doc IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM records r WHERE r.doc = e.doc)"""
            return [doc for (doc,) in db.execute(sql, (after,))]

    def waiting(self, user: int, after: int) -> list[int]:
        """The docs of a user's later events that have a vector."""
        sql = """SELECT DISTINCT e.doc FROM events e JOIN vectors v ON v.user_id = e.user_id AND v.doc = e.doc
            WHERE e.user_id = ? AND e.sequence > ?"""
        with self._db.read() as db:
            return [doc for (doc,) in db.execute(sql, (user, after))]

    def sizes(self) -> dict[int, int]:
        """The number of vectors by user."""
        with self._db.read() as db:
            return dict(db.execute("SELECT user_id, count(*) FROM vectors GROUP BY user_id").fetchall())


def _tier(_: int, status: str, before: str | None) -> str:
    return (before or "") if public_status(status) == "archived" else status


def _entries(db: Connection, user: int, places: dict[int, list[Any]]) -> list[Entry]:
    """The records of one user that have a vector; ``places`` maps docs to user, status and tier before archiving."""
    held = f"SELECT doc, vector FROM vectors WHERE user_id = ? AND doc IN {AMONG}"
    vectors = dict(db.execute(held, (user, db.dialect.bind_list(list(places)))).fetchall())
    stored = queries.fetch(db, user, list(vectors))
    return [
        Entry(
            doc=doc,
            user=user,
            tier="long_term" if _tier(*places[doc]) == "long_term" else "short_term",
            stored=value,
            vector=unpacked(vectors[doc])[0],
        )
        for doc, value in stored.items()
    ]
