"""The PostgreSQL record as an outbox: events of several users are not committed in the order of their numbers."""

from __future__ import annotations

import time
from collections.abc import Callable

from mnemic.errors import StoreUnavailable
from mnemic.stores.postgres.database import Database
from mnemic.stores.postgres.locks import SessionLock
from mnemic.stores.sql.connection import Connection
from mnemic.stores.sql.feed import SqlFeed

__all__ = ["Feed"]

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

    def _complete(self) -> int:
        """The newest visible event, after all running transactions have ended.

        Raises:
            StoreUnavailable: a transaction runs for longer than ``PATIENCE``.
        """
        with self._db.read() as db:
            (last,) = db.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
            under_way = _writers(db)  # after the number was read
        until = time.monotonic() + PATIENCE
        while under_way:
            if time.monotonic() > until:
                raise StoreUnavailable(
                    f"A transaction has been writing to {self._db.name} for {PATIENCE:.0f} s; the index over the vectors "
                    "waits for it. Searches compare what is not in the index."
                )
            time.sleep(PAUSE)
            with self._db.read() as db:
                under_way &= _writers(db)
        return int(last)

    def lock(self, what: str) -> SessionLock:
        """A lock held by a separate session, across machines."""
        return SessionLock(self._db, what)

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function after each commit of this process."""
        self._db.committed = heard


def _writers(db: Connection) -> set[str]:
    return {name for (name,) in db.execute(_WRITERS).fetchall()}
