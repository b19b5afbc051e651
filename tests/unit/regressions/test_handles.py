"""Handles as other programs treat them."""

import copy
import pickle

import pytest

from mnemic import AsyncMemory, ConfigurationError, Memory


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
