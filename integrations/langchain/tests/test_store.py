"""MnemicStore where LangGraph's own suites do not look: files, processes, models, expiry, words, hostile names."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.store.base import InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from langchain_mnemic import MnemicStore
from langchain_mnemic.store import file as file_module
from langchain_mnemic.store import store as store_module
from mnemic import (
    ConfigurationError,
    EmbedderError,
    EmbedderUnavailable,
    HashingEmbedder,
    InvalidInput,
    Memory,
    SchemaTooNew,
    StoreClosed,
    StoreCorrupt,
    StoreUnavailable,
)

HASHED: dict[str, Any] = {"embed": HashingEmbedder(), "fields": ["text"]}


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


@pytest.fixture
def store() -> Any:
    with MnemicStore(":memory:", index=HASHED) as opened:
        yield opened


class Clock:
    """Stands in for the clock of the store, in minutes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.minutes = 1_000_000.0
        monkeypatch.setattr(store_module, "now", lambda: int(self.minutes * 60e6))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


# Keeping


def test_what_was_put_is_there_after_a_restart(tmp_path: Path) -> None:
    value = {"text": "Grüße 🙂 \ud800", "list": [1, None, {"a": True}], "n": 1.5}
    with MnemicStore(tmp_path / "m", index=HASHED) as store:
        store.put(("ana", "größe"), "k\x00\n%'", value)
        first = store.get(("ana", "größe"), "k\x00\n%'")
    with MnemicStore(tmp_path / "m", index=HASHED) as store:
        again = store.get(("ana", "größe"), "k\x00\n%'")
        assert again is not None
        assert again == first
        assert again.value == value
        assert keys(store.search((), query="Grüße")) == ["k\x00\n%'"]


def test_it_lies_beside_the_record_and_does_not_disturb_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "m", user="ana", embedder="hashing") as memory, MnemicStore(memory, index=None) as store:
        memory.add_exchange("I moved to Lisbon.", "Lovely.")
        store.put(("ana",), "k", {"text": "a value"})
        assert (tmp_path / "m" / "langgraph.sqlite").exists()
        assert memory.admin.verify().ok
        assert memory.stats().messages == 2
        assert MnemicStore(Memory(":memory:", embedder="hashing"), index=None).search(()) == []


@pytest.mark.parametrize("kind", [str, Path])
def test_the_address_of_a_server_is_no_folder(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="it needs a folder") as caught:
        MnemicStore(kind("postgresql://ana:s3cret@host/db"), index=None)
    assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    with MnemicStore(tmp_path / "new", index=None) as store:
        store.put(("a",), "k", {})
        modes = {p.name: p.stat().st_mode & 0o777 for p in [tmp_path / "new", *(tmp_path / "new").iterdir()]}
    assert modes.pop("new") == 0o700
    modes.pop(".gitignore")
    assert set(modes.values()) == {0o600}


def test_an_update_keeps_the_birthday_and_the_place(store: MnemicStore, clock: Clock) -> None:
    store.put(("a",), "one", {"v": 1})
    store.put(("a",), "two", {"v": 1})
    clock.minutes += 5
    store.put(("a",), "one", {"v": 2})
    first, second = store.search(("a",))
    assert (first.key, second.key) == ("one", "two")
    assert (first.updated_at - first.created_at).total_seconds() == 300


def test_deleted_text_is_not_on_the_disk(tmp_path: Path) -> None:
    with MnemicStore(tmp_path, index=HASHED) as store:
        store.put(("a",), "k", {"text": "Zanzibarbarossa"})
        store.delete(("a",), "k")
    left = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"zanzibarbarossa" not in left.lower()


def test_a_batch_is_stored_whole_or_not_at_all(store: MnemicStore) -> None:
    with pytest.raises(InvalidInput, match="cannot be kept as JSON"):
        store.batch([PutOp(("a",), "good", {"v": 1}), PutOp(("a",), "bad", {"v": object()})])
    assert store.search(()) == []


def test_reads_of_a_batch_see_what_was_before(store: MnemicStore) -> None:
    store.put(("a",), "k", {"v": 1})
    _, found, _ = store.batch([PutOp(("a",), "k", {"v": 2}), SearchOp(("a",)), PutOp(("a",), "k", {"v": 3})])
    assert [item.value for item in found] == [{"v": 1}]  # type: ignore[union-attr]
    assert store.get(("a",), "k").value == {"v": 3}  # type: ignore[union-attr]


# Namespaces


@pytest.mark.parametrize("bad", [("a.b",), ("",), ("a\x00",), (1,), ("a\ud800",)])
def test_labels_that_could_lead_elsewhere_are_refused(store: MnemicStore, bad: Any) -> None:
    for op in (
        PutOp(bad, "k", {}),
        SearchOp(bad),
        ListNamespacesOp((MatchCondition("prefix", bad),)),
    ):
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("fine",), "k", {}), op])
    assert store.list_namespaces() == []


def test_one_namespace_is_not_the_beginning_of_another(store: MnemicStore) -> None:
    for namespace in [("ana",), ("anatol",), ("Ana",), ("ana", "x"), ("ana/",), ("ana%",), ("an_",)]:
        store.put(namespace, "k", {"text": "tea"})
    assert {item.namespace for item in store.search(("ana",))} == {("ana",), ("ana", "x")}
    assert {item.namespace for item in store.search(("ana",), query="tea")} == {("ana",), ("ana", "x")}
    assert store.list_namespaces(prefix=("*",), suffix=("x",)) == [("ana", "x")]


def test_words_of_one_namespace_do_not_move_the_scores_of_another(store: MnemicStore) -> None:
    store.put(("ana",), "k", {"text": "green tea"})
    store.put(("ana",), "l", {"text": "black coffee"})
    before = [(i.key, i.score) for i in store.search(("ana",), query="tea")]
    for number in range(50):
        store.put(("bo",), f"k{number}", {"text": "tea " * 20})
    assert [(i.key, i.score) for i in store.search(("ana",), query="tea")] == before


# Filters


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": {"$gt": 1, "$lte": 3}}, ["two", "three"]),
        ({"n": {"$ne": 2}}, ["one", "three", "none"]),
        ({"n": 1}, ["one"]),
        ({"n": True}, []),
        ({"flag": True}, ["one"]),
        ({"at": {"$gte": "2024-05-01"}}, ["two"]),
        ({"n": {"$gt": "x"}}, []),
        ({"in": {"deep": {"$gte": 5}}}, ["two"]),
        ({"in.deep": 5}, ["two"]),
        ({"tags": ["a", "b"]}, ["three"]),
        ({"n": None}, ["none"]),
        ({}, ["one", "two", "three", "none"]),
    ],
)
def test_filters(store: MnemicStore, wanted: Any, found: list[str]) -> None:
    store.put(("f",), "one", {"n": 1, "flag": True, "at": "2024-01-01"})
    store.put(("f",), "two", {"n": 2, "flag": 1, "at": "2024-06-01", "in": {"deep": 5, "more": 1}})
    store.put(("f",), "three", {"n": 3, "tags": ["a", "b"]})
    store.put(("f",), "none", {"text": "nothing"})
    assert keys(store.search(("f",), filter=wanted)) == found
    assert sorted(keys(store.search(("f",), filter=wanted, query="nothing"))) == sorted(found)


@pytest.mark.parametrize("wanted", [{"a'b": 1}, {"$or": []}, {"n": {"$regex": "x"}}, {"n": {"$gt": 1, "x": 2}}])
def test_a_filter_that_is_not_understood_is_an_error(store: MnemicStore, wanted: Any) -> None:
    with pytest.raises(InvalidInput):
        store.search(("f",), filter=wanted)


# Searching


def test_shared_words_lift_what_the_vectors_cannot_tell_apart() -> None:
    class Blind(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 1.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    index: Any = {"embed": Blind(), "dims": 2}
    with MnemicStore(":memory:", index=index) as store:
        for number, text in enumerate(["invoice KX-7788 is open", "an invoice was paid", "茶を飲む"]):
            store.put(("a",), str(number), {"text": text})
        found = store.search(("a",), query="What about invoice KX-7788?")
        assert keys(found) == ["0", "1", "2"]
        assert found[2].score == pytest.approx(0.5**0.5)
        assert keys(store.search(("a",), query="茶を", limit=1)) == ["2"]
    with MnemicStore(":memory:", index=index, words=0) as store:
        for number, text in enumerate(["something else", "invoice KX-7788"]):
            store.put(("a",), str(number), {"text": text})
        assert keys(store.search(("a",), query="KX-7788")) == ["0", "1"]


def test_without_a_model_words_alone_rank() -> None:
    with MnemicStore(":memory:", index=None) as store:
        store.put(("a",), "x", {"text": "nothing of it"})
        store.put(("a",), "y", {"text": "Ana drinks green tea"})
        first, second = store.search(("a",), query="Green TEA?")
        assert first.key == "y"
        assert first.score is not None
        assert 0 < first.score <= 1
        assert (second.key, second.score) == ("x", None)


def test_fields_of_the_store_and_of_one_item(store: MnemicStore) -> None:
    store.put(("a",), "by text", {"text": "walrus", "note": "penguin"})
    store.put(("a",), "by note", {"text": "walrus", "note": "penguin"}, index=["note"])
    store.put(("a",), "by all", {"text": "walrus", "notes": [{"b": "penguin"}, {"b": "seal"}]}, index=["notes[*].b"])
    store.put(("a",), "not at all", {"text": "penguin"}, index=False)
    scores = {item.key: item.score for item in store.search(("a",), query="penguin")}
    assert {key for key, score in scores.items() if score and score > 0.9} == {"by note", "by all"}
    assert scores["not at all"] is None
    assert [*scores][-1] == "not at all"


def test_pages_are_parts_of_one_ranking(store: MnemicStore) -> None:
    for number in range(25):
        store.put(("a",), f"k{number}", {"text": f"tea number {number}"}, index=None if number % 5 else False)
    whole = keys(store.search(("a",), query="tea 7", limit=100))
    paged = [key for at in range(0, 25, 4) for key in keys(store.search(("a",), query="tea 7", limit=4, offset=at))]
    assert paged == whole
    assert len(whole) == 25


def test_another_model_is_refused_until_reindex(tmp_path: Path) -> None:
    with MnemicStore(tmp_path, index=HASHED) as store:
        store.put(("a",), "k", {"text": "tea"})
    other: Any = {"embed": HashingEmbedder(dimension=64), "fields": ["text"]}
    with MnemicStore(tmp_path, index=other) as store:
        for refused in (lambda: store.search(("a",), query="tea"), lambda: store.put(("a",), "l", {"text": "x"})):
            with pytest.raises(ConfigurationError, match="reindex"):
                refused()
        assert store.get(("a",), "k") is not None
        assert store.reindex() == 1
        assert store.search(("a",), query="tea")[0].score == pytest.approx(1, abs=1e-5)


def test_a_model_that_cannot_be_had_costs_no_item() -> None:
    class Down(HashingEmbedder):
        down = True

        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            if self.down:
                raise EmbedderUnavailable("gone")
            return super().embed(texts, kind=kind)

    model = Down()
    with MnemicStore(":memory:", index={"embed": model, "fields": ["text"]}) as store:
        store.put(("a",), "k", {"text": "green tea"})
        assert keys(store.search(("a",), query="tea")) == ["k"]
        with pytest.raises(EmbedderUnavailable):
            store.reindex()
        model.down = False
        assert store.reindex() == 1
        assert store.search(("a",), query="green tea")[0].score == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("vectors", [[[float("nan")] * 2], [[1.0]], [], [[1.0, 0.0], [0.0, 1.0]]])
def test_vectors_that_cannot_be_used_store_nothing(vectors: Any) -> None:
    def embed(texts: Any) -> Any:
        return vectors

    with MnemicStore(":memory:", index={"embed": embed, "dims": 2}) as store:
        with pytest.raises(EmbedderError):
            store.put(("a",), "k", {"text": "x"})
        assert store.search(()) == []


# Expiry


def test_what_expired_is_gone(store: MnemicStore, clock: Clock) -> None:
    store.put(("a",), "short", {"text": "tea"}, ttl=10)
    store.put(("b",), "long", {"text": "tea"})
    clock.minutes += 9
    assert store.get(("a",), "short") is not None  # and its time begins anew
    clock.minutes += 9
    assert store.get(("a",), "short", refresh_ttl=False) is not None
    clock.minutes += 1.5
    assert store.get(("a",), "short") is None
    assert keys(store.search((), query="tea")) == ["long"]
    assert store.list_namespaces() == [("b",)]
    assert store.sweep_ttl() == 1


def test_the_time_to_live_of_a_store(clock: Clock) -> None:
    with MnemicStore(":memory:", index=None, ttl={"default_ttl": 5, "refresh_on_read": False}) as store:
        store.put(("a",), "default", {})
        store.put(("a",), "own", {}, ttl=60)
        store.put(("a",), "never", {}, ttl=None)
        clock.minutes += 4
        assert len(store.search(("a",))) == 3
        clock.minutes += 2
        assert keys(store.search(("a",))) == ["own", "never"]
        store.put(("a",), "default", {"v": 1})
        item = store.get(("a",), "default")
        assert item is not None
        assert item.created_at == item.updated_at


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), 1e12])
def test_a_time_to_live_that_makes_no_sense(store: MnemicStore, ttl: float) -> None:
    with pytest.raises(InvalidInput, match="ttl"):
        store.put(("a",), "k", {}, ttl=ttl)


# Erasing

SURE = ("Zanzibarbarossa", "Quetzalxochitl", "Xylophonarium")


def left_on_disk(folder: Path, needles: Any = SURE) -> set[str]:
    """Which words stand in a file, in any case; looked at in a process of its own, because reading here would let go of locks."""
    script = (
        "import sys, pathlib\n"
        "data = b''.join(p.read_bytes() for p in pathlib.Path(sys.argv[1]).rglob('*') if p.is_file()).lower()\n"
        "print(*[word for word in sys.argv[2:] if word.lower().encode() in data])\n"
    )
    command = [sys.executable, "-c", script, str(folder), *needles]
    return {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()}


def filled(folder: Path, number: int = 300) -> MnemicStore:
    """A store whose rows were moved about, with one item of three words that stand nowhere else."""
    store = MnemicStore(folder, index=HASHED)
    for n in range(number):
        if n == number // 2:
            store.put(("users", "ana"), SURE[1], {"text": f"{SURE[0]} was here", "deep": [{"key": SURE[2]}]})
        store.put(("users", f"u{n % 7}"), f"k{n}", {"text": f"Number {n} of many notes " * (n % 9 + 1)})
    return store


def test_a_deletion_leaves_no_byte_while_the_store_is_open(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        assert left_on_disk(tmp_path) == {*SURE}  # the words are seen where they are
        store.delete(("users", "ana"), SURE[1])
        assert left_on_disk(tmp_path) == set()
        assert len(store.search((), limit=1000)) == 300
        assert store.search(("users",), query="Number 7", limit=1)[0].value["text"].startswith("Number 7 ")


def test_a_namespace_is_erased_with_all_beneath_it_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path) as store:
        store.put(("users", "ana", "diary"), "k", {"text": SURE[0]})
        store.put(("users", "anabel"), "k", {"text": "stays"})
        store.put(("users", "ana"), "old", {"text": SURE[2]}, ttl=1e-4)
        monkeypatch.setattr(store_module, "now", lambda: 2**52)  # long after: it is not returned, and yet there
        erasure = store.erase(("users", "ana"))
        assert erasure.clean
        assert erasure.counts["items"] == 3
        assert left_on_disk(tmp_path) == set()
        assert store.search(("users", "ana")) == []
        assert keys(store.search(("users", "anabel"))) == ["k"]
        assert store.erase(("users", "ana")).counts == {"items": 0, "texts": 0}


def test_one_item_is_erased_and_those_beneath_it_stay(tmp_path: Path) -> None:
    with filled(tmp_path, 20) as store:
        store.put(("users", "ana", "diary"), SURE[1], {"text": "stays"})
        erasure = asyncio.run(store.aerase(("users", "ana"), SURE[1]))
        assert (erasure.clean, erasure.counts) == (True, {"items": 1, "texts": 1})
        assert left_on_disk(tmp_path) == {SURE[1]}  # the key of the one that stays
        assert keys(store.search(("users", "ana"))) == [SURE[1]]
        with pytest.raises(InvalidInput, match="key"):
            store.erase(("users",), "")
        with pytest.raises(InvalidNamespaceError):
            store.erase(("a.b",))
        assert store.erase(()).counts["items"] == 21
        assert store.search(()) == []


@pytest.mark.parametrize("how", ["overwritten", "expired", "deleted from a large file"])
def test_closing_removes_what_was_not_removed_at_once(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "AT_ONCE", 0)
    with filled(tmp_path) as store:
        if how == "overwritten":
            store.put(("users", "ana"), SURE[1], {"text": "other"})
        elif how == "expired":
            store.put(("users", "ana"), SURE[1], {"text": SURE[0]}, ttl=1e-4)
            monkeypatch.setattr(store_module, "now", lambda: 2**52)
            assert store.sweep_ttl() == 1
        else:
            store.delete(("users", "ana"), SURE[1])
        assert left_on_disk(tmp_path) - {SURE[1]}  # in the log at the least
    assert left_on_disk(tmp_path) <= ({SURE[1]} if how == "overwritten" else set())


def test_a_reader_in_the_way_is_told_and_the_rest_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "PATIENCE_MS", 1)
    with filled(tmp_path, 20) as store:
        reader = file_module.File(str(tmp_path / "langgraph.sqlite"))
        with reader.transaction(write=False) as db:
            assert db.execute("SELECT count(*) FROM items").fetchone()[0] == 21
            erasure = store.erase(("users", "ana"))
            assert "still sees" in erasure.purge.pending
            assert not erasure.clean
            assert left_on_disk(tmp_path)
        reader.close()  # finishes what the other began
        assert left_on_disk(tmp_path) == set()


def test_the_receipt_of_the_memory_names_the_file_of_the_store(tmp_path: Path) -> None:
    with Memory(tmp_path, user="ana", embedder="hashing") as memory, MnemicStore(memory, index=HASHED) as store:
        memory.remember(f"{SURE[0]} lives in Lisbon by the sea", id="m1")
        store.put(("users", "ana"), "k", {"text": f"{SURE[0]} lives in Lisbon by the sea"})
        erasure = memory.forget(ids=["m1"], hard=True)
        assert not erasure.clean
        assert "langgraph.sqlite" in erasure.purge.pending
        assert store.erase(("users", "ana")).clean
        assert left_on_disk(tmp_path) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_searching_the_folder_for_what_was_erased_lets_go_of_no_lock(tmp_path: Path) -> None:
    with Memory(tmp_path, user="ana", embedder="hashing") as memory, MnemicStore(memory, index=None) as store:
        store.put(("a",), "k", {"text": "stays"})
        memory.remember("Ana lives in Lisbon by the sea", id="m1")
        assert memory.forget(ids=["m1"], hard=True).clean
        script = (  # the bytes that SQLite holds a shared lock on, as long as a connection has a log
            "import fcntl, sys\n"
            "file = open(sys.argv[1], 'r+b')\n"
            "try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
            "except OSError: print('held')\n"
        )
        command = [sys.executable, "-c", script, str(tmp_path / "langgraph.sqlite")]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "held\n"


# Arguments and failures


def test_arguments_that_are_not_understood(tmp_path: Path) -> None:
    for given in ({"index": "remote"}, {"index": {"dims": 3}}, {"index": {**HASHED, "model": "x"}}, {"words": 2}):
        with pytest.raises(ConfigurationError):
            MnemicStore(tmp_path, **given)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="folder or a Memory"):
        MnemicStore(3)  # type: ignore[arg-type]


def test_calls_that_cannot_be_meant(store: MnemicStore) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        store.search(("a",), limit=-1)
    with pytest.raises(InvalidInput, match="key"):
        store.put(("a",), "", {})
    with pytest.raises(InvalidInput, match="Unknown operation"):
        store.batch([object()])  # type: ignore[list-item]
    store.put(("a",), "k", {})
    with pytest.raises(InvalidInput, match="match_type"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])  # type: ignore[arg-type]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "langgraph.sqlite").write_bytes(b"no database, but long enough to look like a header " * 40)
    with pytest.raises(StoreCorrupt):
        MnemicStore(tmp_path, index=None)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable):
        MnemicStore(tmp_path / "file", index=None)
    store = MnemicStore(tmp_path / "new", index=None)
    with store._file.transaction() as db:
        db.execute("PRAGMA user_version=99")
    store.close()
    store.close()
    with pytest.raises(StoreClosed):
        store.get(("a",), "k")
    with pytest.raises(SchemaTooNew):
        MnemicStore(tmp_path / "new", index=None)


# Several at once


def test_threads_share_a_store(tmp_path: Path) -> None:
    with MnemicStore(tmp_path, index=HASHED) as store:

        def work(name: str) -> None:
            for number in range(20):
                store.put((name,), f"k{number}", {"text": f"{name} {number}"})
                store.search((name,), query=name, limit=3)

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len(store.search((f"t{n}",), limit=100)) for n in range(4)] == [20] * 4


def test_processes_share_a_folder(tmp_path: Path) -> None:
    script = (
        "import sys; from langchain_mnemic import MnemicStore\n"
        "with MnemicStore(sys.argv[1], index=None) as s:\n"
        "    [s.put((sys.argv[2],), str(n), {'n': n}) for n in range(15)]\n"
    )
    arguments = [[sys.executable, "-c", script, str(tmp_path / "m"), f"p{n}"] for n in range(3)]
    running = [subprocess.Popen(a) for a in arguments]
    assert [process.wait() for process in running] == [0, 0, 0]
    with MnemicStore(tmp_path / "m", index=None) as store:
        assert len(store.search((), limit=100)) == 45


def forked(work: Callable[[], None]) -> int:
    """A child that works with what it inherited; it ends with 0 if all went well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
class TestForks:
    def test_what_a_child_stored_stays_when_the_parent_closes_first(self, tmp_path: Path) -> None:
        store, closed = MnemicStore(tmp_path / "m", index=None), tmp_path / "closed"
        store.put(("a",), "before", {"v": 1})

        def work() -> None:
            store.put(("a",), "child 0", {"v": 2})
            while not closed.exists():
                time.sleep(0.01)
            for number in range(1, 9):
                store.put(("a",), f"child {number}", {"v": 3})
            store.close()

        child = forked(work)
        while len(store.search(("a",))) < 2:
            time.sleep(0.01)
        store.close()
        closed.touch()
        assert code_of(child) == 0
        with pytest.raises(StoreClosed):
            store.get(("a",), "before")
        with MnemicStore(tmp_path / "m", index=None) as store:
            assert len(store.search(("a",), limit=100)) == 10

    def test_one_that_could_not_be_opened_again_tries_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = MnemicStore(tmp_path / "m", index=None)
        assert code_of(forked(lambda: None)) == 0
        with monkeypatch.context() as patch:

            def fails(db: Any) -> None:
                raise apsw.BusyError("busy")

            patch.setattr(file_module, "_write_ahead", fails)
            with pytest.raises(StoreUnavailable):
                store.put(("a",), "k", {"v": 1})
        store.put(("a",), "k", {"v": 1})
        assert store._file._db.execute("PRAGMA foreign_keys").fetchall() == [(1,)]
        store.close()

    def test_a_fork_in_the_middle_of_a_call_is_refused_in_the_child(self, tmp_path: Path) -> None:
        store = MnemicStore(tmp_path / "m", index=None)
        inside, leave = threading.Event(), threading.Event()

        def long() -> None:
            with store._file.transaction():
                inside.set()
                leave.wait()

        thread = threading.Thread(target=long)
        thread.start()
        inside.wait()

        def work() -> None:
            with pytest.raises(StoreUnavailable, match="spawn"):
                store.put(("a",), "k", {"v": 1})
            with pytest.raises(StoreUnavailable, match="spawn"):
                MnemicStore(tmp_path / "m", index=None)
            store.close()

        child = forked(work)
        leave.set()
        thread.join()
        assert code_of(child) == 0
        store.put(("a",), "k", {"v": 1})
        store.close()


async def test_concurrent_asynchronous_calls(store: MnemicStore) -> None:
    await asyncio.gather(*(store.aput(("a",), f"k{n}", {"text": f"tea {n}"}) for n in range(20)))
    found = await asyncio.gather(*(store.asearch(("a",), query=f"tea {n}", limit=1) for n in range(20)))
    assert [keys(f) for f in found] == [[f"k{n}"] for n in range(20)]
    await store.adelete(("a",), "k3")
    assert await store.aget(("a",), "k3") is None
    assert await store.alist_namespaces() == [("a",)]


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Note something."""
    assert runtime.store is not None
    runtime.store.put(("notes",), "last", {"text": text})
    return "noted"


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_an_agent_has_it(store: MnemicStore, scripted: Any, asynchronous: bool) -> None:
    call = AIMessage("", tool_calls=[{"name": "note", "args": {"text": "green tea"}, "id": "c1"}])
    agent: Any = create_agent(scripted(call, "Done."), tools=[note], store=store)
    given = {"messages": [("user", "Note it.")]}
    await agent.ainvoke(given) if asynchronous else agent.invoke(given)
    assert store.search(("notes",), query="tea")[0].value == {"text": "green tea"}


TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    with MnemicStore(tmp_path, index=HASHED) as store:
        store.put(
            ("ana",), "k", {"text": f"my token is {TOKEN}", "deep": [{"password": "hunter2"}], "n": 1, TOKEN: True}
        )
        assert store.get(("ana",), "k").value == {  # pyright: ignore[reportOptionalMemberAccess]
            "text": "my token is [redacted: github-token]", "deep": [{"password": "[redacted: password]"}], "n": 1,
            "[redacted: github-token]": True,
        }  # fmt: skip
        assert keys(store.search(("ana",), query=f"token {TOKEN}")) == ["k"]
        for namespace, key in ((("ana", TOKEN), "k"), (("ana",), TOKEN)):
            with pytest.raises(InvalidInput, match="github-token"):
                store.put(namespace, key, {"text": "x"})
        assert not [file for file in tmp_path.iterdir() if TOKEN.encode() in file.read_bytes()]


def test_what_is_done_with_secrets() -> None:
    with MnemicStore(":memory:", index=None, secrets="allow") as store:
        store.put(("ana",), "k", {"text": TOKEN})
        assert store.get(("ana",), "k").value == {"text": TOKEN}  # pyright: ignore[reportOptionalMemberAccess]
    with MnemicStore(":memory:", index=None, secrets="refuse") as store:
        with pytest.raises(InvalidInput, match=r"github-token.*nothing was stored"):
            store.batch([PutOp(("ana",), "a", {"text": "fine"}), PutOp(("ana",), "k", {"text": TOKEN})])
        assert store.search(("ana",)) == []
    with pytest.raises(ConfigurationError, match="action"):
        MnemicStore(":memory:", index=None, secrets="hide")  # pyright: ignore[reportArgumentType]
