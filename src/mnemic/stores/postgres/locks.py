"""A lock on a record across machines, held by a database session."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.stores.postgres.database import Database, Session

__all__ = ["SessionLock"]


class SessionLock:
    """An advisory lock held by one handle as long as its connection lives.

    Args:
        database: the record.
        what: the name of the lock.
    """

    def __init__(self, database: Database, what: str) -> None:
        self._db, self._what = database, what
        self._session: Session | None = None
        self._guard = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether this handle holds the lock; checks the connection."""
        with self._guard:
            if self._session is not None and not self._session.is_alive:
                self._forget()
            return self._session is not None

    def acquire(self) -> bool:
        """Acquire the lock if it is free; returns whether this handle holds it.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        if self.held:
            return True
        with self._guard:
            if self._session is None:
                self._session = self._db.locked(self._what)
            return self._session is not None

    def release(self) -> None:
        """Release the lock."""
        with self._guard:
            self._forget()

    def _forget(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
