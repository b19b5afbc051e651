"""Fork safety: per-process locks and values, fork hooks, and a file lock that ends with its process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary, ref

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


_LOCKS: set[ref[Lock]] = set()


def process_lock() -> Lock:
    """A lock that is reset in a forked child, whoever held it at the fork.

    A plain interpreter lock, not a wrapper, because an interrupt (Ctrl-C) between acquiring a wrapped lock and entering the
    block would leave it locked for ever.
    """
    lock = Lock()
    _LOCKS.add(ref(lock, _LOCKS.discard))
    return lock


def _reset_locks() -> None:
    """Reset every lock, as the standard library does with its own.

    Releasing locks that are locked() is not enough: a thread of the parent may have acquired a lock at the level of the
    system while it was waiting for the interpreter.
    """
    for held in tuple(_LOCKS):
        lock: Any = held()
        if lock is not None:
            lock._at_fork_reinit()  # noqa: SLF001 - as in concurrent.futures.thread


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_locks)


class PerProcess(Generic[T]):
    """A value created once per process, on first use.

    Model runtimes and event loops own threads, which do not survive a fork: a child creates its own value. The parent's value
    is kept in the child, because its destructor would wait for threads that do not exist there.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._lock = process_lock()

    def get(self) -> T:
        """The value of this process. An error of `make` is raised, and the next call retries."""
        made = self.peek()
        if made is not None:
            return made
        with self._lock:
            made = self.peek()
            if made is None:
                made = self._made[os.getpid()] = self._make()
            return made

    def peek(self) -> T | None:
        """The value of this process, if it was created."""
        return self._made.get(os.getpid())

    def pop(self) -> T | None:
        """Remove and return the value of this process, if it was created."""
        with self._lock:
            return self._made.pop(os.getpid(), None)


PATIENCE = 2.0
"""Seconds that a fork waits for other threads."""


class ForkAware(Protocol):
    """An object with resources that a forked child must not inherit."""

    def before_fork(self, until: float) -> None:
        """Release the resources and block new users; give up at a time of ``time.monotonic``."""
        ...

    def after_fork_in_parent(self) -> None:
        """Resume in the parent."""
        ...

    def after_fork_in_child(self) -> None:
        """Reset in the child; called before anything else runs there."""
        ...


_RESET: WeakValueDictionary[int, Any] = WeakValueDictionary()
_RESETTERS: dict[type, Callable[[Any], None]] = {}
_FORK_AWARE: WeakValueDictionary[int, ForkAware] = WeakValueDictionary()


def reset_after_fork(thing: T, renew: Callable[[T], None]) -> None:
    """Reset an object with locks, threads or counters in every forked child, as long as it lives.

    ``renew`` is passed as a function of its class, so that it may be a private method.
    """
    _RESETTERS[type(thing)] = renew
    _RESET[id(thing)] = thing


def register_fork_hooks(thing: ForkAware) -> None:
    """Call the hooks of an object at every fork, as long as it lives."""
    _FORK_AWARE[id(thing)] = thing


_ONE_FORK = process_lock()
"""Held during a fork: two threads may fork at once."""


def _before() -> None:
    _ONE_FORK.acquire()
    until = time.monotonic() + PATIENCE
    for thing in _alive(_FORK_AWARE):
        with suppress(BaseException):  # after an interrupt the child refuses to use the object
            thing.before_fork(until)


def _in_parent() -> None:
    for thing in _alive(_FORK_AWARE):
        thing.after_fork_in_parent()
    _ONE_FORK.release()


def _in_child() -> None:
    for thing in _alive(_FORK_AWARE):
        thing.after_fork_in_child()
    for thing in _alive(_RESET):
        _RESETTERS[type(thing)](thing)


def _alive(things: WeakValueDictionary[int, T]) -> list[T]:
    """The live objects in a fixed order: two threads that fork at once must not deadlock."""
    found = ((ref.key, ref()) for ref in things.valuerefs())
    return [thing for _, thing in sorted(found, key=lambda one: one[0]) if thing is not None]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


class FileLock:
    """A lock on a file, held by one handle of one process.

    A forked child does not hold it, and the death of the process releases it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._guard = process_lock()
        reset_after_fork(self, FileLock.forget)

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
