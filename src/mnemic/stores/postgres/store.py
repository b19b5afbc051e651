"""The PostgreSQL store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.errors import StoreUnavailable
from mnemic.stores.postgres.database import Database, SessionLock, VectorCounts, probe
from mnemic.stores.postgres.dialect import Half
from mnemic.stores.postgres.erasure import Erasure
from mnemic.stores.postgres.integrity import PostgresIntegrity
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.feed import SqlFeed
from mnemic.stores.sql.store import SqlStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mnemic.stores.sql.connection import Durability


PATIENCE = 30.0
"""Seconds to wait for transactions that were running when an event was read."""
PAUSE = 0.01
# Writers of events lock ``users`` before the first event gets its number (PostgresDialect.lock_user, Database.write), and
# release it after the commit is visible. Readers and VACUUM hold locks of other modes.
_WRITERS = """SELECT virtualtransaction FROM pg_locks WHERE granted AND relation = CAST('users' AS regclass)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND mode IN ('RowShareLock', 'RowExclusiveLock', 'ExclusiveLock')"""


class Feed(SqlFeed[Database]):
    """See ``RecordFeed``.

    Event numbers are assigned before the commit. So an event is complete only when every transaction that was writing when
    it was read has ended: after that no lower number can appear.
    """

    folder = None

    def _last_complete(self) -> int:
        """The newest visible event, after all running transactions have ended.

        Raises:
            StoreUnavailable: a transaction runs for longer than ``PATIENCE``.
        """
        with self._db.read() as db:
            (last,) = db.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
            writers = _writers(db)  # after the number was read
        deadline = time.monotonic() + PATIENCE
        while writers:
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"A transaction has been writing to {self._db.name} for {PATIENCE:.0f} s; the index over the vectors "
                    "waits for it. Searches compare what is not in the index."
                )
            time.sleep(PAUSE)
            with self._db.read() as db:
                writers &= _writers(db)
        return int(last)

    def lock(self, what: str) -> SessionLock:
        """A lock held by a separate session, across machines."""
        return SessionLock(self._db, what)


def _writers(db: Connection) -> set[str]:
    return {name for (name,) in db.execute(_WRITERS).fetchall()}


EXACT_BELOW = 100_000
"""Up to this number of records per user, exact search in the client is faster than a query to the server."""
COUNTED_SECONDS = 600.0
WIDEST = 1_000
"""The maximum of hnsw.ef_search in pgvector."""
_SEARCH = "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', ?, true)"


class NearestVectors:
    """See ``VectorSearch``. The index is part of the record, so it is always up to date."""

    exact_below = EXACT_BELOW

    def __init__(self, database: Database) -> None:
        self._db = database

    def serves(self, model: str | None) -> bool:  # noqa: ARG002
        """True: the vectors are those of the record."""
        return True

    def nearest(self, user: int, query: NDArray[np.float32], k: int) -> Sequence[int]:
        """The docs of a user nearest to a query, best first.

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
            order = f"({distance}) + 0" if self._scan_is_faster(db, user, k) else distance
            sql = f"SELECT doc FROM vectors WHERE user_id = ?1 ORDER BY {order} LIMIT ?3"
            db.execute(_SEARCH, (str(min(max(2 * k, 100), WIDEST)),))
            return [doc for (doc,) in db.execute(sql, (user, Half.of(query), k))]

    def _scan_is_faster(self, db: Connection, user_id: int, k: int) -> bool:
        """Whether comparing all vectors of a user is faster than filtering the results of the index.

        The index visits about k / share vectors, each at about 16 times the cost of one in a sequential scan.
        """
        now = time.monotonic()
        counts = self._db.vector_counts.get(user_id)
        if counts is None or counts.moment < now - COUNTED_SECONDS:
            size = db.execute("SELECT count(*) FROM vectors WHERE user_id = ?", (user_id,)).fetchone()[0]
            sql = "SELECT CAST(reltuples AS bigint) FROM pg_class WHERE oid = CAST('vectors' AS regclass)"
            counts = self._db.vector_counts[user_id] = VectorCounts(now, size, max(size, db.execute(sql).fetchone()[0]))
        return counts.user_total**2 < 16 * k * counts.total


class PostgresStore(SqlStore[Database]):
    """A record in one schema of a database. Safe for several threads, processes and machines at once.

    Args:
        url: ``postgresql://user:password@host:port/database?schema=name``; the schema (default ``mnemic``) is created if
            missing.
        durability: ``FULL`` survives power loss of the server; ``NORMAL`` may lose the last transactions with it.

    Attributes:
        erasure: erasure, with the purge of bytes.
    """

    def __init__(self, url: str, *, durability: Durability = "FULL") -> None:
        super().__init__(Database(url, durability=durability), PostgresIntegrity())
        self.erasure = Erasure(self._db)

    at = staticmethod(probe)

    @property
    def index(self) -> NearestVectors:
        """The vector index, for users with too many vectors for exact search."""
        return NearestVectors(self._db)

    def feed(self) -> Feed:
        """The record as an outbox for a derived index. The first call gives the record its unique name.

        Raises:
            StoreReadOnly: the record cannot be written, and so not named.
        """
        return Feed(self._db)
