"""Connections to one SQLite file: a writer under a lock, readers from a pool, every foreign error mapped here."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar, cast

import apsw

from mnemic import errors
from mnemic.services.processes import FileLock, resting
from mnemic.stores import schema
from mnemic.stores.sql.connection import Durability
from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.stores.sqlite.dialect import SqliteDialect
from mnemic.stores.sqlite.file import Place, ReadOnlyFile, number
from mnemic.stores.sqlite.migrations import APPLICATION_ID, LATEST, MIGRATIONS

__all__ = ["Database", "translate"]

BUSY_SECONDS = 30.0
MAX_IDLE_READERS = 8
LOCK_NAME = "consolidation.lock"

T = TypeVar("T")

_TORN: set[tuple[int, int] | None] = set()
"""Files that were in use when this process was forked, by device and number: SQLite's locks on them are the parent's."""


def _busy_handler(seconds: float = BUSY_SECONDS) -> Callable[[int], bool]:
    """Wait for another writer with short random sleeps: SQLite's own back-off starves late comers for seconds."""
    began = 0.0

    def wait(attempt: int) -> bool:
        nonlocal began
        if attempt == 0:
            began = time.monotonic()
        if time.monotonic() - began > seconds:
            return False
        time.sleep(random.uniform(0.0005, min(0.02, 0.001 * 2 ** min(attempt, 5))))  # noqa: S311
        return True

    return wait


def _write_ahead(db: SqliteConnection) -> None:
    """Switch to write-ahead logging. SQLite asks no busy handler here, so openers of a new file wait for each other."""
    wait = _busy_handler()
    for attempt in itertools.count():
        try:
            db.pragma("journal_mode", "WAL")
            return
        except apsw.BusyError:
            if not wait(attempt):
                raise


def translate(error: apsw.Error, where: str) -> errors.StoreError:
    """Our error for one of SQLite's."""
    match error:
        case apsw.ConnectionClosedError():
            return errors.StoreClosed(
                "This memory was closed by another thread during the call. Open it again: Memory(...)."
            )
        case apsw.FullError():
            return errors.StoreFull(
                f"No room left on the disk of {where}. The write was rolled back; free some space and repeat it."
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return errors.StoreReadOnly(
                f"{where} cannot be written: check the permissions of the folder and of the file."
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return errors.StoreCorrupt(
                f"{where} is damaged or not a Mnemic record ({error}). Nothing was changed. Restore a backup, or move "
                "the file away and begin a new one."
            )
        case apsw.BusyError() | apsw.LockedError():
            return errors.StoreUnavailable(
                f"{where} stayed locked by another process for {BUSY_SECONDS:.0f} s; nothing was written. Repeat the "
                "call, or look for a process that holds a transaction open."
            )
        case apsw.CantOpenError():
            return errors.StoreUnavailable(f"{where} cannot be opened: check that the folder exists and is yours.")
        case apsw.IOError():
            return errors.StoreUnavailable(f"Reading or writing {where} failed: {error}. Check the disk.")
        case _:
            return errors.StoreError(f"{where}: SQLite refused the operation: {type(error).__name__}: {error}.")


class _Connection(apsw.Connection):
    """A connection that knows its dialect."""

    dialect = SqliteDialect()


class Database:
    """One SQLite file, or one private database in memory (``path=None``).

    Thread-safe: one writer under a lock, readers handed out from a pool, each used by one thread at a time. Several
    processes may open the same file.

    SQLite notes for each process which of its connections lock a file, and a forked child inherits the notes without the
    locks. So all connections are closed before a fork, and parent and child open their own afterwards.
    """

    def __init__(self, path: Path | None, *, durability: Durability = "FULL") -> None:
        self.path = path.absolute() if path else None  # the process may change its folder
        self.name = str(path) if path else ":memory:"
        self._place = Place(self.path) if self.path else None
        self._durability = durability
        self._closed = False
        self._read_only: ReadOnlyFile | None = None
        self.committed: Callable[[], None] | None = None  # told of every commit of this process
        self._writer: SqliteConnection | None = None
        self._begin()
        with self._lock, self._translated():
            self._working = True
            resting(self)
            self._writer = self._open()
            self._working = False

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._gate = (
            threading.Lock()
        )  # taken itself: an interrupt inside of a condition's own code would leave it locked
        self._pool = threading.Condition(self._gate)
        self._readers: list[SqliteConnection] = []
        self._reading = 0
        self._working = False
        self._held_back = self._rests = False
        self._consolidating = threading.Lock()

    def rest(self, until: float) -> None:
        """Close every connection before a fork; where they are in use for longer, the child must not touch the file."""
        if self.path is None or self._closed or not self._lock.acquire(timeout=max(until - time.monotonic(), 0.0)):
            return
        self._pool.acquire()
        try:
            if not self._working and self._quiet(until):
                for db in self._held():
                    with suppress(apsw.Error):  # what cannot be written back now is in the log
                        db.close()
                self._readers.clear()
                self._writer, self._rests = None, True
                if self._place is not None:
                    self._place.closed()
        finally:
            if not self._rests:
                self._pool.release()
                self._lock.release()

    def _quiet(self, until: float) -> bool:
        """Wait for those who read, and let nobody begin; whether all are done."""
        self._held_back = True
        try:
            return self._pool.wait_for(lambda: not self._reading, max(until - time.monotonic(), 0.0))
        finally:
            self._held_back = False
            self._pool.notify_all()

    def wake(self) -> None:
        """Go on after a fork."""
        if self._rests:
            self._rests = False
            self._pool.release()
            self._lock.release()

    def renew(self) -> None:
        """Begin anew in a child."""
        if self.path is None:
            return
        if not self._rests and (self._reading or self._working or any(self._held())):
            self._inherited = self._held()  # to close them here would let go of the parent's locks
            self._writer = None
            _TORN.add(number(self.path))
        self._begin()

    def _held(self) -> list[SqliteConnection]:
        """The connections that nobody uses, and the one that writes."""
        return [*self._readers, *([self._writer] if self._writer else [])]

    def _open(self) -> SqliteConnection:
        """The first connection; a record that exists and cannot be written is opened for reading."""
        self._refuse_emptied()
        try:
            db = self._connect()
            if not db.readonly("main"):
                self._migrate(db)
                return db
            db.close()
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError):
            if self.path is None or not self.path.is_file():
                raise
        assert self.path is not None
        assert self._place is not None
        self._place.closed()
        self._read_only = ReadOnlyFile(self.path, self._connect_to)
        db = self._connect()
        self._recognise(db)
        return db

    def _refuse_emptied(self) -> None:
        """A log without a file is not a new record: to begin one here would throw the log away."""
        if self.path is None:
            return
        log = self.path.with_name(f"{self.path.name}-wal")
        try:
            emptied = log.stat().st_size > 0 and not (self.path.exists() and self.path.stat().st_size)
        except OSError:
            return
        if emptied:
            raise errors.StoreCorrupt(
                f"{self.name} is empty or gone, and its log {log.name} is there. Nothing was changed. Restore a backup, or "
                "move the folder away and begin a new one."
            )

    def _connect(self) -> SqliteConnection:
        if _TORN and self.path is not None and self.path.exists() and number(self.path) in _TORN:
            raise self._torn()
        if self._place is None:
            return self._connect_writable()
        self._place.check()
        db = self._connect_writable() if self._read_only is None else self._read_only.connected()
        self._place.opened(log=self._read_only is None)
        return db

    def _connect_writable(self) -> SqliteConnection:
        if self.path is not None and not self.path.exists():  # SQLite gives its other files the mode of the first
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        db = cast("SqliteConnection", _Connection(str(self.path) if self.path else ":memory:"))
        db.set_busy_handler(_busy_handler())
        _write_ahead(db)
        for pragma, value in (
            ("synchronous", self._durability),
            ("secure_delete", 1),
            ("foreign_keys", 1),
            ("trusted_schema", 0),
            ("cell_size_check", 1),
            ("temp_store", 2),
        ):
            db.pragma(pragma, value)
        return db

    def _connect_to(self, uri: str) -> SqliteConnection:
        """A file that may be read and not written."""
        db = cast("SqliteConnection", _Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI))
        db.set_busy_handler(_busy_handler())
        return db

    def _migrate(self, db: SqliteConnection) -> None:
        """Bring the schema up to date; several processes may try at once, one does it."""
        self._recognise(db)
        if db.pragma("user_version") == LATEST:
            return
        db.execute("BEGIN IMMEDIATE")
        try:
            for migrate in MIGRATIONS[max(int(db.pragma("user_version")) + 1 - schema.OLDEST, 0) :]:
                migrate(db)
            db.pragma("user_version", LATEST)
            db.pragma("application_id", APPLICATION_ID)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _recognise(self, db: SqliteConnection) -> None:
        with db:  # one moment: another opener may be making the schema
            empty = not db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            version, application = int(db.pragma("user_version")), db.pragma("application_id")
        if not empty and application != APPLICATION_ID:
            raise errors.StoreCorrupt(
                f"{self.name} is an SQLite file of another program. Choose another folder for the memory."
            )
        schema.check_version(self.name, version, LATEST)

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except apsw.Error as error:
            raise translate(error, self.name) from error
        except errors.MnemicError:
            raise
        except (ValueError, OverflowError) as error:  # text that is none, JSON that is none, a moment out of all time
            raise errors.StoreCorrupt(
                f"{self.name} holds a row that cannot be read ({type(error).__name__}): it is damaged. "
                "Nothing was changed. Look at it with mnemic doctor --deep, or restore a backup."
            ) from error

    def _check(self) -> None:
        if self._closed:
            raise errors.StoreClosed("This memory was closed. Open it again: Memory(...).")
        if os.getpid() != self._pid:
            raise self._torn()

    def _check_writable(self) -> None:
        self._check()
        if self._read_only is not None:
            raise errors.StoreReadOnly(
                f"{self.name} was opened for reading, because it cannot be written: check the permissions of the folder "
                "and of the file. Nothing was stored."
            )

    @property
    def moved(self) -> str | None:
        """What was removed or replaced while it was open, in words."""
        return None if self._place is None else self._place.moved

    def _torn(self) -> errors.StoreUnavailable:
        if self.path is None:
            return errors.StoreUnavailable("A memory in RAM does not survive a fork: give it a folder.")
        return errors.StoreUnavailable(
            f"This process was forked while its parent was at work on {self.name}, and cannot use it safely. Nothing was "
            "written. Fork before the memory is opened or while it is quiet (uWSGI: lazy-apps), or start processes another "
            "way (multiprocessing: the method 'spawn')."
        )

    @contextmanager
    def _alone(self) -> Generator[SqliteConnection]:
        """The connection that writes, under its lock."""
        with self._lock, self._translated():
            self._check()
            worked, self._working = self._working, True
            try:
                if self._writer is None:  # all were closed for a fork
                    self._writer = self._connect()
                yield self._writer
            finally:
                self._working = worked

    @contextmanager
    def write(self) -> Generator[SqliteConnection]:
        """A transaction: everything inside is committed together, or nothing is."""
        self._check_writable()
        with self._alone() as db:
            try:  # around the beginning as well: an interrupt may come right after it
                db.execute("BEGIN IMMEDIATE")
                yield db
                if self._place is not None:
                    self._place.check()
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        if self.committed is not None:
            self.committed()

    def apply(self, work: Callable[[SqliteConnection], T]) -> T:
        """A transaction; the file has one writer at a time."""
        with self.write() as db:
            return work(db)

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Whether this process is the one that consolidates now; ends with the block, or with the process."""
        if self.path is not None:
            owning = FileLock(self.path.with_name(LOCK_NAME))
            try:
                yield owning.take()
            finally:
                owning.release()
            return
        lock = self._consolidating
        free = lock.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                lock.release()

    @contextmanager
    def whole(self) -> Generator[SqliteConnection]:
        """The connection that writes, outside of any transaction: for work on the file as a whole."""
        self._check_writable()
        with self._alone() as db:
            if self._place is not None:
                self._place.check()
            yield db

    def checkpoint(self, patience: float) -> bool:
        """Bring everything from the log into the file and empty the log; False when a reader is in the way for so long."""
        with self.whole() as db:
            db.set_busy_handler(_busy_handler(patience))
            try:
                busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                db.set_busy_handler(_busy_handler())
            return not busy

    @contextmanager
    def read(self) -> Generator[SqliteConnection]:
        """A connection for reading, used by nobody else meanwhile."""
        self._check()
        if (
            self.path is None or self.moved
        ):  # a database in RAM is one connection, and to what was removed no other leads
            with self._alone() as db:
                yield db
            return
        db, counted = None, False
        try:
            with self._gate:
                self._pool.wait_for(lambda: not self._held_back)
                db = self._readers.pop() if self._readers else None
                self._reading, counted = self._reading + 1, True
            with self._translated():
                if self._read_only is None:
                    db = db or self._connect()
                    yield db
                else:
                    db = self._read_only.renewed(db) if db else self._connect()
                    with self._read_only.whole(db):
                        yield db
        finally:
            if counted:
                self._return(db)

    def _return(self, db: SqliteConnection | None) -> None:
        """A connection goes back into the pool, or is closed."""
        with self._gate:
            self._reading -= 1
            if db is not None and len(self._readers) < MAX_IDLE_READERS and not self._closed:
                self._readers.append(db)
                db = None
            self._pool.notify_all()
        if db is not None:
            db.close()

    def close(self) -> None:
        """Close every connection; later calls raise StoreClosed. Closing twice is harmless."""
        if self._closed or os.getpid() != self._pid:
            self._closed = True
            return
        self._closed = True
        with self._lock, self._gate, self._translated():
            for db in self._held():
                db.close()
            self._readers.clear()
            self._writer = None
