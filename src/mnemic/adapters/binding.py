"""Whose memory a call is about, arguments that are checked once for all calls, and handles that objects share.

There is one handle for each location, found again when an object is restored from its serialized form: a folder is
opened, and its embedder loaded, once a process.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from mnemic import paths, validation
from mnemic.aio import AsyncMemory
from mnemic.errors import ConfigurationError, InvalidInput, StoreClosed
from mnemic.memory import Memory
from mnemic.recall import query as queries
from mnemic.runtime.factory import check_location
from mnemic.services.processes import process_lock
from mnemic.types import Scope, SearchFilters

ScopeSource: TypeAlias = Scope | Mapping[str, str] | Callable[[Any], Scope | Mapping[str, str]] | None
"""A scope, a mapping with ``user``, ``project`` or ``session``, or a function from a framework's call context to
one.
"""

Handle = TypeVar("Handle", Memory, AsyncMemory)
"""A handle of either kind."""

_NAMES = ("user", "project", "session")
_ANY_SCOPE = Scope(user="-", project="-", session="-")
"""A scope in which every reach is valid."""
_FILTERS: frozenset[str] = SearchFilters.__required_keys__ | SearchFilters.__optional_keys__


def bound(memory: Handle, scope: ScopeSource, origin: object, *, session: str | None = None) -> Handle:
    """The handle for one call, scoped by the program and never by a model.

    Args:
        memory: the handle the adapter was made with; names missing from ``scope`` are taken from it.
        scope: a value, or a function called with ``origin``.
        origin: the call context of the framework: its runtime, config or context.
        session: the framework's thread, for a handle and a scope that name no session.

    Raises:
        InvalidInput: the scope is not usable, cannot be derived from ``origin``, or names a user that is None.
    """
    if scope is not None:
        memory = memory.scoped(**names_of(_call_scope(scope, origin) if callable(scope) else scope))
    return memory if session is None or memory.scope.session is not None else memory.scoped(session=session)


def _call_scope(scope: Callable[[Any], Scope | Mapping[str, str]], origin: object) -> object:
    try:
        return scope(origin)
    except (AttributeError, LookupError, TypeError) as error:  # the context lacks what it reads
        raise InvalidInput(
            f"scope could not be read from the call ({type(error).__name__}: {error}). Pass what it reads, such as "
            "context= or config=; nothing was read or written."
        ) from error


def names_of(value: object) -> dict[str, str]:
    """The names that a scope gives, as arguments of ``scoped``.

    Raises:
        InvalidInput: it is not a scope, or its user is None, which must not fall back to the handle's own user.
    """
    if isinstance(value, Scope):
        value = {"user": value.user, "project": value.project, "session": value.session}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"scope must give a Scope or a mapping with some of {list(_NAMES)}, not {type(value).__name__}. "
            "Nothing was read or written."
        )
    names: dict[object, Any] = {**value}
    if unknown := sorted(str(name) for name in names if name not in _NAMES):
        raise InvalidInput(f"scope knows {list(_NAMES)}, not {unknown}.")
    if "user" in names and names["user"] is None:
        raise InvalidInput("scope gave no user (None). Leave the key out for the handle's own user, or pass a name.")
    return {str(name): value_ for name, value_ in names.items() if value_ is not None}


def checked_memory(memory: object) -> Memory:
    """The handle that an adapter is made with.

    Raises:
        ConfigurationError: it is something else.
    """
    if not isinstance(memory, Memory):
        raise _not_a_memory("a Memory", memory)
    return memory


def checked_location(memory: object) -> Memory | str | Path:
    """The handle that an adapter is made with, or the location of a record; that of ``Memory()`` for None.

    Raises:
        ConfigurationError: it is something else.
    """
    if memory is None:
        return paths.memory_dir()
    if not isinstance(memory, (Memory, str, Path)):
        raise _not_a_memory("an open Memory or the location of one", memory)
    if not isinstance(memory, Memory):
        check_location(memory)
    return memory


def _not_a_memory(expected: str, value: object) -> ConfigurationError:
    hint = "Give Memory(folder)."
    if isinstance(value, AsyncMemory):
        hint = "Give a Memory: these classes offer both ways themselves, and AsyncMemory.over(memory) is for your own code."
    return ConfigurationError(
        f"memory must be {expected}, not {type(value).__module__}.{type(value).__qualname__}. {hint}"
    )


def as_async(memory: object) -> AsyncMemory:
    """The asynchronous face of a handle of either kind, for a framework that only awaits.

    Raises:
        ConfigurationError: it is no handle.
    """
    if not isinstance(memory, (Memory, AsyncMemory)):
        raise _not_a_memory("a Memory or an AsyncMemory", memory)
    return AsyncMemory.over(memory) if isinstance(memory, Memory) else memory


def checked_filters(
    method: Callable[..., object],
    filters: Mapping[str, Any] | None,
    *,
    reserved: tuple[str, ...] = (),
    **own: Any,
) -> dict[str, Any]:
    """Validate the filters and the other arguments of a search when an adapter is made, rather than at each call.

    Args:
        method: ``Memory.search`` or ``Memory.get_memory_context``.
        filters: fields of ``SearchFilters``.
        reserved: filters that the adapter sets at each call, such as ``exclude``.
        own: the other arguments.

    Returns:
        Both together.

    Raises:
        ConfigurationError: one is unknown, or its value cannot be used.

    Examples:
        >>> checked_filters(Memory.search, {"kinds": ["memory"]}, k=3)
        {'kinds': ['memory'], 'k': 3}
    """
    others = _parameters(method) - _FILTERS
    return checked_options(method, filters or {}, own=own, reserved=(*reserved, *others), what="filters")


def checked_options(
    method: Callable[..., object],
    options: Mapping[str, Any],
    *,
    own: Mapping[str, Any] | None = None,
    reserved: tuple[str, ...] = (),
    what: str = "",
) -> dict[str, Any]:
    """Validate the search options of an adapter when it is made, rather than at each call.

    Args:
        method: ``Memory.search`` or ``Memory.get_memory_context``.
        options: arguments passed through to the method.
        own: arguments that the adapter names itself; they cannot be among ``options``.
        reserved: arguments that it sets at each call, such as ``query``.
        what: the argument of the adapter, for the error message.

    Returns:
        ``options`` and ``own`` together.

    Raises:
        ConfigurationError: one is unknown, or its value cannot be used.

    Examples:
        >>> checked_options(Memory.search, {"kinds": ["memory"]}, own={"k": 3}, reserved=("query",))
        {'kinds': ['memory'], 'k': 3}
    """
    values = {**options, **(own or {})}
    prefix = f"{what}: " if what else ""
    accepted = sorted(_parameters(method) - {*reserved, *(own or {})})
    if unknown := sorted({*options} - {*accepted}):
        raise ConfigurationError(f"{prefix}unknown options {unknown}; known are {accepted}.")
    try:
        _check(values)
    except InvalidInput as error:
        raise ConfigurationError(f"{prefix}{error}") from error
    return values


@lru_cache
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    parameters = inspect.signature(function).parameters.values()
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
    return frozenset((named if len(named) == len(parameters) else named | _FILTERS) - {"self"})


def _check(values: Mapping[str, Any]) -> None:
    """Validate values as a search would."""
    for name, least, most in (("max_tokens", 1, queries.MAX_TOKENS), ("procedures", 0, queries.MAX_HITS)):
        validation.whole(name, values.get(name, least), least, most)
    fixed = {name: value for name, value in values.items() if not callable(value)}  # a mood is computed at each call
    filters = {name: value for name, value in fixed.items() if name in _FILTERS}
    options: dict[str, Any] = {"k": 1, "recipe": "conversation"}
    options |= {name: value for name, value in fixed.items() if name in _parameters(queries.query)}
    queries.query("-", scope=_ANY_SCOPE, zone=UTC, filters=filters, **options)


_HANDLES: WeakValueDictionary[str, Memory] = WeakValueDictionary()
"""Open handles by name: a digest of location and options (which may hold a password), or a random one."""
_LOCK = process_lock()


@dataclass(frozen=True, slots=True)
class Binding:
    """A handle for one scope, the handle it was made from, and the name under which that one is found again."""

    memory: Memory
    root: Memory
    record: str


def bind(
    memory: Memory | str | Path | None,
    scope: Scope | Mapping[str, str] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    record: str | None = None,
) -> Binding:
    """A handle for one scope.

    Args:
        memory: an open handle, or a location; None is the usual folder, for a scope with a user.
        scope: whose memory; names it leaves out are those of the handle.
        options: more keyword arguments of ``Memory`` for a location.
        record: the name of a binding made before in this process; used if its handle is still open.

    Raises:
        ConfigurationError: ``memory`` is neither, no user is given, or the record was in RAM and is gone.
        InvalidInput: the scope is not usable.
    """
    names = names_of(scope or {})
    if memory is None and "user" not in names:
        raise ConfigurationError(
            "Whose memory is this? Without an argument everybody would share one: give memory=, an open Memory or the folder "
            'of one, or scope={"user": ...} for $MNEMIC_DIR or ./memory.'
        )
    target = checked_location(memory)
    with _LOCK:
        root = target if isinstance(target, Memory) else _open_handle(target, options or {}, record)
        name = next((name for name, handle in _HANDLES.items() if handle is root), uuid.uuid4().hex)
        _HANDLES[name] = root
    return Binding(root.scoped(**names), root, name)


def _open_handle(location: str | Path, options: Mapping[str, Any], record: str | None) -> Memory:
    """The handle of a location: the one that is open already, else a new one."""
    path = location if "://" in str(location) else paths.path_of(location, error=ConfigurationError).absolute()
    seed = f"{path} {json.dumps(options, sort_keys=True, default=repr)}"
    name = uuid.uuid4().hex if str(location) == paths.IN_MEMORY else hashlib.sha256(seed.encode()).hexdigest()
    if (open_handle := _alive(record) or _alive(name)) is not None:
        return open_handle
    if str(location) == paths.IN_MEMORY and record is not None:
        raise ConfigurationError(
            "This memory was in the RAM of another process (or was closed) and cannot be opened again. Use a folder, "
            "or give the handle: from_dict(data, memory=handle)."
        )
    handle = _HANDLES[name] = Memory(location, **options)
    return handle


def _alive(name: str | None) -> Memory | None:
    """The handle of that name, unless it was closed."""
    handle = _HANDLES.get(name or "")
    if handle is not None:
        with suppress(StoreClosed):
            handle.messages(limit=1)
            return handle
    return None


def location_of(memory: Memory) -> str:
    """Where another process finds the record of a handle.

    Raises:
        ConfigurationError: nowhere, because it is in the RAM of this one.
    """
    if memory.admin.location == paths.IN_MEMORY:
        raise ConfigurationError(
            'This memory is in RAM (":memory:"), where no other process and no later one finds it again: it cannot be '
            "serialized. Keep it in a folder: Memory(folder)."
        )
    return memory.admin.location
