"""The PostgreSQL dialect: locks by user, postings as rows, filters by hash, vectors of pgvector."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from mnemic.stores.postgres.adapters import Half, Numbers
from mnemic.stores.postgres.migrations import POSTGRES
from mnemic.stores.schema import VECTORS_NEXT, create_table
from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PostgresDialect", "facets_of", "invalid_indexes"]

_SPACIOUS = "SET LOCAL work_mem = '512MB'"  # integrity checks join all records


def _facet(*parts: object) -> bytes:
    """A hash of one value that filters look up: index keys must be short."""
    return hashlib.blake2b(to_json(parts).encode(), digest_size=16).digest()


def _comparable(value: object) -> object:
    """A value such that 1 and 1.0 are equal, true and 1 are not, as in SQLite's JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def facets_of(row: Mapping[str, Any]) -> list[bytes]:
    """The facets (hashes for filters) of one row; they include the user, so that index lookups stay within one user."""
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

    def set_dimension(self, db: Connection, table: str, dimension: int) -> None:
        """Create one HNSW index over the vectors of all users, while the table is empty."""
        db.execute(
            f"CREATE INDEX IF NOT EXISTS {table}_hnsw ON {table} USING hnsw "
            f"((vector::halfvec({int(dimension)})) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
        )

    def create_next(self, db: Connection) -> None:
        """Create a new table, because the index of the old one is for another dimension."""
        db.execute("DROP TABLE IF EXISTS vectors_next")
        db.execute(create_table(VECTORS_NEXT, POSTGRES))

    def swap(self, db: Connection) -> None:
        """Rename the tables: nothing is copied, and the index exists already.

        Running readers keep the old table until they end (see ``PostgresConnection.__enter__``).
        """
        db.execute("DELETE FROM vectors_next WHERE vector IS NULL")
        db.execute("DROP TABLE vectors")
        db.execute("ALTER TABLE vectors_next RENAME TO vectors")
        db.execute("ALTER INDEX vectors_next_pkey RENAME TO vectors_pkey")
        db.execute("ALTER INDEX IF EXISTS vectors_next_hnsw RENAME TO vectors_hnsw")
        self.create_next(db)


class PostgresFilters:
    """See ``FilterDialect``. Tags and metadata are stored as JSON text, because jsonb would change them (NUL, lone surrogates,
    1e22, -0.0); a GIN index holds hashes of them.
    """

    def columns(self, row: Mapping[str, Any]) -> dict[str, object]:
        """The facets; most records have none."""
        return {"facets": facets_of(row) or None}

    def has_tags(self, user: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:
        """A condition on any of the hashes of the tags."""
        return _with(table, [_facet(user, "tag", tag) for tag in tags])

    def has_metadata(self, user: int, table: str, key: str, value: object) -> tuple[str, list[object]]:
        """A condition on the hash of key and value."""
        return _with(table, [_facet(user, "value", key, _comparable(value))])

    def has_key(self, user: int, table: str, key: str) -> tuple[str, list[object]]:
        """A condition on the hash of the key."""
        return _with(table, [_facet(user, "key", key)])


def _with(table: str, facets: list[bytes]) -> tuple[str, list[object]]:
    return f"{table}.doc IN (SELECT doc FROM records WHERE facets && CAST(? AS bytea[]))", [facets]


class PostgresDialect:
    """See ``Dialect``."""

    vectors = PostgresVectors()
    header = ("fence",)
    filters = PostgresFilters()
    invariants = {  # noqa: RUF012 - never changed
        "a record has no full text": "SELECT doc FROM records WHERE doc NOT IN (SELECT doc FROM postings)",
        "full text without a record": "SELECT DISTINCT doc FROM postings WHERE doc NOT IN (SELECT doc FROM records)",
        "full text filed under another user": """SELECT DISTINCT p.doc FROM postings p
            JOIN records r ON r.doc = p.doc WHERE p.user_id != r.user_id""",
        "a vector of another length than the header says": """SELECT doc FROM vectors WHERE vector_dims(vector) !=
            (SELECT CAST(value AS int) FROM header WHERE key = 'dimension')""",
    }

    def bind_list(self, values: Sequence[int] | Sequence[str]) -> object:
        """An array."""
        if values and isinstance(values[0], str):
            return list(values)
        return Numbers.of(cast("Sequence[int]", values)) if values else []

    def lock_user(self, db: Connection, name: str) -> int:
        """The number of a user, with a lock on its row until the transaction ends.

        Writers of a user wait for the row, so that events become visible in the order of their numbers. The lock also
        excludes ``Database.write``, which locks the whole table.
        """
        while (known := self.lock_known_user(db, name)) is None:
            made = "INSERT INTO users(name) VALUES(?) ON CONFLICT DO NOTHING RETURNING user_id"
            if row := db.execute(made, (name,)).fetchone():
                return int(row[0])
        return known

    def lock_known_user(self, db: Connection, name: str) -> int | None:
        """The number of an existing user, with a lock on its row until the transaction ends."""
        row = db.execute("SELECT user_id FROM users WHERE name = ? FOR NO KEY UPDATE", (name,)).fetchone()
        return int(row[0]) if row else None

    def next_doc(self, db: Connection) -> int:
        """From a sequence; higher than all docs of the user, because the user is locked."""
        return int(db.execute("SELECT nextval('docs')").fetchone()[0])

    def next_docs(self, db: Connection, count: int) -> int:
        """From the sequence, with all other writers excluded."""
        db.execute("LOCK TABLE users IN EXCLUSIVE MODE")
        first = self.next_doc(db)
        db.execute("SELECT setval('docs', ?)", (first + count - 1,)).fetchall()
        return first

    def index(self, db: Connection, user: int, doc: int, terms: Sequence[str]) -> None:
        """A row for each term; a record without terms gets a placeholder row."""
        counts = Counter(terms) or {"": 0}
        db.execute(
            "INSERT INTO postings SELECT ?1, t.term, ?2, t.count FROM unnest(?3::text[], ?4::bigint[]) AS t(term, count)",
            (user, doc, list(counts), list(counts.values())),
        )

    def unindex(self, db: Connection, doc: int) -> None:
        """By the index on docs."""
        db.execute("DELETE FROM postings WHERE doc = ?", (doc,))

    def postings(self, db: Connection, user: int, term: str) -> list[int]:
        """A range scan of the primary key."""
        found = db.execute("SELECT doc, count FROM postings WHERE user_id = ? AND term = ? ORDER BY doc", (user, term))
        return [doc for doc, times in found for _ in range(times)]

    def size(self, db: Connection) -> int:
        """Tables with their indexes, in bytes."""
        sql = """SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint) FROM pg_class c
            WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""
        return int(db.execute(sql).fetchone()[0])

    def dangling(self, db: Connection) -> list[str]:  # noqa: ARG002
        """None: every reference is checked when it is written."""
        return []

    def damage(self, db: Connection) -> list[str]:
        """Invalid indexes; PostgreSQL checks pages when they are read."""
        db.execute(_SPACIOUS)
        return [f"the index {name} is not valid: rebuild it with REINDEX" for name in invalid_indexes(db)]


def invalid_indexes(db: Connection) -> list[str]:
    """Indexes marked invalid, such as after an interrupted CREATE INDEX."""
    sql = """SELECT CAST(c.relname AS text) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND NOT (i.indisvalid AND i.indisready)"""
    return [name for (name,) in db.execute(sql).fetchall()]
