"""Several devices: whatever each did and in whatever order they sync, all end equal, nothing is lost and nothing comes back."""

import io
import itertools
import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.battery import count, note
from tests.internals import database_of, store_of

from mnemic import (
    AsyncMemory,
    ConfigurationError,
    Conflict,
    HashingEmbedder,
    InvalidInput,
    Memory,
    RetentionPolicy,
    StoreReadOnly,
)  # fmt: skip
from mnemic.cli import main
from mnemic.stores.sql import changes
from mnemic.stores.sql.sync import SyncedRows
from mnemic.transfer.records import migrate
from mnemic.types import Consolidate, Promotion

from .devices import Devices, limits, lives, own_clocks
from .failpoints import statements, trial

PAIRS = ((0, 1), (0, 2), (1, 2))
EXAMPLES = count(25, 1_000)


@pytest.fixture(scope="module")
def clocks():
    with own_clocks() as held:
        yield held


orders = st.permutations(PAIRS)


def live(devices, life, order):
    """Let the devices live, then let each meet each: all end equal."""
    try:
        devices.live(life)
        for one, two in order:
            devices.sync(one, two)
        devices.assert_equal(0, 1)
        devices.assert_equal(0, 2)
        devices.assert_erased()
    finally:
        devices.close()


@limits(EXAMPLES)
@given(lives, orders)
def test_any_lives_of_three_devices_end_equal(clocks, life, order):
    with tempfile.TemporaryDirectory() as folder:
        live(Devices([Path(folder, name) for name in "abc"], clocks), life, order)


def contents(memory):
    """What the memory says now."""
    return {one.content for one in memory.list(limit=None)}


@limits(EXAMPLES)
@given(st.lists(st.sampled_from(["", "c", "cc", "f", "cf"]), min_size=3, max_size=3), orders)
def test_of_corrections_of_three_devices_the_last_holds_and_none_of_what_one_forgot(clocks, edits, order):
    with tempfile.TemporaryDirectory() as folder:
        devices = Devices([Path(folder, name) for name in "abc"], clocks)
        try:
            devices.memories[0].remember("My boat is called Halcyon.", id="boat")
            devices.sync(0, 1)
            devices.sync(0, 2)
            before, said = contents(devices.memories[0]), "".join(edits)
            for device, memory in enumerate(devices.memories):
                clocks.device = device
                for number, edit in enumerate(edits[device]):
                    if edit == "c":
                        memory.correct("boat", f"My boat is called {'Kittiwake Petrel'.split()[number]} {device}.")
                    else:
                        memory.forget("my boat")
            for one, two in order:
                devices.sync(one, two)
            devices.assert_equal(0, 1)
            devices.assert_equal(0, 2)
            for memory in devices.memories:
                new = contents(memory) - before
                assert len(new) == ("c" in said and "f" not in said), (edits, order, new)
        finally:
            devices.close()


def test_the_number_of_lives_is_noted():
    note("sync: lives of three devices", examples=EXAMPLES, violations=0)


BOATS = "My boat is called Halcyon."


def opened(place, user="ana", **options):
    return Memory(place, user=user, embedder="hashing", durability="NORMAL", **options)


@pytest.fixture
def pair(tmp_path):
    """Two devices, each with a memory of its own, and another user on one of them."""
    with opened(tmp_path / "a") as left, opened(tmp_path / "b") as right:
        left.remember("My boat is called Halcyon.", id="boat")
        right.remember("My cat is called Minou.", id="cat")
        right.scoped(user="bob").remember("The words of Bob.", id="boat")
        yield left, right


def exported(memory):
    file = io.StringIO()
    memory.admin.export(file, vectors=True)
    return file.getvalue()


def counts(report):
    return [(side.added, side.updated, side.erased, side.unchanged) for side in report.sides]


class TestWhatIsTakenOver:
    def test_both_export_the_same_and_others_are_untouched(self, pair):
        left, right = pair
        bob = exported(right.scoped(user="bob"))
        left.scoped(user="carl").remember("The words of Carl.")
        carl = exported(left.scoped(user="carl"))
        assert counts(left.admin.sync(right)) == [(1, 0, 0, 1), (1, 0, 0, 1)]
        assert {*exported(left).splitlines()} == {*exported(right).splitlines()}
        assert exported(right.scoped(user="bob")) == bob
        assert exported(left.scoped(user="carl")) == carl
        assert left.scoped(user="bob").stats().memories == {}

    def test_nothing_is_embedded_again(self, pair, monkeypatch):
        left, right = pair
        monkeypatch.setattr(HashingEmbedder, "embed", lambda *_, **__: pytest.fail("embedded"))
        left.admin.sync(right)
        assert left.stats().pending == right.stats().pending == {"enrich": 2}
        monkeypatch.undo()
        assert right.search("What is my boat called?")[0].id == "boat"

    def test_another_model_embeds_for_itself(self, tmp_path, pair):
        left, _ = pair
        with Memory(tmp_path / "c", user="ana", embedder=HashingEmbedder(dimension=32)) as other:
            other.remember("My house is blue.", id="house")
            left.admin.sync(other)
            assert (left.stats().pending["embed"], other.stats().pending["embed"]) == (1, 1)
            left.admin.flush(process=False)
            other.admin.flush(process=False)
            assert left.admin.vector("house").model != other.admin.vector("boat").model
            assert not other.admin.sync(left).changed

    def test_a_folder_is_named_by_its_path(self, tmp_path, pair):
        left, right = pair
        assert left.admin.sync(tmp_path / "b").sides[1].added == 1
        assert right.get("boat").content == "My boat is called Halcyon."

    def test_a_preview_changes_nothing_and_says_what_would_be(self, pair):
        left, right = pair
        left.admin.sync(right)
        left.forget(ids=["cat"], hard=True)
        right.update("boat", content="My boat is called Kittiwake.")
        before, rows = exported(left), exported(right)
        preview = left.admin.sync(right, dry_run=True)
        assert (exported(left), exported(right)) == (before, rows)
        assert preview.dry_run
        assert counts(preview) == counts(left.admin.sync(right)) == [(0, 1, 0, 0), (0, 0, 1, 1)]

    def test_progress_ends_at_the_whole(self, pair):
        seen = []
        pair[0].admin.sync(pair[1], progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 2), (2, 2)]

    async def test_from_asynchronous_code(self, pair):
        left, right = pair
        assert counts(await AsyncMemory.over(left).admin.sync(right)) == [(1, 0, 0, 1), (1, 0, 0, 1)]

    def test_an_open_search_sees_it_at_once(self, pair):
        left, right = pair
        assert not right.search("boat Halcyon", kinds=["memory"], min_evidence="strong")
        left.admin.sync(right)
        assert [hit.id for hit in right.search("boat Halcyon", k=1)] == ["boat"]

    def test_two_devices_that_process_one_message_have_one_memory(self, pair):
        left, right = pair
        left.add("I moved to Lisbon in March. My dentist is Dr. Costa.", id="m1")
        left.admin.sync(right)
        for memory in pair:
            memory.process()
        report = left.admin.sync(right)
        assert report.conflicts == ()
        (kept,) = [one for one in left.list(limit=None) if "dentist" in one.content]
        assert kept.version == 1
        assert len(left.episodes()) == 1


class TestConflicts:
    def test_the_last_text_holds_and_history_has_the_other(self, pair):
        left, right = pair
        left.admin.sync(right)
        left.update("boat", content="My boat is called Kittiwake.")
        right.update("boat", content="My boat is called Petrel.")
        (conflict,) = left.admin.sync(right).conflicts
        assert (conflict.id, conflict.differs) == ("boat", ("text",))
        assert (conflict.kept, conflict.other) == ("My boat is called Petrel.", "My boat is called Kittiwake.")
        assert conflict.kept_at > conflict.other_at
        assert [event.content for event in left.history("boat")] == [BOATS, conflict.other, conflict.kept]
        assert left.get("boat") == right.get("boat")

    def test_what_one_forgot_and_the_other_changed_is_both(self, pair):
        left, right = pair
        left.admin.sync(right)
        right.update("boat", content="My boat is called Petrel.")
        left.forget(ids=["boat"])
        (conflict,) = right.admin.sync(left).conflicts
        assert conflict.differs == ("text", "status")
        assert (right.get("boat").status, right.get("boat").content) == ("archived", "My boat is called Petrel.")

    @pytest.mark.parametrize("processed", [True, False])
    def test_of_two_corrections_the_last_holds_and_the_conflict_has_both(self, pair, processed):
        left, right = pair
        left.add("My gym is Basic-Fit in Ledeberg.", id="gym")
        if processed:
            left.process()
        left.admin.sync(right)
        left.correct("my gym", "My gym is Olympia in Gent.")
        right.correct("my gym", "My gym is Nordic Gym in Gentbrugge.")
        (conflict,) = left.admin.sync(right).conflicts
        assert conflict.differs == ("text", "validity")
        assert (conflict.kept, conflict.other) == ("My gym is Nordic Gym in Gentbrugge.", "My gym is Olympia in Gent.")
        for memory in pair:
            current = [
                hit.text for hit in memory.search("Where is my gym?") if hit.current and "gym" in hit.text.lower()
            ]
            assert current == ["My gym is Nordic Gym in Gentbrugge."]
            (ended,) = [one for one in memory.list(limit=None, include_expired=True) if "Olympia" in one.content]
            assert [link.source for link in memory.links.graph(ended.id).links if link.target == ended.id] == [
                one.id for one in memory.list(limit=None) if "Nordic" in one.content
            ]
            assert memory.admin.verify(deep=True).ok

    @pytest.mark.parametrize("processed", [True, False])
    def test_what_one_forgot_and_the_other_corrected_is_forgotten_with_the_correction(self, pair, processed):
        left, right = pair
        left.add("My gym is Basic-Fit in Ledeberg.", id="gym")
        if processed:
            left.process()
        left.admin.sync(right)
        left.forget("my gym")
        right.correct("my gym", "My gym is Olympia in Gent.")
        left.admin.sync(right)
        for memory in pair:
            assert not [hit for hit in memory.search("Where is my gym?") if "gym" in hit.text]

    def test_a_correction_that_knew_of_what_was_forgotten_stays(self, pair):
        left, right = pair
        left.correct("boat", "My boat is called Petrel.")
        left.admin.sync(right)
        left.forget(ids=["boat"])
        left.admin.sync(right)
        assert "My boat is called Petrel." in contents(right)

    def test_of_two_values_of_a_key_the_last_holds(self, pair):
        for memory, town, day in zip(pair, ("Porto", "Lisbon"), (1, 2), strict=True):
            memory.remember(f"I live in {town}.", key="home.town", id=town, valid_at=datetime(2026, 3, day, tzinfo=UTC))
        pair[0].admin.sync(pair[1])
        first = pair[0].get("Porto")
        assert first.expired_at is not None
        assert first.invalid_at == datetime(2026, 3, 2, tzinfo=UTC)
        assert pair[1].get("Lisbon").expired_at is None

    def test_one_statement_of_two_devices_is_kept_once(self, pair):
        for memory in pair:
            memory.remember("I like green tea.", id=f"tea of {memory.admin.location[-1]}")
        pair[0].admin.sync(pair[1])
        assert [one.id for one in pair[1].list(limit=None) if "tea" in one.content] == ["tea of a"]
        assert pair[1].get("tea of b").status == "archived"

    def test_one_text_stays_as_the_value_of_two_keys_and_what_ended_beside_what_holds_again(self, pair):
        left, right = pair
        left.remember("Green", key="car.colour")
        left.remember("Green", key="door.colour")
        left.remember("I row.", id="before", valid_at=datetime(2026, 1, 1, tzinfo=UTC))
        left.update("before", invalid_at=datetime(2026, 2, 1, tzinfo=UTC))
        left.remember("I row.", id="again")
        left.admin.sync(right)
        assert "again" in {one.id for one in right.list(limit=None)}
        assert {one.key for one in right.list(limit=None) if one.content == "Green"} == {"car.colour", "door.colour"}
        assert {*exported(left).splitlines()} == {*exported(right).splitlines()}

    def test_a_value_that_begins_later_ends_none_before_its_time(self, pair):
        left, right = pair
        left.remember("The plan costs 20 euros.", key="price")
        left.remember("The plan costs 30 euros.", key="price", valid_at=datetime.now(UTC) + timedelta(days=3))
        left.admin.sync(right)
        for memory in pair:
            assert [one.content for one in memory.list(limit=None) if one.key == "price"] == [
                "The plan costs 20 euros."
            ]

    def test_an_id_of_different_things_is_refused(self, pair):
        left, right = pair
        right.add("The words of a message.", id="boat")
        with pytest.raises(Conflict, match="'boat' names a memory on one side and a message on the other"):
            left.admin.sync(right)


class TestConsolidations:
    @pytest.fixture
    def merged(self, pair):
        """Two memories of one statement, merged on the first device and synced."""
        left, right = pair
        for name in ("head", "member"):
            left.remember(f"The bicycle of the {name} stands in the cellar.", id=name)
        left.links.add("member", "boat", "references", reason="both move")
        promotion = Promotion(id="head", absorbed=("member",))
        change = Consolidate(id="c", promotions=(promotion,), contradictions=(), judged=())
        store_of(left).apply("ana", [change])
        left.admin.sync(right)
        assert right.get("member").status == "archived"
        assert [link.source for link in right.links.graph("boat").links] == ["head"]
        return left, right

    @pytest.mark.parametrize("at", [0, 1])
    def test_each_device_can_undo_one(self, merged, at):
        merged[at].undo("c")
        merged[1 - at].admin.sync(merged[at])
        for memory in merged:
            assert memory.get("member").status == memory.get("head").status == "short_term"
            assert memory.get("head").source_ids == ()
            assert [link.source for link in memory.links.graph("boat").links] == ["member"]
            assert memory.undo("c").outcome == "duplicate"

    def test_a_link_that_was_removed_comes_back_with_another_consolidation(self, merged):
        left, right = merged
        left.links.remove("head", "boat", "references")
        left.undo("c")
        left.admin.sync(right)
        again = Consolidate(
            id="d", promotions=(Promotion(id="head", absorbed=("member",)),), contradictions=(), judged=()
        )
        store_of(left).apply("ana", [again])
        left.admin.sync(right)
        for memory in merged:
            assert [link.source for link in memory.links.graph("boat").links] == ["head"]

    @pytest.mark.parametrize("at", [0, 1])
    def test_an_erased_representative_gives_back_its_members(self, merged, at):
        merged[at].forget(ids=["head"], hard=True)
        merged[1 - at].admin.sync(merged[at])
        for memory in merged:
            assert memory.get("member").status == "short_term"
            assert memory.admin.verify(deep=True).ok

    def test_devices_that_merged_each_into_the_other_keep_one_of_both(self, pair):
        left, right = pair
        left.admin.sync(right)
        for memory, head, member in ((left, "boat", "cat"), (right, "cat", "boat")):
            promotion = Promotion(id=head, absorbed=(member,))
            change = Consolidate(id=f"of {head}", promotions=(promotion,), contradictions=(), judged=())
            store_of(memory).apply("ana", [change])
        left.admin.sync(right)
        for memory in pair:
            assert [one.id for one in memory.list(limit=None)] == ["boat"]
            assert memory.get("boat").source_ids == ("cat",)
            assert memory.admin.verify(deep=True).ok


class TestErasure:
    def test_what_was_erased_goes_everywhere_with_what_was_made_from_it(self, pair):
        left, right = pair
        left.add("My dentist is Dr. Costa.", id="m1")
        left.admin.sync(right)
        right.remember("Dr. Costa has her practice in Rua Augusta.", id="derived", source_ids=["m1"])
        left.forget(ids=["m1"], hard=True)
        assert counts(left.admin.sync(right)) == [(0, 0, 0, 2), (0, 0, 2, 2)]
        for memory in pair:
            assert {one.id for one in memory.list(limit=None)} == {"boat", "cat"}
        assert b"Costa" not in (Path(right.admin.location) / "mnemic.db").read_bytes()

    def test_what_was_added_again_stays_also_with_a_slow_clock(self, pair, monkeypatch):
        left, right = pair
        left.admin.sync(right)
        left.forget(ids=["boat"], hard=True)
        late = changes.now() - timedelta(hours=1)
        monkeypatch.setattr(changes, "now", lambda: late)
        left.remember("My boat is called Petrel.", id="boat")
        assert counts(left.admin.sync(right)) == [(0, 0, 0, 2), (1, 0, 1, 1)]
        assert right.get("boat").content == "My boat is called Petrel."

    def test_a_whole_user(self, pair):
        left, right = pair
        left.admin.sync(right)
        left.admin.erase_user()
        right.remember("Only here.", id="late")
        assert counts(left.admin.sync(right)) == [(1, 0, 0, 0), (0, 0, 2, 1)]
        right.admin.erase_user()
        left.admin.sync(right)
        assert not left.admin.sync(right).changed
        for memory in pair:
            assert store_of(memory).transfer.extent("ana").size == 0

    def test_a_migrated_record_knows_what_was_erased(self, tmp_path, pair):
        left, right = pair
        left.admin.sync(right)
        left.forget(ids=["cat"], hard=True)
        migrate(tmp_path / "a", tmp_path / "moved")
        with opened(tmp_path / "moved") as moved:
            assert moved.admin.sync(right).sides[1].erased == 1


class TestRefused:
    def test_a_record_with_itself(self, tmp_path, pair):
        (tmp_path / "link").symlink_to(tmp_path / "a")
        for other in (pair[0], tmp_path / "a", tmp_path / "link"):
            with pytest.raises(InvalidInput, match="same record"):
                pair[0].admin.sync(other)

    def test_nobody_nowhere_and_nothing(self, tmp_path, pair):
        left, right = pair
        for other, error, what in (
            (tmp_path / "none", InvalidInput, "no memory"), (":memory:", ConfigurationError, "a memory in RAM"),
            ("mysql://db", ConfigurationError, "not a kind of store"), (7, InvalidInput, "an open Memory"),
            (right.scoped(user="bob"), InvalidInput, "of the user 'bob'"),
        ):  # fmt: skip
            with pytest.raises(error, match=what):
                left.admin.sync(other)
        with pytest.raises(InvalidInput, match="Neither record has a user 'eve'"):
            left.scoped(user="eve").admin.sync(tmp_path / "b")

    def test_a_record_that_cannot_be_written(self, pair, monkeypatch):
        def refuse():
            raise StoreReadOnly("opened read-only")

        left, right = pair
        monkeypatch.setattr(database_of(right), "_check_writable", refuse)
        with pytest.raises(StoreReadOnly):
            left.admin.sync(right)
        assert {one.id for one in left.list(limit=None)} == {"boat"}
        assert left.admin.sync(right, dry_run=True).sides[1].added == 1


class TestInterrupted:
    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_killed_at_any_step_each_side_is_whole_and_the_next_completes_it(self, tmp_path):
        for side, texts in (("a", ("one", "two", "gone")), ("b", ("three", "four"))):
            with opened(tmp_path / side) as memory:
                for text in texts:
                    memory.remember(f"The word is {text}.", id=text)
        with opened(tmp_path / "a") as memory:
            memory.admin.sync(tmp_path / "b")
            memory.forget(ids=["gone"], hard=True)
            memory.update("three", content="The word is five.")
        with opened(tmp_path / "b") as memory:
            memory.remember("The word is six.", id="six")

        def work(folder):
            with opened(folder / "a") as memory:
                memory.admin.sync(folder / "b")

        with statements() as steps:
            work(shutil.copytree(tmp_path, tmp_path.with_name("whole")))
        trials = sorted({*steps.parts, *range(1, steps.count, max(1, steps.count // count(6, 200)))})
        for step in trials:
            folder = shutil.copytree(tmp_path, tmp_path.with_name(f"killed{step}"))
            trial(partial(work, folder), step, "crash")
            for side in "ab":
                with opened(folder / side) as memory:
                    assert memory.admin.verify(deep=True).ok
            with opened(folder / "a") as left, opened(folder / "b") as right:
                left.admin.sync(right)
                assert {*exported(left).splitlines()} == {*exported(right).splitlines()}
                assert {one.id for one in left.list(limit=None)} == {"one", "two", "three", "four", "six"}
                assert right.get("three").content == "The word is five."
        note("sync: killed at a step", landed=len(trials), lost=0)

    def test_writers_in_between_are_waited_for(self, pair, monkeypatch):
        left, right = pair
        real, written = SyncedRows.put, []

        def put(self, *arguments):
            if len(written) < 3:
                written.append(right.remember(f"In between: {len(written)}.").id)
            return real(self, *arguments)

        monkeypatch.setattr(SyncedRows, "put", put)
        left.admin.sync(right)
        assert {one.id for one in left.list(limit=None)} == {"boat", "cat", *written}
        assert not left.admin.sync(right).changed

    def test_a_record_that_never_rests_is_a_conflict(self, pair, monkeypatch):
        monkeypatch.setattr(SyncedRows, "put", lambda *_: False)
        with pytest.raises(Conflict, match="during every attempt"):
            pair[0].admin.sync(pair[1])


@pytest.mark.engine
class TestPostgres:
    def test_any_lives_of_two_devices_and_a_server_end_equal(self, clocks, postgres_url):
        users = itertools.count(1)

        @limits(count(3, 100))
        @given(lives, orders)
        def test(life, order):
            with tempfile.TemporaryDirectory() as folder:
                places = (Path(folder, "a"), postgres_url, Path(folder, "c"))
                live(Devices(places, clocks, f"ana{next(users)}"), life, order)

        test()

    def test_a_folder_and_a_server_end_equal(self, tmp_path, postgres_url):
        with opened(tmp_path / "a") as left, opened(postgres_url) as right:
            left.add("My dentist is Dr. Costa.\x00", id="m1", metadata={"tooth": 3})
            left.process()
            right.remember("I live in Porto.", key="town", id="porto", tags=["home"])
            left.admin.sync(right)
            left.update("porto", content="I live in Lisbon.")
            right.forget(ids=["m1"], hard=True)
            right.remember("I like tea.", id="tea")
            assert not right.admin.sync(left).conflicts
            for memory in (left, right):
                assert memory.admin.verify(deep=True).ok, memory.admin.verify(deep=True).findings
                assert memory.get("porto").content == "I live in Lisbon."
            states = [store_of(one).synced.states("ana", ["porto", "tea"]) for one in (left, right)]
            assert states[0] == states[1]
            assert right.list(tags=["home"])[0].id == "porto"
            assert not left.admin.sync(postgres_url).changed


class TestCommand:
    def test_it_says_what_it_did(self, tmp_path, pair, capsys):
        pair[0].admin.sync(pair[1])
        pair[0].update("boat", content="My boat is called Kittiwake.")
        pair[1].update("boat", content="My boat is called Petrel.")
        places = [str(tmp_path / "a"), str(tmp_path / "b"), "--user", "ana"]
        assert main(["sync", *places, "--dry-run"]) == 0
        preview, note_ = capsys.readouterr()
        assert "nothing was changed" in note_
        assert main(["sync", *places]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines == preview.splitlines()
        assert lines[0].endswith("0 added, 1 updated, 0 erased, 1 unchanged")
        assert lines[2] == "changed on both sides  [boat]  text"
        assert lines[4].endswith("My boat is called Kittiwake.")
        assert main(["sync", "--json", *places]) == 0
        assert '"conflicts": []' in capsys.readouterr().out


class TestWhatOneForgot:
    def test_goes_with_all_that_the_other_made_of_it_and_comes_back_with_it(self, pair):
        left, right = pair
        left.add("My dentist is Dr. Costa. I live in Faro.", id="m", session="s")
        left.admin.sync(right.admin.location)
        right.process()
        right.remember("Dentist: Dr. Costa", source_ids=["m"])
        right.sessions.summarize()
        right.scoped(session="s").sessions.summarize()
        left.forget(ids=["m"])
        left.admin.sync(right.admin.location)
        for memory in pair:
            assert not [record.content for record in memory.list(limit=None) if "Costa" in record.content]
            assert not memory.episodes()
        right.restore("m")
        assert {"Dentist: Dr. Costa", "My dentist is Dr. Costa."} <= {
            record.content for record in right.list(limit=None)
        }
        assert right.episodes()

    def test_of_an_episode_the_next_processing_leaves_out(self, pair):
        left, right = pair
        left.add("My salary is 3,100 euros. I live in Faro.", id="m", session="s")
        left.admin.sync(right.admin.location)
        left.process()
        left.forget("my salary")
        right.process()
        left.admin.sync(right.admin.location)
        for memory in pair:
            memory.process()
            assert [episode.content for episode in memory.episodes()] == ["user: I live in Faro."]

    def test_of_a_message_is_left_out_of_an_episode_with_others(self, pair):
        left, right = pair
        for number, text in enumerate(("My dentist is Dr. Costa. I live in Faro.", "I have two cats."), 1):
            left.add(text, id=f"m{number}", session="s")
        left.admin.sync(right.admin.location)
        right.process()
        left.forget(ids=["m1"])
        left.admin.sync(right.admin.location)
        for memory in pair:
            memory.process()
            assert [episode.content for episode in memory.episodes()] == ["user: I have two cats."]


class TestRetention:
    def test_what_one_device_retired_comes_back_where_the_other_one_cites_it(self, tmp_path):
        old = datetime(2025, 1, 1, tzinfo=UTC)
        with (
            opened(tmp_path / "a", retention=RetentionPolicy(message_days=30)) as phone,
            opened(tmp_path / "b") as laptop,
        ):
            phone.add("My sister Rita is a nurse in Faro.", id="m", sent_at=old)
            laptop.admin.sync(phone)
            laptop.remember("Rita works at the hospital of Faro.", id="rita", source_ids=["m"])
            assert phone.admin.retire() == 1
            phone.admin.sync(laptop)
            assert not phone.admin.sync(laptop).changed
            for device in (phone, laptop):
                assert device.search("Where does Rita work?")[0].id == "rita"
                assert [message.id for message in device.messages()] == ["m"]
                assert device.admin.retire() == 0

    def test_a_memory_that_the_other_one_prolonged_stays(self, tmp_path):
        with opened(tmp_path / "a") as phone, opened(tmp_path / "b") as laptop:
            phone.remember("The guest is in room 12.", id="guest", delete_after=datetime(2026, 1, 1, tzinfo=UTC))
            laptop.admin.sync(phone)
            laptop.update("guest", delete_after=None)
            assert phone.admin.retire() == 1
            phone.admin.sync(laptop)
            assert all(device.search("Where is the guest?")[0].id == "guest" for device in (phone, laptop))


FIELDS = {
    "tags": ("sailing",), "importance": 0.95, "metadata": {"case": 7},
    "delete_after": datetime(2999, 1, 1, tzinfo=UTC),
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("text_is_later", [True, False])
def test_a_text_of_one_device_and_a_field_of_another_are_both_kept(pair, field, text_is_later):
    left, right = pair
    left.admin.sync(right)
    edits = [
        lambda: right.update("boat", **{field: FIELDS[field]}),
        lambda: left.update("boat", content="My boat is called Petrel."),
    ]
    for edit in edits if text_is_later else edits[::-1]:
        edit()
    left.admin.sync(right)
    for device in pair:
        record = device.get("boat")
        assert (record.content, getattr(record, field)) == ("My boat is called Petrel.", FIELDS[field])
    assert not right.admin.sync(left).changed


def test_a_field_that_was_set_and_cleared_again_stays_cleared(pair):
    left, right = pair
    left.admin.sync(right)
    right.update("boat", tags=["sailing"])
    left.update("boat", content="My boat is called Petrel.")
    left.admin.sync(right)
    left.update("boat", tags=[])
    right.admin.sync(left)
    assert left.get("boat").tags == right.get("boat").tags == ()
