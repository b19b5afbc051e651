"""SQLite: its tables and dialect, and connections to one file: one writer under a lock, pooled readers, checks of the file.

Full text is in FTS5, lists and metadata are JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

import apsw

from mnemic import errors
from mnemic.services.processes import FileLock, pause_for_forks, renew_in_child
from mnemic.stores import schema
from mnemic.stores.sql.connection import CLOSED, CLOSED_DURING, Connection, Durability
from mnemic.stores.sqlite import cipher as ciphers
from mnemic.stores.sqlite.cipher import Cipher
from mnemic.stores.sqlite.rewriting import Rewriting
from mnemic.text.values import to_json
from mnemic.vectors import packed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SqliteConnection(Connection, Protocol):
    """The part of ``apsw.Connection`` that is used here."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def readonly(self, name: str) -> bool:
        """Whether a database was opened read-only."""
        ...

    def pragma(self, name: str, value: str | int | None = None) -> Any:
        """Read or set a pragma."""
        ...

    def set_busy_handler(self, callable: Callable[[int], bool] | None) -> None:
        """Set the callback for a database that another process has locked."""

    def set_progress_handler(self, callable: Callable[[], bool] | None, nsteps: int = 100) -> None:
        """Set the callback that a long statement calls; it is cancelled if that returns True."""

    def serialize(self, name: str) -> bytes:
        """All pages of a database, decrypted."""
        ...

    def close(self) -> None:
        """Close the connection."""


APPLICATION_ID = 0x4D4E454D  # "MNEM": identifies Mnemic files

SQLITE = schema.Engine(
    "sqlite",
    {
        # Numbers are never reused: a stale cache of an erased user must not match a new one.
        "serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "integer": "INTEGER", "real": "REAL", "text": "TEXT", "blob": "BLOB",
        "vector": "BLOB",
    },
    clustered=" WITHOUT ROWID",
)  # fmt: skip
FULLTEXT = (
    # Terms are analysed, prefixed by their user and separated by spaces: every other character is part of a term.
    # detail=full: with less, FTS5 returns wrong term counts.
    """CREATE VIRTUAL TABLE fulltext USING fts5(terms, content='', contentless_delete=1, detail=full,
        tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'''")""",
    "CREATE VIRTUAL TABLE postings USING fts5vocab('fulltext', 'instance')",
)
"""The full-text tables: derived from the texts, and rebuilt if they are wrong."""


_CREATION = (
    "CREATE TABLE header(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "INSERT INTO header VALUES('next_doc', 1), ('fence', lower(hex(randomblob(4))))",
    *schema.definitions(SQLITE),
    *FULLTEXT,
)
"""The statements that make a record."""


class SqliteDialect:
    """See ``Dialect``. The file has one writer at a time, so users need no locks."""

    user_lock = ""
    size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

    def next_docs(self, db: Connection, count: int = 1) -> int:
        """From the counter in the header."""
        sql = "UPDATE header SET value = value + ?1 WHERE key = 'next_doc' RETURNING value - ?1"
        row = db.execute(sql, (count,)).fetchone()
        if row is None:
            raise errors.StoreCorrupt(
                "The header of the record has no next record number: it is damaged. Nothing was stored. Repair it with mnemic "
                "doctor --fix, or restore a backup."
            )
        return row[0]

    def index(self, db: Connection, user_id: int, doc: int, terms: Sequence[str]) -> None:
        """Terms are prefixed by their user, so that tenant isolation costs nothing."""
        db.execute(
            "INSERT INTO fulltext(rowid, terms) VALUES(?, ?)", (doc, " ".join(f"{user_id}:{term}" for term in terms))
        )

    def unindex(self, db: Connection, doc: int) -> None:
        """By doc: the contentless index needs no text for a deletion."""
        db.execute("DELETE FROM fulltext WHERE rowid = ?", (doc,))

    def postings(self, db: Connection, user_id: int, term: str) -> list[int]:
        """A range scan of the index."""
        rows = db.execute("SELECT doc FROM postings WHERE term = ?", (f"{user_id}:{term}",)).fetchall()
        return [row[0] for row in rows]

    def bind_vector(self, vector: NDArray[np.float32]) -> bytes:
        """Float16 bytes."""
        return packed(vector)

    def set_dimension(self, db: Connection, table: str, dimension: int) -> None:
        """Nothing to do: a blob has any length."""

    def create_next(self, db: Connection) -> None:
        """Empty ``vectors_next``."""
        db.execute("DELETE FROM vectors_next")

    def swap(self, db: Connection) -> None:
        """Copy the rows; readers see the old ones until the transaction ends."""
        db.execute("DELETE FROM vectors")
        db.execute("INSERT INTO vectors SELECT * FROM vectors_next WHERE vector IS NOT NULL")
        self.create_next(db)

    def filter_columns(self, row: Mapping[str, Any]) -> dict[str, object]:  # noqa: ARG002
        """None: filters read the JSON of the row."""
        return {}

    def has_tags(self, user_id: int, table: str, tags: Sequence[str]) -> tuple[str, list[object]]:  # noqa: ARG002
        """A condition on the JSON list of tags; values are bound. Only a text that contains one is parsed."""
        conditions = " OR ".join(f"instr({table}.tags, ?)" for _ in tags)
        sql = f"EXISTS (SELECT 1 FROM json_each({table}.tags) WHERE value IN (SELECT value FROM json_each(?)))"
        return f"({conditions or 1}) AND {sql}", [*map(to_json, tags), tags]

    def each_tag(self, selected: str) -> str:
        """By the JSON functions of SQLite."""
        return f"({selected}) AS selected, json_each(selected.tags)"

    def has_metadata(self, user_id: int, table: str, key: str, value: object) -> tuple[str, list[object]]:  # noqa: ARG002
        """A condition on equal values of one type; 1 and 1.0 are equal."""
        sql = (
            f"EXISTS (SELECT 1 FROM json_each({table}.metadata) AS m, json_each(?) AS w WHERE m.key = ? AND m.type IN "
            "(w.type, CASE w.type WHEN 'integer' THEN 'real' WHEN 'real' THEN 'integer' END) AND m.value IS w.value)"
        )
        return sql, [to_json([value]), key]

    def has_key(self, user_id: int, table: str, key: str) -> tuple[str, list[object]]:  # noqa: ARG002
        """A condition on the key; an index finds the few records with metadata, and only a text with the key is parsed."""
        sql = f"EXISTS (SELECT 1 FROM json_each({table}.metadata) WHERE key = ?)"
        return f"metadata != '{{}}' AND instr({table}.metadata, ?) AND {sql}", [to_json(key), key]


BUSY_SECONDS = 30.0
MAX_IDLE_READERS = 8
LOCK_NAME = "consolidation.lock"

T = TypeVar("T")

_FORKED_IN_USE: set[tuple[int, int]] = set()
"""Files in use when this process was forked, by device and inode: SQLite's locks on them belong to the parent."""


def _busy_handler(seconds: float = BUSY_SECONDS) -> Callable[[int], bool]:
    """Wait for another writer with short random sleeps: SQLite's own back-off starves late arrivals for seconds."""
    start = 0.0

    def wait(attempt: int) -> bool:
        nonlocal start
        if attempt == 0:
            start = time.monotonic()
        if time.monotonic() - start > seconds:
            return False
        time.sleep(random.uniform(0.0005, min(0.02, 0.001 * 2 ** min(attempt, 5))))  # noqa: S311
        return True

    return wait


def set_journal(db: SqliteConnection, mode: Literal["WAL", "DELETE"]) -> None:
    """Switch the journal. SQLite ignores the busy handler for this pragma, so the wait is explicit."""
    wait = _busy_handler()
    for attempt in itertools.count():
        try:
            db.pragma("journal_mode", mode)
            return
        except apsw.BusyError:
            if not wait(attempt):
                raise


_MEANINGS: Sequence[tuple[tuple[type[apsw.Error], ...], type[errors.StoreError], str]] = (
    ((apsw.ConnectionClosedError,), errors.StoreClosed, CLOSED_DURING),
    ((apsw.FullError,), errors.StoreFull,
     "The disk of {where} is full. The write was rolled back; free some space and repeat it."),
    ((apsw.ReadOnlyError, apsw.PermissionsError), errors.StoreReadOnly,
     "{where} cannot be written: check the permissions of the folder and of the file."),
    ((apsw.CorruptError, apsw.NotADBError), errors.StoreCorrupt,
     ("{where} is damaged or not a Mnemic record ({error}). Nothing was changed. Restore a backup, or move "
      "the file away and begin a new one.")),
    ((apsw.BusyError, apsw.LockedError), errors.StoreUnavailable,
     (f"{{where}} stayed locked by another process for {BUSY_SECONDS:.0f} s; nothing was written. Repeat the "
      "call, or look for a process that holds a transaction open.")),
    ((apsw.CantOpenError,), errors.StoreUnavailable,
     "{where} cannot be opened: check that the folder exists and is yours."),
    ((apsw.IOError,), errors.StoreUnavailable, "Reading or writing {where} failed: {error}. Check the disk."),
    ((apsw.Error,), errors.StoreError, "{where}: SQLite refused the operation: {kind}: {error}."),
)  # fmt: skip
"""The errors for those of SQLite."""


def translate(error: apsw.Error, where: str) -> errors.StoreError:
    """The mnemic error for an apsw error."""
    kind, text = next((kind, text) for kinds, kind, text in _MEANINGS if isinstance(error, kinds))
    return kind(text.format(where=where, error=error, kind=type(error).__name__))


def make_private(file: Path) -> None:
    """Create a missing file for its owner alone; SQLite gives its other files the mode of the first."""
    if not file.exists():
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))


def _file_identity(path: Path | None) -> tuple[int, int] | None:
    """Device and inode of a file; None if it does not exist."""
    try:
        status = path.stat() if path else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None


class _OpenFiles:
    """The open files, and whether their paths still lead to them.

    Without this check, writes would go to a removed or replaced file and be lost. While a connection is open, the log may
    not be removed either: SQLite removes it when the last connection closes.
    """

    def __init__(self, path: Path | None) -> None:
        self._file, self._log = path, path.with_name(f"{path.name}-wal") if path else None
        self._opened: tuple[int, int] | None = None
        self._logged: tuple[int, int] | None = None

    def opened(self, *, log: bool) -> None:
        """Note an opened connection. The file is that of the very first one; the log is new after ``closed``."""
        self._opened = self._opened or _file_identity(self._file)
        if log:
            self._logged = self._logged or _file_identity(self._log)

    def closed(self) -> None:
        """Note that no connection is open: others may remove the log now."""
        self._logged = None

    @property
    def moved(self) -> str | None:
        """A message if a file is no longer at its path; else None."""
        for path, identity in ((self._file, self._opened), (self._log, self._logged)):
            if identity is not None and (current := _file_identity(path)) != identity:
                return f"{path} was {'replaced' if current else 'removed'} while this memory was open"
        return None

    def check(self) -> None:
        """Refuse to write to removed or replaced files.

        Raises:
            StoreUnavailable: a file was removed or replaced.
        """
        if moved := self.moved:
            raise errors.StoreUnavailable(
                f"{moved}, by another program or a restored backup. Nothing of this call was stored: it would be lost. What "
                "was stored before can still be read here: copy it with admin.backup() to a new folder if you need it, then "
                "close this memory and open it again."
            )


_READING = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class ReadOnlyFile:
    """Connections to a record without write permission, and checks that their reads are consistent.

    While a log exists, readers use it as usual. A closed record has none; SQLite then opens the file only as immutable, so
    changes to it must be detected here.

    Args:
        path: the path of the file.
        cipher: its encryption, if it has one.
    """

    def __init__(self, path: Path, cipher: Cipher | None = None) -> None:
        self._path, self._cipher = path, cipher
        self._log = path.with_name(f"{path.name}-wal")
        self._immutable: WeakKeyDictionary[SqliteConnection, object] = WeakKeyDictionary()

    def connect(self) -> SqliteConnection:
        """A new connection.

        Raises:
            StoreReadOnly: the log cannot be read.
        """
        uri = self._path.resolve().as_uri()
        if self._log.exists():
            db = open_connection(f"{uri}?mode=ro", self._cipher, _READING)
            try:
                db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
                db.close()
                self._refuse_log(error)
            else:
                return db
        state = self._state()
        db = open_connection(f"{uri}?immutable=1", self._cipher, _READING)
        self._immutable[db] = state
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
        if db not in self._immutable or not (self._log.exists() or self._has_changed(db)):
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
        if self._has_changed(db):
            raise errors.StoreUnavailable(
                f"{self._path} was changed by its owner while it was read without permission to write. Repeat the call."
            ) from failure
        if failure is not None:
            raise failure

    def _has_changed(self, db: SqliteConnection) -> bool:
        return db in self._immutable and self._immutable[db] != self._state()

    def _state(self) -> object:
        status = self._path.stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _Connection(apsw.Connection):
    """An apsw connection with the dialect."""

    dialect = SqliteDialect()


_WRITING = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


def open_connection(file: str, cipher: Cipher | None, flags: int = _WRITING) -> SqliteConnection:
    """A new connection, which waits for other processes and binds lists as JSON."""
    db = _Connection(file, flags=flags)
    if cipher is not None:
        cipher.unlock(db)
    db.set_busy_handler(_busy_handler())
    db.convert_binding = lambda _cursor, _number, values: json.dumps(list(cast("Iterable[object]", values)))
    return cast("SqliteConnection", db)


def _lock_exclusively(db: SqliteConnection, where: str) -> None:
    """Lock a file until the connection is closed; its log is merged and removed.

    Raises:
        StoreUnavailable: it is open elsewhere.
    """
    try:
        set_journal(db, "DELETE")  # SQLite refuses it while the file is open elsewhere
        db.pragma("locking_mode", "EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
    except apsw.BusyError as error:
        raise errors.StoreUnavailable(
            f"{where} is open in another handle or process. Nothing was changed. Close all of them, and repeat the call."
        ) from error


class Database:
    """One SQLite file, or one private database in memory (``path=None``).

    Thread-safe: one writer under a lock, readers handed out from a pool, each used by one thread at a time. Several
    processes may open the same file.

    SQLite keeps a table of file locks per process, and a forked child inherits the table without the locks. So all
    connections are closed before a fork, and parent and child open their own afterwards.
    """

    def __init__(self, path: Path | None, *, durability: Durability = "FULL", key: str | bytes | None = None) -> None:
        self.path = path.absolute() if path else None  # the working directory may change
        self.key: str | bytes | None = key
        self.cipher: Cipher | None = None
        self.name = str(path) if path else ":memory:"
        self._files = _OpenFiles(self.path)
        self._durability = durability
        self._closed = False
        self._read_only: ReadOnlyFile | None = None
        self.committed: Callable[[], None] | None = None  # called after every commit of this process
        self._writer: SqliteConnection | None = None
        self._inherited: list[SqliteConnection] = []
        self._reset()
        with self._lock, self._translate_errors():
            self._working = True
            pause_for_forks(self)
            renew_in_child(self, Database._renew)
            self._writer = self._open()
            self._working = False

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._pool_lock = (
            threading.Lock()
        )  # acquired directly: an interrupt inside Condition.__enter__ would leave it locked
        self._pool = threading.Condition(self._pool_lock)
        self._readers: list[SqliteConnection] = []
        self._reading = 0
        self._working = False
        self._paused = False
        self._consolidating = threading.Lock()

    @contextmanager
    def paused(self, until: float) -> Generator[None]:
        """All connections are closed while the block runs, for a fork; if they stay in use, the child must not use the file."""
        if self.path is None or self._closed or not self._lock.acquire(timeout=max(until - time.monotonic(), 0.0)):
            yield
            return
        try:
            with self._pool_lock:
                if not self._working and self._drain_readers(until):
                    for db in self._idle_connections():
                        with suppress(apsw.Error):  # unflushed changes stay in the log
                            db.close()
                    self._readers.clear()
                    self._writer = None
                    self._files.closed()
                yield
        finally:
            self._lock.release()

    def _drain_readers(self, until: float) -> bool:
        """Block new readers and wait for the current ones; returns whether all are done."""
        self._paused = True
        try:
            return self._pool.wait_for(lambda: not self._reading, max(until - time.monotonic(), 0.0))
        finally:
            self._paused = False
            self._pool.notify_all()

    def _renew(self) -> None:
        """Start with new connections in a forked child."""
        if self._reading or self._working or any(self._idle_connections()):
            self._inherited += self._idle_connections()  # closing them would release the parent's locks
            self._writer = None
            if identity := _file_identity(self.path):
                _FORKED_IN_USE.add(identity)
        self._reset()

    def _idle_connections(self) -> list[SqliteConnection]:
        """The pooled readers and the writer."""
        return [*self._readers, *([self._writer] if self._writer else [])]

    def _open(self) -> SqliteConnection:
        """Open the first connection; an existing record without write permission is opened read-only."""
        self._refuse_orphaned_log()
        try:
            db = self._first_connection()
            if not db.readonly("main"):
                if self.path is not None:  # nobody rewrites it now that it is open
                    Rewriting(self.path).partial.unlink(missing_ok=True)
                self._migrate(db)
                return db
            db.close()
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError):
            if self.path is None or not self.path.is_file():
                raise
        assert self.path is not None
        self._files.closed()
        self._read_only = ReadOnlyFile(self.path, self.cipher)
        db = self._connect()
        self._check_application(db)
        if (version := db.pragma("user_version")) != schema.LATEST:
            raise errors.StoreReadOnly(
                f"{self.name} cannot be written and has schema {version}, which opening brings to {schema.LATEST} in this "
                "version of Mnemic. Open it once as its owner, or make the folder writable."
            )
        return db

    def _first_connection(self) -> SqliteConnection:
        """The first connection, with the key of the file.

        Raises:
            WrongKey: the key does not open the file, or there is none.
        """
        if self.path is None:
            return self._connect()
        rewriting = Rewriting(self.path)
        rewriting.finish()
        head = ciphers.head_of(self.path)
        self.cipher = ciphers.cipher_for(self.path, head, self.key)
        try:
            return self._connect()
        except apsw.Error as error:
            replaced = ciphers.head_of(self.path)[: ciphers.SALT] != head[: ciphers.SALT]
            if replaced or rewriting.ready.exists():  # made or rewritten by another process meanwhile
                return self._first_connection()
            if self.cipher is None or not isinstance(error, apsw.NotADBError):
                raise
            raise errors.WrongKey(
                f"The key does not open {self.name}: the record is encrypted under another one (or its first page is damaged: "
                "then restore a backup). Nothing was changed."
            ) from error

    def _refuse_orphaned_log(self) -> None:
        """Refuse a log without its database: a new record here would discard the log."""
        if self.path is None:
            return
        log = self.path.with_name(f"{self.path.name}-wal")
        try:
            orphaned = log.stat().st_size > 0 and not (self.path.exists() and self.path.stat().st_size)
        except OSError:
            return
        if orphaned:
            raise errors.StoreCorrupt(
                f"{self.name} is empty or missing, but its log {log.name} exists. Nothing was changed. Restore a backup, or "
                "move the folder away and begin a new one."
            )

    def _connect(self) -> SqliteConnection:
        if self._inherited or (_FORKED_IN_USE and _file_identity(self.path) in _FORKED_IN_USE):
            raise self._fork_error()
        try:
            self._files.check()
        except errors.StoreUnavailable:
            self._check()  # closing this handle removes the log as well
            raise
        db = self._connect_writable() if self._read_only is None else self._read_only.connect()
        self._files.opened(log=self._read_only is None)
        return db

    def _connect_writable(self) -> SqliteConnection:
        if self.path is not None:
            make_private(self.path)
        db = open_connection(str(self.path) if self.path else ":memory:", self.cipher)
        set_journal(db, "WAL")
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

    def _migrate(self, db: SqliteConnection) -> None:
        """Bring the schema up to date; several processes may try at once, one does it."""
        self._check_application(db)
        if db.pragma("user_version") == schema.LATEST:
            return
        db.execute("BEGIN IMMEDIATE")
        try:
            version = int(db.pragma("user_version"))
            for statement in schema.migration(version, SQLITE) if version else _CREATION:
                db.execute(statement)
            db.pragma("user_version", schema.LATEST)
            db.pragma("application_id", APPLICATION_ID)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _check_application(self, db: SqliteConnection) -> None:
        with db:  # one snapshot: another process may be creating the schema
            empty = not db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            version, application = int(db.pragma("user_version")), db.pragma("application_id")
        if not empty and application != APPLICATION_ID:
            raise errors.StoreCorrupt(
                f"{self.name} is an SQLite file of another program. Choose another folder for the memory."
            )
        schema.check_version(self.name, version)

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except apsw.Error as error:
            raise translate(error, self.name) from error
        except errors.MnemicError:
            raise
        except (ValueError, OverflowError) as error:  # invalid text, JSON or time
            raise errors.StoreCorrupt(
                f"{self.name} holds a row that cannot be read ({type(error).__name__}): it is damaged. "
                "Nothing was changed. Look at it with mnemic doctor --deep, or restore a backup."
            ) from error

    def _check(self) -> None:
        if self._closed:
            raise errors.StoreClosed(CLOSED)

    def _check_writable(self) -> None:
        self._check()
        if self._read_only is not None:
            raise errors.StoreReadOnly(
                f"{self.name} was opened read-only, because it cannot be written: check the permissions of the folder "
                "and of the file. Nothing was stored."
            )

    @property
    def moved(self) -> str | None:
        """A message if a file was removed or replaced while it was open; else None."""
        return self._files.moved

    def _fork_error(self) -> errors.StoreUnavailable:
        if self.path is None:
            return errors.StoreUnavailable("A memory in RAM does not survive a fork: give it a folder.")
        return errors.StoreUnavailable(
            f"This process was forked while its parent was using {self.name}, and cannot use it safely. Nothing was "
            "written. Fork before the memory is opened or while it is idle (uWSGI: lazy-apps), or start processes another "
            "way (multiprocessing: the method 'spawn')."
        )

    @contextmanager
    def _locked_writer(self) -> Generator[SqliteConnection]:
        """The writer, under its lock."""
        with self._lock, self._translate_errors():
            self._check()
            was_working, self._working = self._working, True
            try:
                if self._writer is None:  # closed for a fork
                    self._writer = self._connect()
                yield self._writer
            finally:
                self._working = was_working

    @contextmanager
    def write(self) -> Generator[SqliteConnection]:
        """A transaction: everything inside is committed together, or nothing is."""
        self._check_writable()
        with self._locked_writer() as db:
            try:  # includes BEGIN: an interrupt may come right after it
                db.execute("BEGIN IMMEDIATE")
                yield db
                self._files.check()
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        if self.committed is not None:
            self.committed()

    def apply(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run work in a transaction; SQLite admits one writer at a time."""
        with self.write() as db:
            return work(db)

    @contextmanager
    def consolidation_lock(self) -> Generator[bool]:
        """Try to take the consolidation lock; yields whether it was free. It ends with the block or the process."""
        if self.path is not None:
            lock = FileLock(self.path.with_name(LOCK_NAME))
            try:
                yield lock.acquire()
            finally:
                lock.release()
            return
        mutex = self._consolidating
        free = mutex.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                mutex.release()

    @contextmanager
    def exclusive(self) -> Generator[SqliteConnection]:
        """The writer outside of a transaction, for work on the whole file."""
        self._check_writable()
        with self._locked_writer() as db:
            self._files.check()
            yield db

    def rewrite(self, key: str | bytes | None, write: Callable[[SqliteConnection, Path], None]) -> None:
        """Give the file the content that ``write`` makes under another key, as a whole or not at all.

        Args:
            key: the key from then on; None for a plain file.
            write: is given a connection that nobody else can read or write beside, and the path of the new file.

        Raises:
            StoreUnavailable: the record is open elsewhere, or the new file cannot be written.
        """
        self._check_writable()
        assert self.path is not None
        rewriting = Rewriting(self.path)
        with self._locked_writer() as db, self._pool_lock:
            self._files.check()
            if not self._drain_readers(time.monotonic() + BUSY_SECONDS):
                raise errors.StoreUnavailable(f"{self.name} is being read. Nothing was changed; repeat the call.")
            while self._readers:
                self._readers.pop().close()
            try:
                _lock_exclusively(db, self.name)
                make_private(rewriting.partial)
                write(db, rewriting.partial)
                rewriting.commit()
                self.key = key
                rewriting.apply()
            except OSError as error:
                raise errors.StoreUnavailable(f"{self.name} cannot be rewritten: {error.strerror or error}.") from error
            finally:
                db.close()
                rewriting.partial.unlink(missing_ok=True)
                self._files.closed()
                self._writer = None
                self._writer = self._open()

    def checkpoint(self, patience: float) -> bool:
        """Move the log into the file and truncate it; False if a reader blocks that for ``patience`` seconds."""
        with self.exclusive() as db:
            db.set_busy_handler(_busy_handler(patience))
            try:
                busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                db.set_busy_handler(_busy_handler())
            return not busy

    @contextmanager
    def read(self) -> Generator[SqliteConnection]:
        """A connection for reading, used by one thread at a time."""
        self._check()
        if (
            self.path is None or self.moved
        ):  # a database in RAM has one connection; a removed file cannot be opened again
            with self._locked_writer() as db:
                yield db
            return
        db, is_counted = None, False
        try:
            with self._pool_lock:
                self._pool.wait_for(lambda: not self._paused)
                db = self._readers.pop() if self._readers else None
                self._reading, is_counted = self._reading + 1, True
            with self._translate_errors():
                if self._read_only is None:
                    db = db or self._connect()
                    yield db
                else:
                    db = self._read_only.refresh(db) if db else self._connect()
                    with self._read_only.consistent(db):
                        yield db
        finally:
            if is_counted:
                self._return_reader(db)

    def _return_reader(self, db: SqliteConnection | None) -> None:
        """Return a reader to the pool, or close it."""
        with self._pool_lock:
            self._reading -= 1
            if db is not None and len(self._readers) < MAX_IDLE_READERS and not self._closed:
                self._readers.append(db)
                db = None
            self._pool.notify_all()
        if db is not None:
            db.close()

    def close(self) -> None:
        """Close every connection; later calls raise StoreClosed. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        with self._lock, self._pool_lock, self._translate_errors():
            for db in self._idle_connections():
                db.close()
            self._readers.clear()
            self._writer = None
