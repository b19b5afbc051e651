"""Transfer a record: killed on the way it goes on, and everything arrives as it was."""

import itertools
import os
import signal
import sqlite3
import tempfile
import warnings
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from tests.battery import count, note
from tests.internals import store_of

from mnemic import (
    Conflict,
    Consolidator,
    EmbeddingMismatch,
    HashingEmbedder,
    InvalidInput,
    Memory,
    Message,
    RetentionPolicy,
)
from mnemic.cli import main
from mnemic.errors import ConfigurationError
from mnemic.stores import SqliteStore
from mnemic.stores.sql import transfer
from mnemic.transfer.records import migrate
from mnemic.types import MemoryRecord

from .devices import Devices, limits, lives, own_clocks
from .failpoints import in_child

NOW = datetime(2026, 12, 1, tzinfo=UTC)
OF_A_PLACE = {"location": "", "bytes_on_disk": 0}
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
    with opened(place, user, retention=RetentionPolicy(questions=5, contexts=5)) as memory:
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
        memory.get_memory_context("Which apples are there?")
        scoped = memory.scoped(project="p", session="x")
        scoped.remember("In the project it rains", importance=0.9)


@pytest.fixture(scope="module")
def clocks():
    with own_clocks() as held:
        yield held


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


def answers(place, user, question="apples of the market", **options):
    """What a user can ask for, in a form in which two places can be compared. What was kept is read before more is asked."""
    with opened(place, user, **options) as memory:
        kept = (memory.admin.questions(), [replace(context, number=0) for context in memory.admin.contexts()])
        records = [
            *memory.messages(reach="user"),
            *memory.episodes(reach="user"),
            *memory.list(limit=None, reach="user"),
        ]
        archived = memory.list(limit=None, reach="user", status=["archived"], include_expired=True)
        ids = [str(record.id) for record in [*records, *archived]]
        linked = [id_ for id_ in ids if isinstance(memory.get(id_), MemoryRecord)]
        graphs = [memory.links.graph(id_, depth=2) for id_ in linked]
        context = memory.get_memory_context(question, now=NOW)
        return {
            "records": [without_use(record) for record in (*records, *archived)],
            "preferences": dict(memory.preferences),
            "histories": {id_: unnumbered(memory.history(id_)) for id_ in ids},
            "log": unnumbered(memory.admin.log(limit=None)),
            "hits": [(hit.id, hit.text) for hit in memory.search(question, k=60, now=NOW)],
            "graphs": [(graph.links, graph.depths) for graph in graphs],
            "context": context.text.replace(store_of(memory).fence, ""),
            "kept": kept,
            "counts": replace(memory.stats(), **OF_A_PLACE),
            "findings": memory.admin.verify(deep=True).findings,
        }


def assert_same(left, right, user="ana"):
    here, there = answers(left, user), answers(right, user)
    for what in here:
        assert here[what] == there[what], what


@contextmanager
def each_write(before):
    """Calls a function with the number of each page before it is written."""
    real, numbers = transfer._write, itertools.count(1)

    def write(*given_):
        before(next(numbers))
        real(*given_)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer, "_write", write)
        yield


def killed(source, target, at):
    """A process that moves until it is killed before its n-th page; how it ended."""

    def work():
        with each_write(lambda number: number == at and os.kill(os.getpid(), signal.SIGKILL)):
            migrate(source, target)

    return in_child(work)


class Stop(Exception):
    """An interruption."""


def interrupted(source, target, at):
    """A move that ends before its n-th page."""

    def stop(number):
        if number == at:
            raise Stop

    with each_write(stop), pytest.raises(Stop):
        migrate(source, target)


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(transfer, "PAGE", 10)


@pytest.fixture
def pages(source, tmp_path, small_pages):
    """The number of pages of one user."""
    seen = []
    with each_write(seen.append):
        migrate(source, tmp_path / "counted")
    return len(seen) // 2


class TestKilled:
    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_three_times_on_the_way_the_users_that_are_there_are_whole(self, source, tmp_path, pages):
        trials = count(3, 40)
        for trial in range(trials):
            target, there = tmp_path / f"target{trial}", []
            for at in (2 + trial, pages + 2 + trial, 2 + trial):
                assert killed(source, target, at) == -signal.SIGKILL
                with closing(SqliteStore(target)) as store:
                    there.append(store.transfer.users())
                    assert store.verify().ok
            assert there == [[], ["ana"], ["ana"]]
            moves = migrate(source, target)
            assert moves.ok, moves.findings
            assert [moved.before for moved in moves.users] == [True, False]
            for user in ("ana", "bob"):
                assert_same(target, source, user)
        note("migrations killed three times", trials=trials, lost=0)

    def test_half_a_user_is_nobody(self, source, tmp_path, pages):
        interrupted(source, tmp_path / "target", pages)
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
            taken = {table.name for _, moved in transfer._PARTS for table in moved}
            assert tables - derived - {"header", "users", "vectors_next", "tombstones"} == taken


def _bare(text):
    from mnemic.testing.fakes import add_message

    return add_message(text, vector=None)


@contextmanager
def any_record(clocks, life):
    """A record that lived on its own and with others, and was used."""
    with tempfile.TemporaryDirectory() as folder:
        devices = Devices([Path(folder, name) for name in "abc"], clocks)
        try:
            devices.live(life)
        finally:
            devices.close()
        yield Path(folder, "a"), Path(folder)


def assert_moved(source, *places, key=None):
    """Moved from place to place, a record is what it was: by its rows, and by all that it answers. The last has the key."""
    digests = set()
    for here, there in itertools.pairwise((source, *places)):
        moves = migrate(here, there, target_key=key if there is places[-1] else None)
        assert moves.ok, moves.findings
        digests.add(moves.digest)
    assert len(digests) == 1
    before = answers(source, "ana", "What is it called?")
    after = answers(places[-1], "ana", "What is it called?", key=key)
    for what in before:
        assert after[what] == before[what], what


@limits(count(25, 1_000))
@given(lives)
def test_any_life_moves_as_it_was(clocks, life):
    with any_record(clocks, life) as (source, folder):
        assert_moved(source, folder / "there")


@pytest.mark.encrypted
@limits(count(5, 200))
@given(lives)
def test_any_life_moves_into_an_encrypted_folder(clocks, life):
    with any_record(clocks, life) as (source, folder):
        assert_moved(source, folder / "there", key="tide over the old harbour")


class TestRefused:
    def test_other_memories_of_a_user(self, source, tmp_path):
        with opened(tmp_path / "t", "bob") as memory:
            memory.remember("another life")
        with pytest.raises(Conflict, match="the user 'bob' in the target are not those"):
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
    @pytest.mark.usefixtures("small_pages")
    def test_a_source_in_use_is_noticed_and_the_next_time_it_works(self, tmp_path):
        lived(tmp_path / "a", "ana", facts=6)

        def use(number):
            if number == 1:
                with opened(tmp_path / "a") as memory:
                    memory.remember("in the middle of it")

        with each_write(use), pytest.raises(Conflict, match="was changed in the source"):
            migrate(tmp_path / "a", tmp_path / "b")
        with closing(SqliteStore(tmp_path / "b")) as store:
            assert store.transfer.users() == []
            assert store.verify().ok
        assert migrate(tmp_path / "a", tmp_path / "b").ok
        assert_same(tmp_path / "b", tmp_path / "a")

    def test_a_source_that_changed_since_the_interruption_is_moved_as_it_is_now(self, tmp_path):
        lived(tmp_path / "a", "ana", facts=6)
        interrupted(tmp_path / "a", tmp_path / "b", 5)
        with opened(tmp_path / "a") as memory:
            memory.forget(ids=["f0"])
            memory.remember("since then")
        assert migrate(tmp_path / "a", tmp_path / "b").ok
        assert_same(tmp_path / "b", tmp_path / "a")

    def test_a_row_that_does_not_arrive_as_it_is_undoes_its_user(self, source, tmp_path, monkeypatch):
        real = transfer.insert

        def insert(db, table, row):
            real(db, table, row | ({"strength": 0.5} if table == "links" else {}))

        monkeypatch.setattr(transfer, "insert", insert)
        with pytest.raises(Conflict, match="not those of the source"):
            migrate(source, tmp_path / "t")
        with closing(SqliteStore(tmp_path / "t")) as store:
            assert store.transfer.users() == []

    def test_places_that_are_none(self, tmp_path, source):
        for places, error in (
            ((tmp_path / "nothing", tmp_path / "t"), InvalidInput), ((source, source), InvalidInput),
            ((source, f"{source}/../memory"), InvalidInput),
            ((source, ":memory:"), ConfigurationError), ((source, "mysql://u:secret@h/d"), ConfigurationError),
        ):  # fmt: skip
            with pytest.raises(error) as caught:
                migrate(*places)
            assert "secret" not in str(caught.value)


class TestCommand:
    def test_it_says_what_it_did(self, source, tmp_path, capsys):
        assert main(["migrate", "--from", str(source), "--to", str(tmp_path / "t")]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in lines[:2]] == ["ana", "bob"]
        assert "moved" in lines[0]
        assert "rows equal" in lines[2]
        assert main(["migrate", "--json", "--from", str(source), "--to", str(tmp_path / "t")]) == 0
        assert '"before": true' in capsys.readouterr().out

    def test_progress_ends_at_the_whole(self, source, tmp_path):
        seen = []
        migrate(source, tmp_path / "t", lambda done, total: seen.append((done, total)))
        assert seen == sorted(seen)
        assert seen[-1][0] == seen[-1][1]


@pytest.mark.engine
class TestPostgres:
    @limits(count(10, 200))
    @given(lives)
    def test_any_life_moves_there_and_back(self, postgres_url, clocks, life):
        with any_record(clocks, life) as (source, folder):
            assert_moved(source, postgres_url, folder / "back")
            with opened(postgres_url) as memory:
                memory.admin.erase_user()

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
        assert there["hits"] == here["hits"]

    @pytest.mark.usefixtures("small_pages")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_killed_three_times(self, source, postgres_url):
        for at in (3, 20):
            assert killed(source, postgres_url, at) == -signal.SIGKILL
        assert migrate(source, postgres_url).ok

    def test_other_users_write_meanwhile(self, source, postgres_url):
        with opened(postgres_url, "carl") as memory:

            def use(number):
                if number == 1:
                    assert memory.remember("while others arrive").outcome == "stored"

            with each_write(use):
                assert migrate(source, postgres_url).ok

    def test_beside_other_users(self, source, postgres_url):
        with opened(postgres_url, "carl") as memory:
            memory.remember("Carl was here before")
        assert migrate(source, postgres_url).ok
        with opened(postgres_url, "ana") as memory:
            assert memory.remember("and life goes on").outcome == "stored"
            assert memory.admin.verify().ok
