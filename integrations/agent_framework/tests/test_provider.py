"""The provider in real runs of real agents."""

from __future__ import annotations

import asyncio
import json

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    ChatResponse,
    Content,
    ContextProvider,
    InMemoryHistoryProvider,
    Message,
    tool,
)

from agent_framework_mnemic import MnemicContextProvider
from mnemic import AsyncMemory, ConfigurationError, InvalidInput


def agent(model, memory, **options):
    return Agent(model, context_providers=[InMemoryHistoryProvider(), MnemicContextProvider(memory, **options)])


async def test_recalls_and_stores(memory, scripted, said):
    model = scripted("Lovely!", "In Lisbon.")
    made = Agent(model, instructions="Be brief.", context_providers=[MnemicContextProvider(memory)])
    await made.run("I moved to Lisbon.", session=AgentSession(session_id="monday"))
    result = await made.run("Where did I move?", session=AgentSession(session_id="friday"))
    assert model.shown(0) == ["I moved to Lisbon."]
    assert model.options[-1]["instructions"] == "Be brief."  # recalled text has the user's authority
    recalled, prompt = model.seen[-1]
    assert "- user: I moved to Lisbon." in recalled.text
    assert (recalled.role, prompt.text) == ("user", "Where did I move?")
    assert result.text == "In Lisbon."
    assert said(session="monday") == ["I moved to Lisbon.", "Lovely!"]
    assert said(session="friday") == ["Where did I move?", "In Lisbon."]


async def test_recalls_once_a_run_however_many_calls(memory, scripted, call, monkeypatch):
    asked = []
    real = AsyncMemory.get_memory_context

    async def counted(self, *args, **kwargs):
        asked.append(args)
        return await real(self, *args, **kwargs)

    monkeypatch.setattr(AsyncMemory, "get_memory_context", counted)
    memory.remember("Ana lives in Lisbon.")
    model = scripted(call("recall", "c1", query="home"), call("recall", "c2", query="town"), "Lisbon.")
    await agent(model, memory).run("Where does Ana live?", session=AgentSession())
    assert len(model.seen) == 3
    assert len(asked) == 1
    assert all("Ana lives in Lisbon." in model.shown(n)[0] for n in range(3))


async def test_the_recalled_text_stands_before_the_prompt_and_in_no_history(memory, scripted):
    memory.remember("Ana lives in Lisbon.")
    model, session = scripted("Hi.", "In Lisbon."), AgentSession()
    made = agent(model, memory)
    await made.run("Hello!", session=session)
    await made.run("Where does Ana live?", session=session)
    hello, hi, recalled, prompt = model.shown()
    assert (hello, hi, prompt) == ("Hello!", "Hi.", "Where does Ana live?")
    assert "Ana lives in Lisbon." in recalled
    kept = [message.text for message in session.state["in_memory"]["messages"]]
    assert kept == ["Hello!", "Hi.", "Where does Ana live?", "In Lisbon."]


async def test_what_is_no_evidence_is_not_stored(memory, scripted, call, said):
    class Rules(ContextProvider):
        async def before_run(self, *, context, **kwargs):
            context.extend_messages(self, [Message("user", ["Rule: never lie."])])

    @tool
    def dice() -> int:
        """Roll."""
        return 6

    thought = Message("assistant", [Content.from_text_reasoning(text="hm"), "A", call("dice")])
    model = scripted("unused", "A six.")

    async def whole(messages):
        if len(model.seen) == 1:
            return ChatResponse(messages=[thought])
        return ChatResponse(messages=[Message("assistant", [Content.from_text_reasoning(text="hm"), "A six."])])

    model._whole = whole
    providers = [Rules("rules"), MnemicContextProvider(memory.scoped(session="s"))]
    made = Agent(model, instructions="Play.", tools=[dice], context_providers=providers)
    await made.run([Message("system", ["Be fair."]), Message("user", ["Roll!"])])
    assert "Rule: never lie." in model.shown()
    assert said() == ["Roll!", "A", "A six."]
    view = memory.scoped(session="s").sessions.current()
    assert view.tools == {"dice": 1}


async def test_what_is_erased_during_a_run_stays_erased(memory, scripted, call, said):
    @tool
    def erase() -> str:
        """Erase what was said."""
        (asked,) = memory.messages()
        memory.forget(ids=[asked.id], hard=True)
        return "done"

    providers = [MnemicContextProvider(memory)]
    made = Agent(scripted(call("erase"), "It is gone."), tools=[erase], context_providers=providers)
    await made.run("My size is 42. Forget it!")
    assert said() == ["It is gone."]


async def test_a_failed_run_keeps_what_the_user_said(memory, scripted, said):
    made, session = agent(scripted(RuntimeError("no model"), "Hi."), memory), AgentSession()
    with pytest.raises(RuntimeError, match="no model"):
        await made.run("hello", session=session)
    assert said() == ["hello"]
    assert memory.idle.wait() is not None
    await made.run("Are you there?", session=session)
    assert said() == ["hello", "Are you there?", "Hi."]


async def test_a_prompt_that_was_answered_may_be_said_again(memory, scripted, said):
    """Without a history that shows it, as where the service keeps it."""
    made = agent(scripted("ok", "ok"), memory)
    for _ in range(2):
        await made.run("Water the fig.", session=AgentSession(session_id="s"))
    assert said() == ["Water the fig.", "ok", "Water the fig.", "ok"]


async def test_a_program_that_gives_the_whole_conversation_each_time(memory, scripted, said):
    made = Agent(scripted("one", "two"), context_providers=[MnemicContextProvider(memory.scoped(session="s"))])
    messages = [Message("user", ["first"])]
    for more in ("second", "third"):
        messages += (await made.run(messages)).messages
        messages.append(Message("user", [more]))
    assert said() == ["first", "one", "second", "two"]


async def test_where_the_service_keeps_the_history_nothing_of_the_session_is_recalled(memory, scripted, said):
    model, session = scripted("Noted.", "Miso."), AgentSession(session_id="s")
    made = agent(model, memory)
    await made.run("My cat is called Miso.", session=session)
    session.service_session_id = "conversation_1"
    session.state.clear()
    await made.run("What is my cat called?", session=session)
    assert "Miso" not in "\n".join(model.shown())
    assert said() == ["My cat is called Miso.", "Noted.", "What is my cat called?", "Miso."]


async def test_history_at_each_call_of_the_model(memory, scripted, call, said):
    memory.remember("Ana lives in Lisbon.")
    model = scripted("Hi.", call("recall", query="town"), "In Lisbon.")
    made = Agent(
        model, context_providers=[InMemoryHistoryProvider(), MnemicContextProvider(memory)],
        require_per_service_call_history_persistence=True,
    )  # fmt: skip
    session = AgentSession()
    await made.run("Hello!", session=session)
    await made.run("Where does Ana live?", session=session)
    assert "\n".join(model.shown(1)).count("Ana lives in Lisbon.") == 1
    assert "Hello!" in model.shown(1)
    assert not any("Ana lives" in message.text for message in session.state["in_memory"]["messages"])
    assert said() == ["Hello!", "Hi.", "Where does Ana live?", "In Lisbon."]


async def test_two_users_in_one_process(memory, scripted, said):
    def of(user):
        session = AgentSession()
        session.state["user"] = user
        return session

    model = scripted("Noted.", "You never said.", "Miso.")
    made = agent(model, memory, scope=lambda session: {"user": session.state["user"]})
    await made.run("My cat is called Miso.", session=of("bea"))
    await made.run("What is my cat called?", session=of("bob"))
    assert "Miso" not in "\n".join(model.shown())
    await made.run("What is my cat called?", session=of("bea"))
    assert "Miso" in "\n".join(model.shown())
    assert (len(said("bea")), len(said("bob")), len(said("ana"))) == (4, 2, 0)
    with pytest.raises(InvalidInput, match="could not be read from the call"):
        await made.run("hello", session=AgentSession())


async def test_the_answer_goes_where_the_prompt_went(memory, scripted, call, said):
    session = AgentSession()
    session.state["user"] = "bea"

    @tool
    def leave() -> str:
        """Change the state."""
        session.state["user"] = "bob"
        return "done"

    provider = MnemicContextProvider(memory, scope=lambda session: {"user": session.state["user"]})
    await Agent(scripted(call("leave"), "Bye."), tools=[leave], context_providers=[provider]).run(
        "Go!", session=session
    )
    assert (said("bea"), said("bob")) == (["Go!", "Bye."], [])


async def test_quiet_time_begins_after_the_last_call(memory, scripted):
    waits = []

    class Watched(scripted):
        async def answer(self, messages):
            waits.append(memory.idle.wait())
            return await super().answer(messages)

    made = agent(Watched("done", "done again"), memory)
    await made.run("go")
    async for _ in made.run("go on", stream=True):
        pass
    assert waits == [None, None]
    assert memory.idle.wait() > 0


async def test_a_stream_that_is_left_keeps_what_the_user_said_and_is_no_run_for_ever(memory, scripted, said):
    async for _ in agent(scripted("one two three"), memory).run("Count!", stream=True):
        break
    assert said() == ["Count!"]
    assert memory.idle.wait() > 0


async def test_an_asynchronous_handle(scripted):
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        model = scripted("Lovely!", "In Lisbon.")
        made = agent(model, memory)
        await made.run("I moved to Lisbon.")
        await made.run("Where did I move?")
        assert "I moved to Lisbon." in model.shown()[0]
        assert len(await memory.messages()) == 4


async def test_only_tools_or_only_recall(memory, scripted, said):
    memory.remember("Ana lives in Lisbon.")
    model = scripted("a", "b")
    await agent(model, memory, max_tokens=0, store=False).run("Where does Ana live?")
    assert model.shown() == ["Where does Ana live?"]
    assert [made.name for made in model.options[-1]["tools"]] == ["remember", "recall", "correct", "forget"]
    await agent(model, memory, tools=False, store=False).run("Where does Ana live?")
    assert "Lisbon" in model.shown()[0]
    assert not model.options[-1].get("tools")
    assert said() == []


async def test_a_session_of_the_handle_or_scope_wins(memory, scripted):
    await agent(scripted("b"), memory.scoped(session="mine")).run("a", session=AgentSession(session_id="theirs"))
    await agent(scripted("d"), memory, scope={"session": "yours"}).run("c", session=AgentSession(session_id="theirs"))
    assert [message.session for message in memory.messages()] == ["mine", "mine", "yours", "yours"]


async def test_media_and_names_and_times(memory, scripted):
    prompt = Message(
        "user", ["What is this?", Content.from_uri("https://example.org/a.png", media_type="image/png")],
        author_name="Ana", additional_properties={"sent_at": "2026-05-04T10:00:00+00:00"},
    )  # fmt: skip
    await agent(scripted("A tree."), memory).run(prompt)
    asked, _ = sorted(memory.messages(), key=lambda message: message.role == "assistant")
    assert (asked.content, asked.name) == ("What is this?\n[image: https://example.org/a.png]", "Ana")
    assert asked.sent_at.isoformat() == "2026-05-04T10:00:00+00:00"


@pytest.mark.parametrize("stream", [False, True])
async def test_the_recall_tool_does_not_find_the_question_that_it_answers(memory, scripted, call, stream):
    model = scripted(call("recall", query="user's dentist"), "I don't know.")
    made = agent(model, memory)
    if stream:
        async for _ in made.run("What's my dentist called?", stream=True):
            pass
    else:
        await made.run("What's my dentist called?")
    (content,) = model.results()
    assert json.loads(content.result) == {"evidence": "none", "results": []}


async def test_many_runs_at_once_stay_apart(memory, scripted):
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"The secret of {user} is {user * 3}.")

    class Echo(scripted):
        async def answer(self, messages):
            return messages[0].text

    made = agent(Echo(), memory, scope=lambda session: {"user": session.session_id})
    sessions = [AgentSession(session_id=user) for user in ("bea", "bob") * 5]
    for number, result in enumerate(
        await asyncio.gather(*(made.run("What is the secret?", session=s) for s in sessions))
    ):
        mine, other = ("bea", "bob") if number % 2 == 0 else ("bob", "bea")
        assert mine * 3 in result.text
        assert other * 3 not in result.text


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
        MnemicContextProvider(wrong)
