"""The schema of a record in PostgreSQL: that of ``schema``, with full text as a table of postings.

What filters look up stands as hashes in a column of its own, under a GIN index. Migrations are numbered functions; each runs
once, in one transaction with the record of its number.
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
        # The dimension is known when the first vector arrives; the index over them is made then.
        "vector": "halfvec",
    },
    # An update of a row writes a new one beside it.
    busy=" WITH (fillfactor = 70)",
)
_OWN = (
    "CREATE SEQUENCE docs",
    # The key begins with the user and holds all that is read: one term of one user is one range of it.
    f"""CREATE TABLE postings(user_id bigint, term {TEXT}, doc bigint, count bigint NOT NULL,
        PRIMARY KEY(user_id, term, doc) INCLUDE (count))""",
    "CREATE INDEX postings_by_doc ON postings(doc)",
    "ALTER TABLE records ADD COLUMN facets bytea[]",
    "CREATE INDEX records_by_facet ON records USING gin(facets)",
)


def m006_record(db: Connection) -> None:
    """The whole record: messages, episodes, memories, links, lineage, clocks, events, vectors and full text."""
    for statement in (*schema.definitions(POSTGRES), *_OWN):
        db.execute(statement)
    db.execute("INSERT INTO header VALUES('fence', ?)", (secrets.token_hex(4),))


MIGRATIONS: tuple[Migration, ...] = (m006_record,)
"""From the number ``schema.OLDEST`` on."""
LATEST = schema.OLDEST - 1 + len(MIGRATIONS)
"""The number of the last one."""
