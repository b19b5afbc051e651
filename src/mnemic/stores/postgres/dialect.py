"""What PostgreSQL does in a way of its own: locks by user, postings as rows, filters by hash, vectors of pgvector."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from mnemic.stores.postgres.adapters import Half, Numbers
from mnemic.stores.postgres.migrations import POSTGRES
from mnemic.stores.schema import VECTORS_NEXT, created
from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PostgresDialect", "facets_of", "invalid_indexes"]

_SPACIOUS = "SET LOCAL work_mem = '512MB'"  # checks compare all records with each other


def _facet(*parts: object) -> bytes:
    """One thing that filters look up; of any length, and hashed, because an index holds no long keys."""
    return hashlib.blake2b(to_json(parts).encode(), digest_size=16).digest()


def _comparable(value: object) -> object:
    """1 and 1.0 are equal, true and 1 are not: what JSON in SQLite says too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def facets_of(row: Mapping[str, Any]) -> list[bytes]:
    """All that filters look up of one row; a facet names its user, so that the index is read for one alone."""
    user = row["user_id"]
    found = {_facet(user, "tag", tag) for tag in json.loads(row.get("tags") or "[]")}
    for key, value in json.loads(row["metadata"]).items():
        found |= {_facet(user, "key", key), _facet(user, "value", key, _comparable(value))}
    return sorted(found)


class PostgresVectors:
    """See ``VectorDialect``."""

    def bind(self, vector: NDArray[np.float32]) -> Half:
        """A halfvec."""
        return Half.of(vector)

    def claimed(self, db: Connection, table: str, dimension: int) -> None:
        """One index over the vectors of all users; made while the table is empty, so it takes no time."""
        db.execute(
            f"CREATE INDEX IF NOT EXISTS {table}_hnsw ON {table} USING hnsw "
            f"((vector::halfvec({int(dimension)})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
        )

    def start(self, db: Connection) -> None:
        """A new table, because the index over the old one expects vectors of its own length."""
        db.execute("DROP TABLE IF EXISTS vectors_next")
        db.execute(created(VECTORS_NEXT, POSTGRES))

    def replace(self, db: Connection) -> None:
        """The tables change names: nothing is copied, and the index was built with the vectors.

        Readers that have begun hold the old table until they end (see ``PostgresConnection.__enter__``).
        """
        db.execute("DELETE FROM vectors_next WHERE vector IS NULL")
        db.execute("DROP TABLE vectors")
        db.execute("ALTER TABLE vectors_next RENAME TO vectors")
        db.execute("ALTER INDEX vectors_next_pkey RENAME TO vectors_pkey")
        db.execute("ALTER INDEX IF EXISTS vectors_next_hnsw RENAME TO vectors_hnsw")
        self.start(db)


class PostgresFilters:
    """See ``FilterDialect``. Tags and metadata stay the JSON that was given, byte for byte, which jsonb would not keep (NUL,
    half of a surrogate pair, 1e22, -0.0); a GIN index holds hashes of them.
    """

    def columns(self, row: Mapping[str, Any]) -> dict[str, object]:
        """The hashes; most records have none."""
        return {"facets": facets_of(row) or None}

    def tagged(self, user: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:
        """Any of some hashes."""
        return _with(table, [_facet(user, "tag", tag) for tag in tags])

    def noted(self, user: int, table: str, key: str, value: object) -> tuple[str, list[object]]:
        """The hash of key and value."""
        return _with(table, [_facet(user, "value", key, _comparable(value))])

    def keyed(self, user: int, table: str, key: str) -> tuple[str, list[object]]:
        """The hash of the key."""
        return _with(table, [_facet(user, "key", key)])


def _with(table: str, facets: list[bytes]) -> tuple[str, list[object]]:
    return f"{table}.doc IN (SELECT doc FROM records WHERE facets && CAST(? AS bytea[]))", [facets]


class PostgresDialect:
    """See ``Dialect``."""

    vectors = PostgresVectors()
    header = ("fence",)
    filters = PostgresFilters()
    never = {  # noqa: RUF012 - never changed
        "a record has no full text": "SELECT doc FROM records WHERE doc NOT IN (SELECT doc FROM postings)",
        "full text without a record": "SELECT DISTINCT doc FROM postings WHERE doc NOT IN (SELECT doc FROM records)",
        "full text filed under another user": """SELECT DISTINCT p.doc FROM postings p
            JOIN records r ON r.doc = p.doc WHERE p.user_id != r.user_id""",
        "a vector of another length than the header says": """SELECT doc FROM vectors WHERE vector_dims(vector) !=
            (SELECT CAST(value AS int) FROM header WHERE key = 'dimension')""",
    }

    def many(self, values: Sequence[int] | Sequence[str]) -> object:
        """An array."""
        if values and isinstance(values[0], str):
            return list(values)
        return Numbers.of(cast("Sequence[int]", values)) if values else []

    def begin(self, db: Connection, name: str) -> int:
        """The number of a user, whose row is locked from here on.

        Whoever writes for the user waits for the row, so that events become visible in the order of their numbers. The lock
        also shuts out ``Database.write``, which locks the whole table.
        """
        while (known := self.known(db, name)) is None:
            made = "INSERT INTO users(name) VALUES(?) ON CONFLICT DO NOTHING RETURNING user_id"
            if row := db.execute(made, (name,)).fetchone():
                return int(row[0])
        return known

    def known(self, db: Connection, name: str) -> int | None:
        """The number of a user whose row is there, and locked from here on."""
        row = db.execute("SELECT user_id FROM users WHERE name = ? FOR NO KEY UPDATE", (name,)).fetchone()
        return int(row[0]) if row else None

    def next_doc(self, db: Connection) -> int:
        """Drawn by the only writer of its user: higher than all that user has."""
        return int(db.execute("SELECT nextval('docs')").fetchone()[0])

    def next_docs(self, db: Connection, count: int) -> int:
        """Drawn where nobody else draws at the same time."""
        db.execute("LOCK TABLE users IN EXCLUSIVE MODE")
        first = self.next_doc(db)
        db.execute("SELECT setval('docs', ?)", (first + count - 1,)).fetchall()
        return first

    def index(self, db: Connection, user: int, doc: int, terms: Sequence[str]) -> None:
        """A row for each term; a record without terms has one that nobody asks for."""
        counts = Counter(terms) or {"": 0}
        db.execute(
            "INSERT INTO postings SELECT ?1, t.term, ?2, t.count FROM unnest(?3::text[], ?4::bigint[]) AS t(term, count)",
            (user, doc, list(counts), list(counts.values())),
        )

    def unindex(self, db: Connection, doc: int) -> None:
        """By the index over docs."""
        db.execute("DELETE FROM postings WHERE doc = ?", (doc,))

    def postings(self, db: Connection, user: int, term: str) -> list[int]:
        """One range of the key."""
        found = db.execute("SELECT doc, count FROM postings WHERE user_id = ? AND term = ? ORDER BY doc", (user, term))
        return [doc for doc, times in found for _ in range(times)]

    def size(self, db: Connection) -> int:
        """Tables with their indexes."""
        sql = """SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint) FROM pg_class c
            WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""
        return int(db.execute(sql).fetchone()[0])

    def dangling(self, db: Connection) -> list[str]:  # noqa: ARG002
        """None: every reference is checked when it is written."""
        return []

    def damage(self, db: Connection) -> list[str]:
        """Indexes that PostgreSQL itself does not trust; it checks its pages when they are read."""
        db.execute(_SPACIOUS)
        return [f"the index {name} is not valid: rebuild it with REINDEX" for name in invalid_indexes(db)]


def invalid_indexes(db: Connection) -> list[str]:
    """Indexes that PostgreSQL does not use, such as one whose making was interrupted."""
    sql = """SELECT CAST(c.relname AS text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND NOT (i.indisvalid AND i.indisready)"""
    return [name for (name,) in db.execute(sql).fetchall()]
