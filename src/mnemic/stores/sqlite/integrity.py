"""Checks and repairs specific to SQLite: full text, and values of the wrong type or length."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.integrity import Integrity, finding, texts
from mnemic.stores.sqlite.database import FULLTEXT
from mnemic.text.terms import analyse
from mnemic.text.values import counted
from mnemic.vectors import unpacked

_BITS = (1 << 61) - 1
_KINDS = {"INTEGER": "'integer'", "REAL": "'real', 'integer'", "TEXT": "'text'", "BLOB": "'blob'"}
"""The SQLite types that a declared type allows; SQLite itself does not check them."""
_NEXT = """INSERT INTO header SELECT 'next_doc', 1 + max(coalesce((SELECT max(doc) FROM records), 0),
    coalesce((SELECT max(doc) FROM events), 0)) WHERE true ON CONFLICT DO NOTHING RETURNING key"""


class SqliteIntegrity(Integrity):
    """See ``Integrity``."""

    entries = ("fence", "next_doc")
    dangling = "PRAGMA foreign_key_check"  # a damaged page, or another program, can break references
    misfits = """length(vector) != 2 * (SELECT value FROM header WHERE key = 'dimension')
        OR length(passages) % length(vector) != 0"""
    invariants = {  # noqa: RUF012 - never changed
        "a record has no full text": "SELECT doc FROM records WHERE doc NOT IN (SELECT id FROM fulltext_docsize)",
        "a record with a number above the counter": """SELECT doc FROM records WHERE doc >=
            (SELECT value FROM header WHERE key = 'next_doc')""",
        "full text without a record": "SELECT id FROM fulltext_docsize WHERE id NOT IN (SELECT doc FROM records)",
    }

    def damage(self, db: Connection) -> list[str]:
        """Results of SQLite's checks of the file and of the full-text index."""
        # FTS5 checks the state of the index that this connection cached, and reports later writes of others as damage. A query
        # before the check refreshes the cache.
        findings: list[str] = []
        try:
            db.execute("SELECT rowid FROM fulltext WHERE fulltext MATCH '\"-\"' LIMIT 1").fetchall()
        except apsw.CorruptError as error:
            findings.append(f"the file is damaged: {error}")
        findings += [f"the file is damaged: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return findings or [f"the file is damaged: {what}" for what in _type_findings(db)]

    def unusable_vectors(self, db: Connection) -> Sequence[int]:
        """Docs whose vector is not finite, zero, or not of bytes."""
        docs: list[int] = []
        for doc, blob in db.execute("SELECT doc, vector FROM vectors"):
            if not isinstance(blob, bytes):  # a page of another table
                docs.append(doc if isinstance(doc, int) else -1)
                continue
            if not unpacked(blob[: len(blob) // 2 * 2]).any():
                docs.append(int(doc))
        return docs

    def underivable(self, db: Connection) -> list[str]:
        """Findings on full text."""
        return finding("full text that does not match the text", _wrong_fulltext(db))

    def repair(self, db: Connection, *, idle: bool) -> list[str]:
        """Repair what is safe, in the caller's transaction; returns a line for each repair."""
        repairs = ["the next record number restored"] if db.execute(_NEXT).fetchall() else []
        repairs += super().repair(db, idle=idle)
        try:
            is_wrong = bool(_wrong_fulltext(db))
        except apsw.CorruptError:  # it is rebuilt from the texts
            is_wrong = True
        return (
            [*repairs, f"the full text of {counted({'record': _rebuild_fulltext(db)})} rebuilt"]
            if is_wrong
            else repairs
        )


def _wrong_fulltext(db: Connection) -> list[int]:
    """Docs whose indexed terms do not match their text and user, including docs without a record."""
    sums: dict[int, int] = {}
    for doc, term in db.execute("SELECT doc, term FROM postings"):
        sums[doc] = sums.get(doc, 0) + hash(term) & _BITS  # a sum: the order of terms does not matter here
    for doc, user_id, text, _ in texts(db):
        expected = 0
        for term in analyse(text)[0]:
            expected = expected + hash(f"{user_id}:{term}") & _BITS
        if sums.get(doc, 0) == expected:
            sums.pop(doc, None)
        else:
            sums[doc] = 1
    return sorted(sums)


def _rebuild_fulltext(db: Connection) -> int:
    """Rebuild the full-text index from the texts; returns the number of records."""
    for table in ("postings", "fulltext"):
        db.execute(f"DROP TABLE {table}")
    for statement in FULLTEXT:
        db.execute(statement)
    count = 0
    for doc, user_id, text, _ in list(texts(db)):
        db.dialect.index(db, user_id, doc, analyse(text)[0])
        count += 1
    return count


def _type_findings(db: Connection) -> list[str]:
    """Findings on columns with values of the wrong type, such as from a page of another table."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '% VIRTUAL %'"
    findings: list[str] = []
    for (table,) in db.execute(tables).fetchall():
        info = db.execute(f'PRAGMA table_info("{table}")').fetchall()
        columns = [(row[1], kind) for row in info if (kind := _KINDS.get(row[2]))]
        if table.startswith("fulltext") or not columns:
            continue
        counts = ", ".join(f"sum(typeof(\"{name}\") NOT IN ({kind}, 'null'))" for name, kind in columns)
        (row,) = db.execute(f'SELECT {counts} FROM "{table}"').fetchall()
        findings += [
            f"{table}.{name} has {n} values of another type" for (name, _), n in zip(columns, row, strict=True) if n
        ]
    return findings
