"""One transaction: the operations that changes share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.errors import EmbeddingMismatch, NotFound
from mnemic.stores.schema import RECORDS
from mnemic.stores.sql import queries
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.rows import select, version_json
from mnemic.text.canonical import to_json
from mnemic.text.clock import now, to_micros
from mnemic.types import Indexing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Transaction", "check_header", "put_vector", "set_header"]

Found = tuple[str, int, str, int]
"""Kind, doc, status and version of a record."""


def check_header(db: Connection, model: str, dimension: int, *, claim: bool) -> None:
    """Refuse vectors of another model; with ``claim`` the first model is entered in the header."""
    held = _header_model(db)
    if held is None and claim:
        sql = "INSERT INTO header VALUES('dimension', ?), ('model', ?) ON CONFLICT DO NOTHING RETURNING 1"
        if db.execute(sql, (str(dimension), model)).fetchall():
            db.dialect.vectors.set_dimension(db, "vectors", dimension)
        else:  # another writer was first
            held = _header_model(db)
    if held is not None and held != (model, dimension):
        raise EmbeddingMismatch(held, (model, dimension))


def _header_model(db: Connection) -> tuple[str, int] | None:
    """Model and dimension in the header; None without vectors."""
    held = queries.header(db)
    return (held["model"], held["dimension"]) if "model" in held or "dimension" in held else None


def set_header(db: Connection, **values: object) -> None:
    """Write header entries."""
    for key, value in values.items():
        sql = "INSERT INTO header VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
        db.execute(sql, (key, str(value)))


def put_vector(
    db: Connection, user: int, doc: int, vector: NDArray[np.float32] | None, *, table: str = "vectors"
) -> None:
    """Store a vector; None marks a record whose text the model rejects."""
    sql = f"""INSERT INTO {table}(user_id, doc, vector) VALUES(?, ?, ?)
        ON CONFLICT(user_id, doc) DO UPDATE SET vector = excluded.vector"""
    db.execute(sql, (user, doc, None if vector is None else db.dialect.vectors.bind(vector)))


class Transaction:
    """The connection, user and time that all changes of one transaction share."""

    def __init__(self, db: Connection, user: int, model: str) -> None:
        self.db, self.user, self.model = db, user, model
        self.at = to_micros(now())
        self._checked_dimension = 0
        self._aliases: dict[str, str] = {}

    def next_doc(self) -> int:
        """The doc of a new record, never used before."""
        return self.db.dialect.next_doc(self.db)

    def bind_list(self, values: Sequence[int] | Sequence[str]) -> object:
        """Values to bind to ``IN (SELECT value FROM json_each(?))``."""
        return self.db.dialect.bind_list(values)

    def event(self, operation: str, doc: int, id: str, version: int = 1, **detail: object) -> None:
        """Write an event; caches follow events."""
        self.db.execute(
            "INSERT INTO events(user_id, at, operation, doc, id, version, detail) VALUES(?, ?, ?, ?, ?, ?, ?)",
            (self.user, self.at, operation, doc, id, version, to_json(detail)),
        )

    def index(self, doc: int, indexing: Indexing) -> tuple[str, ...]:
        """Store full text and vector; returns the tasks that stay pending."""
        self.db.dialect.index(self.db, self.user, doc, indexing.terms)
        if indexing.vector is None:
            self.add_pending("embed", doc)
            return ("embed",)
        if len(indexing.vector) != self._checked_dimension:
            check_header(self.db, self.model, len(indexing.vector), claim=True)
            self._checked_dimension = len(indexing.vector)
        put_vector(self.db, self.user, doc, indexing.vector)
        return ()

    def unindex(self, doc: int) -> None:
        """Remove a record from full text and vectors."""
        self.db.dialect.unindex(self.db, doc)
        for table in ("vectors", "vectors_next"):
            self.db.execute(f"DELETE FROM {table} WHERE user_id = ? AND doc = ?", (self.user, doc))
        self.db.execute("DELETE FROM pending WHERE task = 'embed' AND doc = ?", (doc,))

    def add_pending(self, task: str, doc: int) -> None:
        """Add a pending task."""
        sql = """INSERT INTO pending(task, doc, user_id, since) VALUES(?, ?, ?, ?) ON CONFLICT(task, doc)
            DO UPDATE SET since = excluded.since, attempts = 0, error = NULL"""
        self.db.execute(sql, (task, doc, self.user, self.at))

    def insert(self, row: dict[str, Any]) -> bool:
        """Insert a record unless its id is taken; returns whether it was inserted."""
        row = row | self.db.dialect.filters.columns(row)
        marks = ", ".join("?" * len(row))
        sql = f"INSERT INTO records({', '.join(row)}) VALUES({marks}) ON CONFLICT(user_id, id) DO NOTHING RETURNING 1"
        return bool(self.db.execute(sql, tuple(row.values())).fetchall())

    def rewrite(self, row: dict[str, Any], version: int) -> None:
        """Replace a record by its next version, and store the previous one."""
        doc = row["doc"]
        (old,) = select(self.db, RECORDS, "WHERE doc = ?", (doc,))
        self.db.execute(
            "INSERT INTO versions VALUES(?, ?, ?, ?, ?)", (self.user, doc, version, self.at, version_json(old))
        )
        row = row | self.db.dialect.filters.columns(row)
        assignments = ", ".join(f"{name} = ?" for name in row)
        self.db.execute(f"UPDATE records SET {assignments} WHERE doc = ?", (*row.values(), doc))

    def alias(self, id: str, duplicate: str) -> None:
        """Resolve the id of a memory that was not stored to that of its duplicate, for later changes of this transaction."""
        self._aliases[id] = duplicate

    def find(self, id: str) -> Found | None:
        """Kind, doc, status and version of an id of this user, or of its duplicate; None if there is none."""
        return self.find_stored(self._aliases.get(id, id))

    def find_stored(self, id: str) -> Found | None:
        """Like ``find``, without duplicates."""
        sql = "SELECT kind, doc, status, version FROM records WHERE user_id = ? AND id = ?"
        return self.db.execute(sql, (self.user, id)).fetchone()

    def required(self, id: str) -> Found:
        """Like ``find``, for an id that must exist.

        Raises:
            NotFound: it does not exist.
        """
        found = self.find(id)
        if found is None:
            raise NotFound(f"This user has no record with the id {id!r}.")
        return found

    def add_lineage(self, doc: int, source_ids: Iterable[str]) -> None:
        """Add lineage edges to the sources of a record.

        Raises:
            NotFound: a source does not exist.
        """
        for source in source_ids:
            parent = self.find(source)
            if parent is None:
                raise NotFound(f"The source {source!r} of a memory does not exist for this user; nothing was stored.")
            self.add_parent(doc, parent[1])

    def add_parent(self, child: int, parent: int) -> bool:
        """Add a lineage edge unless it exists; returns whether it is new."""
        sql = "INSERT INTO lineage VALUES(?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1"
        return bool(self.db.execute(sql, (self.user, child, parent)).fetchall())
