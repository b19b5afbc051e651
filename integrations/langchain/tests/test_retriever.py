"""MnemicRetriever: the standard suite of LangChain, what documents carry, and whose memory is searched."""

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_mnemic import MnemicChatMessageHistory, MnemicRetriever
from mnemic import ConfigurationError, InvalidInput, Memory, Scope

FACTS = ("I moved to Lisbon.", "Lisbon is sunny.", "My sister lives in Lisbon.", "I bought a red bicycle.")


class TestStandard(RetrieversIntegrationTests):
    """The suite that LangChain publishes."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MnemicRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        memory = Memory(":memory:", embedder="hashing")
        memory.add([{"role": "user", "content": fact} for fact in FACTS])
        return {"memory": memory}

    @property
    def retriever_query_example(self) -> str:
        return "Lisbon"


@pytest.fixture
def filled(memory: Memory) -> Memory:
    moments = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3, 4)]
    memory.add(
        [
            {"role": "user", "content": fact, "sent_at": at, "id": f"m{at.month}", "name": "Ana", "metadata": {"n": at.month}}
            for fact, at in zip(FACTS, moments, strict=True)
        ],
        session="s1",
    )  # fmt: skip
    memory.remember("Ana lives in Lisbon", id="fact", source_ids=["m1", "m2"])
    return memory


def user_of_config(config: Any) -> dict[str, str]:
    return {"user": config["configurable"]["user_id"]}


def test_a_document_carries_the_hit(filled: Memory) -> None:
    found = MnemicRetriever(memory=filled, k=1, filters={"kinds": ("message",)}).invoke("moved Lisbon")
    assert [(d.id, d.page_content) for d in found] == [("m1", "I moved to Lisbon.")]
    assert found[0].metadata.pop("score") > 0
    assert 0 <= found[0].metadata.pop("relevance") <= 1
    assert found[0].metadata == {
        "kind": "message", "session": "s1", "speaker": "Ana", "role": "user", "sent_at": "2026-01-01T00:00:00+00:00",
        "source": "direct_user", "trust": 1.0, "message_ids": "m1", "status": "short_term", "n": 1,
    }  # fmt: skip


def test_documents_of_both_kinds_are_json(filled: Memory) -> None:
    found = MnemicRetriever(memory=filled).invoke("Where does Ana live?")
    found += MnemicRetriever(memory=filled, filters={"kinds": ("memory",)}).invoke("Where does Ana live?")
    assert {d.metadata["kind"] for d in found} == {"message", "memory"}
    assert all(d.model_dump_json() for d in found)


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"since": datetime(2026, 3, 1, tzinfo=UTC), "kinds": ("message",)}, {"m3", "m4"}),
        ({"until": datetime(2026, 2, 1, tzinfo=UTC)}, {"m1"}),
        ({"kinds": ("memory",)}, {"fact"}),
        ({"metadata": {"n": 4}}, {"m4"}),
        ({"min_similarity": 0.999}, set()),
    ],
)
async def test_arguments_of_search_reach_it(filled: Memory, options: dict[str, Any], ids: set[str]) -> None:
    fixed = MnemicRetriever(memory=filled, filters=options)
    per_call = MnemicRetriever(memory=filled)
    assert {d.id for d in fixed.invoke("Lisbon")} == ids
    assert {d.id for d in await fixed.ainvoke("Lisbon")} == ids
    assert {d.id for d in per_call.invoke("Lisbon", **options)} == ids
    assert {d.id for d in await per_call.ainvoke("Lisbon", **options)} == ids


def test_an_argument_of_the_call_wins(filled: Memory) -> None:
    retriever = MnemicRetriever(memory=filled, k=3, filters={"kinds": ("memory",)})
    assert {d.metadata["kind"] for d in retriever.invoke("Lisbon", k=2, kinds=("message",), verbose=True)} == {
        "message"
    }


async def test_unknown_arguments_are_refused(filled: Memory) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown options \['top'\]"):
        MnemicRetriever(memory=filled, filters={"top": 3})
    with pytest.raises(InvalidInput, match="'user'"):
        MnemicRetriever(memory=filled).invoke("Lisbon", user="bob")
    with pytest.raises(InvalidInput, match="k must be"):
        await MnemicRetriever(memory=filled).ainvoke("Lisbon", k=0)


def test_the_runnable_interface(filled: Memory) -> None:
    retriever = MnemicRetriever(memory=filled, k=1)
    assert [d[0].id for d in retriever.batch(["bicycle", "sister"])] == ["m4", "m3"]
    assert [d[0].id for d in retriever.stream("bicycle")] == ["m4"]
    variable = retriever.configurable_fields(k=ConfigurableField(id="k"))
    assert len(variable.invoke("Lisbon", config={"configurable": {"k": 2}})) == 2


async def test_async_streaming(filled: Memory) -> None:
    streamed = [documents async for documents in MnemicRetriever(memory=filled, k=1).astream("bicycle")]
    assert [d.id for documents in streamed for d in documents] == ["m4"]


async def test_two_users_in_one_process(memory: Memory) -> None:
    memory.add("I moved to Lisbon.", id="a")
    memory.scoped(user="bob").add("I moved to Oslo.", id="b")
    retriever = MnemicRetriever(memory=memory, scope=user_of_config)
    for user, ids in (("ana", ["a"]), ("bob", ["b"]), ("eve", [])):
        config = {"configurable": {"user_id": user}}
        assert [d.id for d in retriever.invoke("moved", config)] == ids
        assert [d.id for d in await retriever.ainvoke("moved", config)] == ids
        assert [d.id for d in retriever.with_config(config).invoke("moved")] == ids


def test_the_scope_is_found_inside_a_chain_and_a_tool(memory: Memory) -> None:
    memory.scoped(user="bob").add("I moved to Oslo.", id="b")
    retriever = MnemicRetriever(memory=memory, scope=user_of_config)
    config: Any = {"configurable": {"user_id": "bob"}}
    chain = RunnablePassthrough() | retriever | RunnableLambda(lambda documents: [d.id for d in documents])
    assert chain.invoke("moved", config) == ["b"]
    tool = create_retriever_tool(retriever, "recall", "What was said before.")
    assert tool.invoke({"query": "moved"}, config) == "I moved to Oslo."
    assert list(tool.args) == ["query"]


def test_scopes_by_value(memory: Memory) -> None:
    memory.scoped(user="bob", project="p").add("I moved to Oslo.", id="b")
    for scope in (Scope(user="bob", project="p"), {"user": "bob"}, {"user": "bob", "project": None}):
        assert [d.id for d in MnemicRetriever(memory=memory, scope=scope).invoke("moved")] == ["b"]
    assert MnemicRetriever(memory=memory, scope={"user": "bob", "project": "q"}).invoke("moved") == []


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (lambda config: None, "must give a Scope"),
        (lambda config: {"user": None}, "no user"),
        (lambda config: {"user": ""}, "must not be empty"),
        (lambda config: {"usr": "bob"}, "usr"),
    ],
)
def test_an_unusable_scope_never_falls_back_to_another_user(memory: Memory, scope: Any, message: str) -> None:
    memory.add("I moved to Lisbon.")
    with pytest.raises(InvalidInput, match=message):
        MnemicRetriever(memory=memory, scope=scope).invoke("moved")


def test_a_direct_call_takes_the_scope_of_the_running_config(memory: Memory) -> None:
    memory.scoped(user="bob").add("I moved to Oslo.", id="b")
    retriever = MnemicRetriever(memory=memory, scope=user_of_config)

    def inside(query: str) -> list[str | None]:
        return [d.id for d in retriever._get_relevant_documents(query, run_manager=None)]  # type: ignore[arg-type]

    assert RunnableLambda(inside).invoke("moved", {"configurable": {"user_id": "bob"}}) == ["b"]


def test_callbacks_see_the_run_and_its_error(filled: Memory) -> None:
    events: list[str] = []

    class Watch(BaseCallbackHandler):
        def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
            events.append(f"found {len(documents)}")

        def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
            events.append(type(error).__name__)

    retriever = MnemicRetriever(memory=filled, k=2)
    retriever.invoke("Lisbon", {"callbacks": [Watch()]})
    with pytest.raises(InvalidInput):
        retriever.invoke("Lisbon", {"callbacks": [Watch()]}, recipe="no such")
    assert events == ["found 2", "InvalidInput"]


def test_what_histories_keep_for_themselves_is_not_shown(memory: Memory) -> None:
    MnemicChatMessageHistory(memory, "s1").add_user_message("I moved to Lisbon.")
    assert "langchain" not in MnemicRetriever(memory=memory).invoke("Lisbon")[0].metadata


async def test_documents_say_what_was_made_of_them_and_what_replaced_them(memory: Memory) -> None:
    memory.add("The API runs on port 8080.", id="m1")
    memory.remember("The API runs on port 8080.", id="old", source_ids=["m1"])
    retriever = MnemicRetriever(memory=memory)
    (before,) = await retriever.ainvoke("Which port does the API run on?")
    assert (before.id, before.metadata["via"]) == ("m1", "old")
    assert "superseded_by" not in before.metadata
    memory.remember("The API runs on port 9000.", id="new", replaces="old")
    after = {document.id: document.metadata for document in retriever.invoke("Which port does the API run on?")}
    assert after["m1"]["superseded_by"] == "new"
    assert not {"superseded_by", "via"} & set(after["new"])


@pytest.mark.parametrize("wrong", [{"k": 0}, {"filters": {"kinds": ["dream"]}}])
def test_arguments_are_looked_at_when_they_are_given(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"k must be|kinds must"):
        MnemicRetriever(memory=memory, **wrong)


def test_what_is_asked_for_is_given_however_it_is_graded(memory: Memory) -> None:
    memory.add("I moved to Lisbon in March.")
    assert len(MnemicRetriever(memory=memory).invoke("hi")) == 1
    assert MnemicRetriever(memory=memory, min_evidence="weak").invoke("hi") == []


def test_metadata_is_flat(memory: Memory) -> None:
    memory.add(
        "I moved to Lisbon.",
        metadata={"place": {"city": "Lisbon"}, "kind": "letter", "read": True, "seen": ["a,b", "c"]},
    )
    (document,) = MnemicRetriever(memory=memory).invoke("Lisbon")
    assert document.metadata["place"] == '{"city": "Lisbon"}'
    assert document.metadata["read"] is True
    assert document.metadata["seen"] == '["a,b", "c"]'
    assert document.metadata["kind"] == "message"
    assert all(isinstance(value, (str, int, float, bool)) for value in document.metadata.values())


async def test_a_score_threshold(filled: Memory) -> None:
    documents = MnemicRetriever(memory=filled).invoke("moved Lisbon")
    found = [(d.id, d.metadata["relevance"]) for d in documents]
    assert len({relevance for _, relevance in found}) > 1
    for lowest in (0.0, *(relevance for _, relevance in found), 1.0):
        above = MnemicRetriever(memory=filled, search_type="similarity_score_threshold", score_threshold=lowest)
        kept = [id_ for id_, relevance in found if relevance >= lowest]
        assert [d.id for d in above.invoke("moved Lisbon")] == kept
        assert [d.id for d in await above.ainvoke("moved Lisbon")] == kept


@pytest.mark.parametrize(
    "wrong", [{"score_threshold": 0.5}, {"search_type": "similarity_score_threshold"}, {"search_kwargs": {"k": 3}},
              {"search_type": "mmr"}]
)  # fmt: skip
def test_arguments_that_have_no_effect_are_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises((ConfigurationError, ValidationError)):
        MnemicRetriever(memory=memory, **wrong)


@pytest.mark.parametrize("asked", ["Where is the dentist?", "I need the address of the dentist."])
async def test_what_is_asked_in_the_thread_is_no_evidence(memory: Memory, asked: str) -> None:
    memory.add("I moved to Lisbon.", session="before")
    memory.add(asked, session="now")
    retriever, config = MnemicRetriever(memory=memory, k=2), {"configurable": {"thread_id": "now"}}
    for documents in (retriever.invoke(asked, config), await retriever.ainvoke(asked, config)):
        assert [document.page_content for document in documents] == ["I moved to Lisbon."]
