"""Faults at a chosen step: the n-th statement that SQLite is asked to run, or the n-th write to a file.

Nothing in the product knows of this. ``apsw`` calls a hook for each connection it makes, and a tracer before each statement; a
virtual file system stands between SQLite and the disk. A trial counts only when ``landed`` says so.
"""

import asyncio
import faulthandler
import os
import signal
from contextlib import contextmanager

import apsw
import pytest
from tests.internals import connections_of

from mnemic import MnemicError
from mnemic.stores.sqlite.database import Database

MODES = ("crash", "exception", "cancel")
CRASHED = 9
HUNG = 240
"""Seconds after which a child is taken to hang."""


class Cancelled(asyncio.CancelledError):
    """A cancellation at a step: not an ``Exception``, so that nothing takes it for a failure it may survive."""


class Steps:
    """Counts statements, and lets the fault happen before the n-th (0: never).

    Args:
        at: before which statement.
        mode: ``crash`` ends the process as ``kill -9`` does; ``exception`` is a disk that fails; ``cancel`` a cancelled task.

    Attributes:
        parts: the steps that follow a change of the file: who dies there leaves another record than one step before.
    """

    def __init__(self, at=0, mode="exception"):
        self.at, self.mode, self.count, self.landed = at, mode, 0, False
        self.parts, self._writes = [], False

    def step(self):
        self.count += 1
        if self.count != self.at:
            return
        self.landed = True
        if self.mode == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        raise apsw.IOError("injected") if self.mode == "exception" else Cancelled("injected")

    def trace(self, _cursor, statement, _bindings):
        self.step()
        if statement.startswith("BEGIN"):
            self._writes = statement == "BEGIN IMMEDIATE"
        elif (statement == "COMMIT" and self._writes) or statement.startswith(("VACUUM", "PRAGMA wal_checkpoint")):
            self.parts.append(self.count + 1)
        return True

    def attach(self, connection):
        connection.set_exec_trace(self.trace)


@contextmanager
def statements(memory=None, at=0, mode="exception"):
    """Within the block the n-th statement does not happen; connections of an open memory, and all that are made meanwhile."""
    steps = Steps(at, mode)
    held = []
    if memory is not None:
        held = connections_of(memory)
    for connection in held:
        steps.attach(connection)
    apsw.connection_hooks.append(steps.attach)
    try:
        yield steps
    finally:
        apsw.connection_hooks.remove(steps.attach)
        steps.at = 0  # connections that were made meanwhile keep their tracer


def trial(work, step, mode):
    """One fault at one step of some work, in a process of its own if that ends it; whether it landed."""
    if mode == "crash":

        def child():
            with statements(None, step, mode):
                work()

        code = in_child(child)
        assert code in (0, -signal.SIGKILL), code
        return code == -signal.SIGKILL
    with statements(None, step, mode) as steps:
        try:
            work()
        except (MnemicError, Cancelled):
            assert steps.landed
    return steps.landed


class _Files(apsw.VFS):
    """A file system that fails at the n-th write, truncation or sync."""

    def __init__(self, steps, name="failing"):
        self.steps, self.base = steps, apsw.vfs_names()[0]
        super().__init__(name, base=self.base, makedefault=True)

    def xOpen(self, name, flags):
        return _File(self.steps, self.base, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, steps, base, name, flags):
        self.steps = steps
        super().__init__(base, name, flags)

    def xWrite(self, data, offset):
        self.steps.step()
        super().xWrite(data, offset)

    def xTruncate(self, size):
        self.steps.step()
        super().xTruncate(size)

    def xSync(self, flags):
        """May fail, and does not wait for the disk."""
        self.steps.step()


class Writes(Steps):
    """Counts writes to files instead; ``full`` is a disk without room from the n-th write on."""

    def step(self):
        if self.mode == "full" and self.at and self.count + 1 >= self.at:
            self.count += 1
            self.landed = True
            raise apsw.FullError("injected")
        super().step()


@contextmanager
def files(at=0, mode="exception"):
    """Within the block files of connections that are made here fail at the n-th write."""
    steps = Writes(at, mode)
    system = _Files(steps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_durability", property(lambda _: "FULL", lambda *_: None), raising=False)
        try:
            yield steps
        finally:
            steps.at = 0
            system.unregister()


def forked(work):
    """A forked process that works with what it inherited, by its id; it ends with 0 if all went well.

    One that hangs says where, and is ended by a signal.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.register(signal.SIGALRM, chain=True)
            signal.alarm(HUNG)
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def code_of(child):
    """The exit code of a process when it has ended, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(work):
    """Run work in a forked process; see ``code_of``."""
    return code_of(forked(work))


def answer_of(work, seconds=120):
    """What work returns in a forked process, as text; or minus the signal that ended it, or ``hung``."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            signal.alarm(seconds)  # ends the child without a word
            os.write(writer, str(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said if code == 0 else f"ended with {code}"


def chosen(total, most):
    """All steps up to a number, or so many of them evenly, the last ones always among them."""
    if total <= most:
        return list(range(1, total + 1))
    return sorted({1 + round(n * (total - 1) / (most - 1)) for n in range(most)} | set(range(total - 2, total + 1)))
