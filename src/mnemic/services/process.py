"""Locks and values that belong to one process: both stay usable after a fork."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PerProcess", "ProcessLock"]

T = TypeVar("T")


class ProcessLock:
    """A lock of which every process has its own.

    A plain lock that another thread held while the process forked stays locked in the child for ever.
    """

    def __init__(self) -> None:
        self._locks: dict[int, Lock] = {}

    def __enter__(self) -> None:
        pid = os.getpid()
        (self._locks.get(pid) or self._locks.setdefault(pid, Lock())).acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._locks[os.getpid()].release()


class PerProcess(Generic[T]):
    """A value made once in each process, by the first thread that asks for it.

    Model runtimes and event loops own threads, and threads do not survive a fork: a child makes its own. The parent's
    value is kept in the child untouched, because taking it apart would wait for threads that are not there.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._lock = ProcessLock()

    def get(self) -> T:
        """The value of this process. An error of `make` is passed on, and the next call tries again."""
        made = self.peek()
        if made is not None:
            return made
        with self._lock:
            made = self.peek()
            if made is None:
                made = self._made[os.getpid()] = self._make()
            return made

    def peek(self) -> T | None:
        """The value if this process has made it."""
        return self._made.get(os.getpid())

    def take(self) -> T | None:
        """The value if this process has made it; it is forgotten here."""
        with self._lock:
            return self._made.pop(os.getpid(), None)
