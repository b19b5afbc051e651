"""What callers write by mistake or by habit is understood, or the error names the way; no error is longer than a screen."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory, Message, MnemicError, StoreCorrupt, UnknownArgument, documents, project
from mnemic.stores.sqlite.store import SqliteStore
from mnemic.text.values import LONGEST_ERROR, MAX_NAME, clipped

HUGE = "x" * 100_000


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


@pytest.mark.parametrize(
    "filters",
    [
        {"tags": "work"}, {"types": "semantic"}, {"category": "preference"}, {"status": "short_term"},
        {"category": ["work", "preference"]}, {"tags": ("other", "work")}, {"tags": {"work"}}, {"types": iter(["semantic"])},
    ],
    ids=lambda filters: "-".join(filters),
)  # fmt: skip
def test_one_word_stands_for_a_list_of_one(memory, filters):
    held = memory.remember("Ana likes tea.", tags="work", category="preference", keywords="tea")
    memory.remember("The office opens at nine.", type="procedural", category="configuration", tags="office")
    found = [hit.id for hit in memory.search("tea", **dict(filters))] if "types" not in filters else [held.id]
    listed = [record.id for record in memory.list(**filters)]
    assert held.id in found
    assert listed == [held.id] or "status" in filters
    assert (memory.get(held.id).tags, memory.get(held.id).keywords) == (("work",), ("tea",))


def test_one_id_stands_for_a_list_of_one(memory):
    first, second = memory.add("I moved to Lisbon.").id, memory.add("I moved to Porto.").id
    assert memory.forget(ids=first).ids == (first,)
    assert [hit.id for hit in memory.search("moved", exclude=second, kinds="message")] == []
    assert memory.search("moved", status="archived")[0].id == first
    assert memory.admin.quarantine(ids=second)[0].outcome == "quarantined"


def test_the_id_of_one_receipt(memory):
    assert memory.add("I moved to Lisbon.", id="a").id == "a"
    with pytest.raises(InvalidInput, match=r"2 receipts, not one: receipts\.ids"):
        _ = memory.add_exchange("Hello.", "Hello!").id


@pytest.mark.parametrize("name", ["n_results", "top_k", "limit", "k", "similarity_top_k", "max_results"])
@pytest.mark.parametrize(
    ("method", "meant"), [("search", "k"), ("list", "limit"), ("get_memory_context", "max_tokens")]
)
def test_a_count_by_another_name(memory, method, meant, name):
    if name == meant:
        return
    words = () if method == "list" else ("tea",)
    with pytest.raises(UnknownArgument, match=f"Did you mean {meant}\\?"):
        getattr(memory, method)(*words, **{name: 3})


def test_a_mood_may_be_words(memory):
    memory.add("The tea made me happy!")
    assert memory.search("tea", mood="happy")
    with pytest.raises(InvalidInput, match="words that show one"):
        memory.search("tea", mood=" ")


def test_a_forgotten_message_that_is_sent_again(memory):
    message = Message(role="user", content="I moved to Lisbon.", id="a")
    memory.add(message)
    memory.forget(ids="a")
    (receipt,) = memory.add(message)
    assert (receipt.outcome, receipt.reason) == ("duplicate", "this message was forgotten: restore() brings it back")
    memory.restore("a")
    assert memory.add(message)[0].reason == "a message with this id and content is stored"
    memory.admin.quarantine(ids=["a"])
    assert "admin.release()" in memory.add(message)[0].reason


WRONG = {
    "get": lambda m: m.get(HUGE), "history": lambda m: m.history(HUGE), "undo": lambda m: m.undo(HUGE),
    "forget": lambda m: m.forget(ids=[HUGE]), "erase": lambda m: m.forget(ids=[HUGE], hard=True),
    "restore": lambda m: m.restore(HUGE), "update": lambda m: m.update(HUGE, content="x"),
    "link": lambda m: m.links.add(HUGE, "b", "extends"), "unlink": lambda m: m.links.remove("b", HUGE),
    "graph": lambda m: m.links.graph(HUGE), "id": lambda m: m.add("x", id=HUGE), "name": lambda m: m.add("x", name=HUGE),
    "role": lambda m: m.add("x", role=HUGE), "field": lambda m: m.add({"role": "user", "content": "x", HUGE: 1}),
    "argument": lambda m: m.search("x", **{HUGE: 1}), "recipe": lambda m: m.search("x", recipe=HUGE),
    "status": lambda m: m.list(status=HUGE[:900]), "session": lambda m: m.messages(session=HUGE),
    "scope": lambda m: m.scoped(session=HUGE), "key": lambda m: m.remember("x", key=HUGE),
    "source": lambda m: m.remember("x", source_ids=[HUGE]), "category": lambda m: m.remember("x", category=HUGE),
    "cited": lambda m: m.add_exchange("a", "b", cited=[HUGE]), "quarantine": lambda m: m.admin.quarantine(ids=[HUGE]),
    "preference": lambda m: m.preferences[HUGE], "ids": lambda m: m.forget(ids=map(str, range(10**9))),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_error_quotes_an_excerpt(memory, wrong):
    with pytest.raises((MnemicError, KeyError)) as error:
        wrong(memory)
    assert len(str(error.value)) < LONGEST_ERROR + 100
    assert memory.stats().messages == memory.stats().memories.get("short_term", 0) == 0


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=2_000))
def test_a_clipped_name_is_a_beginning_that_may_be_stored(name):
    kept = clipped(name)
    assert name.startswith(kept)
    assert len(kept.encode()) <= MAX_NAME
    assert kept == name or len(kept.encode()) > MAX_NAME - 4


def test_an_error_does_not_read_the_whole_record(tmp_path, monkeypatch):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.remember("Ana likes tea.", id="a")
    with closing(sqlite3.connect(tmp_path / "mnemic.db")) as db, db:
        db.execute("UPDATE records SET tags = '[' WHERE id = 'a'")
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        monkeypatch.setattr(SqliteStore, "verify", lambda *_, **__: pytest.fail("the whole record was read"))
        with pytest.raises(StoreCorrupt, match="mnemic doctor --deep"):
            memory.get("a")


PLACES = {
    "import_file": lambda m, place: m.admin.import_file(place), "export": lambda m, place: m.admin.export(place),
    "import_from": lambda m, place: m.admin.import_from(place), "backup": lambda m, place: m.admin.backup(place),
    "sync": lambda m, place: m.admin.sync(place), "documents": lambda _, place: documents.read(place),
    "project": lambda _, place: project(place), "location": lambda _, place: Memory(place, embedder="hashing"),
}  # fmt: skip


@pytest.mark.parametrize("call", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("place", ["a\0b.md", "\ud800.md", "~nobody-of-that-name/x.md", b"a.md", HUGE], ids=ascii)
def test_what_can_be_no_path_is_an_error_of_ours(tmp_path, monkeypatch, call, place):
    monkeypatch.chdir(tmp_path)
    with Memory(tmp_path / "memory", embedder="hashing") as memory:
        with pytest.raises(MnemicError) as error:
            call(memory, place)
        assert len(str(error.value)) < 300
    assert [path.name for path in tmp_path.iterdir()] == ["memory"]


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.admin.without_forgotten(None), lambda m: m.idle.arm("x"), lambda m: m.idle.end("x"),
        lambda m: m.idle.run("x").__enter__(), lambda m: m.idle.arm(seconds="x"), lambda m: m.preferences.update(5),
        lambda m: m.preferences.update([("a", "b", "c")]), lambda m: m.preferences.update({1: "b"}),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_an_error_of_ours(memory, call):
    with pytest.raises(InvalidInput):
        call(memory)


def test_preferences_are_updated_as_a_mapping_is(memory):
    memory.preferences.update({"a": 1}, b=2)
    memory.preferences.update([("a", 3)])
    memory.preferences.update(c=4)
    assert dict(memory.preferences) == {"a": 3, "b": 2, "c": 4}
