"""Storage of the record: SQLite, in-memory, PostgreSQL."""

from typing import TYPE_CHECKING, TypeAlias

from mnemic.stores.sqlite import InMemoryStore, SqliteStore

if TYPE_CHECKING:
    from mnemic.stores.postgres import PostgresStore

    Store: TypeAlias = SqliteStore | PostgresStore

__all__ = ["InMemoryStore", "SqliteStore"]
