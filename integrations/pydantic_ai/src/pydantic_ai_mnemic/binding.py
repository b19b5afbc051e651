"""Who the user is, and which options exist: what the program decides and a model never can."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory, Scope

__all__ = ["ScopeSource", "bound", "face_of", "unknown_options"]

ScopeSource: TypeAlias = Scope | Mapping[str, str] | Callable[[Any], Scope | Mapping[str, str]] | None
"""A scope, a mapping with ``user``, ``project`` or ``session``, or a function of a ``RunContext``."""

Handle = TypeVar("Handle", Memory, AsyncMemory)

_NAMES = ("user", "project", "session")


def face_of(memory: object) -> AsyncMemory:
    """The asynchronous face of a handle of either kind.

    Raises:
        ConfigurationError: it is no handle.
    """
    if isinstance(memory, AsyncMemory):
        return memory
    if isinstance(memory, Memory):
        return AsyncMemory.over(memory)
    raise ConfigurationError(
        f"memory must be a Memory or an AsyncMemory, not {memory!r:.80}. "
        'Open one, such as Memory("./memory", user="ana"), and give that.'
    )


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
        origin: a ``RunContext``.

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
