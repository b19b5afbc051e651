"""The conformance suite of vector indexes over Chroma: in the folder of the memory, and in a server."""

import json
import os
import socket
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from tests.internals import collections_of, runtime_of, store_of, updater_of

from mnemic import Chroma, Consolidator, HashingEmbedder, Memory, Message
from mnemic.indexes.vector import exact
from mnemic.indexes.vector.chroma import collections, connection
from mnemic.indexes.vector.chroma.index import ChromaIndex
from mnemic.types import Revise
from mnemic_testing import VectorIndexSuite
from mnemic_testing.chroma_servers import ChromaServer, chroma_client, chroma_server
from mnemic_testing.vector_indexes import files_with, said

chromadb = pytest.importorskip("chromadb")
from chromadb.config import Settings  # noqa: E402

pytestmark = pytest.mark.engine


class TestEmbedded(VectorIndexSuite):
    @pytest.fixture
    def make_vectors(self):
        return lambda: Chroma(exact_below=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with chroma_server(tmp_path_factory.mktemp("server")) as server:
        yield server


class TestServer(VectorIndexSuite):
    @pytest.fixture
    def make_vectors(self, server):
        self.url = server.url
        return lambda: Chroma(url=server.url, exact_below=0)

    def traces(self, folder, texts):
        """On a server the bytes are its own; its entries tell of nothing."""
        found = super().traces(folder, texts)
        with chroma_client(self.url) as client:
            for collection in client.list_collections(limit=100, offset=0):
                documents = collection.get(include=["documents"])["documents"]
                found += [text for text in texts for document in documents if text in document]
        return found


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in (("FETCHED", 1), ("COSTS", 0), ("ENOUGH", 10)):
        monkeypatch.setattr(exact, name, value)


def opened(folder, vectors, **settings):
    tiers = Consolidator(min_age_hours=0, buffer_threshold=1, similarity_threshold=0.6)
    return Memory(folder, user="ana", embedder="hashing", consolidator=tiers, vectors=vectors, **settings)


def test_chroma_is_asked_from_the_first_record_on(tmp_path, monkeypatch):
    monkeypatch.undo()  # with the figures that users get
    asked = []
    nearest = ChromaIndex.nearest
    monkeypatch.setattr(ChromaIndex, "nearest", lambda *given: asked.append(nearest(*given)) or asked[-1])
    with opened(tmp_path / "memory", "chroma") as memory:
        memory.add("The harbour lies in Lisbon.")
        memory.admin.flush()
        assert memory.search("harbour")[0].text == "The harbour lies in Lisbon."
        assert len(asked) == 1
        assert asked[0]
        memory.add([Message(role="user", content=f"Ship {n} is in the harbour.") for n in range(300)])
        memory.admin.flush()
        memory.search("harbour")
        assert len(set(asked[-1])) >= 300


@contextmanager
def others_view(folder):
    """What another Chroma tool sees of a closed index: the collections by the beginning of their names."""
    (path,) = (folder / "chroma").glob("closed-*")
    client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
    try:
        yield {one.name.rpartition("-")[0]: one for one in client.list_collections(limit=10, offset=0)}
    finally:
        client.close()


class TestCollections:
    def test_other_tools_read_them(self, tmp_path):
        with opened(tmp_path / "memory", Chroma(exact_below=0)) as memory:
            memory.add(
                "I moved to Lisbon",
                id="m",
                name="Ana",
                metadata={"mood": "good"},
                session="s",
            )
            memory.remember(
                "Ana lives in Lisbon", id="r", type="semantic", importance=0.75, category="personal", tags=["town", "home"],
                metadata={"k": [1]},
            )  # fmt: skip
            memory.forget(ids=[memory.remember("Ana lives in Porto").id])
            memory.admin.flush(process=False)
            user = store_of(memory).user("ana")
            record = memory.get("r")
        with others_view(tmp_path / "memory") as collections:
            assert set(collections) == {"short_term_memory", "long_term_memory"}
            short = collections["short_term_memory"]
            assert short.count() == 3
            got = short.get(include=["metadatas", "documents"])
            held = {
                metadata["id"]: (document, metadata)
                for document, metadata in zip(got["documents"], got["metadatas"], strict=True)
            }
            assert held["m"][0] == "I moved to Lisbon"
            message = {key: held["m"][1][key] for key in ("kind", "role", "name", "session", "user", "metadata_json")}
            assert message == {
                "kind": "message", "role": "user", "name": "Ana", "session": "s", "user": user,
                "metadata_json": '{"mood":"good"}',
            }  # fmt: skip
            document, found = held["r"]
            assert document == "Ana lives in Lisbon"
            assert (found["category"], found["memory_type"], found["status"]) == ("personal", "semantic", "short_term")
            assert (found["importance_score"], json.loads(found["tags"])) == (0.75, ["town", "home"])
            assert found["created_at"] == record.created_at.isoformat()
            assert found["summary"] == "Ana lives in Lisbon"  # a short text has none of its own
            mood = record.emotion
            wanted = {
                "valence": mood.valence,
                "arousal": mood.arousal,
                "confidence": mood.confidence,
                "quadrant": mood.quadrant,
            }
            assert (json.loads(found["emotional_context"]), found["quadrant"]) == (wanted, mood.quadrant)
            assert json.loads(found["metadata_json"]) == {"k": [1]}
            assert not any("ana" in str(value) for _, metadata in held.values() for value in metadata.values())
            assert [metadata["status"] for _, metadata in held.values()].count("archived") == 1

    def test_promotion_moves_the_vector_without_embedding(self, tmp_path):
        embedded = []

        class Counting(HashingEmbedder):
            def embed(self, texts, *, kind="document"):
                embedded.extend(texts)
                return super().embed(texts, kind=kind)

        tiers = Consolidator(min_age_hours=0, buffer_threshold=1)
        options = {"user": "ana", "consolidator": tiers, "vectors": Chroma(exact_below=0), "embedder": Counting()}
        with Memory(tmp_path / "memory", **options) as memory:
            memory.remember("Ana keeps a zebra", id="r", importance=0.9)
            memory.admin.flush(process=False)
            embedded.clear()
            done = memory.consolidate()
            assert done.memories_promoted == 1
            memory.admin.flush(process=False)
            assert embedded == []
            assert memory.admin.verify().ok
        with others_view(tmp_path / "memory") as collections:
            assert (collections["short_term_memory"].count(), collections["long_term_memory"].count()) == (0, 1)
            (found,) = collections["long_term_memory"].get(include=["metadatas"])["metadatas"]
            assert (found["status"], found["id"]) == ("long_term", "r")
        with Memory(tmp_path / "memory", **options) as memory:
            memory.undo(done.id)
            memory.admin.flush(process=False)
        with others_view(tmp_path / "memory") as collections:
            assert (collections["short_term_memory"].count(), collections["long_term_memory"].count()) == (1, 0)

    def test_values_that_chroma_refuses_do_not_stop_it(self, tmp_path, monkeypatch):
        real = collections.metadata_of
        spoiled = lambda entry: real(entry) | ({"chroma:x": 1} if entry.stored.value.id == "bad" else {})  # noqa: E731
        monkeypatch.setattr(collections, "metadata_of", spoiled)
        with opened(tmp_path / "memory", Chroma(exact_below=0)) as memory:
            memory.add([Message(role="user", content=f"line {n}", id=f"m{n}") for n in range(5)])
            memory.add("a zebra ran away", id="bad")
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok
            assert memory.search("a zebra ran away", recipe="vector", k=1)[0].id == "bad"

    def test_a_key_that_goes_is_gone(self, tmp_path):
        with opened(tmp_path / "memory", Chroma(exact_below=0)) as memory:
            memory.remember("Ana keeps a zebra", id="r", category="personal")
            memory.admin.flush(process=False)
            record = store_of(memory).get("ana", "r").value
            revised = replace(record, category=None, version=2)
            store_of(memory).apply("ana", [Revise(record=revised, indexing=indexing_of(memory, revised))])
            memory.admin.flush(process=False)
        with others_view(tmp_path / "memory") as collections:
            (found,) = collections["short_term_memory"].get(include=["metadatas"])["metadatas"]
            assert (found["version"], found.get("category")) == (2, None)


def indexing_of(memory, record):
    ((_, made),) = runtime_of(memory).indexer.indexed([record])
    return made


class TestOwners:
    def test_a_second_handle_reads_exactly_and_says_so_once(self, tmp_path):
        folder = tmp_path / "memory"
        with opened(folder, Chroma(exact_below=0)) as first:
            first.add("a zebra ran away", id="zebra")
            first.admin.flush(process=False)
            with pytest.warns(RuntimeWarning, match="chroma run"):
                second = opened(folder, Chroma(exact_below=0))
            assert second.search("a zebra ran away", recipe="vector")[0].id == "zebra"
            second.add("a walrus ran away", id="walrus")
            second.admin.flush(process=False)
            assert second.admin.verify().ok
            assert updater_of(second) is None
            second.close()
            assert first.search("a walrus ran away", recipe="vector")[0].id == "walrus"
            first.admin.flush(process=False)
            assert first.admin.verify().ok

    def test_erasing_in_one_handle_reaches_the_other(self, tmp_path):
        folder = tmp_path / "memory"
        with opened(folder, Chroma(exact_below=0)) as first, Memory(folder, user="ana", embedder="hashing") as second:
            first.add("The zebra is called xyzzy-4711", id="secret")
            first.admin.flush(process=False)
            assert "chroma.sqlite3" in {path.name for path in files_with(folder, "xyzzy-4711")}
            assert "vector index" in second.forget(ids=["secret"], hard=True).purge.pending
            first.admin.flush(process=False)
            assert files_with(folder, "xyzzy-4711") == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_child_leaves_the_index_to_its_parent(self, tmp_path):
        with opened(tmp_path / "memory", Chroma(exact_below=0)) as memory:
            memory.add("a zebra ran away", id="zebra")
            memory.admin.flush(process=False)
            child = os.fork()
            if not child:
                with suppress(BaseException):
                    warnings.simplefilter("ignore")
                    right = memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
                    memory.add("a walrus ran away", id="walrus")
                    memory.close()
                    os._exit(0 if right else 1)
                os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert memory.search("a walrus ran away", recipe="vector")[0].id == "walrus"
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok
            assert updater_of(memory).index.serves("hashing-256")

    def test_what_differs_is_told_once_and_made_anew(self, tmp_path):
        with opened(tmp_path / "memory", Chroma(exact_below=0)) as memory:
            memory.add([Message(role="user", content=f"line {n}", id=f"m{n}") for n in range(20)])
            memory.admin.flush(process=False)
            short = collections_of(memory).tiers["short_term"]
            short.delete(["3"])
            short.update(["4"], metadatas=[{"user": 99}])
            short.upsert(["5"], [[1.0] + [0.0] * 255], [{"user": 1}], ["x"])
            short.upsert(["77"], [[1.0] + [0.0] * 255], [{"user": 1}], ["x"])
            findings = memory.admin.verify().findings
            assert findings == (
                "missing or different in Chroma: 3 (such as number 3)",
                "in Chroma, not in the record: 1",
            )
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok


class TestGraph:
    def test_a_text_unlike_all_others_is_found_by_its_vector(self, tmp_path, server):
        """Chroma's graph leaves it without a link in one of eight collections that were read before it came."""
        with opened(tmp_path / "memory", Chroma(url=server.url, exact_below=0)) as memory:
            memory.add(said(20))
            memory.add("A zebra ran away", id="zebra")
            memory.admin.flush(process=False)
            feed = store_of(memory).feed()
            page = feed.page(feed.start(), 50)
            first, last = (replace(page, entries=page.entries[part]) for part in (slice(20), slice(20, 21)))
            with chroma_client(server.url) as client:
                for _ in range(40):
                    held = collections.create_collections(client, feed, feed.start())
                    held.write(feed, first)
                    assert collections.unreachable(held.tiers["short_term"], last.entries)
                    held.write(feed, last)
                    assert not collections.unreachable(held.tiers["short_term"], page.entries)


class TestFolder:
    def files(self, folder):
        (path,) = (folder / "chroma").glob("*-*")
        return path

    def test_what_was_closed_is_used_again(self, tmp_path):
        folder = tmp_path / "memory"
        kept = []
        for n in range(3):
            with opened(folder, "chroma") as memory:
                memory.add(said(15)[5 * n : 5 * n + 5])
                memory.admin.flush(process=False)
                assert memory.admin.verify().ok
                kept.append(collections_of(memory).tiers["short_term"].id)
        assert len(set(kept)) == 1

    @pytest.mark.parametrize("doubt", ["a byte", "not closed", "another name", "another version"])
    def test_what_is_in_doubt_is_filled_again(self, tmp_path, monkeypatch, doubt):
        folder = tmp_path / "memory"
        with opened(folder, "chroma") as memory:
            memory.add(said(20))
            memory.admin.flush(process=False)
            before = collections_of(memory).tiers["short_term"].id
        files = self.files(folder)
        if doubt == "a byte":
            with (files / "chroma.sqlite3").open("r+b") as file:
                file.seek(4000)
                file.write(b"?")
        elif doubt == "another version":
            monkeypatch.setattr(chromadb, "__version__", "0")
        else:
            files.rename(files.with_name("open-1" if doubt == "not closed" else "closed-1"))
        with opened(folder, "chroma") as memory:
            memory.admin.flush(process=False)
            assert updater_of(memory).index.serves("hashing-256")
            assert memory.admin.verify().ok
            assert collections_of(memory).tiers["short_term"].id != before
            assert not files.exists()

    def test_memory_of_the_process_is_not_left_in_the_files(self, tmp_path):
        """Chroma creates the file of a graph from memory that it has not written to: whatever the process held stands there."""
        with opened(tmp_path / "memory", "chroma") as memory:
            memory.add(said(20))
            memory.admin.flush(process=False)
            (data,) = self.files(tmp_path / "memory").rglob("data_level0.bin")
            size = data.stat().st_size
            assert size > 1000
            data.write_bytes(b"xyzzy-4711".ljust(size, b"z"))
            memory.add("one more")
            memory.admin.flush(process=False)
            assert data.read_bytes() == bytes(size)
            assert memory.admin.verify().ok
            data.write_bytes(b"xyzzy-4711".ljust(size, b"z"))
        (data,) = self.files(tmp_path / "memory").rglob("data_level0.bin")
        assert data.read_bytes() == bytes(size)
        with opened(tmp_path / "memory", "chroma") as memory:
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok

    def test_searches_while_it_is_filled_again(self, tmp_path):
        """A search whose client is closed under it is exact; it does not make the new index a doubtful one."""
        failures = []
        with opened(tmp_path / "memory", "chroma") as memory:
            memory.add(said(200))
            memory.admin.flush(process=False)
            over = threading.Event()

            def search():
                while not over.is_set():
                    found = memory.search("The garden number 0 stands in Lisbon since year 1800", recipe="vector", k=1)
                    failures.extend([] if found[0].id == "m0" else [found])

            threads = [threading.Thread(target=search) for _ in range(3)]
            for thread in threads:
                thread.start()
            for n in range(1, 6):
                memory.forget(ids=[f"m{n}"], hard=True)
                memory.admin.flush(process=False)
            over.set()
            for thread in threads:
                thread.join()
            assert failures == []
            assert updater_of(memory).index.serves("hashing-256")
            assert memory.admin.verify().ok


class TestServers:
    def test_down_when_it_is_opened_and_there_later(self, tmp_path):
        server = ChromaServer(tmp_path / "server")
        with opened(tmp_path / "memory", Chroma(url=server.url, exact_below=0)) as memory:
            memory.add("a zebra ran away", id="zebra")
            assert not updater_of(memory).drain()
            with pytest.warns(RuntimeWarning, match="exact until it returns"):
                assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
            assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
            server.start()
            try:
                memory.admin.flush(process=False)
                assert memory.admin.verify().ok
                assert updater_of(memory).index.serves("hashing-256")
            finally:
                server.stop()

    def test_down_meanwhile(self, tmp_path):
        server = ChromaServer(tmp_path / "server")
        server.start()
        with opened(tmp_path / "memory", Chroma(url=server.url, exact_below=0)) as memory:
            memory.add([Message(role="user", content=f"line {n}", id=f"m{n}") for n in range(20)])
            memory.admin.flush(process=False)
            assert updater_of(memory).index.serves("hashing-256")
            server.stop()
            memory.search("line 3", recipe="vector")
            memory.add("a zebra ran away", id="zebra")
            assert not updater_of(memory).drain()
            with pytest.warns(RuntimeWarning, match="exact until it returns"):
                assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
            server.start()
            try:
                memory.admin.flush(process=False)
                assert memory.admin.verify().ok
                assert updater_of(memory).index.serves("hashing-256")
                assert memory.search("a zebra ran away", recipe="vector")[0].id == "zebra"
            finally:
                server.stop()

    def test_a_server_that_never_answers_holds_up_nothing_for_long(self, tmp_path, monkeypatch):
        monkeypatch.setattr(connection, "TIMEOUT", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with opened(tmp_path / "memory", Chroma(url=url, exact_below=0)) as memory:
                memory.add("I moved to Lisbon.", id="m")
                began = time.monotonic()
                memory.admin.flush()
                erasure = memory.forget(ids=["m"], hard=True)
                assert "the vector index" in erasure.purge.pending
                assert time.monotonic() - began < 20

    def test_several_handles_of_one_record_share_a_server(self, tmp_path, server):
        folder, vectors = tmp_path / "memory", Chroma(url=server.url, exact_below=0)
        with opened(folder, vectors) as first, opened(folder, vectors) as second:
            first.add([Message(role="user", content=f"line {n}", id=f"m{n}") for n in range(20)])
            first.admin.flush(process=False)
            second.admin.flush(process=False)
            index = updater_of(second).index
            assert index.serves("hashing-256")
            second.add("a zebra ran away", id="zebra")
            assert second.search("a zebra ran away", recipe="vector")[0].id == "zebra"
            first.admin.flush(process=False)
            second.admin.flush(process=False)
            user = store_of(second).user("ana")
            assert index.nearest(user, runtime_of(second).indexer.embedder.embed(["a zebra ran away"])[0], 1) == [21]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_child_that_only_searches_connects_by_itself(self, tmp_path, server):
        with opened(tmp_path / "memory", Chroma(url=server.url)) as memory:
            memory.add("a zebra ran away", id="zebra")
            memory.admin.flush(process=False)
            child = os.fork()
            if not child:
                with suppress(BaseException):
                    end = time.monotonic() + 60
                    while not updater_of(memory).index.serves("hashing-256") and time.monotonic() < end:
                        memory.search("a zebra ran away", recipe="vector")
                        time.sleep(0.05)
                    served = updater_of(memory).index.serves("hashing-256")
                    memory.close()
                    os._exit(0 if served else 1)
                os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert updater_of(memory).index.serves("hashing-256")
            assert memory.admin.verify().ok

    def test_two_records_on_one_server_do_not_meet(self, tmp_path, server):
        vectors = Chroma(url=server.url, exact_below=0)
        with opened(tmp_path / "a", vectors) as first, opened(tmp_path / "b", vectors) as second:
            first.add("a zebra ran away", id="zebra")
            second.add("a walrus ran away", id="walrus")
            for memory in (first, second):
                memory.admin.flush(process=False)
                assert memory.admin.verify().ok
                assert updater_of(memory).index.serves("hashing-256")

    def test_a_client_that_is_ready(self, tmp_path, server):
        with chroma_client(server.url) as client, opened(tmp_path / "memory", client) as memory:
            memory.add("a zebra ran away", id="zebra")
            memory.admin.flush(process=False)
            assert memory.admin.verify().ok
            assert updater_of(memory).index.serves("hashing-256")
