"""A connection that translates the shared SQL to PostgreSQL."""

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

from mnemic.stores.postgres.dialect import PostgresDialect, bound

if TYPE_CHECKING:
    from mnemic.stores.sql.connection import Cursor

_MARK = re.compile(r"\?(\d*)")
_LIST = re.compile(r"IN \(SELECT value FROM json_each\((\$\d+)\)\)")
_GROUPED = re.compile(r"json_group_array\((\w+)\)")


@lru_cache(maxsize=2_000)
def to_postgres(statement: str) -> str:
    """A statement with numbered parameters, and arrays instead of JSON lists; cached, because statements are constants."""
    numbers = count(1)
    statement = _MARK.sub(lambda mark: f"${mark[1] or next(numbers)}", statement)
    statement = _LIST.sub(r"= ANY(\1)", statement)
    return _GROUPED.sub(r"coalesce(json_agg(\1 ORDER BY \1), '[]')::text", statement)


T = TypeVar("T")

Driver: TypeAlias = psycopg.Connection[tuple[Any, ...]]

# Readers lock ``vectors`` before their snapshot begins, so that header and vectors match while ``reembed`` swaps the tables.
_MOMENT = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE vectors IN ACCESS SHARE MODE"


def run(
    driver: Driver, sql: str, values: Sequence[object] | None = None, *, binary: bool = False
) -> psycopg.Cursor[tuple[Any, ...]]:
    """Run a statement made of constants, with bound values."""
    return driver.execute(cast("LiteralString", sql), values or None, binary=binary)


class PostgresConnection:
    """A connection for the shared SQL; as a context manager it is one snapshot.

    Args:
        driver: the psycopg connection.
        renew: returns a replacement if the first command finds the connection lost: nothing was done on it yet.
    """

    dialect = PostgresDialect()

    def __init__(self, driver: Driver, renew: Callable[[], Driver] | None = None) -> None:
        self._driver, self._renew = driver, renew
        self._committing = False

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._driver.pgconn.status == pq.ConnStatus.OK

    @property
    def was_cut_off(self) -> bool:
        """Whether the connection was lost before COMMIT: nothing was stored."""
        return not self.is_open and not self._committing

    def execute(self, statements: str, bindings: Sequence[object] | None = None) -> Cursor:
        """Run a statement with bound values; rows arrive in binary, which needs no parsing."""
        sql = to_postgres(statements)
        values = [*map(bound, bindings or ())]
        return cast("Cursor", self._retry_first(lambda driver: run(driver, sql, values, binary=True)))

    def _retry_first(self, command: Callable[[Driver], T]) -> T:
        """Run a command; if it is the first one and the connection is lost, repeat it on a new one."""
        renew, self._renew = self._renew, None
        try:
            return command(self._driver)
        except OperationalError:
            if renew is None or self.is_open:
                raise
        self._driver = renew()
        return command(self._driver)

    def command(self, command: bytes) -> None:
        """Run commands without values or results, in one message; after a failure the transaction is rolled back."""
        self._retry_first(lambda driver: self._run_command(driver, command))

    def _run_command(self, driver: Driver, command: bytes) -> None:
        link = driver.pgconn
        result = link.exec_(command)
        if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            return
        if link.status == pq.ConnStatus.BAD:
            raise OperationalError(result.get_error_message())
        link.exec_(b"ROLLBACK")
        raise error_from_result(result)

    def pipeline(self) -> AbstractContextManager[object]:
        """Send statements without waiting for their results, except those that are read."""
        return self._driver.pipeline()

    def commit(self) -> None:
        """Commit the transaction."""
        self._committing = True
        self.command(b"COMMIT")

    def __enter__(self) -> PostgresConnection:
        self.command(_MOMENT)
        return self

    def __exit__(self, kind: object, error: object, trace: object, /) -> None:
        if kind is None or self.is_open:
            self.command(b"ROLLBACK")
