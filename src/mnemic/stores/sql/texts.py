"""The texts of a record: those in the full-text index, and all others."""

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
    """A record with its searchable text and its row by column name."""

    doc: int
    user: int
    text: str
    values: dict[str, Any]


def pages(db: Connection) -> Generator[list[Searchable]]:
    """All readable records in pages; other checks report the unreadable ones."""
    after = 0
    while page := select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, PAGE)):
        found: list[Searchable] = []
        for row in page:
            with suppress(ValueError):
                found.append(Searchable(row["doc"], row["user_id"], searchable(rows.record_from(row)), row))
        yield found
        after = page[-1]["doc"]


def texts(db: Connection) -> Generator[Searchable]:
    """All readable records."""
    for page in pages(db):
        yield from page


_TEXTS = ("session", "content", "role", "speaker", "title", "category", "key", "summary", "context")
_JSON = ("metadata", "keywords", "tags", "related_files", "related_entities")
_AMONG = "IN (SELECT value FROM json_each(?))"

Wording = tuple[int, str, list[Any]]


def wording(db: Connection, after: int, limit: int) -> list[Wording]:
    """The next records as (doc, id, texts), ascending by doc; texts include versions and the reasons of links and events."""
    found = select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, limit))
    related: dict[int, list[Any]] = {}
    for doc, value in _related_texts(db, [row["doc"] for row in found]):
        related.setdefault(doc, []).append(value)
    return [(row["doc"], row["id"], _row_texts(row) + related.get(row["doc"], [])) for row in found]


def _row_texts(row: Mapping[str, Any]) -> list[Any]:
    """The texts of a row; JSON columns are parsed."""
    texts = [row[name] for name in _TEXTS if row.get(name)]
    return texts + [json.loads(row[name]) for name in _JSON if row.get(name)]


def _related_texts(db: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Texts of records in other tables."""
    docs = db.dialect.bind_list(numbers)
    for doc, row in db.execute(f"SELECT doc, row FROM versions WHERE doc {_AMONG}", (docs,)):
        yield doc, _row_texts(json.loads(row))
    yield from db.execute(f"SELECT source, reason FROM links WHERE reason != '' AND source {_AMONG}", (docs,))
    sql = f"SELECT doc, detail FROM events WHERE detail LIKE '%\"reason\"%' AND doc {_AMONG}"
    for doc, detail in db.execute(sql, (docs,)):
        yield doc, json.loads(detail).get("reason")
