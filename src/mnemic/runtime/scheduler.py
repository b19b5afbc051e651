"""One background thread for the idle work of all users, of whom thousands may become idle at once, and for a vector index."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from mnemic.errors import StoreError
from mnemic.protocols import VectorIndex
from mnemic.services.processes import process_lock, renew_in_child

if TYPE_CHECKING:
    from mnemic.stores import Store


CLOSE_TIMEOUT = 10.0
"""Seconds that ``close`` waits for the running step."""
LONGEST_SLEEP = 3_600.0
"""Seconds of the longest sleep."""


class Job(Protocol):
    """A job that is polled when it is due."""

    def poll(self) -> bool:
        """Do the work that is due; whether there was any."""
        ...

    def wait(self) -> float | None:
        """Seconds until something is due; None for nothing. Called under the lock."""
        ...


class Scheduler:
    """Polls jobs when they are due, one after the other, in a thread that lives while any job is scheduled.

    It holds only weak references to jobs, so that they end with their record.

    Attributes:
        changed: the lock of all jobs and the condition that wakes the thread.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._due: list[tuple[float, int, int]] = []  # time, sequence number, id of the job
        self._scheduled: dict[int, tuple[float, weakref.ref[Job]]] = {}
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._sleeps_until: float | None = None
        self._running_job: Job | None = None
        renew_in_child(self, Scheduler.__init__)

    def schedule(self, job: Job, seconds: float) -> None:
        """Poll a job in so many seconds, or earlier; called under the lock."""
        moment, key = time.monotonic() + seconds, id(job)
        if key not in self._scheduled or self._scheduled[key][0] > moment:  # else it is polled earlier anyway
            self._scheduled[key] = (moment, weakref.ref(job, lambda _: self._discard(key)))
            heapq.heappush(self._due, (moment, next(self._numbers), key))
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name="mnemic-idle", daemon=True)
            thread.start()
            self._thread, self._running_job = thread, None
        elif self._sleeps_until is not None and moment < self._sleeps_until:
            self.changed.notify_all()

    def _discard(self, key: int) -> None:
        with self.changed:
            self._scheduled.pop(key, None)
            self.changed.notify_all()

    def has_due_jobs(self) -> bool:
        """Whether another job is due."""
        with self.changed:
            return self._first_job() is not None and self._due[0][0] <= time.monotonic()

    def cancel(self, job: Job) -> None:
        """Stop polling a job; waits for its running step."""
        with self.changed:
            self._scheduled.pop(id(job), None)
            self.changed.notify_all()
            thread = self._thread
            if thread is None or thread is threading.current_thread():
                return
            self.changed.wait_for(lambda: self._running_job is not job, CLOSE_TIMEOUT)
            others = bool(self._scheduled) or self._running_job is not None
            ended = not others and self.changed.wait_for(lambda: self._thread is not thread, CLOSE_TIMEOUT)
        if ended:
            thread.join(CLOSE_TIMEOUT)

    def _run(self) -> None:
        """The background thread."""
        while (job := self._next()) is not None:
            with suppress(BaseException):  # jobs report their errors; a warning may be raised as one
                job.poll()
            with self.changed:
                self._running_job = None
                if (seconds := job.wait()) is not None:
                    self.schedule(job, seconds)
                self.changed.notify_all()
            del job  # hold no reference while asleep

    def _next(self) -> Job | None:
        """Sleep until a job is due; None when none is scheduled."""
        with self.changed:
            while (next_job := self._first_job()) is not None:
                moment, key, job = next_job
                seconds = moment - time.monotonic()
                if seconds <= 0:
                    heapq.heappop(self._due)
                    del self._scheduled[key]
                    self._running_job = job
                    return job
                del next_job, job
                self._sleeps_until = moment
                self.changed.wait(min(seconds, LONGEST_SLEEP))
                self._sleeps_until = None
            self._thread = None
            self.changed.notify_all()
            return None

    def _first_job(self) -> tuple[float, int, Job] | None:
        """The next job; drops entries that are outdated."""
        while self._due:
            moment, _, key = self._due[0]
            entry = self._scheduled.get(key)
            job = entry[1]() if entry is not None and entry[0] == moment else None
            if job is not None:
                return moment, key, job
            heapq.heappop(self._due)
        return None


class Trigger(Protocol):
    """Can be stopped."""

    def stop(self) -> None:
        """Finish the step under way and fire no more."""
        ...


T = TypeVar("T", bound=Trigger)


class Triggers:
    """One idle trigger per user; thread-safe."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._triggers: dict[str, Trigger] = {}
        self._stopped = False

    def of(self, user: str, make: Callable[[], T]) -> T:
        """The trigger of a user, made at first use."""
        with self._lock:
            if user not in self._triggers:
                self._triggers[user] = trigger = make()
                if self._stopped:
                    trigger.stop()
            return cast("T", self._triggers[user])

    def stop(self) -> None:
        """Stop all triggers, and those made later."""
        with self._lock:
            self._stopped = True
            triggers = list(self._triggers.values())
        for trigger in triggers:
            trigger.stop()


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
