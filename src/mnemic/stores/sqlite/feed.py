"""The SQLite record as an outbox."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mnemic.errors import ConfigurationError
from mnemic.services.processes import FileLock
from mnemic.stores.sql.feed import SqlFeed
from mnemic.stores.sqlite.database import Database

__all__ = ["Feed"]


class Feed(SqlFeed[Database]):
    """See ``RecordFeed``. The file has one writer at a time, so events are committed in the order of their numbers."""

    @property
    def folder(self) -> Path | None:
        """The folder of the file."""
        return None if self._db.path is None else self._db.path.parent

    def lock(self, what: str) -> FileLock:
        """A lock on a file in the folder.

        Raises:
            ConfigurationError: the record is in RAM.
        """
        if self.folder is None:
            raise ConfigurationError(
                "A record in RAM is searched exactly and cannot be indexed in Chroma. Give the memory a folder, or leave "
                "vectors= out."
            )
        path = self.folder / f"{what}.lock"
        with suppress(OSError):  # without it the lock cannot be acquired
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return FileLock(path)

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function after each commit of this process."""
        self._db.committed = heard
