"""Storage of the record: SQLite, in-memory, PostgreSQL."""

from typing import TYPE_CHECKING, TypeAlias

from mnemic.errors import MissingExtra
from mnemic.stores.sqlite.cipher import is_encrypted
from mnemic.stores.sqlite.copies import read_lines, write_lines
from mnemic.stores.sqlite.store import InMemoryStore, SqliteStore

if TYPE_CHECKING:
    from mnemic.stores.postgres.store import PostgresStore

    Store: TypeAlias = SqliteStore | PostgresStore

__all__ = ["InMemoryStore", "SqliteStore", "is_encrypted", "postgres_store", "read_lines", "write_lines"]


def postgres_store() -> "type[PostgresStore]":
    """The class of memories in PostgreSQL.

    Raises:
        MissingExtra: its driver is not installed.
    """
    try:
        from mnemic.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise MissingExtra("A memory in PostgreSQL", "postgres") from error
    return PostgresStore
