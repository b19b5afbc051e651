"""Following a record without an engine behind it: everything once, every change, from wherever it was left."""

from contextlib import closing
from dataclasses import replace

import pytest

from mnemic.indexes.vector import following
from mnemic.indexes.vector.following import Follower
from mnemic.protocols import Mark
from mnemic.stores import SqliteStore
from mnemic.testing.fakes import add_memory, add_message
from mnemic.types import Archive, Erase, Restore


class DictShelf:
    """Keeps entries in a dictionary; may fail once before it notes how far it is."""

    def __init__(self):
        self.held, self.noted, self.fails, self.begun = {}, None, False, 0

    def state(self):
        return self.noted

    def begin(self, state):
        self.held, self.noted = {}, state
        self.begun += 1

    def put(self, entries):
        self.held |= {entry.doc: entry for entry in entries}

    def drop(self, docs):
        for doc in docs:
            self.held.pop(doc, None)

    def erase(self, docs):
        return not any(doc <= self.noted.top for doc in docs)

    def note(self, state):
        if self.fails:
            self.fails = False
            raise OSError("says the test")
        self.noted = state


@pytest.fixture
def store(tmp_path):
    with closing(SqliteStore(tmp_path / "memory")) as store:
        yield store


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    monkeypatch.setattr(following, "PAGE", 3)


def followed(store, shelf):
    follower = Follower(store.feed(), shelf)
    while follower.step():
        pass
    return {entry.stored.value.id: (entry.tier, entry.stored.status) for entry in shelf.held.values()}


def test_nothing_yet(store):
    assert not Follower(store.feed(), DictShelf()).step()


def test_everything_and_then_every_change(store):
    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(10)], model="m")
    store.apply("bob", [add_memory("a fact")], model="m")
    assert len(followed(store, shelf)) == 11
    store.apply("ana", [Archive(id="line 3"), add_message("line 10", vector=None), add_message("line 11")], model="m")
    found = followed(store, shelf)
    assert found["line 3"] == ("short_term", "archived")
    assert set(found) == {*(f"line {n}" for n in range(10)), "line 11", "a fact"}
    store.apply("ana", [Restore(id="line 3")])
    assert followed(store, shelf)["line 3"] == ("short_term", "short_term")
    assert shelf.begun == 1
    assert {entry.user for entry in shelf.held.values()} == {store.user("ana"), store.user("bob")}


def test_what_is_written_while_it_is_filled(store):
    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(7)], model="m")
    follower = Follower(store.feed(), shelf)
    number = 7
    while follower.step():
        if number < 12:
            store.apply("ana", [add_message(f"line {number}"), Archive(id=f"line {number - 7}")], model="m")
            number += 1
    found = {entry.stored.value.id: entry.stored.status for entry in shelf.held.values()}
    assert found == {f"line {n}": "archived" if n < 5 else "short_term" for n in range(12)}


@pytest.mark.parametrize("at", range(1, 6))
def test_interrupted_before_it_noted_where_it_was(store, at):
    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(8)], model="m")
    follower = Follower(store.feed(), shelf)
    for step in range(at + 1):
        shelf.fails = step == at
        try:
            follower.step()
        except OSError:
            break
    assert len(followed(store, shelf)) == 8
    assert shelf.begun == 1


def test_another_model_begins_anew(store):
    import numpy as np

    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(4)], model="m")
    followed(store, shelf)
    work = store.embedding
    work.begin("new")
    rows = work.missing(10)
    work.build(rows, np.eye(4, 3, dtype=np.float32), "new")
    assert work.swap("new", 3)
    assert len(followed(store, shelf)) == 4
    assert shelf.begun == 2
    assert {len(entry.vector) for entry in shelf.held.values()} == {3}
    assert shelf.noted.model == ("new", 3)


def test_the_same_model_again_begins_anew(store):
    import numpy as np

    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(4)], model="m")
    followed(store, shelf)
    dimension = shelf.noted.model.dimension
    work = store.embedding
    work.begin("m")
    work.build(work.missing(10), np.full((4, dimension), dimension**-0.5, dtype=np.float32), "m")
    assert work.swap("m", dimension)
    assert len(followed(store, shelf)) == 4
    assert shelf.begun == 2
    assert [float(entry.vector[0]) for entry in shelf.held.values()] == pytest.approx([dimension**-0.5] * 4, rel=1e-3)


def test_erased_after_it_was_taken_in(store):
    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(4)], model="m")
    followed(store, shelf)
    store.erasure.erase("ana", Erase(ids=("line 2",)))
    assert store.feed().gone(shelf.noted.mark.sequence) == [3]
    assert set(followed(store, shelf)) == {"line 0", "line 1", "line 3"}
    assert shelf.begun == 2


def test_erased_before_it_was_taken_in(store):
    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(4)], model="m")
    followed(store, shelf)
    store.apply("ana", [add_message("secret")], model="m")
    store.erasure.erase("ana", Erase(ids=("secret",)))
    assert len(followed(store, shelf)) == 4
    assert shelf.begun == 1


def test_an_older_copy_of_the_record_begins_anew(store):
    shelf = DictShelf()
    store.apply("ana", [add_message(f"line {n}") for n in range(4)], model="m")
    followed(store, shelf)
    shelf.noted = replace(shelf.noted, mark=Mark(shelf.noted.mark.sequence, 1))
    assert len(followed(store, shelf)) == 4
    assert shelf.begun == 2
    shelf.noted = replace(shelf.noted, mark=Mark(shelf.noted.mark.sequence + 9, 1))
    followed(store, shelf)
    assert shelf.begun == 3


def test_waiting_and_sizes(store):
    feed = store.feed()
    store.apply("ana", [add_message("one"), add_message("two", vector=None)], model="m")
    store.apply("bob", [add_message("three")], model="m")
    ana, bob = store.user("ana"), store.user("bob")
    assert feed.waiting(ana, 0) == [1]
    assert feed.waiting(bob, feed.last().sequence) == []
    assert feed.sizes() == {ana: 1, bob: 1}
    assert feed.name == store.feed().name
    heard = []
    feed.listen(lambda: heard.append(1))
    store.apply("ana", [Archive(id="one")])
    assert heard == [1]
