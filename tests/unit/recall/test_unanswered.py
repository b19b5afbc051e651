"""A question that was asked before and not answered is no evidence for itself."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import Memory, Message

QUESTION = "Which database should we use for the billing service?"
FACT = "We keep the invoices of the billing service in PostgreSQL, our database."


@pytest.fixture(params=["hashing", "default"])
def memory(request):
    options = {} if request.param == "default" else {"embedder": request.param}
    with Memory(":memory:", user="ana", **options) as opened:
        yield opened


def say(memory: Memory, *said: tuple[str, str], session: str = "c") -> None:
    roles = ("user", "assistant")
    memory.add([
        Message(role=who if who in roles else "user", name=None if who in roles else who, content=text, session=session)
        for who, text in said
    ])  # fmt: skip


@pytest.mark.parametrize("times", [1, 3, 5])
@pytest.mark.parametrize("who", ["user", "Ana"])
def test_a_question_that_nobody_answered_is_no_evidence(memory, who, times):
    say(memory, *[(who, QUESTION)] * times)
    found, context = memory.search(QUESTION), memory.get_memory_context(QUESTION)
    assert (found.evidence, [hit.relevance for hit in found]) == ("none", [0.0])  # it is found, and answers nothing
    assert (context.evidence, context.text, context.left_out) == ("none", "", times)


def test_beside_what_answers_it_the_question_is_left_out(memory):
    say(memory, ("user", FACT), ("assistant", "Noted."), session="b")
    say(memory, *[("user", QUESTION)] * 3)
    context = memory.get_memory_context(QUESTION)
    assert (context.evidence, FACT in context.text, QUESTION in context.text) == ("strong", True, False)


@pytest.mark.parametrize(("asks", "answers"), [("user", "assistant"), ("Ana", "Ben")])
def test_an_answered_question_stays_with_its_answer(memory, asks, answers):
    say(memory, *[(asks, QUESTION)] * 2, (answers, "PostgreSQL, I would say."))
    context = memory.get_memory_context(QUESTION)
    assert QUESTION in context.text
    assert "PostgreSQL, I would say." in context.text


def test_a_question_that_says_more_than_the_query_stays(memory):
    say(memory, ("Ana", "Anna married Tom?"))
    assert "Anna married Tom?" in memory.get_memory_context("Who did Anna marry?").text


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("I'm allergic to penicillin, ok?", "Am I allergic to penicillin?"),
        ("I live in York, don't I?", "Do I live in York?"),
        ("My flight to Porto is on Friday, ok?", "flight Porto Friday"),
    ],
)
def test_a_statement_with_a_question_tag_stays(memory, text, asked):
    memory.add(text)
    assert text in memory.get_memory_context(asked).text


WORDS = st.lists(st.sampled_from(["billing", "database", "Lisbon", "tea", "kayak", "invoices"]), min_size=1, max_size=4)


@settings(max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=5), WORDS, st.integers(1, 4))
def test_asking_again_leaves_the_context_as_it_was(facts: Iterable[list[str]], asked: list[str], times: int):
    question = f"What of {' and '.join(asked)}?"
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        for at, words in enumerate(facts):
            say(memory, ("user", f"I have {' with '.join(words)}."), ("assistant", "Noted."), session=f"s{at}")
        before = memory.get_memory_context(question)
        say(memory, *[("user", question)] * times)
        after = memory.get_memory_context(question)
        # by their words: of two texts of the same words either may stand for both
        assert {tuple(sorted(h.text.split())) for h in after.hits} == {
            tuple(sorted(h.text.split())) for h in before.hits
        }


def test_it_comes_after_its_answer(memory):
    memory.add_exchange("I moved to Lisbon in March.", "How nice.", session="monday")
    memory.add("When did I move?", session="friday")
    assert [hit.text for hit in memory.search("When did I move?", k=1)] == ["I moved to Lisbon in March."]
