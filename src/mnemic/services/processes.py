"""Processes: locks and values that belong to one, forks, and a file lock that ends with its process."""

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

__all__ = [
    "FileLock",
    "PerProcess",
    "Resting",
    "process_lock",
    "renewed",
    "resting",
]

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


_HELD: dict[int, FileLock] = {}
"""Locks of this process by the number of their file: a forked child must let go of its copies."""
_REGISTERED: list[bool] = []


class FileLock:
    """Held by one handle of one process.

    A child that is forked meanwhile does not hold it, and a process that is killed lets go of it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self._guard = process_lock()

    @property
    def held(self) -> bool:
        """Whether this handle has it."""
        return self._handle is not None

    def take(self) -> bool:
        """Take it if nobody has it; whether this handle has it now."""
        with self._guard:
            if self._handle is None:
                self._handle = _locked(self._path)
                if self._handle is not None:
                    _HELD[self._handle] = self
                    _watch_forks()
            return self._handle is not None

    def release(self) -> None:
        """Let go of it, if this handle has it."""
        with self._guard:
            self.forget()

    def forget(self) -> None:
        """Close the file, without waiting for anybody: after a fork the lock of the parent stays."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _HELD.pop(handle, None)
            os.close(handle)


def _watch_forks() -> None:
    if not _REGISTERED and hasattr(os, "register_at_fork"):
        _REGISTERED.append(True)
        os.register_at_fork(after_in_child=_forget_all)


def _forget_all() -> None:
    for lock in list(_HELD.values()):
        lock.forget()


def _locked(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # where nothing can be written, nothing can be owned
        return None
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Not lockf: its locks end when anybody in this process closes the same file, such as one who searches it.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
