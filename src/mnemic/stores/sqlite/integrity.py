"""Checks and repairs specific to SQLite: full text, and values of the wrong type or length."""

from __future__ import annotations

import apsw

from mnemic.stores.sql import integrity
from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.stores.sqlite.migrations import FULLTEXT
from mnemic.text.terms import analyse
from mnemic.vectors import unpacked

__all__ = ["mend", "mistyped", "rebuild_fulltext", "unusable_vectors", "wrong_fulltext"]

_BITS = (1 << 61) - 1


def wrong_fulltext(db: SqliteConnection) -> list[int]:
    """Docs whose indexed terms do not match their text and user, including docs without a record."""
    found: dict[int, int] = {}
    for doc, term in db.execute("SELECT doc, term FROM postings"):
        found[doc] = found.get(doc, 0) + hash(term) & _BITS  # a sum: the order of terms does not matter here
    for doc, user, text, _ in integrity.texts(db):
        expected = 0
        for term in analyse(text)[0]:
            expected = expected + hash(f"{user}:{term}") & _BITS
        if found.get(doc, 0) == expected:
            found.pop(doc, None)
        else:
            found[doc] = 1
    return sorted(found)


def rebuild_fulltext(db: SqliteConnection) -> int:
    """Rebuild the full-text index from the texts; returns the number of records."""
    for table in ("postings", "fulltext"):
        db.execute(f"DROP TABLE {table}")
    for statement in FULLTEXT:
        db.execute(statement)
    count = 0
    for doc, user, text, _ in list(integrity.texts(db)):
        db.dialect.index(db, user, doc, analyse(text)[0])
        count += 1
    return count


_KINDS = {"INTEGER": "'integer'", "REAL": "'real', 'integer'", "TEXT": "'text'", "BLOB": "'blob'"}
"""The SQLite types that a declared type allows; SQLite itself does not check them."""


def unusable_vectors(db: SqliteConnection) -> list[int]:
    """Docs whose vector is invalid: not finite, zero, or not of bytes."""
    found: list[int] = []
    for doc, blob in db.execute("SELECT doc, vector FROM vectors"):
        if not isinstance(blob, bytes):  # a page of another table
            found.append(doc if isinstance(doc, int) else -1)
            continue
        if not unpacked(blob[: len(blob) // 2 * 2]).any():
            found.append(int(doc))
    return found


def mistyped(db: SqliteConnection) -> list[str]:
    """Findings on columns with values of the wrong type, such as from a page of another table."""
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


_AMONG = "(SELECT value FROM json_each(?))"
_MISFITS = """DELETE FROM vectors WHERE length(vector) != 2 * (SELECT value FROM header WHERE key = 'dimension')
    OR NOT EXISTS (SELECT 1 FROM header WHERE key = 'dimension') RETURNING doc"""
_NEXT = """INSERT INTO header SELECT 'next_doc', 1 + max(coalesce((SELECT max(doc) FROM records), 0),
    coalesce((SELECT max(doc) FROM events), 0)) WHERE true ON CONFLICT DO NOTHING RETURNING key"""


def mend(db: SqliteConnection, *, idle: bool) -> list[str]:
    """Repair what is safe, in the caller's transaction; returns a line for each repair."""
    done = integrity.drop_half_model(db)
    if db.execute(_NEXT).fetchall():
        done.append("the next record number restored")
    if misfits := db.execute(_MISFITS).fetchall():
        done.append(f"{len(misfits)} vectors of the wrong length removed, to be computed again")
        integrity.forget_model(db)
    if spoiled := unusable_vectors(db):
        db.execute(f"DELETE FROM vectors WHERE doc IN {_AMONG}", (db.dialect.bind_list(spoiled),))
        done.append(f"{len(spoiled)} invalid vectors removed, to be computed again")
    done += integrity.mend(db, idle=idle)
    if _is_wrong(db):
        done.append(f"the full text of {rebuild_fulltext(db)} records rebuilt")
    return done


def _is_wrong(db: SqliteConnection) -> bool:
    try:
        return bool(wrong_fulltext(db))
    except apsw.CorruptError:  # it will be rebuilt from the texts
        return True
