"""One handle at a time, wherever it runs: a lock of a session, which ends with its connection."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.stores.postgres.database import Database, Session

__all__ = ["SessionLock"]


class SessionLock:
    """Held by one handle of one process, as long as its connection lives.

    Args:
        database: which record.
        what: a word for what is owned.
    """

    def __init__(self, database: Database, what: str) -> None:
        self._db, self._what = database, what
        self._session: Session | None = None
        self._guard = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether this handle has it: the server is asked whether the session is still there."""
        with self._guard:
            if self._session is not None and not self._session.answers:
                self._forget()
            return self._session is not None

    def take(self) -> bool:
        """Take it if nobody has it; whether this handle has it now.

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
        """Let go of it."""
        with self._guard:
            self._forget()

    def _forget(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
