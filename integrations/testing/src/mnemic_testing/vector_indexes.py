"""Conformance suite for vector indexes, with a real record."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.embedders import HashingEmbedder
from mnemic.indexes.vector import exact
from mnemic.memory import Memory
from mnemic.protocols import InputKind, VectorIndex
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import Consolidator
from mnemic.testing.fakes import FailingEmbedder
from mnemic.types import MemoryRecord, Message

__all__ = ["VectorIndexSuite"]

MakeVectors = Callable[[], object]
TOWNS = "Lisbon Porto Braga Faro Evora Coimbra Aveiro Leiria Viseu Guarda Sintra Tomar Lagos Silves Beja".split()
THINGS = "garden river cellar bicycle violin oven ladder lantern carpet kettle mirror basket saddle anchor".split()


def said(count: int) -> list[Message]:
    """Messages that have most words in common with some others, and all of them with none."""
    texts = (f"The {THINGS[n % 14]} number {n} stands in {TOWNS[n % 15]} since year {1800 + n}." for n in range(count))
    return [Message(role="user", content=text, id=f"m{n}") for n, text in enumerate(texts)]


def runtime_of(memory: Memory) -> Runtime:
    """The runtime of a handle."""
    return memory._runtime  # pyright: ignore[reportPrivateUsage] - what is promised is said of the index itself


def index_of(memory: Memory) -> VectorIndex:
    """The index of a handle."""
    updater = runtime_of(memory).updater
    assert updater is not None
    return updater.index


def number_of(memory: Memory, user: str = "ana") -> int:
    """The number of a user."""
    number = runtime_of(memory).store.user(user)
    assert number is not None
    return number


def named(memory: Memory, text: str, k: int = 5, user: str = "ana") -> list[str]:
    """The ids of what the index says is nearest to a text, as far as it is the user's."""
    runtime, number = runtime_of(memory), number_of(memory, user)
    docs = index_of(memory).nearest(number, runtime.indexer.embedder.embed([text])[0], k)
    assert docs is not None, "the index does not answer"
    held = runtime.store.fetch(number, list(docs))
    return [str(held[doc].value.id) for doc in docs if doc in held]


def caught_up(memory: Memory) -> bool:
    """Everything is taken in."""
    while index_of(memory).catch_up():
        pass
    return True


def settled(memory: Memory) -> None:
    """Everything is taken in, and nothing differs."""
    memory.admin.flush(process=False)
    index = index_of(memory)
    assert index.serves(runtime_of(memory).store.embedding.model())
    assert not index.catch_up()
    assert not index.findings()


def files_with(folder: Path, text: str) -> list[Path]:
    """The files below a folder that hold a text."""
    held = text.encode()
    return [path for path in folder.rglob("*") if path.is_file() and held in path.read_bytes()]


class _Fixtures:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also a few records are looked up: otherwise they are compared without asking the index."""
        for name, value in (("FETCHED", 1), ("COSTS", 0), ("ENOUGH", 10)):
            monkeypatch.setattr(exact, name, value)

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "memory"

    @pytest.fixture
    def opened(self, make_vectors: MakeVectors, folder: Path) -> Callable[..., Memory]:
        """Opens the memory of a user with the index."""

        def opened(user: str = "ana", embedder: object = "hashing", **settings: object) -> Memory:
            options = {"vectors": make_vectors(), "durability": "NORMAL", **settings}
            return Memory(folder, user=user, embedder=embedder, **options)  # pyright: ignore[reportArgumentType]

        return opened

    @pytest.fixture
    def memory(self, opened: Callable[..., Memory]) -> Generator[Memory]:
        with closing(opened()) as memory:
            yield memory


class _UpdateTests(_Fixtures):
    """The index follows every change of the record, at once or a little later."""

    def test_what_is_taken_in_is_nearest_to_itself(self, memory: Memory) -> None:
        messages = said(60)
        memory.add(messages)
        settled(memory)
        for message in messages[::7]:
            assert named(memory, message.content)[0] == message.id

    def test_what_was_written_is_found_before_it_is_taken_in(self, memory: Memory) -> None:
        memory.add(said(40))
        settled(memory)
        for n in range(5):
            memory.add(f"A zebra of the kind {n} ran away", id=f"zebra{n}")
            hits = memory.search(f"zebra of the kind {n}", recipe="vector", k=3)
            assert hits[0].id == f"zebra{n}"

    def test_another_handle_that_has_no_index_is_followed(self, memory: Memory, folder: Path) -> None:
        memory.add(said(30))
        settled(memory)
        with Memory(folder, user="ana", embedder="hashing") as other:
            other.add("A zebra ran away", id="zebra")
            assert memory.search("zebra ran away", recipe="vector", k=1)[0].id == "zebra"
        settled(memory)
        assert named(memory, "A zebra ran away")[0] == "zebra"

    def test_new_texts(self, memory: Memory) -> None:
        memory.add(said(30))
        held = memory.remember("Ana keeps a zebra")
        settled(memory)
        memory.update(held.id, content="Ana keeps a walrus")
        assert memory.search("keeps a walrus", recipe="vector", kinds=["memory"], k=1)[0].text == "Ana keeps a walrus"
        settled(memory)
        assert named(memory, "Ana keeps a walrus")[0] == held.id

    def test_what_is_forgotten_and_brought_back(self, memory: Memory) -> None:
        memory.add(said(30))
        memory.add("A zebra ran away", id="zebra")
        settled(memory)
        memory.forget(ids=["zebra"])
        for _ in range(2):
            assert "zebra" not in [hit.id for hit in memory.search("zebra ran away", recipe="vector", k=40)]
            assert memory.search("zebra ran away", recipe="vector", status=["archived"], k=1)[0].id == "zebra"
            settled(memory)
        memory.restore("zebra")
        for _ in range(2):
            assert memory.search("zebra ran away", recipe="vector", k=1)[0].id == "zebra"
            settled(memory)

    def test_consolidation_and_taking_it_back(self, opened: Callable[..., Memory]) -> None:
        tiers = Consolidator(min_age_hours=0, buffer_threshold=1, similarity_threshold=0.6)
        with closing(opened(consolidator=tiers)) as memory:
            memory.remember("The deadline is on 3 May", id="a", importance=0.9)
            memory.remember("Note that the deadline is on 3 May.", id="b", importance=0.8)
            memory.remember("Ana keeps a zebra", id="c", importance=0.9)
            settled(memory)
            done = memory.consolidate()
            assert done.memories_promoted
            settled(memory)
            record = memory.get("c")
            assert isinstance(record, MemoryRecord)
            assert record.status == "long_term"
            assert memory.search("Ana keeps a zebra", recipe="vector", kinds=["memory"], k=1)[0].id == "c"
            assert named(memory, "Ana keeps a zebra")[0] == "c"
            memory.undo(done.id)
            settled(memory)
            assert named(memory, "Ana keeps a zebra")[0] == "c"

    def test_vectors_that_come_later(self, opened: Callable[..., Memory]) -> None:
        embedder = FailingEmbedder(down=False)
        with closing(opened(embedder=embedder)) as memory:
            memory.add(said(20))
            settled(memory)
            embedder.down = True
            with pytest.warns(RuntimeWarning, match="Without vectors"):
                memory.add("A zebra ran away", id="zebra")
            caught_up(memory)
            embedder.down = False
            settled(memory)
            assert named(memory, "A zebra ran away")[0] == "zebra"

    def test_another_model(self, memory: Memory) -> None:
        messages = said(40)
        memory.add(messages)
        settled(memory)
        before = runtime_of(memory).store.embedding.model()

        def asked(done: int, total: int) -> None:
            assert memory.search(messages[0].content, recipe="vector", k=1)[0].id == "m0", (done, total)

        memory.admin.reembed(HashingEmbedder(dimension=64), progress=asked)
        assert runtime_of(memory).store.embedding.model() != before
        assert not index_of(memory).serves(before) or caught_up(memory)
        assert memory.search(messages[0].content, recipe="vector", k=1)[0].id == "m0"
        settled(memory)
        assert not index_of(memory).serves(before)
        assert named(memory, messages[0].content)[0] == "m0"

    def test_the_same_model_again(self, opened: Callable[..., Memory]) -> None:
        """Pending records get their vector, and changed vectors replace the old ones."""
        embedder = FailingEmbedder(down=False)
        with closing(opened(embedder=embedder)) as memory:
            memory.add(said(20))
            settled(memory)
            embedder.down = True
            with pytest.warns(RuntimeWarning, match="Without vectors"):
                memory.add("A zebra ran away", id="zebra")
            caught_up(memory)
            embedder.down = False
            memory.admin.reembed(_InvertedEmbedder())
            settled(memory)
            assert named(memory, "A zebra ran away")[0] == "zebra"
            assert memory.admin.verify().ok


class _InvertedEmbedder(FailingEmbedder):
    """The same model by its name; its vectors point elsewhere."""

    def __init__(self) -> None:
        super().__init__(down=False)

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> NDArray[np.float32]:
        return -super().embed(texts, kind=kind)


class _LifecycleTests(_Fixtures):
    """Users, restarts, erasure, and many at once."""

    def test_results_are_those_of_exact_search(self, memory: Memory, folder: Path) -> None:
        memory.add(said(400))
        settled(memory)
        with Memory(folder, user="ana", embedder="hashing") as exact:
            right = 0
            for n in range(0, 400, 20):
                text = f"{THINGS[n % 14]} in {TOWNS[n % 15]}, year {1800 + n}"
                expected = [hit.id for hit in exact.search(text, recipe="vector", k=5)]
                right += len({*expected} & {hit.id for hit in memory.search(text, recipe="vector", k=5)})
        assert right >= 98

    def test_users_never_meet(self, memory: Memory) -> None:
        bob = memory.scoped(user="bob")
        memory.add(said(40))
        bob.add("A zebra of Bob ran away", id="zebra")
        bob.add("The garden number 0 stands in Lisbon since year 1800.", id="bobs")
        for _ in range(2):
            assert {hit.id for hit in bob.search("garden number 0 in Lisbon", recipe="vector")} <= {"zebra", "bobs"}
            assert "zebra" not in {hit.id for hit in memory.search("zebra of Bob ran away", recipe="vector", k=50)}
            settled(memory)
        assert set(named(memory, "A zebra of Bob ran away", 100, user="bob")) == {"zebra", "bobs"}
        assert "zebra" not in named(memory, "A zebra of Bob ran away", 100)

    def test_filters_leave_the_right_ones(self, memory: Memory) -> None:
        memory.add(said(60))
        for n in range(3):
            memory.remember(f"Ana keeps a {THINGS[n]} in {TOWNS[n]}", tags=["kept"], id=f"r{n}")
        settled(memory)
        found = memory.search("garden number 0 stands in Lisbon", recipe="vector", tags=["kept"], k=5)
        assert sorted(hit.id for hit in found) == ["r0", "r1", "r2"]

    def test_it_survives_closing(self, opened: Callable[..., Memory]) -> None:
        messages = said(40)
        with closing(opened()) as memory:
            memory.add(messages)
            settled(memory)
        for _ in range(2):
            with closing(opened()) as memory:
                settled(memory)
                assert named(memory, messages[7].content)[0] == "m7"

    def test_what_happens_while_it_is_closed(self, opened: Callable[..., Memory], folder: Path) -> None:
        with closing(opened()) as memory:
            memory.add(said(30))
            settled(memory)
        with Memory(folder, user="ana", embedder="hashing") as memory:
            memory.add("A zebra ran away", id="zebra")
            memory.forget(ids=["m3"])
        with closing(opened()) as memory:
            assert memory.search("zebra ran away", recipe="vector", k=1)[0].id == "zebra"
            settled(memory)
            assert named(memory, "A zebra ran away")[0] == "zebra"

    def test_it_may_be_closed_at_any_time(self, opened: Callable[..., Memory]) -> None:
        for n in range(3):
            with closing(opened()) as memory:
                memory.add([Message(role="user", content=f"turn {n}-{i} of many", id=f"{n}-{i}") for i in range(20)])
        with closing(opened()) as memory:
            settled(memory)
            assert named(memory, "turn 1-7 of many")[0] == "1-7"
        memory.close()

    def test_nothing_of_what_is_erased_stays(self, opened: Callable[..., Memory], folder: Path) -> None:
        with closing(opened()) as memory:
            memory.add(said(20))
            memory.add("The zebra of the vault is called xyzzy-4711", id="secret")
            held = memory.remember("The vault opens with plugh-0815")
            settled(memory)
            assert {text.split()[0] for text in self.traces(folder, ["xyzzy-4711", "plugh-0815"])} == {
                "xyzzy-4711",
                "plugh-0815",
            }
            memory.update(held.id, content="The vault opens with nothing")
            settled(memory)
            for id_ in ("secret", held.id):
                memory.forget(ids=[id_], hard=True)
                assert id_ not in {hit.id for hit in memory.search("zebra of the vault", recipe="vector", k=30)}
            settled(memory)
            assert set(named(memory, "The zebra of the vault", 50)) <= {f"m{n}" for n in range(20)}
            assert self.traces(folder, ["xyzzy-4711", "plugh-0815"]) == []
        assert self.traces(folder, ["xyzzy-4711", "plugh-0815"]) == []
        with closing(opened()) as memory:
            settled(memory)

    def traces(self, folder: Path, texts: Sequence[str]) -> list[str]:
        """Where texts are still to be found; an index elsewhere than in the folder says it in its own way."""
        return [f"{text} in {path.name}" for text in texts for path in files_with(folder, text)]

    def test_erased_while_it_is_closed(self, opened: Callable[..., Memory], folder: Path) -> None:
        with closing(opened()) as memory:
            memory.add(said(20))
            memory.add("The zebra of the vault is called xyzzy-4711", id="secret")
            settled(memory)
        with Memory(folder, user="ana", embedder="hashing") as memory:
            assert memory.forget(ids=["secret"], hard=True).purge.pending == ""
        with closing(opened()) as memory:
            settled(memory)
            assert "secret" not in named(memory, "The zebra of the vault", 50)
        assert self.traces(folder, ["xyzzy-4711"]) == []

    def test_many_threads(self, memory: Memory) -> None:
        memory.add(said(30))
        settled(memory)
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for n in range(8):
                    text = f"Zebra{10 * number + n} ran away"
                    memory.add(text, id=text)
                    assert memory.search(text, recipe="vector", k=1)[0].id == text
            except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
                failures.append(error)

        with _running([lambda n=n: work(n) for n in range(4)]):
            pass
        assert failures == []
        settled(memory)


@contextmanager
def _running(work: Sequence[Callable[[], None]]) -> Generator[None]:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


class VectorIndexSuite(_UpdateTests, _LifecycleTests):
    """Conformance suite for every ``VectorIndex``.

    A subclass gives the fixture ``make_vectors``: a function that makes what ``Memory(vectors=...)`` takes, each time for
    the same index, and for users of any size (``exact_below`` 0). An index that is not in the folder of the memory says in
    ``traces`` where erased texts are to be looked for.
    """

    def test_a_vector_of_nothing(self, memory: Memory) -> None:
        memory.add(said(20))
        settled(memory)
        zeros = np.zeros(256, np.float32)
        assert index_of(memory).nearest(number_of(memory), zeros, 5) is not None
