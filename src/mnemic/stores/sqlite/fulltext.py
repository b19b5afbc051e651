"""The full text of a record in one file, compared with its texts and made anew."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any

from mnemic.stores.sql import rows
from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.stores.sqlite.migrations import FULLTEXT
from mnemic.text.render import searchable
from mnemic.text.terms import analysed
from mnemic.types import Episode, MemoryRecord, Message

__all__ = ["rebuild", "wrong"]

_BITS = (1 << 61) - 1
_READ: tuple[tuple[str, str, Callable[[Sequence[Any]], Message | Episode | MemoryRecord]], ...] = (
    ("messages", rows.MESSAGE_COLUMNS, rows.message_from),
    ("episodes", rows.EPISODE_COLUMNS, rows.episode_from),
    ("memories", rows.MEMORY_COLUMNS, rows.memory_from),
)


def _texts(db: SqliteConnection) -> Generator[tuple[int, int, str]]:
    """Doc, user and searchable text of every record that can be read."""
    for table, columns, value in _READ:
        for row in db.execute(f"SELECT {columns} FROM {table}"):
            with suppress(ValueError):  # told by another check
                yield row[0], row[1], searchable(value(row))


def wrong(db: SqliteConnection) -> list[int]:
    """Docs whose terms in the index are not those of their text, under their user; those without a record included."""
    found: dict[int, int] = {}
    for doc, term in db.execute("SELECT doc, term FROM postings"):
        found[doc] = found.get(doc, 0) + hash(term) & _BITS  # a sum: the order of terms does not matter here
    for doc, user, text in _texts(db):
        expected = 0
        for term in analysed(text)[0]:
            expected = expected + hash(f"{user}:{term}") & _BITS
        if found.get(doc, 0) == expected:
            found.pop(doc, None)
        else:
            found[doc] = 1
    return sorted(found)


def rebuild(db: SqliteConnection) -> int:
    """Make the index anew from the texts; how many records it has."""
    for table in ("postings", "fulltext"):
        db.execute(f"DROP TABLE {table}")
    for statement in FULLTEXT:
        db.execute(statement)
    count = 0
    for doc, user, text in list(_texts(db)):
        db.dialect.index(db, user, doc, analysed(text)[0])
        count += 1
    return count
