"""Threads that work for an event loop: so many at once, whoever still waits for them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Limit", "Limits", "Work"]

THREADS = 8
"""At once, for one event loop."""


class Limit:
    """How many threads work for one event loop; those that nobody waits for any more count until they end."""

    def __init__(self, loop: Any) -> None:
        import anyio

        self.threads = anyio.CapacityLimiter(THREADS)
        self._loop, self._abandoned = loop, 0

    def abandon(self, change: int) -> None:
        """So many more threads work for nobody."""
        self._abandoned += change
        free = max(0, THREADS - self._abandoned)
        try:
            self.threads.total_tokens = free
        except ValueError:  # older versions of anyio leave one place whatever happens
            self.threads.total_tokens = max(1, free)

    def ended(self) -> None:
        """One of them has ended; called in it."""
        soon = getattr(self._loop, "call_soon_threadsafe", None) or self._loop.run_sync_soon
        with suppress(RuntimeError):  # the loop has ended, and its limit with it
            soon(self.abandon, -1)


class Limits:
    """The limit of each event loop: a limiter belongs to the loop it was made in."""

    def __init__(self) -> None:
        self._of_loop: WeakKeyDictionary[object, Limit] = WeakKeyDictionary()

    def current(self) -> Limit:
        """The limit of the running loop."""
        from anyio.lowlevel import current_token

        loop = current_token().native_token
        if loop not in self._of_loop:
            self._of_loop[loop] = Limit(loop)
        return self._of_loop[loop]


class Work:
    """A call in a thread, and whether it is waited for."""

    def __init__(self, call: Callable[[], Any], limit: Limit) -> None:
        self._call, self._limit = call, limit
        self._begun = False
        self._first: dict[None, bool] = {}

    def __call__(self) -> Any:
        """Make the call; in a thread."""
        self._begun = True
        try:
            return self._call()
        finally:
            if not self._first.setdefault(None, True):  # the caller has left before
                self._limit.ended()

    def left(self) -> None:
        """The caller goes, with the result or without it."""
        if self._begun and not self._first.setdefault(None, False):
            self._limit.abandon(+1)
