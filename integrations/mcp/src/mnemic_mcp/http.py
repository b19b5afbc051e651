"""Streamable HTTP: the server behind a socket, for those who know the token and come by a name of ours."""

from __future__ import annotations

import hmac
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from mnemic import ConfigurationError
from mnemic_mcp.options import LOOPBACK, Address

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

GRACE = 3
"""Seconds that open streams have when the server ends."""


class BearerToken:
    """Middleware that refuses every request without the token.

    Args:
        app: what the others reach.
        token: the secret.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, self._expected):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def listening(address: Address) -> socket.socket:
    """A socket at an address.

    Raises:
        ConfigurationError: nothing can listen there.
    """
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"Nothing can listen on {address.host}:{address.port}: {error.strerror or error}. Use another port with --http."
        ) from error


def _security(address: Address) -> TransportSecuritySettings:
    """The names a request may be for, and the pages it may come from: others are attempts to rebind a name."""
    names = dict.fromkeys((*LOOPBACK, address.host, socket.gethostname(), *address.names))
    hosts = [f"[{name}]" if ":" in name else name for name in names]
    allowed = [place for host in hosts for place in (host, f"{host}:*")]
    origins = [f"{scheme}://{place}" for scheme in ("http", "https") for place in allowed]
    return TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=origins)


async def serve(server: Server[Any], address: Address, listener: socket.socket) -> None:
    """Serve until the process is told to end."""
    app: Any = server.streamable_http_app(transport_security=_security(address), host=address.host)
    if address.token is not None:
        app = BearerToken(app, address.token)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE)
    host = f"[{address.host}]" if ":" in address.host else address.host
    sys.stderr.write(f"mnemic-mcp: serving http://{host}:{listener.getsockname()[1]}/mcp\n")
    sys.stderr.flush()
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn repeats a signal when it has ended
        signal.signal(number, signal.SIG_IGN)
    await uvicorn.Server(config).serve(sockets=[listener])
