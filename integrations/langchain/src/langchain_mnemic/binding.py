"""Who the user is, and which options exist: what the program decides and a model never can."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory, Scope

__all__ = ["Handle", "ScopeSource", "bound", "checked", "unknown_options"]

ScopeSource: TypeAlias = Scope | Mapping[str, str] | Callable[[Any], Scope | Mapping[str, str]] | None
"""A scope, a mapping with ``user``, ``project`` or ``session``, or a function of the framework's runtime or config."""

Handle = TypeVar("Handle", Memory, AsyncMemory)

_NAMES = ("user", "project", "session")


def checked(memory: Memory) -> Memory:
    """The handle that an adapter is made with.

    Raises:
        ConfigurationError: it is not a ``Memory``.
    """
    if not isinstance(memory, Memory):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise ConfigurationError(
            f"memory must be a Memory, not {type(memory).__name__}. Hand over a Memory also where this is awaited: it is "
            "called on worker threads then. AsyncMemory.over(memory) is the same memory for code of your own."
        )
    return memory


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


def bound(memory: Handle, scope: ScopeSource, origin: object) -> Handle:
    """The handle for this call.

    Args:
        memory: the handle the adapter was made with; names that ``scope`` leaves out stay as they are there.
        scope: a value, or a function called with ``origin``.
        origin: the framework's runtime or config.

    Raises:
        InvalidInput: the scope is not usable, or names a user that is None.
    """
    if scope is None:
        return memory
    return memory.scoped(**_names(scope(origin) if callable(scope) else scope))


@lru_cache
def _parameters(method: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(method).parameters) - {"self"}


def unknown_options(method: Callable[..., object], options: Mapping[str, Any], *, reserved: tuple[str, ...]) -> str:
    """What is wrong with keyword arguments meant for a method of Memory; empty when nothing is."""
    known = sorted(_parameters(method) - {*reserved})
    unknown = sorted({*options} - {*known})
    return f"unknown options {unknown}; known are {known}." if unknown else ""
