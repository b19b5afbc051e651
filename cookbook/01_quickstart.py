"""Memory in plain Python: add, remember, search, context, forget, restore, and all of it again after a restart.

Install: pip install "mnemic[minilm]"
"""

from datetime import datetime
from tempfile import TemporaryDirectory

from mnemic import Memory


def main() -> None:
    with TemporaryDirectory() as folder:
        first_evening(folder)
        after_a_restart(folder)
    print("All as expected.")


def first_evening(folder: str) -> None:
    with Memory(folder, user="ana", timezone="Europe/Lisbon") as memory:
        # What was said, verbatim. An id makes adding twice harmless.
        receipts = memory.add(
            [
                {"role": "user", "name": "Ana", "content": "I moved to Lisbon, the flat is in Alfama.", "id": "m1",
                 "sent_at": datetime(2026, 3, 9, 20, 15)},
                {"role": "assistant", "content": "How do you like the trams?", "id": "m2",
                 "sent_at": datetime(2026, 3, 9, 20, 16)},
                {"role": "user", "name": "Ana", "content": "They are loud. I work for a newspaper, by the way.",
                 "id": "m3", "sent_at": datetime(2026, 4, 2, 9, 5)},
            ],
            session="s1",
        )  # fmt: skip
        assert [receipt.outcome for receipt in receipts] == ["stored"] * 3
        assert memory.add("How do you like the trams?", role="assistant", id="m2")[0].outcome == "duplicate"

        # What should be known, stated once.
        tea = memory.remember("Ana prefers green tea to coffee.", category="preference", tags=["drinks"])
        assert memory.remember("Ana prefers green tea to coffee.").outcome == "duplicate"

        # Asked in other words; every hit names its evidence.
        hits = memory.search("Where does Ana live?", k=2)
        print(f"Where does Ana live?  {hits[0].sent_at:%d %B %Y}, {hits[0].speaker}: {hits[0].text}")
        assert hits[0].message_ids == ("m1",)

        # Filters hold before anything is ranked.
        april = memory.search("news from Ana", since=datetime(2026, 4, 1), kinds=["message"])
        assert [hit.id for hit in april] == ["m3"]
        assert [hit.id for hit in memory.search("what to serve", tags=["drinks"])] == [tea.id]
        assert not memory.scoped(user="ben").search("Where does Ana live?")  # users are walls

        # Text for a prompt, within a budget.
        context = memory.get_memory_context("What should I know before I visit Ana?", max_tokens=300)
        print(context.to_prompt())
        assert "green tea" in context.text
        assert context.token_count <= 300

        # Forgotten is out of every search, and can come back.
        memory.forget(ids=[tea.id], reason="she asked for it")
        assert "green tea" not in memory.get_memory_context("What does Ana drink?").text
        memory.restore(tea.id)
        assert "green tea" in memory.get_memory_context("What does Ana drink?").text


def after_a_restart(folder: str) -> None:
    with Memory(folder, user="ana") as memory:
        assert memory.stats().messages == 3
        assert memory.search("Where does she work?", k=1)[0].id == "m3"
        assert memory.admin.verify().ok


if __name__ == "__main__":
    main()
