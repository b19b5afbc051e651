"""Where a correction stands, what takes an end or a plan back, and on which day something was said or is true."""

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from mnemic import AsyncMemory, InvalidInput, Memory

NOW = datetime.now(UTC)


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


def held(memory):
    return {(record.content, record.project, record.session) for record in memory.list(limit=None)}


class TestCorrections:
    @pytest.mark.parametrize("where", [{}, {"project": "web"}, {"project": "web", "session": "s1"}])
    @pytest.mark.parametrize(
        "corrector", [{}, {"project": "web"}, {"project": "app"}, {"project": "web", "session": "s2"}]
    )
    @pytest.mark.parametrize("how", ["id", "description"])
    def test_what_is_true_stands_where_the_wrong_statement_stood(self, memory, where, corrector, how):
        level = "session" if "session" in where else None
        told = memory.scoped(**where)
        wrong = told.remember("My dentist is Dr. Rossi.", id="old", level=level)
        handle = memory.scoped(**corrector) if how == "id" else told
        assert handle.correct(wrong.id if how == "id" else "my dentist", "My dentist is Dr. Bianchi.")[0].changed
        assert {("My dentist is Dr. Bianchi.", where.get("project"), where.get("session"))} == held(told)

    def test_what_the_user_said_of_both_values_is_not_wrong(self, memory):
        memory.add("I no longer work at Acme, I joined Globex as a designer on 3 May.")
        assert memory.correct("where I work", "Ana works at Globex.")[0].outcome == "rejected"
        assert memory.search("designer")[0].current

    @pytest.mark.parametrize(
        ("wrong", "new"), [("my dentist", ""), ("my dentist", " \u200b"), ("", "My dentist is Dr. Klein.")]
    )
    def test_nothing_is_corrected_without_words(self, memory, wrong, new):
        memory.remember("My dentist is Dr. Rossi.")
        with pytest.raises(InvalidInput, match="is empty"):
            memory.correct(wrong, new)
        with pytest.raises(InvalidInput, match="The description is empty"):
            memory.forget("")

    def test_a_corrected_preference_has_the_new_value(self, memory):
        memory.preferences["theme"] = "dark"
        assert memory.correct("my theme", "My theme is light.")[0].changed
        assert memory.preferences["theme"] == "My theme is light."
        memory.preferences["theme"] = "dark"
        assert memory.preferences["theme"] == "dark"
        assert memory.list()[0].content == "Preference theme: dark"
        memory.preferences["size"] = 14
        (size,) = (record for record in memory.list() if record.metadata["preference"] == "size")
        memory.update(size.id, content="Preference size: 15")
        assert memory.preferences["size"] == 15


class TestEnds:
    def test_a_plan_that_is_dropped_gives_way_to_what_it_would_have_ended(self, memory):
        memory.remember("Ana lives in Rome.", key="home", id="rome")
        memory.remember("Ana lives in Porto.", key="home", id="porto", valid_at=NOW + timedelta(days=30))
        memory.forget(ids=["porto"])
        assert memory.restore("rome")[0].outcome == "restored"
        assert memory.get("rome").invalid_at is None
        assert [record.id for record in memory.list(at=NOW + timedelta(days=60))] == ["rome"]

    @pytest.mark.parametrize("rest", ["", " I have two cats."])
    def test_an_ended_memory_ends_what_its_message_says(self, memory, rest):
        memory.add(f"My gym is Fitness First.{rest}", sent_at=NOW - timedelta(days=2))
        memory.process()
        (gym,) = (record for record in memory.list() if "gym" in record.content)
        memory.update(gym.id, invalid_at=NOW - timedelta(seconds=1))
        hit = memory.search("Which gym?", kinds=["message"])[0]
        assert (hit.text, hit.current) == (
            ("[...] I have two cats.", True) if rest else ("My gym is Fitness First.", False)
        )
        before = memory.search("Which gym?", at=NOW - timedelta(days=1), kinds=["message"])[0]
        assert "Fitness First." in before.text
        memory.restore(gym.id)
        assert memory.search("Which gym?", kinds=["message"])[0].current
        assert "Fitness First" in memory.search("Which gym?", kinds=["message"])[0].text

    def test_a_known_statement_keeps_its_time_and_the_receipt_says_so(self, memory):
        memory.remember("Ana lives in Rome.", key="home", valid_at=datetime(2026, 6, 1, tzinfo=UTC))
        receipt = memory.remember("Ana lives in Rome.", key="home", valid_at=datetime(2026, 2, 1, tzinfo=UTC))
        assert receipt.outcome == "duplicate"
        assert "its valid_at stay as they were" in receipt.reason

    def test_what_is_forgotten_cannot_be_updated_and_the_receipt_says_why(self, memory):
        memory.remember("Ana lives in Rome.", id="rome")
        memory.forget(ids=["rome"])
        assert "restore() it" in memory.update("rome", content="Ana lives in Oslo.").reason


class TestDays:
    @pytest.mark.parametrize("field", ["sent_at", "created_at", "created"])
    @pytest.mark.parametrize("written", ["2024-03-01T10:00:00Z", 1709287200, datetime(2024, 3, 1, 10, tzinfo=UTC)])
    def test_a_message_has_the_time_that_its_client_gave_it(self, memory, field, written):
        memory.add([{"role": "user", "content": "I moved to Lisbon.", field: written}])
        assert memory.messages()[0].sent_at == datetime(2024, 3, 1, 10, tzinfo=UTC)

    @pytest.mark.parametrize("written", ["yesterday", True, [2024]])
    def test_a_time_that_cannot_be_read_is_named(self, memory, written):
        with pytest.raises(InvalidInput, match=r"messages\[0\]\.created_at"):
            memory.add([{"role": "user", "content": "I moved.", "created_at": written}])

    @pytest.mark.parametrize("month", [1, 7])
    def test_a_day_is_that_of_its_season(self, month):
        with Memory(":memory:", user="ana", embedder="hashing", timezone="Europe/Lisbon") as memory:
            memory.remember("Ana started at Acme.", valid_at=datetime(2026, month, 1), id="start")
            began = memory.get("start").valid_at
            assert (began.day, began.month, began.hour) == (1, month, 0)
            memory.remember("Ana bought a boat.", valid_at=datetime(2026, month, 2))
            hits = memory.search(f"What happened on 1 {began:%B} 2026?", kinds=["memory"])
            assert hits[0].id == "start"

    def test_a_message_in_utc_was_said_on_the_day_of_the_handle(self):
        zone = ZoneInfo("America/New_York")
        with Memory(":memory:", user="ana", embedder="hashing", timezone="America/New_York") as memory:
            memory.add("The roof is repaired.", sent_at=datetime(2026, 11, 20, 3, 30, tzinfo=UTC))  # Thursday there
            assert memory.messages()[0].sent_at == datetime(2026, 11, 19, 22, 30, tzinfo=zone)
            for question in ("What did I write today?", "What did I write on Thursday?"):
                now = datetime(2026, 11, 19, 23, tzinfo=zone)
                assert "roof" in memory.get_memory_context(question, now=now).text


async def test_closing_waits_for_what_a_cancelled_call_began(tmp_path):
    memory = AsyncMemory(tmp_path, user="ana", embedder="hashing")
    await memory.stats()  # everything is loaded
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    def messages():
        loop.call_soon_threadsafe(began.set)
        for number in range(3_000):
            yield {"role": "user", "content": f"Note {number}."}

    call = asyncio.create_task(memory.add(messages()))
    await began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await memory.close()
    with Memory(tmp_path, user="ana", embedder="hashing") as again:
        assert again.stats().messages == 3_000
