"""The tools alone."""

from __future__ import annotations

import json

import pytest
from strands import Agent

from mnemic import AsyncMemory, ConfigurationError, StoreFull
from strands_mnemic import mnemic_tools


def run(memory, model, state=None, **options):
    made = Agent(model, tools=mnemic_tools(memory, **options), callback_handler=None)
    return made("go", invocation_state=state)


def answers(model):
    return [(result["status"], result["content"][0]["text"]) for result in model.results()]


def test_remember_recall_forget(memory, scripted, call):
    run(memory, scripted(call("remember", content="Ana lives in Lisbon.", importance=0.9), "ok"))
    (record,) = memory.list()
    assert (record.content, record.importance, record.source) == ("Ana lives in Lisbon.", 0.9, "model_inference")
    recall, forget = call("recall", query="Where does Ana live?"), call("forget", "c2", ids=[record.id, "x"])
    model = scripted(recall, forget, "ok")
    run(memory, model)
    (_, recalled), (_, forgotten) = answers(model)
    (hit,) = json.loads(recalled)["results"]
    assert (hit["id"], hit["text"]) == (record.id, "Ana lives in Lisbon.")
    assert forgotten.startswith(f"{record.id}: forgotten\nx: ")
    assert memory.list() == []


def test_the_schema_knows_no_scope(memory, scripted):
    model = scripted("ok")
    run(memory, model, scope={"user": "bea", "project": "site"})
    (schemas,) = model.tools
    assert {name: sorted(schema["properties"]) for name, schema in schemas.items()} == {
        "remember": ["category", "content", "importance", "key", "tags", "type"],
        "recall": ["limit", "query", "since", "until"],
        "correct": ["dry_run", "statement", "wrong"],
        "forget": ["description", "dry_run", "ids"],
    }


def test_the_scope_comes_from_the_invocation(memory, scripted, call):
    def per_user(state):
        return {"user": state["user"]}

    for user in ("bea", "bob"):
        model = scripted(call("remember", content=f"I am {user}."), "ok")
        run(memory, model, {"user": user, "tool_use": "of the program"}, scope=per_user)
    assert [record.content for record in memory.scoped(user="bea").list()] == ["I am bea."]
    model = scripted(call("recall", query="Who am I?"), "ok")
    run(memory, model, {"user": "bob"}, scope=per_user)
    ((_, recalled),) = answers(model)
    assert [hit["text"] for hit in json.loads(recalled)["results"]] == ["I am bob."]


def test_what_a_model_gets_wrong_it_is_told(memory, scripted, call):
    wrong = [
        call("remember", content=" ", importance=2),
        call("remember", "c2", text="x"),
        call("recall", "c3", query=3),
    ]
    model = scripted(*wrong, call("remember", "c4", content="Yes."), "ok")
    run(memory, model)
    statuses = [status for status, _ in answers(model)]
    assert statuses == ["error", "error", "error", "success"]
    texts = [text for _, text in answers(model)]
    assert "0 to 1" in texts[0]
    assert texts[1].startswith("Wrong arguments: content Field required; text is unknown; known are content, key,")
    assert [record.content for record in memory.list()] == ["Yes."]


def test_a_full_disk_does_not_end_the_run(memory, scripted, call, monkeypatch):
    async def full(self, *args, **kwargs):
        raise StoreFull("There is no room left.")

    monkeypatch.setattr(AsyncMemory, "remember", full)
    model = scripted(call("remember", content="Yes."), "I could not.")
    assert str(run(memory, model)).strip() == "I could not."
    assert answers(model) == [("error", "There is no room left.")]


def test_a_scope_that_cannot_be_read_reads_nothing(memory, scripted, call):
    memory.remember("Ana lives in Lisbon.")
    model = scripted(call("recall", query="Where does Ana live?"), "ok")
    run(memory, model, scope=lambda state: {"user": state["user"]})
    ((status, text),) = answers(model)
    assert status == "error"
    assert "could not be read from the call" in text


@pytest.mark.parametrize(("wrong", "text"), [({"memory": "./memory"}, "memory must be"), ({"mood": " "}, "mood")])
def test_wrong_arguments_are_refused(memory, wrong, text):
    with pytest.raises(ConfigurationError, match=text):
        mnemic_tools(**{"memory": memory, **wrong})
