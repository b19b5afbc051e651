"""Sends changes of a record to Chroma in a background thread.

Delivery is at least once, and idempotent. The position is stored after the contents: a process killed in between sends the
same page again.
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
    create_collections,
    differences,
    open_collections,
)
from mnemic.protocols import Lock, Model, RecordFeed

BEGIN = 1.0
"""Seconds before Chroma is loaded, unless a caller waits for it: a short script need not load it at all."""
BATCH_DELAY = 0.3
"""Seconds between a write and sending it, to batch writes."""
POLL = 2.0
"""Seconds between checks of the record without a call of ``wake``: other processes write too."""
TAKEOVER = 5.0
"""Seconds between attempts to take over from an owner that has ended."""
RETRY, LONGEST = 2.0, 60.0
"""Seconds before the next attempt after a failure, doubled each time, and their maximum."""
CLOSING = 5.0
"""Seconds for sending pending changes on close."""
LAST_PAGE = 10.0
"""Seconds after that for the current page to end."""

T = TypeVar("T")


class Outbox:
    """A daemon thread that sends a record to Chroma while this handle holds the lock on the index.

    Thread-safe. If another handle feeds the server, it only reads the position of the collections.

    Args:
        feed: the record.
        place: the connection to Chroma.
        index_lock: the lock for writing the collections.
        page: records or events sent at a time; closing waits for one page at most.
    """

    def __init__(self, feed: RecordFeed, place: Server | Folder, index_lock: Lock, page: int) -> None:
        self._feed, self._place, self._lock_on_index, self._page = feed, place, index_lock, page
        self._lock = threading.Lock()
        self._woken, self._closing = threading.Event(), threading.Event()
        self._deadline, self._closed, self._failed = math.inf, False, False
        self._pid = os.getpid()
        self.collections: Collections | None = None
        self.trouble: str | None = None
        self.owner = index_lock.acquire()
        self._thread = threading.Thread(target=self._run, name="mnemic-chroma", daemon=True)
        atexit.register(self.close)
        self._thread.start()

    def wake(self) -> None:
        """Notify the thread of a write."""
        self._woken.set()

    def report_failure(self, collections: Collections, error: ChromaUnavailable) -> None:
        """Handle a failed search: a folder is filled again, a server is connected again."""
        if collections is self.collections:  # not those of a client closed in the meantime
            self._failed, self.collections, self.trouble = True, None, str(error)
            self.wake()

    def drain(self, seconds: float | None = None) -> bool:
        """Send all pending changes; returns whether this process has none left."""
        return self._catch_up(math.inf if seconds is None else time.monotonic() + seconds)

    def erase(self) -> bool:
        """Remove erased records; False if another handle owns the index, or Chroma is unavailable."""
        done = self._exclusive(self._erase)
        self.wake()
        return done is True

    def findings(self) -> list[str]:
        """Differences from the record; if there are any, the collections are filled again."""
        found = self._exclusive(self._differences)
        self.wake()
        return ([] if self.trouble is None else [self.trouble]) if found is None else found

    def close(self) -> None:
        """Send pending changes for a few seconds, then close the connection and release the lock."""
        if os.getpid() != self._pid or self._closing.is_set():  # a forked child closes its own
            return
        complete = self.collections is not None and self.collections.complete
        self._deadline = time.monotonic() + (CLOSING if complete else 0)
        self._closing.set()
        self.wake()
        atexit.unregister(self.close)
        self._thread.join(CLOSING + LAST_PAGE)
        if self._lock.acquire(timeout=LAST_PAGE if not self._thread.is_alive() else 0):
            try:
                self._closed, self.collections = True, None
                with suppress(StoreError):
                    self._place.close()
                self._lock_on_index.release()
            finally:
                self._lock.release()

    # Thread

    def _run(self) -> None:
        failures = 0
        self._closing.wait(BEGIN)
        while not self._closing.is_set() and not self._closed:
            self._woken.clear()
            done = self._catch_up()
            failures = 0 if done else failures + 1
            pause = (POLL if self.owner else TAKEOVER) if done else min(RETRY * 2 ** (failures - 1), LONGEST)
            if self._woken.wait(pause):
                self._closing.wait(BATCH_DELAY)
        self._catch_up()

    def _catch_up(self, until: float = math.inf) -> bool:
        """Send pages until none is left; False if Chroma or the record fails, or time runs out."""
        while (left := min(until, self._deadline) - time.monotonic()) > 0:
            more = self._exclusive(self._step, min(left, threading.TIMEOUT_MAX))
            if more is None:
                return False
            if not more:
                self.trouble = None
                return True
        return False

    def _exclusive(self, work: Callable[[], T], seconds: float = -1) -> T | None:
        """Run work under the lock; None if it fails, the lock is not acquired in time, or this is closed."""
        if not self._lock.acquire(timeout=seconds):
            return None
        try:
            return None if self._closed else work()
        except ChromaUnavailable as error:
            self.trouble = str(error)
            with suppress(StoreError):
                self._reset()
        except StoreClosed:
            self._closed = True
        except StoreError:  # of the record or the folder: retried later
            pass
        finally:
            self._lock.release()
        return None

    def _reset(self) -> None:
        self.collections, self._failed = None, False  # first, so that no search uses a closed client
        self._place.reset()

    def _step(self) -> bool:
        """Send the next page; False if there is none."""
        if self._failed:
            self._reset()
        if self.owner and not self._lock_on_index.held:
            self.owner, self.collections = False, None
        if not self.owner and self._lock_on_index.acquire():
            self.owner, self.collections = True, None  # read the position of the previous owner
        model = self._feed.model()
        if model is None or (not self.owner and self._place.embedded):
            return False
        if not self.owner or self.collections is None:
            self.collections = open_collections(self._place.client(), self._feed, model)
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
        """Create empty collections, to be filled from the first record, with the mark at the current event."""
        position = Position(model=model, mark=self._feed.last(), filled=0)
        self._reset()
        self.collections = create_collections(self._place.client(), self._feed, position)

    def _fill(self, collections: Collections) -> bool:
        position = collections.position
        docs = self._feed.docs(position.filled or 0, self._page)
        found = self._feed.entries(docs)
        if docs and found.model != position.model:
            return True  # the next step starts again
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
        if changed.reembedded or (found.gone and self._place.embedded):  # a deletion would leave the bytes in the files
            self._begin(position.model)
            return True
        collections.drop([*found.gone, *found.without_vector])
        collections.put(found.entries)
        self._move(collections, position._replace(mark=changed.until))
        return True

    def _move(self, collections: Collections, position: Position) -> None:
        if isinstance(self._place, Folder):
            self._place.zero_unsaved()
        moved = collections.with_position(self._feed, position)
        self.collections = replace(moved, sizes=self._feed.sizes()) if moved.complete else moved

    def _erase(self) -> bool:
        """Remove a folder, which the thread fills again; on a server delete the entries."""
        model = self._feed.model() if self.owner else None
        if self.owner and self._place.embedded:
            self._reset()
        elif model is not None:
            collections = open_collections(self._place.client(), self._feed, model)
            if collections is None:  # there may be collections of another model
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
