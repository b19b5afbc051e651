"""What is said once more moves in time: what was said in between is outdated when it arrives last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mnemic import Memory, Message

START = datetime(2025, 1, 1, tzinfo=UTC)


def test_the_value_said_again_stays_current() -> None:
    told = (("I live in Porto.", 0), ("I live in Porto.", 20), ("I moved to Berlin.", 10))
    with Memory(":memory:", embedder="hashing") as memory:
        for number, (text, day) in enumerate(told):
            memory.add([Message(role="user", content=text, sent_at=START + timedelta(days=day), id=f"m{number}")])
            memory.process()
        live = {record.content: record for record in memory.list()}
        assert live.keys() == {"I live in Porto.", "I moved to Berlin."}
        assert live["I live in Porto."].valid_at == START
        assert live["I live in Porto."].said_at == START + timedelta(days=20)
        assert memory.admin.verify().ok


def test_the_same_message_again_changes_nothing() -> None:
    with Memory(":memory:", embedder="hashing") as memory:
        for _ in range(2):
            memory.add([Message(role="user", content="I live in Porto.", sent_at=START, id="m")])
            memory.process()
        (record,) = memory.list()
        assert record.version == 1
