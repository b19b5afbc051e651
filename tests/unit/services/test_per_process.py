"""A value of each process."""

import os
import threading
import time

import pytest
from tests.faults.failpoints import in_child

from mnemic.services.processes import PerProcess

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


class Value:
    ended = 0

    def __del__(self):
        Value.ended += 1


def test_a_child_makes_its_own_and_does_not_end_that_of_its_parent():
    values = PerProcess(Value)
    place = id(values.get())

    def work():
        assert values.peek() is None
        assert id(values.get()) != place
        assert in_child(lambda: values.peek() is None and values.get()) == 0
        values.pop()
        assert Value.ended == 1

    assert in_child(work) == 0
    assert id(values.get()) == place
    assert Value.ended == 0


def test_a_fork_waits_until_a_value_is_made():
    """As a module is imported: its lock is held meanwhile, and a child would wait for it for ever."""
    module, begun = threading.Lock(), threading.Event()

    def make():
        with module:
            begun.set()
            time.sleep(0.2)
        return Value()

    values = PerProcess(make)
    loading = threading.Thread(target=values.get)
    loading.start()
    assert begun.wait(10)

    def work():
        assert module.acquire(timeout=5)

    assert in_child(work) == 0
    loading.join()
