"""MnemicStore: LangGraph's SQLite or PostgreSQL store, beside the record and with an embedder of Mnemic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

import apsw
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, Op, PutOp, Result, SearchOp, TTLConfig

from mnemic import (
    ConfigurationError,
    Embedder,
    InvalidInput,
    Memory,
    MissingExtra,
    SecretPolicy,
    StoreUnavailable,
)
from mnemic.adapters import checked_location
from mnemic.embedders import embedder_from
from mnemic.paths import IN_MEMORY
from mnemic.stores.sqlite.database import make_private, translate
from mnemic.stores.sqlite.store import prepared

try:
    from langgraph.store.sqlite import SqliteStore
except ModuleNotFoundError as error:
    raise MissingExtra("MnemicStore", "store", package="langchain-mnemic") from error

if TYPE_CHECKING:
    from langgraph.store.postgres import PostgresStore

FILE = "store.db"
BUSY_MS = 30_000


class _Query(str):
    """The query of a search. LangGraph embeds it as a document; models with prompts tell the two apart."""

    __slots__ = ()


class _Embeddings(Embeddings):
    """An embedder of Mnemic where LangGraph expects one of LangChain."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        kind = "query" if all(isinstance(text, _Query) for text in texts) else "document"
        return self._embedder.embed(texts, kind=kind).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.embed([text], kind="query")[0].tolist()


class MnemicStore(BaseStore):
    """LangGraph's long-term store, for ``compile(store=...)`` and ``create_agent(store=...)``: items under namespaces.

    It is LangGraph's ``SqliteStore`` on the file ``store.db`` in the folder of the memory, or its ``PostgresStore`` in the
    schema of the record. Both search with an embedder of Mnemic and work from synchronous and asynchronous code; several
    threads and processes may use one location. A process that forks opens its store after the fork.

    Only the owner may read the file. What is deleted is overwritten in it at once (``PRAGMA secure_delete``); a copy that
    SQLite left in a gap of a page goes when the store is closed. Namespaces are not users of Mnemic: whoever has the store
    has all of it, and erasing a user in a ``Memory`` leaves it alone. The file is plain, also beside an encrypted record: keep
    it on an encrypted disk, or what must be encrypted in the ``Memory``.

    Args:
        location: a folder, made when missing; the address of a PostgreSQL database; an open ``Memory``, whose location is
            taken (without a password: that of a database comes from PGPASSWORD or ``~/.pgpass``); or ``":memory:"``. None is
            that of ``Memory()``: ``$MNEMIC_DIR``, else ``./memory``.
        embedder: as for ``Memory``; None is the model on this machine.
        fields: paths of the texts to search by, such as ``"text"`` or ``"notes[*].body"``; ``"$"`` is the whole value. Empty:
            nothing is embedded, and a query does not rank.
        ttl: of LangGraph: ``default_ttl`` in minutes, ``refresh_on_read``, ``sweep_interval_minutes``. Expired items are
            returned until they are removed by ``sweep_ttl`` or the thread of ``start_ttl_sweeper``.
        secrets: what happens to keys, passwords and the like in values, as for ``Memory``. ``"allow"`` stores them.

    Raises:
        ConfigurationError: an argument is not understood, or the store holds vectors of another model.
        MissingExtra: the package of LangGraph's store is not installed.
        EmbedderUnavailable: the model cannot be loaded.
        StoreUnavailable: the file or the database cannot be opened.
        StoreCorrupt: the file is damaged, or is none of SQLite.

    Examples:
        >>> store = MnemicStore(":memory:", embedder="hashing")
        >>> store.put(("ana", "notes"), "tea", {"text": "Ana drinks green tea"})
        >>> store.search(("ana",), query="green tea")[0].key
        'tea'
    """

    supports_ttl = True

    def __init__(
        self,
        location: str | Path | Memory | None = None,
        *,
        embedder: str | Embedder | None = None,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        secrets: SecretPolicy | Literal["redact", "allow", "refuse"] = "redact",
    ) -> None:
        given = checked_location(location)
        place = given.admin.location if isinstance(given, Memory) else str(given)
        self.ttl_config = ttl
        self._secrets = secrets if isinstance(secrets, SecretPolicy) else SecretPolicy(action=secrets)
        model = embedder_from(embedder) if fields else None
        opened = _opened_postgres if "://" in place else _opened_sqlite
        self._store, self._close = opened(place, model, _index(model, fields), ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations; see ``BaseStore.batch``.

        Raises:
            InvalidInput: a value holds a secret, and the policy refuses these; nothing was stored.
        """
        return self._store.batch([self._prepared(op) for op in ops])

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in a thread; see ``batch``."""
        return await asyncio.to_thread(self.batch, [*ops])

    def sweep_ttl(self) -> int:
        """Remove expired items; returns how many."""
        return self._store.sweep_ttl()

    def start_ttl_sweeper(self, sweep_interval_minutes: int | None = None) -> None:
        """Remove expired items regularly, on a thread that ends with ``close``."""
        self._store.start_ttl_sweeper(sweep_interval_minutes)

    def close(self) -> None:
        """Close the file or the connections. Closing twice is harmless."""
        self._store.stop_ttl_sweeper()
        self._close()

    def __enter__(self) -> MnemicStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepared(self, op: Op) -> Op:
        """An operation with its secrets redacted and its query marked."""
        if isinstance(op, SearchOp) and op.query:
            return op._replace(query=_Query(self._secrets.redacted(op.query)[0]))
        if isinstance(op, PutOp) and op.value is not None:
            value, kinds = self._secrets.within(op.value)
            if kinds and self._secrets.action == "refuse":
                raise InvalidInput(
                    f"The value of {op.key!r:.80} holds a secret ({', '.join(kinds)}), and the policy refuses these: nothing "
                    "was stored."
                )
            return op._replace(value=value)
        return op


def _index(model: Embedder | None, fields: Sequence[str]) -> Any:
    """The index configuration of both stores; one calls the paths ``fields``, the other ``text_fields``."""
    if model is None:
        return None
    dimension = model.dimension or model.embed(["dimension"]).shape[1]
    return {"dims": dimension, "embed": _Embeddings(model), "fields": [*fields], "text_fields": [*fields]}


def _check_model(execute: Callable[..., Any], model: Embedder, place: str) -> None:
    """Note the model of a new store; refuse another one for an old store."""
    execute("CREATE TABLE IF NOT EXISTS store_embedder (one integer PRIMARY KEY, id text NOT NULL)")
    execute("INSERT INTO store_embedder VALUES (1, $1) ON CONFLICT DO NOTHING", (model.id,))
    (held,) = execute("SELECT id FROM store_embedder").fetchone()
    if held != model.id:
        raise ConfigurationError(
            f"The store {place} holds vectors of {held!r}, but the embedder in use is {model.id!r}. Open it with the first, or "
            "read its items with fields=() and put them into a new store."
        )


# SQLite


_Base: Any = apsw.Connection
"""Its own types are partly unknown."""


class _Cursor(apsw.Cursor):
    @property
    def rowcount(self) -> int:
        return self.connection.changes()


class _Connection(_Base):
    """The SQLite of the record, with the methods that ``SqliteStore`` calls on a connection of ``sqlite3``.

    Python's own SQLite may be built without extensions, which vectors need, and be one with known faults. Two libraries in
    one process also release each other's locks on a file.
    """

    removed = False
    """Whether rows were removed since the file was opened."""

    def create_function(
        self, name: str, arguments: int, function: Callable[..., Any], *, deterministic: bool = False
    ) -> None:
        self.create_scalar_function(name, function, arguments, deterministic=deterministic)

    def execute(self, statements: str, values: Sequence[Any] | None = None) -> Any:
        base: Any = super()
        try:
            return base.execute(statements, values)
        except apsw.BusyError:
            if statements == "COMMIT":  # else every later BEGIN fails
                base.execute("ROLLBACK")
            raise

    def executescript(self, statements: str) -> None:
        self.execute(statements)

    def note(self, change: int, *_: object) -> None:
        """Called by SQLite for each row that changes."""
        self.removed = self.removed or change == apsw.SQLITE_DELETE


def _connected(file: str) -> Any:
    connection: Any = _Connection(file)
    connection.cursor_factory = _Cursor
    connection.convert_binding = _adapted
    connection.set_update_hook(connection.note)
    connection.set_busy_timeout(BUSY_MS)
    for setting in ("foreign_keys=ON", "secure_delete=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    return connection


def _adapted(_cursor: object, _number: int, value: datetime) -> str:
    """As ``sqlite3`` stores it."""
    return value.isoformat(" ")


def _opened_sqlite(
    place: str, model: Embedder | None, index: Any, ttl: TTLConfig | None
) -> tuple[SqliteStore, Callable[[], None]]:
    """The store of a folder, and how it is closed."""
    file = place
    try:
        if place != IN_MEMORY:
            path = prepared(Path(place).expanduser().absolute()).with_name(FILE)
            make_private(path)
            file = str(path)
        connection = _connected(file)
        try:
            store = SqliteStore(connection, index=index, ttl=ttl)
            connection.execute("BEGIN IMMEDIATE")  # two processes may open a new file at once
            if model is not None:
                _check_model(connection.execute, model, file)
            store.setup()
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise translate(error, file) from error
    except OSError as error:
        raise StoreUnavailable(
            f"The store {file} cannot be opened: {error}. Check the rights of its folder."
        ) from error
    return store, lambda: _close(store, connection)


def _close(store: SqliteStore, connection: Any) -> None:
    with store.lock:
        if connection.removed:
            connection.removed = False
            with suppress(apsw.BusyError):
                connection.execute("VACUUM")
        connection.close()


# PostgreSQL


def _opened_postgres(
    place: str, model: Embedder | None, index: Any, ttl: TTLConfig | None
) -> tuple[PostgresStore, Callable[[], None]]:
    """The store in the schema of a record, and how it is closed."""
    try:
        import psycopg
        from langgraph.store.postgres import PostgresStore
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool

        from mnemic.stores.postgres.connection import address_of, scrubbed
        from mnemic.stores.postgres.database import prepare, search_path
    except ModuleNotFoundError as error:
        raise MissingExtra("MnemicStore in PostgreSQL", "postgres", package="langchain-mnemic") from error
    address = address_of(place)
    settings: dict[str, Any] = {"connect_timeout": 30, **address.parameters, "autocommit": True}

    def configure(driver: Any) -> None:
        driver.execute("SELECT set_config('search_path', %s, false)", (path,))

    try:
        with psycopg.connect(**settings) as driver:
            driver.cursor_factory = psycopg.RawCursor
            path = search_path(address, prepare(cast("Any", driver), address))
            driver.execute("SELECT set_config('search_path', $1, false)", (path,))
            if model is not None:
                _check_model(driver.execute, model, address.name)
        pool = ConnectionPool(
            kwargs={**settings, "prepare_threshold": 0, "row_factory": dict_row}, configure=configure, min_size=0, max_size=4,
            check=ConnectionPool.check_connection, open=True,
        )  # fmt: skip
        store = PostgresStore(cast("Any", pool), index=index, ttl=ttl)
        store.setup()
    except psycopg.Error as error:
        raise StoreUnavailable(f"The store in {address.name} cannot be opened: {scrubbed(str(error))}") from None
    return store, pool.close
