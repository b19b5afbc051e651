"""Whose memory a call is about: the app, the user and the session that the program gave to the runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from google.adk.sessions import Session

from mnemic import AsyncMemory, ScopeSource
from mnemic.adapters import bound


class Caller(NamedTuple):
    """What a ``scope`` function is called with: the names that the program gave to the runner or the service.

    Attributes:
        app_name: of the app.
        user_id: of the user.
        session_id: of the session; None where a call has none, such as a search.
    """

    app_name: str
    user_id: str
    session_id: str | None = None


def as_named(caller: Caller) -> Mapping[str, str]:
    """The usual scope: the app is the project, the user is the user."""
    return {"user": caller.user_id, "project": caller.app_name}


def here(memory: AsyncMemory, scope: ScopeSource, caller: Caller) -> AsyncMemory:
    """The handle of a call: the user and project of the scope, the session of the framework unless one is given."""
    return bound(memory, scope, caller, session=caller.session_id)


def caller_of(session: Session) -> Caller:
    """The names of a session."""
    return Caller(session.app_name, session.user_id, session.id)
