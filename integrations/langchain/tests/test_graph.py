"""A LangGraph graph of one's own: the store, the tools and a checkpointer together, in every way a graph can be run."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime

from langchain_mnemic import MnemicStore, mnemic_tools
from mnemic import InvalidInput, Memory

every_way = pytest.mark.parametrize("way", ["sync", "async", "stream", "astream"])


@dataclass
class Who:
    """The context of a run."""

    user_id: str | None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MnemicStore]:
    with MnemicStore(tmp_path, embedder="hashing", fields=["text"]) as opened:
        yield opened


async def run(graph: Any, text: str, way: str, *, user: str | None, thread: str) -> list[Any]:
    given = {"messages": [HumanMessage(text)]}
    options: dict[str, Any] = {"config": {"configurable": {"thread_id": thread}}, "context": Who(user)}
    match way:
        case "sync":
            return graph.invoke(given, **options)["messages"]
        case "async":
            return (await graph.ainvoke(given, **options))["messages"]
        case "stream":
            return [*graph.stream(given, stream_mode="values", **options)][-1]["messages"]
        case _:
            return [step async for step in graph.astream(given, stream_mode="values", **options)][-1]["messages"]


def keeping(store: MnemicStore) -> Any:
    """A graph that keeps what it is told, and answers from what it kept of this user."""

    def answer(state: MessagesState, runtime: Runtime[Who]) -> dict[str, Any]:
        own, said = ("users", str(runtime.context.user_id)), state["messages"][-1]
        assert runtime.store is store
        if said.text.endswith("?"):
            found = runtime.store.search(own, query=said.text)
            return {"messages": [AIMessage(found[0].value["text"] if found else "Nobody told me.")]}
        runtime.store.put(own, str(said.id), {"text": said.text})
        return {"messages": [AIMessage("Noted.")]}

    graph = StateGraph(MessagesState, context_schema=Who)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=InMemorySaver(), store=store)


@every_way
async def test_the_store_outlives_a_thread_and_keeps_users_apart(store: MnemicStore, way: str) -> None:
    graph = keeping(store)
    await run(graph, "My boiler is an ecoTEC.", way, user="bo", thread="t1")
    messages = await run(graph, "Which boiler do I have?", way, user="bo", thread="t1")
    assert [m.text for m in messages][1:] == ["Noted.", "Which boiler do I have?", "My boiler is an ecoTEC."]
    elsewhere = await run(graph, "Which boiler do I have?", way, user="bo", thread="t2")
    assert [m.text for m in elsewhere] == ["Which boiler do I have?", "My boiler is an ecoTEC."]
    other = await run(graph, "Which boiler do I have?", way, user="cy", thread="t3")
    assert other[-1].text == "Nobody told me."
    assert store.list_namespaces() == [("users", "bo")]


async def asynchronous_node(state: MessagesState, runtime: Runtime[Who]) -> dict[str, Any]:
    """Puts and searches without blocking the loop."""
    assert runtime.store is not None
    await runtime.store.aput(("notes",), "k", {"text": state["messages"][-1].text})
    found = await runtime.store.asearch(("notes",), query="boiler")
    return {"messages": [AIMessage(found[0].value["text"])]}


@pytest.mark.parametrize("way", ["async", "astream"])
async def test_asynchronous_nodes(store: MnemicStore, way: str) -> None:
    graph = StateGraph(MessagesState, context_schema=Who)
    graph.add_node("node", asynchronous_node)
    graph.add_edge(START, "node")
    compiled = graph.compile(checkpointer=InMemorySaver(), store=store)
    messages = await run(compiled, "The boiler leaks.", way, user="bo", thread="t1")
    assert messages[-1].text == "The boiler leaks."


def calling(memory: Memory) -> Any:
    """A graph with LangGraph's own node for tools: what is said is JSON of a tool's name and arguments."""

    def model(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        if isinstance(last, ToolMessage):
            return {"messages": [AIMessage("Done.")]}
        name, arguments = json.loads(last.text)
        return {"messages": [AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])]}

    tools = mnemic_tools(memory, scope=lambda runtime: {"user": runtime.context.user_id})
    graph = StateGraph(MessagesState, context_schema=Who)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=False))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=InMemorySaver())


@every_way
async def test_the_tools_get_their_runtime_from_any_graph(memory: Memory, way: str) -> None:
    graph = calling(memory)
    told = await run(graph, '["remember", {"content": "Bo lives in Oslo."}]', way, user="bo", thread="t1")
    assert told[-2].text.startswith("Remembered (id ")
    for user, found in (("bo", ["Bo lives in Oslo."]), ("cy", [])):
        messages = await run(graph, '["recall", {"query": "Oslo"}]', way, user=user, thread=f"t-{user}")
        assert [result["text"] for result in json.loads(messages[-2].text)["results"]] == found
    assert memory.list() == []


@every_way
async def test_a_model_cannot_choose_the_user(memory: Memory, way: str) -> None:
    arguments = {"content": "Bo lives in Oslo.", "runtime": {"context": {"user_id": "ana"}}}
    await run(calling(memory), json.dumps(["remember", arguments]), way, user="bo", thread="t1")
    for unknown in ("user", "scope"):
        wrong = {**arguments, "content": "Bo lives in Rome.", unknown: "ana"}
        messages = await run(calling(memory), json.dumps(["remember", wrong]), way, user="bo", thread=f"t-{unknown}")
        assert f"{unknown} is unknown" in messages[-2].text
    assert memory.list() == []
    assert [m.content for m in memory.scoped(user="bo").list()] == ["Bo lives in Oslo."]


@every_way
async def test_without_a_user_nothing_is_read_or_stored(memory: Memory, way: str) -> None:
    with pytest.raises(InvalidInput, match="no user"):
        await run(calling(memory), '["remember", {"content": "x"}]', way, user=None, thread="t1")
    assert memory.list() == []
