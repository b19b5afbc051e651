"""Vectors of the record, and nearest neighbours by pgvector's HNSW index."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.stores.postgres.adapters import Half
from mnemic.stores.postgres.database import Database, VectorCounts
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.vectors import Embedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.protocols import RecordFeed

__all__ = ["NearestVectors", "PostgresEmbedding"]

EXACT_BELOW = 100_000
"""Up to this number of records per user, exact search in the client is faster than a query to the server."""
COUNTED_SECONDS = 600.0
WIDEST = 1_000
"""The maximum of hnsw.ef_search in pgvector."""
_SEARCH = "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', ?, true)"


class PostgresEmbedding(Embedding):
    """See ``Embedding``; adds nearest neighbours."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._db: Database = database

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> tuple[list[int], list[float]]:
        """The docs of a user nearest to a query, and their cosines, best first.

        Approximate: the index scan continues until k vectors of the user are found, and may miss some. If a user has a small
        share of very many vectors, the scan would discard most results: then the server compares all vectors of the user.

        Args:
            user: the number of a user.
            query: a unit vector with the dimension of the record.
            k: the maximum number of results.
        """
        distance = f"vector::halfvec({len(query)}) <=> ?2"
        with self._db.read() as db, db:
            # A sum cannot use the index.
            order = f"({distance}) + 0" if self._few(db, user, k) else distance
            sql = f"SELECT doc, 1 - ({distance}) FROM vectors WHERE user_id = ?1 ORDER BY {order} LIMIT ?3"
            db.execute(_SEARCH, (str(min(max(2 * k, 100), WIDEST)),))
            found = db.execute(sql, (user, Half.of(query), k)).fetchall()
        return [doc for doc, _ in found], [cosine for _, cosine in found]

    def _few(self, db: Connection, user: int, k: int) -> bool:
        """Whether comparing all vectors of a user is faster than filtering the results of the index.

        The index visits about k / share vectors, each at about 16 times the cost of one in a sequential scan.
        """
        now = time.monotonic()
        counted = self._db.vector_counts.get(user)
        if counted is None or counted.at < now - COUNTED_SECONDS:
            own = db.execute("SELECT count(*) FROM vectors WHERE user_id = ?", (user,)).fetchone()[0]
            every = db.execute("SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = CAST('vectors' AS regclass)")
            counted = self._db.vector_counts[user] = VectorCounts(now, own, max(own, every.fetchone()[0]))
        return counted.own**2 < 16 * k * counted.every


class NearestVectors:
    """See ``VectorIndex``. The index is part of the record, so it is always up to date."""

    exact_below = EXACT_BELOW

    def __init__(self, embedding: PostgresEmbedding) -> None:
        self._embedding = embedding

    def open(self, feed: RecordFeed) -> None:
        """Nothing to do: the database maintains the index."""

    def serves(self, model: str | None) -> bool:  # noqa: ARG002
        """True: the vectors are those of the record."""
        return True

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> Sequence[int]:
        """The docs of a user whose vectors are nearest to a unit vector, best first."""
        return self._embedding.nearest(user, query, k)[0]

    def waiting(self, user: int) -> Sequence[int]:  # noqa: ARG002
        """None: a vector is indexed when its transaction ends."""
        return ()

    def wake(self) -> None:
        """Nothing to do."""

    def drain(self, seconds: float | None = None) -> bool:  # noqa: ARG002
        """True: nothing is pending."""
        return True

    def erase(self) -> bool:
        """True: erased with the record."""
        return True

    def findings(self) -> Sequence[str]:
        """None: ``PostgresStore.verify`` checks the vectors."""
        return ()

    def close(self) -> None:
        """Nothing to do: the owner closes the store."""
