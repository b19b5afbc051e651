"""A Chroma server as the vector index of a record in PostgreSQL: the same suite, and what only the two together can do wrong."""

import threading
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace

import pytest
from tests.internals import collections_of, database_of, runtime_of, store_of, updater_of

from mnemic import Chroma, ConfigurationError, Memory, Message
from mnemic.errors import StoreUnavailable
from mnemic.indexes.vector import exact
from mnemic.testing.fakes import add_message
from mnemic_testing import VectorIndexSuite
from mnemic_testing.chroma_servers import chroma_client, chroma_server

pytest.importorskip("chromadb")
psycopg = pytest.importorskip("psycopg")

from mnemic.stores.postgres import store as feeds  # noqa: E402
from mnemic.stores.postgres.store import PostgresStore  # noqa: E402
from mnemic.stores.sql.changes import lock_user  # noqa: E402

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with chroma_server(tmp_path_factory.mktemp("server")) as server:
        yield server


class TestPostgresWithChroma(VectorIndexSuite):
    @pytest.fixture
    def folder(self, postgres_url):
        return postgres_url

    @pytest.fixture
    def make_vectors(self, server):
        self.url = server.url
        return lambda: Chroma(url=server.url, exact_below=0)

    def traces(self, folder, texts):
        """In the entries of the Chroma server; the tables have a test of their own."""
        with chroma_client(self.url) as client:
            held = [one.get(include=["documents"])["documents"] for one in client.list_collections(limit=100, offset=0)]
        return [text for text in texts for documents in held for document in documents if text in document]


@pytest.fixture
def store(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        yield store


@contextmanager
def writing(store, user):
    """A transaction of a user that has drawn the number of an event, and is not committed before the block ends."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(db):
        number = lock_user(db, user)
        drawn = db.execute(
            "INSERT INTO events(user_id, at, operation) VALUES(?, 7, 'slow') RETURNING sequence", (number,)
        )
        drawn.fetchone()
        inside.set()
        assert go_on.wait(30)

    writer = threading.Thread(target=database_of(store).apply, args=(slow,))
    writer.start()
    assert inside.wait(30)
    try:
        yield go_on
    finally:
        go_on.set()
        writer.join()


class TestOrder:
    """Numbers are drawn before they are committed: a reader of all users must not pass one that is still to come."""

    @pytest.mark.parametrize("ask", ["page", "start"])
    def test_an_event_under_way_is_waited_for(self, store, ask):
        store.apply("ana", [add_message("first")])
        feed = store.feed()
        begun = feed.start()._replace(filled=None)
        waited, found = threading.Event(), []

        def pause(seconds):
            waited.set()
            time.sleep(seconds)

        with pytest.MonkeyPatch.context() as patch, writing(store, "ana") as go_on:
            patch.setattr(feeds, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pause))
            store.apply("bob", [add_message("later, and committed before")])
            read = feed.start if ask == "start" else lambda: feed.page(begun, 100).position
            reader = threading.Thread(target=lambda: found.append(read()))
            reader.start()
            assert waited.wait(30)
            assert found == []
            go_on.set()
            reader.join()
        events = {sequence for sequence, _ in seen(store)}
        assert begun.sequence + 2 in events
        assert found[0].sequence == max(events)
        assert feed.page(begun, 100).position == found[0]._replace(filled=None)

    def test_readers_and_writers_that_have_ended_are_not_waited_for(self, store, monkeypatch):
        monkeypatch.setattr(feeds, "PATIENCE", -1.0)
        store.apply("ana", [add_message("first")])
        feed = store.feed()
        begun = feed.start()._replace(filled=None)
        with database_of(store).read() as db, db:
            db.execute("SELECT count(*) FROM users").fetchone()
            assert feed.page(begun, 9).position == begun
        with writing(store, "ana"), pytest.raises(StoreUnavailable, match="writing to"):
            feed.start()

    def test_many_writers_of_many_users_are_followed_without_a_gap(self, store, postgres_url):
        store.apply("somebody", [add_message("first", vector=(1.0, 0.0))])
        feed, failed = store.feed(), []
        begun = position = feed.start()._replace(filled=None)

        def write(worker):
            with closing(PostgresStore(postgres_url)) as own:
                try:
                    for n in range(25):
                        own.apply(f"user {worker}", [add_message(f"{worker}-{n}", vector=(1.0, 0.0))])
                except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
                    failed.append(error)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        docs, more = [], True
        while more:
            alive = any(thread.is_alive() for thread in threads)
            page = feed.page(position, 7)
            more, position = alive or page.position != position, page.position
            docs += [entry.doc for entry in page.entries]
        for thread in threads:
            thread.join()
        assert failed == []
        assert len(docs) == len(set(docs)) == 100
        assert {*docs, 1} == {entry.doc for entry in feed.page(begun._replace(filled=0), 1000).entries}


def seen(store):
    with database_of(store).read() as db:
        return db.execute("SELECT sequence, operation FROM events").fetchall()


def owners(updaters):
    return [updater.index._ownership.held for updater in updaters]


class TestTurns:
    def test_one_at_a_time_until_its_connection_ends(self, store, postgres_url):
        with closing(PostgresStore(postgres_url)) as other, closing(PostgresStore(f"{postgres_url}b")) as apart:
            first, second = store.feed().lock("index"), other.feed().lock("index")
            assert first.acquire()
            assert first.acquire()
            assert not second.acquire()
            others = other.feed().lock("something else"), apart.feed().lock("index")
            assert [one.acquire() for one in others] == [True, True]
            first.release()
            assert second.acquire()
            assert not first.held
            for one in (*others, second):
                one.release()
            with database_of(apart).write() as db:
                db.execute(f"DROP SCHEMA {postgres_url.rsplit('schema=', 1)[1]}b CASCADE")

    def test_a_feeder_whose_connection_is_gone_lets_another_one_feed(self, server, postgres_url, postgres_server):
        options = {"user": "ana", "embedder": "hashing", "vectors": Chroma(url=server.url, exact_below=0)}
        with Memory(postgres_url, **options) as first, Memory(postgres_url, **options) as second:
            updaters = [updater_of(memory) for memory in (first, second)]
            assert owners(updaters) == [True, False]
            first.add("a zebra ran away", id="zebra")
            first.admin.flush(process=False)
            with psycopg.connect(postgres_server, autocommit=True) as admin:
                held = "SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE locktype = 'advisory' AND granted"
                assert admin.execute(held).fetchall() == [(True,)]  # the lock on the index
            assert updaters[1].drain()
            assert updaters[0].drain()
            assert owners(updaters) == [False, True]
            first.add("a walrus ran away", id="walrus")
            assert updaters[1].drain()
            assert second.search("a walrus ran away", recipe="vector", k=1)[0].id == "walrus"
            assert collections_of(second).position == store_of(second).feed().start()._replace(filled=None)
            assert second.admin.verify().ok


class TestOpening:
    def test_a_folder_inside_the_process_has_no_place(self, postgres_url):
        with pytest.raises(ConfigurationError, match="Run a Chroma server"):
            Memory(postgres_url, user="ana", embedder="hashing", vectors="chroma")

    def test_a_client_that_is_ready(self, server, postgres_url, monkeypatch):
        monkeypatch.setattr(exact, "FETCHED", 1)
        with (
            chroma_client(server.url) as client,
            Memory(postgres_url, user="ana", embedder="hashing", vectors=Chroma(client=client)) as memory,
        ):
            memory.add([Message(role="user", content=f"line {n}", id=f"m{n}") for n in range(20)])
            memory.admin.flush(process=False)
            assert updater_of(memory).index.serves("hashing-256")
            assert memory.search("line 7", recipe="vector", k=1)[0].id == "m7"
            assert memory.admin.verify().ok

    def test_exact_by_name_asks_no_index(self, postgres_url):
        with Memory(postgres_url, user="ana", embedder="hashing", vectors="exact") as memory:
            memory.add("a zebra ran away", id="zebra")
            assert runtime_of(memory).views._index is None
            assert memory.search("a zebra ran away", recipe="vector", k=1)[0].id == "zebra"
