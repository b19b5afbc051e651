"""What is stored of a run: what the user and the agent said to each other, whatever stands in the history."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic_ai import (
    Agent,
    CallToolsNode,
    ModelRetry,
    ToolReturn,
    UsageLimitExceeded,
    UsageLimits,
    capture_run_messages,
)
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.output import ToolOutput

from mnemic import AsyncMemory, ConfigurationError
from pydantic_ai_mnemic import MnemicCapability, mnemic_toolset

AT = datetime(2026, 5, 4, tzinfo=UTC)

CALL = ToolCallPart("look", {})


def look() -> str:
    """Look."""
    return "seen"


def last(messages):
    return messages[-1:]


def summed_up(messages):
    return [ModelRequest([UserPromptPart("Summary of the conversation so far: Ana likes tea.")]), *messages[-1:]]


def only_a_summary(messages):
    return [ModelRequest([UserPromptPart("Summary: Ana asked something.")])]


def an_exchange_before(messages):
    return [*summed_up([]), ModelResponse([TextPart("Understood.")]), *messages]


@pytest.mark.parametrize("processor", [last, summed_up, only_a_summary, an_exchange_before])
@pytest.mark.parametrize("inject", ["instructions", "user"])
def test_a_history_processor_changes_nothing_of_what_was_said(memory, scripted, said, processor, inject):
    for number, order in enumerate((1, -1)):
        user = f"order{number}"
        memory.scoped(user=user).remember("Ana lives in Lisbon.")
        capability = MnemicCapability(memory.scoped(user=user), inject=inject)
        model = scripted(CALL, CALL, "In Lisbon.", "Tea.")
        agent = Agent(model, tools=[look], capabilities=[ProcessHistory(processor), capability][::order])
        first = agent.run_sync("Where do I live?")
        agent.run_sync("And what do I drink?", message_history=first.all_messages())
        assert said(user) == ["Where do I live?", "In Lisbon.", "And what do I drink?", "Tea."]


async def test_a_history_processor_in_a_stream(memory, scripted, said):
    agent = Agent(
        scripted(CALL, "In Lisbon."), tools=[look], capabilities=[MnemicCapability(memory), ProcessHistory(last)]
    )
    async with agent.run_stream("Where do I live?") as run:
        await run.get_output()
    assert [text.strip() for text in said()] == ["Where do I live?", "In Lisbon."]


async def test_an_answer_that_was_sent_back_while_the_user_went_on(memory, scripted, said):
    agent = Agent(scripted("90 days.", "14 days."), capabilities=[MnemicCapability(memory)])

    @agent.output_validator
    def checked(text: str) -> str:
        if "90" in text:
            run.enqueue("And for hats?")
            raise ModelRetry("The policy says 14 days.")
        return text

    async with agent.iter("Until when?") as run:
        async for node in run:
            if isinstance(node, CallToolsNode) and node.model_response.text == "90 days.":
                run.enqueue("And for shoes?")
    assert said() == ["Until when?", "And for shoes?", "And for hats?", "14 days."]


def test_what_is_said_beside_a_call_that_fails_is_stored(memory, said):
    def answer(messages, info):
        if len(messages) == 1:
            return ModelResponse([TextPart("I look it up."), ToolCallPart("broken", {})])
        return ModelResponse([TextPart("I could not.")])

    agent = Agent(FunctionModel(answer), capabilities=[MnemicCapability(memory)])

    @agent.tool_plain
    def broken() -> str:
        raise ModelRetry("Not now.")

    agent.run_sync("Look!")
    assert said() == ["Look!", "I look it up.", "I could not."]


@pytest.mark.parametrize("more", [["And now?"], []], ids=["goes on", "is resumed"])
def test_what_a_tool_shows_the_model_is_not_what_the_user_said(memory, scripted, said, more):
    def look() -> ToolReturn:
        """Look."""
        return ToolReturn("seen", content="The page says: Ana hates tea.")

    agent = Agent(
        scripted(CALL, "Done.", CALL, RuntimeError("503"), "Done."),
        tools=[look],
        capabilities=[MnemicCapability(memory)],
    )
    agent.run_sync("Look!")
    with capture_run_messages() as messages, pytest.raises(RuntimeError, match="503"):
        agent.run_sync("Again!")
    agent.run_sync(*more, message_history=messages)
    assert said() == ["Look!", "Done.", "Again!", *more, "Done."]


async def test_what_is_said_while_it_runs_is_stored(memory, scripted, said):
    agent = Agent(scripted(CALL, "one", "two"), tools=[look], capabilities=[MnemicCapability(memory)])
    async with agent.iter("Start.") as run:
        at = 0
        async for _ in run:
            at += 1
            if at == 3:
                run.enqueue("Also the garden.")
            if at == 5:
                run.enqueue("And the roof.")
                run.enqueue("And the door.")
    assert sorted(said()) == sorted(["Start.", "Also the garden.", "one", "And the roof.", "And the door.", "two"])


@pytest.mark.parametrize("more", [["I am waiting."], []], ids=["goes on", "is resumed"])
def test_prompts_of_runs_that_failed_behind_a_tool_are_stored_once(memory, scripted, said, more):
    model = scripted("Hello.", CALL, RuntimeError("503"), CALL, CALL, RuntimeError("503"), CALL, "Yes.")
    agent = Agent(model, tools=[look], capabilities=[MnemicCapability(memory)])
    history = agent.run_sync("Hello!").all_messages()
    prompts = ["I am allergic to nuts.", "And to milk.", "Are you there?"]
    limits = [UsageLimits(), UsageLimits(request_limit=1), UsageLimits()]
    for prompt, limit in zip(prompts, limits, strict=True):
        with capture_run_messages() as messages, pytest.raises((RuntimeError, UsageLimitExceeded)):
            agent.run_sync(prompt, message_history=history, usage_limits=limit)
        history = messages
        assert said()[-1] == prompt
    agent.run_sync(*more, message_history=history)
    assert said() == ["Hello!", "Hello.", *prompts, *more, "Yes."]


@pytest.mark.parametrize("output", [ToolOutput(int), ToolOutput(int, name="number")], ids=["default", "named"])
def test_a_run_that_ended_with_an_output_tool_was_answered(memory, scripted, said, output):
    tool = output.name or "final_result"
    model = scripted(*(ToolCallPart(tool, {"response": at}) for at in range(3)))
    agent = Agent(model, output_type=output, capabilities=[MnemicCapability(memory)])
    history = agent.run_sync("My size is 42.").all_messages()
    memory.forget(ids=[memory.messages()[0].id], hard=True)
    history = agent.run_sync("How many?", message_history=history, conversation_id="fork").all_messages()
    agent.run_sync("And now?", message_history=history)
    assert said() == ["How many?", "And now?"]


def test_what_the_history_shows_is_not_recalled_in_a_fork_of_it(memory, scripted):
    model = scripted("Noted.", "Miso.", "Miso.")
    agent = Agent(model, capabilities=[MnemicCapability(memory)])
    first = agent.run_sync("My cat is called Miso.", conversation_id="monday")
    agent.run_sync("What is my cat called?", message_history=first.all_messages(), conversation_id="fork")
    assert "My cat is called Miso." not in model.prompts()[-1]
    agent.run_sync("What is my cat called?", conversation_id="fork")
    assert "My cat is called Miso." in model.prompts()[-1]


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, AsyncMemory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    for make in (MnemicCapability, mnemic_toolset):
        with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
            make(wrong)


def test_the_tools_used_are_noted_without_what_they_answered(memory, scripted, said):
    def broken() -> str:
        """Fail once."""
        if not failed:
            failed.append("once")
            raise ModelRetry("Not now.")
        return "secret"

    failed: list[str] = []
    agent = Agent(
        scripted(CALL, ToolCallPart("broken", {}), ToolCallPart("broken", {}), "Done.", "Bye."),
        tools=[look, broken],
        capabilities=[MnemicCapability(memory.scoped(session="s"))],
    )
    first = agent.run_sync("Look!")
    agent.run_sync("Thanks.", message_history=first.all_messages())
    view = memory.scoped(session="s").sessions.current()
    assert view.tools == {"broken": 2, "look": 1}
    noted = [message.metadata.get("tools_used") for message in view.messages]
    assert [[(use["name"], use["outcome"]) for use in uses or ()] for uses in noted] == [
        [], [("look", "ok"), ("broken", "error"), ("broken", "ok")], [], [],
    ]  # fmt: skip
    assert all(datetime.fromisoformat(use["at"]).tzinfo for use in noted[1])
    assert not any("seen" in str(message) or "secret" in str(message) for message in view.messages)


def test_structured_output_is_no_tool(memory, scripted):
    agent = Agent(
        scripted(CALL, ToolCallPart("final_result", {"response": 3}), "Three."),
        tools=[look],
        output_type=ToolOutput(int),
        capabilities=[MnemicCapability(memory.scoped(session="s"), store=True)],
    )
    first = agent.run_sync("How many?")
    agent.run_sync("Sure?", output_type=str, message_history=first.all_messages())
    assert set(memory.scoped(session="s").sessions.current().tools) <= {"look"}


def test_a_prompt_that_got_a_structured_answer_is_asked_again_on_purpose(memory, said):
    agent = Agent(
        FunctionModel(lambda _, info: ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": 1})])),
        output_type=ToolOutput(int),
        capabilities=[MnemicCapability(memory, idle=False)],
    )
    for prompt in ("Log one apple.", "Log a pear.", "Log one apple."):
        agent.run_sync(prompt, conversation_id="diary")
    assert said() == ["Log one apple.", "Log a pear.", "Log one apple."]


async def test_a_history_of_many_conversations_is_recalled_beside(memory):
    agent = Agent(
        FunctionModel(lambda _messages, _info: ModelResponse([TextPart("Yes.")])),
        capabilities=[MnemicCapability(memory)],
    )
    history = []
    for number in range(160):
        said = [ModelRequest([UserPromptPart(f"Question {number}?")]), ModelResponse([TextPart("Yes.")])]
        for message in said:
            message.conversation_id = f"request-{number}"
        history += said
    result = await agent.run("And now?", message_history=history, conversation_id="last")
    assert result.output == "Yes."


async def test_a_prompt_that_failed_once_is_said_again_later(memory):
    answers = iter([None, "Shall I also book the hotel?", "Booked.", "Done."])

    def model(_messages, _info):
        answer = next(answers)
        if answer is None:
            raise RuntimeError("down")
        return ModelResponse([TextPart(answer)])

    agent = Agent(FunctionModel(model), capabilities=[MnemicCapability(memory)])
    for number in range(4):
        if number == 0:
            with pytest.raises(RuntimeError):
                await agent.run("yes", conversation_id="c")
        else:
            await agent.run("yes", conversation_id="c")
    said = [f"{message.role}: {message.content}" for message in memory.messages(session="c")]
    assert said == [
        "user: yes", "assistant: Shall I also book the hotel?", "user: yes", "assistant: Booked.", "user: yes", "assistant: Done.",
    ]  # fmt: skip
