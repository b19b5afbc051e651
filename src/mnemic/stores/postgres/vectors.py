"""The vectors of the record, and which of them are nearest: pgvector's HNSW index, asked on the server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.stores.postgres.adapters import Half
from mnemic.stores.postgres.database import Counted, Database
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.vectors import Embedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.protocols import RecordFeed

__all__ = ["NearestVectors", "PostgresEmbedding"]

EXACT_BELOW = 100_000
"""Up to how many records of a user the client holds their vectors and compares all of them, which takes less than asking."""
COUNTED_SECONDS = 600.0
WIDEST = 1_000
"""What pgvector takes for hnsw.ef_search at the most."""
_SEARCH = "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', ?, true)"


class PostgresEmbedding(Embedding):
    """See ``Embedding``, and which vectors are near."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._db: Database = database

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> tuple[list[int], list[float]]:
        """The docs of a user nearest to a query, and their cosines, best first.

        Approximate: the index goes on until k vectors of the user are found, and may miss some. Where a user has few of very
        many vectors it would pass over most of what it finds: then all those of the user are compared, on the server.

        Args:
            user: the number of a user.
            query: a unit vector as long as those of the record.
            k: how many at the most.
        """
        distance = f"vector::halfvec({len(query)}) <=> ?2"
        with self._db.read() as db, db:
            order = (
                f"({distance}) + 0" if self._few(db, user, k) else distance
            )  # a sum is nothing an index is sorted by
            sql = f"SELECT doc, 1 - ({distance}) FROM vectors WHERE user_id = ?1 ORDER BY {order} LIMIT ?3"
            db.execute(_SEARCH, (str(min(max(2 * k, 100), WIDEST)),))
            found = db.execute(sql, (user, Half.of(query), k)).fetchall()
        return [doc for doc, _ in found], [cosine for _, cosine in found]

    def _few(self, db: Connection, user: int, k: int) -> bool:
        """Whether comparing all vectors of a user takes less than filtering what the index finds.

        The index looks at about k / share vectors, each of which takes some sixteen times as long as one in a row.
        """
        now = time.monotonic()
        counted = self._db.counted.get(user)
        if counted is None or counted.at < now - COUNTED_SECONDS:
            own = db.execute("SELECT count(*) FROM vectors WHERE user_id = ?", (user,)).fetchone()[0]
            every = db.execute("SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = CAST('vectors' AS regclass)")
            counted = self._db.counted[user] = Counted(now, own, max(own, every.fetchone()[0]))
        return counted.own**2 < 16 * k * counted.every


class NearestVectors:
    """The index as the engine asks it (see ``VectorIndex``): part of the record, so that nothing ever waits to be taken in."""

    exact_below = EXACT_BELOW

    def __init__(self, embedding: PostgresEmbedding) -> None:
        self._embedding = embedding

    def open(self, feed: RecordFeed) -> None:
        """It follows by itself."""

    def serves(self, model: str | None) -> bool:  # noqa: ARG002
        """Always: the vectors are those of the record."""
        return True

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> Sequence[int]:
        """The docs of a user whose vectors are nearest to a unit vector, best first."""
        return self._embedding.nearest(user, query, k)[0]

    def waiting(self, user: int) -> Sequence[int]:  # noqa: ARG002
        """None: a vector is in the index when its transaction ends."""
        return ()

    def wake(self) -> None:
        """Nothing sleeps here."""

    def drain(self, seconds: float | None = None) -> bool:  # noqa: ARG002
        """Nothing is left to take in."""
        return True

    def erase(self) -> bool:
        """Erased with the record."""
        return True

    def findings(self) -> Sequence[str]:
        """The record's own checks look at the vectors."""
        return ()

    def close(self) -> None:
        """The store is closed by its owner."""
