"""What SQLite does in a way of its own: full text in FTS5, lists and metadata as JSON, one writer at a time."""

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
        """The numbers one after the other."""
        return vector.astype("<f2").tobytes()

    def claimed(self, db: Connection, table: str, dimension: int) -> None:
        """A blob is as long as it is."""

    def start(self, db: Connection) -> None:
        """The table is there."""
        db.execute("DELETE FROM vectors_next")

    def replace(self, db: Connection) -> None:
        """Row by row: readers see the old ones until the transaction ends."""
        db.execute("DELETE FROM vectors")
        db.execute("INSERT INTO vectors SELECT user_id, doc, vector FROM vectors_next WHERE vector IS NOT NULL")
        self.start(db)


class SqliteFilters:
    """See ``FilterDialect``."""

    def columns(self, row: Mapping[str, Any]) -> dict[str, object]:  # noqa: ARG002
        """None: filters read the JSON of the row itself."""
        return {}

    def tagged(self, user: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:  # noqa: ARG002
        """Keys and values are always bound, never spliced."""
        sql = f"EXISTS (SELECT 1 FROM json_each({table}.tags) WHERE value IN (SELECT value FROM json_each(?)))"
        return sql, [json.dumps(list(tags))]

    def noted(self, user: int, table: str, key: str, value: object) -> tuple[str, list[object]]:  # noqa: ARG002
        """Equal values of one type; 1 and 1.0 are equal."""
        sql = (
            f"EXISTS (SELECT 1 FROM json_each({table}.metadata) AS m, json_each(?) AS w WHERE m.key = ? AND m.type IN "
            "(w.type, CASE w.type WHEN 'integer' THEN 'real' WHEN 'real' THEN 'integer' END) AND m.value IS w.value)"
        )
        return sql, [to_json([value]), key]

    def keyed(self, user: int, table: str, key: str) -> tuple[str, list[object]]:  # noqa: ARG002
        """Whatever its value; few records have any metadata, and an index knows which."""
        return f"metadata != '{{}}' AND EXISTS (SELECT 1 FROM json_each({table}.metadata) WHERE key = ?)", [key]


class SqliteDialect:
    """See ``Dialect``. The whole file has one writer, so that no user needs a lock of its own."""

    vectors = SqliteVectors()
    filters = SqliteFilters()
    header = ("fence", "next_doc")
    never = {  # noqa: RUF012 - never changed
        "a record has no full text": "SELECT doc FROM records WHERE doc NOT IN (SELECT id FROM fulltext_docsize)",
        "a record with a number that was not given yet": """SELECT doc FROM records WHERE doc >=
            (SELECT value FROM header WHERE key = 'next_doc')""",
        "full text without a record": "SELECT id FROM fulltext_docsize WHERE id NOT IN (SELECT doc FROM records)",
        "a vector of another length than the header says": """SELECT doc FROM vectors WHERE length(vector) !=
            2 * (SELECT value FROM header WHERE key = 'dimension')""",
    }

    def many(self, values: Sequence[int] | Sequence[str]) -> str:
        """A list as JSON."""
        return json.dumps(list(values))

    def begin(self, db: Connection, name: str) -> int:
        """The number of a user, made on first sight."""
        known = self.known(db, name)
        if known is not None:
            return known
        return db.execute("INSERT INTO users(name) VALUES(?) RETURNING user_id", (name,)).fetchone()[0]

    def known(self, db: Connection, name: str) -> int | None:
        """The number of a user; the transaction has locked the file."""
        row = db.execute("SELECT user_id FROM users WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def next_doc(self, db: Connection) -> int:
        """The header counts."""
        return self.next_docs(db, 1)

    def next_docs(self, db: Connection, count: int) -> int:
        """The header counts."""
        sql = "UPDATE header SET value = value + ?1 WHERE key = 'next_doc' RETURNING value - ?1"
        row = db.execute(sql, (count,)).fetchone()
        if row is None:
            raise StoreCorrupt(
                "The header of the record has no number for the next one: it is damaged. Nothing was stored. Put it right with "
                "mnemic doctor --fix, or restore a backup."
            )
        return row[0]

    def index(self, db: Connection, user: int, doc: int, terms: Sequence[str]) -> None:
        """Terms are stored under their user: the wall costs nothing."""
        db.execute(
            "INSERT INTO fulltext(rowid, terms) VALUES(?, ?)", (doc, " ".join(f"{user}:{term}" for term in terms))
        )

    def unindex(self, db: Connection, doc: int) -> None:
        """The index needs no text to forget one."""
        db.execute("DELETE FROM fulltext WHERE rowid = ?", (doc,))

    def postings(self, db: Connection, user: int, term: str) -> list[int]:
        """One range of the index."""
        found = db.execute("SELECT doc FROM postings WHERE term = ?", (f"{user}:{term}",)).fetchall()
        return [row[0] for row in found]

    def size(self, db: Connection) -> int:
        """Pages of the file."""
        own = cast("SqliteConnection", db)
        return int(own.pragma("page_count")) * int(own.pragma("page_size"))

    def damage(self, db: Connection) -> list[str]:
        """What SQLite says of the file and of the full-text index."""
        # FTS5 checks what this connection last knew of the index, and takes what others wrote since for damage: unless it is
        # asked something first.
        found: list[str] = []
        try:
            db.execute("SELECT rowid FROM fulltext WHERE fulltext MATCH '\"-\"' LIMIT 1").fetchall()
        except apsw.CorruptError as error:
            found.append(f"the file is damaged: {error}")
        found += [f"the file is damaged: {row[0]}" for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        from mnemic.stores.sqlite.integrity import mistyped  # NumPy is loaded when it is first needed

        found += [f"the file is damaged: {what}" for what in ([] if found else mistyped(cast("SqliteConnection", db)))]
        return found

    def dangling(self, db: Connection) -> list[str]:
        """References that a damaged page, or another program, has broken."""
        broken = Counter(row[0] for row in db.execute("PRAGMA foreign_key_check"))
        return [f"{table} refers to rows that are not there: {count}" for table, count in broken.items()]
