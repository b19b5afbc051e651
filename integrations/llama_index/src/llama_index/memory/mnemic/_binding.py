"""From ``memory=, user=, project=`` to a handle that is bound to one user.

Objects that name the same folder share one handle, so that a folder is opened (and its embedder loaded) once a process,
and an object restored from its serialised form finds the handle it had before.
"""

from __future__ import annotations

import inspect
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from mnemic import AsyncMemory, ConfigurationError, Memory, StoreClosed

__all__ = ["Binding", "bind", "checked", "given_memory", "location_of"]

IN_MEMORY = ":memory:"

_OPEN: WeakValueDictionary[str, Memory] = WeakValueDictionary()
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Binding:
    """A handle for one user, the handle it was made from, and the name under which that one is found again."""

    memory: Memory
    root: Memory
    record: str


def given_memory(value: object, *, folder: bool = True) -> Memory | str | Path:
    """The value, if it is an open memory or, unless ``folder`` is false, the folder of one.

    Raises:
        ConfigurationError: it is neither.
    """
    if isinstance(value, AsyncMemory):
        raise ConfigurationError(
            "memory must be a Memory, not an AsyncMemory: these classes offer both ways themselves. Open a Memory and give "
            "it here; AsyncMemory.over(memory) is the asynchronous face of the same record."
        )
    if not isinstance(value, (Memory, str, Path) if folder else Memory):
        wanted = "an open mnemic.Memory or the folder of one" if folder else "an open mnemic.Memory"
        raise ConfigurationError(
            f"memory must be {wanted}, not {type(value).__module__}.{type(value).__qualname__}. Give Memory(folder)."
        )
    return value


def bind(
    memory: Memory | str | Path,
    *,
    user: str | None = None,
    project: str | None = None,
    session: str | None = None,
    options: Mapping[str, Any] | None = None,
    record: str | None = None,
) -> Binding:
    """A handle for one user.

    Args:
        memory: an open handle, or where the record is.
        user: whose memory; ``None`` is the user of the handle, or ``"default"`` for a location.
        project: as for ``Memory``; ``None`` keeps the handle's.
        session: the conversation the handle is bound to; ``None`` keeps the handle's.
        options: more keyword arguments of ``Memory`` for opening a location.
        record: the name of a binding made before in this process; used if that handle is still open.

    Raises:
        ConfigurationError: ``memory`` is neither, or the record was in memory only and is gone.
    """
    memory = given_memory(memory)
    if isinstance(memory, Memory):
        root, name = memory, _remembered(memory)
    else:
        root, name = _opened(memory, dict(options or {}), record)
    names = {"user": user, "project": project, "session": session}
    return Binding(root.scoped(**{level: given for level, given in names.items() if given is not None}), root, name)


def _remembered(handle: Memory) -> str:
    """The name of a handle the caller opened; a new one when it has none yet."""
    with _LOCK:
        for name, known in _OPEN.items():
            if known is handle:
                return name
        name = uuid.uuid4().hex
        _OPEN[name] = handle
        return name


def _opened(location: str | Path, options: dict[str, Any], record: str | None) -> tuple[Memory, str]:
    """The handle of a location: the one that is open already, else a new one."""
    with _LOCK:
        if record is not None and (known := _alive(record)) is not None:
            return known, record
        if str(location) == IN_MEMORY:
            if record is not None:
                raise ConfigurationError(
                    "This memory was kept in the memory of another process (or was closed) and cannot be opened again. "
                    "Use a folder, or give the handle: from_dict(data, memory=handle)."
                )
            name = uuid.uuid4().hex
        else:
            name = f"{Path(location).expanduser().absolute()} {json.dumps(options, sort_keys=True, default=repr)}"
            if (known := _alive(name)) is not None:
                return known, name
        handle = Memory(location, **options)
        _OPEN[name] = handle
        return handle, name


def _alive(name: str) -> Memory | None:
    """The handle of that name, unless it was closed."""
    handle = _OPEN.get(name)
    if handle is None:
        return None
    try:
        handle.messages(limit=1)
    except StoreClosed:
        return None
    return handle


def location_of(memory: Memory) -> str:
    """Where the record of a handle is, in the form its constructor takes."""
    location = memory.stats().location
    return location if location == IN_MEMORY else str(Path(location).parent)


def checked(method: Callable[..., object], arguments: Mapping[str, Any], *, reserved: Iterable[str]) -> dict[str, Any]:
    """Keyword arguments for a method of ``Memory``, known by name.

    Raises:
        ConfigurationError: one of them is unknown, or is set by this class itself.
    """
    known = set(inspect.signature(method).parameters) - {"self", *reserved}
    if unknown := sorted(set(arguments) - known):
        raise ConfigurationError(f"{unknown} cannot be given here; these can: {sorted(known)}.")
    return dict(arguments)
