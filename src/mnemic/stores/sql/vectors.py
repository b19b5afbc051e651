"""Vectors: pending embeddings, and the rebuild for another model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from mnemic.errors import StoreError
from mnemic.stores.schema import LIVE, RECORDS
from mnemic.stores.sql import changes, queries, rows
from mnemic.stores.sql.connection import Connection, Database
from mnemic.stores.sql.queries import AMONG, Reader
from mnemic.text.sentences import LONG
from mnemic.text.values import now, to_micros
from mnemic.types import Embeddable, TextVectors, embeddable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Waiting = tuple[int, int, Embeddable]
"""User, doc and text of a record that needs a vector."""

V = TypeVar("V")

_MISSING = "SELECT doc FROM records WHERE doc NOT IN (SELECT doc FROM vectors_next)"


class Embedding(Reader[Database]):
    """Work on vectors in small steps, each resumable."""

    def _texts(self, db: Connection, docs: Sequence[int]) -> list[Waiting]:
        where = f"WHERE doc IN {AMONG} ORDER BY user_id, doc"
        selected = rows.select(db, RECORDS, where, (docs,))
        return [(row["user_id"], row["doc"], embeddable(rows.record_from(row))) for row in selected]

    def pending(self, limit: int) -> list[Waiting]:
        """Records without a vector, oldest first, as (user, doc, text)."""
        with self._db.read() as db, db:
            sql = "SELECT doc FROM pending WHERE task = 'embed' ORDER BY attempts, doc LIMIT ?"
            return self._texts(db, [doc for (doc,) in db.execute(sql, (limit,))])

    def fill(self, waiting: Sequence[Waiting], vectors: Sequence[TextVectors], model: str) -> None:
        """Store the vectors of pending records, except those that changed or are no longer pending."""
        with self._db.write() as db:
            moment = to_micros(now())
            for (user_id, doc, _), vector in self._unchanged(db, waiting, vectors):
                if not changes.drop_pending(db, "embed", doc):
                    continue
                changes.check_header(db, model, len(vector.text), claim=True)
                changes.put_vector(db, user_id, doc, *vector)
                sql = "INSERT INTO events(user_id, at, operation, doc) VALUES(?, ?, 'embed', ?)"
                db.execute(sql, (user_id, moment, doc))

    def _unchanged(self, db: Connection, waiting: Sequence[Waiting], vectors: Sequence[V]) -> list[tuple[Waiting, V]]:
        """The rows whose text was not updated since it was embedded."""
        current = set(self._texts(db, [doc for _, doc, _ in waiting]))
        return [(row, vector) for row, vector in zip(waiting, vectors, strict=True) if row in current]

    def first_notice(self, what: str) -> bool:
        """Whether a notice is given for the first time; the header of the record keeps that."""
        with self._db.write() as db:
            sql = "INSERT INTO header VALUES(?, 'given') ON CONFLICT(key) DO NOTHING RETURNING 1"
            return bool(db.execute(sql, (f"notice_{what}",)).fetchall())

    def failed(self, docs: Sequence[int], reason: str) -> None:
        """Record a failed attempt; other records come first next time."""
        with self._db.write() as db:
            for doc in docs:
                sql = "UPDATE pending SET attempts = attempts + 1, error = ? WHERE task = 'embed' AND doc = ?"
                db.execute(sql, (reason[:500], doc))

    def model(self) -> str | None:
        """The embedder of the stored vectors; None without vectors."""
        with self._db.read() as db:
            return queries.header(db).get("model")

    def vectors_of(self, user_id: int, docs: Sequence[int]) -> list[tuple[int, bytes]]:
        """Stored vectors as (doc, float16 bytes); records without one are left out."""
        return self._rows(user_id, f"SELECT doc, vector FROM vectors WHERE user_id = ? AND doc IN {AMONG}", docs)

    def passages_of(self, user_id: int, docs: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of the passages of records, shape (n, d); those without any are left out."""
        with self._db.read() as db:
            vectors = queries.text_vectors(db, user_id, docs, long=True)
        return {doc: text.passages for doc, text in vectors.items()}

    def without_passages(self, user: str) -> list[int]:
        """The docs of an assistant's long answers of which the passages have no vectors yet, the latest first."""
        sql = f"""SELECT r.doc FROM records r JOIN vectors v ON v.user_id = r.user_id AND v.doc = r.doc
            WHERE r.user_id = ? AND r.role = 'assistant' AND {LIVE} AND length(r.content) > {LONG}
            AND v.vector IS NOT NULL AND v.passages IS NULL ORDER BY r.doc DESC"""
        return self._column(user, sql)

    def texts(self, docs: Sequence[int]) -> list[Waiting]:
        """The texts of records, as (user, doc, text)."""
        with self._db.read() as db:
            return self._texts(db, docs)

    def put_passages(self, read: Sequence[Waiting], passages: Sequence[NDArray[np.float32]], model: str) -> None:
        """Store the passages of records that have a vector, except those that changed."""
        with self._db.write() as db:
            for (user_id, doc, _), vectors in self._unchanged(db, read, passages):
                changes.check_header(db, model, vectors.shape[1], claim=False)
                sql = "UPDATE vectors SET passages = ? WHERE user_id = ? AND doc = ? AND vector IS NOT NULL"
                db.execute(sql, (changes.packed(vectors), user_id, doc))

    def begin(self, model: str) -> int:
        """Start or resume the rebuild for another model; returns the number of records without a new vector."""
        with self._db.write() as db:
            if queries.header(db).get("reembedding") != model:
                db.dialect.create_next(db)
                changes.set_header(db, reembedding=model)
            return db.execute(f"SELECT count(*) FROM ({_MISSING}) m").fetchone()[0]

    def missing(self, limit: int) -> list[Waiting]:
        """Records without a new vector, as (user, doc, text)."""
        with self._db.read() as db, db:
            return self._texts(db, [doc for (doc,) in db.execute(f"{_MISSING} LIMIT ?", (limit,))])

    def build(self, waiting: Sequence[Waiting], vectors: Sequence[TextVectors], model: str) -> None:
        """Store new vectors in ``vectors_next``.

        Raises:
            StoreError: a rebuild for another model has started in the meantime.
        """
        with self._db.write() as db:
            self._check_owner(db, model)
            db.dialect.set_dimension(db, "vectors_next", len(vectors[0].text))
            for (user_id, doc, _), vector in self._unchanged(db, waiting, vectors):
                changes.put_vector(db, user_id, doc, *vector, table="vectors_next")

    def skip(self, row: Waiting, model: str) -> None:
        """Skip a text that the new model rejects; it is pending after the swap."""
        with self._db.write() as db:
            self._check_owner(db, model)
            changes.put_vector(db, *row[:2], None, None, table="vectors_next")

    def _check_owner(self, db: Connection, model: str) -> None:
        if queries.header(db).get("reembedding") != model:
            raise StoreError(
                "Another reembed of this record has started or ended in the meantime. Call admin.reembed() again "
                "when it is done."
            )

    def swap(self, model: str, dimension: int) -> bool:
        """Replace the old vectors with the new ones in one transaction; False if records without a new vector were added."""
        with self._db.write() as db:
            self._check_owner(db, model)
            if db.execute(f"{_MISSING} LIMIT 1").fetchall():
                return False
            moment = to_micros(now())
            db.execute("DELETE FROM pending WHERE task = 'embed'")
            rejected = "SELECT 'embed', doc, user_id, ? FROM vectors_next WHERE vector IS NULL"
            db.execute(f"INSERT INTO pending(task, doc, user_id, since) {rejected}", (moment,))
            db.dialect.swap(db)
            db.execute("DELETE FROM header WHERE key = 'reembedding'")
            changes.set_header(db, model=model, dimension=dimension)
            db.execute("INSERT INTO events(user_id, at, operation) VALUES(0, ?, 'reembed')", (moment,))
            return True
