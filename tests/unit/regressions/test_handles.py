"""Handles as other programs treat them."""

import copy
import pickle
from pathlib import Path

import pytest

from mnemic import AsyncMemory, ConfigurationError, InvalidInput, Memory


@pytest.fixture
def memory():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        yield memory


async def test_a_copied_handle_is_of_the_same_record_and_none_can_be_pickled(memory):
    memory.remember("Ana likes tea.", id="tea")
    async_ = AsyncMemory.over(memory.scoped(user="ben"))
    for copied in (copy.copy(memory), copy.deepcopy({"memory": memory})["memory"]):
        assert copied.get("tea").content == "Ana likes tea."
        assert copied.scope == memory.scope
    for copied in (copy.copy(async_), copy.deepcopy(async_)):
        assert copied.scope == async_.scope
        assert (await copied.remember("Ben likes coffee.")).outcome in ("stored", "duplicate")
    for handle in (memory, async_):
        with pytest.raises(ConfigurationError, match=r"cannot be pickled.*Memory\("):
            pickle.dumps(handle)


async def test_the_location_opens_the_same_record_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Memory("memory", user="ana", embedder="hashing") as memory:
        memory.remember("Ana likes tea.")
        monkeypatch.chdir("/")
        assert (
            memory.admin.location
            == AsyncMemory.over(memory.scoped(user="ben")).admin.location
            == str(tmp_path / "memory")
        )
        assert memory.admin.location in repr(memory)
        with Memory(memory.admin.location, user="ana", embedder="hashing") as again:
            assert [record.content for record in again.list()] == ["Ana likes tea."]


def test_a_record_in_ram_has_no_place(memory):
    assert memory.admin.location == ":memory:"


def test_the_address_of_a_database_is_not_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for scheme in ("postgresql", "postgres"):
        with pytest.raises(ConfigurationError, match="address of a database") as caught:
            Memory(Path(f"{scheme}://ana:s3cret@host/db"))
        assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    with Memory(Path(), embedder="hashing") as memory:
        assert memory.admin.location == str(tmp_path)


async def test_what_was_recalled_is_taken_out_of_a_text(memory):
    memory.add("I moved to Lisbon.")
    text = memory.get_memory_context("Lisbon").text
    own = "<memory heap>\nmalloc\n</memory heap>"
    for handle in (memory, AsyncMemory.over(memory)):
        assert handle.admin.without_recalled(f"{text}\n\n{own}") == own
        assert handle.admin.without_recalled(text) == ""
        assert handle.admin.without_recalled(f" {own}\n") == f" {own}\n"
        with pytest.raises(InvalidInput):
            handle.admin.without_recalled(None)
