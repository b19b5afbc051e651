"""From ``memory=, user=, project=`` to a handle that is bound to one user.

Objects that name the same folder share one handle, so that a folder is opened (and its embedder loaded) once a process,
and an object restored from its serialised form finds the handle it had before.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from mnemic import AsyncMemory, ConfigurationError, Memory, StoreClosed

__all__ = ["Binding", "bind", "given_memory", "location_of"]

IN_MEMORY = ":memory:"
FOLDER = "./memory"
"""Where a user's memory is when only the user is named."""

_OPEN: WeakValueDictionary[str, Memory] = WeakValueDictionary()
"""Handles by where their record is and how it was opened: that may hold a password, and leaves this process nowhere."""
_KNOWN: WeakValueDictionary[str, Memory] = WeakValueDictionary()
"""Handles by the name under which serialised objects find them again."""
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
    memory: Memory | str | Path | None,
    *,
    user: str | None = None,
    project: str | None = None,
    session: str | None = None,
    options: Mapping[str, Any] | None = None,
    record: str | None = None,
) -> Binding:
    """A handle for one user.

    Args:
        memory: an open handle, or where the record is; ``None`` is the usual folder, for a user who is named.
        user: whose memory; ``None`` is the user of the handle, or ``"default"`` for a location.
        project: as for ``Memory``; ``None`` keeps the handle's.
        session: the conversation the handle is bound to; ``None`` keeps the handle's.
        options: more keyword arguments of ``Memory`` for opening a location.
        record: the name of a binding made before in this process; used if that handle is still open.

    Raises:
        ConfigurationError: ``memory`` is neither, neither memory nor user is given, or the record was in memory only and is
            gone.
    """
    if memory is None and user is None:
        raise ConfigurationError(
            "Whose memory is this? Without an argument everybody would share one: give memory=, an open Memory or the folder "
            f"of one, or user= for {FOLDER}."
        )
    memory = given_memory(FOLDER if memory is None else memory)
    root = memory if isinstance(memory, Memory) else _opened(memory, dict(options or {}), record)
    names = {"user": user, "project": project, "session": session}
    handle = root.scoped(**{level: given for level, given in names.items() if given is not None})
    return Binding(handle, root, _remembered(root))


def _remembered(handle: Memory) -> str:
    """The name of a handle; a new one when it has none yet."""
    with _LOCK:
        for name, known in _KNOWN.items():
            if known is handle:
                return name
        name = uuid.uuid4().hex
        _KNOWN[name] = handle
        return name


def _opened(location: str | Path, options: dict[str, Any], record: str | None) -> Memory:
    """The handle of a location: the one that is open already, else a new one."""
    with _LOCK:
        if record is not None and (known := _alive(_KNOWN.get(record))) is not None:
            return known
        if str(location) == IN_MEMORY:
            if record is not None:
                raise ConfigurationError(
                    "This memory was kept in the memory of another process (or was closed) and cannot be opened again. "
                    "Use a folder, or give the handle: from_dict(data, memory=handle)."
                )
            return Memory(location, **options)
        place = location if "://" in str(location) else Path(location).expanduser().absolute()
        name = f"{place} {json.dumps(options, sort_keys=True, default=repr)}"
        if (known := _alive(_OPEN.get(name))) is not None:
            return known
        handle = _OPEN[name] = Memory(location, **options)
        return handle


def _alive(handle: Memory | None) -> Memory | None:
    """The handle, unless it was closed."""
    if handle is None:
        return None
    try:
        handle.messages(limit=1)
    except StoreClosed:
        return None
    return handle


def location_of(memory: Memory) -> str:
    """Where another process finds the record of a handle.

    Raises:
        ConfigurationError: nowhere, because it is in the memory of this one.
    """
    if memory.location == IN_MEMORY:
        raise ConfigurationError(
            'This memory is in RAM (":memory:"), where no other process and no later one finds it again: it cannot be '
            "serialised. Keep it in a folder: Memory(folder)."
        )
    return memory.location
