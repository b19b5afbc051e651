"""Who is searching, so that work in the background makes room: in one process, threads take turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from mnemic.services.processes import reset_after_fork

__all__ = ["Courtesy", "SearchGate"]

PIECE = 0.0005
"""Seconds of work between two looks at whether somebody searches."""
REST = 6.0
"""How many times as long as it worked, work in the background rests while somebody searches."""
LONGEST = 0.1
"""Seconds of one rest, and seconds that a search under way is waited for."""


class SearchGate:
    """The searches under way in this process; thread-safe.

    A search computes in many short steps, and threads that compute at once take the interpreter from each other after each of
    them: 128 searches at once take a third less time one after the other.

    Args:
        in_turns: one search computes at a time: not where it waits for a server meanwhile.
    """

    def __init__(self, *, in_turns: bool = True) -> None:
        self._in_turns = in_turns
        self.begun: int = 0
        self._renew()
        reset_after_fork(self, SearchGate._renew)

    def _renew(self) -> None:
        """Nobody is searching yet, as in a forked child."""
        self._last = threading.Lock()
        self._gate = threading.Lock()
        self._changed = threading.Condition(self._gate)
        self._under_way = 0

    @contextmanager
    def search(self) -> Generator[None]:
        """A search, from its begin to its end."""
        with self._gate:
            self._under_way += 1
            self.begun += 1
        try:
            yield
        finally:
            with self._gate:
                self._under_way -= 1
                if not self._under_way:
                    self._changed.notify_all()

    @contextmanager
    def turn(self) -> Generator[None]:
        """The time to compute, first come first served: a lock goes to whoever happens to run when it is let go.

        Each waits for the one that came before, by a lock that is let go however that one ends. An interrupt can make two
        compute at once, which is only slower, and cannot make the others wait for ever.
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
        """Whether a search is under way."""
        return self._under_way > 0

    def pass_by(self, seconds: float) -> None:
        """Wait until no search is under way, but no longer than this."""
        with self._gate:
            self._changed.wait_for(lambda: not self._under_way, seconds)


class Courtesy:
    """How one task in the background behaves: called between its pieces, it rests if somebody has searched meanwhile.

    Without searches beside it, it costs nothing and never waits.
    """

    def __init__(self, gate: SearchGate) -> None:
        self._gate = gate
        self._seen: int = gate.begun
        self._since = time.thread_time()

    def __call__(self) -> None:
        """The end of a piece."""
        spent = time.thread_time() - self._since
        if spent < PIECE:
            return
        if self._gate.busy or self._gate.begun != self._seen:
            time.sleep(min(REST * spent, LONGEST))
            self._gate.pass_by(LONGEST)
            self._seen = self._gate.begun
        self._since = time.thread_time()
