"""Rows of one user on their way from one record to another: a page at a time, as they are.

Records have other numbers in another record. All numbers of a user are moved by the same distance, so that their order stays
and what is said of the rows does not depend on where they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.stores import schema
from mnemic.stores.schema import RECORDS, Table
from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json

__all__ = ["BESIDE", "Page", "Row", "beside", "decided", "happened", "records"]

Row = tuple[Any, ...]

BESIDE: Mapping[Table, str] = {
    schema.VERSIONS: "doc", schema.LINEAGE: "child", schema.LINKS: "source", schema.PENDING: "doc",
    schema.ACCESS: "doc", schema.JUDGED: "doc", schema.VECTORS: "doc",
}  # fmt: skip
"""What refers to a record, and the column that names it first."""
_TABLES: Mapping[str, Table] = {table.name: table for table in schema.TABLES}


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, each with the columns in the order of the schema; ``last`` is where the next page begins."""

    rows: Mapping[str, Sequence[Row]]
    last: int

    @property
    def size(self) -> int:
        """How many records, events or consolidations."""
        return sum(len(self.rows.get(table, ())) for table in ("records", "events", "consolidations"))

    def columns(self, table: str) -> Sequence[str]:
        """The names of the values of a row."""
        return _TABLES[table].names

    def moved(self, user: int, by: int) -> Page:
        """The same rows for another user, with all numbers of records moved."""
        return Page(
            {table: [_moved(table, row, user, by) for row in rows] for table, rows in self.rows.items()}, self.last
        )

    def lines(self) -> Iterator[str]:
        """One line for each row, in an order that no engine has a say in; the numbers of events are left out."""
        for table in sorted(self.rows):
            rows = self.rows[table]
            if table == "events":  # in the order in which they happened
                yield from (_line(table, row[1:]) for row in rows)
            else:
                yield from sorted(_line(table, row) for row in rows)


def _line(table: str, row: Row) -> str:
    return to_json([table, *(v.hex() if isinstance(v, bytes) else v for v in row)])


def _moved(table: str, row: Row, user: int, by: int) -> Row:
    docs = _TABLES[table].docs
    made: list[Any] = []
    for name, value in zip(_TABLES[table].names, row, strict=True):
        if name == "user_id":
            made.append(user)
        elif name in docs and value is not None:
            made.append(value + by)
        elif name == "row" and value is not None:
            made.append(_version(value, user, by))
        else:
            made.append(value)
    return tuple(made)


def _version(text: str, user: int, by: int) -> str:
    """An earlier version with the numbers in it moved."""
    held = json.loads(text)
    docs = {name: held[name] + by for name in RECORDS.docs if held.get(name)}
    return to_json(held | docs | {"user_id": user})


def records(kind: str) -> Callable[[Connection, int, int, int], Page]:
    """The next records of a kind."""

    def page(db: Connection, user: int, after: int, limit: int) -> Page:
        rows = _read(db, RECORDS, "user_id = ? AND kind = ? AND doc > ? ORDER BY doc LIMIT ?", user, kind, after, limit)
        return Page({"records": rows}, rows[-1][0] if rows else after)

    return page


def beside(db: Connection, user: int, after: int, limit: int) -> Page:
    """What refers to the next records: it follows when all of them are there."""
    sql = "SELECT doc FROM records WHERE user_id = ? AND doc > ? ORDER BY doc LIMIT ?"
    docs = [doc for (doc,) in db.execute(sql, (user, after, limit))]
    if not docs:
        return Page({}, after)
    listed = db.dialect.many(docs)
    rows = {
        table.name: _read(db, table, f"user_id = ? AND {key} IN (SELECT value FROM json_each(?))", user, listed)
        for table, key in BESIDE.items()
    }
    return Page(rows, docs[-1])


def happened(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next events of a user."""
    where = "user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"
    rows = _read(db, schema.EVENTS, where, user, after, limit)
    return Page({"events": rows}, rows[-1][0] if rows else after)


def decided(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next consolidations of a user."""
    where = "user_id = ? ORDER BY at, id LIMIT ? OFFSET ?"
    found = _read(db, schema.CONSOLIDATIONS, where, user, limit, after)
    ids = db.dialect.many([row[1] for row in found])
    mine = "user_id = ? AND consolidation IN (SELECT value FROM json_each(?))"
    parts = {table.name: _read(db, table, mine, user, ids) for table in schema.OUTCOMES}
    return Page({"consolidations": found, **parts}, after + len(found))


def _read(db: Connection, table: Table, where: str, *values: object) -> list[Row]:
    return db.execute(f"SELECT {table.listed} FROM {table.name} WHERE {where}", values).fetchall()
