"""Fork safety: what a forked child renews, and what is paused for a fork; and a file lock that ends with its process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakSet

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds that a fork waits for other threads."""


class Pausable(Protocol):
    """An object with resources that a forked child must not inherit."""

    def paused(self, until: float) -> AbstractContextManager[None]:
        """Hold the resources back while the block runs; give up at a time of ``time.monotonic``."""
        ...


_RENEWALS: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_PAUSABLE: WeakSet[Pausable] = WeakSet()


def renew_in_child(thing: T, renew: Callable[[T], None]) -> None:
    """Renew an object with locks, threads or counters first thing in every forked child, as long as it lives.

    ``renew`` is passed as a function of its class, so that it may be a private method.
    """
    _RENEWALS[thing] = renew


def pause_for_forks(thing: Pausable) -> None:
    """Pause an object during every fork, as long as it lives; parent and child go on with it."""
    _PAUSABLE.add(thing)


def process_lock() -> Lock:
    """A lock that is free in a forked child, whoever held it at the fork.

    A plain interpreter lock, not a wrapper, because an interrupt (Ctrl-C) between acquiring a wrapped lock and entering the
    block would leave it locked for ever.
    """
    lock = Lock()
    renew_in_child(lock, _free)
    return lock


def _free(lock: Any) -> None:
    """Reset a lock, as the standard library does with its own.

    Releasing one that is locked() is not enough: a thread of the parent may have acquired it at the level of the system while
    it was waiting for the interpreter.
    """
    lock._at_fork_reinit()  # noqa: SLF001 - as in concurrent.futures.thread


_ONE_FORK = process_lock()
"""Held during a fork: two threads may fork at once."""
_PAUSED = ExitStack()


def _before() -> None:
    _ONE_FORK.acquire()
    _PAUSED.callback(_ONE_FORK.release)
    until = time.monotonic() + PATIENCE
    for thing in list(_PAUSABLE):
        with suppress(BaseException):  # after an interrupt the child refuses to use the object
            _PAUSED.enter_context(thing.paused(until))


def _in_child() -> None:
    _PAUSED.close()
    for thing, renew in list(_RENEWALS.items()):
        renew(thing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_PAUSED.close, after_in_child=_in_child)


class PerProcess(Generic[T]):
    """A value created once per process, on first use.

    Model runtimes, connections and event loops own threads or sockets that a child must not use: it creates its own value. The
    parent's value is kept in the child, because its destructor would wait for threads that do not exist there.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._inherited: list[T | None] = []
        self._lock = process_lock()
        renew_in_child(self, type(self).renew)
        pause_for_forks(self)

    @contextmanager
    def paused(self, until: float) -> Generator[None]:
        """No value is made while the block runs, for a fork: a child would wait for ever for modules that are half imported."""
        locked = self._lock.acquire(timeout=max(until - time.monotonic(), 0.0))
        try:
            yield
        finally:
            if locked:
                self._lock.release()

    def renew(self) -> None:
        """Begin without a value, in a forked child; that of the parent is kept."""
        self._inherited.append(self._made)
        self._made = None

    def get(self) -> T:
        """The value of this process. An error of `make` is raised, and the next call retries."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def peek(self) -> T | None:
        """The value of this process, if it was created."""
        return self._made

    def pop(self) -> T | None:
        """Remove and return the value of this process, if it was created."""
        with self._lock:
            made, self._made = self._made, None
            return made


class FileLock:
    """A lock on a file, held by one handle of one process.

    A forked child does not hold it, and the death of the process releases it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._guard = process_lock()
        renew_in_child(self, FileLock.forget)

    @property
    def held(self) -> bool:
        """Whether this handle holds the lock."""
        return self._handle is not None

    def acquire(self) -> bool:
        """Acquire the lock if it is free; returns whether this handle holds it."""
        with self._guard:
            if self._handle is None:
                self._handle = _locked(self._path)
            return self._handle is not None

    def release(self) -> None:
        """Release the lock, if this handle holds it."""
        with self._guard:
            self.forget()

    def forget(self) -> None:
        """Close the file without locking: after a fork the lock of the parent stays."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _locked(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # a lock needs a writable folder
        return None
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Not lockf: its locks end when any code in this process closes the same file.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
