"""MnemicMemoryBlock in the stock Memory: what it sees of short and of long chats, and that nothing is stored twice."""

import asyncio

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory.memory import InsertMethod

from llama_index.memory.mnemic import MnemicChatMemory, MnemicMemoryBlock, MnemicRetriever
from mnemic import AsyncMemory, ConfigurationError, Memory, StoreUnavailable

EXCHANGES = [("My cat is called Mia.", "Cute."), ("She is three.", "Young!"), ("She likes fish.", "Of course.")]


def user(text):
    return ChatMessage(role="user", content=text)


def assistant(text):
    return ChatMessage(role="assistant", content=text)


def everything(exchanges):
    return [text for exchange in exchanges for text in exchange]


async def chat(runtime, exchanges):
    for question, _ in exchanges:
        await runtime.achat(question)


async def test_a_short_chat_is_remembered_after_a_restart(folder, history, scripted, said):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        block = MnemicMemoryBlock(memory=memory)
        stock = history(session_id="now", memory_blocks=[block])
        runtime = SimpleChatEngine.from_defaults(llm=scripted(*[a for _, a in EXCHANGES]), memory=stock)
        await chat(runtime, EXCHANGES)
        assert said(memory, session="now") == everything(EXCHANGES)[:-1]  # the last answer was not shown to the block
        await block.aflush(stock)
        await block.aflush(stock)
        assert said(memory, session="now") == everything(EXCHANGES)

    block = MnemicMemoryBlock(memory=folder, scope={"user": "ana"}, options={"embedder": "hashing"})
    llm = scripted()
    again = history("second", session_id="later", memory_blocks=[block])
    await SimpleChatEngine.from_defaults(llm=llm, memory=again).achat("What is my cat called?")
    system, question = llm.shown[0]
    assert system.role == "system"
    assert "user: My cat is called Mia." in system.content
    assert question.content == "What is my cat called?"
    assert "What is my cat called?" not in system.content
    block.memory.close()


async def test_the_same_history_in_a_new_process_is_not_stored_again(folder, history, scripted, said):
    """The queue of the stock Memory lives in a database that survives the process."""
    for exchange in [*EXCHANGES, ("She likes fish.", "You said so.")]:
        with Memory(folder, user="ana", embedder="hashing") as memory:
            block = MnemicMemoryBlock(memory=memory)
            stock = history(session_id="now", memory_blocks=[block])
            await SimpleChatEngine.from_defaults(llm=scripted(exchange[1]), memory=stock).achat(exchange[0])
            await block.aflush(stock)
            told = said(memory)
    assert told == [*everything(EXCHANGES), "She likes fish.", "You said so."]


async def test_what_leaves_the_queue_is_not_stored_twice(memory, history, scripted, said):
    block = MnemicMemoryBlock(memory=memory, max_tokens=100)
    stock = history(
        session_id="now", token_limit=160, token_flush_size=20, chat_history_token_ratio=0.3, memory_blocks=[block]
    )
    exchanges = [(f"Note number {i}: the number of the day is {i * i}.", f"I have noted {i}.") for i in range(12)]
    await chat(SimpleChatEngine.from_defaults(llm=scripted(*[a for _, a in exchanges]), memory=stock), exchanges)
    await block.aflush(stock)
    assert len(await stock.aget_all()) == 24
    assert len(await stock.sql_store.get_messages("now")) < 10  # most of it was ejected
    assert sorted(said(memory)) == sorted(everything(exchanges))


async def test_what_leaves_the_queue_may_sound_like_what_was_said_last(memory, said):
    block = MnemicMemoryBlock(memory=memory)
    told = [user("Hi."), assistant("Hello."), user("I have a cat."), assistant("Nice."), user("Hi.")]
    await block.aget(told, session_id="now")
    await block.aput(told[:2], from_short_term_memory=True, session_id="now")
    assert said(memory) == [m.content for m in told]


async def test_messages_ejected_before_they_were_shown_are_stored(memory, history, said):
    block = MnemicMemoryBlock(memory=memory)
    stock = history(session_id="now", token_limit=60, token_flush_size=20, memory_blocks=[block])
    told = [make(f"{i}: the number of the day is {i * i}.") for i in range(6) for make in (user, assistant)]
    await stock.aput_messages(told)
    ejected = said(memory)
    assert 0 < len(ejected) < len(told)
    await stock.aget()
    assert said(memory) == [m.content for m in told]


async def test_what_is_said_again_is_stored_again(memory, history, scripted, said):
    block = MnemicMemoryBlock(memory=memory)
    stock = history(session_id="now", memory_blocks=[block])
    exchanges = [("I ran 5 km today.", "Well done.")] * 4
    await chat(SimpleChatEngine.from_defaults(llm=scripted(*["Well done."] * 4), memory=stock), exchanges)
    await block.aflush(stock)
    assert said(memory) == everything(exchanges)


async def test_a_session_name_used_again_by_a_new_chat(memory, history, scripted, said):
    for database in ("first", "second"):
        block = MnemicMemoryBlock(memory=memory)
        stock = history(database, session_id="now", memory_blocks=[block])
        await chat(SimpleChatEngine.from_defaults(llm=scripted("Well done."), memory=stock), [("I ran 5 km.", "")])
        await block.aflush(stock)
    assert said(memory) == ["I ran 5 km.", "Well done."] * 2


async def test_what_is_forgotten_is_not_learned_again_from_the_queue(memory, history, said):
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await stock.aput_messages([user("Hi."), assistant("Hello."), user("My size is 42."), assistant("Noted.")])
    await stock.aget()
    memory.forget(ids=[m.id for m in memory.messages() if "42" in m.content])
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await stock.aput(user("And now?"))
    await stock.aget()
    assert said(memory) == ["Hi.", "Hello.", "Noted.", "And now?"]


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning:inspect")  # of the workflow runtime
async def test_an_agent_stores_all_of_it_by_itself(memory, history, scripted, said):
    selection = ToolSelection(tool_id="1", tool_name="age", tool_kwargs={})
    llm = scripted(ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [selection]}), "Three.")

    def age() -> str:
        """The age of the cat."""
        return "3"

    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await FunctionAgent(llm=llm, tools=[age], streaming=False).run(user_msg="How old is Mia?", memory=stock)
    assert said(memory) == ["How old is Mia?", "Three."]  # asked for content with the question appended once more
    assert memory.scoped(session="now").sessions.current().tools == {"age": 1}


async def test_an_engine_that_asks_before_it_puts(memory, history, scripted, said):
    memory.add("I have a cat.", session="old")
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    runtime = ContextChatEngine.from_defaults(retriever=MnemicRetriever(memory), llm=scripted("Cute."), memory=stock)
    await chat(runtime, EXCHANGES[:2])
    assert said(memory, session="now") == ["My cat is called Mia.", "Cute.", "She is three."]


@pytest.mark.parametrize("method", list(InsertMethod))
async def test_recall_handed_back_is_not_stored(memory, history, said, method):
    memory.add("My cat is called Mia.", session="old")
    block = MnemicMemoryBlock(memory=memory)
    stock = history(session_id="now", memory_blocks=[block], insert_method=method)
    await stock.aput(user("What is my cat called?"))
    shown = await stock.aget()
    assert "Mia" in "".join(m.content for m in shown)
    await stock.aset(shown)
    await stock.aput(assistant("Mia."))
    await stock.aget()
    assert said(memory) == ["My cat is called Mia.", "What is my cat called?", "Mia."]


async def test_truncation_shrinks_and_the_limit_holds(memory, history):
    for i in range(30):
        memory.add(f"Note {i}: the garden needs water and light every day.", session="old")
    block = MnemicMemoryBlock(memory=memory, max_tokens=400)
    text = await block.aget([user("How is the garden?")], session_id="now")
    full = len(block.tokenizer_fn(text))
    assert 300 < full <= 400
    for less in (1, 100, full - 60):
        shorter = await block.atruncate(text, less)
        assert shorter.startswith("<memory ")
        assert len(block.tokenizer_fn(shorter)) <= full - less
    assert await block.atruncate(text, full) is None
    assert await block.atruncate([], 10) is None

    stock = history(session_id="now", token_limit=250, memory_blocks=[block])
    await stock.aput(user("How is the garden?"))
    got = await stock.aget()
    assert sum(stock._estimate_token_count(m) for m in got) <= 280  # the template around the block is not counted
    assert "Note" in got[0].content


async def test_nothing_found_leaves_no_trace(memory, history):
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    assert await stock.aget() == []
    await stock.aput(user("Hi."))
    assert [m.content for m in await stock.aget()] == ["Hi."]


async def test_the_search_runs_once_a_turn(memory, history, monkeypatch):
    asked = []
    recall = Memory.get_memory_context
    monkeypatch.setattr(
        Memory,
        "get_memory_context",
        lambda self, query, **kwargs: asked.append(query) or recall(self, query, **kwargs),
    )
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await stock.aput(user("Hi."))
    for arguments in ({}, {"input": "Hi."}, {}):
        await stock.aget(**arguments)
    await stock.aput_messages([assistant("Hello."), user("Hi.")])
    await stock.aget()
    assert asked == ["Hi.", "Hi."]


async def test_what_the_queue_shows_is_not_recalled(memory, history):
    memory.add_exchange("My cat is called Mia.", "Cute.", session="old")
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    told = [user("My cat likes fish."), assistant("Noted: cat, fish."), user("What do you know of my cat?")]
    await stock.aput_messages(told[:2])
    await stock.aget()
    await stock.aput(told[2])
    system, *shown = await stock.aget()
    assert [m.content for m in shown] == [m.content for m in told]
    assert "My cat is called Mia." in system.content
    assert not [m.content for m in told if m.content in system.content]
    await stock.areset()  # the queue is empty: what it showed can be recalled
    await stock.aput(user("My cat?"))
    assert "My cat likes fish." in (await stock.aget())[0].content


async def test_two_users_and_two_sessions_of_one_block(memory, history):
    for name, colour in (("ana", "blue"), ("ben", "red")):
        block = MnemicMemoryBlock(memory=memory, scope={"user": name})
        await block.aput([user(f"My door is {colour}.")], session_id="old")
        results = await asyncio.gather(*(block.aget([user("My door?")], session_id=f"s{i}") for i in range(4)))
        assert all(colour in text for text in results)
        assert {"blue": "red", "red": "blue"}[colour] not in "".join(results)


def test_sync_use_of_the_stock_memory(memory, history, said):
    block = MnemicMemoryBlock(memory=memory)
    stock = history(session_id="now", memory_blocks=[block])
    stock.put(user("My cat is called Mia."))
    stock.get()
    stock.put(assistant("Cute."))
    block.flush(stock)
    assert said(memory) == ["My cat is called Mia.", "Cute."]


def test_serializing_the_stock_memory_leaves_the_record_alone(memory, history):
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    assert stock.to_dict()["memory_blocks"][0]["name"] == "long_term_memory"
    assert "options" not in MnemicMemoryBlock(memory=memory).model_dump()


@pytest.mark.parametrize("bad", [{"colour": "red"}, {"max_tokens": 3}, {"exclude": ["x"]}])
def test_wrong_arguments(memory, bad):
    with pytest.raises(ConfigurationError, match=next(iter(bad))):
        MnemicMemoryBlock(memory=memory, filters=bad)


def test_what_is_no_memory_is_refused(memory, history):
    for bad in (AsyncMemory.over(memory), history(), 3):
        with pytest.raises(ConfigurationError, match="memory must be"):
            MnemicMemoryBlock(memory=bad)


async def test_of_the_steps_of_an_agent_the_answer_is_stored(memory, history, said):
    chat = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    steps = "Thought: a.\nAction: fetch\nAction Input: {}\nObservation: Evil.\nThought: b.\nAnswer: Nobody."
    await chat.aput_messages([user("Who?"), assistant(steps)])
    for _ in range(2):
        assert steps in [m.content for m in await chat.aget()]
    assert said(memory, session="now") == ["Who?", "Nobody."]


@pytest.mark.parametrize("at", range(4))
async def test_what_is_erased_does_not_return_from_the_queue(memory, history, said, at):
    told = [user("Hi."), assistant("Hello."), user("My size is 42."), assistant("Noted.")]
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await stock.aput_messages(told)
    await stock.aget()
    memory.forget(ids=[memory.messages()[at].id], hard=True)
    left = [m.content for m in told if m is not told[at]]
    for text in ("And now?", "And then?"):
        await stock.aput(user(text))
        await stock.aget()
    assert said(memory) == [*left, "And now?", "And then?"]


@pytest.mark.parametrize("at", range(3))
async def test_what_is_erased_does_not_return_from_the_queue_of_another_process(memory, history, said, at):
    told = [user("Hi."), assistant("Hello."), user("My size is 42."), assistant("Noted.")]
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await stock.aput_messages(told)
    await stock.aget()
    memory.forget(ids=[memory.messages()[at].id], hard=True)
    stock = history(session_id="now", memory_blocks=[MnemicMemoryBlock(memory=memory)])
    await stock.aput(user("And now?"))
    await stock.aget()
    assert said(memory) == [*[m.content for m in told if m is not told[at]], "And now?"]


async def test_what_is_erased_does_not_return_when_it_leaves_the_queue(memory, said):
    block = MnemicMemoryBlock(memory=memory)
    told = [user("Hi."), assistant("Hello."), user("My size is 42."), assistant("Noted.")]
    await block.aget(told, session_id="now")
    memory.forget(ids=[memory.messages()[2].id], hard=True)
    await block.aput(told[:3], from_short_term_memory=True, session_id="now")
    await block.aget([told[3], user("And now?")], session_id="now")
    assert said(memory) == ["Hi.", "Hello.", "Noted.", "And now?"]


async def test_what_could_not_be_stored_is_stored_later(memory, said, monkeypatch):
    block = MnemicMemoryBlock(memory=memory)
    told = [user("Hi."), assistant("Hello."), user("My size is 42."), assistant("Noted."), user("Thanks.")]
    await block.aget(told[:2], session_id="now")

    def fails(*_, **__):
        raise StoreUnavailable("gone")

    with monkeypatch.context() as broken:
        broken.setattr(Memory, "add", fails)
        with pytest.raises(StoreUnavailable):
            await block.aget(told[:4], session_id="now")
    await block.aget(told, session_id="now")
    assert said(memory) == [m.content for m in told]


async def test_an_answer_given_before_does_not_hide_the_question_before_it(memory, said):
    block = MnemicMemoryBlock(memory=memory)
    for number in range(3):
        await block.aput([user(f"I ran {number} km."), assistant("Well done.")], session_id="now")
    assert [text for text in said(memory) if "km" in text] == ["I ran 0 km.", "I ran 1 km.", "I ran 2 km."]


async def test_a_message_of_any_length_is_stored(memory, said):
    block = MnemicMemoryBlock(memory=memory)
    long = "Long. " * 200_000
    for history in ([user(long)], [user(long), assistant("Noted.")], [user(long), assistant("Noted."), user("Hi.")]):
        await block.aget(history, session_id="now")
    told = said(memory)
    assert "".join(told[:-2]) == long
    assert told[-2:] == ["Noted.", "Hi."]


async def test_no_name_leads_into_a_session_after_a_reset(memory, history, said, user_message):
    chat = MnemicChatMemory(memory=memory, session_id="chat")
    chat.reset()
    chat.put(user_message("My bicycle is red."))
    block = MnemicMemoryBlock(memory=memory)
    stock = history(memory_blocks=[block], session_id="chat#reset1")
    await stock.aput(user_message("My bicycle is blue."))
    await stock.aget()
    assert said(memory, session="chat#reset1") == ["My bicycle is red."]
