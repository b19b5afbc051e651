"""``forget(hard=True)``: nothing of what goes is in any file, in any form, and all that stays is as it was."""

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.battery import note
from tests.internals import database_of, runtime_of, store_of

from mnemic import Conflict, Memory, Message, NotFound
from mnemic.runtime.indexer import unwrap_store
from mnemic.text.terms import index_terms
from mnemic.types import Consolidate, Erase, Promotion, Purge, Revise

from . import erasing
from .erasing import Dense, Item, forms, opened, scan, vectors_of
from .failpoints import in_child, statements

VICTIMS = 500 if os.environ.get("MNEMIC_BATTERY") else 24

WITHOUT_VECTORS = pytest.mark.filterwarnings("ignore:Without vectors for now:RuntimeWarning")


def needles_of(items):
    return {form: item.id for item in items for canary in (*item.canaries, item.id) for form in forms(canary)}


def ids(memory):
    with database_of(memory).read() as db:
        return {
            id_ for table in ("messages", "episodes", "memories") for (id_,) in db.execute(f"SELECT id FROM {table}")
        }


@WITHOUT_VECTORS
def test_nothing_is_left_of_what_goes_and_all_that_stays_is_whole(tmp_path):
    folder, side, embedder = tmp_path / "memory", tmp_path / "needles", Dense()
    with opened(folder, embedder) as memory:
        items = erasing.fill(memory, embedder, 2 * VICTIMS)
        states = {memory.get(item.id).status for item in items if item.state == "member"}
        assert states == {"archived"}
        assert {memory.get(item.id).status for item in items if item.state == "successor"} == {"long_term"}
        assert memory.admin.verify().ok, memory.admin.verify().findings
        half = len(erasing.STATES)  # every state among those that go and among those that stay
        victims = [item for n, item in enumerate(items) if n // half % 2 == 0]
        others = [item for item in items if item not in victims]
        said = [f"{item.id}-said" for item in victims if item.state == "pending"]
        bytes_of, needles = vectors_of(memory, items), needles_of(victims)
        blobs = {blob for item in victims for blob in bytes_of[item.id]}
        seen = scan(folder, side, {*needles, *blobs})
        texts = {item.id for item in victims} - {needles[form] for form in seen if form in needles}
        assert not texts, "what the scan cannot find before proves nothing after"
        before = {item.id: memory.get(item.id) for item in others}
        kept_bytes = {blob for item in others for blob in bytes_of[item.id]} & set(
            scan(folder, side, {b for i in others for b in bytes_of[i.id]})
        )
        held = ids(memory)

        erasure = memory.forget(ids=[*(item.id for item in victims), *said], hard=True)

        assert erasure.clean, erasure
        assert erasure.missing == ()
        assert erasure.purge.bytes_scanned > 0
        assert erasure.purge.needles > len(victims)
        left = scan(folder, side, {*needles, *blobs})
        assert not left, {(needles.get(form, "vector"), where) for form, where in left.items()}
        assert memory.admin.verify().ok, memory.admin.verify().findings
        for item in victims:
            with pytest.raises(NotFound):
                memory.get(item.id)
        gone = set(erasure.ids)
        assert held - ids(memory) == gone - set(erasure.remade)
        assert sum(erasure.counts.get(table, 0) for table in ("messages", "episodes", "memories")) == len(gone)
        assert erasure.counts["fulltext"] == len(gone)
        assert not gone & {item.id for item in others}
        for id_, record in before.items():
            assert memory.get(id_) == record, id_
        for n, item in enumerate(items):
            if item.state == "successor" and item in victims:
                assert memory.get(f"twin-{n}").status != "archived"
            elif item.state == "member" and item in victims:
                twin = memory.get(f"twin-{n}")
                assert twin.status != "archived"
                assert twin.content == f"It is the {n}-th that stays"
        number, docs = (
            store_of(memory).user("ana"),
            store_of(memory).docs_of("ana", [item.id for item in others]),
        )
        for item in others:
            (term,) = index_terms(item.canaries[0])
            assert docs[item.id] in store_of(memory).postings(number, term), item.state
        alive = next(item for item in others if item.state == "message")
        assert alive.id in {hit.id for hit in memory.search(alive.content, k=3, kinds=["message"])}
        assert set(scan(folder, side, kept_bytes)) == kept_bytes
        again = next(item for item in victims if item.state == "message")
        assert memory.add([Message(role="user", content="anew", id=again.id)])[0].outcome == "stored"
        memory.forget(ids=[again.id], hard=True)
    left = scan(folder, side, {*needles, *blobs})
    assert not left
    with opened(folder, embedder) as memory:
        assert memory.admin.verify().ok
        assert not store_of(memory).erasure.unfinished()
    note("erasure", victims=len(victims), survivors=len(others), needles=len(needles) + len(blobs), found=0)


@WITHOUT_VECTORS
def test_everything_of_a_user(tmp_path):
    folder, side, embedder = tmp_path / "memory", tmp_path / "needles", Dense()
    with opened(folder, embedder, user="bob") as bob:
        kept = erasing.fill(bob, embedder, 12)
        before = {item.id: bob.get(item.id) for item in kept}
        ana = bob.scoped(user="ana")
        items = erasing.fill(ana, embedder, 24)
        blobs = {blob for found in vectors_of(ana, items).values() for blob in found}
        other = Memory(folder, user="ana", embedder=embedder)
        assert other.search(items[2].canaries[0])
        erasure = ana.admin.erase_user()
        assert erasure.clean
        assert erasure.counts["users"] == 1
        assert erasure.purge.needles > len(items)
        assert erasure.purge.bytes_scanned > 0
        assert not scan(folder, side, {*needles_of(items), *blobs})
        assert not len(other.search(items[2].canaries[0]))
        assert ana.stats().memories == {}
        assert ana.admin.erase_user().counts == {}
        assert ana.add("begun anew", id="m")[0].outcome == "stored"
        assert [hit.id for hit in other.search("begun anew")] == ["m"], (
            "a process that knew the user before sees the new one"
        )
        assert {id_: bob.get(id_) for id_ in before} == before
        assert bob.admin.verify().ok, bob.admin.verify().findings
        assert bob.search(kept[2].canaries[0])
        other.close()


def test_another_process_that_counted_uses_does_not_write_the_name_again(tmp_path):
    folder = tmp_path / "memory"
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.remember("Ana lives in Lisbon.")
        other = Memory(folder, user="ana", embedder="hashing")
        assert other.search("Where does Ana live?")
        memory.admin.erase_user()
        other.close()  # writes down what it counted
        assert store_of(memory).user("ana") is None


@pytest.mark.plain
def test_what_is_left_of_a_user_in_another_file_is_told(tmp_path):
    folder = tmp_path / "memory"
    with Memory(folder, user="ana@example.org", embedder="hashing") as memory:
        memory.remember("Ana lives in Lisbon with her cat Miso.")
        memory.scoped(user="bob").remember("Ana lives in Lisbon with her cat Miso.")
        memory.admin.export(folder / "ana.jsonl")
        (folder / "users.txt").write_text("ana@example.org")
        erasure = memory.admin.erase_user()
        assert not erasure.clean
        assert erasure.purge.found == 2, "the id and the name; the text is bob's as well"
        assert "ana.jsonl, users.txt" in erasure.purge.pending
    with Memory(":memory:", user="ana@example.org", embedder="hashing") as memory:
        memory.remember("Ana lives in Lisbon with her cat Miso.")
        assert memory.admin.erase_user().purge == Purge(), "there is no file that could be searched"


@pytest.mark.plain
@pytest.mark.parametrize("again", ["user", "ids", "others", "opened"])
@pytest.mark.parametrize("reader", [False, True])
def test_what_is_left_in_another_file_is_told_until_the_file_is_gone_or_changed(tmp_path, monkeypatch, again, reader):
    monkeypatch.setattr("mnemic.lifecycle.erasure.PATIENCE", 0.05)
    folder = tmp_path / "memory"
    copies = [folder / "backups" / day / "mnemic.db" for day in ("monday", "tuesday")]
    with Memory(folder, user="ana", embedder="hashing") as memory, Memory(folder, embedder="hashing") as other:
        memory.remember("Ana lives in Lisbon with her cat Miso.", id="victim")
        for copy in copies:
            memory.admin.backup(tmp_path / copy.parent.name)
            copy.parent.mkdir(parents=True)
            shutil.copy(tmp_path / copy.parent.name / "mnemic.db", copy)
        with database_of(other).read() as db, db:
            if reader:
                db.execute("SELECT count(*) FROM messages").fetchall()
            erasure = memory.forget(ids=["victim"], hard=True)
        assert ("reader" in erasure.purge.pending) is reader
        assert "backups/monday/mnemic.db, backups/tuesday/mnemic.db" in erasure.purge.pending
        memory.admin.flush()
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.remember("Ana works as a nurse in a hospital.", id="other")

        def told():
            if again == "user":
                return memory.scoped(user="nobody").admin.erase_user()
            if again == "opened":
                return memory.admin.erase_user()
            return memory.forget(ids=["other" if again == "others" else "victim"], hard=True)

        erasure = told()
        assert not erasure.clean
        assert "earlier may still be in backups/monday/mnemic.db, backups/tuesday/mnemic.db:" in erasure.purge.pending
        assert not store_of(memory).erasure.unfinished(), "the record itself is rewritten once"
        copies[0].unlink()
        assert "in backups/tuesday/mnemic.db:" in told().purge.pending
        copies[1].write_bytes(b"replaced")
        assert told().clean
        assert told().clean


def test_a_file_that_cannot_be_read_was_not_searched(tmp_path, monkeypatch):
    opened = Path.open

    def closed(path, *arguments):
        if path.name == "theirs.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments)

    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.remember("Ana lives in Lisbon with her cat Miso.", id="r1")
        (tmp_path / "memory" / "theirs.txt").write_text("anything")
        monkeypatch.setattr(Path, "open", closed)
        erasure = memory.forget(ids=["r1"], hard=True)
        assert not erasure.clean
        assert "theirs.txt cannot be read" in erasure.purge.pending
        assert erasure.counts["memories"] == 1


def test_the_next_user_never_gets_the_number_of_an_erased_one(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.add("mine")
        number = store_of(memory).user("ana")
        memory.admin.erase_user()
        memory.scoped(user="bob").add("his")
        assert store_of(memory).user("bob") > number


def told(memory, *texts):
    item_ids = [f"m{n}" for n in range(len(texts))]
    memory.add(
        [Message(role="user", content=text, id=id_, session="s") for text, id_ in zip(texts, item_ids, strict=True)]
    )
    memory.process()
    return item_ids


def test_what_was_made_of_it_goes_with_it_and_episodes_are_told_again(tmp_path):
    with Memory(tmp_path / "memory", user="ana", session="s", embedder="hashing") as memory:
        told(memory, "I live in Lisbon with my cat Miso.", "I work as a nurse at the hospital.")
        memory.sessions.end()
        (lisbon,) = (m for m in memory.list(types=["semantic"]) if "Lisbon" in m.content)
        derived = memory.remember("Somebody who knows Portugal", source_ids=[lisbon.id]).id
        summary = next(m for m in memory.list() if m.category == "session_summary")
        erasure = memory.forget(ids=["m0"], hard=True)
        assert {lisbon.id, derived, summary.id, "m0"} <= set(erasure.ids)
        assert set(erasure.remade) == {memory.episodes()[0].id, summary.id}
        (episode,) = memory.episodes()
        assert "Lisbon" not in episode.title + episode.content
        assert episode.message_ids == ("m1",)
        assert "Lisbon" not in memory.get(summary.id).content
        assert memory.get("m1").content == "I work as a nurse at the hospital."
        assert "Lisbon" not in str(memory.history(episode.id))
        assert memory.admin.verify().ok, memory.admin.verify().findings
        memory.forget(ids=["m1"], hard=True)
        assert memory.episodes() == memory.list() == memory.messages() == []
        assert memory.admin.verify().ok, memory.admin.verify().findings


def test_by_description_with_what_was_forgotten_before(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.remember("I prefer meetings before ten", tags=["schedule"], category="preference", id="meetings")
        memory.remember("My dentist is Dr. Costa", id="dentist")
        memory.forget(ids=["meetings"])
        erasure = memory.forget("my schedule preferences", hard=True)
        assert (erasure.ids, erasure.clean) == (("meetings",), True)
        assert [m.id for m in memory.list()] == ["dentist"]
        assert memory.forget(ids=["nobody"], hard=True).missing == ("nobody",)


def test_the_trail_of_others_does_not_name_what_is_gone(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.remember("The port is 8080 on the server", id="old")
        memory.remember("Another thing", id="secret-id")
        memory.links.add("old", "secret-id", "references", reason="secret reason")
        memory.forget(ids=["secret-id"], hard=True)
        with database_of(memory).read() as db:
            trail = db.execute("SELECT detail FROM events").fetchall()
        assert not any("secret" in detail for (detail,) in trail)
        assert [event.operation for event in memory.history("old")] == ["remember", "link"]


@pytest.mark.plain  # the old pages are under the encryption, too
def test_a_reader_in_the_way_is_told_and_the_rest_follows(tmp_path, monkeypatch):
    monkeypatch.setattr("mnemic.lifecycle.erasure.PATIENCE", 0.05)
    folder, side = tmp_path / "memory", tmp_path / "needles"
    item = Item("V" * 20, "message")
    with Memory(folder, user="ana", embedder="hashing") as memory, Memory(folder, embedder="hashing") as reader:
        memory.add([Message(role="user", content=item.content, id=item.id)])
        with database_of(reader).read() as db, db:
            assert db.execute("SELECT count(*) FROM messages").fetchall() == [(1,)]
            erasure = memory.forget(ids=[item.id], hard=True)
            assert "reader" in erasure.purge.pending
            assert not erasure.clean
            assert not memory.messages()
            assert db.execute("SELECT count(*) FROM messages").fetchall() == [(1,)], "a snapshot is a snapshot"
        assert scan(folder, side, needles_of([item]))
        memory.admin.flush()
        assert not store_of(memory).erasure.unfinished()
        assert not scan(folder, side, needles_of([item]))


def test_what_is_made_of_it_meanwhile_is_not_overlooked(tmp_path):
    """Another process makes something of a record between the decision and the erasing: it is decided again."""
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        memory.remember("The first thing", id="first")
        store = unwrap_store(store_of(memory))
        real = store.erasure
        meanwhile = iter(["second", "third"])

        class Slow:
            def __getattr__(self, name):
                return getattr(real, name)

            def erase(self, user, change, **options):
                if (id_ := next(meanwhile, None)) is not None:
                    memory.remember(f"The {id_} thing", id=id_, source_ids=["first"])
                return real.erase(user, change, **options)

        store.erasure = Slow()
        try:
            erasure = memory.forget(ids=["first"], hard=True)
        finally:
            store.erasure = real
        assert erasure.ids == ("first", "second", "third")
        assert memory.list() == []
        memory.remember("One", id="one")
        memory.remember("Two", id="two", source_ids=["one"])
        with pytest.raises(Conflict):
            store.erasure.erase("ana", Erase(ids=("one",)))
        assert memory.get("one").content == "One"
        assert [bool(store.erasure.erase("ana", Erase(ids=("one", "two")))) for _ in range(2)] == [True, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_before_every_statement_it_finishes_at_the_next_opening(tmp_path):
    """Either nothing has happened yet, or everything happens."""
    base, side = tmp_path / "base", tmp_path / "needles"
    item = Item("victim", "message")
    with Memory(base, user="ana", session="s", embedder="hashing") as memory:
        memory.add(
            [
                Message(role="user", content=f"I live in Lisbon. {item.content}", id="victim"),
                Message(role="user", content="I work as a nurse.", id="kept"),
            ]
        )
        memory.process()
    needles = {form for canary in item.canaries for form in forms(canary)}

    def run(folder, last):
        with Memory(folder, user="ana", embedder="hashing") as memory, statements(memory, last, "crash") as steps:
            memory.forget(ids=["victim"], hard=True)
            return steps.count

    shutil.copytree(base, tmp_path / "whole")
    total = run(tmp_path / "whole", 0)
    assert total > 30
    step = 1 if os.environ.get("MNEMIC_BATTERY") else max(1, total // 15)
    gone = 0
    for last in [*range(1, total - 5, step), *range(total - 5, total + 1)]:
        folder = tmp_path / f"at{last}"
        shutil.copytree(base, folder)
        assert in_child(lambda folder=folder, last=last: run(folder, last)) == -9, "the kill must have landed"
        with Memory(folder, user="ana", embedder="hashing") as memory:
            report = memory.admin.verify()
            assert report.ok, report.findings
            there = [m.id for m in memory.messages()]
            assert there in (["victim", "kept"], ["kept"])
            assert not store_of(memory).erasure.unfinished()
            if there == ["kept"]:
                gone += 1
                assert not scan(folder, side, needles), last
            else:
                assert memory.forget(ids=["victim"], hard=True).clean
        assert not scan(folder, side, needles), last
        shutil.rmtree(folder)
    assert gone >= 4


def reworded(memory):
    """A consolidation, made as a model would: it merged two memories into the text of a third."""
    for id_, text in (("best", "The box is red"), ("goes", "The box holds SECRET"), ("stays", "The box is heavy")):
        memory.remember(text, id=id_)
    record = replace(memory.get("best"), content="The red heavy box holds SECRET", version=2)
    ((_, index),) = runtime_of(memory).indexer.indexed([record])
    promotion = Promotion(id="best", absorbed=("goes", "stays"), revised=Revise(record=record, indexing=index))
    change = Consolidate(id="con", promotions=(promotion,), contradictions=(), judged=())
    store_of(memory).apply("ana", [change])
    assert memory.get("stays").status == "archived"


def nothing_tells(memory):
    assert "SECRET" not in str([memory.get("stays"), memory.history("stays"), memory.admin.log()])
    with database_of(memory).read() as db:
        assert "SECRET" not in str(db.execute("SELECT row FROM versions").fetchall())
    assert memory.admin.verify().ok, memory.admin.verify().findings


def test_a_consolidated_text_is_taken_back(tmp_path):
    """When one of those that were merged goes, the other gets its own words back."""
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        reworded(memory)
        erasure = memory.forget(ids=["goes"], hard=True)
        assert erasure.ids == ("goes",)
        assert erasure.remade == ("best",)
        assert memory.get("best").content == "The box is red"
        assert memory.get("best").status == memory.get("stays").status == "short_term"
        assert "SECRET" not in str(memory.history("best"))
        nothing_tells(memory)
        with contextlib.suppress(NotFound):
            memory.undo("con")
        assert memory.admin.verify().ok, memory.admin.verify().findings


def test_a_consolidated_text_that_was_taken_back_before_is_gone_from_the_versions_too(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        reworded(memory)
        memory.undo("con")
        assert memory.forget(ids=["goes"], hard=True).ids == ("goes",)
        assert (memory.get("best").content, memory.get("best").version) == ("The box is red", 3)
        assert memory.get("stays").status == "short_term"
        nothing_tells(memory)


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_consolidated_text_that_could_not_be_taken_back_goes_along(tmp_path, forgotten):
    """It was forgotten, or changed, when the consolidation was undone, and still tells what the member told."""
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as memory:
        reworded(memory)
        if forgotten:
            memory.forget(ids=["best"])
        else:
            memory.update("best", content="The red heavy box still holds SECRET")
        memory.undo("con")
        if forgotten:
            memory.restore("best")
        assert sorted(memory.forget(ids=["goes"], hard=True).ids) == ["best", "goes"]
        nothing_tells(memory)
        assert memory.get("stays").status == ("archived" if forgotten else "short_term")
        if forgotten:
            assert memory.restore("stays")[0].outcome == "restored"
