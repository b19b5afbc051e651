"""The searchable texts of a record, from which its full text is made."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any, NamedTuple

from mnemic.stores.schema import RECORDS
from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection
from mnemic.text.render import searchable

__all__ = ["Searchable", "pages", "texts"]

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
    while page := rows.select(db, RECORDS, "WHERE doc > ? ORDER BY doc LIMIT ?", (after, PAGE)):
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
