"""Faults that others found by trying to break it."""

import contextlib
import io
import sqlite3
import sys
import threading

import pytest
from tests.internals import database_of, store_of

from mnemic import Conflict, HashingEmbedder, Memory, Message, StoreCorrupt
from mnemic.stores.sqlite import database
from mnemic.types import MarkConsolidating


class Asked(HashingEmbedder):
    """Does something once while it embeds."""

    def __init__(self):
        super().__init__()
        self.meanwhile = None

    def embed(self, texts, *, kind="document"):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().embed(texts, kind=kind)


def bytes_of(folder):
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("ended", [True, False])
def test_a_summary_under_way_tells_nothing_of_what_is_erased_meanwhile(tmp_path, ended):
    embedder = Asked()
    with (
        Memory(tmp_path, user="ana", session="s", embedder=embedder) as memory,
        Memory(tmp_path, user="ana", embedder="hashing") as other,
    ):
        memory.add("I have a dog called Xylobranth, and he likes the garden.", id="a")
        memory.process()
        memory.add("The report of the office is due on Friday, by the way.", id="b")
        if ended:
            memory.sessions.end()
            memory.add("I work as a nurse in the hospital of Porto now.", id="c")
        memory.process()
        embedder.meanwhile = lambda: other.forget(ids=["a"], hard=True)
        memory.sessions.end()
        assert memory.admin.verify().ok
        summaries = [record for record in memory.list(limit=None) if record.category == "session_summary"]
        assert len(summaries) == 1
    assert b"ylobranth" not in bytes_of(tmp_path)


def test_what_a_tool_was_called_goes_with_what_it_answered(tmp_path):
    with Memory(tmp_path, user="ana", session="s", embedder="hashing") as memory:
        memory.add([
            Message(role="user", content="Please look it up in the register for me.", id="u"),
            Message(role="tool", name="xylobranth_patient", content="Found: all is fine.", id="t"),
        ])  # fmt: skip
        memory.process()
        memory.sessions.end()
        erasure = memory.forget(ids=["t"], hard=True)
        assert erasure.clean
        (summary,) = [record for record in memory.list(limit=None) if record.category == "session_summary"]
        assert summary.id in erasure.remade
        assert summary.metadata["message_count"] == 1
    assert b"xylobranth_patient" not in bytes_of(tmp_path)


def test_a_summary_of_erased_messages_alone_is_told_of_those_that_came_after(tmp_path):
    with Memory(tmp_path, user="ana", session="s", embedder="hashing") as memory:
        memory.add("I have a dog.", id="a")
        memory.sessions.end()
        memory.add("I have a cat.", id="b")
        memory.forget(ids=["a"], hard=True)
        (summary,) = [record for record in memory.list(limit=None) if record.category == "session_summary"]
        assert summary.source_ids == ("b",)


def test_an_interrupt_right_after_the_beginning_of_a_transaction_rolls_it_back(tmp_path):
    lines = database.Database.write.__wrapped__.__code__

    def interrupt(frame, event, _):
        if (
            frame.f_code is lines
            and event == "line"
            and frame.f_locals.get("db") is not None
            and frame.f_locals["db"].in_transaction
        ):
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.add("one")
        before = sys.gettrace()
        sys.settrace(lambda frame, event, arg: interrupt if frame.f_code is lines else None)
        try:
            with pytest.raises(KeyboardInterrupt):
                memory.add("two")
        finally:
            sys.settrace(before)
        assert memory.add("three")[0].outcome == "stored"
        assert [message.content for message in memory.messages()] == ["one", "three"]


def test_an_export_beside_a_writer_is_whole_or_a_conflict(tmp_path):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        for n in range(30):
            memory.remember(f"Statement {n} about box {n}.", id=f"r{n}")
        stop, told = threading.Event(), []

        def write():
            for n in range(1_000, 10_000):
                if stop.wait(0.002):
                    return
                memory.remember(f"Statement {n} about box {n}.", id=f"r{n}")
                memory.links.add(f"r{n % 30}", f"r{n}", "references")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(8):
                file = io.StringIO()
                try:
                    told.append(memory.admin.export(file)["memory"])
                except Conflict:
                    assert file.getvalue() == ""
        finally:
            stop.set()
            writer.join()
        memory.admin.export(io.StringIO())
    assert told == sorted(told)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE records SET version = 9223372036854775000 WHERE id = 'a'",
        "UPDATE links SET target = 77",
        "DELETE FROM records WHERE kind = 'message'",
    ],
)
def test_an_export_of_a_damaged_record_says_so(tmp_path, sql):
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        memory.add("I live in Lisbon.", id="m")
        memory.remember("The port is 8080.", id="a", source_ids=["m"])
        memory.remember("The room is 12.", id="b")
        memory.links.add("a", "b", "references")
    with contextlib.closing(sqlite3.connect(tmp_path / "mnemic.db")) as db, db:
        db.execute(sql)
    with Memory(tmp_path, user="ana", embedder="hashing") as memory:
        file = io.StringIO()
        with pytest.raises(StoreCorrupt, match="doctor"):
            memory.admin.export(file)
        assert file.getvalue() == ""
        assert not memory.admin.verify().ok


def test_what_is_being_consolidated_is_no_damage(tmp_path):
    with Memory(tmp_path / "m", user="ana", embedder="hashing") as memory:
        memory.remember("The port is 8080.", id="a")
        store = store_of(memory)
        with database_of(memory).consolidation_lock() as mine:
            assert mine
            store.apply("ana", [MarkConsolidating(ids=("a",))])
            assert memory.admin.verify().ok
            memory.admin.backup(tmp_path / "copy")
        assert "no consolidation is under way" in str(memory.admin.verify().findings)
    with Memory(tmp_path / "copy", user="ana", embedder="hashing") as copy:
        assert copy.get("a").content == "The port is 8080."


def test_a_name_is_no_template():
    with Memory(":memory:", embedder="hashing") as memory:
        for n, name in enumerate(["\\", "\\1", "\\g<9>", "a\\"]):
            memory.add([
                Message(role="user", name=name, content="I gave you and us my old car, and we like it.", session=f"s{n}"),
                Message(role="user", name="Bob", content="You and I moved to your house; yours is nice.", session=f"s{n}"),
            ])  # fmt: skip
        assert memory.process().messages == 8


def test_a_value_that_changes_all_the_time_keeps_its_last():
    with Memory(":memory:", embedder="hashing") as memory:
        for n in range(130):
            memory.remember(f"The API runs on port {n}.", key="port")
        assert [record.content for record in memory.list()] == ["The API runs on port 129."]
        assert memory.search("Which port does the API run on?", k=1)[0].text == "The API runs on port 129."
