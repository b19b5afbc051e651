"""A connection as this package uses it: apsw's own types leave every value unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

__all__ = ["Connection", "Cursor"]


class Cursor(Protocol):
    """Rows of a statement. ``fetchone`` is None after the last."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        ...

    def fetchone(self) -> Any:
        """The next row."""
        ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Connection(Protocol):
    """The part of ``apsw.Connection`` that is used here."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Sequence[object] | None = None) -> Cursor:
        """Run statements with bound values."""
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

    def __enter__(self) -> object: ...
    def __exit__(self, kind: object, error: object, trace: object, /) -> bool | None: ...
