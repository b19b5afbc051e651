"""The session in real runs of real agents, and by itself."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    SessionSettings,
    function_tool,
)
from agents.memory import Session
from agents.testing import assistant_message, function_call
from openai.types.responses import ResponseReasoningItem

from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory
from openai_agents_mnemic import MnemicSession, mnemic_tools
from openai_agents_mnemic.items import text_of

ASKED = {"role": "user", "content": "Where is my parcel?"}
REASONED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo" + "aZ09-_" * 40}
CALLED = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "track", "arguments": '{"parcel": 7}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "in the depot of Evora"}
ANSWERED = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "On its way.", "annotations": [], "logprobs": []}],
}  # fmt: skip
TURN = [ASKED, REASONED, CALLED, RESULT, ANSWERED]


@function_tool
def track() -> str:
    """Track."""
    return "in the depot of Evora"


async def run(agent, given, session, **kwargs):
    config = RunConfig(call_model_input_filter=session.input_filter)
    return await Runner.run(agent, given, session=session, run_config=config, **kwargs)


def prompts(model, call=-1):
    return [text_of(item) for item in model.calls[call].input]


async def test_recalls_and_stores(memory, scripted, said):
    model = scripted("Lovely!", "In Lisbon.")
    agent = Agent(name="A", instructions="Be brief.", model=model)
    await run(agent, "I moved to Lisbon.", MnemicSession(memory, "monday"))
    result = await run(agent, "Where did I move?", MnemicSession(memory, "friday"))
    assert result.final_output == "In Lisbon."
    assert prompts(model, 0) == ["I moved to Lisbon."]
    assert model.calls[-1].system_instructions == "Be brief."  # recalled text has the user's authority
    (prompt,) = prompts(model)
    assert "- user: I moved to Lisbon." in prompt
    assert prompt.endswith("\n\nWhere did I move?")
    assert said(session="monday") == ["I moved to Lisbon.", "Lovely!"]
    assert said(session="friday") == ["Where did I move?", "In Lisbon."]


async def test_recalls_once_a_run_however_many_calls_and_again_in_the_next(memory, scripted, monkeypatch):
    asked, real = [], AsyncMemory.get_memory_context

    async def counted(self, question, **kwargs):
        asked.append(question)
        return await real(self, question, **kwargs)

    monkeypatch.setattr(AsyncMemory, "get_memory_context", counted)
    memory.remember("Ana lives in Evora.")
    call = function_call("track", {}, call_id="c1")
    model = scripted(call, "Evora.", "Evora.")
    agent, session = Agent(name="A", model=model, tools=[track]), MnemicSession(memory, "s")
    await run(agent, "Where does Ana live?", session)
    assert len(model.calls) == 2
    assert all("Ana lives in Evora." in prompts(model, number)[0] for number in range(2))
    await run(agent, "Where does Ana live?", session)
    assert asked == ["Where does Ana live?"] * 2


async def test_a_message_in_parts_keeps_them(memory, scripted, said):
    memory.remember("Ana paints the sea.")
    model = scripted("The sea.")
    parts = [
        {"type": "input_text", "text": "What does Ana paint here?"},
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "plan.pdf"},
    ]
    session = MnemicSession(memory, "s")
    await run(Agent(name="A", model=model), [{"role": "user", "content": parts}], session)
    shown = model.calls[0].input[0]["content"]
    assert "Ana paints the sea." in shown[0]["text"]
    assert shown[1:] == parts
    media = "[image: https://example.org/a.png]\n[file: plan.pdf, application/pdf, 1 kB]"
    assert said()[0] == f"What does Ana paint here?\n{media}"
    assert (await session.get_items())[0]["content"] == parts


async def test_what_is_read_is_what_was_added(memory, said):
    session = MnemicSession(memory, "s")
    for start, end in ((0, 1), (1, 4), (4, 5)):  # as the runner does: the input, then turn by turn
        await session.add_items(TURN[start:end])
    assert await session.get_items() == TURN
    assert await MnemicSession(memory, "s").get_items(2) == TURN[-2:]
    assert await MnemicSession(memory, "s", session_settings=SessionSettings(limit=1)).get_items() == TURN[-1:]
    assert await session.get_items(0) == []
    assert await MnemicSession(memory, "other").get_items() == []
    assert isinstance(session, Session)


async def test_only_what_was_said_is_evidence(memory, said):
    session = MnemicSession(memory, "s")
    await session.add_items([{"role": "system", "content": "You track parcels."}, *TURN])
    assert said() == ["Where is my parcel?", "On its way."]
    assert memory.stats().messages == 2
    for query in ("depot of Evora", "track parcels", "function_call"):
        assert {hit.text for hit in memory.search(query)} <= {"Where is my parcel?", "On its way."}
    view = memory.scoped(session="s").sessions.current()
    assert view.tools == {"track": 1}


async def test_tools_are_noted_when_a_run_adds_turn_by_turn(memory, scripted):
    session = MnemicSession(memory, "s")
    agent = Agent(name="A", model=scripted(function_call("track", {}, call_id="c1"), "There.", "Bye."), tools=[track])
    await run(agent, "Where?", session)
    await run(agent, "Thanks.", session)
    noted = [message.metadata.get("tools_used") for message in memory.messages(role="assistant")]
    assert noted == [[{"name": "track"}], None]
    assert "Evora" not in str(memory.messages())


async def test_pop_and_add_again(memory, said):
    session = MnemicSession(memory, "s")
    await session.add_items(TURN)
    popped = [await session.pop_item() for _ in range(4)]
    assert popped == TURN[:0:-1]
    assert await session.get_items() == [ASKED]
    assert said() == ["Where is my parcel?"]
    await session.add_items(popped[::-1])
    assert await session.get_items() == TURN
    for _ in range(5):
        await session.pop_item()
    assert await session.pop_item() is None
    assert await session.get_items() == []


async def test_clear_ends_the_conversation_and_forgets_nothing(memory, said):
    for project in (None, "site"):
        handle = memory.scoped(project=project)
        session = MnemicSession(handle, "s")
        for number in range(3):
            await session.add_items([{"role": "user", "content": f"{project} {number}"}])
            await session.clear_session()
            await session.clear_session()  # there is nothing to end
            assert await MnemicSession(handle, "s").get_items() == []
        names = [message.session for message in handle.messages(reach="project" if project else "user")]
        assert names == ["s", "s#reset1", "s#reset2"]
    assert "cleared" not in str(memory.messages(reach="user"))


async def test_a_name_that_looks_like_a_reset_is_another_conversation(memory):
    session = MnemicSession(memory, "s")
    await session.add_items([ASKED])
    await session.clear_session()
    await session.add_items([ANSWERED])
    assert await MnemicSession(memory, "s#reset1").get_items() == []


async def test_the_same_name_in_another_project_is_another_conversation(memory):
    await MnemicSession(memory, "s").add_items([ASKED])
    assert await MnemicSession(memory, "s", scope={"project": "site"}).get_items() == []
    await MnemicSession(memory, "s", scope={"project": "site"}).add_items([ANSWERED])
    assert await MnemicSession(memory, "s").get_items() == [ASKED]


async def test_what_is_erased_leaves_a_history_that_a_model_takes(memory):
    session = MnemicSession(memory, "s")
    await session.add_items([ASKED, REASONED, ANSWERED, ASKED, REASONED, CALLED, RESULT, ANSWERED])
    (answer, _) = memory.messages(role="assistant")
    memory.forget(ids=[answer.id], hard=True)
    assert await session.get_items() == [ASKED, *TURN]
    (call,) = [message for message in memory.messages(role="tool", status="archived") if "parcel" in message.content]
    memory.forget(ids=[call.id], hard=True)
    assert await session.get_items() == [ASKED, ASKED, REASONED, ANSWERED]


async def test_a_request_to_forget_stays_in_the_history_of_its_answer_alone(memory, scripted, said):
    memory.scoped(session="monday").add("I am allergic to nuts.")
    forget = function_call("forget", {"description": "I am allergic to nuts"}, call_id="c1")
    model, request = scripted("Hello!", forget, "Done.", "Nothing."), "Please forget I am allergic to nuts."
    agent, session = Agent(name="A", model=model, tools=mnemic_tools(memory)), MnemicSession(memory, "friday")
    for text in ("Hello there, my friend.", request, "What do you know?"):
        await run(agent, text, session)
    assert said() == ["Hello there, my friend.", "Hello!", "Done.", "What do you know?", "Nothing."]
    again = MnemicSession(memory, "friday")
    assert [item.get("role") or item["type"] for item in await again.get_items()] == [
        "user", "assistant", "user", "function_call", "function_call_output", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert (await again.get_items(6))[0]["content"] == request
    assert "nuts" not in str(memory.scoped(session="sunday").search("nuts"))
    (kept,) = [one for one in memory.messages(status="archived") if one.content == request]
    memory.forget(ids=[kept.id], hard=True)
    assert request not in str(await again.get_items())
    memory.forget(ids=[memory.messages()[0].id])
    assert text_of((await again.get_items())[0]) == "Hello!"


async def test_what_is_taken_back_during_a_turn_does_not_return(memory):
    session = MnemicSession(memory, "s")
    await session.add_items([{"role": "user", "content": "one"}])
    await session.pop_item()
    await session.add_items([{"role": "user", "content": "two"}])
    await session.add_items([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}])
    assert [item.get("content") for item in await session.get_items()] == ["two", None]


async def test_what_is_cancelled_while_it_is_stored_is_stored_whole(memory, monkeypatch):
    entered, released = threading.Event(), threading.Event()
    real = Memory.add

    def slow(*args, **kwargs):
        entered.set()
        assert released.wait(60)
        return real(*args, **kwargs)

    monkeypatch.setattr(Memory, "add", slow)
    task = asyncio.create_task(MnemicSession(memory, "s").add_items(TURN))
    await asyncio.to_thread(entered.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()
    while await MnemicSession(memory, "s").get_items() != TURN or memory.messages(role="tool"):
        await asyncio.sleep(0.01)
    assert [message.role for message in memory.messages()] == ["user", "assistant"]


async def test_secrets_are_redacted_in_every_item(memory):
    session = MnemicSession(memory, "s")
    secret = "hunter42"
    parts = [{"type": "input_text", "text": "My password is"}, {"type": "input_text", "text": secret}]
    arguments = {**CALLED, "arguments": '{"password": "hunter42", "parcel": 7}'}
    await session.add_items(
        [
            {"role": "user", "content": f"My password is {secret}."},
            {"role": "user", "content": parts},
            arguments,
            RESULT,
        ]
    )
    kept = await session.get_items()
    assert secret not in str(kept)
    assert secret not in str(memory.messages(status=["short_term", "archived"]))
    assert [item.get("type") for item in kept] == [None, None, "function_call", "function_call_output"]
    assert kept[2]["arguments"] == '{"password": "[redacted: password]", "parcel": 7}'


async def test_a_failed_run_keeps_what_the_user_said(memory, scripted, said):
    session = MnemicSession(memory, "s")
    agent = Agent(name="A", model=scripted(RuntimeError("no model"), "Hi."))
    with pytest.raises(RuntimeError, match="no model"):
        await run(agent, "hello", session)
    assert said() == ["hello"]
    await run(agent, [], session)
    assert said() == ["hello", "Hi."]


async def test_an_answer_that_a_guardrail_blocks_is_not_stored(memory, scripted, said):
    async def blocked(ctx, agent, output):
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = Agent(name="A", model=scripted("Bad."), output_guardrails=[OutputGuardrail(blocked)])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await run(agent, "hello", MnemicSession(memory, "s"))
    assert said() == ["hello"]


async def test_a_run_that_waits_for_approval_goes_on_in_another_process(memory, scripted, said):
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    model = scripted(function_call("pay", {}, call_id="c1"), "Done.")
    agent = Agent(name="A", model=model, tools=[pay])
    result = await run(agent, "Pay it.", MnemicSession(memory, "s"))
    state = result.to_state()
    state.approve(result.interruptions[0])
    session = MnemicSession(memory, "s")
    await run(agent, state, session)
    assert said() == ["Pay it.", "Done."]
    kinds = [item.get("type") for item in await session.get_items()]
    assert kinds == [None, "function_call", "function_call_output", "message"]


async def test_reasoning_and_calls_of_a_run_come_back(memory, scripted, said):
    first, second = (ResponseReasoningItem(id=f"rs_{number}", type="reasoning", summary=[]) for number in (1, 2))
    model = scripted([first, function_call("track", {}, call_id="c1")], [second, assistant_message("There.")], "Bye.")
    agent, session = Agent(name="A", model=model, tools=[track]), MnemicSession(memory, "s")
    result = await run(agent, "Where?", session)
    assert await session.get_items() == result.to_input_list()
    await run(agent, "Thanks.", session)
    assert [item.get("type", "message") for item in model.calls[-1].input] == [
        "message", "reasoning", "function_call", "function_call_output", "reasoning", "message", "message",
    ]  # fmt: skip
    assert said() == ["Where?", "There.", "Thanks.", "Bye."]


async def test_what_an_agent_asks_another_is_not_the_users(memory, scripted, said):
    memory.remember("Ana lives in Evora.")
    other = scripted("It is on its way to Evora.")
    tool = Agent(name="B", model=other).as_tool("tracker", "Tracks.")
    model = scripted(function_call("tracker", {"input": "Where does Ana live?"}, call_id="c1"), "Soon there.")
    await run(Agent(name="A", model=model, tools=[tool]), "When?", MnemicSession(memory, "s"))
    assert "Ana lives in Evora." in prompts(other)[0]  # it inherits the filter of the run
    assert said() == ["When?", "Soon there."]


async def test_concurrent_runs_of_two_users_stay_apart(memory, scripted):
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"The secret of {user} is {user * 3}.")

    async def ask(user):
        model = scripted("ok")
        await run(Agent(name="A", model=model), "What is the secret?", MnemicSession(memory, "s", scope={"user": user}))
        return "\n".join(prompts(model))  # a run that begins late has the turns of the others before its own

    for number, shown in enumerate(await asyncio.gather(*(ask(user) for user in ("bea", "bob") * 5))):
        mine, other = ("bea", "bob") if number % 2 == 0 else ("bob", "bea")
        assert mine * 3 in shown
        assert other * 3 not in shown


async def test_an_asynchronous_handle(scripted):
    async with AsyncMemory(":memory:", user="ana", embedder="hashing") as memory:
        model = scripted("Lovely!", "In Lisbon.")
        agent = Agent(name="A", model=model)
        await run(agent, "I moved to Lisbon.", MnemicSession(memory, "monday"))
        await run(agent, "Where did I move?", MnemicSession(memory, "friday"))
        assert "I moved to Lisbon." in prompts(model)[0]
        assert len(await memory.messages()) == 4


async def test_messages_from_elsewhere_are_part_of_the_history(memory):
    memory.add([{"role": "user", "content": "Hi."}, {"role": "tool", "content": "x"}], session="s")
    assert await MnemicSession(memory, "s").get_items() == [{"role": "user", "content": "Hi."}]


async def test_a_very_long_message_is_kept_whole(memory):
    text = "word " * 300_000
    session = MnemicSession(memory, "s", max_tokens=0)
    await session.add_items([{"role": "user", "content": text}])
    (item,) = await session.get_items()
    assert item["content"] == text


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_name_that_is_none_is_refused(memory, name):
    with pytest.raises(InvalidInput, match="session_id"):
        MnemicSession(memory, name)


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, Memory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
        MnemicSession(wrong, "s")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"pin": 1234}',
        '{"password": 482913}',
        '{"order_id": 2398416232392203, "cvv": 123}',
        '{"card_number": 4111111111111111}',
    ],
)
async def test_the_arguments_of_a_call_stay_json(memory, arguments):
    session = MnemicSession(memory, "now")
    await session.add_items([ASKED, {**CALLED, "arguments": arguments}, RESULT, ANSWERED])
    held = next(item for item in await session.get_items() if item.get("type") == "function_call")["arguments"]
    assert json.loads(held).keys() == json.loads(arguments).keys()
    assert "4111111111111111" not in held
    assert "1234}" not in held


async def test_reasoning_without_what_follows_it_is_left_out(memory):
    session = MnemicSession(memory, "now")
    await session.add_items([ASKED, REASONED, REASONED | {"id": "rs_2"}, ANSWERED])
    await session.pop_item()
    assert [item.get("type", item.get("role")) for item in await session.get_items()] == ["user"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
async def test_a_limit_bounds_what_is_read(memory, monkeypatch, limit):
    session, read = MnemicSession(memory, "now"), list[int | None]()
    for _ in range(40):
        await session.add_items(TURN)
    messages = AsyncMemory.messages

    def counted(self, **options):
        read.append(options.get("limit"))
        return messages(self, **options)

    monkeypatch.setattr(AsyncMemory, "messages", counted)
    items = await session.get_items(limit)
    assert len(items) <= limit
    assert items[-1]["role"] == "assistant"
    assert {most for most in read if most} == {limit + 50}
