"""The tools in the hands of CrewAI's agents."""

from __future__ import annotations

import json

import pytest
from crewai import Crew
from crewai.tools import BaseTool
from pydantic import TypeAdapter

from crewai_mnemic import MnemicRecall, mnemic_tools
from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory, StoreFull


def test_what_is_remembered_is_recalled_in_another_run(memory, scripted, agent_of):
    fact = {"content": "Ana lives in Lisbon.", "type": "semantic"}
    agent_of(scripted(("remember", fact), "ok"), mnemic_tools(memory)).kickoff("I moved to Lisbon.")
    model = scripted(("recall", {"query": "Where does Ana live?", "since": "2020-01-01T00:00:00"}), "In Lisbon.")
    assert agent_of(model, mnemic_tools(memory)).kickoff("Where do I live?").raw == "In Lisbon."
    assert [hit["text"] for hit in json.loads(model.results[0])["results"]] == ["Ana lives in Lisbon."]
    assert memory.messages() == []


def test_recall_does_not_find_the_words_that_the_run_is_about(memory, scripted, agent_of):
    asked = memory.add("What's my dentist called?", session="monday")[0].id
    model = scripted(("recall", {"query": "user's dentist"}), "I don't know.")
    with MnemicRecall(memory).run(exclude=[asked]):
        agent_of(model, mnemic_tools(memory)).kickoff("What's my dentist called?")
    assert json.loads(model.results[0]) == {"evidence": "none", "results": []}


def test_a_crew_with_a_cache_is_not_answered_from_it(memory, scripted, crew_of):
    """It keeps the results of tools by their arguments, for all its agents and runs."""
    question = ("recall", {"query": "Where does Ana live?"})
    model = scripted(question, ("remember", {"content": "Ana lives in Lisbon."}), question, "In Lisbon.")
    crew = crew_of(model, mnemic_tools(memory))
    Crew(agents=crew.agents, tasks=crew.tasks, cache=True).kickoff(inputs={"question": "Where does Ana live?"})
    before, _, after = model.results
    assert "Lisbon" not in before
    assert "Lisbon" in after


def test_a_model_that_writes_its_calls_as_text(memory, scripted, agent_of):
    call = 'Thought: I keep it.\nAction: remember\nAction Input: {"content": "Ana lives in Lisbon."}'
    model = scripted(call, "Thought: I know.\nFinal Answer: Noted.", calls_tools=False)
    assert agent_of(model, mnemic_tools(memory)).kickoff("I moved to Lisbon.").raw == "Noted."
    assert [record.content for record in memory.list()] == ["Ana lives in Lisbon."]


async def test_an_asynchronous_crew(memory, scripted, crew_of):
    model = scripted(("remember", {"content": "Ana lives in Lisbon."}), "Noted.")
    result = await crew_of(model, mnemic_tools(memory)).akickoff(inputs={"question": "I moved."})
    assert result.raw == "Noted."
    assert [record.content for record in memory.list()] == ["Ana lives in Lisbon."]


def test_two_users(memory, scripted, agent_of):
    for user in ("bea", "bob"):
        model = scripted(("remember", {"content": f"I am {user}."}), "ok")
        agent_of(model, mnemic_tools(memory, scope={"user": user})).kickoff("go")
    model = scripted(("recall", {"query": "Who am I?"}), "ok")
    agent_of(model, mnemic_tools(memory, scope={"user": "bob"})).kickoff("go")
    assert [hit["text"] for hit in json.loads(model.results[0])["results"]] == ["I am bob."]
    assert memory.list() == []


def test_the_schema_knows_no_scope(memory, scripted, agent_of):
    model = scripted("ok")
    agent_of(model, mnemic_tools(memory, scope={"user": "bea", "project": "site"})).kickoff("go")
    (tools,) = model._schemas
    schemas = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in tools}
    assert {name: sorted(properties) for name, properties in schemas.items()} == {
        "remember": ["category", "content", "importance", "key", "tags", "type"],
        "recall": ["limit", "query", "since", "until"],
        "correct": ["dry_run", "statement", "wrong"],
        "forget": ["description", "dry_run", "ids"],
    }
    assert not {"user", "project", "session", "scope", "bea", "site"} & {*json.dumps(schemas).replace('"', " ").split()}


def test_a_full_disk_does_not_end_the_run(memory, scripted, agent_of, monkeypatch):
    def full(*_args, **_kwargs):
        raise StoreFull("There is no room left.")

    monkeypatch.setattr(Memory, "remember", full)
    model = scripted(("remember", {"content": "Yes."}), "I could not.")
    result = agent_of(model, mnemic_tools(memory)).kickoff("go")
    assert result.raw == "I could not."
    assert model.results == ["Error executing tool: There is no room left."]


def test_a_run_that_fails_keeps_what_was_remembered(memory, scripted, agent_of):
    model = scripted(("remember", {"content": "Ana lives in Lisbon."}), RuntimeError("The provider is down."))
    with pytest.raises(RuntimeError, match="provider"):
        agent_of(model, mnemic_tools(memory)).kickoff("I moved to Lisbon.")
    assert [record.content for record in memory.list()] == ["Ana lives in Lisbon."]


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (5, 2)])
def test_the_program_limits_the_results(memory, scripted, agent_of, limit, most):
    for number in range(5):
        memory.remember(f"Lisbon has bridge number {number}.")
    model = scripted(("recall", {"query": "Lisbon", "limit": limit}), "ok")
    agent_of(model, mnemic_tools(memory, max_results=2)).kickoff("go")
    assert len(json.loads(model.results[0])["results"]) == most


def test_a_mood_ranks_what_is_recalled(memory, scripted, agent_of):
    glad, sad = "The exam made me proud, I am so happy!", "The exam made me cry, I feel miserable."
    memory.remember(glad)
    memory.remember(sad)
    for felt, first in (("I feel sad and lonely.", sad), ("I am so happy and excited!", glad)):
        model = scripted(("recall", {"query": "How was the exam?"}), "ok")
        tools = mnemic_tools(memory, mood=lambda felt=felt: memory.admin.emotion(felt), emotion_weight=1.0)
        agent_of(model, tools).kickoff("go")
        assert json.loads(model.results[0])["results"][0]["text"] == first


def test_a_tool_that_was_restored_says_what_it_lacks(memory):
    """CrewAI writes agents with their tools into checkpoints, and makes them again from JSON."""
    (restored, *_) = TypeAdapter(list[BaseTool]).validate_python(
        [json.loads(tool.model_dump_json()) for tool in mnemic_tools(memory)]
    )
    with pytest.raises(ConfigurationError, match="The tool remember has no memory"):
        restored.run(content="Ana lives in Lisbon.")


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory"):
        mnemic_tools(wrong)


def test_arguments_are_checked_when_they_are_given(memory):
    with pytest.raises(ConfigurationError, match="mood"):
        mnemic_tools(memory, mood=" ")
    with pytest.raises(ConfigurationError, match="max_results"):
        mnemic_tools(memory, max_results=0)
    for scope in ({"user": None}, {"role": "x"}, 3):
        with pytest.raises(InvalidInput, match="scope"):
            mnemic_tools(memory, scope=scope)
