"""From the address of a database to what connects there, and to a name that gives no password away."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from mnemic.errors import ConfigurationError

__all__ = ["Address", "address_of", "scrubbed"]

SCHEMA = "mnemic"
LONGEST = 63
"""Bytes of a name in PostgreSQL."""
_GIVEN = re.compile(
    r"(?P<name>\b(?:(?:ssl)?password|oauth_client_secret|scram_(?:client|server)_key)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)"
    r"|(?P<user>://[^\s:@/]*:)[^\s/]*(?=@)",
    re.IGNORECASE,
)
"""A password where an address or a list of parameters has one. A short one may be a piece of any word."""
_PLAIN_HOST = re.compile(r"[\w.-]*")
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a record is: the parameters of a connection, the schema, and the name for people."""

    parameters: dict[str, Any] = field(repr=False)
    schema: str
    name: str


def scrubbed(text: str) -> str:
    """Text of the driver without the passwords of addresses in it."""
    return _GIVEN.sub(r"\g<name>\g<user>***", text)


def address_of(url: str) -> Address:
    """Read ``postgresql://user:password@host:port/database?schema=name``; all but the scheme may be left out.

    What the address does not say comes from where every PostgreSQL client looks: PGHOST, PGPASSWORD, ~/.pgpass.

    Raises:
        ConfigurationError: it cannot be read. The message does not quote it.
    """
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        schema = dict(options).get("schema", SCHEMA)
        kept = urlencode([(key, value) for key, value in options if key != "schema"], quote_via=quote)
        parameters = conninfo_to_dict(f"postgresql://{parts.netloc}{parts.path}?{kept}")
    except (ValueError, ProgrammingError):
        # The driver quotes what it cannot read, and that may be the password.
        raise ConfigurationError(
            "The address of the PostgreSQL database cannot be read. Write postgresql://user:password@host:5432/database, "
            "with special characters of the password in percent notation (%40 for @)."
        ) from None
    if not schema or len(schema.encode("utf-8", "replace")) > LONGEST or "\x00" in schema:
        raise ConfigurationError(f"schema={schema!r:.80} is not a name of a schema: give 1 to {LONGEST} bytes.")
    return Address(parameters, schema, _name(parameters, schema))


def _name(parameters: dict[str, Any], schema: str) -> str:
    """The address without its secrets; with everything else, such as ``sslmode``, so that it opens the record the same way."""
    rest = {key: str(value) for key, value in sorted(parameters.items()) if value and key not in _SECRETS}
    user, database = quote(rest.pop("user", ""), safe=""), quote(rest.pop("dbname", ""), safe="")
    where = ""
    if _PLAIN_HOST.fullmatch(
        rest.get("host", "")
    ):  # of several hosts, and of a socket, host and port go into the query
        port = rest.pop("port", "")
        where = rest.pop("host", "") + (f":{port}" if port else "")
    query = urlencode({**rest, "schema": schema}, safe="/", quote_via=quote)
    return f"postgresql://{f'{user}@' if user else ''}{where}/{database}?{query}"
