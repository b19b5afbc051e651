"""One transaction: what every change to rows is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mnemic.errors import EmbeddingMismatch, NotFound
from mnemic.stores.sqlite.connection import Connection
from mnemic.text.canonical import to_json
from mnemic.text.clock import now, to_micros
from mnemic.types import Indexing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Transaction", "check_header", "put_vector", "user_number"]

Found = tuple[str, int, str, int]
"""Table, doc, status and version of a record."""


def user_number(db: Connection, name: str) -> int:
    """The number of a user, made on first sight."""
    row = db.execute("SELECT user FROM users WHERE name = ?", (name,)).fetchone()
    return row[0] if row else db.execute("INSERT INTO users(name) VALUES(?) RETURNING user", (name,)).fetchone()[0]


def check_header(db: Connection, model: str, dimension: int, *, claim: bool) -> None:
    """Refuse vectors of another model; the first model that writes one claims the record."""
    held = dict(db.execute("SELECT key, value FROM header WHERE key IN ('model', 'dimension')").fetchall())
    if not held and claim:
        db.execute("INSERT INTO header VALUES('model', ?), ('dimension', ?)", (model, dimension))
    elif held and (held["model"], held["dimension"]) != (model, dimension):
        raise EmbeddingMismatch((held["model"], held["dimension"]), (model, dimension))


def put_vector(db: Connection, user: int, doc: int, vector: NDArray[np.float32]) -> None:
    """Store one vector as float16: half the bytes, and no measurable loss in ranking."""
    blob = vector.astype("<f2").tobytes()
    db.execute("INSERT OR REPLACE INTO vectors(user, doc, vector) VALUES(?, ?, ?)", (user, doc, blob))


class Transaction:
    """The connection, the user and the moment that all changes of one transaction share."""

    def __init__(self, db: Connection, user: int, model: str) -> None:
        self.db, self.user, self.model = db, user, model
        self.at = to_micros(now())
        self._checked_dimension = 0
        self._twins: dict[str, str] = {}

    def next_doc(self) -> int:
        """A number for a new record, never used before."""
        sql = "UPDATE header SET value = value + 1 WHERE key = 'next_doc' RETURNING value - 1"
        return self.db.execute(sql).fetchone()[0]

    def event(self, operation: str, doc: int, id: str, version: int = 1, **detail: object) -> None:
        """Note what happened to a record; caches follow these."""
        self.db.execute(
            "INSERT INTO events(user, at, operation, doc, id, version, detail) VALUES(?, ?, ?, ?, ?, ?, ?)",
            (self.user, self.at, operation, doc, id, version, to_json(detail)),
        )

    def index(self, doc: int, indexing: Indexing) -> tuple[str, ...]:
        """Full text, slots and vector; what cannot be done yet is noted and returned."""
        terms = " ".join(f"{self.user}:{term}" for term in indexing.terms)
        self.db.execute("INSERT INTO fulltext(rowid, terms) VALUES(?, ?)", (doc, terms))
        for slot in indexing.slots:
            self.db.execute("INSERT OR IGNORE INTO slots(user, slot, doc) VALUES(?, ?, ?)", (self.user, slot, doc))
        if indexing.vector is None:
            self.leave("embed", doc)
            return ("embed",)
        if len(indexing.vector) != self._checked_dimension:
            check_header(self.db, self.model, len(indexing.vector), claim=True)
            self._checked_dimension = len(indexing.vector)
        put_vector(self.db, self.user, doc, indexing.vector)
        return ()

    def unindex(self, doc: int) -> None:
        """Take a record out of full text, slots and vectors."""
        self.db.execute("DELETE FROM fulltext WHERE rowid = ?", (doc,))
        self.db.execute("DELETE FROM slots WHERE doc = ?", (doc,))
        for table in ("vectors", "vectors_next"):
            self.db.execute(f"DELETE FROM {table} WHERE user = ? AND doc = ?", (self.user, doc))
        self.db.execute("DELETE FROM pending WHERE task = 'embed' AND doc = ?", (doc,))

    def leave(self, task: str, doc: int) -> None:
        """Note work that is left to do."""
        self.db.execute(
            "INSERT OR REPLACE INTO pending(task, doc, user, since) VALUES(?, ?, ?, ?)", (task, doc, self.user, self.at)
        )

    def insert(self, table: str, columns: str, values: tuple[object, ...]) -> bool:
        """Insert a row unless its id is taken; whether it was inserted."""
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table}({columns}) VALUES({marks}) ON CONFLICT(user, id) DO NOTHING RETURNING 1"
        return bool(self.db.execute(sql, values).fetchall())

    def rewrite(self, table: str, columns: str, values: tuple[object, ...], version: int) -> None:
        """Replace a row by its next version and keep the one before; the first column is the doc."""
        doc, names = values[0], columns.split(", ")
        old = self.db.execute(f"SELECT {columns} FROM {table} WHERE doc = ?", (doc,)).fetchone()
        kept = to_json(dict(zip(names, old, strict=True)) | {"hash": None})
        self.db.execute("INSERT INTO versions VALUES(?, ?, ?, ?)", (doc, version, self.at, kept))
        assignments = ", ".join(f"{name} = ?" for name in names[1:])
        self.db.execute(f"UPDATE {table} SET {assignments} WHERE doc = ?", (*values[1:], doc))

    def is_told_by(self, id: str, twin: str) -> None:
        """A memory of this transaction that was not stored, because another says the same: later changes mean that one."""
        self._twins[id] = twin

    def find(self, id: str) -> Found | None:
        """Table, doc, status and version of an id of this user, or of the memory that says the same in its place."""
        return self.held(self._twins.get(id, id))

    def held(self, id: str) -> Found | None:
        """The same of what is stored under this very id."""
        for table in ("memories", "messages", "episodes"):
            sql = f"SELECT doc, status, version FROM {table} WHERE user = ? AND id = ?"
            if row := self.db.execute(sql, (self.user, id)).fetchone():
                return table, *row
        return None

    def required(self, id: str) -> Found:
        """The same for an id that must exist.

        Raises:
            NotFound: it does not.
        """
        found = self.find(id)
        if found is None:
            raise NotFound(f"This user has no record with the id {id!r}.")
        return found

    def add_lineage(self, doc: int, source_ids: Iterable[str]) -> None:
        """Say what a record was made from.

        Raises:
            NotFound: one of the sources does not exist.
        """
        for source in source_ids:
            parent = self.find(source)
            if parent is None:
                raise NotFound(f"The source {source!r} of a memory does not exist for this user; nothing was stored.")
            self.db.execute("INSERT OR IGNORE INTO lineage(child, parent) VALUES(?, ?)", (doc, parent[1]))
