"""The address of a database, and a connection that translates the shared SQL to PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, LiteralString, TypeAlias, TypeVar, cast
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg import OperationalError, ProgrammingError, pq
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import error_from_result

from mnemic.errors import ConfigurationError
from mnemic.stores.postgres.dialect import PostgresDialect, parameter

if TYPE_CHECKING:
    from mnemic.stores.sql.connection import Cursor


SCHEMA = "mnemic"
LONGEST = 63
"""Maximum bytes of a name in PostgreSQL."""
_PASSWORD = re.compile(
    r"(?P<name>\b(?:(?:ssl)?password|oauth_client_secret|scram_(?:client|server)_key)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)"
    r"|(?P<user>://[^\s:@/]*:)[^\s/]*(?=@)",
    re.IGNORECASE,
)
"""A password in a URL or connection string. Matched by position: a short password may be part of any word."""
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")


_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::\d*)?")
"""A host with its port, if any."""


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a record: connection parameters, schema, and display name."""

    parameters: dict[str, Any] = field(repr=False)
    schema: str
    name: str


def scrubbed(text: str) -> str:
    """Text of the driver with passwords masked."""
    return _PASSWORD.sub(r"\g<name>\g<user>***", text)


def _split(url: str) -> SplitResult:
    """The parts of a URL.

    Raises:
        ValueError: it is none, or a character of the password ended it.
    """
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2].split(",")
    if parts.fragment or "@" in parts.path or parts.netloc.count("@") > 1 or not all(map(_HOST.fullmatch, hosts)):
        raise ValueError(url)
    return parts


def address_of(url: str) -> Address:
    """Parse ``postgresql://user:password@host:port/database?schema=name``; everything but the scheme is optional.

    Missing parts come from the usual sources of PostgreSQL clients: PGHOST, PGPASSWORD, ~/.pgpass.

    Raises:
        ConfigurationError: the URL is invalid. The message does not quote it.
    """
    try:
        parts = _split(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        schema = dict(options).get("schema", SCHEMA)
        query = urlencode([(key, value) for key, value in options if key != "schema"], quote_via=quote)
        parameters = conninfo_to_dict(f"postgresql://{parts.netloc}{parts.path}?{query}")
    except (ValueError, ProgrammingError):
        # The driver's message quotes the invalid part, which may be the password.
        raise ConfigurationError(
            "The URL of the PostgreSQL database is invalid. Write postgresql://user:password@host:5432/database, with special "
            "characters of the password percent-encoded (%40 for @)."
        ) from None
    wait = str(parameters.get("connect_timeout") or 1)
    if not (wait.isascii() and wait.isdigit() and int(wait)):
        raise ConfigurationError(f"connect_timeout={wait!r:.20} is not a number of seconds from 1.")
    if not schema or len(schema.encode("utf-8", "replace")) > LONGEST or "\x00" in schema:
        raise ConfigurationError(f"schema={schema!r:.80} is not a schema name: give 1 to {LONGEST} bytes.")
    return Address(parameters, schema, _name(parameters, schema))


def _name(parameters: dict[str, Any], schema: str) -> str:
    """The URL without secrets, but with all other parameters such as ``sslmode``, so that it opens the same record."""
    options = {key: str(value) for key, value in sorted(parameters.items()) if value and key not in _SECRETS}
    user, database = quote(options.pop("user", ""), safe=""), quote(options.pop("dbname", ""), safe="")
    host = ""
    if all(c.isalnum() or c in "_.-" for c in options.get("host", "")):  # several hosts, or a socket, go into the query
        port = options.pop("port", "")
        host = options.pop("host", "") + (f":{port}" if port else "")
    query = urlencode({**options, "schema": schema}, safe="/", quote_via=quote)
    return f"postgresql://{f'{user}@' if user else ''}{host}/{database}?{query}"


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
        values = [*map(parameter, bindings or ())]
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
