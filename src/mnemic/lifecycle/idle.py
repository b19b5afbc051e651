"""Work for quiet moments: processing and consolidation, once nobody has spoken for a while."""

from __future__ import annotations

import atexit
import time
import warnings
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import tzinfo

from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import Idle
from mnemic.services.processes import reset_after_fork
from mnemic.types import Scope

__all__ = ["IdleTrigger"]


class IdleTrigger:
    """Runs ``process``, and ``consolidate`` when that is advised, after a quiet time, off the caller's thread.

    It does nothing until it is armed: adapters arm it when a run of their framework ends. It fires once for each quiet
    period and never while a run is under way. Several processes on one folder may each have one: what one of them does, the
    others find done.

    Args:
        runtime: the record.
        scope: whose memory is looked after.
        zone: for times of new memories.
        idle: how long is quiet.
        clock: seconds, always forward; for tests.
    """

    def __init__(
        self, runtime: Runtime, scope: Scope, zone: tzinfo, idle: Idle, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._runtime, self._scope, self._zone, self._idle, self._clock = runtime, scope, zone, idle, clock
        self._scheduler = runtime.scheduler
        self._deadline: float | None = None
        self._running = 0
        self._looked = -float("inf")
        self._stopped = self._resting = False
        self._sessions: dict[Scope, None] = {}
        self._waiting = 0
        self._full = False
        self.fired = 0
        self.last_error: Exception | None = None
        _TRIGGERS.add(self)
        reset_after_fork(self, IdleTrigger._renew)

    def _renew(self) -> None:
        """Begin anew in a forked child: what was to be done is left to the parent."""
        self._deadline = None
        self._running = self._waiting = 0
        self._full = False
        self._sessions.clear()

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
        with self._scheduler.changed:
            self._running += 1
            self._deadline = None  # at work it stops after this step
            if self._resting:
                self._scheduler.changed.notify_all()

    def end(self) -> None:
        """A run ended; the last one begins the quiet time."""
        with self._scheduler.changed:
            self._running = max(self._running - 1, 0)
            busy = self._running > 0
        if not busy:
            self.arm()

    def stored(self, scope: Scope, count: int, threshold: int) -> None:
        """Messages were stored: when so many wait, they are processed as soon as no run is under way."""
        with self._scheduler.changed:
            self._waiting += count
            if self._stopped or self._waiting < threshold:
                return
            self._waiting, self._full = 0, True
            if scope.session is not None:
                self._sessions[scope] = None
            self._schedule(0.0)

    def arm(self, scope: Scope | None = None, *, seconds: float | None = None) -> None:
        """Something happened: the quiet time begins anew.

        Args:
            scope: the conversation it happened in; when it falls quiet, a summary of it is kept.
            seconds: how long it must be quiet; default the setting.
        """
        with self._scheduler.changed:
            if self._stopped:
                return
            if scope is not None and scope.session is not None:
                self._sessions[scope] = None
            if not self._running:
                quiet = self._idle.idle_seconds if seconds is None else seconds
                self._deadline = self._clock() + quiet
                self._schedule(0.0 if self._full else quiet)

    def _schedule(self, seconds: float) -> None:
        """Have the background thread look here."""
        self._scheduler.schedule(self, seconds)

    def wait(self) -> float | None:
        """Seconds until there is something to do; None when nothing is armed."""
        if self._stopped:
            return None
        if self._full and not self._running:
            return 0.0
        return None if self._deadline is None else max(self._deadline - self._clock(), 0.0)

    def poll(self) -> bool:
        """Fire if it is quiet; whether it was. The background thread calls this; tests may."""
        with self._scheduler.changed:
            if self._stopped or self._running:
                return False
            full, self._full = self._full, False
            quiet = self._deadline is not None and self._clock() >= self._deadline
            if quiet:
                self._deadline = None
        if not full and not quiet:
            return False
        self.fired += 1
        try:
            self._process()
            if quiet:
                self._tidy()
        except Exception as error:  # noqa: BLE001 - nobody waits for this thread, which must go on: it is told, and tried
            self.last_error = error  # again at the next quiet time
            if not self._stopped:
                said = self._runtime.secrets.redacted(str(error))[0]
                warnings.warn(f"Idle work was left undone: {said}", RuntimeWarning, stacklevel=2)
        return True

    def _disturbed(self) -> bool:
        """Whether a run began meanwhile, or the end: the step under way is the last one for now."""
        return self._stopped or self._running > 0

    def _process(self) -> None:
        from mnemic.knowledge import pipeline
        from mnemic.lifecycle import maintenance

        maintenance.embed_pending(self._runtime)
        pipeline.process(self._runtime, self._scope, self._zone, halted=self._disturbed)

    def _tidy(self) -> None:
        """What is done in a quiet time only."""
        from mnemic.lifecycle import consolidation, retention, sessions

        while (scope := next(iter(self._sessions), None)) is not None and not self._disturbed():
            sessions.summarise(self._runtime, scope, self._zone)
            with self._scheduler.changed:
                self._sessions.pop(scope, None)
        if self._disturbed():
            return
        retention.retire(self._runtime, self._scope, self._runtime.settings.retention)
        if self._clock() - self._looked < self._idle.check_interval:
            return
        self._looked = self._clock()
        settings = self._runtime.settings.consolidator
        while not self._disturbed() and consolidation.advise(self._runtime, self._scope, settings).should_consolidate:
            if not consolidation.consolidate(self._runtime, self._scope, settings).id:
                break  # another process is at it
            if self._scheduler.has_due_jobs():  # they have their turn first
                self.arm(seconds=self._idle.rest_seconds)
                self._looked = -float("inf")
                break
            self._rest()

    def _rest(self) -> None:
        """Pause between two cycles, unless a run begins."""
        with self._scheduler.changed:
            self._resting = True
            self._scheduler.changed.wait_for(self._disturbed, self._idle.rest_seconds)
            self._resting = False

    @property
    def stopped(self) -> bool:
        """Whether it was stopped; then it never fires again."""
        return self._stopped

    def stop(self) -> None:
        """Finish the step under way and fire no more. May be called twice."""
        with self._scheduler.changed:
            self._stopped = True
            self._scheduler.changed.notify_all()
        self._scheduler.cancel(self)


_TRIGGERS: weakref.WeakSet[IdleTrigger] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """The end of the interpreter: steps under way are finished, as at ``close``."""
    for trigger in list(_TRIGGERS):
        trigger.stop()
