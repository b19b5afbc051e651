"""Checks on the files of a record, which another program may remove, replace or change while they are open."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from mnemic import errors
from mnemic.stores.sqlite.dialect import SqliteConnection

__all__ = ["OpenFiles", "ReadOnlyFile", "file_identity"]


def file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file; None if it does not exist."""
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_dev, held.st_ino


class OpenFiles:
    """The open files, and whether their paths still lead to them.

    Without this check, writes would go to a removed or replaced file and be lost. While a connection is open, the log may
    not be removed either: SQLite removes it when the last connection closes.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._log = path, path.with_name(f"{path.name}-wal")
        self._opened: tuple[int, int] | None = None
        self._logged: tuple[int, int] | None = None

    def opened(self, *, log: bool) -> None:
        """Note an opened connection. The file is that of the very first one; the log is new after ``closed``."""
        self._opened = self._opened or file_identity(self._file)
        if log:
            self._logged = self._logged or file_identity(self._log)

    def closed(self) -> None:
        """Note that no connection is open: others may remove the log now."""
        self._logged = None

    @property
    def moved(self) -> str | None:
        """A message if a file is no longer at its path; else None."""
        for path, held in ((self._file, self._opened), (self._log, self._logged)):
            if held is not None and (there := file_identity(path)) != held:
                return f"{path} was {'replaced' if there else 'removed'} while this memory was open"
        return None

    def check(self) -> None:
        """Refuse to write to removed or replaced files.

        Raises:
            StoreUnavailable: a file was removed or replaced.
        """
        if why := self.moved:
            raise errors.StoreUnavailable(
                f"{why}, by another program or a restored backup. Nothing of this call was stored: it would be lost. What was "
                "stored before can still be read here: copy it with backup() to a new folder if you need it, then close this "
                "memory and open it again."
            )


class ReadOnlyFile:
    """Connections to a record without write permission, and checks that their reads are consistent.

    While a log exists, readers use it as usual. A closed record has none; SQLite then opens the file only as immutable, so
    changes to it must be detected here.

    Args:
        path: the path of the file.
        connect: opens a connection to a URI.
    """

    def __init__(self, path: Path, connect: Callable[[str], SqliteConnection]) -> None:
        self._path, self._connect = path, connect
        self._log = path.with_name(f"{path.name}-wal")
        self._still: WeakKeyDictionary[SqliteConnection, object] = WeakKeyDictionary()

    def connect(self) -> SqliteConnection:
        """A new connection.

        Raises:
            StoreReadOnly: the log cannot be read.
        """
        uri = self._path.resolve().as_uri()
        if self._log.exists():
            db = self._connect(f"{uri}?mode=ro")
            try:
                db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
                db.close()
                self._refuse_log(error)
            else:
                return db
        state = self._state()
        db = self._connect(f"{uri}?immutable=1")
        self._still[db] = state
        return db

    def _refuse_log(self, error: apsw.Error) -> None:
        """Refuse an unreadable log, unless it is empty."""
        try:
            size = self._log.stat().st_size
        except FileNotFoundError:
            return
        if size:
            raise errors.StoreReadOnly(
                f"{self._path} cannot be written and has changes in {self._log.name} that only a writer can merge. Open it "
                "once as its owner, or make the folder writable."
            ) from error

    def refresh(self, db: SqliteConnection) -> SqliteConnection:
        """The connection, or a new one if the owner has opened or changed the record since."""
        if db not in self._still or not (self._log.exists() or self._changed(db)):
            return db
        db.close()
        return self.connect()

    @contextmanager
    def consistent(self, db: SqliteConnection) -> Generator[None]:
        """A block whose reads are consistent.

        Raises:
            StoreUnavailable: the record was changed in the meantime.
        """
        failure = None
        try:
            yield
        except (apsw.Error, ValueError, errors.StoreCorrupt) as error:
            failure = error
        if self._changed(db):
            raise errors.StoreUnavailable(
                f"{self._path} was changed by its owner while it was read without permission to write. Repeat the call."
            ) from failure
        if failure is not None:
            raise failure

    def _changed(self, db: SqliteConnection) -> bool:
        return db in self._still and self._still[db] != self._state()

    def _state(self) -> object:
        held = self._path.stat()
        return held.st_dev, held.st_ino, held.st_size, held.st_mtime_ns
