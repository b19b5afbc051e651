"""Twenty questions, each asked in a mood: how often what was felt in that mood comes first, by everything that recalls."""

import asyncio
import json
from pathlib import Path

import pytest

from mnemic import Emotion, InvalidInput, Memory, OnnxEmbedder
from mnemic.adapters import blocking, tools
from mnemic.errors import MnemicError

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "moods.json").read_text(encoding="utf-8"))
LEAST = 15


@pytest.fixture(scope="module")
def memories():
    embedder = OnnxEmbedder()
    try:
        embedder.load()
    except MnemicError as error:
        pytest.skip(f"The default model is not on this machine: {error}")
    opened = []
    for case in CASES:
        memory = Memory(":memory:", user="ana", embedder=embedder)
        for text in sorted([case["wanted"], *case["others"]]):
            memory.remember(text)
        opened.append(memory)
    yield opened
    for memory in opened:
        memory.close()


@pytest.fixture
def first(monkeypatch):
    """The first hit of the last context that anything asked for."""
    seen = []
    real = Memory.get_memory_context

    def noted(handle, *args, **kwargs):
        found = real(handle, *args, **kwargs)
        seen[:] = [hit.text for hit in found.hits]
        return found

    monkeypatch.setattr(Memory, "get_memory_context", noted)
    return seen


def langchain_memory(memory, query, given):
    module = pytest.importorskip("langchain_mnemic")
    pytest.importorskip("langchain_classic")
    module.MnemicMemory(memory=memory, min_evidence="none", idle=False, **given).load_memory_variables({"input": query})


def langchain_middleware(memory, query, given):
    module, agents = pytest.importorskip("langchain_mnemic"), pytest.importorskip("langchain.agents")
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    middleware = module.MnemicMiddleware(
        memory, min_evidence="none", idle=False, filters={"kinds": ["memory"]}, **given
    )
    model = GenericFakeChatModel(messages=iter([AIMessage("So.")]))
    agents.create_agent(model, middleware=[middleware]).invoke({"messages": [("user", query)]})


def llama_index_chat_memory(memory, query, given):
    module = pytest.importorskip("llama_index.memory.mnemic")
    module.MnemicChatMemory(memory=memory, min_evidence="none", idle=False, **given).get(query)


def pydantic_ai_capability(memory, query, given):
    ai, module = pytest.importorskip("pydantic_ai"), pytest.importorskip("pydantic_ai_mnemic")
    from pydantic_ai.models.test import TestModel

    given = {"min_evidence": "none", "idle": False, "store": False, "tools": False, **given}
    agent = ai.Agent(TestModel(), capabilities=[module.MnemicCapability(memory, **given)])
    asyncio.run(agent.run(query))  # run_sync would leave a loop of its own open


def context(memory, query, given):
    memory.get_memory_context(query, **given)


CONTEXTS = [context, langchain_memory, langchain_middleware, llama_index_chat_memory, pydantic_ai_capability]


@pytest.mark.parametrize("ask", CONTEXTS, ids=lambda ask: ask.__name__)
def test_contexts(memories, first, ask):
    found = []
    for case, memory in zip(CASES, memories, strict=True):
        ask(memory, case["query"], {"mood": lambda: memory.admin.emotion(case["mood"])})  # noqa: B023 - called at once
        found.append(first[0] == case["wanted"])
    assert sum(found) >= LEAST


def search(memory, query, given):
    return memory.search(query, **given)[0].text


def recall_tool(memory, query, given):
    return blocking(memory, lambda memory: tools.Search(**given)(memory, query))["results"][0]["text"]


def langchain_retriever(memory, query, given):
    return pytest.importorskip("langchain_mnemic").MnemicRetriever(memory=memory, **given).invoke(query)[0].page_content


def langchain_tools(memory, query, given):
    recall = pytest.importorskip("langchain_mnemic").mnemic_tools(memory, **given)[1]
    return json.loads(recall.invoke({"query": query}))["results"][0]["text"]


def llama_index_retriever(memory, query, given):
    return pytest.importorskip("llama_index.memory.mnemic").MnemicRetriever(memory, **given).retrieve(query)[0].text


def llama_index_tools(memory, query, given):
    spec = pytest.importorskip("llama_index.memory.mnemic").MnemicToolSpec(memory, **given)
    return json.loads(spec.recall(query))["results"][0]["text"]


SEARCHES = [search, recall_tool, langchain_retriever, langchain_tools, llama_index_retriever, llama_index_tools]


@pytest.mark.parametrize("ask", SEARCHES, ids=lambda ask: ask.__name__)
def test_searches(memories, ask):
    asked = zip(CASES, memories, strict=True)
    found = [ask(m, case["query"], {"mood": m.admin.emotion(case["mood"])}) == case["wanted"] for case, m in asked]
    assert sum(found) >= LEAST


def test_without_a_mood_nothing_changes(memories):
    for case, memory in zip(CASES, memories, strict=True):
        plain = [hit.text for hit in memory.search(case["query"])]
        memory.search(case["query"], mood=memory.admin.emotion(case["mood"]))
        assert [hit.text for hit in memory.search(case["query"], mood=None)] == plain
        assert [hit.text for hit in memory.search(case["query"], emotion_weight=0)] == plain


def test_what_is_remembered_may_say_how_it_felt_and_everything_kept_has_a_quadrant(opened):
    memory = opened(user="ana", session="s1")
    felt = Emotion(valence=-0.6, arousal=0.7, confidence=1.0)
    id_ = memory.remember("The demo is on Friday.", emotion=felt).id
    read = memory.remember("I am so happy about the garden!").id
    assert memory.get(id_).emotion == felt
    assert memory.get(read).emotion.valence > 0
    memory.process()
    assert memory.get(id_).emotion == felt
    memory.update(id_, content="The demo is on Monday.", emotion=Emotion(valence=0.5, arousal=0.5))
    assert memory.get(id_).emotion.valence == 0.5
    memory.update(id_, content="What a terrible, horrible demo.")
    assert memory.get(id_).emotion.valence < 0.5
    with pytest.raises(InvalidInput, match="emotion"):
        memory.remember("x", emotion=Emotion(valence=3.0, arousal=0.0))
    memory.preferences["theme"] = "dark"
    memory.add("I moved to Lisbon.")
    memory.sessions.end()
    assert {record.emotion.quadrant is None for record in memory.list()} == {False}
