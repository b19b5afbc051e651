"""Preferences: what of a value can be kept."""

import pytest
from tests.internals import store_of

from mnemic import InvalidInput, Memory


@pytest.fixture
def memory():
    with Memory(":memory:", embedder="hashing") as opened:
        yield opened


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("half \ud800", "half \ufffd"),
        ({"a\ud800": ["\ud800", 1, None]}, {"a\ufffd": ["\ufffd", 1, None]}),
        ("whole \U0001f30d", "whole \U0001f30d"),
    ],
)
def test_text_that_cannot_be_stored_is_kept_as_metadata_is(memory, given, kept):
    for _ in range(2):
        memory.preferences["k"] = given
        assert memory.preferences["k"] == kept
    assert len(memory.list()) == 1  # the same value again is no change
    assert memory.admin.verify().ok


def test_a_value_within_itself_is_refused(memory):
    value = []
    value.append(value)
    with pytest.raises(InvalidInput):
        memory.preferences["k"] = value
    assert dict(memory.preferences) == {}


@pytest.mark.parametrize("other", ["late", "early"])
def test_a_value_that_is_set_between_reading_and_writing_leaves_one(memory, monkeypatch, other):
    store, waiting = store_of(memory), [other]
    apply = store.apply

    def interrupted(*args, **options):
        if waiting:
            memory.preferences["lunch"] = waiting.pop()
        return apply(*args, **options)

    memory.preferences["lunch"] = "noon"
    monkeypatch.setattr(store, "apply", interrupted)
    memory.preferences["lunch"] = "late"
    assert len(memory.list()) == 1
    assert memory.preferences["lunch"] == other  # it was set after the other call began
    assert memory.admin.verify().ok
