"""The texts of a record: what its full text is made from, and all that its rows say."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mnemic.stores.schema import RECORDS
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.rows import select
from mnemic.text.render import searchable

__all__ = ["Searchable", "pages", "texts", "wording"]

PAGE = 500


class Searchable(NamedTuple):
    """A record with the text that is searched, and its row by column."""

    doc: int
    user: int
    text: str
    values: dict[str, Any]


def pages(db: Connection) -> Generator[list[Searchable]]:
    """Every record that can be read, some hundred at a time; those that cannot are told by other checks."""
    after = 0
    while page := select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, PAGE)):
        found: list[Searchable] = []
        for row in page:
            with suppress(ValueError):
                found.append(Searchable(row["doc"], row["user_id"], searchable(rows.record_from(row)), row))
        yield found
        after = page[-1]["doc"]


def texts(db: Connection) -> Generator[Searchable]:
    """The same, one after the other."""
    for page in pages(db):
        yield from page


_TEXTS = ("session", "content", "role", "speaker", "title", "category", "key", "summary", "context")
_JSON = ("metadata", "keywords", "tags", "related_files", "related_entities")
_AMONG = "IN (SELECT value FROM json_each(?))"

Wording = tuple[int, str, list[Any]]


def wording(db: Connection, after: int, limit: int) -> list[Wording]:
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
