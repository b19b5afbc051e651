"""Parsing the URL of a database into connection parameters and a display name without secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from mnemic.errors import ConfigurationError

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


@dataclass(frozen=True, slots=True)
class Address:
    """The location of a record: connection parameters, schema, and display name."""

    parameters: dict[str, Any] = field(repr=False)
    schema: str
    name: str


def scrubbed(text: str) -> str:
    """Text of the driver with passwords masked."""
    return _PASSWORD.sub(r"\g<name>\g<user>***", text)


def address_of(url: str) -> Address:
    """Parse ``postgresql://user:password@host:port/database?schema=name``; everything but the scheme is optional.

    Missing parts come from the usual sources of PostgreSQL clients: PGHOST, PGPASSWORD, ~/.pgpass.

    Raises:
        ConfigurationError: the URL is invalid. The message does not quote it.
    """
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        schema = dict(options).get("schema", SCHEMA)
        kept = urlencode([(key, value) for key, value in options if key != "schema"], quote_via=quote)
        parameters = conninfo_to_dict(f"postgresql://{parts.netloc}{parts.path}?{kept}")
    except (ValueError, ProgrammingError):
        # The driver's message quotes the invalid part, which may be the password.
        raise ConfigurationError(
            "The URL of the PostgreSQL database is invalid. Write postgresql://user:password@host:5432/database, with special "
            "characters of the password percent-encoded (%40 for @)."
        ) from None
    if not schema or len(schema.encode("utf-8", "replace")) > LONGEST or "\x00" in schema:
        raise ConfigurationError(f"schema={schema!r:.80} is not a schema name: give 1 to {LONGEST} bytes.")
    return Address(parameters, schema, _name(parameters, schema))


def _name(parameters: dict[str, Any], schema: str) -> str:
    """The URL without secrets, but with all other parameters such as ``sslmode``, so that it opens the same record."""
    rest = {key: str(value) for key, value in sorted(parameters.items()) if value and key not in _SECRETS}
    user, database = quote(rest.pop("user", ""), safe=""), quote(rest.pop("dbname", ""), safe="")
    where = ""
    if all(c.isalnum() or c in "_.-" for c in rest.get("host", "")):  # several hosts, or a socket, go into the query
        port = rest.pop("port", "")
        where = rest.pop("host", "") + (f":{port}" if port else "")
    query = urlencode({**rest, "schema": schema}, safe="/", quote_via=quote)
    return f"postgresql://{f'{user}@' if user else ''}{where}/{database}?{query}"
