"""The plugin in real runs of real apps."""

from __future__ import annotations

import asyncio
import contextlib
import gc

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from adk_mnemic import MnemicPlugin
from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory


def track() -> dict[str, str]:
    """Track the parcel."""
    return {"place": "in the depot of Evora"}


def clerk(model, **given) -> LlmAgent:
    return LlmAgent(name="clerk", model=model, **given)


async def test_recalls_and_stores(memory, scripted, talk, said):
    model = scripted("Lovely!", "In Lisbon.")
    chat = talk(clerk(model, instruction="Be brief."), [MnemicPlugin(memory)])
    await chat.say("I moved to Lisbon.", "monday")
    assert await chat.say("Where did I move?", "friday") == "In Lisbon."
    assert model.prompts(0) == ["I moved to Lisbon."]
    (prompt,) = model.prompts()
    assert "- user: I moved to Lisbon." in prompt
    assert prompt.endswith("\n\nWhere did I move?")
    assert "Lisbon" not in str(model.requests[-1].config.system_instruction)  # it has the user's authority
    assert said(session="monday") == ["I moved to Lisbon.", "Lovely!"]
    assert said(session="friday") == ["Where did I move?", "In Lisbon."]
    assert "Lisbon." not in str((await chat.session("friday")).events[0])  # the session keeps what was said


async def test_app_user_and_session_are_the_scope(scripted, talk):
    with Memory(":memory:", embedder="hashing") as memory:
        await talk(clerk(scripted("ok")), [MnemicPlugin(memory)]).say("Hello!", "monday", "eva")
        assert memory.messages() == []
        evas = memory.scoped(user="eva", project="shop").messages(reach="project")
        assert [(message.content, message.session) for message in evas] == [("Hello!", "monday"), ("ok", "monday")]


async def test_a_scope_of_the_program_wins(memory, scripted, talk, said):
    def scope(caller):
        return {"user": f"{caller.app_name}/{caller.user_id}", "session": f"chat {caller.session_id}"}

    await talk(clerk(scripted("ok")), [MnemicPlugin(memory, scope=scope)]).say("Hello!", "7", "eva")
    assert said("shop/eva", session="chat 7") == ["Hello!", "ok"]


async def test_recalls_once_a_run_however_many_requests(memory, scripted, talk, called, monkeypatch):
    asked, real = [], AsyncMemory.get_memory_context

    async def counted(self, question, **kwargs):
        asked.append(question)
        return await real(self, question, **kwargs)

    monkeypatch.setattr(AsyncMemory, "get_memory_context", counted)
    memory.remember("Ana lives in Evora.")
    model = scripted(called("track"), called("track"), "Evora.", "Evora.")
    chat = talk(clerk(model, tools=[track]), [MnemicPlugin(memory)])
    await chat.say("Where does Ana live?")
    assert len(model.seen) == 3
    assert all("Ana lives in Evora." in model.prompts(number)[0] for number in range(3))
    assert "Ana lives in Evora." not in str((await chat.session()).events)
    await chat.say("Where does Ana live?")
    assert asked == ["Where does Ana live?"] * 2


async def test_a_message_with_an_image_keeps_it(memory, scripted, talk, said):
    memory.remember("Ana paints the sea.")
    model = scripted("The sea.")
    chat = talk(clerk(model), [MnemicPlugin(memory)])
    image = types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png", display_name="sea.png"))
    message = types.UserContent(parts=[types.Part(text="What does Ana paint here?"), image])
    async for _ in chat.runner.run_async(user_id="ana", session_id="s", new_message=message):
        pass
    recalled, text, shown = model.seen[0][0].parts
    assert "Ana paints the sea." in recalled.text
    assert (text.text, shown.inline_data.data) == ("What does Ana paint here?", b"x")
    assert said() == ["What does Ana paint here?\n[image: sea.png, image/png, 1 kB]", "The sea."]


async def test_calls_results_and_reasoning_are_nobodys_words(memory, scripted, talk, called, said):
    thought = types.Part(text="hm", thought=True)
    chat = talk(clerk(scripted(called("track"), thought, "There."), tools=[track]), [MnemicPlugin(memory)])
    assert await chat.say("Where?") == "hm"
    assert await chat.say("And?") == "There."
    assert said() == ["Where?", "And?", "There."]
    view = memory.scoped(session="monday").sessions.current()
    assert "Evora" not in str(view.messages)


async def test_the_tools_used_are_noted_without_what_they_answered(memory, scripted, talk, called):
    chat = talk(clerk(scripted(called("track"), "There.", "Bye."), tools=[track]), [MnemicPlugin(memory)])
    await chat.say("Where?")
    await chat.say("Thanks.")
    view = memory.scoped(session="monday").sessions.current()
    assert view.tools == {"track": 1}
    noted = [message.metadata.get("tools_used") for message in view.messages]
    assert [[(use["name"], use["outcome"]) for use in uses or ()] for uses in noted] == [[], [("track", "ok")], [], []]


async def test_agents_that_hand_over_share_what_was_recalled(memory, scripted, talk, called, said):
    memory.remember("Ana lives in Evora.")
    model = scripted(called("transfer_to_agent", agent_name="driver"), "To Evora.", "Yes.")
    driver = LlmAgent(name="driver", description="Drives.", model=model)
    chat = talk(clerk(model, sub_agents=[driver]), [MnemicPlugin(memory)])
    assert await chat.say("Bring it to where Ana lives.") == "To Evora."
    assert [sum("Ana lives in Evora." in text for text in model.prompts(number)) for number in range(2)] == [1, 1]
    await chat.say("Really?")
    assert said() == ["Bring it to where Ana lives.", "To Evora.", "Really?", "Yes."]
    assert [message.metadata.get("author") for message in memory.messages(role="assistant")] == ["driver"] * 2
    assert memory.scoped(session="monday").sessions.current().tools == {}


@pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")  # AgentTool uses it
@pytest.mark.parametrize("fails", [False, True])
async def test_what_an_agent_asks_another_is_not_the_users(memory, scripted, talk, called, said, fails):
    memory.remember("Ana lives in Evora.")
    other = scripted(RuntimeError("down") if fails else "It is on its way to Evora.")
    model = scripted(called("tracker", request="Where is the parcel for where Ana lives?"), "Soon there.", "Bye.")
    tracker = LlmAgent(name="tracker", description="Tracks.", model=other)
    chat = talk(clerk(model, tools=[AgentTool(tracker)]), [MnemicPlugin(memory)])
    if fails:
        with pytest.raises(RuntimeError, match="down"):
            await chat.say("When?")
    else:
        await chat.say("When?")
        assert other.prompts() == ["Where is the parcel for where Ana lives?"]
        await chat.say("Thanks.")
    assert said() == (["When?"] if fails else ["When?", "Soon there.", "Thanks.", "Bye."])
    assert memory.idle.wait() is not None


async def test_two_users_in_one_process(memory, scripted, talk, said):
    model = scripted("Noted.", "You never said.", "Miso.")
    chat = talk(clerk(model), [MnemicPlugin(memory)])
    await chat.say("My cat is called Miso.", "1", "bea")
    await chat.say("What is my cat called?", "2", "bob")
    assert "Miso" not in str(model.prompts())
    await chat.say("What is my cat called?", "3", "bea")
    assert "Miso" in str(model.prompts())
    assert (len(said("bea")), len(said("bob")), len(said("ana"))) == (4, 2, 0)


async def test_concurrent_runs_of_two_users_stay_apart(memory, scripted, talk):
    for user in ("bea", "bob"):
        memory.scoped(user=user).remember(f"The secret of {user} is {user * 3}.")
    plugin = MnemicPlugin(memory)

    async def ask(number, user):
        model = scripted("ok")
        await talk(clerk(model), [plugin]).say("What is the secret?", str(number), user)
        return model.prompts()[0]

    shown = await asyncio.gather(*(ask(number, user) for number, user in enumerate(("bea", "bob") * 5)))
    for number, text in enumerate(shown):
        mine, other = ("bea", "bob") if number % 2 == 0 else ("bob", "bea")
        assert mine * 3 in text
        assert other * 3 not in text


def test_the_runner_that_blocks(memory, scripted, talk, said):
    runner = talk(clerk(scripted("one", "two")), [MnemicPlugin(memory)]).runner
    for text in ("first", "second"):
        message = types.UserContent(parts=[types.Part(text=text)])
        assert len([*runner.run(user_id="ana", session_id="monday", new_message=message)]) == 1
    assert said() == ["first", "one", "second", "two"]


async def test_an_asynchronous_handle(scripted, talk):
    async with AsyncMemory(":memory:", user="ana", project="shop", embedder="hashing") as memory:
        model = scripted("Lovely!", "In Lisbon.")
        chat = talk(clerk(model), [MnemicPlugin(memory)])
        await chat.say("I moved to Lisbon.", "monday")
        await chat.say("Where did I move?", "friday")
        assert "I moved to Lisbon." in model.prompts()[0]
        assert len(await memory.messages()) == 4


async def test_a_failed_run_keeps_what_was_said_and_leaves_nothing_behind(memory, scripted, talk, called, said):
    plugin = MnemicPlugin(memory)
    chat = talk(clerk(scripted(called("track"), RuntimeError("no model")), tools=[track]), [plugin])
    with pytest.raises(RuntimeError, match="no model"):
        await chat.say("hello")
    assert said() == ["hello"]
    assert plugin._runs == {}
    assert memory.idle.wait() is not None


async def test_a_run_that_is_cancelled_does_not_hold_idle_work(memory, scripted, talk, called, said):
    hanging = asyncio.Event()

    async def hang() -> str:
        """Hang."""
        hanging.set()
        await asyncio.Event().wait()
        return ""

    plugin = MnemicPlugin(memory)
    task = asyncio.create_task(talk(clerk(scripted(called("hang")), tools=[hang]), [plugin]).say("hello"))
    await hanging.wait()
    assert memory.idle.wait() is None
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    del task  # with its traceback
    await asyncio.sleep(0)
    gc.collect()
    assert said() == ["hello"]
    assert plugin._runs == {}
    assert memory.idle.wait() is not None


async def test_what_is_erased_during_a_run_stays_erased(memory, scripted, talk, called, said):
    def erase() -> str:
        """Erase what was said."""
        memory.forget(ids=[message.id for message in memory.messages()], hard=True)
        return "done"

    chat = talk(clerk(scripted(called("erase"), "Done."), tools=[erase]), [MnemicPlugin(memory)])
    await chat.say("My size is 42. Erase that.")
    assert said() == ["Done."]


async def test_only_recall_or_only_storing(memory, scripted, talk, said):
    memory.remember("Ana lives in Lisbon.")
    model = scripted("a", "b")
    chat = talk(clerk(model), [MnemicPlugin(memory, store=False)])
    await chat.say("Where does Ana live?")
    assert "Ana lives in Lisbon." in model.prompts()[0]
    assert said() == []
    chat = talk(clerk(model), [MnemicPlugin(memory, max_tokens=0)])
    await chat.say("Where does Ana live?")
    assert model.prompts() == ["Where does Ana live?"]
    assert said() == ["Where does Ana live?", "b"]


async def test_a_scope_without_what_it_reads_is_told_so(memory, scripted, talk, said):
    chat = talk(clerk(scripted("?")), [MnemicPlugin(memory, scope=lambda caller: {"user": caller.tenant})])
    with pytest.raises(RuntimeError, match="could not be read from the call") as caught:
        await chat.say("hello")
    assert isinstance(caught.value.__cause__, InvalidInput)
    assert said() == []


@pytest.mark.parametrize("wrong", [None, "./memory", {"user": "ana"}, Memory])
def test_what_is_no_memory_is_refused_at_once(wrong):
    with pytest.raises(ConfigurationError, match="memory must be a Memory or an AsyncMemory"):
        MnemicPlugin(wrong)
