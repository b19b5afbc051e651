"""The turns before a short query say what it is about; a query that says enough itself is not moved."""

from dataclasses import replace

import pytest

from mnemic import InvalidInput, Memory
from mnemic.recall.recipes import CONVERSATION

PLAIN = replace(CONVERSATION, quality={})
"""The default recipe, ranked by nothing but the query."""


STEPS = "Second, feed the sourdough starter and wait six hours."
OTHERS = [
    "Second, sand the table and wait for the varnish to dry.", "Second, open the tax form and sign it.",
    "We wait six hours for the train to Lisbon.", "The second half of the match was dull.",
]  # fmt: skip
TALK = ["My sourdough starter smells sour.", "Then the sourdough starter is hungry: first discard half of the starter."]


@pytest.fixture
def memory():
    with Memory(":memory:", embedder="hashing") as memory:
        for text in (*OTHERS, STEPS):
            memory.add(text)
        yield memory


def test_a_follow_up_is_found_by_the_turns_before_it(memory):
    assert memory.search("And second?", k=1, recipe=PLAIN)[0].text != STEPS  # the latest would be first
    assert memory.search("And second?", k=1, recipe=PLAIN, recent=TALK)[0].text == STEPS
    assert STEPS in memory.get_memory_context("And second?", recent=TALK, max_tokens=120).text


def test_only_the_last_turns_count(memory):
    old = [*TALK, *["The match was dull, was it not?"] * 4]
    assert memory.search("And second?", k=1, recipe=PLAIN, recent=old)[0].text == OTHERS[3]


def test_a_query_that_says_enough_is_not_moved(memory):
    query = "When do I open the tax form, sign it, copy every page and send it to the office?"
    alone, after = memory.search(query), memory.search(query, recent=TALK)
    assert [(hit.id, hit.score) for hit in alone] == [(hit.id, hit.score) for hit in after]


def test_turns_without_words_change_nothing(memory):
    assert [h.id for h in memory.search("And second?", recent=["", "  "])] == [
        h.id for h in memory.search("And second?")
    ]


def test_turns_are_strings(memory):
    for wrong in ("a string", [1], {"role": "user"}):
        with pytest.raises(InvalidInput, match="recent"):
            memory.search("And second?", recent=wrong)
