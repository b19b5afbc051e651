"""Keeps a vector index up to date with its record, in the background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.errors import StoreError
from mnemic.protocols import VectorIndex
from mnemic.runtime.scheduler import Scheduler
from mnemic.services.processes import renew_in_child

if TYPE_CHECKING:
    from mnemic.stores import Store

BEGIN = 1.0
"""Seconds before the first update: a short script need not load an index at all."""
DELAY = 0.3
"""Seconds between a commit and the update, to batch commits."""
POLL = 2.0
"""Seconds between updates without a commit of this process: other processes write too."""
RETRY, LONGEST = 4.0, 60.0
"""Seconds before the next update after a failure, doubled each time, and their maximum."""


class IndexUpdater:
    """A job of the scheduler that updates an index, one page at a time, soon after each commit.

    Attributes:
        index: the index.

    Args:
        index: the index.
        store: the record, which notifies the updater of commits.
        scheduler: the background thread.
    """

    def __init__(self, index: VectorIndex, store: Store, scheduler: Scheduler) -> None:
        self.index, self._scheduler = index, scheduler
        self._pause, self._stopped = BEGIN, False
        renew_in_child(self, IndexUpdater._renew)
        store.feed().listen(self.wake)
        with scheduler.changed:
            scheduler.schedule(self, BEGIN)

    def _renew(self) -> None:
        """In a forked child: begin with the next commit or search."""
        self._pause = POLL

    def wake(self) -> None:
        """A commit: update soon, unless it is to be done earlier or failed."""
        with self._scheduler.changed:
            if self._pause == POLL and not self._stopped:
                self._scheduler.schedule(self, DELAY)

    def poll(self) -> bool:
        """Update one page; whether there may be more. Called by the background thread."""
        self._pause = min(max(2 * self._pause, RETRY), LONGEST)  # if this fails
        more = self.index.catch_up()
        self._pause = 0.0 if more else POLL
        return more

    def wait(self) -> float | None:
        """Seconds until the next update."""
        return None if self._stopped else self._pause

    def drain(self) -> bool:
        """Update all pages now; returns whether that is done."""
        try:
            while self.index.catch_up():
                pass
        except StoreError:
            return False
        return True

    def findings(self) -> Sequence[str]:
        """Differences from the record, after all updates."""
        self.drain()
        try:
            return self.index.findings()
        except StoreError as error:
            return (str(error),)

    def close(self) -> None:
        """Finish the page under way, and close the index."""
        self._stopped = True
        self._scheduler.cancel(self)
        self.index.close()
