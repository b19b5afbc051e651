"""A connection as this package uses it: apsw's own types leave every value unknown."""

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
        """Whether a database of it was opened for reading."""
        ...

    def pragma(self, name: str, value: str | int | None = None) -> Any:
        """Read or set a pragma."""
        ...

    def set_busy_handler(self, callable: Callable[[int], bool] | None) -> None:
        """What to do while another process holds the lock."""
        ...

    def close(self) -> None:
        """Close it."""
        ...
