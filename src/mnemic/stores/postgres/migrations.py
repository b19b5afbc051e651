"""Migrations of a PostgreSQL record: the tables of ``schema``, and full text as a table of postings.

RecordFilter use hashes in the column ``facets`` with a GIN index. Migrations are numbered functions; each runs once, in one
transaction with the update of the version.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from mnemic.stores import schema
from mnemic.stores.sql.connection import Connection

__all__ = ["LATEST", "MIGRATIONS", "POSTGRES"]

Migration = Callable[[Connection], None]

TEXT = 'text COLLATE "C"'  # ordered by its bytes, as in SQLite, whatever the locale of the server
POSTGRES = schema.Engine(
    "postgres",
    {
        "serial": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "integer": "bigint",
        "real": "double precision",
        "text": TEXT,
        "blob": "bytea",
        # The dimension is known with the first vector; the index is created then.
        "vector": "halfvec",
    },
    # An update writes a new row version; free space keeps it in the same page.
    busy=" WITH (fillfactor = 70)",
)
_OWN = (
    "CREATE SEQUENCE docs",
    # A covering key: the postings of one term of one user are one index range.
    f"""CREATE TABLE postings(user_id bigint, term {TEXT}, doc bigint, count bigint NOT NULL,
        PRIMARY KEY(user_id, term, doc) INCLUDE (count))""",
    "CREATE INDEX postings_by_doc ON postings(doc)",
    "ALTER TABLE records ADD COLUMN facets bytea[]",
    "CREATE INDEX records_by_facet ON records USING gin(facets)",
)


def m006_record(db: Connection) -> None:
    """The first schema."""
    for statement in (*schema.definitions(POSTGRES), *_OWN):
        db.execute(statement)
    db.execute("INSERT INTO header VALUES('fence', ?)", (secrets.token_hex(4),))


MIGRATIONS: tuple[Migration, ...] = (m006_record,)
"""Migrations from number ``schema.OLDEST`` on."""
LATEST = schema.OLDEST - 1 + len(MIGRATIONS)
"""The number of the last migration."""
