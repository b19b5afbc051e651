"""The searchable texts of a record, from which its full text is made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mnemic.stores.sql import rows
from mnemic.stores.sql.connection import Connection
from mnemic.text.render import searchable
from mnemic.types import Episode, MemoryRecord, Message

__all__ = ["Searchable", "pages", "texts"]

PAGE = 500
_READ: tuple[tuple[str, str, Callable[[Sequence[Any]], Message | Episode | MemoryRecord]], ...] = (
    ("messages", rows.MESSAGE_COLUMNS, rows.message_from),
    ("episodes", rows.EPISODE_COLUMNS, rows.episode_from),
    ("memories", rows.MEMORY_COLUMNS, rows.memory_from),
)


class Searchable(NamedTuple):
    """A record with the text that is searched, and its row by column."""

    doc: int
    user: int
    text: str
    values: dict[str, Any]


def pages(db: Connection) -> Generator[list[Searchable]]:
    """Every record that can be read, some hundred at a time; those that cannot are told by other checks."""
    for table, columns, value in _READ:
        sql, after = f"SELECT {columns} FROM {table} WHERE doc > ? ORDER BY doc LIMIT ?", 0
        while page := db.execute(sql, (after, PAGE)).fetchall():
            found: list[Searchable] = []
            for row in page:
                with suppress(ValueError):
                    held = dict(zip(columns.split(", "), row, strict=True))
                    found.append(Searchable(row[0], row[1], searchable(value(row)), held))
            yield found
            after = page[-1][0]


def texts(db: Connection) -> Generator[Searchable]:
    """The same, one after the other."""
    for page in pages(db):
        yield from page
