"""Background work makes room for searches, and costs nothing where there are none."""

import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.internals import runtime_of

from mnemic import Consolidator, Memory
from mnemic.recall import search
from mnemic.runtime import runtime
from mnemic.runtime.runtime import SearchGate, Throttle


class Clock:
    """A clock of work and of rest that only goes where it is told to."""

    def __init__(self):
        self.worked, self.rested = 0.0, []

    def thread_time(self):
        return self.worked

    def sleep(self, seconds):
        self.rested.append(seconds)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(runtime, "time", SimpleNamespace(thread_time=clock.thread_time, sleep=clock.sleep))
    return clock


def test_without_searches_nobody_waits(clock):
    rest = Throttle(SearchGate())
    for _ in range(10):
        clock.worked += 1.0
        rest()
    assert clock.rested == []


def test_after_a_search_it_rests_as_long_as_it_worked_several_times(clock):
    road = SearchGate()
    rest = Throttle(road)
    with road.search():
        pass
    clock.worked += 0.01
    rest()
    assert clock.rested == [pytest.approx(0.06)]
    clock.worked += 0.01  # nobody came by since
    rest()
    assert len(clock.rested) == 1


def test_a_small_piece_is_not_worth_a_look_and_a_large_one_is_rested_for_so_long_at_most(clock):
    road = SearchGate()
    rest = Throttle(road)
    with road.search():
        pass
    clock.worked += runtime.SLICE / 2
    rest()
    assert clock.rested == []
    clock.worked += 5.0
    rest()
    assert clock.rested == [runtime.LONGEST_REST]


def test_a_search_under_way_is_waited_for():
    road = SearchGate()
    entered, leave = threading.Event(), threading.Event()

    def search():
        with road.search(), road.search():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=search)
    thread.start()
    assert entered.wait(10)
    assert road.busy
    threading.Timer(0.05, leave.set).start()
    road.wait_until_idle(10)
    assert not road.busy
    thread.join()
    began = time.monotonic()
    road.wait_until_idle(10)
    assert time.monotonic() - began < 5


def test_a_search_that_fails_is_over():
    road = SearchGate()
    with pytest.raises(ValueError, match="x"), road.search():
        raise ValueError("x")
    assert (road.busy, road.started) == (False, 1)


def test_a_cycle_leaves_the_caches_of_a_reader_as_they_are():
    eager = Consolidator(min_age_hours=0, buffer_threshold=1, similarity_threshold=0.6)
    with Memory(":memory:", embedder="hashing", consolidator=eager) as memory:
        for text in (
            "The box stands in the cellar.",
            "Note that the box stands in the cellar.",
            "Rita lives in Porto.",
        ):
            memory.remember(text, importance=0.9)
        memory.add_exchange("Where is the box?", "In the cellar.")
        found = memory.search("box", kinds=["memory"])
        before = runtime_of(memory).views.of("default")
        assert memory.consolidate().memories_archived == 1
        after = runtime_of(memory).views.of("default")
        assert after.columns.version > before.columns.version
        assert after.vectors.matrix.base is before.vectors.matrix.base  # no vector changed: the matrix is the same
        for name in ("doc", "time", "session", "previous", "following", "length"):
            assert getattr(after.columns, name).base is getattr(before.columns, name).base
        assert after.columns.status.tolist() != before.columns.status.tolist()
        assert len(memory.search("box", kinds=["memory"])) == len(found) - 1


class TestTurns:
    def test_one_search_computes_at_a_time(self, monkeypatch):
        inside, most, real = [], [], search.candidates

        def found(*given):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.005)
            try:
                return real(*given)
            finally:
                inside.pop()

        monkeypatch.setattr(search, "candidates", found)
        with Memory(":memory:", user="ana", embedder="hashing") as memory:
            memory.remember("The slow boat lies in the harbour.")
            threads = [
                threading.Thread(target=memory.search, args=("boat",), kwargs={"reach": r})
                for r in ("user", "auto") * 4
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(most) >= 8
            assert set(most) == {1}
            monkeypatch.setattr(search, "candidates", lambda *_: 1 / 0)
            for _ in range(2):  # an error gives the turn to the next
                with pytest.raises(ZeroDivisionError):
                    memory.search("boat")

    def test_where_servers_are_waited_for_all_work_at_once(self):
        road = SearchGate(in_turns=False)
        with road.turn(), road.turn():
            assert not road.busy

    def test_a_reranker_holds_up_nobody(self):
        asked, answered = threading.Event(), threading.Event()

        class Slow:
            def scores(self, query, texts):
                if query.startswith("slow"):
                    asked.set()
                    assert answered.wait(30)
                return np.arange(len(texts), dtype=np.float32)

        with Memory(":memory:", user="ana", embedder="hashing", reranker=Slow()) as memory:
            memory.remember("The slow boat lies in the harbour.")
            thread = threading.Thread(target=memory.search, args=("slow boat",))
            thread.start()
            assert asked.wait(30)
            assert memory.search("boat in the harbour")
            answered.set()
            thread.join()


def last_of(road):
    """The lock of who queued last: whether somebody waits is nobody's business but this file's."""
    return road._last


def queued(road, before):
    """Wait until another one has queued behind the last."""
    while last_of(road) is before:
        time.sleep(0.001)
    return last_of(road)


def test_turns_go_to_those_who_came_first():
    """A lock would go to whoever runs when it is let go: the one that lets go of it, most often."""
    road, order, threads = SearchGate(), [], []

    def come(name):
        with road.turn():
            order.append(name)

    with road.turn():
        for name in range(5):
            last = last_of(road)
            threads.append(threading.Thread(target=come, args=(name,)))
            threads[-1].start()
            queued(road, last)
    come("again")
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4, "again"]


@pytest.fixture
def interruptible():
    """Interrupts as in a program: workers of pytest-xdist ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads on this system")
def test_an_interrupt_while_waiting_lets_the_others_go_on(interruptible):
    road, leave, order = SearchGate(), threading.Event(), []

    def hold():
        with road.turn():
            leave.wait(30)

    def follow(last):
        queued(road, last)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def come():
        with road.turn():
            order.append("came")

    started = last_of(road)
    holder = threading.Thread(target=hold)
    holder.start()
    last = queued(road, started)
    interrupting = threading.Thread(target=follow, args=(last,))
    interrupting.start()
    with pytest.raises(KeyboardInterrupt), road.turn():
        order.append("interrupted")
    interrupting.join()
    leave.set()
    holder.join()
    last = threading.Thread(target=come)
    last.start()
    last.join(30)
    assert order == ["came"]
