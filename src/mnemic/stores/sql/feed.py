"""The record as an outbox for a derived index."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from mnemic.protocols import Changed, Entries, Entry, Mark, Model
from mnemic.stores.schema import RECORDS
from mnemic.stores.sql import queries, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.vectors import unpacked

_VECTORS = "FROM records r JOIN vectors v ON v.user_id = r.user_id AND v.doc = r.doc"  # by the key of vectors
_LAST = "SELECT coalesce(max(sequence), 0) FROM events"
_SINCE = (
    "SELECT sequence, at, operation, doc FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?"
)

D = TypeVar("D", bound=Database)


class SqlFeed(Reader[D]):
    """See ``RecordFeed``; engines implement ``_complete``."""

    def __init__(self, database: D) -> None:
        super().__init__(database)
        self.name = database.apply(_named)

    def _complete(self) -> int:
        """The highest event number up to which all events are committed."""
        return int(self._all(_LAST)[0][0])

    def model(self) -> Model | None:
        """The embedder of the stored vectors."""
        with self._db.read() as db:
            return queries.model_of(db)

    def last(self) -> Mark:
        """The newest event such that all earlier ones can be read."""
        sql = "SELECT sequence, at FROM events WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1"
        found = self._all(sql, self._complete())
        return Mark(*found[0]) if found else Mark(0, 0)

    def holds(self, mark: Mark) -> bool:
        """Whether the event exists with this time; if it does not, it was erased."""
        with self._db.read() as db, db:
            row = db.execute("SELECT at FROM events WHERE sequence = ?", (mark.sequence,)).fetchone()
            if row is not None:
                return row[0] == mark.at
            return mark.sequence <= db.execute(_LAST).fetchone()[0]

    def changes(self, after: int, limit: int) -> Changed:
        """The docs of the next events."""
        found = self._all(_SINCE, after, self._complete(), limit)
        docs = dict.fromkeys(doc for *_, doc in found if doc is not None)
        return Changed(
            until=Mark(*found[-1][:2]) if found else Mark(after, 0),
            docs=tuple(docs),
            reembedded=any(operation == "reembed" for _, _, operation, _ in found),
        )

    def docs(self, after: int, limit: int) -> list[int]:
        """The next docs with a vector."""
        sql = f"SELECT r.doc {_VECTORS} WHERE r.doc > ? ORDER BY r.doc LIMIT ?"
        return [doc for (doc,) in self._all(sql, after, limit)]

    def entries(self, docs: Sequence[int]) -> Entries:
        """These records, in one snapshot."""
        with self._db.read() as db, db:
            held = {row["doc"]: row for row in rows.select(db, RECORDS, f"WHERE doc IN {AMONG} ORDER BY doc", (docs,))}
            vectors = dict(db.execute(f"SELECT r.doc, v.vector {_VECTORS} WHERE r.doc IN {AMONG}", (docs,)).fetchall())
            stored = queries.stored(db, [row for doc, row in held.items() if doc in vectors])
            return Entries(
                model=queries.model_of(db),
                entries=[
                    Entry(
                        doc=doc, user=held[doc]["user_id"], tier=_tier(held[doc]), stored=value,
                        vector=unpacked(vectors[doc])[0],
                    )
                    for doc, value in stored.items()
                ],
                without_vector=[doc for doc in docs if doc in held and doc not in vectors],
                gone=[doc for doc in docs if doc not in held],
            )  # fmt: skip

    def gone(self, after: int) -> list[int]:
        """The docs of later events that no longer exist."""
        sql = """SELECT DISTINCT doc FROM events e WHERE sequence > ? AND doc IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM records r WHERE r.doc = e.doc)"""
        return [doc for (doc,) in self._all(sql, after)]

    def waiting(self, user: int, after: int) -> list[int]:
        """The docs of a user's later events that have a vector."""
        sql = """SELECT DISTINCT e.doc FROM events e JOIN vectors v ON v.user_id = e.user_id AND v.doc = e.doc
            WHERE e.user_id = ? AND e.sequence > ?"""
        return self._column(user, sql, after)

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function after each commit of this process."""
        self._db.committed = heard

    def sizes(self) -> dict[int, int]:
        """The number of vectors by user."""
        return dict(self._all("SELECT user_id, count(*) FROM vectors GROUP BY user_id"))


def _named(db: Connection) -> str:
    """The unique name of the record, chosen on the first call."""
    db.execute("INSERT INTO header VALUES('record', ?) ON CONFLICT DO NOTHING", (secrets.token_hex(8),))
    return str(queries.header(db)["record"])


def _tier(row: rows.Row) -> Literal["short_term", "long_term"]:
    """The tier of a record; an archived one keeps the tier it had."""
    tier = row["tier_before"] if rows.public_status(row["status"]) == "archived" else row["status"]
    return "long_term" if tier == "long_term" else "short_term"
