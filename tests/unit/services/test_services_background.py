import asyncio
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from threading import Event, Thread

import pytest

from mnemic.services.threads import BackgroundLoop


@pytest.fixture
def loop():
    made = BackgroundLoop("test-loop")
    yield made
    made.stop(nothing, 5)


async def nothing():
    return None


async def value(result):
    await asyncio.sleep(0)
    return result


def test_results_and_errors_come_back(loop):
    async def failing():
        raise KeyError("here")

    assert loop.run(lambda: value(3)) == 3
    with pytest.raises(KeyError, match="here"):
        loop.run(failing)


async def test_it_works_inside_a_running_loop(loop):
    assert loop.run(lambda: value("inner")) == "inner"


def test_the_coroutine_sees_the_callers_context(loop):
    variable = ContextVar("variable", default="none")
    variable.set("mine")

    async def read():
        return variable.get()

    assert loop.run(read) == "mine"


def test_stopping_cancels_what_runs_and_runs_the_last_thing(loop):
    running, outcome, last = Event(), Future(), []

    async def hanging():
        running.set()
        await asyncio.Event().wait()

    def call():
        try:
            outcome.set_result(loop.run(hanging))
        except CancelledError:
            outcome.set_result("cancelled")

    async def finish():
        last.append("closed")

    thread = Thread(target=call)
    thread.start()
    assert running.wait(5)
    loop.stop(finish, 5)
    thread.join(5)
    assert outcome.result(5) == "cancelled"
    assert last == ["closed"]


def test_a_failing_last_thing_does_not_matter(loop):
    async def broken():
        raise OSError("no connection to close")

    loop.stop(broken, 5)
    with pytest.raises(CancelledError):
        loop.run(lambda: value(1))


def test_stopping_twice_is_fine(loop):
    loop.stop(nothing, 5)
    loop.stop(nothing, 5)
