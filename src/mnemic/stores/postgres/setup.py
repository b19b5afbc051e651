"""Setup of a database: pgvector, schema and migrations, run once under a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

from mnemic import errors
from mnemic.stores import schema
from mnemic.stores.postgres.connection import PostgresConnection, run
from mnemic.stores.postgres.dialect import LATEST, MIGRATIONS

if TYPE_CHECKING:
    from mnemic.stores.postgres.address import Address
    from mnemic.stores.postgres.connection import Driver

__all__ = ["Ready", "configure", "prepare", "quoted", "search_path", "version_of"]

OLDEST_SERVER = 130_000
OLDEST_PGVECTOR = (0, 8)
LOCK = 0x4D4E454D  # "MNEM": the advisory lock for creating schemas


@dataclass(frozen=True, slots=True)
class Ready:
    """The oid of halfvec and the schema of pgvector in a database."""

    halfvec: int
    extension_schema: str


def quoted(name: str) -> str:
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


def prepare(driver: Driver, address: Address) -> Ready:
    """Bring the schema up to date.

    Raises:
        SchemaTooNew: a newer Mnemic wrote it.
        StoreCorrupt: the schema holds something else.
        StoreUnavailable: the server or pgvector is too old, or pgvector is missing.
    """
    if driver.info.server_version < OLDEST_SERVER:
        raise errors.StoreUnavailable(
            f"{address.name} runs PostgreSQL before 13, which is too old. Upgrade the server."
        )
    version = version_of(driver, address)
    if version < LATEST:
        with driver.transaction():
            driver.execute("SELECT pg_advisory_xact_lock($1)", (LOCK,))
            _migrate(driver, address, version_of(driver, address))
    return _extension(driver, address)


def version_of(driver: Driver, address: Address) -> int:
    """The number of the last migration of the schema; 0 if there is none."""
    # Not to_regclass(): its cache may miss the commit of another session.
    sql = """SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = 'header'"""
    if not _one(driver, sql, address.schema):
        return 0
    held: dict[str, str] = dict(run(driver, f"SELECT key, value FROM {quoted(address.schema)}.header").fetchall())
    if held.get("application") != "mnemic":
        raise errors.StoreCorrupt(
            f"The schema of {address.name} belongs to another program. Choose another one: ?schema=name."
        )
    version = int(held["schema_version"])
    schema.check_version(address.name, version, LATEST)
    return version


def _migrate(driver: Driver, address: Address, version: int) -> None:
    if version == LATEST:
        return
    if not _one(driver, "SELECT 1 FROM pg_namespace WHERE nspname = $1", address.schema):
        run(driver, f"CREATE SCHEMA {quoted(address.schema)}")
    ready = _extension(driver, address)
    db = PostgresConnection(driver)
    db.execute("SELECT set_config('search_path', ?, true)", (search_path(address, ready),))
    if version == 0:
        try:
            db.execute('CREATE TABLE header(key text COLLATE "C" PRIMARY KEY, value text COLLATE "C")')
            db.execute("INSERT INTO header VALUES('application', 'mnemic'), ('schema_version', '0')")
            MIGRATIONS[0](db)
        except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject) as error:
            raise errors.StoreCorrupt(
                f"The schema of {address.name} holds tables of another program. Choose another one: ?schema=name."
            ) from error
    for migrate in MIGRATIONS[max(version + 1 - schema.OLDEST, 1) :]:
        migrate(db)
    db.execute("UPDATE header SET value = ? WHERE key = 'schema_version'", (str(LATEST),))


def search_path(address: Address, ready: Ready) -> str:
    """The search path: our schema, then that of pgvector."""
    return f"{quoted(address.schema)}, {quoted(ready.extension_schema)}"


def _extension(driver: Driver, address: Address) -> Ready:
    """Find pgvector, or install it if this user may."""
    sql = """SELECT e.extversion, n.nspname, (SELECT t.oid FROM pg_type t WHERE t.typname = 'halfvec'
        AND t.typnamespace = e.extnamespace) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector'"""
    found = driver.execute(sql).fetchone()
    if found is None:
        try:
            driver.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
            raise _no_pgvector(address, "it is missing, and this user cannot install it") from None
        found = driver.execute(sql).fetchone()
    assert found is not None
    version, schema, halfvec = found
    if tuple(int(part) for part in str(version).split(".")[:2]) < OLDEST_PGVECTOR or halfvec is None:
        raise _no_pgvector(address, f"it is {version}: ALTER EXTENSION vector UPDATE upgrades it")
    return Ready(int(halfvec), str(schema))


def _no_pgvector(address: Address, why: str) -> errors.StoreUnavailable:
    return errors.StoreUnavailable(
        f"{address.name} needs the extension pgvector 0.8 or newer; {why}. Install pgvector on the server, and run CREATE "
        "EXTENSION vector in this database once as its owner."
    )


def _one(driver: Driver, sql: str, *values: object) -> Any:
    row = run(driver, sql, values).fetchone()
    return row[0] if row else None
