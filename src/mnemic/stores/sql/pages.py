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

__all__ = ["BESIDE", "Page", "Row", "decided", "happened", "records"]

Row = tuple[Any, ...]

BESIDE: Mapping[Table, str] = {
    schema.VERSIONS: "doc", schema.LINEAGE: "child", schema.LINKS: "source", schema.PENDING: "doc",
    schema.ACCESS: "doc", schema.JUDGED: "doc", schema.VECTORS: "doc",
}  # fmt: skip
"""What hangs on a record, and the column that names it."""
_TABLES: Mapping[str, Table] = {table.name: table for table in schema.TABLES}
_NEXT = " UNION ALL ".join(
    f"SELECT doc FROM (SELECT doc FROM {table} WHERE user_id = ?1 AND doc > ?2 ORDER BY doc LIMIT ?3) {table}_next"
    for table in (record.name for record in RECORDS)
)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows by table, each with the columns in the order of the schema; ``last`` is where the next page begins."""

    rows: Mapping[str, Sequence[Row]]
    last: int

    @property
    def size(self) -> int:
        """How many records, events or consolidations."""
        counted = (*RECORDS, schema.EVENTS, schema.CONSOLIDATIONS)
        return sum(len(self.rows.get(table.name, ())) for table in counted)

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
        elif name in docs and value:  # an episode of 0 is none
            made.append(value + by)
        elif name in ("row", "plan"):
            made.append(_document(name, value, user, by))
        else:
            made.append(value)
    return tuple(made)


def _document(name: str, text: str, user: int, by: int) -> str:
    """An earlier version, or what it takes to undo a consolidation, with the numbers in it moved."""
    held = json.loads(text)
    if name == "plan":
        return to_json(_plan(held, lambda doc: doc + by))
    docs = {key: held[key] + by for key in ("doc", "episode") if held.get(key)}
    return to_json(held | docs | {"user_id": user})


def _plan(plan: dict[str, Any], move: Callable[[int], int]) -> dict[str, Any]:
    return plan | {
        "promotions": [_promotion(promotion, move) for promotion in plan["promotions"]],
        "contradictions": [[move(source), move(target)] for source, target in plan["contradictions"]],
        "ended": [[move(source), move(target), *rest] for source, target, *rest in plan["ended"]],
        "weighed": [[move(doc), *rest] for doc, *rest in plan["weighed"]],
    }


def _promotion(promotion: dict[str, Any], move: Callable[[int], int]) -> dict[str, Any]:
    return promotion | {
        "doc": move(promotion["doc"]),
        "absorbed": [held | {"doc": move(held["doc"])} for held in promotion["absorbed"]],
        **{name: [move(doc) for doc in promotion[name]] for name in ("turned", "lineage")},
        **{
            name: [[move(source), move(target), *rest] for source, target, *rest in promotion[name]]
            for name in ("links", "moved")
        },
    }


def records(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next records of a user with all that hangs on them."""
    found = db.execute(f"SELECT doc FROM ({_NEXT}) d ORDER BY doc LIMIT ?3", (user, after, limit)).fetchall()
    docs = [row[0] for row in found]
    if not docs:
        return Page({}, after)
    listed = db.dialect.many(docs)
    rows: dict[str, Sequence[Row]] = {}
    for table in RECORDS:
        rows[table.name] = _read(db, table, "doc IN (SELECT value FROM json_each(?))", listed)
    for table, key in BESIDE.items():
        mine = " AND user_id = ?" if table in (schema.VECTORS, schema.PENDING) else ""
        where = f"{key} IN (SELECT value FROM json_each(?)){mine}"
        rows[table.name] = _read(db, table, where, listed, *([user] if mine else []))
    return Page(rows, docs[-1])


def happened(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next events of a user."""
    where = "user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"
    rows = _read(db, schema.EVENTS, where, user, after, limit)
    return Page({"events": rows}, rows[-1][0] if rows else after)


def decided(db: Connection, user: int, after: int, limit: int) -> Page:
    """The next consolidations of a user."""
    where = "user_id = ? ORDER BY at, id LIMIT ? OFFSET ?"
    rows = _read(db, schema.CONSOLIDATIONS, where, user, limit, after)
    return Page({"consolidations": rows}, after + len(rows))


def _read(db: Connection, table: Table, where: str, *values: object) -> list[Row]:
    return db.execute(f"SELECT {table.listed} FROM {table.name} WHERE {where}", values).fetchall()
