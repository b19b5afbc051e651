"""What bears on a question: the first hit among facts, the relevance of each hit, and what it cuts."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic import InvalidInput, Memory, Message

FILE = Path(__file__).parents[2] / "benchmarks/quality/facts_that_change.json"
FACTS = [*{fact["question"]: fact for fact in json.loads(FILE.read_text("utf-8"))}.values()]
"""A fact for each question. Recency is fitted on them: what is tested is that it keeps them."""


@pytest.fixture(scope="module")
def facts():
    with Memory(":memory:", user="ana") as memory:
        for number, fact in enumerate(FACTS):
            memory.remember(fact["earlier"].format(n="Ana"), id=f"fact-{number}")
        yield memory


@pytest.fixture(scope="module")
def questions():
    return [(fact["question"].format(n="Ana"), f"fact-{number}") for number, fact in enumerate(FACTS)]


def test_the_fact_that_is_asked_for_comes_before_those_remembered_later(facts, questions):
    right = [facts.search(question, k=1)[0].id == wanted for question, wanted in questions]
    assert np.mean(right) >= 0.75  # 79 %; most others share no word with the question


def test_a_changed_fact_has_its_latest_value_first(questions):
    with Memory(":memory:", user="ana") as memory:
        for number, fact in enumerate(FACTS):
            memory.remember(fact["earlier"].format(n="Ana"), id=f"fact-{number}")
        changed = range(0, len(FACTS), 2)
        for number in changed:
            memory.remember(FACTS[number]["later"].format(n="Ana"), id=f"changed-{number}")
        right = [memory.search(questions[number][0], k=1)[0].id == f"changed-{number}" for number in changed]
    assert np.mean(right) >= 0.6  # 64 %, and 21 % by relevance alone


def test_relevance_parts_the_answer_from_the_rest(facts, questions):
    hits = [(hit.relevance, hit.id == wanted) for question, wanted in questions for hit in facts.search(question, k=20)]
    answers, others = ([relevance for relevance, right in hits if right is kind] for kind in (True, False))
    assert np.median(answers) > 0.25
    assert np.median(others) < 0.01
    assert sum(relevance >= 0.1 for relevance in others) < 0.6 * len(questions)  # what moves ahead is as relevant


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(range(len(FACTS))), st.floats(0, 1), st.integers(1, 50))
def test_a_limit_leaves_what_reaches_it_in_its_order(facts, questions, number, limit, k):
    question, _ = questions[number]
    everything = facts.search(question, k=50)
    assert all(0 <= hit.relevance <= 1 for hit in everything)
    kept = [hit.id for hit in everything if hit.relevance >= limit][:k]
    cut = facts.search(question, k=k, min_relevance=limit)
    assert [hit.id for hit in cut] == kept
    assert cut.left_out == sum(hit.relevance < limit for hit in everything[:k])


@pytest.mark.parametrize("text", ["hi", "thanks!", "ok", "What is the capital of France?", "Tell me a joke."])
def test_a_context_is_empty_where_nothing_bears_on_the_question(facts, text):
    context = facts.get_memory_context(text)
    assert (context.text, context.left_out) == ("", len(FACTS))
    assert facts.search(text)  # a search has no limit unless it is given one
    assert facts.get_memory_context(text, min_relevance=0).text


def test_a_context_keeps_the_answer_and_little_else(facts, questions):
    contexts = [(facts.get_memory_context(question), wanted) for question, wanted in questions]
    assert np.mean([wanted in {hit.id for hit in context.hits} for context, wanted in contexts]) > 0.9
    assert np.mean([len(context.hits) for context, _ in contexts]) < 10  # of 43
    assert all(context.left_out == len(FACTS) - len(context.hits) for context, _ in contexts)


def test_what_the_budget_leaves_out_is_counted_too(facts):
    context = facts.get_memory_context("Tell me all about Ana.", max_tokens=60, min_relevance=0)
    assert context.truncated
    assert context.left_out == len(context.found) - len(context.hits) > 0


def test_an_embedder_of_unknown_scale_cuts_no_context():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.remember("Ana lives in Porto.")
        assert memory.search("Which town?")[0].relevance == 0
        assert "Porto" in memory.get_memory_context("Which town?").text
        assert memory.search("Where does Ana live?", min_relevance=1)[0].relevance == 1  # all words are there


def test_a_question_in_a_language_that_the_default_model_does_not_know_cuts_no_context():
    with Memory(":memory:", user="ana") as memory:
        memory.remember("Der Zahnarzt von Ana heißt Dr. Rossi.")
        memory.remember("Die Katze von Ana ist sehr verfressen.")
        context = memory.get_memory_context("Wie hieß denn noch mal der Arzt für die Zähne?")
        assert len(context.hits) == 2


@pytest.mark.parametrize("later", ["My flight to Oslo leaves at 11 in the morning.", "The whole trip is off."])
@pytest.mark.parametrize("way", ["update", "correct"])
def test_no_limit_keeps_what_is_outdated_without_what_holds(later, way):
    with Memory(":memory:", user="ana") as memory:
        memory.add([Message(role="user", content=f"I bought a bicycle for {price} euros.") for price in range(40)])
        outdated = "My flight to Oslo leaves at 9 in the morning."
        memory.add(outdated)
        memory.process()
        (made,) = (one for one in memory.list() if "Oslo" in one.content)
        memory.update(made.id, content=later) if way == "update" else memory.correct(made.id, later)
        question = "When does my flight to Oslo leave?"
        everything = memory.search(question, k=50)
        for limit in (hit.relevance for hit in everything):
            texts = [hit.text for hit in memory.search(question, k=50, min_relevance=limit)]
            assert outdated not in texts or later in texts[: texts.index(outdated)]


def test_the_words_of_an_edit_are_searched():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add([Message(role="user", content=f"I bought a bicycle for {price} euros.") for price in range(40)])
        memory.add("My flight to Oslo leaves at 9 in the morning.")
        memory.process()
        (made,) = (one for one in memory.list() if "Oslo" in one.content)
        memory.update(made.id, content="My ferry to Bergen leaves at 11 in the evening.")
        first = memory.search("Bergen ferry", k=1)[0]
        assert (first.id, first.relevance) == (made.id, 1)


def test_an_edit_is_a_hit_of_its_own_behind_what_it_was_made_from_too():
    with Memory(":memory:", user="ana", embedder="hashing") as memory:
        memory.add(
            "My flight to Oslo leaves at 9 in the morning. I love listening to jazz music in the evening.", id="m"
        )
        memory.process()
        (made,) = (one.id for one in memory.list() if "Oslo" in one.content)
        memory.update(made, content="We take the train to Bergen instead.")
        source, edit = memory.search("jazz music")
        assert (source.id, edit.id) == ("m", made)
        assert made not in source.via


@pytest.mark.parametrize("wrong", [-0.1, 1.1, "much", True, float("nan")])
def test_a_limit_is_a_number_from_0_to_1(facts, wrong):
    with pytest.raises(InvalidInput, match="min_relevance must be a number from 0 to 1"):
        facts.search("Where does Ana live?", min_relevance=wrong)
