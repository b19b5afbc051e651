"""The values of a record in one file, looked at one by one."""

from __future__ import annotations

from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.vectors import unpacked

__all__ = ["mistyped", "unusable"]

_KINDS = {"INTEGER": "'integer'", "REAL": "'real', 'integer'", "TEXT": "'text'", "BLOB": "'blob'"}
"""What a column of a declared type holds; SQLite takes whatever stands in a page."""


def unusable(db: SqliteConnection) -> list[int]:
    """Docs whose vector is no direction: not of numbers, or far too long or short."""
    found: list[int] = []
    for doc, blob in db.execute("SELECT doc, vector FROM vectors"):
        if not isinstance(blob, bytes):  # a page of another table in the place of one
            found.append(doc if isinstance(doc, int) else -1)
            continue
        if not unpacked(blob[: len(blob) // 2 * 2]).any():
            found.append(int(doc))
    return found


def mistyped(db: SqliteConnection) -> list[str]:
    """Columns with values of another type than theirs: a page of another table stands in the place of one."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '% VIRTUAL %'"
    found: list[str] = []
    for (table,) in db.execute(tables).fetchall():
        typed = [(row[1], kind) for row in db.execute(f'PRAGMA table_info("{table}")') if (kind := _KINDS.get(row[2]))]
        if table.startswith("fulltext") or not typed:
            continue
        counts = ", ".join(f"sum(typeof(\"{name}\") NOT IN ({kind}, 'null'))" for name, kind in typed)
        (row,) = db.execute(f'SELECT {counts} FROM "{table}"').fetchall()
        found += [
            f"{table}.{name} has {n} values of another type" for (name, _), n in zip(typed, row, strict=True) if n
        ]
    return found
