"""One process at a time: a lock on a file that ends with its process, however that ends."""

from __future__ import annotations

import os
from pathlib import Path

from mnemic.services.process import process_lock

__all__ = ["FileLock"]

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
