"""What records say, those of all users, a page at a time: to look for what should not stand in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mnemic.stores.schema import RECORDS
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.rows import select

__all__ = ["wording"]

_TEXTS = ("session", "content", "role", "speaker", "title", "category", "key", "summary", "context")
_JSON = ("metadata", "keywords", "tags", "related_files", "related_entities")
_AMONG = "IN (SELECT value FROM json_each(?))"

Row = tuple[int, str, list[Any]]


def wording(db: Connection, after: int, limit: int) -> list[Row]:
    """The next records as (number, id, what they say), by number: with earlier versions, reasons of links and of events."""
    found = select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, limit))
    beside: dict[int, list[Any]] = {}
    for doc, value in _beside(db, [row["doc"] for row in found]):
        beside.setdefault(doc, []).append(value)
    return [(row["doc"], row["id"], _read(row) + beside.get(row["doc"], [])) for row in found]


def _read(row: Mapping[str, Any]) -> list[Any]:
    """The columns with text of a row, those that hold JSON as what it says; without their names, which say nothing."""
    texts = [row[name] for name in _TEXTS if row.get(name)]
    return texts + [json.loads(row[name]) for name in _JSON if row.get(name)]


def _beside(db: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """What is said of records in other tables."""
    docs = db.dialect.many(numbers)
    for doc, row in db.execute(f"SELECT doc, row FROM versions WHERE doc {_AMONG}", (docs,)):
        yield doc, _read(json.loads(row))
    yield from db.execute(f"SELECT source, reason FROM links WHERE reason != '' AND source {_AMONG}", (docs,))
    sql = f"SELECT doc, detail FROM events WHERE detail LIKE '%\"reason\"%' AND doc {_AMONG}"
    for doc, detail in db.execute(sql, (docs,)):
        yield doc, json.loads(detail).get("reason")
