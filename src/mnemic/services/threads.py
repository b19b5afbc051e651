"""Worker threads of an event loop, and an event loop on a background thread."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8
"""Maximum number of concurrent worker threads per event loop."""
POLL, SETTLING = 0.01, 60.0
"""Seconds between two looks at threads that are waited for, and seconds that they are waited for at most."""


class Limit:
    """The limit of worker threads of one event loop; abandoned threads count until they end."""

    def __init__(self, loop: Any) -> None:
        import anyio

        self.threads = anyio.CapacityLimiter(THREADS)
        self._loop, self._abandoned = loop, 0

    def abandon(self, change: int) -> None:
        """Change the number of abandoned threads."""
        self._abandoned += change
        free = max(0, THREADS - self._abandoned)
        try:
            self.threads.total_tokens = free
        except ValueError:  # older versions of anyio require at least one token
            self.threads.total_tokens = max(1, free)

    def finished(self) -> None:
        """Note the end of an abandoned thread; called in it."""
        soon = getattr(self._loop, "call_soon_threadsafe", None) or self._loop.run_sync_soon
        with suppress(RuntimeError):  # the loop has ended
            soon(self.abandon, -1)


class ThreadCall:
    """A call in a worker thread that its caller may abandon."""

    def __init__(self, call: Callable[[], Any], limit: Limit, abandoned: set[ThreadCall]) -> None:
        self._call, self._limit, self._abandoned = call, limit, abandoned
        self._begun = False
        self._first: dict[None, bool] = {}

    def __call__(self) -> Any:
        """Run the call; in the worker thread."""
        self._begun = True
        try:
            return self._call()
        finally:
            if not self._first.setdefault(None, True):  # the caller has abandoned it
                self._abandoned.discard(self)
                self._limit.finished()

    def abandon(self) -> None:
        """Note that the caller no longer waits, with or without the result."""
        if not self._begun:
            return
        self._abandoned.add(self)
        if self._first.setdefault(None, False):  # it has ended
            self._abandoned.discard(self)
        else:
            self._limit.abandon(+1)


class Workers:
    """Runs the calls of asynchronous code on worker threads; each event loop has its own limit."""

    def __init__(self) -> None:
        self._limits: WeakKeyDictionary[object, Limit] = WeakKeyDictionary()
        self._abandoned: set[ThreadCall] = set()

    async def run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call a function in a worker thread; a cancelled call returns at once, and its thread finishes the work."""
        import anyio.to_thread
        from anyio.lowlevel import current_token

        loop = current_token().native_token
        limit = self._limits.get(loop) or self._limits.setdefault(loop, Limit(loop))
        work = ThreadCall(partial(function, *args, **kwargs), limit, self._abandoned)
        try:
            return await anyio.to_thread.run_sync(work, limiter=limit.threads, abandon_on_cancel=True)
        finally:
            work.abandon()

    async def settle(self) -> None:
        """Wait until the threads of cancelled calls have ended."""
        import anyio

        with anyio.move_on_after(SETTLING):
            while self._abandoned:
                await anyio.sleep(POLL)


class OnWorkers:
    """Wraps an object whose methods block, and runs them on worker threads; a subclass lists them with `on_worker`."""

    def __init__(self, wrapped: Any, workers: Workers) -> None:
        self._wrapped, self._workers = wrapped, workers


def on_worker(
    method: Callable[Concatenate[Any, P], T], *, settled: bool = False
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The asynchronous form of a method, for a subclass of `OnWorkers`: the same arguments and documentation.

    ``settled``: after the threads of cancelled calls have ended.
    """

    @wraps(method)
    async def called(self: OnWorkers, *args: P.args, **kwargs: P.kwargs) -> T:
        workers, wrapped = self._workers, self._wrapped  # pyright: ignore[reportPrivateUsage] - our own class
        if settled:
            await workers.settle()
        return await workers.run(getattr(wrapped, method.__name__), *args, **kwargs)

    return called


class BackgroundLoop:
    """An event loop on a daemon thread that runs coroutines for blocking callers, which may be inside another running loop.

    The thread starts with the object. A coroutine sees the context variables of its caller. A blocking portal of anyio would
    not do: its thread is no daemon, and a program that ends without closing its memory would wait for ever.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._open: set[Future[Any]] = set()
        self._stopped = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `make` returns, and return its result.

        Raises:
            concurrent.futures.CancelledError: the loop was stopped.
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
            future.cancel()  # an interrupted caller cancels its coroutine
            self._open.discard(future)

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]], timeout: float) -> None:
        """Cancel running coroutines, run `last` for at most `timeout` seconds, and end the thread."""
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
        except Exception:  # noqa: BLE001, S110 - a connection that fails to close must not block the caller
            pass
        finally:
            self._loop.stop()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
