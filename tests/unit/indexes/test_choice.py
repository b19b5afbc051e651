"""What ``vectors`` may be, and what is said where it is something else."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from tests.internals import runtime_of

from mnemic import ConfigurationError, Memory, MissingExtra, StoreUnavailable
from mnemic.indexes.vector.chroma import index as chroma
from mnemic.indexes.vector.chroma.index import Chroma, ChromaIndex
from mnemic.indexes.vector.exact import IndexedRows
from mnemic.runtime.factory import index_from
from mnemic.stores import SqliteStore


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(chroma, "find_spec", lambda name: name)


class Nearest:
    """The smallest index there is: it knows what it was given in one reading."""

    exact_below = 0

    def __init__(self):
        self.closed = False

    def open(self, feed):
        self.feed = feed

    def serves(self, model):
        return model is not None

    def nearest(self, user, query, k):
        entries = self.feed.page(self.feed.start(), 100).entries
        return [e.doc for e in sorted(entries, key=lambda e: -float(np.vecdot(e.vector, query)))[:k]]

    def catch_up(self):
        return False

    def erase(self):
        return True

    def findings(self):
        return ["says the test"]

    def close(self):
        self.closed = True


def test_exact_search_needs_none():
    assert index_from(None) is None
    assert index_from("exact") is None


@pytest.mark.usefixtures("installed")
def test_chroma_in_its_forms():
    for value in ("chroma", "http://localhost:8000", "https://chroma.example.org", Chroma(exact_below=7)):
        assert isinstance(index_from(value), ChromaIndex)
    assert Chroma().embedded
    assert Chroma(url="http://localhost:8123").server == ("localhost", 8123, False)
    assert Chroma(url="https://chroma.example.org/").server == ("chroma.example.org", 443, True)
    assert index_from(Chroma(exact_below=7)).exact_below == 7


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "value",
    ["faiss", "http://", "http://user:word@host", "https://host/path", "http://host:99999", 7, object(), "", b"chroma"],
)
def test_what_it_cannot_be(value):
    with pytest.raises(ConfigurationError):
        Memory(":memory:", embedder="hashing", vectors=value)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "values",
    [
        {"exact_below": -1}, {"exact_below": True}, {"batch": 0}, {"most_results": 1}, {"url": 3},
        {"url": "http://h:1", "client": object()}, {"client": object()},
    ],
)  # fmt: skip
def test_settings_out_of_range(values):
    with pytest.raises(ConfigurationError):
        Chroma(**values)


def test_an_asynchronous_client_is_refused(installed):
    class Client:
        async def heartbeat(self): ...
        async def create_collection(self): ...
        async def get_collection(self): ...
        async def get_or_create_collection(self): ...

    with pytest.raises(ConfigurationError, match="asynchronous"):
        index_from(Client())


def test_an_object_that_lacks_something_is_told_what():
    class Half:
        def open(self): ...
        def nearest(self): ...

    with pytest.raises(ConfigurationError, match="it lacks catch_up, close, erase, exact_below, findings, serves"):
        index_from(Half())


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(chroma, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"mnemic\[chroma\]"):
        index_from("chroma")
    assert find_spec("mnemic")


@pytest.mark.usefixtures("installed")
def test_a_record_in_ram_takes_no_chroma():
    for vectors in ("chroma", "http://localhost:1"):
        with pytest.raises(ConfigurationError, match="in RAM"):
            Memory(":memory:", embedder="hashing", vectors=vectors)


def test_an_index_of_ones_own():
    index = Nearest()
    with Memory(":memory:", user="ana", embedder="hashing", vectors=index) as memory:
        memory.add("a zebra ran away", id="zebra")
        memory.add("the garden is green", id="garden")
        assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
        view = runtime_of(memory).views.of("ana")
        assert isinstance(view.vectors, IndexedRows)
        assert memory.admin.verify().findings == ("says the test",)
        assert memory.admin.verify(deep=False).ok
        memory.admin.flush()
    assert index.closed


def test_an_index_that_serves_no_more_is_not_asked():
    index = Nearest()
    with Memory(":memory:", user="ana", embedder="hashing", vectors=index) as memory:
        memory.add("a zebra ran away", id="zebra")
        assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
        index.serves = lambda model: False
        index.nearest = None
        memory.add("the garden is green", id="garden")
        assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
        assert memory.search("the garden is green", recipe="vector")[0].id == "garden"
        del index.serves, index.nearest
        assert memory.search("the garden is green", recipe="vector")[0].id == "garden"


class Busy(Nearest):
    """An index that another process uses."""

    def open(self, feed):
        raise StoreUnavailable("Another process uses it.")


@pytest.mark.parametrize("strict", [False, True])
def test_a_record_is_closed_if_the_warning_of_its_index_is_an_error(tmp_path, monkeypatch, strict):
    closed, close = list[object](), SqliteStore.close
    monkeypatch.setattr(SqliteStore, "close", lambda store: (closed.append(store), close(store)))
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "ignore")
        if strict:
            with pytest.raises(RuntimeWarning, match="Another process"):
                Memory(tmp_path, embedder="hashing", vectors=Busy())
            assert len(closed) == 1
        else:
            with Memory(tmp_path, embedder="hashing", vectors=Busy()) as memory:
                memory.add("It is searched exactly.")
                assert memory.search("exactly")
                assert not closed
