"""The record in RAM: the same code on a private database, gone when the handle is closed."""

from __future__ import annotations

from mnemic.stores.sqlite.store import SqliteStore

__all__ = ["InMemoryStore"]


class InMemoryStore(SqliteStore):
    """A record that leaves nothing on disk. One connection serves all threads in turn."""

    def __init__(self) -> None:
        super().__init__(None)
