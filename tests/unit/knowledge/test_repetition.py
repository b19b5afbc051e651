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
        live = memory.list()
        assert [record.content for record in live] == ["I live in Porto."]
        assert live[0].valid_at == START
        assert live[0].said_at == START + timedelta(days=20)
        berlin = next(r for r in memory.list(include_expired=True) if "Berlin" in r.content)
        assert berlin.invalid_at == START + timedelta(days=20)
        assert memory.admin.verify().ok


def test_the_same_message_again_changes_nothing() -> None:
    with Memory(":memory:", embedder="hashing") as memory:
        for _ in range(2):
            memory.add([Message(role="user", content="I live in Porto.", sent_at=START, id="m")])
            memory.process()
        (record,) = memory.list()
        assert record.version == 1
