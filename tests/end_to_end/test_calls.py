"""How the methods are called: what clears a field, and what a wrong name is answered with."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from inspect import iscoroutine, isfunction, signature
from pathlib import Path

import pytest
from tests.internals import store_of

from mnemic import UNSET, AsyncMemory, ConfigurationError, InvalidInput, Memory, NotFound, UnknownArgument

LATER = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", user="ana", embedder="hashing") as opened:
        yield opened


def test_none_clears_a_field_and_what_is_not_given_stays(memory):
    held = memory.remember("Ana drinks tea", category="drink", tags=["tea"], metadata={"a": 1}, importance=0.9)
    memory.update(held.id, delete_after=LATER, invalid_at=LATER, valid_at=LATER)
    memory.update(held.id, content="Ana drinks green tea")
    kept = memory.get(held.id)
    assert (kept.delete_after, kept.invalid_at, kept.category, kept.tags) == (LATER, LATER, "drink", ("tea",))
    cleared = ("delete_after", "invalid_at", "valid_at", "category", "tags", "metadata", "importance")
    assert memory.update(held.id, **dict.fromkeys(cleared)).outcome == "stored"
    now = memory.get(held.id)
    assert (now.delete_after, now.invalid_at, now.valid_at, now.category) == (None, None, None, None)
    assert (now.tags, dict(now.metadata), now.pinned) == ((), {}, False)
    assert now.content == "Ana drinks green tea"
    assert memory.admin.verify().ok


@pytest.mark.parametrize("field", ["content", "type", "source"])
def test_what_a_memory_cannot_be_without_is_not_cleared(memory, field):
    held = memory.remember("Ana drinks tea")
    with pytest.raises(InvalidInput):
        memory.update(held.id, **{field: None})
    assert memory.get(held.id).version == 1


@pytest.mark.parametrize("face", [Memory, AsyncMemory])
async def test_no_location_is_that_of_the_environment(face, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "named", None):
        monkeypatch.setenv("MNEMIC_DIR", str(folder or ""))
        for given in ((), (None,)):  # an optional setting of a program may be None
            opened = face(*given, embedder="hashing")
            assert Path(opened.admin.location) == (folder or tmp_path / "memory")
            closed = opened.close()
            if closed is not None:
                await closed
    with pytest.raises(ConfigurationError, match="location must be a folder"):
        face("", embedder="hashing")


def test_an_asynchronous_handle_tells_none_from_not_given(memory):
    held = memory.remember("Ana drinks tea", category="drink")

    async def clear():
        face = AsyncMemory.over(memory)
        assert (await face.update(held.id, category=UNSET)).outcome == "duplicate"
        assert (await face.update(held.id, category=None)).outcome == "stored"

    asyncio.run(clear())
    assert memory.get(held.id).category is None


def test_none_widens_a_handle(memory):
    inner = memory.scoped(project="site", session="s1")
    assert inner.scoped().scope == inner.scope
    assert inner.scoped(session=None).scope.project == "site"
    assert inner.scoped(project=None).scope == inner.scope.__class__(user="ana", project=None, session="s1")
    assert inner.scoped(user="ben").scope.project is None
    with pytest.raises(InvalidInput):
        inner.scoped(user=None)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda memory: memory.search("tea", limit=5), "k"),
        (lambda memory: memory.search("tea", top_k=5), "k"),
        (lambda memory: memory.search("tea", user_id="ana"), "scoped(user=...)"),
        (lambda memory: memory.search("tea", filters={"a": 1}), "metadata"),
        (lambda memory: memory.get_memory_context("tea", max_token=5), "max_tokens"),
        (lambda memory: memory.list(k=5), "limit"),
        (lambda memory: memory.forget(id="a"), "ids"),
        (lambda memory: memory.add("tea", user_id="ana"), "scoped(user=...)"),
        (lambda memory: Memory(":memory:", user_id="ana"), "user"),
        (lambda memory: asyncio.run(AsyncMemory.over(memory).search("tea", top_k=5)), "k"),
        (lambda memory: AsyncMemory.over(memory).scoped(user_id="ana"), "user"),
        (lambda memory: AsyncMemory(":memory:", user_id="ana"), "user"),
    ],
)
def test_an_unknown_argument_names_the_nearest_and_reads_nothing(memory, call, meant, monkeypatch):
    monkeypatch.setattr(store_of(memory), "verify", lambda **_: pytest.fail("the record was checked"))
    with pytest.raises(UnknownArgument) as caught:
        call(memory)
    assert f"Did you mean {meant}?" in str(caught.value)
    assert isinstance(caught.value, TypeError)


def waited_for(method, *args, **kwargs):
    result = method(*args, **kwargs)
    return asyncio.run(result) if iscoroutine(result) else result


def methods_of(face):
    return [name for name, one in vars(face).items() if isfunction(one) and not name.startswith("_")]


@pytest.mark.parametrize("name", methods_of(Memory))
def test_every_method_explains_an_unknown_argument(memory, name):
    for face in (memory, AsyncMemory.over(memory)):
        method = getattr(face, name)
        needed = [one for one in signature(method).parameters.values() if one.default is one.empty]
        words = [["a"] if one.name == "ids" else "a" for one in needed if one.kind is one.POSITIONAL_OR_KEYWORD]
        with pytest.raises(UnknownArgument, match=r"has no argument 'no_such_argument'.*Nothing was done"):
            waited_for(method, *words, no_such_argument=1)
    assert memory.list() == memory.messages() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda memory, value: memory.process(progress=value),
        lambda memory, value: memory.admin.reembed(progress=value),
        lambda memory, value: memory.admin.backup("copy", progress=value),
        lambda memory, value: memory.admin.rekey("secret", progress=value),
        lambda memory, value: memory.admin.sync("other", progress=value),
        lambda memory, value: memory.admin.import_file("file", progress=value),
        lambda memory, value: memory.admin.import_from("file", progress=value),
    ],
)
def test_progress_is_a_function(memory, call):
    with pytest.raises(InvalidInput, match="progress must be a function or None, not 5"):
        call(memory, 5)


def test_a_missing_argument_is_pythons_own_error(memory, monkeypatch):
    monkeypatch.setattr(store_of(memory), "verify", lambda **_: pytest.fail("the record was checked"))
    with pytest.raises(TypeError, match="query"):
        memory.search()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("get_all", "list()"),
        ("delete", "forget(ids=[...])"),
        ("serch", "search"),
        ("export", "admin.export()"),
        ("graph", "links.graph()"),
        ("emotion", "admin.emotion()"),
    ],
)
def test_an_unknown_method_names_the_nearest(memory, name, meant):
    for face in (memory, AsyncMemory.over(memory)):
        with pytest.raises(AttributeError, match="Did you mean") as caught:
            getattr(face, name)
        assert meant in str(caught.value)
        assert not hasattr(face, "__no_such_protocol__")


DESCRIPTION = {
    "summary": "Port of the API", "context": "said at the review", "keywords": ("api", "port"), "confidence": 0.7,
    "related_files": ("deploy/api.yaml",), "related_entities": ("Acme",),
}  # fmt: skip


def test_a_given_description_is_kept_whatever_describes_the_rest(memory):
    held = memory.remember("The API of Acme listens on port 8080.", id="port", **DESCRIPTION)
    assert held.outcome == "stored"
    memory.process()  # fills in what is missing
    kept = memory.get("port")
    assert {name: getattr(kept, name) for name in DESCRIPTION} == DESCRIPTION
    assert memory.update("port", summary="The port", context=None).outcome == "stored"
    assert (memory.get("port").summary, memory.get("port").context) == ("The port", None)
    memory.update("port", content="The API of Acme listens on port 9090.", keywords=["listening"])
    renewed = memory.get("port")
    assert renewed.keywords == ("listening",)
    assert renewed.summary != "The port"
    assert renewed.related_files == ("deploy/api.yaml",)
    assert memory.admin.verify().ok


@pytest.mark.parametrize(
    ("name", "value"), [("confidence", 2), ("keywords", 7), ("summary", 7), ("related_files", [1]), ("sumary", "x")]
)
def test_a_wrong_description_stores_nothing(memory, name, value):
    for call in (
        lambda **given: memory.remember("Ana drinks tea", **given),
        lambda **given: memory.update("x", **given),
    ):
        with pytest.raises((InvalidInput, UnknownArgument, NotFound)):
            call(**{name: value})
    assert memory.list() == []
