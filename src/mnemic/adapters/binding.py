"""Shared code of framework adapters: the scope of a call, and search options fixed at construction."""

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
from mnemic.types import Scope, SearchFilters

__all__ = ["ScopeSource", "bound", "checked_options"]

ScopeSource: TypeAlias = Scope | Mapping[str, str] | Callable[[Any], Scope | Mapping[str, str]] | None
"""A scope, a mapping with ``user``, ``project`` or ``session``, or a function from a framework's call context to
one.
"""

Handle = TypeVar("Handle", Memory, AsyncMemory)

_NAMES = ("user", "project", "session")
_ANY_SCOPE = Scope(user="-", project="-", session="-")
"""A scope in which every reach is valid."""
_FILTERS = frozenset(SearchFilters.__annotations__)


def bound(memory: Handle, scope: ScopeSource, origin: object) -> Handle:
    """The handle for one call, scoped by the program and never by a model.

    Args:
        memory: the handle the adapter was made with; names missing from ``scope`` are taken from it.
        scope: a value, or a function called with ``origin``.
        origin: the call context of the framework: its runtime, config or context.

    Raises:
        InvalidInput: the scope is not usable, cannot be derived from ``origin``, or names a user that is None.
    """
    if scope is None:
        return memory
    return memory.scoped(**_names(_call_scope(scope, origin) if callable(scope) else scope))


def _call_scope(scope: Callable[[Any], Scope | Mapping[str, str]], origin: object) -> object:
    try:
        return scope(origin)
    except (AttributeError, LookupError, TypeError) as error:  # the context lacks what it reads
        raise InvalidInput(
            f"scope could not be read from the call ({type(error).__name__}: {error}). Pass what it reads, such as "
            "context= or config=; nothing was read or written."
        ) from error


def _names(value: object) -> dict[str, str]:
    """The names of a scope. A user of None must not fall back to the handle's own user."""
    if isinstance(value, Scope):
        value = {"user": value.user, "project": value.project, "session": value.session}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"scope must give a Scope or a mapping with some of {list(_NAMES)}, not {type(value).__name__}. "
            "Nothing was read or written."
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
    """Validate the search options of an adapter when it is made, rather than at each call.

    Args:
        method: ``Memory.search`` or ``Memory.get_memory_context``.
        given: arguments passed through to the method.
        own: arguments that the adapter names itself; they cannot be among ``given``.
        reserved: arguments that it sets at each call, such as ``query``.
        what: the argument of the adapter, for the error message.
        error: the error type to raise.

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
    known = sorted((_parameters(method) | _FILTERS) - {*reserved, *(own or {})})
    if unknown := sorted({*given} - {*known}):
        raise error(f"{place}unknown options {unknown}; known are {known}.")
    try:
        _check(values)
    except InvalidInput as wrong:
        raise error(f"{place}{wrong}") from wrong
    return values


@lru_cache
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters) - {"self", "filters"}


def _check(values: Mapping[str, Any]) -> None:
    """Validate values as a search would."""
    if "max_tokens" in values:
        validation.whole("max_tokens", values["max_tokens"], 1, validation.MAX_TOKENS)
    given = {name: value for name, value in values.items() if not callable(value)}  # a mood is computed at each call
    filters = {name: value for name, value in given.items() if name in _FILTERS}
    options = {name: value for name, value in given.items() if name in _parameters(validation.query)}
    defaults: dict[str, Any] = {"k": 1, "recipe": "conversation"}
    validation.query("-", scope=_ANY_SCOPE, zone=UTC, filters=filters, **{**defaults, **options})
