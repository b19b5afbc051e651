"""Counting tokens."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic import Memory, paths
from mnemic.errors import ConfigurationError
from mnemic.text import tokens
from mnemic.text.tokens import approximate_tokens, token_counter

RUN = settings(max_examples=200, deadline=None)
ANY = st.text(st.characters(exclude_categories=()), max_size=60)
TABLES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


@RUN
@given(ANY)
@example("_")
@example("_ _")
@example("½²")
@example("\x1c\x85")
def test_the_approximation_counts_everything_that_can_be_seen(text):
    count = approximate_tokens(text)
    assert (count > 0) == bool(text.strip())
    assert count <= len(text)


@RUN
@given(ANY, ANY)
def test_the_approximation_of_a_whole_is_about_the_sum_of_its_parts(one, other):
    joined = approximate_tokens(f"{one}\n{other}")
    assert joined == approximate_tokens(one) + approximate_tokens(other)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (" \n\t", 0), ("a", 1), ("hello", 1), ("hello there", 2), ("extraordinary", 3), ("12345", 2), ("!?", 2),
     ("猫が好き", 4), ("it's", 3), ("_", 1)],
)  # fmt: skip
def test_the_approximation_by_hand(text, count):
    assert approximate_tokens(text) == count


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_at_hand(name):
    if paths.tiktoken_cache(TABLES[name]) is None:
        pytest.skip("no package here ships this table")
    count = token_counter(name)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1  # text from a user is never a control token
    assert count("猫 \x00 🙂") > 0
    assert token_counter(name) is count


def test_english_chat_is_not_counted_too_low():
    if paths.tiktoken_cache(TABLES["cl100k_base"]) is None:
        pytest.skip("no package here ships this table")
    chat = (
        "Hey Caroline! Since we last spoke, a lot has happened. I took my kids camping last weekend, and we had a great "
        "time exploring the woods and roasting marshmallows by the fire. How was your pottery class on 5 May 2023?"
    )
    real = token_counter("cl100k_base")(chat)
    assert real <= approximate_tokens(chat) <= 1.4 * real


def test_names_and_functions(monkeypatch):
    assert token_counter(len) is len
    assert token_counter("approximate") is approximate_tokens
    for unknown in ("gpt2", "", "CL100K_BASE", 7):
        with pytest.raises(ConfigurationError, match="approximate"):
            token_counter(unknown)
    monkeypatch.setattr(tokens, "_tiktoken", lambda name: None)
    assert token_counter(None) is approximate_tokens
    with pytest.raises(ConfigurationError, match="TIKTOKEN_CACHE_DIR"):
        token_counter("cl100k_base")


def test_a_handle_tells_of_an_unknown_tokenizer():
    with Memory(":memory:", embedder="hashing", tokenizer="gpt2") as memory:
        memory.add("hello")
        with pytest.raises(ConfigurationError):
            memory.get_memory_context("hello")
