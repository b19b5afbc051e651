"""Storage of the record: SQLite, in-memory, PostgreSQL."""

from typing import TYPE_CHECKING, TypeAlias

from mnemic.errors import MissingExtra
from mnemic.stores.sqlite import InMemoryStore, SqliteStore, is_encrypted, read_lines, write_lines

if TYPE_CHECKING:
    from mnemic.stores.postgres import PostgresStore

    Store: TypeAlias = SqliteStore | PostgresStore

__all__ = ["InMemoryStore", "SqliteStore", "is_encrypted", "postgres_store", "read_lines", "write_lines"]


def postgres_store() -> "type[PostgresStore]":
    """The class of memories in PostgreSQL.

    Raises:
        MissingExtra: its driver is not installed.
    """
    try:
        from mnemic.stores.postgres import PostgresStore
    except ImportError as error:
        raise MissingExtra("A memory in PostgreSQL", "postgres") from error
    return PostgresStore
