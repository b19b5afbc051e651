"""Conformance suite for adapters of agent frameworks.

Subclass ``AdapterConformance`` in the tests of an adapter and implement ``conversation`` and the turns that the framework
has; those that it has not are skipped. The tests are asynchronous (``asyncio_mode = "auto"`` of pytest-asyncio) and run on a
folder and, with the mark ``engine``, on the PostgreSQL server of a fixture ``postgres_url``::

    class TestMyAdapter(AdapterConformance):
        def conversation(self, memory, script, *, session, **options):
            return MyAgent(model=MyModel(script), memory=MyAdapter(memory, session=session, **options))

        async def turn(self, conversation, text):
            return await conversation.run(text)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NoReturn

import pytest

from mnemic.errors import ConfigurationError, MnemicError, StoreUnavailable
from mnemic.lifecycle.idle import IdleTrigger
from mnemic.memory import Memory
from mnemic.types import MemoryRecord, Message
from mnemic.types.literals import SESSION_SUMMARY
from mnemic_testing.records import OnEachStore

__all__ = ["AdapterConformance", "Script"]

SESSION = "monday"
FENCE = "From earlier conversations."


class Script:
    """The answers of a scripted model, and the prompts it was shown.

    Args:
        answers: in order; an exception is raised, ``Script.HANG`` never answers.

    Attributes:
        prompts: of each call the texts of its messages, instructions and system prompts included.
        hanging: set while a call hangs.
        armed: of each call whether the idle period was running, if ``trigger`` is set.
        trigger: of the memory under test.
    """

    HANG = asyncio.CancelledError("hangs")

    def __init__(self, *answers: str | BaseException) -> None:
        self._answers = iter(answers)
        self.prompts: list[list[str]] = []
        self.hanging = asyncio.Event()
        self.armed: list[bool] = []
        self.trigger: IdleTrigger | None = None

    def answer(self, prompt: Sequence[str | None]) -> str:
        """The next answer, for a framework that blocks.

        Args:
            prompt: the texts of the messages.
        """
        answer = self._next(prompt)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def aanswer(self, prompt: Sequence[str | None]) -> str:
        """The next answer, for a framework that awaits.

        Args:
            prompt: the texts of the messages.
        """
        answer = self._next(prompt)
        if answer is Script.HANG:
            self.hanging.set()
            await asyncio.Event().wait()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _next(self, prompt: Sequence[str | None]) -> str | BaseException:
        self.prompts.append([text or "" for text in prompt])
        if self.trigger is not None:
            self.armed.append(self.trigger.wait() is not None)
        return next(self._answers)

    @property
    def shown(self) -> str:
        """The last prompt as one text."""
        return "\n".join(self.prompts[-1])


def _not_offered() -> NoReturn:
    pytest.skip("The framework has no such turn.")


class AdapterConformance(OnEachStore):
    """What every adapter promises: each message is stored once and none is lost, recalled text is never stored, users are
    isolated, and memory never stops an agent.

    A conversation is whatever the other methods need: an agent with its thread, an engine, a chain.

    Attributes:
        tracks_runs: whether the adapter sees runs, so that no idle period starts while a model is called.
        cancellable: whether ``turn`` awaits, so that it can be cancelled.
        keeps_all: whether it is the framework's history, which keeps whatever is added to it, a prompt sent again too.
    """

    tracks_runs = True
    cancellable = True
    keeps_all = False

    def conversation(self, memory: Memory, script: Script, *, session: str, **options: Any) -> Any:
        """A conversation with an agent whose model answers from the script.

        Args:
            memory: the handle.
            script: call ``answer`` or ``aanswer`` for each answer of the model.
            session: the name of the thread; one that exists is continued with what the framework keeps of it.
            options: for the adapter: ``scope``, ``max_tokens``, ``min_evidence``, ``filters``, ``profile``, ``mood``,
                ``emotion_weight``, ``procedures``, ``idle``.
        """
        raise NotImplementedError

    async def turn(self, conversation: Any, text: str) -> str:
        """Say something; returns the answer."""
        raise NotImplementedError

    async def stream(self, conversation: Any, text: str, *, parts: int | None = None) -> str:
        """Say something and read the answer as a stream, or the first ``parts`` of it: then leave."""
        _not_offered()

    async def retry(self, conversation: Any, text: str) -> str:
        """Repeat the last request, which failed or was cancelled."""
        _not_offered()

    async def regenerate(self, conversation: Any) -> str:
        """Have the last question answered once more, in place of its answer."""
        _not_offered()

    async def edit(self, conversation: Any, text: str) -> str:
        """Replace the last question, and its answer."""
        _not_offered()

    async def refused(self, conversation: Any, text: str) -> str:
        """Say something, with the first answer sent back to the model and the second accepted."""
        _not_offered()

    async def reopened(self, conversation: Any, memory: Memory, script: Script) -> Any:
        """The same conversation as another process finds it, with what the framework kept of it."""
        _not_offered()

    async def clear(self, conversation: Any) -> None:
        """End the conversation by the framework's own call; the next turn begins another one."""
        _not_offered()

    async def end(self, conversation: Any) -> None:
        """The program ends, or the user leaves."""

    # What is in the record

    def stored(self, memory: Memory, session: str = SESSION) -> list[str]:
        """The messages of a session, as ``role: text``."""
        return [f"{message.role}: {message.content.strip()}" for message in memory.messages(session=session)]

    def summaries(self, memory: Memory) -> list[MemoryRecord]:
        """The summaries of sessions."""
        return memory.list(category=SESSION_SUMMARY)

    # Once, and nothing lost

    async def test_each_message_is_stored_once(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Well done.", "Well done.", "Yes."), session=SESSION)
        for text in ("I ran 5 km.", "I ran 5 km.", "Twice?"):
            await self.turn(chat, text)
        await self.end(chat)
        assert self.stored(memory) == [
            "user: I ran 5 km.", "assistant: Well done.", "user: I ran 5 km.", "assistant: Well done.", "user: Twice?",
            "assistant: Yes.",
        ]  # fmt: skip

    async def test_a_conversation_that_is_reopened_goes_on(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Nice."), session=SESSION)
        await self.turn(chat, "I moved to Lisbon.")
        await self.end(chat)
        again = await self.reopened(chat, memory, Script("Sunny."))
        await self.turn(again, "How is the weather?")
        await self.end(again)
        assert self.stored(memory) == [
            "user: I moved to Lisbon.", "assistant: Nice.", "user: How is the weather?", "assistant: Sunny.",
        ]  # fmt: skip

    async def test_an_answer_that_is_streamed_is_stored(self, memory: Memory) -> None:
        memory.add("My cat is called Miso.", session="sunday")
        script = Script("It is called Miso.")
        chat = self.conversation(memory, script, session=SESSION)
        assert (await self.stream(chat, "What is my cat called?")).strip() == "It is called Miso."
        await self.end(chat)
        assert "My cat is called Miso." in script.shown
        assert self.stored(memory) == ["user: What is my cat called?", "assistant: It is called Miso."]

    async def test_a_stream_that_is_left_keeps_what_the_user_said(self, memory: Memory) -> None:
        script = Script("It is called Miso, as far as I know.", "Miso.")
        chat = self.conversation(memory, script, session=SESSION)
        await self.stream(chat, "My cat is called Miso.", parts=1)
        await self.end(chat)
        assert self.stored(memory)[0] == "user: My cat is called Miso."
        assert len(self.stored(memory)) <= 2

    @pytest.mark.parametrize("before", [[], ["Hello!"]], ids=["first", "later"])
    async def test_a_run_that_fails_and_is_repeated(self, memory: Memory, before: list[str]) -> None:
        script = Script(*["Hi."] * len(before), RuntimeError("The provider is down."), "Nice.")
        chat = self.conversation(memory, script, session=SESSION)
        for text in before:
            await self.turn(chat, text)
        with pytest.raises(RuntimeError, match="provider"):
            await self.turn(chat, "I moved to Lisbon.")
        await self.retry(chat, "I moved to Lisbon.")
        await self.end(chat)
        asked = ["user: Hello!", "assistant: Hi."] if before else []
        assert self.stored(memory) == [*asked, "user: I moved to Lisbon.", "assistant: Nice."]
        assert script.shown.count("I moved to Lisbon.") == 1  # not recalled to itself

    @pytest.mark.parametrize("before", [[], ["Hello!"]], ids=["first", "later"])
    async def test_a_prompt_that_is_sent_again_until_it_is_answered(self, memory: Memory, before: list[str]) -> None:
        if self.keeps_all:
            pytest.skip("The framework's history keeps whatever is added to it.")
        down, question = RuntimeError("The provider is down."), "Which ferry goes to Faro?"
        script = Script(*["Hi."] * len(before), down, down, "The one at nine.", "The one at nine.")
        chat = self.conversation(memory, script, session=SESSION)
        for text in before:
            await self.turn(chat, text)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="provider"):
                await self.turn(chat, question)
        await self.turn(chat, question)
        assert FENCE not in script.shown  # not recalled to itself
        await self.turn(chat, question)
        await self.end(chat)
        asked = ["user: Hello!", "assistant: Hi."] if before else []
        assert self.stored(memory) == [*asked, *[f"user: {question}", "assistant: The one at nine."] * 2]

    async def test_a_run_that_is_cancelled_and_repeated(self, memory: Memory) -> None:
        if not self.cancellable:
            pytest.skip("A call that blocks cannot be cancelled.")
        script = Script("Hi.", Script.HANG, "Nice.")
        chat = self.conversation(memory, script, session=SESSION)
        await self.turn(chat, "Hello!")
        task = asyncio.create_task(self.turn(chat, "I moved to Lisbon."))
        waiting = asyncio.create_task(script.hanging.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await self.retry(chat, "I moved to Lisbon.")
        await self.end(chat)
        assert self.stored(memory) == [
            "user: Hello!", "assistant: Hi.", "user: I moved to Lisbon.", "assistant: Nice.",
        ]  # fmt: skip

    async def test_a_regenerated_answer(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Hi.", "One.", "Two.", "Bye."), session=SESSION)
        await self.turn(chat, "Hello!")
        await self.turn(chat, "A number?")
        await self.regenerate(chat)
        await self.turn(chat, "Thanks.")
        await self.end(chat)
        assert [text for text in self.stored(memory) if text != "assistant: One."] == [
            "user: Hello!", "assistant: Hi.", "user: A number?", "assistant: Two.", "user: Thanks.", "assistant: Bye.",
        ]  # fmt: skip

    async def test_an_edited_question(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Hi.", "Nice.", "Cold.", "Bye."), session=SESSION)
        await self.turn(chat, "Hello!")
        await self.turn(chat, "I moved to Lisbon.")
        await self.edit(chat, "I moved to Oslo.")
        await self.turn(chat, "Thanks.")
        await self.end(chat)
        earlier = ("user: I moved to Lisbon.", "assistant: Nice.")
        stored = self.stored(memory)
        assert [text for text in stored if text not in earlier] == [
            "user: Hello!", "assistant: Hi.", "user: I moved to Oslo.", "assistant: Cold.", "user: Thanks.", "assistant: Bye.",
        ]  # fmt: skip
        assert len(stored) == len({*stored})

    async def test_a_refused_answer_is_not_stored(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Within 90 days.", "Within 14 days."), session=SESSION)
        await self.refused(chat, "Until when can I return it?")
        await self.end(chat)
        assert self.stored(memory) == ["user: Until when can I return it?", "assistant: Within 14 days."]

    async def test_what_was_erased_does_not_return(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Noted.", "Hi.", "Bye."), session=SESSION)
        await self.turn(chat, "My size is 42.")
        await self.turn(chat, "Hello!")
        (size,) = [message for message in memory.messages() if "42" in message.content]
        memory.forget(ids=[size.id or ""], hard=True)
        await self.turn(chat, "Bye.")
        await self.end(chat)
        assert self.stored(memory) == [
            "assistant: Noted.",
            "user: Hello!",
            "assistant: Hi.",
            "user: Bye.",
            "assistant: Bye.",
        ]

    # Recall

    async def test_what_is_recalled_is_never_stored(self, memory: Memory) -> None:
        memory.add("I moved to Lisbon.", session="sunday")
        script = Script("In Lisbon.", "In March.")
        chat = self.conversation(memory, script, session=SESSION)
        await self.turn(chat, "Where did I move?")
        assert FENCE in script.shown
        assert script.shown.count("I moved to Lisbon.") == 1
        await self.turn(chat, "And when did I move?")
        await self.end(chat)
        assert self.stored(memory) == [
            "user: Where did I move?", "assistant: In Lisbon.", "user: And when did I move?", "assistant: In March.",
        ]  # fmt: skip
        assert not [message for message in memory.messages() if FENCE in message.content]

    async def test_what_the_thread_shows_is_not_recalled(self, memory: Memory) -> None:
        memory.add("My cat Miso is afraid of thunder.", session="sunday")
        script = Script("Cats do that.", "Of thunder.")
        chat = self.conversation(memory, script, session=SESSION, min_evidence="none")
        await self.turn(chat, "My cat sleeps all day.")
        await self.turn(chat, "What is my cat afraid of?")
        for text in ("My cat Miso is afraid of thunder.", "My cat sleeps all day.", "What is my cat afraid of?"):
            assert script.shown.count(text) == 1

    async def test_nothing_relevant_injects_nothing(self, memory: Memory) -> None:
        memory.add("I moved to Lisbon in March.", session="sunday")
        script = Script("Hello!")
        await self.turn(self.conversation(memory, script, session=SESSION), "hi")
        assert script.prompts == [["hi"]]

    async def test_filters_and_budget(self, memory: Memory) -> None:
        memory.add("Lisbon is sunny.", session="sunday")
        memory.remember("Ana lives in Lisbon.")
        script = Script("a", "b")
        await self.turn(self.conversation(memory, script, session="1", filters={"kinds": ["memory"]}), "Lisbon?")
        assert "Ana lives in Lisbon." in script.shown
        assert "sunny" not in script.shown
        await self.turn(self.conversation(memory, script, session="2", max_tokens=1), "Lisbon?")
        assert script.prompts[1] == ["Lisbon?"]

    async def test_a_follow_up_is_asked_with_the_turns_before_it(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recent: list[list[str]] = []
        real = Memory.get_memory_context

        def noted(handle: Memory, *args: Any, **kwargs: Any) -> Any:
            recent.append([text.strip() for text in kwargs["recent"]])
            return real(handle, *args, **kwargs)

        monkeypatch.setattr(Memory, "get_memory_context", noted)
        chat = self.conversation(memory, Script("Feed it.", "Twice a day."), session=SESSION)
        await self.turn(chat, "My starter smells sour.")
        await self.turn(chat, "How often?")
        assert recent == [[], ["My starter smells sour.", "Feed it."]]

    @pytest.mark.parametrize(("felt", "first"), [("I feel sad and lonely.", 1), ("I am so happy and excited!", 0)])
    async def test_a_mood_ranks_what_is_recalled(self, memory: Memory, felt: str, first: int) -> None:
        exams = (
            "The exam made me proud, I am so happy and excited! We laughed and danced and sang for a whole evening.",
            "The exam made me cry, I feel so sad and miserable. I sat in the dark and wept, lonely and hurt, all evening.",
        )
        for exam in exams:
            memory.remember(exam)
        script, mood = Script("a"), memory.admin.emotion(felt)
        room = memory.get_memory_context("How was the exam?").token_count - 1  # too little for both, by any tokenizer
        chat = self.conversation(memory, script, session=SESSION, max_tokens=room, mood=mood, emotion_weight=1.0)
        await self.turn(chat, "How was the exam?")
        assert [text for text in exams if text in script.shown] == [exams[first]]

    async def test_what_worked_for_a_similar_request_is_shown(self, memory: Memory) -> None:
        used = {"tools_used": [{"name": "look_up", "outcome": "ok"}, {"name": "book", "outcome": "ok"}]}
        asked = Message(role="user", content="Book a flight to Rome.")
        memory.add([asked, Message(role="assistant", content="Booked.", metadata=used)], session="before")
        script = Script("a", "b")
        for procedures, shown in ((0, False), (1, True)):
            chat = self.conversation(memory, script, session=f"{procedures}", procedures=procedures)
            await self.turn(chat, "Book a flight to Rome.")
            assert ("this worked: look_up, then book" in script.shown) == shown

    async def test_the_profile_is_shown_whatever_is_asked(self, memory: Memory) -> None:
        memory.remember("Ana is allergic to peanuts.", importance=1.0)
        script = Script("Hello!")
        await self.turn(self.conversation(memory, script, session=SESSION, profile=True), "hi")
        assert script.shown.count("Ana is allergic to peanuts.") == 1

    async def test_a_recall_that_fails_does_not_stop_the_agent(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: Any, **__: Any) -> NoReturn:
            raise StoreUnavailable("The disk is gone.")

        chat = self.conversation(memory, Script("Hello."), session=SESSION)
        with monkeypatch.context() as patched:
            patched.setattr(Memory, "get_memory_context", broken)
            assert (await self.turn(chat, "Hello!")).strip() == "Hello."
        await self.end(chat)
        assert "Recall failed" in caplog.text
        assert self.stored(memory) == ["user: Hello!", "assistant: Hello."]

    @pytest.mark.parametrize("wrong", [{"max_tokens": -1}, {"min_evidence": "much"}, {"filters": {"colour": "red"}}])
    async def test_arguments_are_checked_when_they_are_given(self, memory: Memory, wrong: dict[str, Any]) -> None:
        with pytest.raises((ConfigurationError, ValueError)) as caught:
            self.conversation(memory, Script(), session=SESSION, **wrong)
        assert next(iter(wrong)) in str(caught.value)

    # Users and secrets

    async def test_two_users_on_one_thread(self, memory: Memory) -> None:
        cities = {"bea": "Lisbon", "bob": "Oslo"}
        for user, city in cities.items():
            chat = self.conversation(memory, Script("Noted."), session=SESSION, scope={"user": user})
            await self.turn(chat, f"I moved to {city}.")
            await self.end(chat)
        for user, city in cities.items():
            script = Script(f"To {city}.")
            await self.turn(
                self.conversation(memory, script, session="tuesday", scope={"user": user}), "Where did I move?"
            )
            assert city in script.shown
            assert not {*cities.values()} - {city} & {word for word in cities.values() if word in script.shown}
            assert self.stored(memory.scoped(user=user)) == [f"user: I moved to {city}.", "assistant: Noted."]
        assert memory.messages() == []

    async def test_many_users_at_once(self, memory: Memory) -> None:
        async def talk(user: str) -> None:
            chat = self.conversation(memory, Script("ok", "ok"), session=SESSION, scope={"user": user})
            for number in range(2):
                await self.turn(chat, f"{user} says {number}")
            await self.end(chat)

        users = [f"user{number}" for number in range(5)]
        await asyncio.gather(*map(talk, users))
        for user in users:
            expected = [f"user: {user} says 0", "assistant: ok", f"user: {user} says 1", "assistant: ok"]
            assert self.stored(memory.scoped(user=user)) == expected

    async def test_no_user_is_an_error_and_never_another_user(self, memory: Memory) -> None:
        with pytest.raises(ValueError, match="no user"):  # InvalidInput, which models of pydantic wrap
            await self.turn(self.conversation(memory, Script("?"), session=SESSION, scope={"user": None}), "Hello!")
        assert memory.messages() == []

    async def test_ids_reveal_no_secret(self, memory: Memory) -> None:
        """A digest of the text as it came could be found by trying all values of a short secret."""
        records: list[tuple[str | None, str]] = []
        for user, secret in (("bea", "hunter42"), ("bob", "hunter43")):
            chat = self.conversation(memory, Script("Noted."), session=SESSION, scope={"user": user})
            await self.turn(chat, f"My password is {secret}.")
            await self.end(chat)
            records += [(m.id, m.content) for m in memory.scoped(user=user).messages(role="user")]
        digests = {(id_ or "").rpartition(":")[2] for id_, _ in records}
        assert len(records) == 2
        assert len(digests) == 1
        assert not [text for _, text in records if "hunter4" in text]

    async def test_a_handle_that_is_none_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="memory must be"):
            self.conversation(3, Script(), session=SESSION)  # pyright: ignore[reportArgumentType] - on purpose

    # Idle

    async def test_the_idle_period_starts_after_the_run(self, memory: Memory) -> None:
        script = Script("Nice.")
        script.trigger = memory.idle
        chat = self.conversation(memory, script, session=SESSION)
        assert memory.idle.wait() is None
        await self.turn(chat, "I moved to Lisbon.")
        assert memory.idle.wait() is not None
        assert script.armed == [not self.tracks_runs]

    async def test_the_idle_period_starts_after_a_run_that_failed(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script(RuntimeError("The provider is down.")), session=SESSION)
        with pytest.raises(RuntimeError):
            await self.turn(chat, "I moved to Lisbon.")
        assert memory.idle.wait() is not None

    async def test_idle_work_can_be_left_out(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Nice."), session=SESSION, idle=False)
        await self.turn(chat, "I moved to Lisbon.")
        await self.end(chat)
        assert memory.idle.wait() is None

    async def test_after_the_end_the_session_is_processed(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Nice."), session=SESSION)
        await self.turn(chat, "I moved to Lisbon in March.")
        await self.end(chat)
        assert self.stored(memory) == ["user: I moved to Lisbon in March.", "assistant: Nice."]
        memory.idle.arm(seconds=1e-6)
        for _ in range(1_000):
            memory.idle.poll()
            if not memory.stats().pending.get("process"):
                break
            memory.idle.arm(seconds=1e-6)
        assert memory.stats().pending.get("process", 0) == 0
        assert memory.idle.last_error is None

    # The end of a session

    async def test_a_session_left_idle_has_one_summary(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Nice.", "In March."), session=SESSION)
        await self.turn(chat, "I moved to Lisbon.")
        await self.turn(chat, "When did I move?")
        await self.end(chat)
        for _ in range(2):
            memory.idle.arm(seconds=1e-6)
            memory.idle.poll()
            (summary,) = self.summaries(memory)
            assert (summary.metadata["session"], summary.metadata["message_count"], summary.version) == (SESSION, 4, 1)

    async def test_a_session_that_is_cleared_has_one_summary(self, memory: Memory) -> None:
        chat = self.conversation(memory, Script("Nice.", "Hello!", "Bye."), session=SESSION, idle=False)
        await self.clear(chat)
        assert self.summaries(memory) == []
        await self.turn(chat, "I moved to Lisbon.")
        await self.clear(chat)
        await self.clear(chat)
        (summary,) = self.summaries(memory)
        assert (summary.metadata["message_count"], summary.version) == (2, 1)
        assert "I moved to Lisbon." in summary.content
        assert "I moved to Lisbon." in [hit.text for hit in memory.search("Where did I move?")]
        await self.turn(chat, "Good morning, the kettle is broken.")
        await self.clear(chat)
        assert [s.metadata["message_count"] for s in self.summaries(memory)] == [2, 2]

    async def test_a_write_that_fails_is_seen(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: Any, **__: Any) -> NoReturn:
            raise StoreUnavailable("The disk is gone.")

        chat = self.conversation(memory, Script("Nice."), session=SESSION)
        monkeypatch.setattr(Memory, "add", broken)
        with pytest.raises(MnemicError, match="disk"):
            await self.turn(chat, "I moved to Lisbon.")
