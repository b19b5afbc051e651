"""The SQLite store. It uses apsw: the SQLite that ships with Python is often a version that can lose commits."""

from mnemic.stores.sqlite.cipher import is_encrypted
from mnemic.stores.sqlite.lines import read_lines, write_lines
from mnemic.stores.sqlite.store import InMemoryStore, SqliteStore

__all__ = ["InMemoryStore", "SqliteStore", "is_encrypted", "read_lines", "write_lines"]
