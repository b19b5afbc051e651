"""When the quiet time begins: the callback handler and the middleware, in every way a run can begin and end."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_mnemic import (
    MnemicChatMessageHistory,
    MnemicIdleConsolidation,
    MnemicMemory,
    MnemicMiddleware,
    MnemicRetriever,
)
from mnemic import Idle, Memory, Scope

WAYS = ["sync", "async", "stream", "astream"]
every_way = pytest.mark.parametrize("way", WAYS)


@tool
def failing(text: str) -> str:
    """Fail."""
    raise RuntimeError(text)


@tool
def told(text: str) -> str:
    """Tell."""
    return text


class Watched:
    """Counts what is told to a trigger, and notes whether it was armed at certain moments."""

    def __init__(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trigger, self.begun, self.ended = memory.idle, 0, 0
        begin, end = self.trigger.begin, self.trigger.end

        def begins() -> None:
            self.begun += 1
            begin()

        def ends(scope: Scope | None = None) -> None:
            self.ended += 1
            end(scope)

        monkeypatch.setattr(self.trigger, "begin", begins)
        monkeypatch.setattr(self.trigger, "end", ends)

    @property
    def armed(self) -> bool:
        return self.trigger.wait() is not None


@pytest.fixture
def watched(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(memory, monkeypatch)


async def run(runnable: Any, given: Any, way: str, **options: Any) -> None:
    match way:
        case "sync":
            runnable.invoke(given, **options)
        case "async":
            await runnable.ainvoke(given, **options)
        case "stream":
            for _ in runnable.stream(given, **options):
                pass
        case _:
            async for _ in runnable.astream(given, **options):
                pass


@every_way
async def test_one_run_however_much_is_inside(memory: Memory, watched: Watched, way: str) -> None:
    armed: list[bool] = []
    inner = ChatPromptTemplate.from_template("{x}") | GenericFakeChatModel(messages=iter([AIMessage("Hi.")]))

    def look(value: Any) -> Any:
        armed.append(watched.armed)
        return value

    chain = RunnableLambda(look) | inner | RunnableLambda(look)
    await run(chain, {"x": "hello"}, way, config={"callbacks": [MnemicIdleConsolidation(memory)]})
    assert (watched.begun, watched.ended, watched.armed) == (1, 1, True)
    assert not any(armed)


@every_way
async def test_a_run_that_fails_ends_too(memory: Memory, watched: Watched, way: str) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        await run(RunnableLambda(fail), 1, way, config={"callbacks": [MnemicIdleConsolidation(memory)]})
    assert (watched.begun, watched.ended, watched.armed) == (1, 1, True)


@every_way
async def test_an_agent_with_tools_is_one_run(memory: Memory, watched: Watched, scripted: Any, way: str) -> None:
    calls = AIMessage("", tool_calls=[{"name": "failing", "args": {"text": "x"}, "id": "c1"}])
    agent = create_agent(scripted(calls, "Hm."), [failing])
    with pytest.raises(RuntimeError):
        await run(
            agent, {"messages": [HumanMessage("Go.")]}, way, config={"callbacks": [MnemicIdleConsolidation(memory)]}
        )
    assert (watched.begun, watched.ended, watched.armed) == (1, 1, True)


@pytest.mark.parametrize("make", ["model", "tool", "retriever"])
async def test_a_model_a_tool_and_a_retriever_alone(memory: Memory, watched: Watched, make: str) -> None:
    made: dict[str, tuple[Any, Any]] = {
        "model": (GenericFakeChatModel(messages=iter([AIMessage("a"), AIMessage("b")])), "hello"),
        "tool": (told, {"text": "x"}),
        "retriever": (MnemicRetriever(memory=memory), "hello"),
    }
    runnable, given = made[make]
    for way in ("sync", "async"):
        await run(runnable, given, way, config={"callbacks": [MnemicIdleConsolidation(memory)]})
    assert (watched.begun, watched.ended, watched.armed) == (2, 2, True)


async def test_a_stream_that_is_left(memory: Memory, watched: Watched) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("a b c")] * 3))
    chain = model | RunnableLambda(lambda message: message)
    config: Any = {"callbacks": [MnemicIdleConsolidation(memory)]}
    stream = model.stream("x", config)
    next(stream)
    assert not watched.armed
    stream.close()
    live = chain.astream("x", config)
    await anext(live)
    await live.aclose()
    agent: Any = create_agent(model, middleware=[])
    flow = agent.astream({"messages": [HumanMessage("x")]}, config, stream_mode="messages")
    await anext(flow)
    await flow.aclose()
    for _ in range(50):  # generators inside are closed by the event loop
        await asyncio.sleep(0)
    assert watched.begun == 3
    assert watched.begun == watched.ended
    assert watched.armed


def test_two_users_each_have_their_quiet(memory: Memory) -> None:
    handler = MnemicIdleConsolidation(memory, scope=lambda metadata: {"user": metadata["user_id"]})
    config: Any = {"callbacks": [handler], "metadata": {"user_id": "bo"}}
    RunnableLambda(lambda x: x).invoke(1, config)
    assert memory.scoped(user="bo").idle.wait() is not None
    assert memory.idle.wait() is None


# The middleware


@every_way
async def test_the_middleware_arms_it(memory: Memory, watched: Watched, scripted: Any, way: str) -> None:
    armed: list[bool] = []

    class Looking(MnemicMiddleware):
        def _informed(self, request: ModelRequest[Any], context: str) -> ModelRequest[Any]:
            armed.append(watched.armed)
            return super()._informed(request, context)

    agent = create_agent(scripted("Hi."), middleware=[Looking(memory)], checkpointer=InMemorySaver())
    await run(agent, {"messages": [HumanMessage("Hello.")]}, way, config={"configurable": {"thread_id": "t"}})
    assert armed == [False]
    assert (watched.begun, watched.ended, watched.armed) == (1, 1, True)


# The profile


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_profile_comes_first_and_within_the_budget(
    memory: Memory, scripted: Any, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    asked: list[tuple[str | None, int]] = []
    real = Memory.get_memory_context

    def noted(self: Memory, query: str | None = None, *, max_tokens: int = 0, **options: Any) -> Any:
        asked.append((query, max_tokens))
        return real(self, query, max_tokens=max_tokens, **options)

    monkeypatch.setattr(Memory, "get_memory_context", noted)
    memory.remember("Ana is allergic to peanuts", importance=1.0)
    memory.remember("Ana lives in Lisbon", importance=0.9)
    model = scripted("Hi.", "Yes.")
    middleware = MnemicMiddleware(memory, profile=True, max_tokens=400)
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    for text in ("Hello.", "Where in Lisbon?"):
        given = {"messages": [HumanMessage(text)]}
        await run(agent, given, way, config={"configurable": {"thread_id": "t1"}})
    assert [query for query, _ in asked] == [None, "Hello.", None, "Where in Lisbon?"]
    assert [budget for _, budget in asked[::2]] == [200, 200]
    assert all(0 < budget < 400 for _, budget in asked[1::2])
    for shown in (seen[-1].text for seen in model.seen):
        assert shown.count("peanuts") == shown.count("Ana lives in Lisbon") == 1


def in_a_chain(memory: Memory, idle: bool) -> None:
    kept = MnemicMemory(memory=memory, session="s", idle=idle)
    kept.load_memory_variables({"input": "I moved to Lisbon in March."})
    kept.save_context({"input": "I moved to Lisbon in March."}, {"output": "Nice."})


def in_a_history(memory: Memory, idle: bool) -> None:
    MnemicChatMessageHistory(memory, "s", idle=idle).add_messages(
        [HumanMessage("I moved to Lisbon in March."), AIMessage("Nice.")]
    )


@pytest.mark.parametrize("talk", [in_a_chain, in_a_history])
@pytest.mark.parametrize("idle", [True, False])
def test_the_classic_classes_process_and_summarize_when_it_is_quiet(
    tmp_path: Path, talk: Callable[[Memory, bool], None], idle: bool
) -> None:
    with Memory(tmp_path / "m", user="ana", embedder="hashing", idle=Idle(idle_seconds=0.05)) as memory:
        talk(memory, idle)
        for _ in range(200 if idle else 10):
            if memory.list(category="session_summary"):
                break
            time.sleep(0.05)
        assert memory.stats().pending.get("process", 0) == (0 if idle else 2)
        assert [s.metadata["session"] for s in memory.list(category="session_summary")] == (["s"] if idle else [])
