"""The file of a store: its tables, one connection, and every foreign error as one of Mnemic's."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast
from weakref import WeakValueDictionary

import apsw

from mnemic import (
    SchemaTooNew,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

__all__ = ["IN_MEMORY", "REMOVED", "Db", "File", "mark_removed", "now", "rows_left"]

IN_MEMORY = ":memory:"
VERSION = 1
BUSY_MS = 30_000
PATIENCE_MS = 3_000
"""How long readers of other processes are waited for, before what is left of rows is removed later."""
IN_RAM = 256 * 1024 * 1024
"""Bytes up to which a file is rewritten in memory."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, ttl REAL, expires_at INTEGER, UNIQUE (path, key)
);
CREATE INDEX IF NOT EXISTS items_expiring ON items (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS texts (
    id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE,
    text TEXT NOT NULL, length INTEGER NOT NULL, vector BLOB
);
CREATE INDEX IF NOT EXISTS texts_of_item ON texts (item);
CREATE TABLE IF NOT EXISTS postings (
    term TEXT NOT NULL, text INTEGER NOT NULL REFERENCES texts ON DELETE CASCADE, count INTEGER NOT NULL,
    PRIMARY KEY (term, text)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS postings_of_text ON postings (text);
"""


class Db(Protocol):
    """What is used of an apsw connection, whose own types are partly unknown."""

    execute: Callable[..., Any]
    executemany: Callable[..., Any]
    changes: Callable[[], int]
    last_insert_rowid: Callable[[], int]
    set_busy_timeout: Callable[[int], None]
    close: Callable[[], None]
    in_transaction: bool


REMOVED = "removed"
"""Where the header tells that something may be left of removed rows."""

FORK_SECONDS = 2.0
"""Seconds that a fork waits for calls under way in other threads."""

_ONE_FORK = [threading.Lock()]
"""Held from before a fork until after it: two threads may fork at once."""
_TORN: set[tuple[int, int]] = set()
"""Files that were in use when this process was forked, by device and number: SQLite's locks on them are the parent's."""
_FILES: WeakValueDictionary[int, File] = WeakValueDictionary()
"""The files that are open."""


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1_000


def _translated(error: apsw.Error, where: str) -> StoreError:
    kinds: tuple[tuple[type[apsw.Error], type[StoreError], str], ...] = (
        (apsw.ConnectionClosedError, StoreClosed, "it was closed; open a new one"),
        (apsw.BusyError, StoreUnavailable, "another process has been writing for 30 seconds; try again"),
        (apsw.FullError, StoreFull, "the disk is full; free some space"),
        (apsw.ReadOnlyError, StoreReadOnly, "it may only be read; check the rights of file and folder"),
        (apsw.CorruptError, StoreCorrupt, "it is damaged; restore it from a copy"),
        (apsw.NotADBError, StoreCorrupt, "it is not a SQLite file; move it away"),
        (apsw.CantOpenError, StoreUnavailable, "it cannot be opened; check the rights of file and folder"),
    )
    for known, kind, advice in kinds:
        if isinstance(error, known):
            return kind(f"The store {where}: {advice} ({error}).")
    return StoreError(f"The store {where} failed: {error}.")


class File:
    """One connection, shared by threads one at a time. It is closed before a fork; parent and child open their own.

    Args:
        file: the SQLite file, made when missing, or ``":memory:"``.

    Raises:
        StoreError: it cannot be opened, is damaged, or was written by a newer version.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        if self.file != IN_MEMORY:
            _prepared(Path(self.file))
        self._lock = threading.RLock()
        self._rests = self._held = self._torn = False
        self._connect()
        with self._errors():
            found = _version(self._db)
        if found > VERSION:
            raise SchemaTooNew(f"The store {self.file} has version {found}, this program knows {VERSION}: update it.")
        if found < VERSION:
            with self.transaction() as db:
                db.execute(_SCHEMA)
                db.execute(f"PRAGMA user_version={VERSION}")
        if self.file != IN_MEMORY:
            _FILES[id(self)] = self

    def _connect(self) -> None:
        with self._errors():
            if _TORN and Path(self.file).exists() and _number(self.file) in _TORN:
                raise self._refused()
            db = cast("Db", apsw.Connection(self.file))
            db.set_busy_timeout(BUSY_MS)
            _write_ahead(db)
            for statement in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                db.execute(f"PRAGMA {statement}").fetchall()
            self._db = db

    @contextmanager
    def _alone(self) -> Generator[Db]:
        """The connection, used by nobody else meanwhile."""
        with self._lock, self._errors():
            if self._torn:
                raise self._refused()
            if self._rests:
                self._connect()
                self._rests = False
            yield self._db

    def _refused(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"This process was forked while its parent was at work on {self.file}, and cannot use it safely. Fork before the "
            "store is opened or while it is quiet, or start processes another way (multiprocessing: the method 'spawn')."
        )

    def rest(self, until: float) -> None:
        """Close the connection before a fork, and hold everybody back: SQLite's notes of its locks must not be inherited."""
        if not self._lock.acquire(timeout=max(until - time.monotonic(), 0.0)):
            return
        try:
            if self._rests or not self._db.in_transaction:  # else in the middle of a call of this very thread
                self._db.close()
                self._rests = self._held = True
        finally:
            if not self._held:
                self._lock.release()

    def wake(self, *, child: bool) -> None:
        """Go on after a fork."""
        if child:
            self._torn, self._lock = not self._held, threading.RLock()
            if self._torn:
                with suppress(OSError):
                    _TORN.add(_number(self.file))
        elif self._held:
            self._lock.release()
        self._held = False

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except apsw.Error as error:
            raise _translated(error, self.file) from error

    @contextmanager
    def transaction(self, *, write: bool = True) -> Generator[Db]:
        """Everything inside is seen and stored together, or not at all."""
        with self._alone() as db:
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def purge(self) -> str:
        """Rewrite the file and empty its log, so that nothing is left of removed rows; says why, when something may be.

        Deleted cells are overwritten with zeros, but not the copies in the gaps that they left when they were moved.
        """
        try:
            with self.transaction(write=False) as db:
                marked = rows_left(db)
            with self._alone() as db:
                emptied = self._rewritten(db)
            if emptied:
                self._unmark(marked)
                return ""
        except StoreError as error:
            return f"{error} Tried again when the store is closed."
        return f"a reader of {self.file} still sees the state before: tried again when the store is closed"

    def _rewritten(self, db: Db) -> bool:
        """Whether the log could be emptied after the file was rewritten."""
        db.set_busy_timeout(PATIENCE_MS)
        try:
            db.execute(f"PRAGMA temp_store={1 if _size(db) > IN_RAM else 2}")
            db.execute("VACUUM")
            return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        finally:
            db.set_busy_timeout(BUSY_MS)

    def size(self) -> int:
        """Bytes of the file without its log."""
        with self._alone() as db:
            return _size(db)

    def _unmark(self, marked: str) -> None:
        """What was removed before this purge is gone; somebody may have removed more meanwhile."""
        with self.transaction() as db:
            db.execute("DELETE FROM header WHERE name = ? AND value = ?", (REMOVED, marked))

    def close(self) -> None:
        """Close the file, without anything of removed rows where nobody is in the way. Closing twice is harmless."""
        if _FILES.pop(id(self), None) is self and not self._torn:
            with suppress(StoreError):
                with self.transaction(write=False) as db:
                    marked = rows_left(db)
                if marked:
                    self.purge()
        if not self._torn:  # a connection of the parent: to close it here would let go of its locks
            with self._lock, self._errors():
                self._db.close()


def _before_fork() -> None:
    _ONE_FORK[0].acquire()
    until = time.monotonic() + FORK_SECONDS
    for file in _open_files():
        with suppress(BaseException):  # an interrupt: what could not rest is refused in the child
            file.rest(until)


def _after_fork(*, child: bool) -> None:
    for file in _open_files():
        file.wake(child=child)
    if child:
        _ONE_FORK[0] = threading.Lock()
    else:
        _ONE_FORK[0].release()


def _open_files() -> list[File]:
    found = ((ref.key, ref()) for ref in _FILES.valuerefs())
    return [file for _, file in sorted(found, key=lambda one: one[0]) if file is not None]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=partial(_after_fork, child=False),
        after_in_child=partial(_after_fork, child=True),
    )


def mark_removed(db: Db) -> None:
    """Note that rows were removed, until nothing is left of them in the file."""
    db.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", (REMOVED, uuid.uuid4().hex))


def rows_left(db: Db) -> str:
    """The mark of ``mark_removed``, or nothing."""
    found = db.execute("SELECT value FROM header WHERE name = ?", (REMOVED,)).fetchall()
    return str(found[0][0]) if found else ""


def _number(file: str) -> tuple[int, int]:
    """What a file is, whatever it is called."""
    held = Path(file).stat()
    return held.st_dev, held.st_ino


def _size(db: Db) -> int:
    """Bytes of the file without its log."""
    pages, each = (db.execute(f"PRAGMA {name}").fetchall()[0][0] for name in ("page_count", "page_size"))
    return int(pages) * int(each)


def _version(db: Db) -> int:
    return int(db.execute("PRAGMA user_version").fetchall()[0][0])


def _write_ahead(db: Db) -> None:
    """Switch to write-ahead logging. SQLite asks no timeout here, so openers of a new file wait for each other."""
    until = time.monotonic() + BUSY_MS / 1_000
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL").fetchall()
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.001, 0.02))  # noqa: S311
        else:
            return


def _prepared(file: Path) -> None:
    """Make the folder and the file, for its owner alone."""
    try:
        if not file.parent.exists():
            file.parent.mkdir(mode=0o700, parents=True)
            (file.parent / ".gitignore").write_text("*\n")
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreUnavailable(
            f"The store {file} cannot be opened: {error}. Check the folder and its rights."
        ) from error
