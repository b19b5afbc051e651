"""The updates of Chroma without Chroma behind them: everything once, every change, from wherever it was left."""

from contextlib import closing

import numpy as np
import pytest
from tests.internals import whole

from mnemic import StoreError
from mnemic.indexes.vector.chroma import index as module
from mnemic.indexes.vector.chroma.connection import ChromaUnavailable
from mnemic.indexes.vector.chroma.index import Chroma, ChromaIndex
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

    def __init__(self, kept, position):
        self.kept, self.position = kept, position

    complete = property(lambda self: self.position.filled is None)

    def write(self, feed, page):
        self.kept.meanwhile()
        self.kept.held |= {entry.doc: entry for entry in page.entries}
        for doc in page.removed:
            self.kept.held.pop(doc, None)
        self.kept.fails -= 1
        if self.kept.fails == 0:
            raise ChromaUnavailable("says the test")
        self.kept.position = page.position
        return DictCollections(self.kept, page.position)

    def nearest(self, *arguments):
        raise ChromaUnavailable("damaged")


class Connection:
    """Leads to a ``Kept``; a reset of a folder empties it."""

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


@pytest.fixture(params=[True, False], ids=["folder", "server"])
def embedded(request):
    return request.param


@pytest.fixture(autouse=True)
def of_dictionaries(monkeypatch, kept, embedded):
    def opened(kept, feed):
        return DictCollections(kept, kept.position) if kept.position else None

    def created(kept, feed, position):
        kept.held, kept.position, kept.created = {}, position, kept.created + 1
        return DictCollections(kept, position)

    monkeypatch.setattr(module, "find_spec", lambda name: name)
    monkeypatch.setattr(module, "open_collections", opened)
    monkeypatch.setattr(module, "create_collections", created)
    monkeypatch.setattr(ChromaIndex, "_connection", lambda self: Connection(kept, embedded=embedded))


@pytest.fixture
def make(embedded):
    return lambda: ChromaIndex(Chroma(batch=3) if embedded else Chroma(url="http://localhost:1", batch=3))


@pytest.fixture
def index(store, make):
    with closing(make()) as index:
        index.open(store.feed())
        yield index


def sent(index, kept):
    while index.catch_up():
        pass
    return {entry.stored.value.id: (entry.tier, entry.stored.status) for entry in kept.held.values()}


def lines(count, start=0):
    return [add_message(f"line {n}") for n in range(start, start + count)]


def test_nothing_yet(index, kept):
    assert sent(index, kept) == {}
    assert kept.created == 0


def test_everything_and_then_every_change(index, kept, store):
    store.apply("ana", lines(10))
    store.apply("bob", [add_memory("a fact")])
    assert len(sent(index, kept)) == 11
    store.apply("ana", [Archive(id="line 3"), add_message("line 10", vector=None), add_message("line 11")])
    found = sent(index, kept)
    assert found["line 3"] == ("short_term", "archived")
    assert set(found) == {*(f"line {n}" for n in range(10)), "line 11", "a fact"}
    store.apply("ana", [Restore(id="line 3")])
    assert sent(index, kept)["line 3"] == ("short_term", "short_term")
    assert kept.created == 1
    assert {entry.user for entry in kept.held.values()} == {store.user("ana"), store.user("bob")}


def test_what_is_written_while_it_is_filled(index, kept, store):
    store.apply("ana", lines(7))
    numbers = iter(range(7, 12))

    def written():
        if number := next(numbers, 0):
            store.apply("ana", [*lines(1, number), Archive(id=f"line {number - 7}")])

    kept.meanwhile = written
    found = {id_: status for id_, (_, status) in sent(index, kept).items()}
    assert found == {f"line {n}": "archived" if n < 5 else "short_term" for n in range(12)}


@pytest.mark.parametrize("at", range(1, 6))
def test_interrupted_before_the_position_is_noted(index, kept, store, embedded, at):
    store.apply("ana", lines(8))
    kept.fails = at
    if at > 4:
        assert len(sent(index, kept)) == 8
        store.apply("ana", lines(1, 8))
    with pytest.raises(StoreError, match="says the test"):
        sent(index, kept)
    with pytest.warns(RuntimeWarning, match="exact until it returns: says the test"):
        assert not index.serves("m")
    assert len(sent(index, kept)) == 8 + (at > 4)
    assert index.serves("m")
    assert kept.created == 1 + embedded  # a folder is filled again, a server has what it had


def test_another_model(index, kept, store):
    store.apply("ana", lines(4))
    sent(index, kept)
    work = store.embedding
    work.begin("new")
    work.build(work.missing(10), whole(np.eye(4, 3, dtype=np.float32)), "new")
    assert work.swap("new", 3)
    assert len(sent(index, kept)) == 4
    assert kept.created == 2
    assert {len(entry.vector) for entry in kept.held.values()} == {3}
    assert kept.position.model == ("new", 3)


def test_the_same_model_again(index, kept, store):
    store.apply("ana", lines(4))
    sent(index, kept)
    dimension = kept.position.model.dimension
    work = store.embedding
    work.begin("m")
    work.build(work.missing(10), whole(np.full((4, dimension), dimension**-0.5, dtype=np.float32)), "m")
    assert work.swap("m", dimension)
    assert len(sent(index, kept)) == 4
    assert kept.created == 2
    assert [float(entry.vector[0]) for entry in kept.held.values()] == pytest.approx([dimension**-0.5] * 4, rel=1e-3)


@pytest.mark.parametrize("by", ["this handle", "another"])
def test_erased(index, kept, store, embedded, by):
    store.apply("ana", lines(4))
    sent(index, kept)
    store.erasure.erase("ana", Erase(ids=("line 2",)))
    if by == "this handle":
        assert index.erase()
        assert "line 2" not in {entry.stored.value.id for entry in kept.held.values()}
    assert set(sent(index, kept)) == {"line 0", "line 1", "line 3"}
    assert kept.created == 1 + embedded  # deleting would leave the bytes in the files


def test_erased_while_it_is_filled(index, kept, store):
    store.apply("ana", lines(9))
    assert all(index.catch_up() for _ in range(3))
    assert "line 2" in {entry.stored.value.id for entry in kept.held.values()}
    store.erasure.erase("ana", Erase(ids=("line 2",)))
    assert index.erase()
    assert "line 2" not in {entry.stored.value.id for entry in kept.held.values()}
    assert set(sent(index, kept)) == {f"line {n}" for n in range(9) if n != 2}


def test_a_folder_has_one_handle_and_a_server_one_writer(index, kept, store, make, embedded):
    store.apply("ana", lines(4))
    if embedded:
        with pytest.raises(StoreError, match="chroma run"):
            make().open(store.feed())
        return
    with closing(make()) as other:
        other.open(store.feed())
        assert sent(other, kept) == {}
        assert not other.erase()
        sent(index, kept)
        assert len(sent(other, kept)) == 4
        assert other.serves("m")
        index.close()
        store.apply("ana", lines(1, 4))
        assert len(sent(other, kept)) == 5
        assert other.erase()


@pytest.mark.parametrize("later", [0, 9])
def test_an_older_copy_of_the_record(index, kept, store, make, later):
    store.apply("ana", lines(4))
    sent(index, kept)
    index.close()
    kept.position = kept.position._replace(sequence=kept.position.sequence + later, at=1)
    with closing(make()) as again:
        again.open(store.feed())
        assert len(sent(again, kept)) == 4
    assert kept.created == 2


def test_a_failed_search_is_a_doubt_only_about_what_was_searched(index, kept, store, embedded):
    store.apply("ana", lines(4))
    sent(index, kept)
    searched = index._collections
    query = np.zeros(searched.position.model.dimension, np.float32)

    def closed_meanwhile(*arguments):
        index._collections = DictCollections(kept, searched.position)
        raise ChromaUnavailable("closed meanwhile")

    searched.nearest = closed_meanwhile
    assert index.nearest(1, query, 5) is None
    assert index.serves("m")
    assert index.nearest(1, query, 5) is None
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert not index.serves("m")
    assert len(sent(index, kept)) == 4
    assert kept.created == 1 + embedded


def test_closed_it_sends_nothing(index, kept, store):
    index.close()
    store.apply("ana", lines(4))
    assert sent(index, kept) == {}
    assert not index.erase()
    assert index.findings() == []
    index.close()


def test_the_feed(store):
    feed = store.feed()
    store.apply("ana", [add_message("one"), add_message("two", vector=None)])
    store.apply("bob", [add_message("three")])
    ana, bob = store.user("ana"), store.user("bob")
    start = feed.start()
    before = start._replace(sequence=0, at=0)
    assert feed.waiting(ana, before) == [1]
    assert feed.waiting(bob, start) == []
    assert feed.sizes() == {ana: 1, bob: 1}
    assert feed.name == store.feed().name
    store.erasure.erase("ana", Erase(ids=("two",)))
    page = feed.page(before._replace(filled=None), 10)
    assert (page.removed, page.erased) == ([2], True)
    heard = []
    feed.listen(lambda: heard.append(1))
    store.apply("ana", [Archive(id="one")])
    assert heard == [1]
