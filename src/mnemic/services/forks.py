"""A process that forks: what must be at rest meanwhile, and what begins anew in the child."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from mnemic.services.process import process_lock

__all__ = ["Resting", "renewed", "resting"]

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that a fork waits for work under way in other threads."""


class Resting(Protocol):
    """Holds what a child must not inherit."""

    def rest(self, until: float) -> None:
        """Let go of it, and hold everybody back; give up at a moment of ``time.monotonic``."""
        ...

    def wake(self) -> None:
        """Go on in the parent."""
        ...

    def renew(self) -> None:
        """Begin anew in the child; called before anything else runs there."""
        ...


_RENEWED: WeakValueDictionary[int, Any] = WeakValueDictionary()
_RENEWAL: dict[type, Callable[[Any], None]] = {}
_RESTING: WeakValueDictionary[int, Resting] = WeakValueDictionary()


def renewed(thing: T, renew: Callable[[T], None]) -> None:
    """Have what holds locks, threads or counts of the parent renewed in every child, for as long as it lives.

    ``renew`` is that of its class, so that it need not be a public method.
    """
    _RENEWAL[type(thing)] = renew
    _RENEWED[id(thing)] = thing


def resting(thing: Resting) -> None:
    """Have it rest at every fork, for as long as it lives."""
    _RESTING[id(thing)] = thing


_ONE_FORK = process_lock()
"""Held from before a fork until after it: two threads may fork at once."""


def _before() -> None:
    _ONE_FORK.acquire()
    until = time.monotonic() + PATIENCE
    for thing in _living(_RESTING):
        with suppress(BaseException):  # an interrupt: what could not rest is refused in the child
            thing.rest(until)


def _in_parent() -> None:
    for thing in _living(_RESTING):
        thing.wake()
    _ONE_FORK.release()


def _in_child() -> None:
    for thing in _living(_RESTING):
        thing.renew()
    for thing in _living(_RENEWED):
        _RENEWAL[type(thing)](thing)


def _living(things: WeakValueDictionary[int, T]) -> list[T]:
    """What is alive, always in one order: two threads that fork at once must not wait for each other."""
    found = ((ref.key, ref()) for ref in things.valuerefs())
    return [thing for _, thing in sorted(found, key=lambda one: one[0]) if thing is not None]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
