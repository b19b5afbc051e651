"""When an index is updated: soon after a commit, page by page, and later after a failure."""

from contextlib import closing, suppress

import pytest

from mnemic import StoreUnavailable
from mnemic.runtime.scheduler import BEGIN, DELAY, LONGEST, POLL, IndexUpdater, Scheduler
from mnemic.stores import InMemoryStore
from mnemic.testing.fakes import add_message


class Index:
    """An index of a number of pages, which may be unavailable."""

    def __init__(self):
        self.pages, self.down, self.closed = 0, False, False

    def catch_up(self):
        if self.down:
            raise StoreUnavailable("says the test")
        self.pages = max(self.pages - 1, 0)
        return self.pages > 0

    def findings(self):
        self.catch_up()
        return ["a difference"]

    def close(self):
        self.closed = True


class Noted(Scheduler):
    """A scheduler that only notes when it was to poll."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def schedule(self, job, seconds):
        self.asked.append(seconds)


@pytest.fixture
def store():
    with closing(InMemoryStore()) as store:
        yield store


@pytest.fixture
def index():
    return Index()


@pytest.fixture
def scheduler():
    return Noted()


@pytest.fixture
def updater(index, store, scheduler):
    return IndexUpdater(index, store, scheduler)


def polled(updater):
    with suppress(StoreUnavailable):
        updater.poll()
    return updater.wait()


def test_a_commit_is_followed_soon_once_the_first_update_was_made(updater, index, store, scheduler):
    store.apply("ana", [add_message("one")])
    assert scheduler.asked == [BEGIN]
    index.pages = 3
    assert [polled(updater) for _ in range(3)] == [0, 0, POLL]
    store.apply("ana", [add_message("two")])
    assert scheduler.asked == [BEGIN, DELAY]


def test_failures_are_repeated_ever_later_whatever_is_committed(updater, index, store, scheduler):
    index.down = True
    pauses = [polled(updater) for _ in range(8)]
    assert pauses == sorted(pauses)
    assert pauses[0] > POLL
    assert pauses[-1] == LONGEST
    store.apply("ana", [add_message("one")])
    assert scheduler.asked == [BEGIN]
    assert not updater.drain()
    assert updater.findings() == ("says the test",)
    index.down = False
    assert polled(updater) == POLL
    assert updater.drain()


def test_a_closed_one_is_polled_no_more(updater, index, store, scheduler):
    polled(updater)
    updater.close()
    store.apply("ana", [add_message("one")])
    assert updater.wait() is None
    assert scheduler.asked == [BEGIN]
    assert index.closed
