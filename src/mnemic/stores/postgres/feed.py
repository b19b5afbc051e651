"""The record in a database as an outbox: events of several users are committed in another order than they are numbered."""

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
"""Seconds to wait for writers that were under way when an event was seen."""
PAUSE = 0.01
# Whoever writes events has locked ``users`` before the first of them got its number (PostgresDialect.begin, Database.write),
# and lets go after its commit can be seen. Readers and VACUUM hold locks of other kinds.
_WRITERS = """SELECT virtualtransaction FROM pg_locks WHERE granted AND relation = CAST('users' AS regclass)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND mode IN ('RowShareLock', 'RowExclusiveLock', 'ExclusiveLock')"""


class Feed(SqlFeed[Database]):
    """See ``RecordFeed``.

    Numbers of events are drawn before they are committed. So an event counts as read only when every transaction that was
    writing at the moment it was seen has ended: after that none with a lower number can appear.
    """

    folder = None

    def _complete(self) -> int:
        """The newest event that can be seen now, once those who are writing now are done.

        Raises:
            StoreUnavailable: somebody writes for very long.
        """
        with self._db.read() as db:
            (last,) = db.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
            under_way = _writers(db)  # after the number was seen
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

    def turn(self, what: str) -> SessionLock:
        """A lock of a session of its own, for all machines."""
        return SessionLock(self._db, what)

    def listen(self, heard: Callable[[], None]) -> None:
        """Call this after each commit of this process."""
        self._db.committed = heard


def _writers(db: Connection) -> set[str]:
    return {name for (name,) in db.execute(_WRITERS).fetchall()}
