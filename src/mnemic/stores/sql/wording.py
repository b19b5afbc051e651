"""What records say, those of all users, a page at a time: to look for what should not stand in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mnemic.stores.sql.connection import Connection

__all__ = ["wording"]

_TEXTS: Mapping[str, tuple[str, ...]] = {
    "messages": ("session", "content", "role", "name"),
    "episodes": ("session", "content", "title"),
    "memories": ("session", "content", "category", "summary", "context", "speaker", "key"),
}
_JSON: Mapping[str, tuple[str, ...]] = {
    "messages": ("metadata",), "episodes": ("metadata",),
    "memories": ("metadata", "keywords", "tags", "related_files", "related_entities"),
}  # fmt: skip
_AMONG = "IN (SELECT value FROM json_each(?))"

Row = tuple[int, str, list[Any]]


def wording(db: Connection, after: int, limit: int) -> list[Row]:
    """The next records as (number, id, what they say), by number: with earlier versions, reasons of links and of events."""
    found: list[tuple[int, str, str, list[Any]]] = []
    for table in _TEXTS:
        columns = (*_TEXTS[table], *_JSON[table])
        sql = f"SELECT doc, id, {', '.join(columns)} FROM {table} WHERE doc > ? ORDER BY doc LIMIT ?"
        for doc, id_, *values in db.execute(sql, (after, limit)):
            found.append((doc, id_, table, _read(table, dict(zip(columns, values, strict=True)))))
    page = sorted(found, key=lambda row: row[:3])[:limit]
    tables = {doc: table for doc, _, table, _ in page}
    beside: dict[int, list[Any]] = {}
    for doc, value in _beside(db, tables):
        beside.setdefault(doc, []).append(value)
    return [(doc, id_, says + beside.get(doc, [])) for doc, id_, _, says in page]


def _read(table: str, row: Mapping[str, Any]) -> list[Any]:
    """The columns with text of a row, those that hold JSON as what it says; without their names, which say nothing."""
    texts = [row[name] for name in _TEXTS[table] if row.get(name)]
    return texts + [json.loads(row[name]) for name in _JSON[table] if row.get(name)]


def _beside(db: Connection, tables: Mapping[int, str]) -> Iterator[tuple[int, Any]]:
    """What is said of records in other tables."""
    docs = db.dialect.many(sorted(tables))
    for doc, row in db.execute(f"SELECT doc, row FROM versions WHERE doc {_AMONG}", (docs,)):
        yield doc, _read(tables[doc], json.loads(row))
    yield from db.execute(f"SELECT source, reason FROM links WHERE reason != '' AND source {_AMONG}", (docs,))
    sql = f"SELECT doc, detail FROM events WHERE detail LIKE '%\"reason\"%' AND doc {_AMONG}"
    for doc, detail in db.execute(sql, (docs,)):
        yield doc, json.loads(detail).get("reason")
