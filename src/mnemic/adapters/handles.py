"""Handles that objects share: one for each location, found again when an object is restored from its serialised form.

So a folder is opened, and its embedder loaded, once a process.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from mnemic.adapters.binding import checked_location, names_of
from mnemic.errors import ConfigurationError, StoreClosed
from mnemic.memory import Memory
from mnemic.services.processes import process_lock
from mnemic.types import Scope

IN_MEMORY = ":memory:"
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
    given = checked_location(memory)
    with _LOCK:
        root = given if isinstance(given, Memory) else _opened(given, options or {}, record)
        name = next((name for name, known in _HANDLES.items() if known is root), uuid.uuid4().hex)
        _HANDLES[name] = root
    return Binding(root.scoped(**names), root, name)


def _opened(location: str | Path, options: Mapping[str, Any], record: str | None) -> Memory:
    """The handle of a location: the one that is open already, else a new one."""
    place = location if "://" in str(location) else Path(location).expanduser().absolute()
    seed = f"{place} {json.dumps(options, sort_keys=True, default=repr)}"
    name = uuid.uuid4().hex if str(location) == IN_MEMORY else hashlib.sha256(seed.encode()).hexdigest()
    if (known := _alive(record) or _alive(name)) is not None:
        return known
    if str(location) == IN_MEMORY and record is not None:
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
    if memory.admin.location == IN_MEMORY:
        raise ConfigurationError(
            'This memory is in RAM (":memory:"), where no other process and no later one finds it again: it cannot be '
            "serialised. Keep it in a folder: Memory(folder)."
        )
    return memory.admin.location
