"""An event loop on a thread of its own, for clients that are asynchronous while their callers are not."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["BackgroundLoop"]

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
