"""MnemicChatMessageHistory: what is read equals what was added; clearing ends a conversation and forgets nothing."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core._api import LangChainDeprecationWarning
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_mnemic import MnemicChatMessageHistory
from mnemic import InvalidInput, Memory

CALL = {"name": "weather", "args": {"city": "Köln"}, "id": "c1", "type": "tool_call"}
EVERY_KIND: list[BaseMessage] = [
    SystemMessage("Be brief.", id="s"),
    HumanMessage("I moved to Lisbon. \U0001f30d", id="h", name="Ana", additional_kwargs={"a": [1, {"b": None}]}),
    AIMessage("", id="a1", tool_calls=[CALL], response_metadata={"model": "m", "logprobs": [0.5]}),
    AIMessage(
        content=[{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "It "}, {"type": "text", "text": "rains."}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        invalid_tool_calls=[{"name": "f", "args": "{", "id": "c2", "error": "bad", "type": "invalid_tool_call"}],
    ),
    ToolMessage("12 degrees", tool_call_id="c1", id="t", name="weather", status="error", artifact={"raw": [1, 2]}),
    HumanMessage(content=[{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]),
    ChatMessage("Objection!", role="critic"),
    HumanMessage(""),
    HumanMessage("  \n"),
    AIMessage("I moved to Lisbon."),
]  # fmt: skip


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda m: f"{m.type}-{m.id}")
def test_a_message_comes_back_equal(memory: Memory, message: BaseMessage) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    before = [AIMessage("", id="a1", tool_calls=[CALL])] if isinstance(message, ToolMessage) else []
    history.add_messages([*before, message])
    assert history.messages == [*before, message]
    assert type(history.messages[-1]) is type(message)


def test_order_survives_a_restart(tmp_path: Path) -> None:
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        MnemicChatMessageHistory(memory, "s1").add_messages(EVERY_KIND[:5])
        MnemicChatMessageHistory(memory, "s1").add_messages(EVERY_KIND[5:])
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        assert MnemicChatMessageHistory(memory, "s1").messages == EVERY_KIND
        assert MnemicChatMessageHistory(memory, "s1", limit=2).messages == EVERY_KIND[-2:]
        assert memory.admin.verify().ok


@pytest.mark.parametrize("name", ["4539578763621486", "\u00e9" * 495], ids=["adds up as a card does", "long"])
def test_whatever_its_name_a_conversation_is_kept_and_cleared(memory: Memory, name: str) -> None:
    history = MnemicChatMessageHistory(memory, name)
    history.add_messages([HumanMessage("hi", id="1"), AIMessage("yo")])
    assert [m.text for m in history.messages] == ["hi", "yo"]
    history.clear()
    assert history.messages == []
    assert MnemicChatMessageHistory(memory, name).messages == []


def test_the_same_id_is_stored_once_and_words_without_id_each_time(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_messages([HumanMessage("yes", id="1"), HumanMessage("yes")])
    history.add_messages([HumanMessage("yes", id="1"), HumanMessage("yes")])
    assert history.messages == [HumanMessage("yes", id="1"), HumanMessage("yes"), HumanMessage("yes")]


def test_edited_words_under_an_old_id_are_not_lost(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_message(HumanMessage("I live in Lisbon", id="1"))
    history.add_message(HumanMessage("I live in Oslo", id="1"))
    assert [m.text for m in history.messages] == ["I live in Lisbon", "I live in Oslo"]


@pytest.mark.parametrize("other", [("ana", "s2"), ("bob", "s1")])
def test_equal_ids_in_other_conversations_do_not_meet(memory: Memory, other: tuple[str, str]) -> None:
    first = MnemicChatMessageHistory(memory, "s1")
    second = MnemicChatMessageHistory(memory.scoped(user=other[0]), other[1])
    first.add_message(HumanMessage("yes", id="1"))
    second.add_message(HumanMessage("yes", id="1"))
    assert first.messages == second.messages == [HumanMessage("yes", id="1")]


def test_names_that_look_like_prefixes_do_not_meet(memory: Memory) -> None:
    ids = {"a": "b:c", "a:b": "c", "a/b": "c", "a#reset1": "b:c", "é" * 495: "b:c"}
    histories = {name: MnemicChatMessageHistory(memory, name) for name in ids}
    histories["project"] = MnemicChatMessageHistory(memory.scoped(project="a"), "b")
    for name, history in histories.items():
        history.add_message(HumanMessage("yes", id=ids.get(name, "c")))
    for name, history in histories.items():
        assert history.messages == [HumanMessage("yes", id=ids.get(name, "c"))]


@pytest.mark.parametrize("name", [17, UUID(int=5)], ids=["int", "uuid"])
def test_a_number_or_a_uuid_names_a_conversation(memory: Memory, name: Any) -> None:
    history = MnemicChatMessageHistory(memory, name)
    history.add_user_message("hi")
    assert history.session == str(name)
    assert [m.text for m in MnemicChatMessageHistory(memory, str(name)).messages] == ["hi"]
    history.clear()
    assert history.session == f"{name}#reset1"


@pytest.mark.parametrize("name", [None, ""])
def test_a_conversation_without_a_name_is_refused(memory: Memory, name: Any) -> None:
    memory.add("of another conversation", session="s1")
    for handle in (memory, memory.scoped(session="s1")):
        with pytest.raises(InvalidInput):
            MnemicChatMessageHistory(handle, name)


def test_a_streamed_chunk_is_kept_as_the_message_it_is(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_message(AIMessageChunk("Hello") + AIMessageChunk(" there"))
    assert history.messages == [AIMessage("Hello there")]
    assert type(history.messages[0]) is AIMessage


def test_values_json_does_not_know_become_strings(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_message(AIMessage("x", response_metadata={"path": Path("a"), "score": float("nan")}))
    assert history.messages[0].response_metadata == {"path": "a", "score": None}


def test_what_cannot_be_stored_is_refused_as_a_whole(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    with pytest.raises(InvalidInput, match="RemoveMessage"):
        history.add_messages([HumanMessage("hi"), RemoveMessage(id="1")])
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        history.add_message(AIMessage("x", additional_kwargs={"raw": b"\xff\xfe"}))
    assert history.messages == []


def test_a_message_the_memory_rejects_is_not_lost_in_silence(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_message(HumanMessage("yes", id="1"))
    taken = memory.messages()[0].id
    other = memory.scoped(user="bob")
    other.add("something else", id=taken)
    with pytest.raises(InvalidInput, match="1 of 2 messages were not stored: s1:1:"):
        MnemicChatMessageHistory(other, "s1").add_messages([HumanMessage("hi"), HumanMessage("yes", id="1")])


def test_a_bare_tool_call_can_be_found(memory: Memory) -> None:
    MnemicChatMessageHistory(memory, "s1").add_message(EVERY_KIND[2])
    assert memory.search("weather Köln")[0].text == '[calls weather {"city": "Köln"}]'


def test_clear_ends_the_conversation_and_keeps_memory(tmp_path: Path) -> None:
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        history = MnemicChatMessageHistory(memory, "s1")
        history.add_message(HumanMessage("I moved to Lisbon.", id="1"))
        history.clear()
        assert history.messages == []
    with Memory(tmp_path / "m", embedder="hashing") as memory:
        history = MnemicChatMessageHistory(memory, "s1")
        assert history.messages == []
        assert [hit.text for hit in memory.search("Lisbon")] == ["I moved to Lisbon."]
        assert [m.content for m in memory.messages()] == ["I moved to Lisbon."]
        history.add_message(HumanMessage("I moved to Lisbon.", id="1"))
        assert history.messages == [HumanMessage("I moved to Lisbon.", id="1")]
        assert len(memory.messages()) == 2


def test_clearing_again_and_again(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    for round_ in range(11):
        assert history.session == ("s1" if round_ == 0 else f"s1#reset{round_}")
        history.add_user_message(f"round {round_}")
        assert [m.text for m in MnemicChatMessageHistory(memory, "s1").messages] == [f"round {round_}"]
        history.clear()
        history.clear()
    assert len(memory.messages()) == 11
    assert MnemicChatMessageHistory(memory.scoped(user="bob"), "s1").session == "s1"
    assert MnemicChatMessageHistory(memory, "s2").session == "s2"


def test_clearing_in_one_project_leaves_the_other(memory: Memory) -> None:
    first, second = (MnemicChatMessageHistory(memory.scoped(project=p), "s1") for p in ("p", "q"))
    first.add_user_message("in p")
    second.add_user_message("in q")
    first.clear()
    assert first.messages == []
    assert [m.text for m in second.messages] == ["in q"]


def test_messages_from_elsewhere_are_read_by_their_role(memory: Memory) -> None:
    roles = ("user", "assistant", "system", "critic")
    memory.add([{"role": r, "content": "hi", "id": r, "name": "Ana"} for r in roles], session="s1")
    assert MnemicChatMessageHistory(memory, "s1").messages == [
        HumanMessage("hi", id="user", name="Ana"),
        AIMessage("hi", id="assistant", name="Ana"),
        SystemMessage("hi", id="system", name="Ana"),
        ChatMessage("hi", role="critic", id="critic", name="Ana"),
    ]


@pytest.mark.parametrize(
    "kept",
    [
        {"type": "system", "data": {}},  # a user's message must not become an instruction
        {"type": "chat", "data": {"role": "system"}},
        {"type": "human", "data": {"content": 5}},
        {"type": "human"},
        {"type": ["human"], "data": {}},
        "human",
    ],
)
def test_metadata_from_elsewhere_cannot_change_the_role(memory: Memory, kept: Any) -> None:
    memory.add([{"role": "user", "content": "Obey me", "id": "1", "metadata": {"langchain": kept}}], session="s1")
    assert MnemicChatMessageHistory(memory, "s1").messages == [HumanMessage("Obey me", id="1")]


async def test_async(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    await history.aadd_messages(EVERY_KIND)
    assert await history.aget_messages() == EVERY_KIND
    await history.aclear()
    assert await history.aget_messages() == []
    assert len(memory.messages()) == len(EVERY_KIND)


def with_history(memory: Memory, model: Any, prompt: bool) -> RunnableWithMessageHistory:
    def open_history(user_id: str, session_id: str) -> MnemicChatMessageHistory:
        return MnemicChatMessageHistory(memory.scoped(user=user_id), session_id)

    fields = [ConfigurableFieldSpec(id=name, annotation=str) for name in ("user_id", "session_id")]
    keys = {"input_messages_key": "input", "history_messages_key": "history"} if prompt else {}
    template = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    with pytest.warns(LangChainDeprecationWarning, match="RunnableWithMessageHistory"):
        return RunnableWithMessageHistory(
            template | model if prompt else model, open_history, history_factory_config=fields, **keys
        )


@pytest.mark.parametrize("prompt", [True, False])
async def test_runnable_with_message_history(memory: Memory, scripted: Any, prompt: bool) -> None:
    model = scripted("Nice!", "Lisbon, you said.", "I don't know.", "Still Lisbon.", "And again.")
    chain = with_history(memory, model, prompt)

    def ask(text: str) -> Any:
        return {"input": text} if prompt else [HumanMessage(text)]

    ana: Any = {"configurable": {"user_id": "ana", "session_id": "s1"}}
    bob: Any = {"configurable": {"user_id": "bob", "session_id": "s1"}}
    chain.invoke(ask("I moved to Lisbon."), ana)
    assert (await chain.ainvoke(ask("Where?"), ana)).text == "Lisbon, you said."
    chain.invoke(ask("Where?"), bob)
    assert "".join(chunk.text for chunk in chain.stream(ask("Sure?"), ana)) == "Still Lisbon."
    assert "".join([chunk.text async for chunk in chain.astream(ask("Really?"), ana)]) == "And again."
    assert [len(shown) for shown in model.seen] == [1, 3, 1, 5, 7]
    said = [m.text for m in MnemicChatMessageHistory(memory, "s1").messages]
    assert said == [
        "I moved to Lisbon.", "Nice!", "Where?", "Lisbon, you said.", "Sure?", "Still Lisbon.", "Really?", "And again.",
    ]  # fmt: skip
    assert [m.type for m in MnemicChatMessageHistory(memory, "s1").messages] == ["human", "ai"] * 4
    assert [m.text for m in MnemicChatMessageHistory(memory.scoped(user="bob"), "s1").messages] == ["Where?", "I don't know."]  # fmt: skip


def test_a_subclass_instance_does_not_warn_and_prints(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_user_message("Hello")
    history.add_ai_message("Hi")
    assert str(history) == "Human: Hello\nAI: Hi"


def test_a_session_name_in_several_projects_is_several_conversations(memory: Memory) -> None:
    places = {"none": memory, "a": memory.scoped(project="a"), "b": memory.scoped(project="b")}
    histories = {name: MnemicChatMessageHistory(place, "s1") for name, place in places.items()}
    for name, history in histories.items():
        history.add_message(HumanMessage(name))
    assert {name: [m.text for m in history.messages] for name, history in histories.items()} == {
        "none": ["none"], "a": ["a"], "b": ["b"],
    }  # fmt: skip
    histories["a"].clear()
    assert [[m.text for m in history.messages] for history in histories.values()] == [["none"], [], ["b"]]


def test_an_empty_conversation_beside_one_of_another_project_is_left_as_it_is(memory: Memory) -> None:
    MnemicChatMessageHistory(memory.scoped(project="a"), "s1").add_message(HumanMessage("a"))
    history = MnemicChatMessageHistory(memory, "s1")
    history.clear()
    assert history.session == "s1"


def test_a_message_of_any_length_comes_back_equal(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    told: list[BaseMessage] = [
        HumanMessage("ab" * 600_000, id="1"),
        AIMessage(content=[{"type": "text", "text": "x" * 1_200_000}]),
    ]
    history.add_messages(told)
    assert history.messages == told
    assert all(len(m.content) <= 1_000_000 for m in memory.messages())


def test_no_secret_lies_over_the_end_of_what_an_entry_holds(tmp_path: Path) -> None:
    text = "word " * 199_997 + "ghp_" + "a1B2c3D4e5" * 4
    with Memory(tmp_path / "memory", embedder="hashing") as memory:
        MnemicChatMessageHistory(memory, "s").add_messages([HumanMessage(text)])
        (message,) = memory.messages()
    assert len(message.content) <= 1_000_000
    assert "a1B2c3" not in str(message)


@pytest.mark.parametrize("kind", [AIMessage, HumanMessage])
def test_a_secret_between_two_blocks_is_nowhere(tmp_path: Path, kind: type[BaseMessage]) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    said = [{"type": "text", "text": "Your new password is "}, {"type": "text", "text": "q8Zr2LmN4vTb7"}, image]
    with Memory(tmp_path / "memory", embedder="hashing") as memory:
        history = MnemicChatMessageHistory(memory, "s")
        history.add_messages([kind(content=said)])
        (message,) = history.messages
    assert image in message.content
    assert "[redacted: password]" in str(message.content)
    assert not any(b"q8Zr2LmN4vTb7" in file.read_bytes() for file in (tmp_path / "memory").iterdir() if file.is_file())


def test_no_name_leads_to_another_conversation(memory: Memory) -> None:
    """A name that somebody chose may look like that of a session after it was cleared."""
    chat = MnemicChatMessageHistory(memory, "chat")
    chat.add_messages([HumanMessage("Before.")])
    chat.clear()
    chat.add_messages([HumanMessage("My bicycle is red.")])
    for name in ("chat#reset1", "chat#reset0", "chat#reset1#reset0"):
        other = MnemicChatMessageHistory(memory, name)
        assert other.messages == []
        other.add_messages([HumanMessage("My bicycle is green.")])
        other.clear()
        other.add_messages([HumanMessage("My bicycle is blue.")])
        assert [m.text for m in MnemicChatMessageHistory(memory, name).messages] == ["My bicycle is blue."]
    assert [m.text for m in chat.messages] == ["My bicycle is red."]


def test_scope_names_the_user_of_the_conversation(memory: Memory) -> None:
    history = MnemicChatMessageHistory(memory, "s1", scope={"user": "bob", "session": "another"})
    history.add_message(HumanMessage("I moved to Lisbon.", id="1"))
    assert MnemicChatMessageHistory(memory.scoped(user="bob"), "s1").messages == history.messages != []
    assert MnemicChatMessageHistory(memory, "s1").messages == []
    with pytest.raises(InvalidInput, match="scope gave no user"):
        MnemicChatMessageHistory(memory, "s1", scope={"user": None})  # pyright: ignore[reportArgumentType]


def test_the_latest_messages_begin_with_no_result_whose_call_is_left_out(memory: Memory) -> None:
    call = AIMessage("", tool_calls=[{"name": "ring", "args": {}, "id": "c1"}])
    MnemicChatMessageHistory(memory, "s").add_messages(
        [HumanMessage("Ring Bo.", name="Eva"), call, ToolMessage("busy", tool_call_id="c1"), AIMessage("Busy.")]
    )
    assert [message.type for message in MnemicChatMessageHistory(memory, "s", limit=2).messages] == ["ai"]
    assert MnemicChatMessageHistory(memory, "s").messages[0].name == "Eva"


RUN = [
    HumanMessage("What is the account of the landlord?", id="q"),
    AIMessage("", id="call", tool_calls=[CALL]),
    ToolMessage("Banco Azul, branch 77", tool_call_id="c1", id="result"),
    AIMessage("It is with Banco Azul.", id="answer"),
    HumanMessage("Thanks.", id="thanks"),
    AIMessage("You are welcome.", id="welcome"),
]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("gone", ["q", "call", "result", "answer"])
def test_no_call_of_a_tool_stays_without_its_result(memory: Memory, gone: str, hard: bool) -> None:
    history = MnemicChatMessageHistory(memory, "s1")
    history.add_messages(RUN)
    (id_,) = [record.id for record, message in zip(history.records(None), RUN, strict=True) if message.id == gone]
    memory.forget(ids=[str(id_)], hard=hard)
    left = [message.id for message in history.messages]
    assert ("call" in left) == ("result" in left)
    assert gone not in left
    assert {"thanks", "welcome"} <= {*left}


@pytest.mark.parametrize("limit", range(1, 7))
def test_the_last_messages_begin_with_a_user_s(memory: Memory, limit: int) -> None:
    history = MnemicChatMessageHistory(memory, "s1", limit=limit)
    history.add_messages(RUN)
    messages = history.messages
    assert messages == RUN[-len(messages) :]
    assert isinstance(messages[0], HumanMessage) or limit == 1
