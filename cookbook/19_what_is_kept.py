"""What is kept without a language model: sentences as they were said, values under a key, and forgetting with a preview.

Install: pip install "mnemic[minilm]"
"""

from datetime import UTC, datetime, timedelta

from mnemic import Memory

START = datetime(2026, 1, 12, 9, tzinfo=UTC)
TALK = (
    ("Hi there!", "Hello! What can I do for you?"),
    ("I'm allergic to walnuts, and my sister Rita lives in Porto.", "Good to know."),
    ("Which nuts are in a pesto?", "Usually pine nuts; some recipes take walnuts."),
    ("Always give me amounts in grams.", "Of course."),
    ("Vivo en Sevilla desde 2019.", "¡Qué bonito!"),
    ("My dentist is Dr. Costa.", "Noted."),
    ("My new dentist is Dr. Haas.", "I will remember that."),
)


def main() -> None:
    with Memory(":memory:", user="ana") as memory:
        conversation(memory)
        key(memory)
        preview(memory)
    print("All as expected.")


def conversation(memory: Memory) -> None:
    """Each memory is a person's own sentence, in whatever language; greetings, questions and the assistant's words are not."""
    for week, (user, assistant) in enumerate(TALK):
        memory.add_exchange(user, assistant, sent_at=START + timedelta(weeks=week))
    report = memory.process()
    print(f"memories: {report.memories}, of messages: {report.messages}")

    kept = {record.content: record for record in memory.list(include_expired=True)}
    for text, record in kept.items():
        print(f"  {record.said_at:%d %b}  {record.salience:.2f}  {text}")
    assert "I'm allergic to walnuts, and my sister Rita lives in Porto." in kept
    assert "Vivo en Sevilla desde 2019." in kept
    assert not any("pesto" in text or "pine nuts" in text for text in kept)

    # No wording ends a statement: both stay, and the later one comes first. A correction ends what is wrong.
    assert memory.search("Who is my dentist?")[0].text == "My new dentist is Dr. Haas."
    old, new = kept["My dentist is Dr. Costa."], kept["My new dentist is Dr. Haas."]
    assert old.expired_at is new.expired_at is None
    receipt = memory.correct(old.id, "Dr. Costa is no longer my dentist.")[0]
    assert receipt.outcome == "superseded"
    assert memory.get(old.id).expired_at
    memory.forget(ids=[receipt.id])
    assert memory.restore(old.id)[0].outcome == "restored"


def key(memory: Memory) -> None:
    """A key says for certain what a statement is a value of: the same key replaces, whatever the words."""
    memory.remember("Prefers meetings in the morning.", key="meetings.time")
    receipt = memory.remember("After lunch is best, really.", key="meetings.time")
    print(receipt.outcome, "-", receipt.reason)
    assert receipt.outcome == "superseded"


def preview(memory: Memory) -> None:
    """Forgetting shows first what it would take."""
    found = memory.forget("my dentist", dry_run=True)
    print("would be forgotten:", [memory.get(one.id).content for one in found if one.outcome == "forgotten"])
    assert memory.search("Who is my dentist?")[0].text == "My new dentist is Dr. Haas."
    memory.forget("my dentist")
    assert not any("dentist" in hit.text for hit in memory.search("Who is my dentist?"))
    assert any("walnuts" in hit.text for hit in memory.search("What am I allergic to?"))


if __name__ == "__main__":
    main()
