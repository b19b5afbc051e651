"""What of a thread MnemicMiddleware stores, and what it recalls beside it: edits, broken runs, clients, several at once."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    ToolCallLimitMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from langchain_mnemic import MnemicMiddleware, MnemicRetriever
from mnemic import Memory, StoreFull

CALL = AIMessage("", tool_calls=[{"name": "ring", "args": {"who": "Bo"}, "id": "c1"}])
T1: Any = {"configurable": {"thread_id": "t1"}}

both_ways = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
with_and_without = pytest.mark.parametrize("saved", [False, True], ids=["stateless", "checkpointer"])


@tool
def ring(who: str) -> str:
    """Ring somebody."""
    raise RuntimeError(f"{who} is busy")


class Broken(GenericFakeChatModel):
    """A provider that is down."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("down")


class Waiting(GenericFakeChatModel):
    """A provider that never answers."""

    asked: asyncio.Event

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.set()
        await asyncio.Event().wait()


def said(memory: Memory, **options: Any) -> list[str]:
    return [f"{m.role}: {m.content}" for m in memory.messages(**options)]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


async def run(agent: Any, asynchronous: bool, *messages: Any, config: Any = T1) -> Any:
    given = {"messages": [*messages]}
    return await agent.ainvoke(given, config) if asynchronous else agent.invoke(given, config)


def agent_of(model: Any, *middleware: Any, saved: Any = True, **options: Any) -> Any:
    saver = InMemorySaver() if saved is True else saved or None
    return create_agent(model, middleware=[*middleware], checkpointer=saver, **options)


# Edits


@both_ways
@pytest.mark.parametrize("how", ["resent", "removed", "updated"])
async def test_an_edited_message_is_stored_and_replaces_the_old_words_in_its_thread(
    memory: Memory, scripted: Any, asynchronous: bool, how: str
) -> None:
    model = scripted("Nice.", "Hm.", "Cold.", "In Oslo.", "Two.")
    agent = agent_of(model, MnemicMiddleware(memory))
    old, new = (HumanMessage(f"I moved to {city}.", id="u1") for city in ("Lisbon", "Oslo"))
    await run(agent, asynchronous, old)
    await run(agent, asynchronous, HumanMessage("Hello.", id="u2"))
    if how == "updated":
        agent.update_state(T1, {"messages": [new]})
        await run(agent, asynchronous, HumanMessage("Is it cold where I moved?"))
    else:
        await run(agent, asynchronous, *([RemoveMessage(id="u1")] if how == "removed" else []), new)
    assert [text for text in said(memory) if "moved to" in text] == [f"user: {m.text}" for m in (old, new)]
    await run(agent, asynchronous, HumanMessage("Where have I moved to?"))
    assert not any("Lisbon" in message.text for shown in model.seen[2:] for message in shown)
    stored = said(memory)
    await run(agent, asynchronous, HumanMessage("Bye."))
    assert said(memory)[: len(stored)] == stored
    assert len(memory.messages()) == len(stored) + 2
    assert memory.search("moved to Lisbon")[0].text == old.text  # what was said is evidence, elsewhere


@both_ways
async def test_replaced_words_stay_replaced_when_their_message_has_left_the_thread(
    memory: Memory, scripted: Any, asynchronous: bool
) -> None:
    model = scripted(*(f"answer {n}" for n in range(6)))
    agent = agent_of(model, MnemicMiddleware(memory))
    for city in ("Lisbon", "Oslo"):
        await run(agent, asynchronous, HumanMessage(f"I moved to {city}.", id="u1"))
    agent.update_state(T1, {"messages": [RemoveMessage(id="u1")]})
    for _ in range(2):
        await run(agent, asynchronous, HumanMessage("Where have I moved to?"))
        assert any("Oslo" in message.text for message in model.seen[-1])
        assert not any("Lisbon" in message.text for message in model.seen[-1])


async def test_words_that_are_taken_back_are_stored_once(memory: Memory, scripted: Any) -> None:
    agent = agent_of(scripted("a", "b", "c"), MnemicMiddleware(memory))
    for text in ("Lisbon", "Oslo", "Lisbon"):
        await run(agent, False, HumanMessage(text, id="u1"))
    assert said(memory, role="user") == ["user: Lisbon", "user: Oslo"]


async def test_an_edit_of_a_client_that_has_ids_and_no_checkpointer(memory: Memory, scripted: Any) -> None:
    model = scripted("Nice.", "Cold.")
    agent = agent_of(model, MnemicMiddleware(memory), saved=False)
    await run(agent, False, HumanMessage("I moved to Lisbon.", id="u1"))
    await run(agent, False, HumanMessage("I moved to Oslo.", id="u1"))
    assert said(memory, role="user") == ["user: I moved to Lisbon.", "user: I moved to Oslo."]
    assert "Lisbon" not in model.seen[1][-1].text


# Runs that do not end


@both_ways
@with_and_without
@pytest.mark.parametrize("how", ["model", "tool", "interrupt"])
async def test_what_the_user_said_outlives_a_run_that_breaks(
    memory: Memory, scripted: Any, asynchronous: bool, saved: bool, how: str
) -> None:
    model = Broken(messages=iter([])) if how == "model" else scripted(CALL, CALL.model_copy())
    pause = [HumanInTheLoopMiddleware(interrupt_on={"ring": True})] if how == "interrupt" else []
    saver = InMemorySaver() if saved or pause else None
    agent = agent_of(model, MnemicMiddleware(memory), *pause, saved=saver, tools=[ring])
    for _ in range(2):  # and is stored once, when the request is made again
        if pause:
            await run(agent, asynchronous, HumanMessage("Ring Bo.", id="u1"))
        else:
            with pytest.raises(RuntimeError):
                await run(agent, asynchronous, HumanMessage("Ring Bo.", id="u1") if saved else user("Ring Bo."))
    assert said(memory) == ["user: Ring Bo."]


@both_ways
async def test_a_stream_that_is_left(memory: Memory, scripted: Any, asynchronous: bool) -> None:
    agent = agent_of(scripted("How do you like it?"), MnemicMiddleware(memory), saved=False)
    given: Any = {"messages": [HumanMessage("I moved to Lisbon.")]}
    if asynchronous:
        live = agent.astream(given, T1, stream_mode="messages")
        await anext(live)
        await live.aclose()
    else:
        stream = agent.stream(given, T1, stream_mode="messages")
        next(stream)
        stream.close()
    assert said(memory) == ["user: I moved to Lisbon."]


async def test_a_run_that_is_cancelled(memory: Memory) -> None:
    model = Waiting(messages=iter([]), asked=asyncio.Event())
    agent = agent_of(model, MnemicMiddleware(memory), saved=False)
    task = asyncio.create_task(run(agent, True, HumanMessage("I moved to Lisbon.")))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert said(memory) == ["user: I moved to Lisbon."]


async def test_an_interrupt_that_is_resumed_stores_each_message_once(memory: Memory, scripted: Any) -> None:
    pause = HumanInTheLoopMiddleware(interrupt_on={"ring": True})
    asking = AIMessage("May I?", tool_calls=CALL.tool_calls)
    agent = agent_of(scripted(asking, "I see."), MnemicMiddleware(memory), pause, tools=[ring])
    await run(agent, False, HumanMessage("Ring Bo."))
    agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), T1)
    assert said(memory) == ["user: Ring Bo.", "assistant: May I?", "assistant: I see."]


@both_ways
async def test_a_write_before_the_model_that_fails_is_made_after_it(
    memory: Memory, scripted: Any, monkeypatch: Any, caplog: Any, asynchronous: bool
) -> None:
    add, failed = Memory.add, list[int]()

    def once(self: Memory, messages: Any, **options: Any) -> Any:
        if not failed:
            failed.append(1)
            raise StoreFull("no room")
        return add(self, messages, **options)

    monkeypatch.setattr(Memory, "add", once)
    await run(agent_of(scripted("Nice."), MnemicMiddleware(memory), saved=False), asynchronous, user("I moved."))
    assert "Not stored before the model's call" in caplog.text
    assert said(memory) == ["user: I moved.", "assistant: Nice."]


async def test_what_leaves_the_thread_after_the_first_call_is_stored_and_not_reported(
    memory: Memory, scripted: Any, caplog: Any
) -> None:
    class Cleared(AgentMiddleware):
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id="u1")]}

    await run(
        agent_of(scripted("Nice."), MnemicMiddleware(memory), Cleared()), False, HumanMessage("I moved.", id="u1")
    )
    assert said(memory) == ["user: I moved.", "assistant: Nice."]
    assert "Removed" not in caplog.text


# Several agents


@both_ways
async def test_a_specialist_gets_the_words_of_the_user(memory: Memory, scripted: Any, asynchronous: bool) -> None:
    own = memory.scoped(user="specialist")
    specialist = create_agent(scripted("Reset it.", "Twice."), middleware=[MnemicMiddleware(own)])
    answers = iter(["To the technician.", "Again to the technician."])
    graph = StateGraph(MessagesState)
    graph.add_node("triage", lambda _: {"messages": [AIMessage(next(answers))]})
    graph.add_node("specialist", specialist)
    graph.add_edge(START, "triage")
    graph.add_edge("triage", "specialist")
    compiled = graph.compile(checkpointer=InMemorySaver())
    for text in ("My boiler leaks.", "It still leaks."):
        await run(compiled, asynchronous, HumanMessage(text))
    assert said(own) == [
        "user: My boiler leaks.", "assistant: To the technician.", "assistant: Reset it.",
        "user: It still leaks.", "assistant: Again to the technician.", "assistant: Twice.",
    ]  # fmt: skip


class Team(MnemicMiddleware):
    """The memory of a team."""


@both_ways
@with_and_without
async def test_two_memories_in_one_agent(memory: Memory, scripted: Any, asynchronous: bool, saved: bool) -> None:
    team = memory.scoped(user="team")
    memory.add("My own office is in Lisbon.")
    team.add("The office of the team is in Oslo.")
    model = scripted("Noted.", "Good.")
    agent = agent_of(model, MnemicMiddleware(memory), Team(team), saved=saved)
    for text in ("Where is the office?", "Which office is nearer?"):
        await run(agent, asynchronous, HumanMessage(text))
    for shown in model.seen:
        assert shown[-1].text.count("My own office is in Lisbon.") == 1
        assert shown[-1].text.count("The office of the team is in Oslo.") == 1
    told = ["user: Where is the office?", "assistant: Noted.", "user: Which office is nearer?", "assistant: Good."]
    assert said(memory, session="t1") == said(team, session="t1") == told


# Clients without ids and without a checkpointer


@both_ways
@pytest.mark.parametrize("config", [T1, None], ids=["session", "none"])
async def test_a_client_without_ids_is_not_shown_its_own_thread(
    memory: Memory, scripted: Any, asynchronous: bool, config: Any
) -> None:
    memory.add("My cat Miso is afraid of thunder.", session="before")
    memory.add("My cat sleeps all day.", session="elsewhere")
    model = scripted("Cats do that.", "My key is kept.", "Thunder.")
    agent = agent_of(model, MnemicMiddleware(memory), saved=False)
    history: list[Any] = []
    for question, answer in (
        ("My cat sleeps all day.", "Cats do that."),
        ("My cat's password: hunter2-Tr0ub4dor&3xyz", "My key is kept."),  # stored without the secret
        ("What is my cat afraid of?", "Thunder."),
    ):
        history += [user(question)]
        await run(agent, asynchronous, *history, config=config)
        history += [assistant(answer)]
    told = [m for m in memory.messages() if m.session not in ("before", "elsewhere")]
    assert [m.role for m in told] == ["user", "assistant"] * 3
    context = model.seen[2][-1].text.partition("\n\n")[0]
    assert context.count("\n- ") == 2
    assert "- user: My cat Miso is afraid of thunder." in context
    assert "- user: My cat sleeps all day." in context  # of another session


async def test_words_that_are_said_again_are_stored_again(memory: Memory, scripted: Any) -> None:
    agent = agent_of(scripted(*["ok"] * 5), MnemicMiddleware(memory), saved=False)
    await run(agent, False, user("yes"))
    await run(agent, False, user("yes"), assistant("ok"), user("yes"))  # the whole history
    await run(agent, False, assistant("ok"), user("yes"))  # its end
    await run(agent, False, user("yes"))  # the new words alone
    await run(agent, False, user("yes"), config={"configurable": {"thread_id": "t2"}})
    assert said(memory) == ["user: yes", "assistant: ok"] * 5


async def test_words_of_another_project_are_not_taken_for_those_of_this_one(memory: Memory, scripted: Any) -> None:
    for project in ("a", "b"):
        middleware = MnemicMiddleware(memory.scoped(project=project))
        with pytest.raises(RuntimeError):
            await run(agent_of(Broken(messages=iter([])), middleware, saved=False), False, user("yes"))
    assert [len(memory.scoped(project=p).messages(reach="project")) for p in ("a", "b")] == [1, 1]


async def test_an_unanswered_request_is_the_same_one_for_a_short_time(
    memory: Memory, scripted: Any, monkeypatch: Any
) -> None:
    agent = agent_of(Broken(messages=iter([])), MnemicMiddleware(memory), saved=False)
    monkeypatch.setattr("mnemic.adapters.AGAIN", timedelta(minutes=-1))
    for _ in range(2):
        with pytest.raises(RuntimeError):
            await run(agent, False, user("Lights on."))
    assert said(memory) == ["user: Lights on."] * 2


# Notices


@both_ways
async def test_notices_of_other_middleware_are_nobodys_words(memory: Memory, scripted: Any, asynchronous: bool) -> None:
    retries = ModelRetryMiddleware(max_retries=1, initial_delay=0, on_failure="continue")
    await run(agent_of(Broken(messages=iter([])), MnemicMiddleware(memory), retries), asynchronous, user("Hello."))
    limit = ModelCallLimitMiddleware(thread_limit=1)
    agent = agent_of(scripted("Hi."), MnemicMiddleware(memory), limit)
    for text in ("One?", "Two?"):
        result = await run(agent, asynchronous, user(text), config={"configurable": {"thread_id": "t2"}})
    assert result["messages"][-1].text.startswith("Model call limits exceeded: ")
    calls = ToolCallLimitMiddleware(run_limit=0, exit_behavior="end")
    agent = agent_of(scripted(CALL), MnemicMiddleware(memory), calls, tools=[ring])
    result = await run(agent, asynchronous, user("Ring Bo."), config={"configurable": {"thread_id": "t3"}})
    assert "call limit reached" in result["messages"][-1].text
    assert said(memory) == ["user: Hello.", "user: One?", "assistant: Hi.", "user: Two?", "user: Ring Bo."]


async def test_a_model_that_says_the_same_is_heard(memory: Memory, scripted: Any) -> None:
    words = "Model call limits exceeded: run limit (2/2)"
    await run(agent_of(scripted(words), MnemicMiddleware(memory)), False, user("What does the log say?"))
    assert said(memory, role="assistant") == [f"assistant: {words}"]


# Answers in a schema


class Town(BaseModel):
    """Where somebody lives."""

    town: str
    since: int


def in_schema(call: str, **given: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "Town", "args": given, "id": call}])


@both_ways
@pytest.mark.parametrize("store_tools", [False, True])
@pytest.mark.parametrize("note", [None, "Thank you."])
async def test_an_answer_in_a_schema_is_stored_once(
    memory: Memory, scripted: Any, asynchronous: bool, store_tools: bool, note: str | None
) -> None:
    wrong, right = in_schema("c1", town="Évora"), in_schema("c2", town="Évora", since=2019)
    model = scripted(wrong, right, in_schema("c3", town="Évora", since=2019))
    middleware = MnemicMiddleware(memory, store_tools=store_tools, idle=False)
    schema = ToolStrategy(Town, tool_message_content=note)
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver(), response_format=schema)
    first = await run(agent, asynchronous, HumanMessage("I live in Évora since 2019. Where?"))
    assert first["structured_response"] == Town(town="Évora", since=2019)
    answer = 'assistant: {"town": "Évora", "since": 2019}'
    assert said(memory) == ["user: I live in Évora since 2019. Where?", answer]
    assert "tools_used" not in memory.messages()[-1].metadata
    await run(agent, asynchronous, HumanMessage("And now?"))
    assert said(memory) == ["user: I live in Évora since 2019. Where?", answer, "user: And now?", answer]
    assert "From earlier conversations" not in str(model.seen)  # the thread shows it


def test_a_tool_that_answers_the_user_itself_is_no_answer_in_a_schema(memory: Memory, scripted: Any) -> None:
    @tool(return_direct=True)
    def lookup(town: str) -> str:
        """Look a town up."""
        return f"{town}: 56,000 people"

    call = AIMessage("", tool_calls=[{"name": "lookup", "args": {"town": "Évora"}, "id": "c1"}])
    agent = create_agent(scripted(call), tools=[lookup], middleware=[MnemicMiddleware(memory, idle=False)])
    agent.invoke({"messages": [HumanMessage("How big is Évora?")]})
    assert said(memory) == ["user: How big is Évora?"]


# What is not taken for evidence, and what is said again


@tool(return_direct=True)
def note(text: str) -> str:
    """Note something."""
    return "Noted."


NOTED = AIMessage("", tool_calls=[{"name": "note", "args": {"text": "pill"}, "id": "n1"}])


@both_ways
@with_and_without
async def test_what_is_said_again_after_a_run_without_an_answer_is_stored_again(
    memory: Memory, scripted: Any, asynchronous: bool, saved: bool
) -> None:
    calls = (NOTED.model_copy(update={"id": f"a{n}"}) for n in range(3))
    agent = agent_of(scripted(*calls), MnemicMiddleware(memory), saved=saved, tools=[note])
    history: list[Any] = []
    for number in range(3):
        new = HumanMessage("I took my pill.", id=f"u{number}")
        history = (await run(agent, asynchronous, *([] if saved else history), new))["messages"]
    assert said(memory, role="user") == ["user: I took my pill."] * 3


@both_ways
@with_and_without
async def test_an_answer_that_was_taken_back_is_no_evidence_for_the_next(
    memory: Memory, scripted: Any, asynchronous: bool, saved: bool
) -> None:
    model = scripted("Noted.", "Your dentist is Dr. Almeida, the one in Benfica.", "Dr. Sousa.")
    agent = agent_of(model, MnemicMiddleware(memory), saved=saved)
    told, asked = HumanMessage("My dentist is Dr. Sousa.", id="u1"), HumanMessage("Who is my dentist?", id="u2")
    first = (await run(agent, asynchronous, told))["messages"]
    whole = (await run(agent, asynchronous, *([] if saved else first), asked))["messages"]
    await run(agent, asynchronous, *([RemoveMessage(id=whole[-1].id)] if saved else whole[:-1]))
    assert not any("Almeida" in message.text for message in model.seen[-1])


class Dated(AgentMiddleware):
    """Says the day in the user's message, for the model alone."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        *before, last = request.messages
        return handler(request.override(messages=[*before, HumanMessage(f"{last.text}\n\nToday is Tuesday.")]))


def test_a_message_that_other_middleware_rewrites_is_not_recalled_to_itself(memory: Memory, scripted: Any) -> None:
    model = scripted("Noted.")
    agent = agent_of(model, Dated(), MnemicMiddleware(memory))
    agent.invoke({"messages": [HumanMessage("My shoe size is 42, remember it.")]}, T1)
    assert "\n".join(message.text for message in model.seen[0]).count("My shoe size is 42") == 1


def test_a_retriever_in_an_agent_does_not_find_the_question(memory: Memory) -> None:
    memory.add("My cat is called Miso.", session="before")
    memory.add("What is my shoe size?", session="t1")
    retriever = MnemicRetriever(memory=memory, min_evidence="none")
    assert not [doc for doc in retriever.invoke("shoe size", T1) if "shoe" in doc.page_content]
    assert [doc for doc in retriever.invoke("shoe size") if "shoe" in doc.page_content]
