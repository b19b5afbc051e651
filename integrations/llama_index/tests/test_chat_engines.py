"""MnemicChatMemory in the chat engines: who calls what, what the model is shown, what is stored."""

import asyncio
import re

import pytest
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.llms import ChatMessage

from llama_index.memory.mnemic import MnemicChatMemory, MnemicRetriever


def texts(messages):
    return [m.content for m in messages]


def with_recall(messages):
    return [m for m in messages if "From earlier conversations." in (m.content or "")]


@pytest.fixture
def known(memory):
    memory.add_exchange("I moved to Lisbon in March.", "Lovely city!", session="long ago")
    return memory


@pytest.mark.parametrize("method", ["chat", "achat"])
async def test_simple_engine_is_shown_what_was_said_in_another_session(known, scripted, said, method):
    llm = scripted("In Lisbon.")
    engine = SimpleChatEngine.from_defaults(
        llm=llm, memory=MnemicChatMemory(memory=known, session_id="now"), system_prompt="Be brief."
    )
    answer = (
        engine.chat("Which city did I move to?")
        if method == "chat"
        else await engine.achat("Which city did I move to?")
    )

    assert answer.response == "In Lisbon."
    system, recalled, question = llm.shown[0]
    assert [system.role, recalled.role, question.role] == ["system", "user", "user"]
    assert "user: I moved to Lisbon in March." in recalled.content
    assert question.content == "Which city did I move to?"
    assert question.content not in recalled.content  # stored already, but the prompt shows it
    assert said(known, session="now") == ["Which city did I move to?", "In Lisbon."]


def test_simple_engine_streams(known, scripted, said):
    llm = scripted("In Lisbon.")
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=MnemicChatMemory(memory=known, session_id="now"))
    assert "".join(engine.stream_chat("Where?").response_gen) == "In Lisbon."
    assert said(known, session="now") == ["Where?", "In Lisbon."]


@pytest.mark.parametrize("method", ["chat", "achat"])
@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_engines_with_context_ask_before_they_put(known, scripted, said, kind, method):
    llm = scripted("In Lisbon.", *["Which city did I move to?", "In March."][kind is ContextChatEngine :])
    chat = MnemicChatMemory(memory=known, session_id="now")
    engine = kind.from_defaults(retriever=MnemicRetriever(known, similarity_top_k=2), llm=llm, memory=chat)
    for question in ("Which city did I move to?", "When did I move?"):
        engine.chat(question) if method == "chat" else await engine.achat(question)

    first, last = llm.shown[0], llm.shown[-1]
    assert first[0].role == "system"
    assert "I moved to Lisbon" in first[0].content  # from the retriever
    assert first[-1].content == "Which city did I move to?"
    assert first[-2:-1] == with_recall(first)  # directly before the question, which is not in the buffer yet
    assert texts(last)[-4::2] == ["Which city did I move to?", with_recall(last)[0].content]
    assert texts(last)[-3::2] == ["In Lisbon.", "When did I move?"]
    assert said(known, session="now")[:2] == ["Which city did I move to?", "In Lisbon."]
    assert len(said(known, session="now")) == 4


def test_a_question_asked_again_is_searched_again(known, scripted):
    chat = MnemicChatMemory(memory=known, session_id="now")
    llm = scripted()
    engine = ContextChatEngine.from_defaults(retriever=MnemicRetriever(known, similarity_top_k=1), llm=llm, memory=chat)
    engine.chat("What do I drink?")
    known.remember("Ana drinks green tea.")
    engine.chat("What do I drink?")
    assert "green tea" in with_recall(llm.shown[-1])[0].content


def test_given_history_replaces_the_buffer_and_keeps_long_term_memory(known, scripted, said):
    llm = scripted()
    chat = MnemicChatMemory(memory=known, session_id="now")
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=chat)
    engine.chat("My dog is called Rex.")
    given = [ChatMessage(role="user", content="I play chess."), ChatMessage(role="assistant", content="Nice.")]
    for question in ("And now?", "And my dog?"):
        engine.chat(question, chat_history=given)

    assert texts(m for m in llm.shown[-1] if m not in with_recall(llm.shown[-1])) == [
        "I play chess.",
        "Nice.",
        "And my dog?",
    ]
    assert said(known, session="long ago") == ["I moved to Lisbon in March.", "Lovely city!"]
    stored = said(known, session="now")
    assert stored.count("I play chess.") == 1
    assert stored.count("My dog is called Rex.") == 1
    assert "My dog is called Rex." in with_recall(llm.shown[-1])[0].content  # no longer in the buffer: recalled


def test_reset_begins_a_new_session(known, scripted, said):
    chat = MnemicChatMemory(memory=known)
    llm = scripted()
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=chat)
    engine.chat("My dog is called Rex.")
    first = chat.session_id
    engine.reset()

    assert engine.chat_history == []
    assert chat.session_id != first
    assert said(known, session=first) == ["My dog is called Rex.", "Understood."]
    engine.chat("What is my dog called?")
    assert "Rex" in with_recall(llm.shown[-1])[0].content


def test_history_of_the_engine_has_no_recall_and_can_be_handed_back(known, scripted, said):
    chat = MnemicChatMemory(memory=known, session_id="now")
    engine = SimpleChatEngine.from_defaults(llm=scripted(), memory=chat)
    engine.chat("Which city did I move to?")
    assert texts(engine.chat_history) == ["Which city did I move to?", "Understood."]
    engine.chat("And my street?", chat_history=engine.chat_history)
    engine.chat("And my flat?", chat_history=chat.get())  # with recall
    assert said(known, session="now") == [
        "Which city did I move to?", "Understood.", "And my street?", "Understood.", "And my flat?", "Understood.",
    ]  # fmt: skip
    assert not with_recall(chat.get_all())


def test_a_model_that_repeats_its_prompt_does_not_get_the_recall_stored(known, scripted, said):
    chat = MnemicChatMemory(memory=known, session_id="now")
    chat.put(ChatMessage(role="user", content="Which city did I move to?"))
    recalled = with_recall(chat.get())[0].content
    engine = SimpleChatEngine.from_defaults(llm=scripted(f"You told me:\n{recalled}\nSo: Lisbon."), memory=chat)
    engine.chat("Which city?")
    assert said(known, session="now")[-1] == "You told me:\n\nSo: Lisbon."


@pytest.mark.parametrize("prompt", [None, "Be brief."])
def test_recall_in_the_system_message(known, scripted, prompt):
    llm = scripted()
    chat = MnemicChatMemory(memory=known, inject="system")
    SimpleChatEngine.from_defaults(llm=llm, memory=chat, system_prompt=prompt).chat("Which city did I move to?")
    roles = [m.role.value for m in llm.shown[0]]
    assert roles == ["system"] * (1 if prompt is None else 2) + ["user"]
    assert "Lisbon" in with_recall(llm.shown[0])[0].content

    chat.set([ChatMessage(role="system", content="You are Bo."), ChatMessage(role="user", content="Which city?")])
    merged, _ = chat.get()
    assert re.search(r"</memory \w+>\nYou are Bo\.$", merged.content)
    assert texts(chat.get_all()) == ["You are Bo.", "Which city?"]
    chat.set(chat.get())
    assert texts(chat.get_all()) == ["You are Bo.", "Which city?"]


def test_memory_cls_form_of_the_engines(folder, scripted, monkeypatch):
    monkeypatch.chdir(folder.parent)
    made = MnemicChatMemory.from_defaults(
        scope={"user": "ana"},
        chat_history=[ChatMessage(role="user", content="I play chess.")],
        token_limit=3_000,
        options={"embedder": "hashing"},
    )
    assert (made.token_limit, made.memory.scope.user, texts(made.get_all())) == (3_000, "ana", ["I play chess."])
    assert folder.is_dir()  # "./memory", as for Memory()
    assert MnemicChatMemory.from_defaults(made.memory, llm=scripted()).token_limit == 96_000
    made.memory.close()


async def test_sync_calls_inside_a_running_loop(known, scripted):
    chat = MnemicChatMemory(memory=known)
    SimpleChatEngine.from_defaults(llm=scripted(), memory=chat).chat("Which city did I move to?")
    assert len(chat.get_all()) == 2
    assert MnemicRetriever(known).retrieve("Which city?")


async def test_async_calls_at_once_lose_nothing(known, said):
    chat = MnemicChatMemory(memory=known, session_id="now")
    await asyncio.gather(*(chat.aput(ChatMessage(role="user", content=f"Note {i}.")) for i in range(20)))
    assert len(await chat.aget_all()) == 20
    assert sorted(said(known, session="now")) == sorted(f"Note {i}." for i in range(20))
