"""The schema of a record in one file: that of ``schema``, a header, and full text in FTS5.

Migrations are numbered functions. Each runs once, in one transaction with the record of its number.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.stores import schema
from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["APPLICATION_ID", "FULLTEXT", "LATEST", "MIGRATIONS"]

APPLICATION_ID = 0x4D4E454D  # "MNEM": tells our files from other SQLite files

Migration = Callable[[SqliteConnection], None]

SQLITE = schema.Engine(
    "sqlite",
    {
        # A number is never given twice: what another process still holds of an erased user is nobody else's.
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
    # Terms arrive analysed and prefixed by their user, separated by spaces: every other character is part of a term.
    # detail=full: with less, the counts that scoring reads are silently wrong.
    """CREATE VIRTUAL TABLE fulltext USING fts5(terms, content='', contentless_delete=1, detail=full,
        tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'''")""",
    "CREATE VIRTUAL TABLE postings USING fts5vocab('fulltext', 'instance')",
)
"""The full text: derived from the texts, and rebuilt where it is wrong."""


def m006_record(db: SqliteConnection) -> None:
    """The whole record: messages, episodes, memories, links, lineage, clocks, events, vectors and full text."""
    db.execute("CREATE TABLE header(key TEXT PRIMARY KEY, value) WITHOUT ROWID")
    db.execute("INSERT INTO header VALUES('next_doc', 1), ('fence', lower(hex(randomblob(4))))")
    for statement in (*schema.definitions(SQLITE), *FULLTEXT):
        db.execute(statement)


MIGRATIONS: tuple[Migration, ...] = (m006_record,)
"""From the number ``schema.OLDEST`` on."""
LATEST = schema.OLDEST - 1 + len(MIGRATIONS)
"""The number of the last one."""
