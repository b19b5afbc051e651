"""Scopes (user, project, session), checked once when a handle is made."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from mnemic.errors import InvalidInput
from mnemic.text.values import check_name
from mnemic.types import Scope


def _name(what: str, value: str) -> str:
    """The checked name, unchanged: names that differ in one code point are different names."""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise InvalidInput(f"{what} must be a string, not {type(value).__name__}.")
    if not value:
        raise InvalidInput(f"{what} must not be empty.")
    check_name(what, value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} holds a lone surrogate, which cannot be stored; names are never altered."
        ) from error
    return value


def scope(user: str, project: str | None = None, session: str | None = None) -> Scope:
    """A checked scope.

    Raises:
        InvalidInput: a name is not a string, is empty, too long or cannot be encoded.
    """
    return Scope(
        user=_name("user", user),
        project=None if project is None else _name("project", project),
        session=None if session is None else _name("session", session),
    )


def new_session() -> str:
    """A unique name for a new conversation, ``session_{timestamp}_{random}``, sortable by time.

    Examples:
        >>> from mnemic import new_session
        >>> new_session()[:10]  # all of it: session_20260309T180500Z_5f0c1a9e
        'session_20'
    """
    return f"session_{datetime.now(UTC):%Y%m%dT%H%M%SZ}_{secrets.token_hex(4)}"
