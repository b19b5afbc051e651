"""The record as an outbox for a derived index."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TypeVar

from mnemic.protocols import Entry, Page, Position
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
    """See ``RecordFeed``; engines implement ``_last_complete``."""

    def __init__(self, database: D) -> None:
        super().__init__(database)
        self.name = database.apply(_record_name)

    def _last_complete(self) -> int:
        """The highest event number up to which all events are committed."""
        return int(self._all(_LAST)[0][0])

    def start(self) -> Position | None:
        """Before the first record, at the newest event such that all earlier ones can be read."""
        sql = "SELECT sequence, at FROM events WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1"
        selected = self._all(sql, self._last_complete())
        with self._db.read() as db:
            model = queries.model_of(db)
        return None if model is None else Position(model, *(selected[0] if selected else (0, 0)), filled=0)

    def page(self, position: Position, limit: int) -> Page | None:
        """The next records or changes."""
        if not self._holds(position):
            return None
        if position.filled is not None:
            sql = f"SELECT r.doc {_VECTORS} WHERE r.doc > ? ORDER BY r.doc LIMIT ?"
            docs = [doc for (doc,) in self._all(sql, position.filled, limit)]
            return self._read(docs, position._replace(filled=docs[-1] if docs else None))
        events = self._all(_SINCE, position.sequence, self._last_complete(), limit)
        if any(operation == "reembed" for _, _, operation, _ in events):
            return None
        docs = list(dict.fromkeys(doc for *_, doc in events if doc is not None))
        return self._read(docs, position._replace(sequence=events[-1][0], at=events[-1][1]) if events else position)

    def _holds(self, position: Position) -> bool:
        """Whether the event of a position exists with its time; if it does not, it was erased."""
        with self._db.read() as db, db:
            row = db.execute("SELECT at FROM events WHERE sequence = ?", (position.sequence,)).fetchone()
            if row is not None:
                return row[0] == position.at
            return position.sequence <= db.execute(_LAST).fetchone()[0]

    def _read(self, docs: Sequence[int], position: Position) -> Page | None:
        """These records in one snapshot; None if their vectors are of another model."""
        with self._db.read() as db, db:
            if queries.model_of(db) != position.model:
                return None
            selected = rows.select(db, RECORDS, f"WHERE doc IN {AMONG} ORDER BY doc", (docs,))
            vectors = dict(db.execute(f"SELECT r.doc, v.vector {_VECTORS} WHERE r.doc IN {AMONG}", (docs,)).fetchall())
            stored = queries.stored_records(db, [row for row in selected if row["doc"] in vectors])
        by_doc = {row["doc"]: row for row in selected}
        entries = [
            Entry(
                doc=doc, user=by_doc[doc]["user_id"], tier=rows.tier_of(by_doc[doc]), stored=value,
                vector=unpacked(vectors[doc])[0],
            )
            for doc, value in stored.items()
        ]  # fmt: skip
        removed, erased = [doc for doc in docs if doc not in vectors], any(doc not in by_doc for doc in docs)
        return Page(position=position, entries=entries, removed=removed, erased=erased)

    def waiting(self, user: int, position: Position) -> list[int]:
        """The docs of a user's later events that have a vector."""
        sql = """SELECT DISTINCT e.doc FROM events e JOIN vectors v ON v.user_id = e.user_id AND v.doc = e.doc
            WHERE e.user_id = ? AND e.sequence > ?"""
        return self._column(user, sql, position.sequence)

    def sizes(self) -> dict[int, int]:
        """The number of vectors by user."""
        return dict(self._all("SELECT user_id, count(*) FROM vectors GROUP BY user_id"))

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function after each commit of this process, and on ``wake``; it must return at once."""
        self._db.committed = listener

    def wake(self) -> None:
        """Call the listener."""
        if self._db.committed is not None:
            self._db.committed()


def _record_name(db: Connection) -> str:
    """The unique name of the record, chosen on the first call."""
    db.execute("INSERT INTO header VALUES('record', ?) ON CONFLICT DO NOTHING", (secrets.token_hex(8),))
    return str(queries.header(db)["record"])
