"""Connections to one PostgreSQL database: pool, transactions, locks, and the mapping of driver errors."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import psycopg
from psycopg import pq
from psycopg_pool import ConnectionPool

from mnemic.stores.postgres.adapters import adapters
from mnemic.stores.postgres.address import Address, address_of
from mnemic.stores.postgres.connection import PostgresConnection, run
from mnemic.stores.postgres.errors import BUSY_SECONDS, closed, is_lost, is_transient, translate
from mnemic.stores.postgres.setup import configure, prepare, quoted, search_path, version_of
from mnemic.stores.postgres.statistics import forget_samples

if TYPE_CHECKING:
    from mnemic.stores.sql.connection import Durability

__all__ = ["Database", "Session", "VectorCounts", "probe"]

T = TypeVar("T")

MAX_CONNECTIONS = 16
IDLE_SECONDS = 5.0
"""A connection idle for longer is checked before use."""
ATTEMPTS = 5


class VectorCounts(NamedTuple):
    """The number of vectors of a user and of all users, at a time of ``time.monotonic``."""

    at: float
    own: int
    every: int


class _Driver(psycopg.Connection[tuple[Any, ...]]):
    """A connection with the time of its last use."""

    used_at = 0.0


class Session:
    """A connection outside of the pool that holds a lock."""

    def __init__(self, driver: _Driver) -> None:
        self._driver, self._pid = driver, os.getpid()

    @property
    def is_alive(self) -> bool:
        """Whether the connection, and so the lock, still exists."""
        return os.getpid() == self._pid and _is_alive(self._driver)

    def close(self) -> None:
        """Close the connection, unless it belongs to the parent process."""
        if os.getpid() == self._pid:
            self._driver.close()


def _patience(address: Address) -> float:
    return float(address.parameters.get("connect_timeout") or BUSY_SECONDS)


def _options(address: Address) -> dict[str, Any]:
    return {
        "connect_timeout": int(_patience(address)), **address.parameters, "autocommit": True,
        "cursor_factory": psycopg.RawCursor, "client_encoding": "utf8", "fallback_application_name": "mnemic",
    }  # fmt: skip


@contextmanager
def _translated(address: Address, is_closed: Callable[[], bool] = lambda: False) -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:  # those of the pool among them
        if is_closed():
            raise closed() from error
        # Details quote the row, and tracebacks may be logged.
        raise translate(error, address) from (None if error.diag.message_detail else error)


def probe(url: str) -> tuple[str, bool]:
    """The display name of a URL, and whether a record exists there; creates nothing."""
    address = address_of(url)
    with _translated(address), _Driver.connect(**_options(address)) as driver:
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
        with self._translated():
            with self._connect() as driver:
                self._ready = prepare(driver, self._address)
            self._path = search_path(self._address, self._ready)
            self._reset()

    def __repr__(self) -> str:
        return f"Database({self.name!r})"

    def _connect(self) -> _Driver:
        """A connection outside of the pool."""
        return _Driver.connect(**self._options)

    def _reset(self) -> None:
        self._pid = os.getpid()
        options = self._options | {"context": adapters(self._ready.halfvec)}
        self._pool = ConnectionPool(
            kwargs=options, connection_class=_Driver, min_size=0, max_size=MAX_CONNECTIONS, timeout=self._patience,
            reconnect_timeout=self._patience, configure=self._configure, num_workers=1, open=True, name="mnemic",
        )  # fmt: skip

    def _configure(self, driver: _Driver) -> None:
        configure(driver, self._path, durable=self._durable, patience=self._patience)

    @contextmanager
    def _translated(self) -> Generator[None]:
        with _translated(self._address, lambda: self._closed):
            yield

    def _check(self) -> None:
        if self._closed:
            raise closed()
        if os.getpid() != self._pid:
            self._inherited = self._pool  # the parent's connections must not be closed here
            self._reset()

    @contextmanager
    def _borrow(self) -> Generator[PostgresConnection]:
        """A connection from the pool."""
        self._check()
        pool = self._pool
        held = [pool.getconn()]

        def replace() -> _Driver:
            pool.putconn(held.pop())  # the pool discards it
            held.append(pool.getconn())
            return held[0]

        def replace_all() -> _Driver:
            pool.check()  # a restart of the server closed the other connections too
            return replace()

        try:
            driver = held[0]
            while time.monotonic() - driver.used_at > IDLE_SECONDS and driver.used_at and not _is_alive(driver):
                driver = replace()
            yield PostgresConnection(driver, replace_all)
        finally:
            for driver in held:
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
        with self._translated():
            for attempt in itertools.count(1):
                db = None
                try:
                    with self._transaction() as db:
                        return work(db)
                except psycopg.Error as error:
                    again = is_transient(error) or (db.was_cut_off if db else is_lost(error))
                    if attempt == ATTEMPTS or not again:
                        raise
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311
        raise AssertionError

    @contextmanager
    def write(self) -> Generator[PostgresConnection]:
        """A transaction that excludes all other writers."""
        with self._translated(), self._transaction() as db:
            db.execute("LOCK TABLE users IN EXCLUSIVE MODE")
            yield db

    @contextmanager
    def read(self) -> Generator[PostgresConnection]:
        """A connection for reading, used by one thread at a time."""
        with self._translated(), self._borrow() as db:
            yield db

    @contextmanager
    def consolidation_lock(self) -> Generator[bool]:
        """Try to take the consolidation lock; yields whether it was free.

        The lock belongs to a separate connection: it ends with the block, or when the server notices that the process is gone.
        """
        session = self.locked("consolidation")
        try:
            yield session is not None
        finally:
            if session is not None:
                session.close()

    def locked(self, what: str) -> Session | None:
        """A session that holds a named lock on this record until it is closed; None if another session holds it."""
        self._check()
        with self._translated():
            driver = self._connect()
            try:
                key = f"{what} of {quoted(self._address.schema)}".encode()
                number = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big", signed=True)
                row = driver.execute("SELECT pg_try_advisory_lock($1)", (number,)).fetchone()
            except BaseException:
                driver.close()
                raise
            if row and row[0]:
                return Session(driver)
            driver.close()
            return None

    def vacuum(self, tables: Sequence[str], *, whole: bool, patience: float) -> None:
        """Vacuum tables and remove samples of their values from the planner's statistics.

        Args:
            tables: the names of the tables.
            whole: VACUUM FULL: rewrites and locks each table, so that no bytes of deleted rows stay.
            patience: seconds to wait for other sessions that use a table.
        """
        self._check()
        with self._translated(), self._connect() as driver:
            configure(driver, self._path, durable=True, patience=patience)
            for table in tables:
                forget_samples(driver, table)
                run(driver, f"VACUUM ({'FULL, ' if whole else ''}ANALYZE) {table}")

    def close(self) -> None:
        """Close every connection; later calls raise StoreClosed. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if os.getpid() == self._pid:
            self._pool.close()


def _is_alive(driver: _Driver) -> bool:
    return driver.pgconn.exec_(b"").status == pq.ExecStatus.EMPTY_QUERY
