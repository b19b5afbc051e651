"""The tools in runs of an agent."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from agents import Agent, Runner
from agents.testing import function_call

from mnemic import AsyncMemory, ConfigurationError, StoreFull
from openai_agents_mnemic import MnemicSession, mnemic_tools


@dataclass
class Visitor:
    user: str


async def called(memory, scripted, tool, arguments, context=None, **options):
    """What the model is told."""
    model = scripted(function_call(tool, arguments, call_id="c1"), "ok")
    agent = Agent(name="A", model=model, tools=mnemic_tools(memory, **options))
    assert (await Runner.run(agent, "go", context=context)).final_output == "ok"
    return str(model.calls[-1].input[-1]["output"])


def test_the_schemas_know_no_scope(memory):
    schemas = {tool.name: tool.params_json_schema for tool in mnemic_tools(memory, scope={"user": "bea"})}
    assert {name: sorted(schema["properties"]) for name, schema in schemas.items()} == {
        "remember": ["category", "content", "importance", "key", "tags", "type"],
        "recall": ["limit", "query", "since", "until"],
        "correct": ["dry_run", "statement", "wrong"],
        "forget": ["description", "dry_run", "ids"],
    }
    assert all(schema["additionalProperties"] is False for schema in schemas.values())
    assert all(tool.description for tool in mnemic_tools(memory))


async def test_the_scope_comes_from_the_context(memory, scripted):
    scope = {"scope": lambda ctx: {"user": ctx.context.user}}
    for user in ("bea", "bob"):
        await called(memory, scripted, "remember", {"content": f"I am {user}."}, Visitor(user), **scope)
    assert [record.content for record in memory.scoped(user="bea").list()] == ["I am bea."]
    found = json.loads(await called(memory, scripted, "recall", {"query": "Who am I?"}, Visitor("bob"), **scope))
    assert [hit["text"] for hit in found["results"]] == ["I am bob."]


@pytest.mark.parametrize("streamed", [False, True])
async def test_recall_does_not_find_the_question_that_it_answers(memory, scripted, streamed):
    model = scripted("Hello!", function_call("recall", {"query": "user's dentist"}, call_id="c1"), "I don't know.")
    agent, session = Agent(name="A", model=model, tools=mnemic_tools(memory)), MnemicSession(memory, "monday")
    await Runner.run(agent, "Hello, I like tea.", session=session)
    if streamed:
        result = Runner.run_streamed(agent, "What's my dentist called?", session=session)
        assert [event async for event in result.stream_events()]
    else:
        await Runner.run(agent, "What's my dentist called?", session=session)
    assert "dentist" not in model.calls[-1].input[-1]["output"]


async def test_a_scope_without_what_it_reads_is_told_so(memory, scripted):
    told = await called(memory, scripted, "recall", {"query": "x"}, scope=lambda ctx: {"user": ctx.context.user})
    assert "could not be read from the call" in told


async def test_unknown_arguments_do_nothing(memory, scripted):
    kept = memory.remember("Ana lives in Lisbon.")
    told = await called(memory, scripted, "forget", {"ids": [kept.id], "hard": True})
    assert "hard is unknown" in told
    assert [record.id for record in memory.list()] == [kept.id]


@pytest.mark.parametrize("arguments", ["[]", "{", "null", "3"])
async def test_arguments_that_are_no_object_are_told(memory, scripted, arguments):
    assert (await called(memory, scripted, "recall", arguments)).startswith("Error: ")


async def test_a_full_disk_does_not_end_the_run(memory, scripted, monkeypatch):
    async def full(self, *args, **kwargs):
        raise StoreFull("There is no room left.")

    monkeypatch.setattr(AsyncMemory, "remember", full)
    assert "no room left" in await called(memory, scripted, "remember", {"content": "Yes."})


async def test_an_asynchronous_handle(scripted):
    async with AsyncMemory(":memory:", embedder="hashing") as memory:
        await called(memory, scripted, "remember", {"content": "Yes."})
        assert len(await memory.list()) == 1


@pytest.mark.parametrize("wrong", [None, "./memory", AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
        mnemic_tools(wrong)
