"""Migrations of an SQLite record: the tables of ``schema``, a header, and full text in FTS5.

Migrations are numbered functions. Each runs once, in one transaction with the update of the version.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.stores import schema
from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["APPLICATION_ID", "FULLTEXT", "LATEST", "MIGRATIONS"]

APPLICATION_ID = 0x4D4E454D  # "MNEM": identifies Mnemic files

Migration = Callable[[SqliteConnection], None]

SQLITE = schema.Engine(
    "sqlite",
    {
        # Numbers are never reused: a stale cache of an erased user must not match a new one.
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "integer": "INTEGER",
        "real": "REAL",
        "text": "TEXT",
        "blob": "BLOB",
        "vector": "BLOB",
    },
    clustered=" WITHOUT ROWID",
)
FULLTEXT = (
    # Terms are analysed, prefixed by their user and separated by spaces: every other character is part of a term.
    # detail=full: with less, FTS5 returns wrong term counts.
    """CREATE VIRTUAL TABLE fulltext USING fts5(terms, content='', contentless_delete=1, detail=full,
        tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'''")""",
    "CREATE VIRTUAL TABLE postings USING fts5vocab('fulltext', 'instance')",
)
"""The full-text tables: derived from the texts, and rebuilt if they are wrong."""


def m006_record(db: SqliteConnection) -> None:
    """The first schema."""
    db.execute("CREATE TABLE header(key TEXT PRIMARY KEY, value) WITHOUT ROWID")
    db.execute("INSERT INTO header VALUES('next_doc', 1), ('fence', lower(hex(randomblob(4))))")
    for statement in (*schema.definitions(SQLITE), *FULLTEXT):
        db.execute(statement)


MIGRATIONS: tuple[Migration, ...] = (m006_record,)
"""Migrations from number ``schema.OLDEST`` on."""
LATEST = schema.OLDEST - 1 + len(MIGRATIONS)
"""The number of the last migration."""
