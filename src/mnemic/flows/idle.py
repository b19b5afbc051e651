"""Work for quiet moments: processing and consolidation, once nobody has spoken for a while."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo

from mnemic.errors import ConfigurationError, MnemicError
from mnemic.flows.engine import Engine
from mnemic.types import Scope

__all__ = ["Idle", "IdleTrigger"]

FAREWELL = 10.0
"""Seconds that a closing record waits for the step under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """When quiet moments are used.

    Attributes:
        idle_seconds: how long nothing must have happened, above 0.
        check_interval: seconds between two looks at whether consolidation has work, at least 0.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    idle_seconds: float = 30.0
    check_interval: float = 300.0

    def __post_init__(self) -> None:
        for name, value, positive in (
            ("idle_seconds", self.idle_seconds, True),
            ("check_interval", self.check_interval, False),
        ):
            fits = isinstance(value, (int, float)) and not isinstance(value, bool) and (value > 0 or not positive)  # pyright: ignore[reportUnnecessaryIsInstance]
            if not fits or value < 0 or value != value:
                raise ConfigurationError(f"{name} must be a number of seconds, not {value!r:.40}.")


class IdleTrigger:
    """Runs ``process``, and ``consolidate`` when that is advised, after a quiet time, off the caller's thread.

    It does nothing until it is armed: adapters arm it when a run of their framework ends. It fires once for each quiet
    period and never while a run is under way. Several processes on one folder may each have one: what one of them does, the
    others find done.

    Args:
        engine: the record.
        scope: whose memory is looked after.
        zone: for times of new memories.
        idle: how long is quiet.
        clock: seconds, always forward; for tests.
    """

    def __init__(
        self, engine: Engine, scope: Scope, zone: tzinfo, idle: Idle, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine, self._scope, self._zone, self._idle, self._clock = engine, scope, zone, idle, clock
        self._changed = threading.Condition()
        self._deadline: float | None = None
        self._running = 0
        self._looked = -float("inf")
        self._stopped = False
        self._sessions: dict[Scope, None] = {}
        self._waiting = 0
        self._thread: threading.Thread | None = None
        self.fired = 0
        self.last_error: MnemicError | None = None

    @contextmanager
    def run(self) -> Generator[None]:
        """A run that must not be disturbed; its end begins the quiet time."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """A run begins: nothing is done until as many have ended."""
        with self._changed:
            self._running += 1
            self._deadline = None

    def end(self) -> None:
        """A run ended; the last one begins the quiet time."""
        with self._changed:
            self._running = max(self._running - 1, 0)
        if not self._running:
            self.arm()

    def _spoken(self) -> list[Scope]:
        """The conversations that were spoken in since the last quiet time."""
        with self._changed:
            spoken, self._sessions = self._sessions, {}
        return list(spoken)

    def stored(self, scope: Scope, count: int, threshold: int) -> None:
        """Messages were stored: when so many wait, they are processed as soon as no run is under way."""
        self._waiting += count
        if self._waiting >= threshold:
            self._waiting = 0
            self.arm(scope, seconds=0.0)

    def arm(self, scope: Scope | None = None, *, seconds: float | None = None) -> None:
        """Something happened: the quiet time begins anew.

        Args:
            scope: the conversation it happened in; when it falls quiet, a summary of it is kept.
            seconds: how long it must be quiet; default the setting.
        """
        with self._changed:
            if self._stopped:
                return
            if scope is not None and scope.session is not None:
                self._sessions[scope] = None
            if not self._running:
                quiet = self._idle.idle_seconds if seconds is None else seconds
                self._deadline = self._clock() + quiet
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_watch, args=(weakref.ref(self),), name="mnemic-idle", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def wait(self) -> float | None:
        """Seconds until it is quiet; None when nothing is armed."""
        return None if self._deadline is None else max(self._deadline - self._clock(), 0.0)

    def poll(self) -> bool:
        """Fire if it is quiet; whether it was. The background thread calls this; tests may."""
        with self._changed:
            if self._stopped or self._running or self._deadline is None or self._clock() < self._deadline:
                return False
            self._deadline = None
        self.fired += 1
        try:
            self._work()
        except MnemicError as error:  # nobody waits for this thread: it is told, and tried again at the next quiet time
            self.last_error = error
            warnings.warn(f"Idle work was left undone: {error}", RuntimeWarning, stacklevel=2)
        return True

    def _work(self) -> None:
        from mnemic.flows import consolidating, maintaining, processing, retaining, sessions

        maintaining.embed_pending(self._engine)
        processing.process(self._engine, self._scope, self._zone, halted=lambda: self._stopped)
        for scope in self._spoken():
            sessions.summarise(self._engine, scope, self._zone)
        retaining.retire(self._engine, self._scope, self._engine.retention)
        if self._stopped or self._clock() - self._looked < self._idle.check_interval:
            return
        self._looked = self._clock()
        settings = self._engine.consolidator
        while not self._stopped and consolidating.advise(self._engine, self._scope, settings).should_consolidate:
            if not consolidating.consolidate(self._engine, self._scope, settings).id:
                break  # another process is at it

    def pause(self, seconds: float | None) -> bool:
        """Sleep until something changes or the time is over; False when it was stopped."""
        with self._changed:
            if not self._stopped:
                self._changed.wait(seconds)
            return not self._stopped

    def stop(self) -> None:
        """Finish the step under way and fire no more. May be called twice."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(FAREWELL)


def _watch(trigger: weakref.ref[IdleTrigger]) -> None:
    """The background thread: it lets go of a trigger that nobody holds."""
    while (held := trigger()) is not None:
        held.poll()
        seconds = held.wait()
        if not held.pause(LONGEST if seconds is None else min(seconds, LONGEST)):
            return
        del held


LONGEST = 60.0
"""Seconds of one sleep: after them the thread looks whether anybody still holds its trigger."""
