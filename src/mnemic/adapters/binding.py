"""What the adapters of all frameworks share: whose memory a call is about, and arguments that are given once for all calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from mnemic.aio import AsyncMemory
from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.memory import Memory
from mnemic.recall import validation
from mnemic.types import Scope

__all__ = ["ScopeSource", "bound", "checked_options"]

ScopeSource: TypeAlias = Scope | Mapping[str, str] | Callable[[Any], Scope | Mapping[str, str]] | None
"""A scope, a mapping with ``user``, ``project`` or ``session``, or a function of what a framework knows of a call."""

Handle = TypeVar("Handle", Memory, AsyncMemory)

_NAMES = ("user", "project", "session")
_NOWHERE = Scope(user="-", project="-", session="-")
"""Every reach is possible there."""
_FILTER_OF = {"session": "in_session", "include_expired": "expired"}
"""How the filters call arguments of ``Memory``; all others have one name."""
_USUAL: Mapping[str, Any] = {
    "kinds": ("message", "memory"), "reach": "project+global", "k": 1, "recipe": "conversation", "now": None,
}  # fmt: skip


def bound(memory: Handle, scope: ScopeSource, origin: object) -> Handle:
    """The handle for one call, by what the program says of it: no model has a say in whose memory it is.

    Args:
        memory: the handle the adapter was made with; names that ``scope`` leaves out stay as they are there.
        scope: a value, or a function called with ``origin``.
        origin: what the framework knows of the call: its runtime, its config, its context.

    Raises:
        InvalidInput: the scope is not usable, cannot be told from ``origin``, or names a user that is None.
    """
    if scope is None:
        return memory
    return memory.scoped(**_names(_given(scope, origin) if callable(scope) else scope))


def _given(scope: Callable[[Any], Scope | Mapping[str, str]], origin: object) -> object:
    try:
        return scope(origin)
    except (AttributeError, LookupError, TypeError) as error:  # it reads what was not given
        raise InvalidInput(
            f"scope could not say whose memory this is ({type(error).__name__}: {error}). Give the call what it reads, such "
            "as context= or config=; nothing was read or written."
        ) from error


def _names(value: object) -> dict[str, str]:
    """The names a scope gives. A user that is asked for and missing must not become the handle's own."""
    if isinstance(value, Scope):
        value = {"user": value.user, "project": value.project, "session": value.session}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"scope must give a Scope or a mapping with some of {list(_NAMES)}, not {type(value).__name__}. "
            "Without it nobody knows whose memory this is; nothing was read or written."
        )
    given: dict[object, Any] = {**value}
    if unknown := sorted(str(name) for name in given if name not in _NAMES):
        raise InvalidInput(f"scope knows {list(_NAMES)}, not {unknown}.")
    if "user" in given and given["user"] is None:
        raise InvalidInput("scope gave no user (None). Leave the key out for the handle's own user, or pass a name.")
    return {str(name): name_ for name, name_ in given.items() if name_ is not None}


def checked_options(
    method: Callable[..., object],
    given: Mapping[str, Any],
    *,
    own: Mapping[str, Any] | None = None,
    reserved: tuple[str, ...] = (),
    what: str = "",
    error: type[ConfigurationError | InvalidInput] = ConfigurationError,
) -> dict[str, Any]:
    """Arguments that an adapter takes once and hands to every call, refused when they are given and not when they are used.

    Args:
        method: ``Memory.search`` or ``Memory.get_memory_context``.
        given: arguments of the method that the adapter takes as they are.
        own: those that it has arguments of its own for; they cannot be among ``given``.
        reserved: those that it sets itself at each call, such as ``query``.
        what: the argument of the adapter that is at fault, for the message.
        error: what is raised.

    Returns:
        ``given`` and ``own`` together.

    Raises:
        ConfigurationError: one is unknown, or its value cannot be used.

    Example:
        >>> checked_options(Memory.search, {"kinds": ["memory"]}, own={"k": 3}, reserved=("query",))
        {'kinds': ['memory'], 'k': 3}
    """
    values = {**given, **(own or {})}
    place = f"{what}: " if what else ""
    known = sorted(_parameters(method) - {*reserved, *(own or {})})
    if unknown := sorted({*given} - {*known}):
        raise error(f"{place}unknown options {unknown}; known are {known}.")
    try:
        _check(values)
    except InvalidInput as wrong:
        raise error(f"{place}{wrong}") from wrong
    return values


@lru_cache
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters) - {"self"}


def _check(values: Mapping[str, Any]) -> None:
    """Look at values as a search would."""
    if "max_tokens" in values:
        validation.whole("max_tokens", values["max_tokens"], 1, validation.MAX_TOKENS)
    given = {name: value for name, value in values.items() if not callable(value)}  # a mood is asked for at each call
    named = {**_USUAL, **{_FILTER_OF.get(name, name): value for name, value in given.items()}}
    of_filters, of_query = (
        {name: value for name, value in named.items() if name in _parameters(function)}
        for function in (validation.filters, validation.query)
    )
    filters = validation.filters(_NOWHERE, UTC, **of_filters)
    validation.query("-", filters=filters, zone=UTC, **of_query)
