"""Storage of the record: SQLite, in-memory, PostgreSQL."""

from typing import TYPE_CHECKING, TypeAlias

from mnemic.stores.in_memory import InMemoryStore
from mnemic.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from mnemic.stores.postgres import PostgresStore

    Store: TypeAlias = SqliteStore | PostgresStore

__all__ = ["InMemoryStore", "SqliteStore"]
