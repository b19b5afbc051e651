"""Coordinates searches and background work in one process: searches take turns, background work backs off."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from mnemic.services.processes import reset_after_fork

SLICE = 0.0005
"""Seconds of background work between two checks for searches."""
REST_RATIO = 6.0
"""Length of a pause while searches run, as a multiple of the time just worked."""
LONGEST_REST = 0.1
"""Longest pause in seconds, and longest wait for running searches."""


class SearchGate:
    """The running searches of this process; thread-safe.

    A search computes in many short steps, and concurrent threads contend for the interpreter after each of them: 128
    searches take a third less time one after the other.

    Args:
        in_turns: one search computes at a time; off where searches wait for a server.
    """

    def __init__(self, *, in_turns: bool = True) -> None:
        self._in_turns = in_turns
        self.started: int = 0
        self._renew()
        reset_after_fork(self, SearchGate._renew)

    def _renew(self) -> None:
        """Reset; also called in a forked child."""
        self._last = threading.Lock()
        self._gate = threading.Lock()
        self._changed = threading.Condition(self._gate)
        self._under_way = 0

    @contextmanager
    def search(self) -> Generator[None]:
        """Register a search while the block runs."""
        with self._gate:
            self._under_way += 1
            self.started += 1
        try:
            yield
        finally:
            with self._gate:
                self._under_way -= 1
                if not self._under_way:
                    self._changed.notify_all()

    @contextmanager
    def turn(self) -> Generator[None]:
        """Exclusive time to compute, first come first served, which a plain lock does not guarantee.

        Each search waits
        for the lock of the one before it, which is released however that one ends. An interrupt can let two compute at
        once, which is only slower, but cannot deadlock the others.
        """
        if not self._in_turns:
            yield
            return
        mine = threading.Lock()
        with mine:
            with self._gate:
                before, self._last = self._last, mine
            with before:
                pass
            yield

    @property
    def busy(self) -> bool:
        """Whether a search is running."""
        return self._under_way > 0

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until no search is running, at most this long."""
        with self._gate:
            self._changed.wait_for(lambda: not self._under_way, seconds)


class Throttle:
    """Slows a background task down while searches run; call it between steps. It never waits without searches."""

    def __init__(self, gate: SearchGate) -> None:
        self._gate = gate
        self._seen: int = gate.started
        self._since = time.thread_time()

    def __call__(self) -> None:
        """Pause if a search ran during the last slice of work."""
        spent = time.thread_time() - self._since
        if spent < SLICE:
            return
        if self._gate.busy or self._gate.started != self._seen:
            time.sleep(min(REST_RATIO * spent, LONGEST_REST))
            self._gate.wait_until_idle(LONGEST_REST)
            self._seen = self._gate.started
        self._since = time.thread_time()
