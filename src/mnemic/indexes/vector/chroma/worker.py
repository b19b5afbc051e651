"""The thread that keeps an index in step with its record."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress

from mnemic.errors import StoreClosed, StoreError
from mnemic.indexes.vector.chroma.checking import compared
from mnemic.indexes.vector.chroma.client import ChromaFailed
from mnemic.indexes.vector.chroma.place import Place
from mnemic.indexes.vector.chroma.shelf import ChromaShelf
from mnemic.indexes.vector.following import Follower, State
from mnemic.protocols import RecordFeed

__all__ = ["Worker"]

BEGIN = 1.0
"""Seconds before Chroma is loaded, unless somebody waits for it: a short script need not load it at all."""
GATHER = 0.3
"""Seconds between a write and taking it in: what is written in one go is taken in together."""
LOOK = 2.0
"""Seconds after which the record is looked at even if nobody says that something was written: other processes write too."""
SUCCEED = 5.0
"""Seconds between attempts to follow an owner that has died."""
AGAIN, LONGEST = 2.0, 60.0
"""Seconds before the next attempt after a failure, doubled each time up to a longest."""
CLOSING = 5.0
"""Seconds that closing gives to what is not taken in yet."""
LEAVING = 10.0
"""Seconds for the step under way to end, after that."""


class Worker:
    """Owns a place as soon as nobody else does, and takes the record into it; a daemon thread until it is closed."""

    def __init__(self, feed: RecordFeed, place: Place) -> None:
        self._feed, self.place = feed, place
        self._changed = threading.Condition()
        self._stepping = threading.Lock()
        self._woken = self._hurried = self._closing = False
        self._asked = self._answered = 0
        self._left = True
        self._follower: Follower | None = None
        self._doubted = False
        self.state: State | None = None
        self.trouble: str | None = None
        self._pid = os.getpid()
        self.owner = place.take()
        self._thread = threading.Thread(target=self._run, name="mnemic-chroma", daemon=True)
        atexit.register(self.close)
        self._thread.start()

    # What others ask of it

    def wake(self) -> None:
        """Something was written."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def doubt(self) -> None:
        """The contents gave an error: they are compared with the record before they are asked again."""
        with self._changed:
            self._doubted, self.state = True, None
        self.wake()

    def drain(self, seconds: float | None) -> bool:
        """Wait until everything is taken in that was written before; whether it is, or is another process's to do."""
        with self._changed:
            self._asked += 1
            ticket = self._asked
            self._hurried = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answered >= ticket or self._closing, seconds)
            return self._answered >= ticket and not self._left

    def erase(self) -> bool:
        """Leave nothing of erased records behind; False where another memory has the index, or a server is away."""
        with self._stepping:
            if not self.owner:
                return False
            try:
                self._erase()
            except ChromaFailed as error:
                self._leave(error)
                return self.place.own
        self.wake()
        return True

    def _erase(self) -> None:
        with self.place.using() as shelf:
            opened = shelf is not None
        if not opened and self.place.own:  # it need not be loaded to be thrown away
            self.place.abandon()
            return
        shelf = self._opened()
        assert self._follower is not None
        if not self._follower.known:
            self._follower.state, self._follower.known = shelf.state(), True
        state = self._follower.state
        if state is None or not shelf.erase(self._feed.gone(state.mark.sequence)):
            self.state = None
            self._follower.begin()

    def findings(self) -> list[str]:
        """What differs from the record; then it is made anew."""
        with self._stepping:
            state = self.state
            if not self.owner or state is None or state.filled is not None:
                return []
            try:
                found = compared(self._feed, self._opened(), state)
                if found and self._follower is not None:
                    self.state = None
                    self._follower.begin()
            except ChromaFailed as error:
                self._leave(error)
                found = [str(error)]
        self.wake()
        return found

    def close(self) -> None:
        """Take in what is left, for a few seconds, and let go."""
        if os.getpid() != self._pid:  # a forked child: none of this is its own
            return
        if self.owner and self.state is not None and self.state.filled is None and not self._closing:
            self.drain(CLOSING)
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        atexit.unregister(self.close)
        self._thread.join(LEAVING)
        if not self._thread.is_alive():
            self.place.close()

    # The thread

    def _run(self) -> None:
        failures = 0
        with self._changed:
            self._changed.wait_for(lambda: self._hurried or self._closing, BEGIN)
        while True:
            with self._changed:
                if self._closing:
                    return
                ticket, self._woken, self._hurried = self._asked, False, False
            try:
                pause, failures = self._turn(), 0
            except StoreClosed:
                return
            except StoreError as error:  # of the record or of the folder: again later
                pause = min(AGAIN * 2**failures, LONGEST)
                failures += 1
                if isinstance(error, ChromaFailed):
                    with self._stepping, suppress(StoreError):
                        self._leave(error)
            with self._changed:
                self._answered = ticket
                self._changed.notify_all()
            self._rest(pause)

    def _rest(self, pause: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._hurried or self._closing, pause)
            if self._woken:
                self._changed.wait_for(lambda: self._hurried or self._closing, GATHER)

    def _turn(self) -> float:
        """Take in what there is; seconds until the next look."""
        if not self._owns():
            self._left = False
            return SUCCEED
        self._left = True
        while not self._closing and self._owns():
            with self._stepping:
                self._check()
                assert self._follower is not None
                more = self._follower.step()
                self.place.clear_unused()
                self.state = self._follower.state
            if not more:
                self._left = False
                self.trouble = None
                break
        with self.place.using() as shelf:
            if shelf is not None:
                shelf.counted_anew()
        return LOOK

    def _owns(self) -> bool:
        """Whether it is this handle that writes; one that lost its turn meanwhile no longer knows how far the index is."""
        if self.owner and not self.place.held:
            with self._stepping:
                self.owner, self.state, self._follower = False, None, None
        self.owner = self.owner or self.place.take()
        return self.owner

    def _check(self) -> None:
        """Open the shelf, and where there is reason to doubt it compare it first."""
        shelf = self._opened()
        assert self._follower is not None
        if not (self.place.suspect or self._doubted):
            return
        state = self._follower.state = shelf.state()
        self._follower.known = True
        if state is not None and state.filled is None and compared(self._feed, shelf, state):
            self._follower.begin()
        self.place.suspect = self._doubted = False

    def _opened(self) -> ChromaShelf:
        shelf = self.place.open()
        if self._follower is None:
            self._follower = Follower(self._feed, shelf)
        return shelf

    def _leave(self, error: ChromaFailed) -> None:
        """An index that fails is left: a folder is made anew, a server is reached anew."""
        self.trouble = str(error)
        self._follower = self.state = None
        self._doubted = self._doubted and self.place.own  # a server that was away has what it had
        self.place.abandon()
