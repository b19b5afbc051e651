"""MnemicChatMemory in agents and workflows."""

import asyncio
import copy
import json
import pickle
import subprocess
import sys

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.llms import ChatMessage, TextBlock
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.workflow import Context
from pydantic import BaseModel, ConfigDict

from llama_index.memory.mnemic import MnemicChatMemory
from mnemic import ConfigurationError, Memory, StoreClosed

# Workflows look at every attribute of an agent, deprecated ones of pydantic included.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning:inspect")


def call(name, **kwargs):
    selection = ToolSelection(tool_id="call_1", tool_name=name, tool_kwargs=kwargs)
    return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [selection]})


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."


def agent(llm, **kwargs):
    return FunctionAgent(name="bo", llm=llm, streaming=False, system_prompt="Be brief.", **kwargs)


def shape(messages):
    return [(m.role.value, "recall" if (m.content or "").startswith("<memory ") else m.content) for m in messages]


def tools(memory, session="now"):
    """What the messages of a session note of tools; the session counts the same."""
    view = memory.scoped(session=session).sessions.current()
    noted = [message.metadata.get("tools_used") for message in view.messages]
    assert sum(view.tools.values()) == sum(len(one or ()) for one in noted)
    return noted


@pytest.fixture
def known(memory):
    memory.add_exchange("I moved to Lisbon in March.", "Lovely city!", session="long ago")
    return memory


@pytest.fixture
def searches(monkeypatch):
    """Every query that reaches the memory."""
    asked = []
    recall = Memory.get_memory_context
    monkeypatch.setattr(
        Memory,
        "get_memory_context",
        lambda self, query, **kwargs: asked.append(query) or recall(self, query, **kwargs),
    )
    return asked


async def test_function_agent_with_a_tool(known, scripted, said, searches):
    llm = scripted(call("weather", city="Lisbon"), "Sunny.")
    chat = MnemicChatMemory(memory=known, session_id="now", min_evidence="none")
    answer = await agent(llm, tools=[weather]).run(user_msg="How is the weather where I live?", memory=chat)

    assert str(answer) == "Sunny."
    question = ("user", "How is the weather where I live?")
    assert shape(llm.shown[0]) == [("system", "Be brief."), ("user", "recall"), question]
    assert shape(llm.shown[1])[:3] == shape(llm.shown[0])
    assert shape(llm.shown[1])[-1] == ("tool", "Sunny in Lisbon.")
    assert searches == ["How is the weather where I live?"]  # once, though the agent asks three times
    assert [m.role.value for m in chat.get_all()] == ["user", "assistant", "tool", "assistant"]
    assert said(known, session="now") == ["How is the weather where I live?", "Sunny."]  # no call, no tool output
    assert tools(known) == [None, [{"name": "weather"}]]


async def test_the_next_run_goes_on(known, scripted):
    llm = scripted("Hello.", "Sure.")
    chat = MnemicChatMemory(memory=known, min_evidence="none")
    for text in ("Hi.", "Tell me more."):
        await agent(llm).run(user_msg=text, memory=chat)
    assert shape(llm.shown[1]) == [
        ("system", "Be brief."), ("user", "Hi."), ("assistant", "Hello."), ("user", "recall"), ("user", "Tell me more."),
    ]  # fmt: skip


async def test_state_written_into_the_prompt_stays_out_of_the_memory(known, scripted, said):
    """The agent edits the last message it gets from the memory in place."""
    chat = MnemicChatMemory(memory=known, session_id="now")
    llm = scripted()
    await agent(llm, initial_state={"mood": "good"}).run(user_msg="Hi.", memory=chat)
    assert "mood" in llm.shown[0][-1].content
    assert [m.content for m in chat.get_all()] == ["Hi.", "Understood."]
    assert said(known, session="now") == ["Hi.", "Understood."]


@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")  # by ReActAgent itself
async def test_react_agent(known, scripted, said):
    llm = scripted(
        'Thought: I need it.\nAction: weather\nAction Input: {"city": "Lisbon"}', "Thought: Done.\nAnswer: Sunny."
    )
    chat = MnemicChatMemory(memory=known, session_id="now")
    answer = await ReActAgent(llm=llm, tools=[weather], streaming=False).run(
        user_msg="How is the weather?", memory=chat
    )
    assert str(answer) == "Sunny."
    assert said(known, session="now") == ["How is the weather?", "Sunny."]  # no thought, no call, no tool output
    assert tools(known) == [None, [{"name": "weather"}]]
    steps = chat.get_all()[-1].content  # what the agent is shown again
    assert steps.startswith("Thought: I need it.")
    assert "Observation: Sunny in Lisbon." in steps
    chat.set(chat.get_all())
    assert said(known, session="now") == ["How is the weather?", "Sunny."]


async def test_workflow_of_two_agents(known, scripted, said, searches):
    llm = scripted(call("handoff", to_agent="bo", reason="weather"), call("weather", city="Lisbon"), "Sunny.")
    first = FunctionAgent(name="al", description="Talks.", llm=llm, streaming=False, can_handoff_to=["bo"])
    second = FunctionAgent(name="bo", description="Knows.", llm=llm, streaming=False, tools=[weather])
    flow = AgentWorkflow(agents=[first, second], root_agent="al")
    chat = MnemicChatMemory(memory=known, session_id="now", min_evidence="none")
    assert str(await flow.run(user_msg="How is the weather where I live?", memory=chat)) == "Sunny."

    assert searches == ["How is the weather where I live?"]
    assert shape(llm.shown[0])[-2:] == [("user", "recall"), ("user", "How is the weather where I live?")]
    roles = [m.role.value for m in llm.shown[1]]
    assert roles == ["user", "user", "assistant", "tool"]  # the recall never stands between a call and its answer
    assert said(known, session="now") == ["How is the weather where I live?", "Sunny."]


async def test_given_history_is_stored_once_and_wipes_nothing(known, scripted, said):
    """What a stateless server does: the whole history with every request."""
    history = [ChatMessage(role="system", content="You are Bo.")]
    for text in ("I play chess.", "Yes.", "Yes."):
        chat = MnemicChatMemory(memory=known, session_id="now")
        await agent(scripted()).run(user_msg=text, chat_history=history, memory=chat)
        history = chat.get_all()
    assert said(known, session="now") == ["I play chess.", "Understood.", "Yes.", "Understood.", "Yes.", "Understood."]
    assert said(known, session="long ago") == ["I moved to Lisbon in March.", "Lovely city!"]
    assert [m.role.value for m in history] == ["system", *["user", "assistant"] * 3]


async def test_a_reset_between_requests_with_the_history_along(known, scripted, said):
    """A new chat may begin as the last one did: that is said again."""
    for _ in range(2):
        for history in (
            [],
            [ChatMessage(role="user", content="Hi."), ChatMessage(role="assistant", content="Understood.")],
        ):
            chat = MnemicChatMemory(memory=known, session_id="now")
            await agent(scripted()).run(user_msg="More." if history else "Hi.", chat_history=history, memory=chat)
        assert said(known, session=chat.memory.scope.session) == ["Hi.", "Understood.", "More.", "Understood."]
        chat.reset()


async def test_history_with_recall_handed_back_is_not_stored(known, scripted, said):
    chat = MnemicChatMemory(memory=known, session_id="now", min_evidence="none")
    await agent(scripted()).run(user_msg="Where do I live?", memory=chat)
    shown = chat.get(input="What is next?")
    assert any(name == "recall" for _, name in shape(shown))
    await agent(scripted()).run(user_msg="What is next?", chat_history=shown, memory=chat)
    chat.put_messages(chat.get())  # a plain repetition of turns is a repetition; the recall in it is not
    assert not any("From earlier conversations" in text for text in said(known))
    assert not any(name == "recall" for _, name in shape(chat.get_all()))


async def test_context_of_a_workflow_survives_serialization(folder, scripted, said):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        chat = MnemicChatMemory(memory=memory, session_id="now", options={"embedder": "hashing"})
        bo = agent(scripted(call("weather", city="Lisbon"), "Sunny."), tools=[weather])
        ctx = Context(bo)
        await bo.run(user_msg="How is the weather?", memory=chat, ctx=ctx)
        data = json.loads(json.dumps(ctx.to_dict()))

        same = await Context.from_dict(bo, data).store.get("memory")
        assert same.memory.scope == chat.memory.scope
    with pytest.raises(StoreClosed):  # one engine for one folder
        same.memory.messages()
    # the handle is closed: the folder is opened again
    llm = scripted("As I said.")
    bo = agent(llm)
    ctx = Context.from_dict(bo, data)
    await bo.run(user_msg="How was it again?", ctx=ctx)
    restored = await ctx.store.get("memory")
    assert (restored.memory.scope.user, restored.session_id) == ("ana", "now")
    assert [m.role.value for m in restored.get_all()] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert said(restored.memory, session="now") == ["How is the weather?", "Sunny.", "How was it again?", "As I said."]
    restored.memory.close()


@pytest.fixture
def kept(folder):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        yield memory


def test_every_form_of_serialization_keeps_buffer_and_scope(kept):
    chat = MnemicChatMemory(memory=kept, scope={"project": "home"}, session_id="now", max_tokens=100, inject="system")
    chat.put(ChatMessage(role="user", blocks=[TextBlock(text="Look:"), TextBlock(text="a cat.")]))
    for other in (
        MnemicChatMemory.from_dict(chat.to_dict()),
        MnemicChatMemory.from_json(chat.to_json()),
        MnemicChatMemory.model_validate(chat.model_dump()),
        pickle.loads(pickle.dumps(chat)),
        copy.deepcopy(chat),
    ):
        assert other.memory.scope == chat.memory.scope
        assert other.get_all() == chat.get_all()
        assert (other.max_tokens, other.inject) == (100, "system")
        other.put(ChatMessage(role="assistant", content="Nice."))
    assert len(chat.get_all()) == 1  # five objects, one record


def test_it_can_be_a_field_of_a_model(known):
    class State(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        memory: MnemicChatMemory

    chat = MnemicChatMemory(memory=known, session_id="now")
    state = State(memory=chat)
    assert state.memory is chat
    assert State.model_validate_json(state.model_dump_json()).memory.memory.scope == chat.memory.scope


def test_a_record_in_ram_is_not_replaced_by_an_empty_one(known):
    chat = MnemicChatMemory(memory=known, session_id="now")
    for write in (chat.to_dict, chat.to_json, lambda: pickle.dumps(chat)):
        with pytest.raises(ConfigurationError, match=r"in RAM.*Keep it in a folder"):
            write()
    assert copy.deepcopy(chat).memory.scope == chat.memory.scope
    data = chat.model_dump()
    known.close()
    with pytest.raises(ConfigurationError, match="from_dict"):
        MnemicChatMemory.from_dict(data)
    with Memory(":memory:", embedder="hashing") as other:
        assert MnemicChatMemory.from_dict(data, memory=other).memory.scope.user == "ana"


def test_another_process_restores_it(folder):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        chat = MnemicChatMemory(memory=memory, session_id="now", options={"embedder": "hashing"})
        chat.put(ChatMessage(role="user", content="I live in Lisbon."))
        data = chat.to_json()
    code = (
        "import sys; from llama_index.memory.mnemic import MnemicChatMemory as C; c = C.from_json(sys.stdin.read());"
        "c.reset(); print(c.get(input='Lisbon')[0].content)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, text=True, check=True)
    assert "user: I live in Lisbon." in done.stdout


def two_agents(*answers):
    """A workflow in which al hands over to bo, who answers."""
    llm, other = answers
    al = FunctionAgent(name="al", description="Talks.", llm=llm, streaming=False, can_handoff_to=["bo"])
    bo = FunctionAgent(name="bo", description="Knows.", llm=other, streaming=False, tools=[weather])
    return AgentWorkflow(agents=[al, bo], root_agent="al")


async def test_context_of_several_agents_is_json_without_pickle(folder, scripted, said, monkeypatch):
    """A workflow of two agents is stopped, written down as JSON, and gone on with: the second agent still has the word."""

    def refuse(*_, **__):
        raise AssertionError("pickled")

    with Memory(folder, user="ana", embedder="hashing") as memory:
        chat = MnemicChatMemory(memory=memory, session_id="now", options={"embedder": "hashing"})
        flow = two_agents(scripted(call("handoff", to_agent="bo", reason="weather")), scripted("Sunny.", "Windy."))
        ctx = Context(flow)
        assert str(await flow.run(user_msg="How is the weather?", memory=chat, ctx=ctx)) == "Sunny."
        with monkeypatch.context() as patched:
            for name in ("dumps", "loads", "Pickler", "Unpickler"):
                patched.setattr(pickle, name, refuse)
            data = json.loads(json.dumps(ctx.to_dict()))
            again = Context.from_dict(flow, data)
            assert str(await flow.run(user_msg="And tomorrow?", ctx=again)) == "Windy."
        restored = await again.store.get("memory")
        assert restored.memory.scope == chat.memory.scope
        assert said(memory, session="now") == ["How is the weather?", "Sunny.", "And tomorrow?", "Windy."]


async def test_two_users_in_one_workflow_at_once(memory, scripted):
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"The secret of {user} is {user * 3}.")

    async def ask(user):
        llm = scripted(call("handoff", to_agent="bo", reason="secret"))
        other = scripted("I know.")
        chat = MnemicChatMemory(memory=memory, scope={"user": user}, session_id="same")
        await two_agents(llm, other).run(user_msg="What is the secret?", memory=chat)
        return [m.content or "" for prompt in (*llm.shown, *other.shown) for m in prompt]

    shown = dict(zip(("bea", "bob"), await asyncio.gather(ask("bea"), ask("bob")), strict=True))
    for mine, other in (("bea", "bob"), ("bob", "bea")):
        assert any(mine * 3 in text for text in shown[mine])
        assert not any(other * 3 in text for text in shown[mine])
        assert [m.content for m in memory.scoped(user=mine).messages()] == ["What is the secret?", "I know."]
