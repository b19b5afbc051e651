"""MnemicRetriever: nodes, query engines, filters, and the event loop."""

import threading
from datetime import UTC, datetime

import pytest
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, QueryBundle

from llama_index.memory.mnemic import MnemicChatMemory, MnemicRetriever
from mnemic import AsyncMemory, ConfigurationError, Memory
from mnemic.adapters import bind


@pytest.fixture
def known(memory):
    memory.add("I moved to Lisbon.", name="Ana", id="m1", sent_at=datetime(2026, 3, 14, tzinfo=UTC), metadata={"channel": "mail", "kind": "letter"}, session="s1")  # fmt: skip
    memory.remember("Ana lives in Lisbon.", tags=["home"], id="f1")
    memory.scoped(user="ben").add("Ben lives in Lisbon.")
    return memory


def test_nodes_carry_the_record(known):
    found = {n.node.node_id: n for n in MnemicRetriever(known).retrieve("Who lives in Lisbon?")}
    assert set(found) == {"m1", "f1"}
    message = found["m1"]
    assert message.node.text == "I moved to Lisbon."
    expected = {
        "channel": "mail", "kind": "message", "source": "direct_user", "trust": 1.0, "session": "s1", "speaker": "Ana", "role": "user",
        "sent_at": "2026-03-14T00:00:00+00:00", "status": "short_term", "message_ids": ["m1"],
    }  # fmt: skip
    assert 0 < message.node.metadata.pop("relevance") <= 1
    assert message.node.metadata == expected
    assert {k: found["f1"].node.metadata[k] for k in ("kind", "type", "tags")} == {
        "kind": "memory", "type": "semantic", "tags": ["home"],
    }  # fmt: skip
    hits = {hit.id: hit.score for hit in known.search("Who lives in Lisbon?")}
    assert {id_: n.score for id_, n in found.items()} == pytest.approx(hits)


def test_prompts_stay_clean(known):
    (node,) = (n.node for n in MnemicRetriever(known, filters={"kinds": ["message"]}).retrieve("Lisbon"))
    assert (
        node.get_content(MetadataMode.LLM) == "speaker: Ana\nsent_at: 2026-03-14T00:00:00+00:00\n\nI moved to Lisbon."
    )
    assert node.get_content(MetadataMode.EMBED) == "I moved to Lisbon."


def test_k_and_search_arguments(known):
    assert len(MnemicRetriever(known, similarity_top_k=1).retrieve("Lisbon")) == 1
    assert [n.node.node_id for n in MnemicRetriever(known, filters={"tags": ["home"]}).retrieve("Lisbon")] == ["f1"]
    assert [n.node.text for n in MnemicRetriever(known, scope={"user": "ben"}).retrieve("Lisbon")] == [
        "Ben lives in Lisbon."
    ]
    for bad in ("query", "colour"):
        with pytest.raises(ConfigurationError, match=bad):
            MnemicRetriever(known, filters={bad: "x"})
    for bad in (AsyncMemory.over(known), 3):
        with pytest.raises(ConfigurationError, match="memory must be"):
            MnemicRetriever(bad)


def test_a_folder_serves_as_well(folder):
    with Memory(folder, user="ana", embedder="hashing") as memory:
        memory.add("I moved to Lisbon.")
    chosen = {"scope": {"user": "ana"}, "options": {"embedder": "hashing"}}
    assert len(MnemicRetriever(folder, **chosen).retrieve("Lisbon")) == 1
    bind(folder, **chosen).root.close()


@pytest.mark.parametrize("method", ["query", "aquery"])
async def test_query_engine(known, method):
    runtime = RetrieverQueryEngine.from_args(MnemicRetriever(known, similarity_top_k=2), llm=MockLLM())
    asked = "Who lives in Lisbon?"
    answer = runtime.query(asked) if method == "query" else await runtime.aquery(asked)
    assert "speaker: Ana" in answer.response  # this model repeats its prompt
    assert "message_ids" not in answer.response
    assert {n.node.node_id for n in answer.source_nodes} == {"m1", "f1"}


async def test_async_search_is_not_on_the_event_loop(known, monkeypatch):
    threads = []
    search = Memory.search
    monkeypatch.setattr(
        Memory, "search", lambda self, *a, **k: threads.append(threading.current_thread()) or search(self, *a, **k)
    )
    assert len(await MnemicRetriever(known).aretrieve(QueryBundle("Lisbon"))) == 2
    assert threads
    assert threading.current_thread() not in threads


async def test_nodes_say_what_was_made_of_them_and_what_replaced_them(memory):
    memory.add("The API runs on port 8080.", id="m1")
    memory.remember("The API runs on port 8080.", id="old", source_ids=["m1"])
    retriever = MnemicRetriever(memory)
    (before,) = await retriever.aretrieve("Which port does the API run on?")
    assert (before.node.node_id, before.node.metadata["via"]) == ("m1", ["old"])
    assert "superseded_by" not in before.node.metadata
    memory.remember("The API runs on port 9000.", id="new", replaces="old")
    after = {n.node.node_id: n.node for n in retriever.retrieve("Which port does the API run on?")}
    assert after["m1"].metadata["superseded_by"] == ["new"]
    assert "superseded_by" not in after["new"].metadata
    assert "new" not in after["m1"].get_content(MetadataMode.LLM)


@pytest.mark.parametrize("way", ["chat", "achat", "stream", "astream"])
async def test_in_a_chat_engine_beside_the_chat_memory(known, scripted, said, way):
    """What the retriever finds is context of the prompt; it does not become something that was said."""
    llm = scripted("In Lisbon.")
    chat = MnemicChatMemory(memory=known, session_id="now", max_tokens=0)
    runtime = CondensePlusContextChatEngine.from_defaults(
        MnemicRetriever(known, similarity_top_k=1), llm=llm, memory=chat
    )
    before = said(known)
    match way:
        case "chat":
            answer = runtime.chat("Where did I move?").response
        case "achat":
            answer = (await runtime.achat("Where did I move?")).response
        case "stream":
            answer = "".join(runtime.stream_chat("Where did I move?").response_gen)
        case _:
            stream = await runtime.astream_chat("Where did I move?")
            answer = "".join([token async for token in stream.async_response_gen()])
    assert answer == "In Lisbon."
    assert any("Lisbon" in (m.content or "") for m in llm.shown[0])
    assert said(known) == [*before, "Where did I move?", "In Lisbon."]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"similarity_top_k": 0}, "k"), ({"similarity_top_k": "x"}, "k"), ({"filters": {"kinds": ["dream"]}}, "kinds")],
)
def test_arguments_are_looked_at_when_they_are_given(memory, wrong, named):
    with pytest.raises(ConfigurationError, match=named):
        MnemicRetriever(memory, **wrong)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("asked", ["Where is the dentist?", "Tell me where the dentist is."])
async def test_what_is_being_asked_is_no_evidence(memory, asked, asynchronous):
    memory.add("I moved to Lisbon.", session="now")
    memory.add(asked, session="then")
    retriever = MnemicRetriever(memory, similarity_top_k=2)
    nodes = await retriever.aretrieve(asked) if asynchronous else retriever.retrieve(asked)
    assert [node.text for node in nodes] == ["I moved to Lisbon."]


@pytest.mark.parametrize("exclude", ["lisbon", ["lisbon"], None])
def test_what_a_filter_excludes_is_left_out_beside_what_is_being_asked(memory, exclude):
    memory.add("I moved to Lisbon.", id="lisbon", session="before")
    memory.add("Where did I move?", session="now")
    texts = [node.text for node in MnemicRetriever(memory, filters={"exclude": exclude}).retrieve("Where did I move?")]
    assert texts == ([] if exclude else ["I moved to Lisbon."])
