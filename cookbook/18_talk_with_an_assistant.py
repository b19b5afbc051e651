"""Recall where agents live: long answers, values that change, requests that say little alone.

A user builds a web shop with an assistant over three weeks. Answers are long, facts stand in requests, and some of them change.

Install: pip install "mnemic[minilm]"
"""

from datetime import UTC, datetime
from tempfile import TemporaryDirectory

from mnemic import Memory

WEEK_1 = [
    (
        "Can you draft the tables for my shop? I want to sell up to 40 kinds of tea, and the deadline is the 15th of April.",
        (
            "Of course. Start with products, customers and orders. Give products a slug, a price in cents and a stock count. "
            "Orders hold a customer, a status and a time; order lines hold product, quantity and the price at the time of sale. "
            "For migrations use Alembic, and never edit a migration that ran. Rate limits belong in the gateway: 20 requests a "
            "second for each key are plenty for a shop of this size. Add an index on orders by customer and time."
        ),
    ),
    (
        "Always show me code with type hints, please. How do I test the order service?",
        (
            "With pytest and a database per test session. Roll back after each test, make factories for products and orders, and "
            "test the price at the time of sale first, because that is where shops lose money."
        ),
    ),
]
WEEK_2 = [
    (
        "My sourdough starter smells of nail polish remover. What do I do?",
        (
            "It is hungry. First discard all but a spoonful. Second, feed it one part starter, two parts flour and two parts water. "
            "Third, keep it at 24 degrees and feed it twice a day until it doubles within six hours."
        ),
    )
]
WEEK_3 = [
    (
        "We talked to the supplier, the deadline for the shop is the 2nd of May now. What is left to do?",
        "Checkout, e-mails and the import of your 40 teas. I would do checkout first.",
    )
]


def main() -> None:
    with TemporaryDirectory() as folder, Memory(folder, user="ana") as memory:
        for day, week in ((2, WEEK_1), (9, WEEK_2), (16, WEEK_3)):
            now = datetime(2026, 3, day, 18, tzinfo=UTC)
            for question, answer in week:
                memory.add(
                    [
                        {"role": "user", "content": question, "sent_at": now},
                        {"role": "assistant", "content": answer, "sent_at": now},
                    ],
                    session=f"march-{day}",
                )

        # Both say it; what was said last comes first.
        found = memory.search("What is the deadline for the shop?")
        deadlines = [hit.text for hit in found if "deadline" in hit.text]
        print(deadlines[0])
        assert "2nd of May" in deadlines[0]
        assert "15th of April" in deadlines[1]

        # Of a long answer a prompt gets the passage that bears on the question.
        context = memory.get_memory_context("How many requests a second did we plan for?", max_tokens=400)
        print(context.to_prompt())
        assert "20 requests a second" in context.to_prompt()

        # "And the third step?" says nothing alone. The turns before it say what it is about.
        recent = ["The starter smells better, I fed it flour and water as you said.", "Good. How often do you feed it?"]
        (first, *_) = memory.search("And the third step?", k=1, recent=recent)
        print(first.text[:60])
        assert "24 degrees" in first.text or "starter" in first.text

        # What an assistant said can be asked for by itself.
        (answer, *_) = memory.search("price at the time of sale", k=1, role="assistant")
        assert "price at the time of sale" in answer.text
    print("All as expected.")


if __name__ == "__main__":
    main()
