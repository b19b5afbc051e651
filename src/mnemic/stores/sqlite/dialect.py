"""The SQLite dialect: full text in FTS5, lists and metadata as JSON, one writer at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import apsw

from mnemic.errors import StoreCorrupt
from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["SqliteDialect"]


class SqliteVectors:
    """See ``VectorDialect``."""

    def bind(self, vector: NDArray[np.float32]) -> bytes:
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


class SqliteFilters:
    """See ``FilterDialect``."""

    def columns(self, row: Mapping[str, Any]) -> dict[str, object]:  # noqa: ARG002
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


class SqliteDialect:
    """See ``Dialect``. The file has one writer at a time, so users need no locks."""

    vectors = SqliteVectors()
    filters = SqliteFilters()
    header = ("fence", "next_doc")
    invariants = {  # noqa: RUF012 - never changed
        "a record has no full text": "SELECT doc FROM records WHERE doc NOT IN (SELECT id FROM fulltext_docsize)",
        "a record with a number above the counter": """SELECT doc FROM records WHERE doc >=
            (SELECT value FROM header WHERE key = 'next_doc')""",
        "full text without a record": "SELECT id FROM fulltext_docsize WHERE id NOT IN (SELECT doc FROM records)",
        "a vector of another length than the header says": """SELECT doc FROM vectors WHERE length(vector) !=
            2 * (SELECT value FROM header WHERE key = 'dimension')""",
    }

    def bind_list(self, values: Sequence[int] | Sequence[str]) -> str:
        """A list as JSON."""
        return json.dumps(list(values))

    def lock_user(self, db: Connection, name: str) -> int:
        """The number of a user, created if new."""
        known = self.lock_known_user(db, name)
        if known is not None:
            return known
        return db.execute("INSERT INTO users(name) VALUES(?) RETURNING user_id", (name,)).fetchone()[0]

    def lock_known_user(self, db: Connection, name: str) -> int | None:
        """The number of a user; the transaction already holds the lock on the file."""
        row = db.execute("SELECT user_id FROM users WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def next_doc(self, db: Connection) -> int:
        """From the counter in the header."""
        return self.next_docs(db, 1)

    def next_docs(self, db: Connection, count: int) -> int:
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

    def size(self, db: Connection) -> int:
        """Pages of the file in bytes."""
        own = cast("SqliteConnection", db)
        return int(own.pragma("page_count")) * int(own.pragma("page_size"))

    def damage(self, db: Connection) -> list[str]:
        """Results of SQLite's checks of the file and of the full-text index."""
        # FTS5 checks the state of the index that this connection cached, and reports later writes of others as damage. A query
        # before the check refreshes the cache.
        found: list[str] = []
        try:
            db.execute("SELECT rowid FROM fulltext WHERE fulltext MATCH '\"-\"' LIMIT 1").fetchall()
        except apsw.CorruptError as error:
            found.append(f"the file is damaged: {error}")
        found += [f"the file is damaged: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        from mnemic.stores.sqlite.integrity import mistyped  # loads NumPy

        found += [f"the file is damaged: {what}" for what in ([] if found else mistyped(cast("SqliteConnection", db)))]
        return found

    def dangling(self, db: Connection) -> list[str]:
        """References broken by a damaged page or by another program."""
        broken = Counter(row[0] for row in db.execute("PRAGMA foreign_key_check"))
        return [f"{table} refers to rows that are not there: {count}" for table, count in broken.items()]
