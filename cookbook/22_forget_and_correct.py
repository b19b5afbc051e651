"""What is forgotten or corrected leaves recall wherever it was said, and can come back.

Install: pip install "mnemic[minilm]"
"""

from datetime import UTC, datetime, timedelta

from mnemic import InvalidInput, Memory

START = datetime(2026, 4, 6, 9, tzinfo=UTC)
TALK = (
    "My dentist is Dr. Rossi.",
    "I live in Lisbon with my sister Clara. My locker at the gym has the number 4711.",
    "The flight to Porto leaves at 7:40.",
)


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        for day, text in enumerate(TALK):
            memory.add(text, name="Ana", id=f"m{day}", sent_at=START + timedelta(days=day))
        memory.process()
        kept = {record.content: record.id for record in memory.list()}
        correct_sentence(memory)
        correct(memory, kept["The flight to Porto leaves at 7:40."])
        forget(memory, kept["My dentist is Dr. Rossi."], kept["My locker at the gym has the number 4711."])
        forget_described(memory)
        erase(memory, kept["My locker at the gym has the number 4711."])
    print("All as expected.")


def correct_sentence(memory: Memory) -> None:
    """One sentence of a message is wrong; the one beside it holds."""
    receipt = memory.correct("I live in Lisbon", "Ana lives in Porto with her sister Clara.")[0]
    home = memory.search("Where does Ana live?", k=1)[0]
    locker = memory.search("the locker at the gym", kinds=["message"], k=1)[0]
    print(f"{home.text}  {locker.text}")
    assert home.id == receipt.id
    assert (locker.text, locker.current) == ("[...] My locker at the gym has the number 4711.", True)


def correct(memory: Memory, flight: str) -> None:
    """An edit comes first; the message it was made from is marked."""
    memory.update(flight, content="The flight to Porto leaves at 9:15.")
    new, old = memory.search("When does the flight to Porto leave?", k=2)
    print(f"{new.text}  (before: {old.text})")
    assert "9:15" in new.text
    assert old.superseded_by == (flight,)


def forget(memory: Memory, dentist: str, locker: str) -> None:
    """The message goes too if it says nothing else; otherwise it is shown without the sentence."""
    receipts = memory.forget(ids=[dentist, locker])
    for receipt in receipts:
        print(receipt.outcome, receipt.id, receipt.reason)
    assert [receipt.id for receipt in receipts] == [dentist, locker, "m0"]

    context = memory.get_memory_context("dentist, locker and flat of Ana", max_tokens=300)
    print(context.text)
    assert "Rossi" not in context.text
    assert "4711" not in context.text
    assert "[...]" in context.text
    assert memory.get("m1").content == TALK[1]  # what was said stays as it was said

    memory.restore(dentist)
    assert "Rossi" in memory.search("Who is my dentist?")[0].text


def forget_described(memory: Memory) -> None:
    """A request needs none of the words of what it means."""
    memory.remember("I earn 3,100 a month.", id="pay")
    memory.remember("My rent is 900 a month.", id="rent")
    receipts = memory.forget("my salary")
    print(receipts[0].outcome, receipts[0].id)
    assert [receipt.id for receipt in receipts if receipt.outcome == "forgotten"] == ["pay"]


def erase(memory: Memory, locker: str) -> None:
    """Erasing names the messages that say the same and more before it takes anything."""
    try:
        memory.forget(ids=[locker], hard=True)
    except InvalidInput as error:
        print(error)
    erasure = memory.forget(ids=[locker, "m1"], hard=True)
    assert {locker, "m1"} <= {*erasure.ids}
    assert not any("4711" in message.content for message in memory.messages())


if __name__ == "__main__":
    main()
