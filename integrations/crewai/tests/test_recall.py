"""What the agents of a run are shown, and what is left of it."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from crewai.hooks import get_before_llm_call_hooks, register_before_llm_call_hook
from crewai.tools import tool

from crewai_mnemic import MnemicRecall
from crewai_mnemic.recall import _show
from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory, StoreUnavailable

FENCE = "From earlier conversations."
QUESTION = "Where does Ana live?"
FACT = "Ana lives in Lisbon."


@tool
def look() -> str:
    """Look."""
    return "seen"


@pytest.fixture
def known(memory):
    memory.remember(FACT)
    return memory


def test_an_agent_is_shown_what_bears_on_its_question(known, scripted, agent_of):
    model = scripted(("look", {}), "In Lisbon.")
    with MnemicRecall(known).run():
        assert agent_of(model, [look]).kickoff(QUESTION).raw == "In Lisbon."
    for request in (0, 1):
        assert model.asked(request).startswith("<memory ")
        assert model.asked(request).count(FACT) == 1
        assert model.asked(request).endswith(f"Current Task: {QUESTION}")
        assert FENCE not in model._prompts[request][0]["content"]  # of the system
    assert known.messages() == []


def test_an_agent_of_a_crew_is_shown_what_bears_on_its_task(known, scripted, crew_of, monkeypatch):
    asked = []
    real = Memory.get_memory_context
    monkeypatch.setattr(
        Memory, "get_memory_context", lambda self, query, **given: asked.append(query) or real(self, query, **given)
    )
    model = scripted(("look", {}), "In Lisbon.")
    with MnemicRecall(known).run():
        crew_of(model, [look]).kickoff(inputs={"question": QUESTION})
    assert FACT in model.asked()
    assert asked == [QUESTION]  # once, and without what CrewAI writes around a task


async def test_asynchronous_runs(known, scripted, crew_of, agent_of):
    recall = MnemicRecall(known)
    for kickoff in ("kickoff_async", "akickoff"):
        model = scripted("In Lisbon.", "In Lisbon.")
        with recall.run():
            await getattr(crew_of(model), kickoff)(inputs={"question": QUESTION})
            await getattr(agent_of(model), kickoff)(QUESTION)
        assert [model.asked(at).count(FACT) for at in (0, 1)] == [1, 1]


def test_a_crew_for_each_input(known, scripted, crew_of):
    known.remember("Ana drinks green tea.")
    model = scripted("In Lisbon.", "Tea.")
    with MnemicRecall(known).run():
        crew_of(model).kickoff_for_each(inputs=[{"question": QUESTION}, {"question": "What does Ana drink?"}])
    assert FACT in model.asked(0)
    assert "green tea" in model.asked(1)


def test_a_task_that_a_guardrail_sends_back_is_shown_it_again(known, scripted, crew_of):
    refused = []

    def checked(output):
        if not refused:
            refused.append(output.raw)
            return False, "Look again."
        return True, output.raw

    model = scripted("In Oslo.", "In Lisbon.")
    with MnemicRecall(known).run():
        result = crew_of(model, guardrail=checked).kickoff(inputs={"question": QUESTION})
    assert (refused, result.raw) == (["In Oslo."], "In Lisbon.")
    assert [model.asked(at).count(FACT) for at in (0, 1)] == [1, 1]


def test_only_runs_recall(known, scripted, agent_of, crew_of):
    recall = MnemicRecall(known)
    model = scripted("?", "?", "?")
    crew = crew_of(model)
    crew.kickoff(inputs={"question": QUESTION})
    with recall.run():
        crew.kickoff(inputs={"question": QUESTION})  # the same agents
    agent_of(model).kickoff(QUESTION)
    assert [FACT in model.asked(at) for at in range(3)] == [False, True, False]


def test_what_a_model_is_asked_outside_of_an_agent_is_left_alone(known, scripted):
    """Such as CrewAI's own questions to a model, or those of a program."""
    messages = [{"role": "user", "content": QUESTION}]
    called = []
    recall = MnemicRecall(known)
    register_before_llm_call_hook(called.append)
    with recall.run():
        scripted()._invoke_before_llm_call_hooks(messages)
    assert len(called) == 1
    assert messages == [{"role": "user", "content": QUESTION}]


@pytest.mark.parametrize("options", [{}, {"calls_tools": False}], ids=["native", "as text"])
@pytest.mark.parametrize("tools", [(), (look,)], ids=["no tools", "tools"])
def test_what_crewai_writes_around_a_question_is_not_asked(known, scripted, agent_of, monkeypatch, options, tools):
    asked = []
    real = Memory.get_memory_context
    monkeypatch.setattr(
        Memory, "get_memory_context", lambda self, query, **given: asked.append(query) or real(self, query, **given)
    )
    model = scripted("Thought: I know.\nFinal Answer: In Lisbon.", **options)
    with MnemicRecall(known).run():
        agent_of(model, tools).kickoff(QUESTION)
    assert asked == [QUESTION]
    assert FACT in model.asked()


def test_a_conversation_as_messages(known, scripted, agent_of, monkeypatch):
    recent = []
    real = Memory.get_memory_context

    def noted(self, query, **given):
        recent.append((query, given["recent"]))
        return real(self, query, **given)

    monkeypatch.setattr(Memory, "get_memory_context", noted)
    said = [
        {"role": "user", "content": "I speak of Ana."},
        {"role": "assistant", "content": "I know her."},
        {"role": "user", "content": QUESTION},
    ]
    model = scripted("In Lisbon.")
    with MnemicRecall(known).run():
        agent_of(model).kickoff(said)
    assert recent == [(QUESTION, ["I speak of Ana.", "I know her."])]
    assert [FACT in str(message["content"]) for message in model._prompts[0]] == [False, False, False, True]


def test_a_message_of_parts(known):
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url"}]
    request = SimpleNamespace(executor=object(), task=None, iterations=0, messages=[{"role": "user", "content": parts}])
    with MnemicRecall(known).run():
        _show(request)
    shown, *rest = request.messages[0]["content"]
    assert FACT in shown["text"]
    assert rest == parts


def test_nothing_relevant_shows_nothing(known, scripted, agent_of):
    model = scripted("Hello!")
    with MnemicRecall(known).run():
        agent_of(model).kickoff("hi")
    assert model.asked().strip().startswith("Current Task: hi")
    assert FENCE not in model.asked()


def test_what_a_prompt_shows_anyway_is_not_recalled(known, scripted, agent_of):
    said = known.add("Ana lives near her sister.", session="monday")[0]
    model = scripted("?", "?")
    recall = MnemicRecall(known)
    for exclude in ([], [said.id]):
        with recall.run(exclude=exclude):
            agent_of(model).kickoff(QUESTION)
    assert ["near her sister" in model.asked(at) for at in (0, 1)] == [True, False]


def test_what_was_erased_is_not_recalled(known, scripted, agent_of):
    known.forget(ids=[known.list()[0].id], hard=True)
    model = scripted("?")
    with MnemicRecall(known).run():
        agent_of(model).kickoff(QUESTION)
    assert FENCE not in model.asked()


@pytest.mark.parametrize(
    ("options", "shown"),
    [({"filters": {"kinds": ["message"]}}, False), ({"max_tokens": 1}, False), ({"max_tokens": 0}, False), ({}, True)],
)
def test_filters_and_budget(known, scripted, agent_of, options, shown):
    model = scripted("?")
    with MnemicRecall(known, **options).run():
        agent_of(model).kickoff(QUESTION)
    assert (FACT in model.asked()) == shown


def test_the_profile_is_shown_whatever_is_asked(memory, scripted, agent_of):
    memory.remember("Ana is allergic to peanuts.", importance=1.0)
    model = scripted("Hello!")
    with MnemicRecall(memory, profile=True).run():
        agent_of(model).kickoff("hi")
    assert model.asked().count("Ana is allergic to peanuts.") == 1


def test_a_recall_that_fails_does_not_stop_the_agent(known, scripted, agent_of, monkeypatch, caplog):
    def broken(*_args, **_kwargs):
        raise StoreUnavailable("The disk is gone.")

    monkeypatch.setattr(Memory, "get_memory_context", broken)
    with caplog.at_level(logging.WARNING), MnemicRecall(known).run():
        assert agent_of(scripted("Hello.")).kickoff(QUESTION).raw == "Hello."
    assert "Recall failed" in caplog.text


# Users


def test_one_crew_serves_two_users(memory, scripted, crew_of):
    recall, model = MnemicRecall(memory), scripted("?", "?")
    crew = crew_of(model)
    for at, (user, city) in enumerate({"bea": "Lisbon", "bob": "Oslo"}.items()):
        memory.scoped(user=user).remember(f"I live in {city}.")
        with recall.run(scope={"user": user}):
            crew.kickoff(inputs={"question": "Where do I live?"})
        assert [name for name in ("Lisbon", "Oslo") if name in model.asked(at)] == [city]


def test_many_users_at_once(memory, scripted, agent_of):
    recall, users = MnemicRecall(memory), [f"user{number}" for number in range(6)]
    for user in users:
        memory.scoped(user=user).remember(f"The door of the house is called {user}-door.")

    def ask(user):
        model = scripted("?")
        with recall.run(scope={"user": user}):
            agent_of(model).kickoff("What is the door of the house called?")
        return model.asked()

    async def ask_too(user):
        model = scripted("?")
        with recall.run(scope={"user": user}):
            await agent_of(model).kickoff_async("What is the door of the house called?")
        return model.asked()

    async def all_of_them():
        return await asyncio.gather(*map(ask_too, users))

    with ThreadPoolExecutor(max_workers=3) as pool:
        shown = [*pool.map(ask, users), *asyncio.run(all_of_them())]
    for user, text in zip(users * 2, shown, strict=True):
        assert [other for other in users if f"{other}-door" in text] == [user]


def test_no_user_is_an_error_and_never_another_user(known, scripted):
    recall = MnemicRecall(known)
    for scope in ({"user": None}, {"role": "x"}, 3):
        with pytest.raises(InvalidInput, match="scope"), recall.run(scope=scope):
            pytest.fail("It ran.")


def test_a_run_within_a_run(memory, scripted, agent_of):
    recall, model = MnemicRecall(memory), scripted("?", "?")
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"My name is {user}.")
    with recall.run(scope={"user": "bea"}):
        with recall.run(scope={"user": "bob"}):
            agent_of(model).kickoff("What is my name?")
        agent_of(model).kickoff("What is my name?")
    assert ["bob" in model.asked(at) for at in (0, 1)] == [True, False]


def test_the_hook_is_registered_once(memory):
    for _ in range(3):
        MnemicRecall(memory)
    assert len(get_before_llm_call_hooks()) == 1


# Idle


def test_the_idle_period_starts_after_the_run(known, scripted, crew_of):
    armed = []

    def answer():
        armed.append(known.idle.wait() is not None)
        return "In Lisbon."

    with MnemicRecall(known).run():
        crew_of(scripted(answer)).kickoff(inputs={"question": QUESTION})
    assert armed == [False]
    assert known.idle.wait() is not None


def test_the_idle_period_starts_after_a_run_that_failed(known, scripted, agent_of):
    with pytest.raises(RuntimeError, match="provider"), MnemicRecall(known).run():
        agent_of(scripted(RuntimeError("The provider is down."))).kickoff(QUESTION)
    assert known.idle.wait() is not None


def test_idle_work_can_be_left_out(known, scripted, agent_of):
    with MnemicRecall(known, idle=False).run():
        agent_of(scripted("?")).kickoff(QUESTION)
    assert known.idle.wait() is None


# Arguments


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": -1}, {"min_evidence": "much"}, {"filters": {"colour": "red"}}, {"mood": " "}]
)
def test_arguments_are_checked_when_they_are_given(memory, wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        MnemicRecall(memory, **wrong)


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory"):
        MnemicRecall(wrong)
