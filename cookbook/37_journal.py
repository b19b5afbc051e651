"""A journal with an assistant: questions about a day, about a week, and about something since a month.

A question that names only a period finds what was written then. One that names something else as well wants both. What was
said on several days, such as "I had a headache today", stands once, with its days.

Install: pip install "mnemic[minilm]"
"""

from datetime import UTC, datetime, timedelta

from mnemic import Memory

BEGUN = datetime(2026, 1, 1, 21, tzinfo=UTC)
DAYS = 90
ENTRIES = (
    "I ran along the river.",
    "Work was long.",
    "We cooked for friends.",
    "I read until late.",
    "It rained all day.",
)
SPECIAL = {
    40: "I had a headache today.", 60: "I had a headache today.", 64: "Tom repaired the roof of the shed.",
    87: "I signed up for the pottery course.",
}  # fmt: skip


def main() -> None:
    now = BEGUN + timedelta(days=DAYS)  # 1 April, a Wednesday
    with Memory(":memory:", user="ana") as memory:
        for day in range(DAYS):
            entry = SPECIAL.get(day, ENTRIES[day % len(ENTRIES)])
            at = BEGUN + timedelta(days=day)
            memory.add_exchange(entry, "Thank you for sharing this. Be kind to yourself.", sent_at=at)

        for question, wanted in (
            ("What did I write on Sunday?", "I signed up for the pottery course."),
            ("What happened three days ago?", "I signed up for the pottery course."),
            ("What did Tom do in March?", "Tom repaired the roof of the shed."),
        ):
            first = memory.search(question, now=now)[0]
            print(f"{question}  {first.sent_at:%d %B}: {first.text}")
            assert first.text == wanted
            assert wanted in memory.get_memory_context(question, now=now, min_evidence="weak").text

        week = memory.search("How was last week?", k=7, now=now)
        assert all(datetime(2026, 3, 23, tzinfo=UTC) <= hit.sent_at < datetime(2026, 3, 30, tzinfo=UTC) for hit in week)

        context = memory.get_memory_context("Which headaches did I have since February?", now=now)
        print(context.to_prompt())
        assert "(said 2 times, on 10 February and 2 March 2026)" in context.text
    print("All as expected.")


if __name__ == "__main__":
    main()
