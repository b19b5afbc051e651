"""Threads that work for an event loop, and an event loop on a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = [
    "BackgroundLoop",
    "Limit",
    "Limits",
    "Work",
]

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


T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines one caller hands over while it waits; callers may be in a running loop of their own.

    The thread is a daemon and starts with the object. A coroutine sees the context variables of its caller.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._open: set[Future[Any]] = set()
        self._stopped = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `make` gives and return its result.

        Raises:
            concurrent.futures.CancelledError: the loop was stopped before or meanwhile.
        """
        with self._lock:
            future: Future[T] = Future()
            if self._stopped:
                future.cancel()
            else:
                future = asyncio.run_coroutine_threadsafe(make(), self._loop)
                self._open.add(future)
        try:
            return future.result()
        finally:
            future.cancel()  # an interrupted caller does not leave its coroutine behind
            self._open.discard(future)

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]], timeout: float) -> None:
        """Cancel what runs, then run `last` for at most `timeout` seconds, then end the thread."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        asyncio.run_coroutine_threadsafe(self._wind_up(last, timeout), self._loop)
        self._thread.join(2 * timeout)
        for future in list(self._open):
            future.cancel()

    async def _wind_up(self, last: Callable[[], Coroutine[Any, Any, None]], timeout: float) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        try:
            async with asyncio.timeout(timeout):
                await asyncio.gather(*running, return_exceptions=True)
                await last()
                await self._loop.shutdown_asyncgens()
        except Exception:  # noqa: BLE001, S110 - a connection that cannot be closed must not keep the caller
            pass
        finally:
            self._loop.stop()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
