"""Transfer a record: killed on the way it goes on, and everything arrives as it was."""

import os
import signal
import sqlite3
import warnings
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.battery import count, note
from tests.internals import database_of, store_of

from mnemic import Conflict, Consolidator, EmbeddingMismatch, HashingEmbedder, InvalidInput, Memory, Message
from mnemic.cli import main
from mnemic.errors import ConfigurationError
from mnemic.stores import SqliteStore
from mnemic.stores.sql import transfer
from mnemic.transfer.migrate import migrate
from mnemic.types import MemoryRecord

from .failpoints import in_child

NOW = datetime(2026, 12, 1, tzinfo=UTC)
SETTINGS = Consolidator(min_age_hours=0, buffer_threshold=1, similarity_threshold=0.5, importance_threshold=0.05)
BIKES = (
    "The bicycle stands in the cellar of the house.",
    "Note that the bicycle stands in the cellar of the house.",
    "The bicycle stands in the cellar of the house, as said.",
)


def opened(place, user="ana", **options):
    return Memory(place, user=user, embedder="hashing", consolidator=SETTINGS, durability="NORMAL", **options)


def lived(place, user, facts=24):
    """A user with everything a user can have."""
    with opened(place, user) as memory:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for n in range(facts):
            memory.add(
                [
                    Message(
                        role="user", content=f"On day {n} I went to the market in Lisbon\x00 and felt great!", id=f"m{n}",
                        session=f"s{n // 6}", sent_at=start + timedelta(days=n), metadata={"n": n, "of": user},
                    )
                ]
            )  # fmt: skip
        memory.process()
        for n in range(facts):
            memory.remember(f"The market of {user} sells {n} kinds of apples", id=f"f{n}", tags=["market", f"t{n % 3}"])
        memory.update("f1", content="The market sells one kind of pear", tags=["pear"])
        memory.update("f1", content="The market sells two kinds of pears")
        memory.links.add("f2", "f3", "extends", reason="why not")
        memory.preferences["theme"] = "dark"
        memory.forget(ids=["f4"])
        memory.forget(ids=["f5"], hard=True)
        memory.consolidate()
        undone = memory.consolidate().id
        if undone:
            memory.undo(undone)
        memory.search("apples of the market", k=5)
        scoped = memory.scoped(project="p", session="x")
        scoped.remember("In the project it rains", importance=0.9)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    place = tmp_path_factory.mktemp("source") / "memory"
    for user in ("ana", "bob"):
        lived(place, user)
    return place


def unnumbered(events):
    return [replace(event, sequence=0) for event in events]


def without_use(record):
    """A record without what reading it changes."""
    if not isinstance(record, MemoryRecord):
        return record
    return replace(record, access_count=0, last_accessed_at=None, importance=record.salience)


def answers(place, user):
    """What a user can ask for, in a form in which two places can be compared."""
    with opened(place, user) as memory:
        records = [
            *memory.messages(reach="user"),
            *memory.episodes(reach="user"),
            *memory.list(limit=None, reach="user"),
        ]
        archived = memory.list(limit=None, reach="user", status=["archived"], include_expired=True)
        ids = [str(record.id) for record in [*records, *archived]]
        graph = memory.links.graph("f2", depth=3)
        return {
            "records": [without_use(record) for record in (*records, *archived)],
            "preferences": dict(memory.preferences),
            "histories": {id_: unnumbered(memory.history(id_)) for id_ in ids},
            "log": unnumbered(memory.admin.log(limit=None)),
            "hits": {hit.id: hit.text for hit in memory.search("apples of the market", k=60, now=NOW)},
            "graph": (graph.links, graph.depths),
            "counts": memory.stats().memories,
        }


def assert_same(left, right, user="ana"):
    here, there = answers(left, user), answers(right, user)
    for what in here:
        assert here[what] == there[what], what


def killed(source, target, at):
    """A process that moves until it is killed before its n-th write; how it ended."""

    def work():
        writes, real = [0], transfer.Transfer.put

        def put(self, *arguments):
            writes[0] += 1
            if writes[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            real(self, *arguments)

        transfer.Transfer.put = put
        migrate(source, target)

    return in_child(work)


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(transfer, "PAGE", 10)


class TestKilled:
    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    @pytest.mark.usefixtures("small_pages")
    def test_three_times_on_the_way_it_goes_on_and_nothing_is_doubled(self, source, tmp_path):
        trials = count(3, 40)
        for trial in range(trials):
            target, done = tmp_path / f"target{trial}", []
            for at in (2 + trial, 3 + trial // 2, 7 + trial % 5):
                assert killed(source, target, at) == -signal.SIGKILL
                with closing(SqliteStore(target)) as store, database_of(store).read() as db:
                    done.append(db.execute("SELECT count(*) FROM messages").fetchone()[0])
                    assert "bob" not in store.transfer.users() or "ana" in store.transfer.users()
            assert done == sorted(done)
            assert done[-1] > 0
            moves = migrate(source, target)
            assert moves.ok, moves.findings
            for user in ("ana", "bob"):
                assert_same(target, source, user)
        note("migrations killed three times", trials=trials, lost=0)

    @pytest.mark.usefixtures("small_pages")
    def test_half_a_user_is_nobody(self, source, tmp_path, monkeypatch):
        class Stop(Exception):
            pass

        def finish(*_):
            raise Stop

        with monkeypatch.context() as patch:
            patch.setattr(transfer.Transfer, "finish", finish)
            with pytest.raises(Stop):
                migrate(source, tmp_path / "target")
        with opened(tmp_path / "target") as memory:
            assert memory.list() == []
            assert not memory.search("apples")
        assert migrate(source, tmp_path / "target").ok


class TestSame:
    def test_everything_is_there_and_back(self, source, tmp_path):
        there, again = migrate(source, tmp_path / "b"), migrate(tmp_path / "b", tmp_path / "c")
        assert there.ok
        assert there.digest == again.digest
        assert {m.user for m in there.users} == {"ana", "bob"}
        for place in ("b", "c"):
            assert_same(tmp_path / place, source)

    def test_beside_other_users_numbers_move_and_undo_still_works(self, source, tmp_path):
        target = tmp_path / "target"
        with opened(target, "carl") as memory:
            memory.remember("Carl was here before")
        assert migrate(source, target).ok
        with opened(source) as left, opened(target) as right:
            assert unnumbered(right.history("f1")) == unnumbered(left.history("f1"))
            more = [
                right.remember(f"New and rainy: {word}", importance=0.8)
                for word in ("wool", "tin", "oak", "rye", "fog", "ink")
            ]
            assert all(receipt.outcome == "stored" for receipt in more)
            done = right.consolidate()
            if done.id:
                right.undo(done.id)
            assert right.admin.verify().ok
        with opened(target, "carl") as memory:
            assert [record.content for record in memory.list()] == ["Carl was here before"]

    def test_a_plan_moves_with_its_records(self, tmp_path):
        """Undoing a consolidation at the new place puts back what it would have put back at the old one."""
        with opened(tmp_path / "a") as memory:
            for n, text in enumerate(BIKES):
                memory.remember(text, importance=0.9 - n / 100)
            before = {record.id for record in memory.list(limit=None)}
            report = memory.consolidate()
            assert {record.id for record in memory.list(limit=None)} < before
        with opened(tmp_path / "b", "carl") as memory:
            memory.remember("takes a number")
        assert migrate(tmp_path / "a", tmp_path / "b").ok
        for place in ("a", "b"):
            with opened(tmp_path / place) as memory:
                memory.undo(report.id)
                assert {record.id for record in memory.list(limit=None)} == before
                assert memory.admin.verify().ok

    def test_nothing_is_embedded(self, source, tmp_path, monkeypatch):
        monkeypatch.setattr(HashingEmbedder, "embed", lambda *_, **__: pytest.fail("embedded"))
        assert migrate(source, tmp_path / "target").ok

    def test_what_has_no_vector_waits_for_one(self, tmp_path):
        with opened(tmp_path / "a") as memory:
            store_of(memory).apply("ana", [_bare("no vector yet")])
            assert memory.stats().pending["embed"] == 1
        assert migrate(tmp_path / "a", tmp_path / "b").ok
        with opened(tmp_path / "b") as memory:
            memory.admin.flush()
            assert "embed" not in memory.stats().pending
            assert memory.search("vector")

    def test_all_tables_of_the_schema_are_taken(self, tmp_path):
        SqliteStore(tmp_path).close()
        with closing(sqlite3.connect(tmp_path / "mnemic.db")) as db:
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            derived = {name for name in tables if name.startswith(("fulltext", "postings", "sqlite_"))}
            taken = {table.name for _, moved in transfer._PAGES.values() for table in moved}
            assert (
                tables - derived - {"header", "users", "vectors_next", "questions", "contexts", "tombstones"} == taken
            )


def _bare(text):
    from mnemic.testing.fakes import add_message

    return add_message(text, vector=None)


class TestRefused:
    def test_other_memories_of_a_user(self, source, tmp_path):
        with opened(tmp_path / "t", "bob") as memory:
            memory.remember("another life")
        with pytest.raises(Conflict, match="other memories of the user 'bob'"):
            migrate(source, tmp_path / "t")
        with closing(SqliteStore(tmp_path / "t")) as store:
            assert store.transfer.users() == ["bob"]

    def test_a_second_time_nothing_is_written(self, source, tmp_path):
        migrate(source, tmp_path / "t")
        again = migrate(source, tmp_path / "t")
        assert all(moved.before for moved in again.users)

    def test_another_model(self, source, tmp_path):
        with Memory(tmp_path / "t", user="carl", embedder=HashingEmbedder(dimension=32)) as memory:
            memory.remember("short vectors")
        with pytest.raises(EmbeddingMismatch):
            migrate(source, tmp_path / "t")

    @pytest.mark.usefixtures("small_pages")
    def test_a_source_in_use_is_noticed_and_the_next_time_it_works(self, tmp_path, monkeypatch):
        lived(tmp_path / "a", "ana", facts=6)
        real, writes = transfer.Transfer.put, []

        def put(self, *arguments):
            if not writes:
                with opened(tmp_path / "a") as memory:
                    memory.remember("in the middle of it")
            writes.append(1)
            real(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(transfer.Transfer, "put", put)
            with pytest.raises(Conflict, match="was changed in the source"):
                migrate(tmp_path / "a", tmp_path / "b")
        with closing(SqliteStore(tmp_path / "b")) as store:
            assert store.transfer.users() == []
            assert store.verify().ok
        assert migrate(tmp_path / "a", tmp_path / "b").ok
        assert_same(tmp_path / "b", tmp_path / "a")

    @pytest.mark.usefixtures("small_pages")
    def test_a_source_that_changed_since_the_interruption_begins_anew(self, tmp_path, monkeypatch):
        lived(tmp_path / "a", "ana", facts=6)
        with monkeypatch.context() as patch:
            patch.setattr(transfer.Transfer, "finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                migrate(tmp_path / "a", tmp_path / "b")
        with opened(tmp_path / "a") as memory:
            memory.forget(ids=["f0"])
            memory.remember("since then")
        assert migrate(tmp_path / "a", tmp_path / "b").ok
        assert_same(tmp_path / "b", tmp_path / "a")

    def test_places_that_are_none(self, tmp_path, source):
        for given, error in (
            ((tmp_path / "nothing", tmp_path / "t"), InvalidInput), ((source, source), InvalidInput),
            ((source, f"{source}/../memory"), InvalidInput),
            ((source, ":memory:"), ConfigurationError), ((source, "mysql://u:secret@h/d"), ConfigurationError),
        ):  # fmt: skip
            with pytest.raises(error) as caught:
                migrate(*given)
            assert "secret" not in str(caught.value)


class TestCommand:
    def test_it_says_what_it_did(self, source, tmp_path, capsys):
        assert main(["migrate", "--from", str(source), "--to", str(tmp_path / "t")]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in lines[:2]] == ["ana", "bob"]
        assert "moved" in lines[0]
        assert "rows equal" in lines[2]
        assert main(["migrate", "--json", "--from", str(source), "--to", str(tmp_path / "t")]) == 0
        assert '"was_there": true' in capsys.readouterr().out

    def test_progress_ends_at_the_whole(self, source, tmp_path):
        seen = []
        migrate(source, tmp_path / "t", lambda done, total: seen.append((done, total)))
        assert seen == sorted(seen)
        assert seen[-1][0] == seen[-1][1]


@pytest.mark.engine
class TestPostgres:
    def test_there_and_back(self, source, tmp_path, postgres_url):
        there = migrate(source, postgres_url)
        assert there.ok, there.findings
        back = migrate(postgres_url, tmp_path / "back")
        assert back.ok, back.findings
        assert there.digest == back.digest
        assert_same(tmp_path / "back", source)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            there, here = answers(postgres_url, "ana"), answers(source, "ana")
        assert there["records"] == here["records"]
        assert there["histories"] == here["histories"]
        assert [hit[0] for hit in there["hits"]] == [hit[0] for hit in here["hits"]]

    @pytest.mark.usefixtures("small_pages")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_killed_three_times(self, source, postgres_url):
        for at in (3, 4, 6):
            assert killed(source, postgres_url, at) == -signal.SIGKILL
        assert migrate(source, postgres_url).ok

    def test_beside_other_users(self, source, postgres_url):
        with opened(postgres_url, "carl") as memory:
            memory.remember("Carl was here before")
        assert migrate(source, postgres_url).ok
        with opened(postgres_url, "ana") as memory:
            assert memory.remember("and life goes on").outcome == "stored"
            assert memory.admin.verify().ok
