"""The changes of a record that Chroma does not have yet, and the thread that sends them.

Each change is sent at least once; twice changes nothing. The position moves only after the contents: a process that is killed
between the two sends the same page again.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from mnemic.errors import StoreClosed, StoreError
from mnemic.indexes.vector.chroma.collections import (
    ChromaUnavailable,
    Collections,
    Folder,
    Position,
    Server,
    created,
    differences,
    opened,
)
from mnemic.protocols import Model, RecordFeed, Turn

__all__ = ["Outbox"]

BEGIN = 1.0
"""Seconds before Chroma is loaded, unless somebody waits for it: a short script need not load it at all."""
GATHER = 0.3
"""Seconds between a write and sending it: what is written in one go is sent together."""
POLL = 2.0
"""Seconds after which the record is looked at without a call of ``wake``: other processes write too."""
SUCCEED = 5.0
"""Seconds between attempts to succeed an owner that has ended."""
RETRY, LONGEST = 2.0, 60.0
"""Seconds before the next attempt after a failure, doubled each time up to a longest."""
CLOSING = 5.0
"""Seconds that closing gives to what is not sent yet."""
LEAVING = 10.0
"""Seconds for the page under way to end, after that."""

T = TypeVar("T")


class Outbox:
    """Sends a record to Chroma while this handle is the one of all that may; a daemon thread until it is closed.

    Thread-safe. Of a server that another handle feeds it only reads how far the collections are.

    Args:
        feed: the record.
        place: where the collections are.
        turn: the right to write them.
        page: records or events sent at a time: an interruption waits for one page at most.
    """

    def __init__(self, feed: RecordFeed, place: Server | Folder, turn: Turn, page: int) -> None:
        self._feed, self._place, self._turn, self._page = feed, place, turn, page
        self._lock = threading.Lock()
        self._woken, self._closing = threading.Event(), threading.Event()
        self._deadline, self._closed, self._doubted = math.inf, False, False
        self._pid = os.getpid()
        self.collections: Collections | None = None
        self.trouble: str | None = None
        self.owner = turn.take()
        self._thread = threading.Thread(target=self._run, name="mnemic-chroma", daemon=True)
        atexit.register(self.close)
        self._thread.start()

    def wake(self) -> None:
        """Something was written."""
        self._woken.set()

    def doubt(self, collections: Collections, error: ChromaUnavailable) -> None:
        """A search failed: a folder is filled again, a server is reached again."""
        if collections is self.collections:  # and not those of a client that was closed meanwhile
            self._doubted, self.collections, self.trouble = True, None, str(error)
            self.wake()

    def drain(self, seconds: float | None = None) -> bool:
        """Send everything that was written before; whether nothing is left for this process to send."""
        return self._catch_up(math.inf if seconds is None else time.monotonic() + seconds)

    def erase(self) -> bool:
        """Leave nothing of erased records; False where another handle has the index, or Chroma cannot be used."""
        done = self._alone(self._erase)
        self.wake()
        return done is True

    def findings(self) -> list[str]:
        """What differs from the record; if anything does, the collections are filled again."""
        found = self._alone(self._differences)
        self.wake()
        return ([] if self.trouble is None else [self.trouble]) if found is None else found

    def close(self) -> None:
        """Send what is left, for a few seconds, and let go."""
        if os.getpid() != self._pid or self._closing.is_set():  # a forked child closes its own
            return
        complete = self.collections is not None and self.collections.complete
        self._deadline = time.monotonic() + (CLOSING if complete else 0)
        self._closing.set()
        self.wake()
        atexit.unregister(self.close)
        self._thread.join(CLOSING + LEAVING)
        if self._lock.acquire(timeout=LEAVING if not self._thread.is_alive() else 0):
            try:
                self._closed, self.collections = True, None
                with suppress(StoreError):
                    self._place.close()
                self._turn.release()
            finally:
                self._lock.release()

    # The thread

    def _run(self) -> None:
        failures = 0
        self._closing.wait(BEGIN)
        while not self._closing.is_set() and not self._closed:
            self._woken.clear()
            done = self._catch_up()
            failures = 0 if done else failures + 1
            pause = (POLL if self.owner else SUCCEED) if done else min(RETRY * 2 ** (failures - 1), LONGEST)
            if self._woken.wait(pause):
                self._closing.wait(GATHER)
        self._catch_up()

    def _catch_up(self, until: float = math.inf) -> bool:
        """Whether everything is sent; False when Chroma or the record fails, and when time is over."""
        while (left := min(until, self._deadline) - time.monotonic()) > 0:
            more = self._alone(self._step, min(left, threading.TIMEOUT_MAX))
            if more is None:
                return False
            if not more:
                self.trouble = None
                return True
        return False

    def _alone(self, work: Callable[[], T], seconds: float = -1) -> T | None:
        """Work that one thread does at a time; None when it fails, is not begun in time, or this is closed."""
        if not self._lock.acquire(timeout=seconds):
            return None
        try:
            return None if self._closed else work()
        except ChromaUnavailable as error:
            self._fail(error)
        except StoreClosed:
            self._closed = True
        except StoreError:  # of the record or of the folder: again later
            pass
        finally:
            self._lock.release()
        return None

    def _fail(self, error: ChromaUnavailable) -> None:
        self.trouble = str(error)
        with suppress(StoreError):
            self._reset()

    def _reset(self) -> None:
        self.collections, self._doubted = None, False  # first, so that no search asks a client that is closed
        self._place.reset()

    def _step(self) -> bool:
        """Send the next page; False when there is nothing left to send."""
        if self._doubted:
            self._reset()
        if self.owner and not self._turn.held:
            self.owner, self.collections = False, None
        if not self.owner and self._turn.take():
            self.owner, self.collections = True, None  # read how far the owner before came
        model = self._feed.model()
        if model is None or (not self.owner and self._place.embedded):
            return False
        if not self.owner or self.collections is None:
            self.collections = opened(self._place.client(), self._feed, model)
        return self.owner and self._advance(model)

    def _advance(self, model: Model) -> bool:
        collections = self.collections
        position = None if collections is None else collections.position
        if position is None or position.model != model or not self._feed.holds(position.mark):
            self._begin(model)
            return True
        assert collections is not None
        return self._follow(collections) if collections.complete else self._fill(collections)

    def _begin(self, model: Model) -> None:
        """Start with empty collections, from the first record, and follow what happens from now on."""
        position = Position(model=model, mark=self._feed.last(), filled=0)
        self._reset()
        self.collections = created(self._place.client(), self._feed, position)

    def _fill(self, collections: Collections) -> bool:
        position = collections.position
        docs = self._feed.docs(position.filled or 0, self._page)
        found = self._feed.entries(docs)
        if docs and found.model != position.model:
            return True  # the next step begins again
        collections.put(found.entries)
        self._move(collections, position._replace(filled=docs[-1] if docs else None))
        return True

    def _follow(self, collections: Collections) -> bool:
        position = collections.position
        changed = self._feed.changes(position.mark.sequence, self._page)
        if changed.until.sequence == position.mark.sequence:
            return False
        found = self._feed.entries(changed.docs)
        if found.model != position.model:
            return True
        if changed.anew or (found.gone and self._place.embedded):  # deleting would leave the bytes in the files
            self._begin(position.model)
            return True
        collections.drop([*found.gone, *found.bare])
        collections.put(found.entries)
        self._move(collections, position._replace(mark=changed.until))
        return True

    def _move(self, collections: Collections, position: Position) -> None:
        if isinstance(self._place, Folder):
            self._place.tidy()
        moved = collections.moved(self._feed, position)
        self.collections = replace(moved, sizes=self._feed.sizes()) if moved.complete else moved

    def _erase(self) -> bool:
        """A folder is removed as a whole, and filled again by the thread; of a server entries are deleted."""
        model = self._feed.model() if self.owner else None
        if self.owner and self._place.embedded:
            self._reset()
        elif model is not None:
            collections = opened(self._place.client(), self._feed, model)
            if collections is None:  # there may be some of another model
                self._begin(model)
                return True
            gone = self._feed.gone(collections.position.mark.sequence)
            for start in range(0, len(gone), self._page):
                collections.drop(gone[start : start + self._page])
        return self.owner

    def _differences(self) -> list[str]:
        collections = self.collections
        if not self.owner or collections is None or not collections.complete:
            return []
        found = differences(self._feed, collections)
        if found:
            self._begin(collections.position.model)
        return found
