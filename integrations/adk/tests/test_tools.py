"""The tools in runs of an agent."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import LlmAgent

from adk_mnemic import MnemicPlugin, mnemic_tools
from mnemic import AsyncMemory, ConfigurationError, StoreFull


@pytest.fixture
def answer(scripted, talk, called):
    """What the model is told when it calls a tool."""

    async def told(
        memory, tool: str, user: str = "ana", options: dict[str, Any] | None = None, **arguments: Any
    ) -> Any:
        model = scripted(called(tool, **arguments), "ok")
        chat = talk(LlmAgent(name="clerk", model=model, tools=mnemic_tools(memory, **(options or {}))))
        assert await chat.say("go", user=user) == "ok"
        return model.seen[-1][-1].parts[-1].function_response.response

    return told


def test_the_schemas_know_no_scope(memory):
    made = {tool.name: tool._get_declaration() for tool in mnemic_tools(memory)}
    assert {name: sorted(tool.parameters_json_schema["properties"]) for name, tool in made.items()} == {
        "remember": ["category", "content", "importance", "key", "tags", "type"],
        "recall": ["limit", "query", "since", "until"],
        "correct": ["dry_run", "statement", "wrong"],
        "forget": ["description", "dry_run", "ids"],
    }
    assert {name: tool.parameters_json_schema.get("required", []) for name, tool in made.items()} == {
        "remember": ["content"], "recall": ["query"], "correct": ["wrong", "statement"], "forget": [],
    }  # fmt: skip
    assert "The same key replaces" in made["remember"].description


async def test_the_scope_comes_from_the_run(memory, answer):
    for user in ("bea", "bob"):
        await answer(memory, "remember", user, content=f"I am {user}.")
    assert [record.content for record in memory.scoped(user="bea").list()] == ["I am bea."]
    found = await answer(memory, "recall", "bob", query="Who am I?")
    assert [hit["text"] for hit in found["results"]] == ["I am bob."]


async def test_recall_does_not_find_the_question_that_it_answers(memory, scripted, talk, called):
    model = scripted(called("recall", query="user's dentist"), "I don't know.")
    agent = LlmAgent(name="clerk", model=model, tools=mnemic_tools(memory))
    await talk(agent, [MnemicPlugin(memory)]).say("What's my dentist called?")
    assert model.seen[-1][-1].parts[-1].function_response.response == {"evidence": "none", "results": []}


async def test_a_scope_without_what_it_reads_is_told_so(memory, answer):
    told = await answer(memory, "recall", options={"scope": lambda caller: {"user": caller.tenant}}, query="x")
    assert "could not be read from the call" in told["error"]


async def test_unknown_arguments_do_nothing(memory, answer):
    kept = memory.remember("Ana lives in Lisbon.")
    told = await answer(memory, "forget", ids=[kept.id], hard=True)
    assert "hard is unknown" in told["error"]
    assert [record.id for record in memory.list()] == [kept.id]


async def test_arguments_are_what_the_schema_says(memory, answer):
    memory.remember("Ana lives in Lisbon.")
    found = await answer(memory, "recall", query="Lisbon", since="2026-01-01T00:00:00", limit=3.0)
    assert [hit["text"] for hit in found["results"]] == ["Ana lives in Lisbon."]
    assert (await answer(memory, "recall", query="Lisbon", until="2026-01-01T00:00:00"))["results"] == []
    assert "since" in (await answer(memory, "recall", query="Lisbon", since="yesterday"))["error"]


async def test_a_full_disk_does_not_end_the_run(memory, answer, monkeypatch):
    async def full(self, *args, **kwargs):
        raise StoreFull("There is no room left.")

    monkeypatch.setattr(AsyncMemory, "remember", full)
    assert "no room left" in (await answer(memory, "remember", content="Yes."))["error"]


async def test_an_asynchronous_handle(answer):
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        await answer(memory, "remember", options={"scope": None}, content="Yes.")
        assert len(await memory.list()) == 1


@pytest.mark.parametrize("wrong", [None, "./memory", AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
        mnemic_tools(wrong)
