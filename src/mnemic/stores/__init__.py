"""Where the record lives."""

from mnemic.stores.in_memory import InMemoryStore
from mnemic.stores.sqlite import SqliteStore

__all__ = ["InMemoryStore", "SqliteStore"]
