"""What only a record in one file has to check and to put right: its full text, and values of other types or lengths."""

from __future__ import annotations

import apsw

from mnemic.stores.sql import integrity
from mnemic.stores.sql.texts import texts
from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.stores.sqlite.migrations import FULLTEXT
from mnemic.text.terms import analyse
from mnemic.vectors import unpacked

__all__ = ["mend", "mistyped", "rebuild", "unusable", "wrong"]

_BITS = (1 << 61) - 1


def wrong(db: SqliteConnection) -> list[int]:
    """Docs whose terms in the index are not those of their text, under their user; those without a record included."""
    found: dict[int, int] = {}
    for doc, term in db.execute("SELECT doc, term FROM postings"):
        found[doc] = found.get(doc, 0) + hash(term) & _BITS  # a sum: the order of terms does not matter here
    for doc, user, text, _ in texts(db):
        expected = 0
        for term in analyse(text)[0]:
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
    for doc, user, text, _ in list(texts(db)):
        db.dialect.index(db, user, doc, analyse(text)[0])
        count += 1
    return count


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


_AMONG = "(SELECT value FROM json_each(?))"
_MISFITS = """DELETE FROM vectors WHERE length(vector) != 2 * (SELECT value FROM header WHERE key = 'dimension')
    OR NOT EXISTS (SELECT 1 FROM header WHERE key = 'dimension') RETURNING doc"""
_NEXT = """INSERT INTO header SELECT 'next_doc', 1 + max(coalesce((SELECT max(doc) FROM records), 0),
    coalesce((SELECT max(doc) FROM events), 0)) WHERE true ON CONFLICT DO NOTHING RETURNING key"""


def mend(db: SqliteConnection, *, idle: bool) -> list[str]:
    """Put right what is safe, in the caller's transaction; a line for each thing that was done."""
    done = integrity.unclaimed(db)
    if db.execute(_NEXT).fetchall():
        done.append("the number of the next record found again")
    if misfits := db.execute(_MISFITS).fetchall():
        done.append(f"{len(misfits)} vectors of another length than the model's removed, to be made anew")
        integrity.unclaim(db)
    if spoiled := unusable(db):
        db.execute(f"DELETE FROM vectors WHERE doc IN {_AMONG}", (db.dialect.many(spoiled),))
        done.append(f"{len(spoiled)} vectors that are none removed, to be made anew")
    done += integrity.mend(db, idle=idle)
    if _is_wrong(db):
        done.append(f"the full text of {rebuild(db)} records made anew from their texts")
    return done


def _is_wrong(db: SqliteConnection) -> bool:
    try:
        return bool(wrong(db))
    except apsw.CorruptError:  # derived from the texts: it is made anew
        return True
