"""Connections to one PostgreSQL database: setup, pool, transactions, locks, and the mapping of driver errors."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from mnemic import errors
from mnemic.services.processes import PerProcess, process_lock, renew_in_child
from mnemic.stores import schema
from mnemic.stores.postgres.connection import Address, Driver, PostgresConnection, address_of, run, scrubbed
from mnemic.stores.postgres.dialect import POSTGRES, adapters, create_record
from mnemic.stores.sql.connection import CLOSED, CLOSED_DURING, Durability

T = TypeVar("T")

MAX_CONNECTIONS = 16
IDLE_SECONDS = 5.0
"""A connection idle for longer is checked before use."""
ATTEMPTS = 5


# Errors

BUSY_SECONDS = 30.0
"""Seconds that a call waits for a lock or a connection."""
QUICK_SECONDS = 1.0
"""Seconds without a connection after which a call asks whether the server answers at all, and the pool for another one."""

# SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
_TRANSIENT = ("40001", "40P01")  # serialization failure, deadlock: rolled back as a whole, and may be repeated
_LOCKED = ("55P03",)
_AWAY = ("08", "28", "3D", "53", "57P")
_MEANINGS: Sequence[tuple[tuple[str, ...], type[errors.StoreError], str]] = (
    (("53100", "53200"), errors.StoreFull,
     "The server of {where} is full: {message} The write was rolled back; free some space and repeat it."),
    (("25006", "42501"), errors.StoreReadOnly,
     "{where} cannot be written: {message} Check the privileges of the user, and that the server is not a standby."),
    (_LOCKED, errors.StoreUnavailable,
     ("{where} stayed locked by another session for {patience:.0f} s; nothing was written. Repeat the call, or "
      "look in pg_stat_activity for a session that holds a transaction open.")),
    (("57014",), errors.StoreUnavailable,
     ("{where} cancelled a statement: {message} Nothing was written. Raise the statement_timeout of this role if it is too "
      "short, or repeat the call.")),
    (("XX001", "XX002", "42P01", "42703"), errors.StoreCorrupt,
     ("{where} is damaged or not a Mnemic record: {message} Nothing was changed. Restore a backup, or choose another "
      "schema: ?schema=name.")),
    (_TRANSIENT, errors.StoreUnavailable, "{where} is busy: {message} Nothing was stored. Repeat the call."),
    (_AWAY, errors.StoreUnavailable, "{where} cannot be reached: {message} Check the address and the server."),
)  # fmt: skip
"""The errors for states, by the beginning of the code."""


def is_transient(error: Exception) -> bool:
    """Whether the same transaction, repeated, is likely to succeed."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _TRANSIENT


def is_locked(error: BaseException | None) -> bool:
    """Whether the wait for a lock of another session timed out."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _LOCKED


def is_lost(error: Exception) -> bool:
    """Whether a connection was lost before it was used; timeouts of the pool do not count."""
    return isinstance(error, psycopg.OperationalError) and not isinstance(
        error, (PoolClosed, PoolTimeout, TooManyRequests)
    )


def closed_error() -> errors.StoreClosed:
    """The error of a closed handle."""
    return errors.StoreClosed(CLOSED)


def translate(error: Exception, address: Address) -> errors.StoreError:
    """The mnemic error for a driver error; the transaction was rolled back."""
    where, message = address.name, scrubbed(_server_message(error))
    state = (error.sqlstate or "") if isinstance(error, psycopg.Error) else ""
    if isinstance(error, PoolClosed):
        return errors.StoreClosed(CLOSED_DURING)
    if isinstance(error, (PoolTimeout, TooManyRequests)):
        return errors.StoreUnavailable(
            f"{where} gave no connection within {_patience(address):.0f} s: every connection of this process or of the "
            "server is in use. Repeat the call."
        )
    if not state and isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        state = _AWAY[0]
    for states, kind, text in _MEANINGS:
        if state.startswith(states):
            return kind(text.format(where=where, message=message, patience=_patience(address)))
    return errors.StoreError(f"{where}: PostgreSQL refused the operation: {type(error).__name__}: {message}")


def _server_message(error: Exception) -> str:
    """The first line of the server's message: further lines may quote values."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = " ".join((primary or str(error)).split())[:300]
    return text if text.endswith((".", "?", "!")) else f"{text}."


# Setup: pgvector, schema and migrations, run once under a lock

OLDEST_SERVER = 130_000
OLDEST_PGVECTOR = (0, 8)
LOCK = 0x4D4E454D  # "MNEM": the advisory lock for creating schemas


class Extension(NamedTuple):
    """The oid of halfvec and the schema of pgvector in a database."""

    halfvec: int
    extension_schema: str


def quote_name(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def configure(driver: Driver, path: str, *, durable: bool, patience: float) -> None:
    """Apply the settings of a session, in one message.

    Without ``durable``, commits are still atomic. JIT is off: it slows short queries. Integrity checks need more memory for
    hash joins.
    """
    sql = """SELECT set_config('search_path', $1, false), set_config('synchronous_commit', $2, false),
        set_config('lock_timeout', $3, false), set_config('jit', 'off', false),
        set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, 65536)::text, false)"""
    driver.execute(sql, (path, "on" if durable else "off", str(int(patience * 1000))))


def prepare(driver: Driver, address: Address) -> Extension:
    """Bring the schema up to date.

    Raises:
        SchemaTooNew: a newer Mnemic wrote it.
        StoreCorrupt: the schema holds something else.
        StoreUnavailable: the server or pgvector is too old, pgvector is missing, or the database is not in UTF-8.
    """
    if driver.info.server_version < OLDEST_SERVER:
        raise errors.StoreUnavailable(
            f"{address.name} runs PostgreSQL before 13, which is too old. Upgrade the server."
        )
    version = version_of(driver, address)
    if version < schema.LATEST:
        with driver.transaction():
            driver.execute("SELECT pg_advisory_xact_lock($1)", (LOCK,))
            _migrate(driver, address, version_of(driver, address))
    return _extension(driver, address)


def version_of(driver: Driver, address: Address) -> int:
    """The number of the last migration of the schema; 0 if there is none."""
    # Not to_regclass(): its cache may miss the commit of another session.
    sql = """SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = 'header'"""
    if not _value(driver, sql, address.schema):
        return 0
    sql = f"SELECT key, value FROM {quote_name(address.schema)}.header"
    entries: dict[str, str] = dict(run(driver, sql).fetchall())
    if entries.get("application") != "mnemic":
        raise errors.StoreCorrupt(
            f"The schema of {address.name} belongs to another program. Choose another one: ?schema=name."
        )
    version = int(entries["schema_version"])
    schema.check_version(address.name, version)
    return version


def _migrate(driver: Driver, address: Address, version: int) -> None:
    if version == schema.LATEST:
        return
    encoding = driver.info.parameter_status("server_encoding")
    if version == 0 and encoding != "UTF8":
        raise errors.StoreUnavailable(
            f"{address.name} is a database in {encoding}, which cannot hold every text. Nothing was created. Make one in UTF8: "
            "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0."
        )
    if not _value(driver, "SELECT 1 FROM pg_namespace WHERE nspname = $1", address.schema):
        run(driver, f"CREATE SCHEMA {quote_name(address.schema)}")
    extension = _extension(driver, address)
    db = PostgresConnection(driver)
    db.execute("SELECT set_config('search_path', ?, true)", (search_path(address, extension),))
    if version == 0:
        try:
            db.execute('CREATE TABLE header(key text COLLATE "C" PRIMARY KEY, value text COLLATE "C")')
            db.execute("INSERT INTO header VALUES('application', 'mnemic'), ('schema_version', '0')")
            create_record(db)
        except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject) as error:
            raise errors.StoreCorrupt(
                f"The schema of {address.name} holds tables of another program. Choose another one: ?schema=name."
            ) from error
    for statement in schema.migration(version, POSTGRES) if version else ():
        db.execute(statement)
    db.execute("UPDATE header SET value = ? WHERE key = 'schema_version'", (str(schema.LATEST),))


def search_path(address: Address, extension: Extension) -> str:
    """The search path: our schema, then that of pgvector."""
    return f"{quote_name(address.schema)}, {quote_name(extension.extension_schema)}"


def _extension(driver: Driver, address: Address) -> Extension:
    """Find pgvector, or install it if this user may."""
    sql = """SELECT e.extversion, n.nspname, (SELECT t.oid FROM pg_type t WHERE t.typname = 'halfvec'
        AND t.typnamespace = e.extnamespace) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector'"""
    row = driver.execute(sql).fetchone()
    if row is None:
        try:
            driver.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
            raise _no_pgvector(address, "it is missing, and this user cannot install it") from None
        row = driver.execute(sql).fetchone()
    assert row is not None
    version, schema, halfvec = row
    if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST_PGVECTOR or halfvec is None:
        raise _no_pgvector(address, f"it is {version}: ALTER EXTENSION vector UPDATE upgrades it")
    return Extension(int(halfvec), str(schema))


def _no_pgvector(address: Address, why: str) -> errors.StoreUnavailable:
    return errors.StoreUnavailable(
        f"{address.name} needs the extension pgvector 0.8 or newer; {why}. Install pgvector on the server, and run CREATE "
        "EXTENSION vector in this database once as its owner."
    )


def _value(driver: Driver, sql: str, *values: object) -> Any:
    row = run(driver, sql, values).fetchone()
    return row[0] if row else None


# Connections


class VectorCounts(NamedTuple):
    """The number of vectors of a user and of all users, at a time of ``time.monotonic``."""

    moment: float
    user_total: int
    total: int


class _Driver(psycopg.Connection[tuple[Any, ...]]):
    """A connection with the time of its last use."""

    used_at = 0.0


class SessionLock:
    """An advisory lock on a record, across machines, held by one handle as long as the lock's own connection lives.

    Args:
        database: the record.
        what: the name of the lock.
    """

    def __init__(self, database: Database, what: str) -> None:
        self._db, self._what = database, what
        self._driver: _Driver | None = None
        self._guard = process_lock()
        renew_in_child(self, SessionLock._leave)

    @property
    def held(self) -> bool:
        """Whether this handle holds the lock; checks the connection."""
        with self._guard:
            return self._is_held()

    def _is_held(self) -> bool:
        if self._driver is not None and not _is_alive(self._driver):
            self._forget()
        return self._driver is not None

    def acquire(self) -> bool:
        """Acquire the lock if it is free; returns whether this handle holds it.

        Raises:
            StoreUnavailable: the server cannot be reached.
        """
        with self._guard:
            if not self._is_held():
                self._driver = self._db.connect_locked(self._what)
            return self._driver is not None

    def release(self) -> None:
        """Release the lock, at once: a server ends a closed connection, and its locks, only a while later."""
        with self._guard:
            if self._driver is not None:
                self._driver.pgconn.exec_(b"SELECT pg_advisory_unlock_all()")
            self._forget()

    def _forget(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def _leave(self) -> None:
        """In a forked child: the lock and its connection are the parent's."""
        self._inherited, self._driver = self._driver, None


def _patience(address: Address) -> float:
    return float(address.parameters.get("connect_timeout") or BUSY_SECONDS)


def _is_answering(address: Address) -> bool:
    """Whether there is a server, even one that takes no connections at the moment."""
    conninfo = make_conninfo(**{"connect_timeout": f"{_patience(address):.0f}", **address.parameters})
    return pq.PGconn.ping(conninfo.encode()) != pq.Ping.NO_RESPONSE


def _options(address: Address) -> dict[str, Any]:
    return {
        "connect_timeout": int(_patience(address)), **address.parameters, "autocommit": True,
        "cursor_factory": psycopg.RawCursor, "client_encoding": "utf8", "fallback_application_name": "mnemic",
    }  # fmt: skip


@contextmanager
def _translate_errors(address: Address, is_closed: Callable[[], bool] = lambda: False) -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:  # those of the pool among them
        if is_closed():
            raise closed_error() from error
        # Details quote the row, and tracebacks may be logged.
        raise translate(error, address) from (None if error.diag.message_detail else error)


def probe(url: str) -> tuple[str, bool]:
    """The URL without secrets, and whether a record exists there; creates nothing.

    Raises:
        StoreError: the server cannot be reached, or the schema belongs to another program.
    """
    address = address_of(url)
    with _translate_errors(address), _Driver.connect(**_options(address)) as driver:
        return address.name, version_of(driver, address) > 0


class Database:
    """One schema of one database.

    Thread-safe: connections come from a pool, each used by one thread at a time. A forked child opens its own pool.

    Args:
        url: see ``address_of``.
        durability: ``FULL``: a commit is on the disk of the server; ``NORMAL``: a crash of the server may lose it as a whole.
    """

    def __init__(self, url: str, *, durability: Durability = "FULL") -> None:
        self._address = address_of(url)
        self.name = self._address.name
        self._durable = durability == "FULL"
        self._patience = _patience(self._address)
        self._options = _options(self._address)
        self.vector_counts: dict[int, VectorCounts] = {}
        self.committed: Callable[[], None] | None = None  # called after every commit of this process
        self._closed = False
        with self._translate_errors():
            with self._connect() as driver:
                self._extension = prepare(driver, self._address)
            self._path = search_path(self._address, self._extension)
            self._pools = PerProcess(self._pool)

    def __repr__(self) -> str:
        return f"Database({self.name!r})"

    def _connect(self) -> _Driver:
        """A connection outside of the pool."""
        return _Driver.connect(**self._options)

    def _pool(self) -> ConnectionPool[_Driver]:
        options = self._options | {"context": adapters(self._extension.halfvec)}
        return ConnectionPool(
            kwargs=options, connection_class=_Driver, min_size=0, max_size=MAX_CONNECTIONS, configure=self._configure,
            reconnect_timeout=QUICK_SECONDS,  # its pauses double; each call that waits makes it try again
            num_workers=1, open=True, name="mnemic",
        )  # fmt: skip

    def _configure(self, driver: _Driver) -> None:
        configure(driver, self._path, durable=self._durable, patience=self._patience)

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        with _translate_errors(self._address, lambda: self._closed):
            yield

    def _check(self) -> None:
        if self._closed:
            raise closed_error()

    def _get_connection(self, pool: ConnectionPool[_Driver]) -> _Driver:
        """A connection of the pool; a busy one is waited for, a server that is down is not.

        Raises:
            StoreUnavailable: the server is down; not an error of the driver, after which a transaction is begun again.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return pool.getconn(QUICK_SECONDS)
            except PoolTimeout:
                if not _is_answering(self._address):
                    with self._translate_errors():
                        self._connect().close()  # its error says why
                if time.monotonic() > deadline:
                    raise

    @contextmanager
    def _borrow(self) -> Generator[PostgresConnection]:
        """A connection from the pool."""
        self._check()
        pool = self._pools.get()
        drivers = [self._get_connection(pool)]

        def replace() -> _Driver:
            pool.putconn(drivers.pop())  # the pool discards it
            drivers.append(self._get_connection(pool))
            return drivers[0]

        def replace_all() -> _Driver:
            pool.check()  # a restart of the server closed the other connections too
            return replace()

        try:
            driver = drivers[0]
            while time.monotonic() - driver.used_at > IDLE_SECONDS and driver.used_at and not _is_alive(driver):
                driver = replace()
            yield PostgresConnection(driver, replace_all)
        finally:
            for driver in drivers:
                driver.used_at = time.monotonic()
                pool.putconn(driver)

    @contextmanager
    def _transaction(self) -> Generator[PostgresConnection]:
        with self._borrow() as db:
            db.command(b"BEGIN")
            try:
                with db.pipeline():
                    yield db
            except BaseException:
                if db.is_open:
                    db.command(b"ROLLBACK")
                raise
            db.commit()
        if self.committed is not None:
            self.committed()

    def apply(self, work: Callable[[PostgresConnection], T]) -> T:
        """Run work in a transaction for one user; repeated after a conflict of transactions or a lost connection."""
        with self._translate_errors():
            for attempt in itertools.count(1):
                db = None
                try:
                    with self._transaction() as db:
                        return work(db)
                except psycopg.Error as error:
                    repeat = is_transient(error) or (db.was_cut_off if db else is_lost(error))
                    if attempt == ATTEMPTS or not repeat:
                        raise
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311
        raise AssertionError

    @contextmanager
    def write(self) -> Generator[PostgresConnection]:
        """A transaction that excludes all other writers."""
        with self._translate_errors(), self._transaction() as db:
            db.execute("LOCK TABLE users IN EXCLUSIVE MODE")
            yield db

    @contextmanager
    def read(self) -> Generator[PostgresConnection]:
        """A connection for reading, used by one thread at a time."""
        with self._translate_errors(), self._borrow() as db:
            yield db

    @contextmanager
    def consolidation_lock(self) -> Generator[bool]:
        """Try to take the consolidation lock; yields whether it was free.

        The lock belongs to a separate connection: it ends with the block, or when the server notices that the process is gone.
        """
        lock = SessionLock(self, "consolidation")
        try:
            yield lock.acquire()
        finally:
            lock.release()

    def connect_locked(self, what: str) -> _Driver | None:
        """A connection that holds a named lock on this record until it is closed; None if another one holds it."""
        self._check()
        key = f"{what} of {quote_name(self._address.schema)}".encode()
        number = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big", signed=True)
        with self._translate_errors():
            driver, locked = self._connect(), False
            try:
                row = driver.execute("SELECT pg_try_advisory_lock($1)", (number,)).fetchone()
                locked = bool(row and row[0])
            finally:
                if not locked:
                    driver.close()
            return driver if locked else None

    @contextmanager
    def maintenance(self, patience: float) -> Generator[Driver]:
        """A connection outside of the pool and of transactions, which waits ``patience`` seconds for locks."""
        self._check()
        with self._translate_errors(), self._connect() as driver:
            configure(driver, self._path, durable=True, patience=patience)
            driver.execute("SET statement_timeout = 0")
            yield driver

    def close(self) -> None:
        """Close every connection; later calls raise StoreClosed. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if (pool := self._pools.peek()) is not None:
            pool.close()


def _is_alive(driver: _Driver) -> bool:
    return driver.pgconn.exec_(b"").status == pq.ExecStatus.EMPTY_QUERY
