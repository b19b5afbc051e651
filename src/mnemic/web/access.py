"""Who may use the explorer: hosts, a one-time token, sessions, and the headers that confine a page."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from markupsafe import escape
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, browsers send forms without their origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(slots=True)
class Access:
    """The secrets of one run of the explorer.

    Attributes:
        token: opens the first page once, and is void afterwards; None where another application decides who comes in.
        hosts: names that the server answers to, without port; None for all.
    """

    token: str | None = None
    hosts: Collection[str] | None = LOOPBACK
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    spent: bool = False

    @property
    def cookie(self) -> str:
        """The name of the session cookie: cookies do not tell ports apart, so each run has its own."""
        return f"mnemic_{sha256(self.secret).hexdigest()[:12]}"

    def session(self) -> str:
        """A new session: a random id, signed."""
        id_ = secrets.token_urlsafe(18)
        return f"{id_}.{self._signed(id_)}"

    def is_session(self, value: str) -> bool:
        """Whether a cookie is a session of this run."""
        id_, _, signature = value.partition(".")
        return hmac.compare_digest(signature.encode(), self._signed(id_).encode())

    def csrf(self, session: str) -> str:
        """The word that every form of a session sends back."""
        return self._signed(f"csrf {session}")

    def _signed(self, text: str) -> str:
        return hmac.new(self.secret, text.encode(), sha256).hexdigest()

    def redeem(self, token: str) -> bool:
        """Whether the token is the right one; it is void afterwards."""
        if self.spent or not self.token or not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self.spent = True
        return True


class Guard:
    """Middleware: refuses other hosts, other origins and strangers, and adds the headers that confine a page."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        session = _cookie(headers, self._access.cookie)
        admitted = self._access.is_session(session)
        if not admitted and self._access.token is None:
            session, admitted = self._access.session(), True
        response = self._refusal(scope, headers, admitted=admitted)
        scope.setdefault("state", {})["session"] = session

        async def confined(message: Message) -> None:
            if message["type"] == "http.response.start":
                response_headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    response_headers[name] = value
                if self._access.token is None and session != _cookie(headers, self._access.cookie):
                    response_headers.append("set-cookie", self._set_cookie(scope, session))
                message["headers"] = response_headers.raw
            await send(message)

        await (response or self._app)(scope, receive, confined)

    def _refusal(self, scope: Scope, headers: Headers, *, admitted: bool) -> Response | None:
        """The answer to a request that goes no further."""
        host = headers.get("host", "")
        if self._access.hosts is not None and _without_port(host) not in self._access.hosts:
            return PlainTextResponse("This server does not answer to that name.", 421)
        if scope["method"] not in ("GET", "HEAD") and urlsplit(headers.get("origin", "")).netloc != host:
            return PlainTextResponse("This request came from another site.", 403)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        token = query.pop("token", None)
        if token is not None and scope["method"] == "GET" and (admitted or self._access.redeem(token)):
            path = f"/{scope['path'].lstrip('/')}" + (f"?{urlencode(query)}" if query else "")
            response = RedirectResponse(path, 303)
            if (
                headers.get("sec-fetch-site") == "cross-site"
            ):  # opened from a file: a redirect would not send the cookie
                response = HTMLResponse(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(path)}">')
            if not admitted:
                response.headers["set-cookie"] = self._set_cookie(scope, self._access.session())
            return response
        if not admitted:
            text = "Open the link that mnemic ui printed. It works once; run mnemic ui again for another."
            return PlainTextResponse(text, 403)
        return None

    def _set_cookie(self, scope: Scope, session: str) -> str:
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        return (
            f"{self._access.cookie}={session}; Path={scope.get('root_path') or '/'}; HttpOnly; SameSite=Strict{secure}"
        )


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower()


def _cookie(headers: Headers, name: str) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie else ""
