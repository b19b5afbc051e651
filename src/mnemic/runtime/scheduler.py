"""One background thread for the idle work of all users: thousands of them may fall quiet at once."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar, cast

from mnemic.services.processes import process_lock, reset_after_fork

__all__ = ["FAREWELL", "Job", "Scheduler", "Triggers"]

FAREWELL = 10.0
"""Seconds that a closing record waits for the step under way."""
LONGEST = 3_600.0
"""Seconds of one sleep."""


class Job(Protocol):
    """Wants to be looked at after a while."""

    def poll(self) -> bool:
        """Do what is due; whether anything was."""
        ...

    def wait(self) -> float | None:
        """Seconds until something is due; None for nothing. Called under the lock."""
        ...


class Scheduler:
    """Looks at each when its time has come, one after the other, in a thread that lives while anybody is expected.

    It holds none of them except while it looks at one, so that they end with their record.

    Attributes:
        changed: the lock of all who are watched, and the bell that wakes the thread.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._due: list[tuple[float, int, int]] = []  # moment, order, whose
        self._expected: dict[int, tuple[float, weakref.ref[Job]]] = {}
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._sleeps_until: float | None = None
        self._at_work: Job | None = None
        reset_after_fork(self, Scheduler._renew)

    def _renew(self) -> None:
        self.__init__()

    def expect(self, one: Job, seconds: float) -> None:
        """Look at one after so many seconds, or earlier; called under the lock."""
        moment, key = time.monotonic() + seconds, id(one)
        if key not in self._expected or self._expected[key][0] > moment:  # else it is looked at in time, and then again
            self._expected[key] = (moment, weakref.ref(one, lambda _: self._gone(key)))
            heapq.heappush(self._due, (moment, next(self._numbers), key))
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._serve, name="mnemic-idle", daemon=True)
            thread.start()
            self._thread, self._at_work = thread, None
        elif self._sleeps_until is not None and moment < self._sleeps_until:
            self.changed.notify_all()

    def _gone(self, key: int) -> None:
        with self.changed:
            self._expected.pop(key, None)
            self.changed.notify_all()

    def others_wait(self) -> bool:
        """Whether the time of somebody else has come."""
        with self.changed:
            return self._first() is not None and self._due[0][0] <= time.monotonic()

    def leave(self, one: Job) -> None:
        """Look at one no more, after the step under way."""
        with self.changed:
            self._expected.pop(id(one), None)
            self.changed.notify_all()
            thread = self._thread
            if thread is None or thread is threading.current_thread():
                return
            self.changed.wait_for(lambda: self._at_work is not one, FAREWELL)
            others = bool(self._expected) or self._at_work is not None
            ended = not others and self.changed.wait_for(lambda: self._thread is not thread, FAREWELL)
        if ended:
            thread.join(FAREWELL)

    def _serve(self) -> None:
        """The background thread."""
        while (one := self._next()) is not None:
            with suppress(BaseException):  # of one who cannot even say what went wrong: warnings may be errors
                one.poll()
            with self.changed:
                self._at_work = None
                if (seconds := one.wait()) is not None:
                    self.expect(one, seconds)
                self.changed.notify_all()
            del one  # asleep it holds nobody

    def _next(self) -> Job | None:
        """Sleep until the time of one has come; None when nobody is expected any more."""
        with self.changed:
            while (first := self._first()) is not None:
                moment, key, one = first
                seconds = moment - time.monotonic()
                if seconds <= 0:
                    heapq.heappop(self._due)
                    del self._expected[key]
                    self._at_work = one
                    return one
                del first, one
                self._sleeps_until = moment
                self.changed.wait(min(seconds, LONGEST))
                self._sleeps_until = None
            self._thread = None
            self.changed.notify_all()
            return None

    def _first(self) -> tuple[float, int, Job] | None:
        """Who is next; what is no longer expected then is passed over."""
        while self._due:
            moment, _, key = self._due[0]
            held = self._expected.get(key)
            one = held[1]() if held is not None and held[0] == moment else None
            if one is not None:
                return moment, key, one
            heapq.heappop(self._due)
        return None


class Trigger(Protocol):
    """Can be stopped."""

    def stop(self) -> None:
        """Finish the step under way and fire no more."""
        ...


T = TypeVar("T", bound=Trigger)


class Triggers:
    """One trigger a user, until all are stopped; thread-safe."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._made: dict[str, Trigger] = {}
        self._stopped = False

    def of(self, user: str, make: Callable[[], T]) -> T:
        """The trigger of a user, made when it is first asked for."""
        with self._lock:
            if user not in self._made:
                self._made[user] = made = make()
                if self._stopped:
                    made.stop()
            return cast("T", self._made[user])

    def stop(self) -> None:
        """Stop all, and those that are still to come."""
        with self._lock:
            self._stopped = True
            triggers = list(self._made.values())
        for trigger in triggers:
            trigger.stop()
