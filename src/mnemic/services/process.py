"""Locks and values that belong to one process: both stay usable after a fork."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PerProcess", "process_lock"]

T = TypeVar("T")


_LOCKS: set[ref[Lock]] = set()


def process_lock() -> Lock:
    """A lock of which every process has its own: in a child it is free, whoever held it when the process forked.

    It is a lock of the interpreter and no object around one, because an interrupt (Ctrl-C) between taking a lock and entering
    the block would leave it locked for ever.
    """
    lock = Lock()
    _LOCKS.add(ref(lock, _LOCKS.discard))
    return lock


def _free() -> None:
    """Free every lock, as the standard library frees its own.

    To release those that are locked() is not enough: a thread of the parent may have been given the lock and not yet said so,
    because it was waiting for the interpreter that forked.
    """
    for held in tuple(_LOCKS):
        lock: Any = held()
        if lock is not None:
            lock._at_fork_reinit()  # noqa: SLF001 - see concurrent.futures.thread, which has no other way either


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)


class PerProcess(Generic[T]):
    """A value made once in each process, by the first thread that asks for it.

    Model runtimes and event loops own threads, and threads do not survive a fork: a child makes its own. The parent's
    value is kept in the child untouched, because taking it apart would wait for threads that are not there.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._lock = process_lock()

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
