"""The capability in real runs of real agents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from pydantic_ai import Agent, ModelMessagesTypeAdapter
from pydantic_ai.messages import ImageUrl, ModelRequest, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from mnemic import AsyncMemory, ConfigurationError, InvalidInput
from pydantic_ai_mnemic import MnemicCapability


@dataclass
class Deps:
    user_id: str | None


def test_recalls_and_stores(memory, scripted, said):
    model = scripted("Lovely!", "In Lisbon.")
    agent = Agent(model, instructions="Be brief.", capabilities=[MnemicCapability(memory)])
    agent.run_sync("I moved to Lisbon.", conversation_id="monday")
    result = agent.run_sync("Where did I move?", conversation_id="friday")
    assert model.prompts(0) == ["I moved to Lisbon."]
    assert model.instructions() == "Be brief."  # recalled text has the user's authority, not the program's
    assert "- user: I moved to Lisbon." in model.prompts()[-1]
    assert result.output == "In Lisbon."
    assert said(session="monday") == ["I moved to Lisbon.", "Lovely!"]
    assert said(session="friday") == ["Where did I move?", "In Lisbon."]


def test_recalls_once_a_run_however_many_requests(memory, scripted, monkeypatch):
    calls = []
    real = AsyncMemory.get_memory_context

    async def counted(self, *args, **kwargs):
        calls.append(args)
        return await real(self, *args, **kwargs)

    monkeypatch.setattr(AsyncMemory, "get_memory_context", counted)
    memory.remember("Ana lives in Lisbon.")
    model = scripted(ToolCallPart("recall", {"query": "home"}), ToolCallPart("recall", {"query": "town"}), "Lisbon.")
    agent = Agent(model, capabilities=[MnemicCapability(memory)])
    agent.run_sync("Where does Ana live?")
    assert len(model.seen) == 3
    assert len(calls) == 1
    assert all("Ana lives in Lisbon." in model.prompts(n)[-1] for n in range(3))


def test_in_the_instructions_when_asked_for(memory, scripted):
    memory.remember("Ana lives in Lisbon.")
    model = scripted("Lisbon.")
    capability = MnemicCapability(memory, inject="instructions")
    Agent(model, instructions="Be brief.", capabilities=[capability]).run_sync("Where does Ana live?")
    assert model.instructions().startswith("Be brief.")
    assert "Ana lives in Lisbon." in model.instructions()
    assert model.prompts() == ["Where does Ana live?"]


def test_in_the_prompt_of_every_request_and_of_no_history(memory, scripted, said):
    memory.remember("Ana lives in Lisbon.")
    model = scripted(ToolCallPart("recall", {"query": "home"}), "Lisbon.")
    agent = Agent(model, instructions="Be brief.", capabilities=[MnemicCapability(memory)])
    result = agent.run_sync("Where does Ana live?")
    assert [model.instructions(n) for n in range(2)] == ["Be brief.", "Be brief."]
    for request in range(2):
        (prompt,) = model.prompts(request)
        assert "Ana lives in Lisbon." in prompt
        assert prompt.endswith("\n\nWhere does Ana live?")
    assert "Ana lives in Lisbon." not in str(next(m for m in result.all_messages() if isinstance(m, ModelRequest)))
    assert said() == ["Where does Ana live?", "Lisbon."]


def test_a_prompt_with_an_image_keeps_it(memory, scripted, said):
    memory.remember("Ana paints the sea.")
    model = scripted("The sea.")
    agent = Agent(model, capabilities=[MnemicCapability(memory)])
    agent.run_sync(["What does Ana paint here?", ImageUrl("https://example.org/a.png")])
    content = model.seen[0][0].parts[0].content
    assert "Ana paints the sea." in content[0]
    assert content[1:] == ["What does Ana paint here?", ImageUrl("https://example.org/a.png")]
    assert said()[0] == "What does Ana paint here?\n[image: https://example.org/a.png]"


def test_writes_each_message_once_with_a_history(memory, scripted, said):
    model = scripted("one", "two", "three")
    agent = Agent(model, capabilities=[MnemicCapability(memory)])
    first = agent.run_sync("first")
    second = agent.run_sync("second", message_history=first.all_messages())
    kept = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(second.all_messages()))
    agent.run_sync("third", message_history=kept)
    assert said() == ["first", "one", "second", "two", "third", "three"]
    assert len({message.session for message in memory.messages()}) == 1


def test_a_prompt_that_ends_the_history_is_stored(memory, scripted, said):
    model = scripted("Yes.")
    agent = Agent(model, capabilities=[MnemicCapability(memory)])
    history = [
        ModelRequest.user_text_prompt("old"),
        ModelResponse([TextPart("older answer")]),
        ModelRequest.user_text_prompt("Is it new?"),
    ]
    agent.run_sync(message_history=history)
    assert said() == ["Is it new?", "Yes."]


def test_tool_calls_and_reasoning_are_nobodys_words(memory, said):
    def answer(messages, info):
        if len(messages) == 1:
            return ModelResponse([ThinkingPart("hm"), ToolCallPart("dice", {})])
        return ModelResponse([ThinkingPart("hm"), TextPart("A "), TextPart("six.")])

    agent = Agent(FunctionModel(answer), system_prompt="Play.", capabilities=[MnemicCapability(memory)])

    @agent.tool_plain
    def dice() -> int:
        return 6

    agent.run_sync("Roll!")
    assert said() == ["Roll!", "A six."]


def test_two_users_in_one_process(memory, scripted, said):
    model = scripted("Noted.", "You never said.", "Miso.")
    capability = MnemicCapability(memory, scope=lambda ctx: {"user": ctx.deps.user_id})
    agent = Agent(model, deps_type=Deps, capabilities=[capability])
    agent.run_sync("My cat is called Miso.", deps=Deps("bea"))
    agent.run_sync("What is my cat called?", deps=Deps("bob"))
    assert "Miso" not in model.prompts()[-1]
    agent.run_sync("What is my cat called?", deps=Deps("bea"))
    assert "Miso" in model.prompts()[-1]
    assert (len(said("bea")), len(said("bob")), len(said("ana"))) == (4, 2, 0)


async def test_concurrent_runs_of_two_users_stay_apart(memory):
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"The secret of {user} is {user * 3}.")

    def answer(messages, info):
        return ModelResponse([TextPart(str(messages[0].parts[-1].content))])

    capability = MnemicCapability(memory, scope=lambda ctx: {"user": ctx.deps.user_id})
    agent = Agent(FunctionModel(answer), deps_type=Deps, capabilities=[capability])
    runs = [agent.run("What is the secret?", deps=Deps(user)) for user in ("bea", "bob") * 5]
    for number, result in enumerate(await asyncio.gather(*runs)):
        mine, other = ("bea", "bob") if number % 2 == 0 else ("bob", "bea")
        assert mine * 3 in result.output
        assert other * 3 not in result.output


async def test_iteration_and_events_store_too(memory, scripted, said):
    agent = Agent(scripted("one", "two"), capabilities=[MnemicCapability(memory)])
    async with agent.iter("first") as run:
        async for _ in run:
            pass
    async with agent.run_stream_events("second") as events:
        async for _ in events:
            pass
    assert [text.strip() for text in said()] == ["first", "one", "second", "two"]


async def test_an_asynchronous_handle(scripted):
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        model = scripted("Lovely!", "In Lisbon.")
        agent = Agent(model, capabilities=[MnemicCapability(memory)])
        await agent.run("I moved to Lisbon.")
        await agent.run("Where did I move?")
        assert "I moved to Lisbon." in model.prompts()[-1]
        assert len(await memory.messages()) == 4


def test_a_failed_run_keeps_what_the_user_said_and_leaves_nothing_behind(memory, scripted, said):
    capability = MnemicCapability(memory)
    agent = Agent(scripted(RuntimeError("no model")), capabilities=[capability])
    with pytest.raises(RuntimeError, match="no model"):
        agent.run_sync("hello")
    assert said() == ["hello"]
    assert capability._contexts == capability._messages == capability._stored == {}
    assert memory.idle.wait() is not None


async def test_a_stream_that_is_left_keeps_what_the_user_said(memory, said):
    async def words(messages, info):
        for number in range(100):
            yield f"{number} "
            await asyncio.sleep(0)

    agent = Agent(FunctionModel(stream_function=words), capabilities=[MnemicCapability(memory)])
    async with agent.run_stream("Count for me, lucky number 88.", conversation_id="s") as run:
        async for _ in run.stream_text(delta=True, debounce_by=None):
            break
    assert said()[0] == "Count for me, lucky number 88."
    assert [message.role for message in memory.messages()].count("user") == 1


def test_quiet_time_begins_after_the_last_run(memory, scripted):
    waits = []

    def watch(text: str) -> str:
        """Look."""
        waits.append(memory.idle.wait())
        return text

    model = scripted(ToolCallPart("watch", {"text": "x"}), "done")
    agent = Agent(model, tools=[watch], capabilities=[MnemicCapability(memory)])
    assert memory.idle.wait() is None
    agent.run_sync("go")
    assert waits == [None]
    assert memory.idle.wait() > 0


def test_only_tools_or_only_recall(memory, scripted, said):
    model = scripted("a", "b")
    memory.remember("Ana lives in Lisbon.")
    Agent(model, capabilities=[MnemicCapability(memory, max_tokens=0, store=False)]).run_sync("Where is Lisbon?")
    assert model.prompts() == ["Where is Lisbon?"]
    assert {*model.tools[-1]} == {"remember", "recall", "correct", "forget"}
    Agent(model, capabilities=[MnemicCapability(memory, tools=False, store=False)]).run_sync("Where does Ana live?")
    assert "Lisbon" in model.prompts()[-1]
    assert model.tools[-1] == {}
    assert said() == []


def test_a_session_of_the_handle_or_scope_wins(memory, scripted, said):
    capability = MnemicCapability(memory.scoped(session="mine"))
    Agent(scripted("b"), capabilities=[capability]).run_sync("a", conversation_id="theirs")
    capability = MnemicCapability(memory, scope={"session": "yours"})
    Agent(scripted("d"), capabilities=[capability]).run_sync("c", conversation_id="theirs")
    assert [message.session for message in memory.messages()] == ["mine", "mine", "yours", "yours"]


def test_a_very_long_message_is_stored_in_pieces(memory, scripted, said):
    Agent(scripted("ok"), capabilities=[MnemicCapability(memory, max_tokens=0)]).run_sync("word " * 120_000)
    assert [len(text) for text in said()] == [500_000, 100_000, 2]


def test_the_budget_holds(memory, scripted):
    for number in range(40):
        memory.remember(f"Ana visited town number {number} and liked it.")
    model = scripted("many")
    Agent(model, capabilities=[MnemicCapability(memory, max_tokens=100)]).run_sync("Which towns did Ana visit?")
    assert 0 < len(model.prompts()[-1]) < 600


def test_test_model_calls_every_tool(memory):
    result = Agent(TestModel(), capabilities=[MnemicCapability(memory)]).run_sync("hello")
    assert result.output
    assert len(memory.list()) == 1


@pytest.mark.parametrize("wrong", [{"inject": "system"}, {"maximum": 3}, {"query": "x"}, {"filters": {"query": "x"}}])
def test_wrong_arguments_are_refused(memory, wrong):
    with pytest.raises((ConfigurationError, TypeError)):
        MnemicCapability(memory, **wrong)


def test_a_scope_without_what_it_reads_is_told_so(memory, scripted, said):
    capability = MnemicCapability(memory, scope=lambda ctx: {"user": ctx.deps.user_id})
    with pytest.raises(InvalidInput, match="could not be read from the call"):
        Agent(scripted("?"), capabilities=[capability]).run_sync("hello")
    assert said() == []
