"""A text is searched for secrets once, however often it is read, and is not kept for that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import HashingEmbedder, Memory, Message, SecretPolicy
from mnemic.secrets import policy

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


@pytest.fixture
def searched(monkeypatch):
    texts = []
    finder = policy._Finder
    search = finder._searched

    def noted(self, text):
        texts.append(text)
        return search(self, text)

    monkeypatch.setattr(finder, "_searched", noted)
    return texts


def test_no_text_of_an_add_is_searched_twice(searched):
    with Memory(":memory:", user="ana", session="walk", embedder=HashingEmbedder()) as memory:
        memory.add([Message(role="user", content="hello", name="Ana", id="m0")])
        searched.clear()
        memory.add(
            [Message(role="user", content="I keep bees in Lisbon", name="Ana", id="m1", metadata={"place": "roof"})]
        )
    assert len(searched) == len(set(searched))
    assert set(searched) <= {"I keep bees in Lisbon", "m1", "place", "roof", "Ana: I keep bees in Lisbon"}


def test_a_text_with_a_secret_is_searched_once_and_not_kept(searched):
    checked = SecretPolicy()
    for _ in range(2):
        assert checked.redacted(f"use {TOKEN}") == ("use [redacted: github-token]", ("github-token",))
    assert searched == [f"use {TOKEN}"]
    assert TOKEN not in repr(vars(checked._finder))


@given(st.lists(st.sampled_from([TOKEN, "my password is hunter2", "4111 1111 1111 1111", "\u200b", "Ana", " "])))
def test_a_text_that_is_known_is_redacted_as_at_first(parts):
    checked, text = SecretPolicy(), " ".join(parts)
    assert checked.redacted(text) == checked.redacted(text) == SecretPolicy().redacted(text)


def test_a_long_text_is_searched_once(searched):
    checked, text = SecretPolicy(), "long " * 10_000
    assert checked.redacted(text) == checked.redacted(text) == (text, ())
    assert searched == [text]


@pytest.mark.parametrize("text", ["text {}", f"{{}} {TOKEN} and {TOKEN}"])
def test_only_so_much_is_kept(monkeypatch, text):
    monkeypatch.setattr(policy, "_MAX_SIZE", 6)
    checked = SecretPolicy()
    for at in range(10):
        checked.redacted(text.format(at))
        known = checked._finder._known_texts
        assert 0 < sum(1 + len(spans) for passes in known.values() for spans in passes or [[]]) <= 6
