"""An in-memory record: the SQLite store on a private database that is discarded on close."""

from __future__ import annotations

from mnemic.stores.sqlite.store import SqliteStore

__all__ = ["InMemoryStore"]


class InMemoryStore(SqliteStore):
    """A record that writes nothing to disk. All threads share one connection."""

    def __init__(self) -> None:
        super().__init__(None)
