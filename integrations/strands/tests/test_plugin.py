"""The plugin in real invocations of real agents."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest
from pydantic import BaseModel
from strands import Agent, Plugin, tool
from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent, HookOrder
from strands.session import SnapshotSessionManager
from strands.storage import InMemoryStorage

from mnemic import AsyncMemory, ConfigurationError, InvalidInput
from strands_mnemic import MnemicPlugin


def agent(model, memory, *, tools=(), system_prompt=None, session=None, **options):
    manager = session and SnapshotSessionManager(session, storage=InMemoryStorage())
    return Agent(
        model, plugins=[MnemicPlugin(memory, **options)], tools=[*tools], system_prompt=system_prompt,
        session_manager=manager, callback_handler=None,
    )  # fmt: skip


@tool
def dice() -> int:
    """Roll."""
    return 6


def test_recalls_and_stores(memory, scripted, said):
    model = scripted("Lovely!", "In Lisbon.")
    agent(model, memory, session="monday")("I moved to Lisbon.")
    later = agent(model, memory, session="friday")
    assert str(later("Where did I move?")).strip() == "In Lisbon."
    assert model.shown(0) == ["I moved to Lisbon."]
    (prompt,) = model.shown()
    assert prompt.startswith("Where did I move?\n\n<memory")
    assert "- user: I moved to Lisbon." in prompt
    assert later.messages[0]["content"] == [{"text": "Where did I move?"}]
    assert said(session="monday") == ["I moved to Lisbon.", "Lovely!"]
    assert said(session="friday") == ["Where did I move?", "In Lisbon."]


def test_recalls_once_an_invocation_however_many_calls(memory, scripted, call, monkeypatch):
    asked = []
    real = AsyncMemory.get_memory_context

    async def counted(self, *args, **kwargs):
        asked.append(args)
        return await real(self, *args, **kwargs)

    monkeypatch.setattr(AsyncMemory, "get_memory_context", counted)
    memory.remember("Ana lives in Lisbon.")
    model = scripted(call("recall", "c1", query="home"), call("recall", "c2", query="town"), "Lisbon.")
    agent(model, memory)("Where does Ana live?")
    assert len(model.seen) == 3
    assert len(asked) == 1
    assert all("Ana lives in Lisbon." in model.shown(n)[-1] for n in range(3))
    assert all("".join(model.shown(n)).count("Ana lives in Lisbon.") == 1 for n in range(3))


def test_what_is_no_evidence_is_not_stored(memory, scripted, call, said):
    steps = [{"reasoning": "hm"}, {"text": "A"}, call("dice")]
    model = scripted(steps, [{"reasoning": "hm"}, {"text": "A six."}])
    agent(model, memory.scoped(session="s"), tools=[dice], system_prompt="Play.")("Roll!")
    assert said() == ["Roll!", "A", "A six."]
    view = memory.scoped(session="s").sessions.current()
    assert view.tools == {"dice": 1}
    assert [message.metadata.get("tools_used") for message in view.messages][2] == [{"name": "dice", "outcome": "ok"}]


def test_what_strands_asks_in_the_users_role_is_not_stored(memory, scripted, call, said):
    class Answer(BaseModel):
        """An answer."""

        number: int

    model = scripted("Six, I think.", call("Answer", number=6))
    made = agent(model, memory)
    assert made("How many?", structured_output_model=Answer).structured_output == Answer(number=6)
    assert len([message for message in made.messages if message["role"] == "user"]) > 1
    assert said() == ["How many?", "Six, I think."]


def test_what_a_tool_called_by_the_program_leaves_is_not_stored(memory, scripted, said):
    made = agent(scripted("Hi."), memory, tools=[dice])
    made.tool.dice()
    assert len(made.messages) > 0
    made("Hello!")
    assert said() == ["Hello!", "Hi."]


@pytest.mark.parametrize("order", [HookOrder.SDK_FIRST, HookOrder.DEFAULT])
@pytest.mark.parametrize("first", [True, False])
def test_what_a_hook_asks_for_is_not_what_the_user_said(memory, scripted, said, order, first):
    class Again(Plugin):
        name = "again"

        def init_agent(self, agent):
            def ask(event: AfterInvocationEvent) -> None:
                if len(model.seen) == 1:
                    event.resume = "Look again."

            agent.add_hook(ask, order=order)

    model = scripted("Five.", "Six.", "Bye.")
    plugins = [MnemicPlugin(memory), Again()]
    made = Agent(model, plugins=plugins if first else plugins[::-1], callback_handler=None)
    made("How many?")
    made("Thanks.")
    assert model.shown(1)[-1] == "Look again."
    assert said() == ["How many?", "Five.", "Six.", "Thanks.", "Bye."]


def test_what_is_erased_during_an_invocation_stays_erased(memory, scripted, call, said):
    @tool
    def erase() -> str:
        """Erase what was said."""
        (asked,) = memory.messages()
        memory.forget(ids=[asked.id], hard=True)
        return "done"

    agent(scripted(call("erase"), "It is gone."), memory, tools=[erase])("My size is 42. Forget it!")
    assert said() == ["It is gone."]


def test_a_failed_invocation_keeps_what_the_user_said(memory, scripted, said):
    plugin = MnemicPlugin(memory)
    made = Agent(scripted(RuntimeError("no model"), "Hi."), plugins=[plugin], callback_handler=None)
    with pytest.raises(RuntimeError, match="no model"):
        made("hello")
    assert said() == ["hello"]
    assert memory.idle.wait() is not None
    assert not plugin._runs
    made("Are you there?")
    assert said() == ["hello", "Are you there?", "Hi."]


def test_an_invocation_that_a_hook_prevents_is_no_run_for_ever(memory, scripted, said):
    made = agent(scripted("Hi."), memory)

    def refuse(event: BeforeInvocationEvent) -> None:
        if event.messages[0]["content"][0]["text"] == "no":
            raise RuntimeError("refused")

    made.add_hook(refuse, order=HookOrder.SDK_LAST)
    with pytest.raises(RuntimeError, match="refused"):
        made("no")
    made("Hello!")
    assert said() == ["Hello!", "Hi."]
    assert memory.idle.wait() is not None


async def test_a_stream_that_is_left_keeps_what_the_user_said_and_is_no_run_for_ever(memory, scripted, said):
    async for event in agent(scripted("one two three"), memory).stream_async("Count!"):
        if "data" in event:
            break
    del event
    for _ in range(100):  # the event loop closes what was left
        gc.collect()
        await asyncio.sleep(0.01)
        if memory.idle.wait() is not None:
            break
    assert said() == ["Count!"]
    assert memory.idle.wait() > 0


def test_quiet_time_begins_after_the_invocation(memory, scripted, call):
    waits = []

    @tool
    def watch() -> str:
        """Look."""
        waits.append(memory.idle.wait())
        return "seen"

    agent(scripted(call("watch"), "done"), memory, tools=[watch])("go")
    assert waits == [None]
    assert memory.idle.wait() > 0


def test_the_recall_tool_does_not_find_the_question_that_it_answers(memory, scripted, call):
    model = scripted(call("recall", query="user's dentist"), "I don't know.")
    agent(model, memory)("What's my dentist called?")
    (result,) = model.results()
    assert json.loads(result["content"][0]["text"]) == {"evidence": "none", "results": []}


@pytest.mark.parametrize("message", [None, "Stopped."])
async def test_a_cancelled_invocation_has_no_answer(memory, scripted, said, message):
    model = scripted("one two three", "Hi.")
    made = agent(model, memory)
    async for event in made.stream_async("Count!"):
        if "data" in event:
            made.cancel(message=message)
    assert made.messages[-1]["content"] == [{"text": message or "Cancelled by user"}]
    assert said() == ["Count!"]
    await made.invoke_async("Hello!")
    assert said() == ["Count!", "Hello!", "Hi."]


def test_a_cancel_between_the_calls_of_the_model_is_no_answer(memory, scripted, call, said):
    @tool
    def stop() -> str:
        """Stop."""
        made.cancel(message="Stopped.", after_current_tools=True)
        return "done"

    made = agent(scripted([{"text": "I stop."}, call("stop")]), memory, tools=[stop])
    assert str(made("Stop!")).strip() == "Stopped."
    assert said() == ["Stop!", "I stop."]


def test_two_users_of_one_agent(memory, scripted, said):
    def ask(text, user):
        made = Agent(model, plugins=[plugin], callback_handler=None)
        made(text, invocation_state={"user": user})

    model = scripted("Noted.", "You never said.", "Miso.")
    plugin = MnemicPlugin(memory, scope=lambda state: {"user": state["user"]})
    ask("My cat is called Miso.", "bea")
    ask("What is my cat called?", "bob")
    assert "Miso" not in model.shown()[-1]
    ask("What is my cat called?", "bea")
    assert "Miso" in model.shown()[-1]
    assert (len(said("bea")), len(said("bob")), len(said("ana"))) == (4, 2, 0)
    with pytest.raises(InvalidInput, match="could not be read from the call"):
        Agent(model, plugins=[plugin], callback_handler=None)("hello")


async def test_many_agents_of_one_plugin_at_once(memory, scripted):
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"The secret of {user} is {user * 3}.")

    class Echo(scripted):
        async def answer(self, messages):
            return "".join(block["text"] for block in messages[-1]["content"])

    plugin = MnemicPlugin(memory, scope=lambda state: {"user": state["user"]})

    async def ask(user):
        made = Agent(Echo(), plugins=[plugin], callback_handler=None)
        return str(await made.invoke_async("What is the secret?", invocation_state={"user": user}))

    users = ["bea", "bob"] * 5
    for user, answer in zip(users, await asyncio.gather(*map(ask, users)), strict=True):
        other = {"bea": "bob", "bob": "bea"}[user]
        assert user * 3 in answer
        assert other * 3 not in answer


def test_an_asynchronous_handle(scripted):
    async def run():
        async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
            model = scripted("Lovely!", "In Lisbon.")
            for text in ("I moved to Lisbon.", "Where did I move?"):
                await agent(model, memory).invoke_async(text)
            assert "I moved to Lisbon." in model.shown()[0]
            assert len(await memory.messages()) == 4

    asyncio.run(run())


def test_without_recall_or_storing(memory, scripted, said):
    memory.remember("Ana lives in Lisbon.")
    model = scripted("a", "b")
    agent(model, memory, max_tokens=0, store=False)("Where does Ana live?")
    assert model.shown() == ["Where does Ana live?"]
    assert {*model.tools[-1]} == {"remember", "recall", "correct", "forget"}
    agent(model, memory, store=False)("Where does Ana live?")
    assert "Lisbon" in model.shown()[0]
    assert said() == []


def test_without_its_tools(memory, scripted):
    model = scripted("a")
    Agent(model, plugins=[MnemicPlugin(memory, tools=False)], callback_handler=None)("Hello!")
    assert model.tools == [{}]


def test_a_session_of_the_handle_or_scope_wins(memory, scripted):
    agent(scripted("b"), memory.scoped(session="mine"), session="theirs")("a")
    agent(scripted("d"), memory, scope={"session": "yours"}, session="theirs")("c")
    assert [message.session for message in memory.messages()] == ["mine", "mine", "yours", "yours"]


def test_media_is_a_reference(memory, scripted, said):
    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    model = scripted("A tree.")
    memory.remember("Ana paints a tree.")
    plan = {"document": {"format": "pdf", "name": "plan of the garden", "source": {"bytes": b"x"}}}
    agent(model, memory)([{"text": "What does Ana paint here?"}, image, plan])
    assert [*model.seen[0][0]["content"][1]] == ["image"]
    assert said() == ["What does Ana paint here?\n[image: png, 1 kB]\n[file: plan of the garden, pdf, 1 kB]", "A tree."]


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
        MnemicPlugin(wrong)
