"""The tools alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from agent_framework import Agent, AgentSession

from agent_framework_mnemic import mnemic_tools
from mnemic import AsyncMemory, ConfigurationError, StoreFull


async def run(memory, model, session=None, **options):
    return await Agent(model, tools=mnemic_tools(memory, **options)).run("go", session=session)


async def test_remember_recall_forget(memory, scripted, call):
    await run(memory, scripted(call("remember", content="Ana lives in Lisbon.", importance=0.9), "ok"))
    (record,) = memory.list()
    assert (record.content, record.importance, record.source) == ("Ana lives in Lisbon.", 0.9, "model_inference")
    recall, forget = call("recall", query="Where does Ana live?"), call("forget", "c2", ids=[record.id, "x"])
    model = scripted(recall, forget, "ok")
    await run(memory, model)
    recalled, forgotten = [content.result for content in model.results()]
    (hit,) = json.loads(recalled)["results"]
    assert (hit["id"], hit["text"]) == (record.id, "Ana lives in Lisbon.")
    assert forgotten.startswith(f"{record.id}: forgotten\nx: ")
    assert memory.list() == []


async def test_times_of_recall(memory, scripted, call):
    memory.add("I moved to Lisbon.", sent_at=datetime(2026, 5, 4, tzinfo=UTC))
    before = call("recall", query="Where did I move?", until="2026-05-01T00:00:00+00:00")
    after = call("recall", "c2", query="Where did I move?", since="2026-05-01T00:00:00+00:00")
    model = scripted(before, after, "ok")
    await run(memory, model)
    assert ["Lisbon" in content.result for content in model.results()] == [False, True]


async def test_the_schema_knows_no_scope(memory):
    schemas = {made.name: made.parameters() for made in mnemic_tools(memory, scope={"user": "bea", "project": "site"})}
    assert {name: sorted(schema["properties"]) for name, schema in schemas.items()} == {
        "remember": ["category", "content", "importance", "key", "tags", "type"],
        "recall": ["limit", "query", "since", "until"],
        "correct": ["dry_run", "statement", "wrong"],
        "forget": ["description", "dry_run", "ids"],
    }
    assert all(schema["additionalProperties"] is False for schema in schemas.values())


async def test_the_scope_comes_from_the_session(memory, scripted, call):
    def per_user(session):
        return {"user": session.session_id}

    for user in ("bea", "bob"):
        model = scripted(call("remember", content=f"I am {user}."), "ok")
        await run(memory, model, AgentSession(session_id=user), scope=per_user)
    assert [record.content for record in memory.scoped(user="bea").list()] == ["I am bea."]
    model = scripted(call("recall", query="Who am I?"), "ok")
    await run(memory, model, AgentSession(session_id="bob"), scope=per_user)
    (content,) = model.results()
    assert [hit["text"] for hit in json.loads(content.result)["results"]] == ["I am bob."]


async def test_what_a_model_gets_wrong_it_is_told(memory, scripted, call):
    model = scripted(call("remember", content=" ", importance=2), call("remember", "c2", content="Yes."), "ok")
    await run(memory, model)
    assert model.results()[0].result.startswith("Error: ")
    assert "0 to 1" in model.results()[0].result
    assert [record.content for record in memory.list()] == ["Yes."]


async def test_a_full_disk_does_not_end_the_run(memory, scripted, call, monkeypatch):
    async def full(self, *args, **kwargs):
        raise StoreFull("There is no room left.")

    monkeypatch.setattr(AsyncMemory, "remember", full)
    model = scripted(call("remember", content="Yes."), "I could not.")
    assert (await run(memory, model)).text == "I could not."
    assert model.results()[0].result == "Error: There is no room left."


async def test_a_scope_that_cannot_be_read_ends_no_run_and_reads_nothing(memory, scripted, call):
    memory.remember("Ana lives in Lisbon.")
    model = scripted(call("recall", query="Where does Ana live?"), "ok")
    await run(memory, model, scope=lambda session: {"user": session.state["user"]})
    assert model.results()[0].result == "Error: Function failed."  # the framework's words; the program's log has ours


@pytest.mark.parametrize(("wrong", "text"), [({"memory": "./memory"}, "memory must be"), ({"mood": " "}, "mood")])
def test_wrong_arguments_are_refused(memory, wrong, text):
    with pytest.raises(ConfigurationError, match=text):
        mnemic_tools(**{"memory": memory, **wrong})
