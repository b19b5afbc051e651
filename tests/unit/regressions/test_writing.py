"""Writes that were half done, and identities that were taken for others."""

import os
import stat
import threading

import pytest
from tests.internals import database_of

from mnemic import ConfigurationError, InvalidInput, Memory, Message, StoreClosed


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"inner": value}
    return value


def holding_itself():
    value = {}
    value["me"] = value
    return value


UNSTORABLE = {
    "an object": lambda: {"a": object()},
    "nan": lambda: {"a": float("nan")},
    "itself": holding_itself,
    "itself in a list": lambda: {"a": [holding_itself()]},
    "3,000 deep": lambda: nested(3_000),
    "100,000 deep": lambda: nested(100_000),
}


@pytest.mark.parametrize("kind", UNSTORABLE)
def test_metadata_that_cannot_be_stored_is_refused_before_anything_is(memory, kind):
    """The last of 300: the first batch of 256 was written already."""
    good = [Message(role="user", content=f"x {n}") for n in range(299)]
    with pytest.raises(InvalidInput):
        memory.add([*good, Message(role="user", content="bad", metadata=UNSTORABLE[kind]())])
    assert memory.messages() == []


@pytest.mark.parametrize("kind", UNSTORABLE)
def test_metadata_that_cannot_be_stored_is_refused_everywhere(memory, kind):
    metadata = UNSTORABLE[kind]()
    memory.remember("a fact", id="fact", metadata={"kept": 1})
    for write in (
        lambda: memory.add("x", metadata=metadata)[0],
        lambda: memory.remember("y", metadata=metadata),
        lambda: memory.update("fact", metadata=metadata),
        lambda: memory.search("a fact", metadata=metadata),
        lambda: memory.list(metadata=metadata),
    ):
        with pytest.raises(InvalidInput):
            write()
    assert memory.get("fact").metadata == {"kept": 1}
    assert len(memory.list()) == 1
    assert memory.messages() == []


def test_a_memory_cannot_take_the_id_of_a_message(memory):
    memory.add("the red bike is in the shed", id="x")
    receipt = memory.remember("the red bike was sold", id="x")
    assert receipt.outcome == "rejected"
    assert "id" in receipt.reason
    assert memory.get("x").content == "the red bike is in the shed"
    assert [(hit.id, hit.kind) for hit in memory.search("red bike")] == [("x", "message")]


def test_a_message_cannot_take_the_id_of_a_memory(memory):
    memory.remember("the red bike was sold", id="x")
    for text in ("the red bike is in the shed", "the red bike was sold"):
        receipt = memory.add(text, id="x")[0]
        assert receipt.outcome == "rejected"
        assert "memory" in receipt.reason
    assert memory.messages() == []
    assert memory.get("x").content == "the red bike was sold"
    assert [hit.outcome for hit in memory.forget(ids=["x"])] == ["forgotten"]
    assert memory.add("again", id="x")[0].outcome == "rejected"  # it can be restored


def test_a_forgotten_memory_is_no_duplicate(memory):
    memory.remember("likes tea", id="x")
    assert memory.remember("likes tea", id="x").outcome == "duplicate"
    memory.forget(ids=["x"])
    receipt = memory.remember("likes tea", id="x")
    assert receipt.outcome == "rejected"
    assert "restore" in receipt.reason
    assert len(memory.search("tea")) == 0
    memory.restore("x")
    assert [hit.id for hit in memory.search("tea")] == ["x"]


def test_a_memory_of_another_level_is_no_duplicate(memory):
    first, other = memory.scoped(project="p", session="s"), memory.scoped(project="q", session="s")
    assert first.remember("likes tea", id="x").outcome == "stored"
    for elsewhere, level in ((other, None), (memory, None), (first, "session")):
        receipt = elsewhere.remember("likes tea", id="x", level=level)
        assert receipt.outcome == "rejected"
        assert "another record" in receipt.reason
    assert other.remember("likes tea", id="y").outcome == "stored"
    assert [hit.id for hit in other.search("tea", reach="project")] == ["y"]


def test_opening_and_reading_never_touch_the_umask_of_the_process(tmp_path, monkeypatch):
    """It belongs to every thread: two that change it at once can leave the wrong one behind."""

    def forbidden(mask):
        raise AssertionError("the umask was changed")

    monkeypatch.setattr(os, "umask", forbidden)
    with Memory(tmp_path / "memory", embedder="hashing") as memory:
        memory.add("hello")
        assert len(memory.search("hello")) == 1


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
def test_files_are_private_and_the_umask_stays_after_opening_from_many_threads(tmp_path):
    before = os.umask(0o002)
    try:
        with Memory(tmp_path / "memory", embedder="hashing") as first:
            first.add("hello")
            start, handles = threading.Barrier(6), []

            def read():
                start.wait(timeout=30)
                handles.append(Memory(tmp_path / "memory", embedder="hashing"))
                handles[-1].stats()
                first.messages()

            threads = [threading.Thread(target=read) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=60)
            assert len(handles) == 6
            files = sorted((tmp_path / "memory").glob("mnemic.db*"))
            assert len(files) == 3  # the record, its write-ahead log and the index of that
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
            for memory in handles:
                memory.close()
        assert os.umask(0o002) == 0o002
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "location",
    ["a\0b", "~nobody_of_that_name/x", "\ud800", "mem\udce9"],
    ids=["nul", "no home", "surrogate", "no UTF-8"],
)
def test_a_location_that_cannot_be_a_folder_is_told(location, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"cannot be a path|folder"):
        Memory(location, embedder="hashing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", [lambda memory: memory.add("x")[0], lambda memory: memory.forget(ids=["m"])])
def test_closing_between_the_check_and_the_write_raises_that_it_was_closed(either, monkeypatch, call):
    either.add("hello", id="m")
    database = database_of(either)
    check = database._check

    def closed_by_another_thread():
        check()
        database.close()

    monkeypatch.setattr(database, "_check", closed_by_another_thread)
    with pytest.raises(StoreClosed, match="Open it again"):
        call(either)


def test_closing_while_others_work_raises_only_that_it_was_closed(either):
    raised, working = [], threading.Event()

    def work():
        try:
            for n in range(100_000):
                either.add(f"x {n}")
                either.search("x", k=1)
                working.set()
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises is the finding
            raised.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert working.wait(timeout=30)
    either.close()
    for thread in threads:
        thread.join(timeout=60)
    assert [type(error) for error in raised] == [StoreClosed] * 3


def test_a_read_that_begins_while_the_handle_closes_says_that_it_was_closed(tmp_path, monkeypatch):
    """SQLite removes the log with the last connection: nobody else did."""
    memory = Memory(tmp_path / "record", embedder="hashing")
    memory.add("x")
    database = database_of(memory)
    check, log = database._files.check, tmp_path / "record" / "mnemic.db-wal"
    assert log.exists()
    while database._readers:
        database._readers.pop().close()  # the read below has to connect

    def closing():
        monkeypatch.undo()
        memory.close()
        check()

    monkeypatch.setattr(database._files, "check", closing)
    with pytest.raises(StoreClosed), database.read():
        pass
    assert not log.exists()


def test_a_known_statement_says_what_was_given_anew(memory):
    first = memory.remember("The API runs on port 8080.", tags=["api"])
    plain = memory.remember("The API runs on port 8080.")
    assert (plain.outcome, plain.reason) == ("duplicate", "the same statement is already remembered at this level")
    again = memory.remember("The API runs on port 8080.", tags=["infra"], metadata={"k": 1}, importance=0.9)
    assert (again.id, again.outcome) == (first.id, "duplicate")
    assert again.reason.endswith("its tags, metadata, importance stay as they were: update() changes them")
    assert memory.get(first.id).tags == ("api",)
