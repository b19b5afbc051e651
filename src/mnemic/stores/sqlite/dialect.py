"""SQLite's tables and its dialect: full text in FTS5, lists and metadata as JSON, one writer at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mnemic.errors import StoreCorrupt
from mnemic.stores import schema
from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["APPLICATION_ID", "FULLTEXT", "LATEST", "MIGRATIONS", "SqliteConnection", "SqliteDialect"]


class SqliteConnection(Connection, Protocol):
    """The part of ``apsw.Connection`` that is used here."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def readonly(self, name: str) -> bool:
        """Whether a database was opened read-only."""
        ...

    def pragma(self, name: str, value: str | int | None = None) -> Any:
        """Read or set a pragma."""
        ...

    def set_busy_handler(self, callable: Callable[[int], bool] | None) -> None:
        """Set the callback for a database that another process has locked."""

    def close(self) -> None:
        """Close the connection."""


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


class SqliteDialect:
    """See ``Dialect``. The file has one writer at a time, so users need no locks."""

    user_lock = ""
    size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

    def bind_list(self, values: Sequence[int] | Sequence[str]) -> str:
        """A list as JSON."""
        return json.dumps(list(values))

    def next_docs(self, db: Connection, count: int = 1) -> int:
        """From the counter in the header."""
        sql = "UPDATE header SET value = value + ?1 WHERE key = 'next_doc' RETURNING value - ?1"
        row = db.execute(sql, (count,)).fetchone()
        if row is None:
            raise StoreCorrupt(
                "The header of the record has no next record number: it is damaged. Nothing was stored. Repair it with mnemic "
                "doctor --fix, or restore a backup."
            )
        return row[0]

    def index(self, db: Connection, user: int, doc: int, terms: Sequence[str]) -> None:
        """Terms are prefixed by their user, so that tenant isolation costs nothing."""
        db.execute(
            "INSERT INTO fulltext(rowid, terms) VALUES(?, ?)", (doc, " ".join(f"{user}:{term}" for term in terms))
        )

    def unindex(self, db: Connection, doc: int) -> None:
        """By doc: the contentless index needs no text for a deletion."""
        db.execute("DELETE FROM fulltext WHERE rowid = ?", (doc,))

    def postings(self, db: Connection, user: int, term: str) -> list[int]:
        """A range scan of the index."""
        found = db.execute("SELECT doc FROM postings WHERE term = ?", (f"{user}:{term}",)).fetchall()
        return [row[0] for row in found]

    def bind_vector(self, vector: NDArray[np.float32]) -> bytes:
        """Float16 bytes."""
        return vector.astype("<f2").tobytes()

    def set_dimension(self, db: Connection, table: str, dimension: int) -> None:
        """Nothing to do: a blob has any length."""

    def create_next(self, db: Connection) -> None:
        """Empty ``vectors_next``."""
        db.execute("DELETE FROM vectors_next")

    def swap(self, db: Connection) -> None:
        """Copy the rows; readers see the old ones until the transaction ends."""
        db.execute("DELETE FROM vectors")
        db.execute("INSERT INTO vectors SELECT user_id, doc, vector FROM vectors_next WHERE vector IS NOT NULL")
        self.create_next(db)

    def filter_columns(self, row: Mapping[str, Any]) -> dict[str, object]:  # noqa: ARG002
        """None: filters read the JSON of the row."""
        return {}

    def has_tags(self, user: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:  # noqa: ARG002
        """A condition on the JSON list of tags; values are bound."""
        sql = f"EXISTS (SELECT 1 FROM json_each({table}.tags) WHERE value IN (SELECT value FROM json_each(?)))"
        return sql, [json.dumps(list(tags))]

    def has_metadata(self, user: int, table: str, key: str, value: object) -> tuple[str, list[object]]:  # noqa: ARG002
        """A condition on equal values of one type; 1 and 1.0 are equal."""
        sql = (
            f"EXISTS (SELECT 1 FROM json_each({table}.metadata) AS m, json_each(?) AS w WHERE m.key = ? AND m.type IN "
            "(w.type, CASE w.type WHEN 'integer' THEN 'real' WHEN 'real' THEN 'integer' END) AND m.value IS w.value)"
        )
        return sql, [to_json([value]), key]

    def has_key(self, user: int, table: str, key: str) -> tuple[str, list[object]]:  # noqa: ARG002
        """A condition on the key; an index finds the few records with metadata."""
        return f"metadata != '{{}}' AND EXISTS (SELECT 1 FROM json_each({table}.metadata) WHERE key = ?)", [key]
