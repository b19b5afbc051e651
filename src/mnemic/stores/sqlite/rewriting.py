"""New content for the file of a record, as a whole or not at all.

The new file is written beside the record and then copied over it: whoever waits for the lock has the file open, and would write
to a file without a name if it were replaced. A copy that was interrupted is repeated by whoever opens the record next.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import apsw

from mnemic.services.files import sync
from mnemic.stores.sqlite.cipher import SALT, head_of

FIRST, CHUNK = 4096, 1 << 16
"""Bytes that are written last, and those of one write: SQLite writes at most 128 kB at once."""
PATIENCE, PAUSE = 30.0, 0.02
"""Seconds to wait for another process that copies, and between two tries."""
_LOCKS = (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE)


class Rewriting:
    """The files of a rewrite.

    Attributes:
        partial: the new file while it is written.
        ready: the same when it is complete; the record is whole in it from then on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.partial, self.ready = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.new")

    def commit(self) -> None:
        """Declare the new file complete."""
        self.partial.replace(self.ready)
        sync(self._path.parent)

    def apply(self) -> None:
        """Copy the complete file over the record; the caller has locked it."""
        record = _open_file(self._path)
        try:
            self._copy(record)
        finally:
            record.xClose()

    def finish(self) -> None:
        """Apply a complete file that a killed process left.

        Raises:
            apsw.Error: the record cannot be locked or written.
        """
        if not self.ready.exists():
            return
        record = _open_file(self._path)
        try:
            _lock(record)
            if self.ready.exists():  # else it was applied meanwhile
                self._copy(record)
        finally:
            record.xClose()

    def _copy(self, record: Any) -> None:
        """Copy everything else before the first page: until then nobody takes the record for a database.

        With the first page of the new file the record is complete, and may have been written to since.
        """
        if head_of(self._path)[:SALT] != head_of(self.ready)[:SALT]:
            with self.ready.open("rb") as new:
                first = new.read(FIRST)
                record.xWrite(bytes(FIRST), 0)
                while chunk := new.read(CHUNK):
                    record.xWrite(chunk, new.tell() - len(chunk))
                record.xTruncate(new.tell())
            record.xSync(apsw.SQLITE_SYNC_FULL)
            record.xWrite(first, 0)
            record.xSync(apsw.SQLITE_SYNC_FULL)
        self.ready.unlink()
        sync(self._path.parent)


def _open_file(path: Path) -> Any:
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    return cast("Any", apsw.VFSFile("", str(path), [flags, 0]))  # its types need Python 3.12


def _lock(record: Any) -> None:
    """Lock a file against every other connection, until it is closed.

    Raises:
        apsw.BusyError: others keep it locked.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            for level in _LOCKS:
                record.xLock(level)
            return
        except apsw.BusyError:
            record.xUnlock(apsw.SQLITE_LOCK_NONE)
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)
