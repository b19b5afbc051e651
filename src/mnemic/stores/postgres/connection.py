"""A connection with the statements of the common part in PostgreSQL's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, LiteralString, TypeAlias, TypeVar, cast

import psycopg
from psycopg import OperationalError, pq
from psycopg.errors import error_from_result

from mnemic.stores.postgres.dialect import PostgresDialect

if TYPE_CHECKING:
    from mnemic.stores.sql.connection import Cursor

__all__ = ["Driver", "PostgresConnection", "run", "translated"]

_MARK = re.compile(r"\?(\d*)")
_LIST = re.compile(r"IN \(SELECT value FROM json_each\((\$\d+)\)\)")
_GROUPED = re.compile(r"json_group_array\((\w+)\)")


@lru_cache(maxsize=2_000)
def translated(statement: str) -> str:
    """A statement with numbered values, and arrays in the place of JSON lists.

    Statements are constants, put together from a few: each is translated once.
    """
    numbers = count(1)
    statement = _MARK.sub(lambda mark: f"${mark[1] or next(numbers)}", statement)
    statement = _LIST.sub(r"= ANY(\1)", statement)
    return _GROUPED.sub(r"coalesce(json_agg(\1 ORDER BY \1), '[]')::text", statement)


T = TypeVar("T")

Driver: TypeAlias = psycopg.Connection[tuple[Any, ...]]

# Readers of a moment take part in the lock on the vectors before they choose the moment, so that header and vectors always
# belong together while ``reembed`` puts a new table in the place of the old one.
_MOMENT = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE vectors IN ACCESS SHARE MODE"


def run(
    driver: Driver, sql: str, values: Sequence[object] | None = None, *, binary: bool = False
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Run a statement that was put together from constants of ours, with its values bound."""
    return driver.execute(cast("LiteralString", sql), values or None, binary=binary)


class PostgresConnection:
    """Statements in the words of the common rooms; as a context manager one moment: all reads inside see the same.

    Args:
        driver: the connection itself.
        renew: another one in its place, should the first command find that it is gone: nothing was done on it yet.
    """

    dialect = PostgresDialect()

    def __init__(self, driver: Driver, renew: Callable[[], Driver] | None = None) -> None:
        self._driver, self._renew = driver, renew
        self._committing = False

    @property
    def is_open(self) -> bool:
        """Whether the server is still there."""
        return self._driver.pgconn.status == pq.ConnStatus.OK

    @property
    def was_cut_off(self) -> bool:
        """Whether the server went away before it was told to commit: nothing was stored."""
        return not self.is_open and not self._committing

    def execute(self, statements: str, bindings: Sequence[object] | None = None) -> Cursor:
        """Run a statement with bound values; rows come in binary, which needs no parsing."""
        sql = translated(statements)
        return cast("Cursor", self._first(lambda driver: run(driver, sql, bindings, binary=True)))

    def _first(self, command: Callable[[Driver], T]) -> T:
        """A command; when it is the first one and finds the connection gone, on another."""
        renew, self._renew = self._renew, None
        try:
            return command(self._driver)
        except OperationalError:
            if renew is None or self.is_open:
                raise
        self._driver = renew()
        return command(self._driver)

    def tell(self, command: bytes) -> None:
        """Commands without values or answers, several in one message; after one that fails no transaction is open."""
        self._first(lambda driver: self._tell(driver, command))

    def _tell(self, driver: Driver, command: bytes) -> None:
        link = driver.pgconn
        result = link.exec_(command)
        if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            return
        if link.status == pq.ConnStatus.BAD:
            raise OperationalError(result.get_error_message())
        link.exec_(b"ROLLBACK")
        raise error_from_result(result)

    def streaming(self) -> AbstractContextManager[object]:
        """Statements are sent one after the other; only answers that are read are waited for, and at the end all of them."""
        return self._driver.pipeline()

    def commit(self) -> None:
        """End the transaction."""
        self._committing = True
        self.tell(b"COMMIT")

    def __enter__(self) -> PostgresConnection:
        self.tell(_MOMENT)
        return self

    def __exit__(self, kind: object, error: object, trace: object, /) -> None:
        if kind is None or self.is_open:
            self.tell(b"ROLLBACK")
