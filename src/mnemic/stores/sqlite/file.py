"""What the path of a record leads to: another program may remove it, replace it, or change it while it is read."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

import apsw

from mnemic import errors
from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["Place", "ReadOnlyFile", "number"]


def number(path: Path) -> tuple[int, int] | None:
    """What a file is, whatever it is called: its device and number; None where there is none."""
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_dev, held.st_ino


class Place:
    """The files that were opened, and whether the paths still lead to them.

    A file that was removed or replaced stays what it is for whoever has it open: without this, writes would go on into it
    and be lost. While a connection is open nobody removes the log rightly: SQLite does so when the last one closes.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._log = path, path.with_name(f"{path.name}-wal")
        self._opened: tuple[int, int] | None = None
        self._logged: tuple[int, int] | None = None

    def opened(self, *, log: bool) -> None:
        """A connection is open: where it is the first, the log is a new one; the file is always that of the very first."""
        self._opened = self._opened or number(self._file)
        if log:
            self._logged = self._logged or number(self._log)

    def closed(self) -> None:
        """No connection is open: others may remove the log now."""
        self._logged = None

    @property
    def moved(self) -> str | None:
        """What is no longer at its path, in words; None while all is."""
        for path, held in ((self._file, self._opened), (self._log, self._logged)):
            if held is not None and (there := number(path)) != held:
                return f"{path} was {'replaced' if there else 'removed'} while this memory was open"
        return None

    def check(self) -> None:
        """Refuse to write into files that are no longer there.

        Raises:
            StoreUnavailable: they are not.
        """
        if why := self.moved:
            raise errors.StoreUnavailable(
                f"{why}, by another program or a restored backup. Nothing of this call was stored: it would be lost. What was "
                "stored before can still be read here: copy it with backup() to a new folder if you need it, then close this "
                "memory and open it again."
            )


class ReadOnlyFile:
    """A record that may be read and not written: connections to it, and whether what they read is whole.

    While the log is there, readers follow it as others do. A record that was closed has none; SQLite then reads the file
    only as one that never changes, so that here is looked whether it did.

    Args:
        path: of the file.
        connect: opens a connection to a URI.
    """

    def __init__(self, path: Path, connect: Callable[[str], SqliteConnection]) -> None:
        self._path, self._connect = path, connect
        self._log = path.with_name(f"{path.name}-wal")
        self._still: WeakKeyDictionary[SqliteConnection, object] = WeakKeyDictionary()

    def connected(self) -> SqliteConnection:
        """A new connection.

        Raises:
            StoreReadOnly: there is a log that cannot be read.
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
        """A log that cannot be read may be left out only if there is nothing in it."""
        try:
            size = self._log.stat().st_size
        except FileNotFoundError:
            return
        if size:
            raise errors.StoreReadOnly(
                f"{self._path} cannot be written and has changes in {self._log.name} that only a writer can merge. Open it "
                "once as its owner, or make the folder writable."
            ) from error

    def renewed(self, db: SqliteConnection) -> SqliteConnection:
        """The connection, or another one where the owner has opened or changed the record since."""
        if db not in self._still or not (self._log.exists() or self._changed(db)):
            return db
        db.close()
        return self.connected()

    @contextmanager
    def whole(self, db: SqliteConnection) -> Generator[None]:
        """What is read inside is of one moment.

        Raises:
            StoreUnavailable: it is not: the record was changed meanwhile.
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
