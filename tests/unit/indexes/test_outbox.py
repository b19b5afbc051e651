"""The outbox without Chroma behind it: everything once, every change, from wherever it was left."""

from contextlib import closing

import numpy as np
import pytest

from mnemic.indexes.vector.chroma import outbox as module
from mnemic.indexes.vector.chroma.collections import ChromaUnavailable, Position
from mnemic.indexes.vector.chroma.outbox import Outbox
from mnemic.protocols import Mark
from mnemic.stores import SqliteStore
from mnemic.testing.fakes import add_memory, add_message
from mnemic.types import Archive, Erase, Restore


class Kept:
    """A Chroma of dictionaries: what a client leads to.

    Attributes:
        fails: at which position, from now on, it fails to note one; 0: at none.
        meanwhile: called with each page.
    """

    def __init__(self):
        self.held, self.position, self.created = {}, None, 0
        self.fails, self.meanwhile = 0, lambda: None


class DictCollections:
    """The collections of ``Kept``; may fail before the position is noted."""

    sizes = {}  # noqa: RUF012

    def __init__(self, kept, position, sizes=()):
        self.kept, self.position = kept, position

    complete = property(lambda self: self.position.filled is None)

    def put(self, entries):
        self.kept.meanwhile()
        self.kept.held |= {entry.doc: entry for entry in entries}

    def drop(self, docs):
        for doc in docs:
            self.kept.held.pop(doc, None)

    def with_position(self, feed, position):
        self.kept.fails -= 1
        if self.kept.fails == 0:
            raise ChromaUnavailable("says the test")
        self.kept.position = position
        return DictCollections(self.kept, position)


class Place:
    """Where a ``Kept`` is; a reset of an embedded one empties it."""

    def __init__(self, kept, *, embedded):
        self.kept, self.embedded = kept, embedded

    def client(self):
        return self.kept

    def reset(self):
        if self.embedded:
            self.kept.held, self.kept.position = {}, None

    def close(self):
        pass


@pytest.fixture
def store(tmp_path):
    with closing(SqliteStore(tmp_path / "memory")) as store:
        yield store


@pytest.fixture
def kept():
    return Kept()


@pytest.fixture(autouse=True)
def of_dictionaries(monkeypatch):
    def opened(kept, feed, model):
        return DictCollections(kept, kept.position) if kept.position and kept.position.model == model else None

    def created(kept, feed, position):
        kept.held, kept.position, kept.created = {}, position, kept.created + 1
        return DictCollections(kept, position)

    monkeypatch.setattr(module, "open_collections", opened)
    monkeypatch.setattr(module, "create_collections", created)
    monkeypatch.setattr(module, "replace", lambda collections, sizes: collections)
    monkeypatch.setattr(module, "BEGIN", 60.0)  # the test calls, not the thread


@pytest.fixture(params=[True, False], ids=["folder", "server"])
def embedded(request):
    return request.param


@pytest.fixture
def outbox(store, kept, embedded):
    feed = store.feed()
    with closing(Outbox(feed, Place(kept, embedded=embedded), feed.lock("chroma/test"), 3)) as outbox:
        yield outbox


def sent(outbox, kept):
    assert outbox.drain()
    return {entry.stored.value.id: (entry.tier, entry.stored.status) for entry in kept.held.values()}


def lines(count, start=0):
    return [add_message(f"line {n}") for n in range(start, start + count)]


def test_nothing_yet(outbox, kept):
    assert sent(outbox, kept) == {}
    assert kept.created == 0


def test_everything_and_then_every_change(outbox, kept, store):
    store.apply("ana", lines(10), model="m")
    store.apply("bob", [add_memory("a fact")], model="m")
    assert len(sent(outbox, kept)) == 11
    store.apply("ana", [Archive(id="line 3"), add_message("line 10", vector=None), add_message("line 11")], model="m")
    found = sent(outbox, kept)
    assert found["line 3"] == ("short_term", "archived")
    assert set(found) == {*(f"line {n}" for n in range(10)), "line 11", "a fact"}
    store.apply("ana", [Restore(id="line 3")])
    assert sent(outbox, kept)["line 3"] == ("short_term", "short_term")
    assert kept.created == 1
    assert {entry.user for entry in kept.held.values()} == {store.user("ana"), store.user("bob")}


def test_what_is_written_while_it_is_filled(outbox, kept, store):
    store.apply("ana", lines(7), model="m")
    numbers = iter(range(7, 12))

    def written():
        if number := next(numbers, 0):
            store.apply("ana", [*lines(1, number), Archive(id=f"line {number - 7}")], model="m")

    kept.meanwhile = written
    found = {id_: status for id_, (_, status) in sent(outbox, kept).items()}
    assert found == {f"line {n}": "archived" if n < 5 else "short_term" for n in range(12)}


@pytest.mark.parametrize("at", range(1, 6))
def test_interrupted_before_the_position_is_noted(outbox, kept, store, embedded, at):
    store.apply("ana", lines(8), model="m")
    kept.fails = at
    if at > 4:
        assert len(sent(outbox, kept)) == 8
        store.apply("ana", lines(1, 8), model="m")
    assert not outbox.drain()
    assert outbox.collections is None
    assert "says the test" in outbox.trouble
    assert len(sent(outbox, kept)) == 8 + (at > 4)
    assert outbox.trouble is None
    assert kept.created == 1 + embedded  # a folder is filled again, a server has what it had


def test_another_model(outbox, kept, store):
    store.apply("ana", lines(4), model="m")
    sent(outbox, kept)
    work = store.embedding
    work.begin("new")
    work.build(work.missing(10), np.eye(4, 3, dtype=np.float32), "new")
    assert work.swap("new", 3)
    assert len(sent(outbox, kept)) == 4
    assert kept.created == 2
    assert {len(entry.vector) for entry in kept.held.values()} == {3}
    assert outbox.collections.position.model == ("new", 3)


def test_the_same_model_again(outbox, kept, store):
    store.apply("ana", lines(4), model="m")
    sent(outbox, kept)
    dimension = kept.position.model.dimension
    work = store.embedding
    work.begin("m")
    work.build(work.missing(10), np.full((4, dimension), dimension**-0.5, dtype=np.float32), "m")
    assert work.swap("m", dimension)
    assert len(sent(outbox, kept)) == 4
    assert kept.created == 2
    assert [float(entry.vector[0]) for entry in kept.held.values()] == pytest.approx([dimension**-0.5] * 4, rel=1e-3)


@pytest.mark.parametrize("by", ["this handle", "another"])
def test_erased(outbox, kept, store, embedded, by):
    store.apply("ana", lines(4), model="m")
    sent(outbox, kept)
    store.erasure.erase("ana", Erase(ids=("line 2",)))
    if by == "this handle":
        assert outbox.erase()
        assert "line 2" not in {entry.stored.value.id for entry in kept.held.values()}
    assert set(sent(outbox, kept)) == {"line 0", "line 1", "line 3"}
    assert kept.created == 1 + embedded  # deleting would leave the bytes in the files


def test_another_handle_may_not_erase(outbox, kept, store, embedded):
    feed = store.feed()
    with closing(Outbox(feed, Place(kept, embedded=embedded), feed.lock("chroma/test"), 3)) as other:
        assert not other.owner
        assert not other.erase()
        assert other.drain()
        outbox.close()
        assert other.drain()
        assert other.owner
        assert other.erase()


def test_an_older_copy_of_the_record(outbox, kept, store):
    store.apply("ana", lines(4), model="m")
    for later in (0, 9):
        sent(outbox, kept)
        mark = outbox.collections.position.mark
        wrong = Position(kept.position.model, Mark(mark.sequence + later, 1), None)
        outbox.collections = DictCollections(kept, wrong)
        assert len(sent(outbox, kept)) == 4
    assert kept.created == 3


def test_a_failed_search_is_a_doubt_only_about_what_was_searched(outbox, kept, store, embedded):
    store.apply("ana", lines(4), model="m")
    sent(outbox, kept)
    searched = outbox.collections
    outbox.report_failure(DictCollections(kept, searched.position), ChromaUnavailable("closed meanwhile"))
    assert outbox.collections is searched
    outbox.report_failure(searched, ChromaUnavailable("damaged"))
    assert (outbox.collections, outbox.trouble) == (None, "damaged")
    assert len(sent(outbox, kept)) == 4
    assert kept.created == 1 + embedded


def test_closed_it_sends_nothing(outbox, kept, store):
    outbox.close()
    store.apply("ana", lines(4), model="m")
    assert not outbox.drain()
    assert not outbox.erase()
    assert outbox.findings() == []
    assert kept.held == {}


def test_what_is_left_is_sent_at_closing(outbox, kept, store, monkeypatch):
    store.apply("ana", lines(4), model="m")
    sent(outbox, kept)
    store.apply("ana", lines(2, 4), model="m")
    outbox.close()
    assert len(kept.held) == 6


def test_the_feed(store):
    feed = store.feed()
    store.apply("ana", [add_message("one"), add_message("two", vector=None)], model="m")
    store.apply("bob", [add_message("three")], model="m")
    ana, bob = store.user("ana"), store.user("bob")
    assert feed.waiting(ana, 0) == [1]
    assert feed.waiting(bob, feed.last().sequence) == []
    assert feed.sizes() == {ana: 1, bob: 1}
    assert feed.name == store.feed().name
    store.erasure.erase("ana", Erase(ids=("two",)))
    assert feed.gone(0) == [2]
    heard = []
    feed.listen(lambda: heard.append(1))
    store.apply("ana", [Archive(id="one")])
    assert heard == [1]
