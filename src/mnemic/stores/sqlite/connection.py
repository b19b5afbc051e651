"""The type of an SQLite connection: apsw's own annotations leave every value unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mnemic.stores.sql.connection import Connection

__all__ = ["SqliteConnection"]


class SqliteConnection(Connection, Protocol):
    """The part of ``apsw.Connection`` that is used here."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def readonly(self, name: str) -> bool:
        """Whether a database was opened read-only."""
        ...

    def pragma(self, name: str, value: str | int | None = None) -> Any:
        """Read or set a pragma."""
        ...

    def set_busy_handler(self, callable: Callable[[int], bool] | None) -> None:
        """Set the callback for a database that another process has locked."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
