"""Questions about then and now: what changed, what was true on a date, and what was believed before the news came.

Install: pip install "mnemic[minilm]"
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from mnemic import Hit, Memory

WHERE = "Where does Ana live?"


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, 18, tzinfo=UTC)


def said(memory: Memory, moment: datetime, text: str) -> None:
    memory.add([{"role": "user", "name": "Ana", "content": text, "sent_at": moment}], session=f"{moment:%Y-%m-%d}")


def places(hits: Iterable[Hit]) -> list[str]:
    """The cities that are named in hits, in their order."""
    return [
        city
        for hit in hits
        for city in ("Rome", "Lisbon", "Porto")
        if f"in {city}" in hit.text or f"to {city}" in hit.text
    ]


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        told_in_conversation(memory)
        told_outright(memory)
        what_cannot_be_decided(memory)
        assert memory.admin.verify().ok
    print("All as expected.")


def told_in_conversation(memory: Memory) -> None:
    """Three messages over half a year, each of them true when it was said."""
    said(memory, day(1, 12), "I live in Rome.")
    said(memory, day(3, 9), "I moved to Lisbon.")
    said(memory, day(6, 20), "I moved to Porto.")
    memory.process()
    rome, lisbon, porto = sorted(memory.list(), key=lambda record: record.said_at)
    for new, old in ((lisbon, rome), (porto, lisbon)):  # the program says what took whose place
        memory.links.add(new.id, old.id, "supersedes")
        memory.update(old.id, invalid_at=new.said_at)

    print(f"{WHERE}\n  now: {memory.search(WHERE)[0].text}")
    for month in (2, 4, 7):
        print(f"  in {day(month, 1):%B}: {memory.search(WHERE, at=day(month, 1))[0].text}")

    # The evidence stays; what holds comes first, and the others name what took their place.
    hits = memory.search(WHERE)
    assert places(hits)[0] == "Porto"
    assert not hits[0].superseded_by
    assert all(hit.superseded_by for hit in hits[1:])
    assert places(memory.search(WHERE, at=day(2, 1))) == ["Rome"]
    assert places(memory.search(WHERE, at=day(4, 1)))[0] == "Lisbon"

    # The memories made of them know from when to when they were true.
    known = memory.search(WHERE, kinds=["memory"], include_expired=True)
    for hit in sorted(known, key=lambda hit: hit.sent_at):
        record = memory.get(hit.id)
        print(f"  {record.content}  until {record.invalid_at:%d %B %Y}" if record.invalid_at else f"  {record.content}")
    assert {*places(known)} == {"Rome", "Lisbon", "Porto"}
    assert places(memory.search(WHERE, kinds=["memory"])) == ["Porto"]
    assert "before:" in memory.get_memory_context(WHERE, kinds=["memory"], max_tokens=300).to_prompt()


def told_outright(memory: Memory) -> None:
    """A statement with a date of its own, corrected later: what did we believe before?"""
    first = memory.remember("The API listens on port 8080.", key="api.port", valid_at=day(1, 1))
    believed = memory.get(first.id).created_at
    second = memory.remember("The API listens on port 9000.", key="api.port", valid_at=day(5, 1))
    print(f"{second.outcome}: {second.reason.split(': ', 1)[1]}")
    assert second.outcome == "superseded"

    def port(**when: datetime) -> str:
        return memory.search("Which port does the API listen on?", kinds=["memory"], k=1, **when)[0].text

    assert "9000" in port()
    assert "8080" in port(at=day(4, 30))
    assert "8080" in port(known_at=believed)  # as we would have answered then
    assert "8080" in port(at=day(6, 1), known_at=believed)  # ... about June
    assert [event.operation for event in memory.history(first.id)] == ["remember", "supersede"]


def what_cannot_be_decided(memory: Memory) -> None:
    """A page says otherwise than the user did: it is trusted less, so it ends nothing."""
    page = memory.remember("The API listens on port 7000.", key="api.port", source="document")
    around = memory.links.graph(page.id, depth=1)
    assert [link.type for link in around.links] == ["contradicts"]
    other = next(record for record in around.memories if record.id != page.id)
    print(f"Both are kept: {memory.get(page.id).content} {other.content}")
    assert "9000" in other.content
    assert other.expired_at is None


if __name__ == "__main__":
    main()
