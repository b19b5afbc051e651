"""The idle trigger with a clock of its own: once for each quiet time, never while busy, one of several processes."""

import gc
import subprocess
import sys
import threading
import time
import warnings
import weakref
from pathlib import Path

import pytest
from tests.internals import database_of, runtime_of, store_of

from mnemic import ConfigurationError, Consolidator, Idle, IdleTrigger, Memory, Processing
from mnemic.errors import StoreFull
from mnemic.knowledge import pipeline
from mnemic.runtime.scheduler import Scheduler
from mnemic.types import Scope

ROOT = Path(__file__).parents[3]
EAGER = Consolidator(min_age_hours=0, buffer_threshold=1)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Unscheduled(Scheduler):
    """Starts no thread: tests poll their trigger themselves."""

    def schedule(self, job, seconds):
        pass


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing", consolidator=EAGER) as memory:
        yield memory


@pytest.fixture
def trigger(memory, clock):
    return quiet(memory, clock)


def quiet(memory, clock, **options):
    settings = Idle(**{"idle_seconds": 30, "check_interval": 300, "rest_seconds": 0} | options)
    trigger = IdleTrigger(runtime_of(memory), Scope(user="ana"), memory.admin.settings.timezone, settings, clock=clock)
    trigger._scheduler = Unscheduled()
    return trigger


def consolidations(memory):
    with database_of(memory).read() as db:
        return db.execute("SELECT count(*) FROM consolidations").fetchone()[0]


def test_unarmed_it_does_nothing(trigger, clock):
    clock.now += 10_000
    assert (trigger.poll(), trigger.wait(), trigger.fired) == (False, None, 0)


def test_once_for_each_quiet_time(memory, trigger, clock):
    memory.add_exchange("I moved to Lisbon.", "How do you like it?")
    trigger.arm()
    clock.now += 29
    assert (trigger.poll(), trigger.wait()) == (False, 1)
    trigger.arm()  # something happened: it begins anew
    clock.now += 29
    assert not trigger.poll()
    clock.now += 1
    assert trigger.poll()
    assert memory.stats().pending == {}
    clock.now += 1000
    assert (trigger.poll(), trigger.fired) == (False, 1)
    trigger.arm()
    clock.now += 30
    assert (trigger.poll(), trigger.fired) == (True, 2)


def test_never_while_a_run_is_open(trigger, clock):
    trigger.arm()
    with trigger.run():
        clock.now += 100
        with trigger.run():
            trigger.arm()
            clock.now += 100
            assert not trigger.poll()
        clock.now += 100
        assert not trigger.poll()
    assert not trigger.poll()
    clock.now += 30
    assert trigger.poll()


def test_a_run_that_fails_ends_all_the_same(trigger, clock):
    with pytest.raises(ValueError, match="x"), trigger.run():
        raise ValueError("x")
    clock.now += 30
    assert trigger.poll()


def test_more_ends_than_beginnings_do_no_harm(trigger, clock):
    trigger.end()
    trigger.end()
    trigger.begin()
    clock.now += 100
    assert not trigger.poll()


def test_consolidation_is_looked_at_in_intervals(memory, trigger, clock):
    memory.remember("Prefers tea.", importance=0.9)
    for expected, wait in ((1, 30), (1, 30), (1, 230), (2, 60)):
        trigger.arm()
        clock.now += wait
        assert trigger.poll()
        assert consolidations(memory) == expected
        memory.remember(f"Fact {clock.now}.", importance=0.9)


def test_all_of_it_in_one_quiet_time(clock):
    settings = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=3)
    with Memory(":memory:", user="ana", embedder="hashing", consolidator=settings) as memory:
        for n in range(10):
            memory.remember(f"Box {n} holds {n * n} things.", importance=0.9)
        trigger = quiet(memory, clock)
        trigger.arm()
        clock.now += 30
        trigger.poll()
        assert memory.stats().memories == {"long_term": 10}


def test_sessions_that_fell_quiet_are_summarised(memory, trigger, clock):
    here = memory.scoped(session="s")
    here.add_exchange("We plan the garden.", "Good.")
    trigger.arm(here.scope)
    clock.now += 30
    trigger.poll()
    assert [record.metadata["session"] for record in memory.list(tags=["session"])] == ["s"]


def test_a_run_that_begins_meanwhile_ends_the_work(clock, monkeypatch):
    settings = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=1)
    with Memory(":memory:", user="ana", embedder="hashing", consolidator=settings) as memory:
        for n in range(5):
            memory.remember(f"Box {n} holds {n * n} things.", importance=0.9)
        trigger = quiet(memory, clock)
        real = store_of(memory).apply

        def apply(user, changes, **options):
            if type(changes[0]).__name__ == "Consolidate":
                trigger.begin()
            return real(user, changes, **options)

        monkeypatch.setattr(store_of(memory), "apply", apply)
        trigger.arm()
        clock.now += 30
        trigger.poll()
        assert memory.stats().memories == {"long_term": 1, "short_term": 4}


def test_a_run_that_begins_between_two_cycles_ends_the_rest(clock):
    batches = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=1)
    with Memory(":memory:", user="ana", embedder="hashing", consolidator=batches) as memory:
        for text in ("The key is under the mat.", "Rita lives in Porto.", "The lease ends in May."):
            memory.remember(text, importance=0.9)
        trigger = quiet(memory, clock, rest_seconds=3600)
        trigger.arm()
        clock.now += 30
        thread = threading.Thread(target=trigger.poll)
        thread.start()
        while not consolidations(memory):
            thread.join(0.01)
        trigger.begin()
        thread.join(30)
        assert not thread.is_alive()
        assert consolidations(memory) == 1


def test_so_many_messages_are_processed_at_once_but_not_while_busy(memory, trigger, clock):
    here = memory.scoped(session="s")
    for n in range(3):
        here.add_exchange(f"Fact {n}.", "Yes.")
        trigger.stored(here.scope, 2, 6)
    trigger.begin()
    assert not trigger.poll()
    trigger.end()
    assert trigger.poll()
    assert memory.stats().pending == {}
    assert memory.list(tags=["session"]) == []  # the conversation goes on: no summary yet
    clock.now += 30
    assert trigger.poll()
    assert len(memory.list(tags=["session"])) == 1


def test_the_batch_threshold_of_a_handle():
    done = threading.Event()
    with Memory(":memory:", user="ana", embedder="hashing", processing=Processing(batch_threshold=4)) as memory:
        real = store_of(memory).apply

        def apply(user, changes, **options):
            receipts = real(user, changes, **options)
            if any(type(change).__name__ in ("AddEpisode", "MarkProcessed") for change in changes):
                done.set()
            return receipts

        store_of(memory).apply = apply
        memory.add_exchange("I live in Lisbon.", "Nice.")
        assert memory.idle.fired == 0
        memory.add_exchange("I work as a nurse.", "Good.")
        assert done.wait(20)


def test_an_error_is_told_and_the_next_quiet_time_tries_again(memory, trigger, clock, monkeypatch):
    memory.add_exchange("I moved to Lisbon.", "How do you like it?")
    for error in (StoreFull("No room."), RuntimeError("A bug.")):
        with monkeypatch.context() as patch:

            def fail(*_, error=error, **__):
                raise error

            patch.setattr(store_of(memory), "apply", fail)
            trigger.arm()
            clock.now += 30
            with pytest.warns(RuntimeWarning, match="left undone"):
                assert trigger.poll()
        assert trigger.last_error is error
    trigger.arm()
    clock.now += 30
    assert trigger.poll()
    assert memory.stats().pending == {}


def test_stopped_is_stopped(trigger, clock):
    trigger.arm()
    trigger.stop()
    trigger.stop()
    trigger.arm()
    trigger.stored(Scope(user="ana", session="s"), 10, 1)
    clock.now += 100
    assert not trigger.poll()


def test_close_joins_the_thread():
    memory = Memory(":memory:", user="ana", embedder="hashing")
    memory.idle.arm()
    thread = runtime_of(memory).scheduler._thread
    assert thread.is_alive()
    memory.close()
    assert not thread.is_alive()


def test_the_thread_ends_with_its_handle():
    memory = Memory(":memory:", user="ana", embedder="hashing")
    memory.idle.arm()
    thread, trigger = runtime_of(memory).scheduler._thread, weakref.ref(memory.idle)
    del memory
    for _ in range(50):
        gc.collect()
        thread.join(0.2)
        if not thread.is_alive():
            break
    assert (thread.is_alive(), trigger()) == (False, None)


def test_a_dead_thread_is_replaced():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        watch = runtime_of(memory).scheduler
        gone = threading.Thread(target=str)
        gone.start()
        gone.join()
        watch._thread = gone
        memory.idle.arm()
        assert watch._thread is not gone


class TestManyUsers:
    """All users of a record share one thread."""

    @pytest.fixture
    def handles(self):
        one_by_one = Consolidator(min_age_hours=0, buffer_threshold=1, max_batch_size=1)
        with Memory(
            ":memory:", user="ana", embedder="hashing", consolidator=one_by_one, idle=Idle(rest_seconds=0.0)
        ) as memory:
            yield [memory.scoped(user=f"u{number}") for number in range(40)]

    def idle_threads(self):
        return [thread for thread in threading.enumerate() if thread.name == "mnemic-idle"]

    def until(self, done):
        for _ in range(3000):
            if done():
                return True
            threading.Event().wait(0.01)
        return False

    def test_one_thread_serves_all_and_each_in_its_time(self, handles):
        before = len(self.idle_threads())
        for number, handle in enumerate(handles):
            handle.add_exchange(f"I live at number {number}.", "Good.")
            handle.idle.arm(seconds=3600)
        assert len(self.idle_threads()) == before + 1
        for handle in handles[::2]:
            handle.idle.arm(seconds=0.05)
        assert self.until(lambda: all(handle.idle.fired for handle in handles[::2]))
        assert [handle.idle.fired for handle in handles[1::2]] == [0] * 20
        for handle in handles[1::2]:
            handle.idle.arm(seconds=0.0)
        assert self.until(lambda: not any(handle.stats().pending for handle in handles))

    def test_who_has_much_to_do_lets_the_others_in_between(self, handles, monkeypatch):
        much, other = handles[:2]
        order, real = [], IdleTrigger.poll
        monkeypatch.setattr(IdleTrigger, "poll", lambda self: (order.append(self._scope.user), real(self))[1])
        for number in range(6):
            much.remember(f"Box {number} holds {number * number} things.", importance=0.9)
        consolidated = threading.Event()
        apply = store_of(much).apply

        def told(user, changes, **options):
            receipts = apply(user, changes, **options)
            if type(changes[0]).__name__ == "Consolidate" and not consolidated.is_set():
                consolidated.set()
                other.idle.arm(seconds=0.0)
            return receipts

        monkeypatch.setattr(store_of(much), "apply", told)
        much.idle.arm(seconds=0.0)
        assert self.until(lambda: much.stats().memories == {"long_term": 6} and other.idle.fired)
        assert order[:3] == ["u0", "u1", "u0"]

    def test_one_whose_warnings_are_errors_leaves_the_others(self, handles, monkeypatch):
        first, second = handles[:2]

        def fails(runtime, scope, zone, **options):
            if scope.user == first.scope.user:
                raise RuntimeWarning("left undone")

        monkeypatch.setattr(pipeline, "process", fails)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first.idle.arm(seconds=0.0)
            second.idle.arm(seconds=0.1)
            assert self.until(lambda: second.idle.fired)
            assert first.idle.fired == 1
        began = time.monotonic()
        first.idle.stop()
        second.idle.stop()
        assert time.monotonic() - began < 5

    def test_closing_during_a_step_that_was_armed_again_leaves_no_thread_at_work(self, handles, monkeypatch):
        first, working, go = handles[0], threading.Event(), threading.Event()

        def slow(*arguments, **options):
            working.set()
            assert go.wait(30)

        monkeypatch.setattr(pipeline, "process", slow)
        first.idle.arm(seconds=0.0)
        assert working.wait(30)
        first.idle.arm(seconds=0.01)
        threading.Timer(0.1, go.set).start()
        first.idle.stop()
        assert first.idle.wait() is None
        assert self.until(lambda: runtime_of(first).scheduler._thread is None)

    def test_a_threshold_that_was_reached_in_a_run_is_not_kept_waiting(self, handles):
        first = handles[0]
        first.add_exchange("I live in Lisbon.", "Good.")
        with first.idle.run():
            first.idle.stored(first.scope, 5, 5)
            assert not self.until_briefly(lambda: first.idle.fired)
        assert self.until(lambda: first.idle.fired)

    def until_briefly(self, done):
        threading.Event().wait(0.1)
        return done()

    def test_one_that_is_stopped_leaves_the_others(self, handles):
        first, second = handles[:2]
        first.idle.arm(seconds=3600)
        second.idle.arm(seconds=3600)
        first.idle.stop()
        second.idle.arm(seconds=0.0)
        assert self.until(lambda: second.idle.fired)
        assert not first.idle.fired


def test_arming_wakes_a_sleeping_thread():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.idle.arm()
        memory.add_exchange("I moved to Lisbon.", "How do you like it?")
        fired = threading.Event()
        real = store_of(memory).apply
        store_of(memory).apply = lambda *a, **o: (real(*a, **o), fired.set())[0]
        memory.idle.arm(seconds=0.0)
        assert fired.wait(20)


@pytest.mark.parametrize(
    "wrong",
    [
        {"idle_seconds": 0},
        {"idle_seconds": float("nan")},
        {"check_interval": -1},
        {"rest_seconds": -1},
        {"idle_seconds": True},
        {"check_interval": "1"},
    ],
)
def test_settings_that_mean_nothing(wrong):
    with pytest.raises(ConfigurationError):
        Idle(**wrong)


def run(*arguments):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.unit.lifecycle.idle_worker", *map(str, arguments)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )


@pytest.mark.parametrize("moment", ["armed", "working"])
def test_the_end_of_the_interpreter_leaves_no_traceback(tmp_path, moment):
    process = run(moment, tmp_path / "memory", "-")
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out.strip(), errors) == (0, "done", "")
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        assert memory.admin.verify().ok


def test_one_of_three_processes_does_the_work(tmp_path):
    folder, go = tmp_path / "memory", tmp_path / "go"
    with Memory(folder, user="ana", embedder="hashing", durability="NORMAL") as memory:
        for n in range(60):
            memory.remember(f"Box {n} holds {n * n} things.", importance=0.9)
    processes = [run("once", folder, go) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    go.touch()
    reports = [process.communicate(timeout=60) for process in processes]
    assert [errors for _, errors in reports] == [""] * 3
    promoted = [int(out) for out, _ in reports]
    with Memory(folder, user="ana", embedder="hashing") as memory:
        assert memory.stats().memories == {"long_term": 60}
        assert consolidations(memory) == 1
        assert memory.admin.verify().ok
    assert sorted(promoted) == [0, 0, 60]


def test_threads_end_when_there_is_nothing_to_wait_for_and_after_closing_none_begins():
    def idle_threads():
        return {thread for thread in threading.enumerate() if thread.name == "mnemic-idle"}

    before = idle_threads()
    memory = Memory(":memory:", embedder="hashing", idle=Idle(idle_seconds=0.001))
    triggers = [memory.scoped(user=f"u{n}").idle for n in range(5)]
    for trigger in triggers:
        trigger.arm()
    for thread in idle_threads() - before:
        thread.join(10)
    assert [trigger.fired for trigger in triggers] == [1] * 5
    assert not idle_threads() - before
    triggers[0].arm()
    for thread in idle_threads() - before:
        thread.join(10)
    assert triggers[0].fired == 2
    memory.close()
    memory.scoped(user="late").idle.arm()
    assert not idle_threads() - before
