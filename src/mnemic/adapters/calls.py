"""Calls from blocking and from asynchronous frameworks, and their runs, during which no idle work is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ParamSpec, TypeVar, cast

from mnemic.aio import AsyncMemory
from mnemic.errors import ConfigurationError
from mnemic.lifecycle.idle import IdleTrigger
from mnemic.memory import Memory
from mnemic.services.processes import process_lock
from mnemic.services.threads import Workers
from mnemic.types import Receipts

logger = logging.getLogger("mnemic.adapters")

P = ParamSpec("P")
T = TypeVar("T")

_WORKERS = Workers()


class _Immediate:
    """The calls of ``AsyncMemory`` that adapters share, done on the caller's thread before they return."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._memory, name)(*args, **kwargs)

        return call


def blocking(memory: Memory, work: Callable[[AsyncMemory], Coroutine[Any, Any, T]]) -> T:
    """Do asynchronous work on the caller's thread, without an event loop: every call of the memory blocks.

    Args:
        memory: the handle.
        work: awaits nothing but methods of what it is given.

    Raises:
        ConfigurationError: it awaited something else.

    Examples:
        >>> memory = Memory(":memory:", embedder="hashing")
        >>> blocking(memory, lambda memory: memory.messages())
        []
    """
    coroutine = work(cast("AsyncMemory", _Immediate(memory)))
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise ConfigurationError(
        "blocking() has no event loop: its work may await only methods of the memory that it is given, and this work awaited "
        "something else. Run it in an event loop, with AsyncMemory.over(memory)."
    )


async def in_worker(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking work off the event loop: what calls the memory several times, or reads a whole thread.

    Args:
        work: what to do, with a ``Memory``.
        *args: for it.
        **kwargs: for it.

    Examples:
        >>> import asyncio
        >>> asyncio.run(in_worker(Memory(":memory:", embedder="hashing").messages))
        []
    """
    return await _WORKERS.run(work, *args, **kwargs)


def log_rejected(receipts: Receipts) -> None:
    """Log the messages that the record did not take."""
    for receipt in receipts.rejected:
        logger.warning("Not remembered: %s: %s", receipt.id, receipt.reason)


def run_of(memory: Memory | AsyncMemory, *, idle: bool) -> AbstractContextManager[None]:
    """A run of a framework: no idle work until it ends, however it ends; nothing with ``idle=False``.

    Its session is summarized when idle.
    """
    return memory.idle.run(memory.scope) if idle else nullcontext()


class OpenRuns:
    """The runs under way of a framework that reports starts and ends as events. Each counts once."""

    def __init__(self) -> None:
        self._open: dict[Hashable, IdleTrigger] = {}
        self._lock = process_lock()

    @property
    def keys(self) -> list[Any]:
        """What is under way."""
        with self._lock:
            return [*self._open]

    def begin(self, key: Hashable, trigger: IdleTrigger) -> None:
        """A run starts."""
        with self._lock:
            if key in self._open:
                return
            self._open[key] = trigger
        trigger.begin()

    def end(self, key: Hashable) -> None:
        """A run ended; nothing if it is not under way."""
        with self._lock:
            trigger = self._open.pop(key, None)
        if trigger is not None:
            trigger.end()
