"""A text that holds no secret is searched once, however often a record is read."""

import pytest

from mnemic import HashingEmbedder, Memory, Message, SecretPolicy
from mnemic.safety.secrets import policy

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


def test_a_text_with_a_secret_is_searched_each_time_and_not_kept(searched):
    checked = SecretPolicy()
    for _ in range(2):
        assert checked.redacted(f"use {TOKEN}") == ("use [redacted: github-token]", ("github-token",))
    assert searched == [f"use {TOKEN}"] * 2
    assert checked._finder._clear == {}


def test_only_so_many_texts_are_kept_and_no_long_one(monkeypatch):
    monkeypatch.setattr(policy, "_KEPT", 3)
    checked = SecretPolicy()
    for at in range(10):
        checked.redacted(f"text {at}")
        assert len(checked._finder._clear) <= 3
    checked.redacted("long " * 1_000)
    assert not any(len(text) > policy._KEPT_CHARS for text in checked._finder._clear)
