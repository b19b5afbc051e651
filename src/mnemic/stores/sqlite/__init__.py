"""The record in one SQLite file, through apsw: Python's own SQLite is often one that can lose commits."""

from mnemic.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
