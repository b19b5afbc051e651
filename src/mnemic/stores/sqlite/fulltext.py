"""The full text of a record in one file, compared with its texts and made anew."""

from __future__ import annotations

from mnemic.stores.sql.texts import texts
from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.stores.sqlite.migrations import FULLTEXT
from mnemic.text.terms import analysed

__all__ = ["rebuild", "wrong"]

_BITS = (1 << 61) - 1


def wrong(db: SqliteConnection) -> list[int]:
    """Docs whose terms in the index are not those of their text, under their user; those without a record included."""
    found: dict[int, int] = {}
    for doc, term in db.execute("SELECT doc, term FROM postings"):
        found[doc] = found.get(doc, 0) + hash(term) & _BITS  # a sum: the order of terms does not matter here
    for doc, user, text, _ in texts(db):
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
    for doc, user, text, _ in list(texts(db)):
        db.dialect.index(db, user, doc, analysed(text)[0])
        count += 1
    return count
