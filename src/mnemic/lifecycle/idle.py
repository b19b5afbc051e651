"""Idle work: processing and consolidation after a period without activity."""

from __future__ import annotations

import atexit
import math
import time
import warnings
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import tzinfo
from typing import Any

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import Idle
from mnemic.services.processes import PerProcess, renew_in_child
from mnemic.text.values import shown
from mnemic.types import Scope


def _import_modules() -> Any:
    """Import what idle work needs: a fork waits until it is there."""
    from mnemic.knowledge import pipeline
    from mnemic.lifecycle import consolidation, maintenance, sessions

    return pipeline, consolidation, maintenance, sessions


_MODULES = PerProcess(_import_modules)


class IdleTrigger:
    """Runs ``process``, and ``consolidate`` when advised, on a background thread after an idle period.

    It does nothing until it is armed: adapters arm it when a run of their framework ends. It fires once per idle period
    and never during a run. Several processes on one folder may each have one; work done by one is skipped by the
    others.

    Args:
        runtime: the record.
        scope: the user.
        zone: time zone of new memories.
        idle: the settings.
        clock: a monotonic clock in seconds; for tests.
    """

    def __init__(
        self, runtime: Runtime, scope: Scope, zone: tzinfo, idle: Idle, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._runtime, self._scope, self._zone, self._idle, self._clock = runtime, scope, zone, idle, clock
        self._scheduler = runtime.scheduler
        self._deadline: float | None = None
        self._running = 0
        self._last_check = -float("inf")
        self._stopped = self._resting = False
        self._sessions: dict[Scope, None] = {}
        self._waiting = 0
        self._full = False
        self.fired = 0
        self.last_error: Exception | None = None
        _TRIGGERS.add(self)
        renew_in_child(self, IdleTrigger._renew)

    def _renew(self) -> None:
        """Reset in a forked child; the parent does the pending work."""
        self._deadline = None
        self._running = self._waiting = 0
        self._full = False
        self._sessions.clear()

    @contextmanager
    def run(self, scope: Scope | None = None) -> Generator[None]:
        """A context manager for one run of a framework.

        There is no idle work during the run; its end starts the idle period.

        Args:
            scope: see ``arm``.
        """
        _check_scope(scope)
        self.begin()
        try:
            yield
        finally:
            self.end(scope)

    def begin(self) -> None:
        """A run starts: no idle work until all runs have ended."""
        with self._scheduler.changed:
            self._running += 1
            self._deadline = None  # running work stops after this step
            if self._resting:
                self._scheduler.changed.notify_all()

    def end(self, scope: Scope | None = None) -> None:
        """A run ended; the last one starts the idle period.

        Args:
            scope: see ``arm``.
        """
        _check_scope(scope)
        with self._scheduler.changed:
            self._running = max(self._running - 1, 0)
        self.arm(scope)

    def stored(self, scope: Scope, count: int, threshold: int) -> None:
        """Messages were stored: at ``threshold`` waiting messages, process them as soon as no run is active."""
        with self._scheduler.changed:
            self._waiting += count
            if self._stopped or self._waiting < threshold:
                return
            self._waiting, self._full = 0, True
            if scope.session is not None:
                self._sessions[scope] = None
            self._scheduler.schedule(self, 0.0)

    def arm(self, scope: Scope | None = None, *, seconds: float | None = None) -> None:
        """Report activity: (re)start the idle period.

        Args:
            scope: the active conversation; it is summarized when the trigger fires.
            seconds: the length of the idle period. Default: ``Idle.idle_seconds``.

        Raises:
            InvalidInput: an argument is not valid.
        """
        _check_scope(scope)
        quiet = self._idle.idle_seconds if seconds is None else validation.number("seconds", seconds, 0, math.inf)
        with self._scheduler.changed:
            if self._stopped:
                return
            if scope is not None and scope.session is not None:
                self._sessions[scope] = None
            if not self._running:
                self._deadline = self._clock() + quiet
                self._scheduler.schedule(self, 0.0 if self._full else quiet)

    def wait(self) -> float | None:
        """Seconds until there is something to do; None when nothing is armed."""
        if self._stopped:
            return None
        if self._full and not self._running:
            return 0.0
        return None if self._deadline is None else max(self._deadline - self._clock(), 0.0)

    def poll(self) -> bool:
        """Fire if idle; whether it was. Called by the background thread and tests."""
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
            _MODULES.get()
            self._process()
            if quiet:
                self._maintain()
        except Exception as error:  # noqa: BLE001 - the background thread must go on: warn, and try
            self.last_error = error  # again at the next quiet time
            if not self._stopped:
                message = self._runtime.secrets.redacted(str(error))[0]
                warnings.warn(f"Idle work was left undone: {message}", RuntimeWarning, stacklevel=2)
        return True

    def _interrupted(self) -> bool:
        """Whether a run started or the trigger was stopped: idle work ends after the current step."""
        return self._stopped or self._running > 0

    def _process(self) -> None:
        from mnemic.knowledge import pipeline
        from mnemic.lifecycle import maintenance

        maintenance.embed_pending(self._runtime)
        pipeline.process(self._runtime, self._scope, self._zone, halted=self._interrupted)

    def _maintain(self) -> None:
        """Summaries, retention and consolidation, in an idle period only."""
        from mnemic.lifecycle import consolidation, maintenance, sessions

        while (scope := next(iter(self._sessions), None)) is not None and not self._interrupted():
            sessions.summarize(self._runtime, scope, self._zone)
            with self._scheduler.changed:
                self._sessions.pop(scope, None)
        sessions.summarize_quiet(self._runtime, self._scope, self._zone, self._interrupted)
        if self._interrupted():
            return
        maintenance.retire(self._runtime, self._scope, self._runtime.settings.retention)
        if self._clock() - self._last_check < self._idle.check_interval:
            return
        self._last_check = self._clock()
        settings = self._runtime.settings.consolidator
        while not self._interrupted() and consolidation.advise(self._runtime, self._scope, settings).should_consolidate:
            if not consolidation.consolidate(self._runtime, self._scope, settings).id:
                break  # another process is consolidating
            if self._scheduler.has_due_jobs():  # let other jobs run first
                self.arm(seconds=self._idle.rest_seconds)
                self._last_check = -float("inf")
                break
            self._rest()

    def _rest(self) -> None:
        """Pause between two cycles, unless a run starts."""
        with self._scheduler.changed:
            self._resting = True
            self._scheduler.changed.wait_for(self._interrupted, self._idle.rest_seconds)
            self._resting = False

    def stop(self) -> None:
        """Finish the current step and never fire again. May be called twice."""
        with self._scheduler.changed:
            self._stopped = True
            self._scheduler.changed.notify_all()
        self._scheduler.cancel(self)


def _check_scope(scope: object) -> None:
    """Check the scope of a run.

    Raises:
        InvalidInput: it is none.
    """
    if scope is not None and not isinstance(scope, Scope):
        raise InvalidInput(f"scope must be the scope of a handle, such as memory.scope, not {shown(scope)}.")


_TRIGGERS: weakref.WeakSet[IdleTrigger] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """At interpreter exit: finish running steps, as ``close`` does."""
    for trigger in list(_TRIGGERS):
        trigger.stop()
