"""How much a statement deserves to be remembered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.extraction.salience import WEIGHTS, commitment_in, salience

CHATTER = [
    "Haha yeah that's so cool!",
    "How are you today?",
    "Thanks, talk to you later!",
    "That sounds great, have fun!",
    "I see what you mean",
    "Wow, amazing!",
    "I am good, thanks",
    "It was a nice day.",
]
TELLING = [
    ("I prefer meetings before 10 with Ana.", "semantic"),
    ("We decided to use PostgreSQL instead of MongoDB for the order service.", "semantic"),
    ("I will fly to Rome with Bo on 3 May.", "episodic"),
    ("Never deploy to eu-west-1 on Friday after 15:00.", "procedural"),
    ("Ana's favourite restaurant is Taberna in Lisbon.", "semantic"),
    ("Always run `make check` before pushing to main.", "procedural"),
]
unit = st.floats(0, 1)
types = st.sampled_from(["semantic", "episodic", "procedural", "emotional"])


@pytest.mark.parametrize("text", CHATTER)
def test_small_talk_stays_low(text):
    assert 0.1 <= salience(text, "semantic", novelty=0.7).total <= 0.3


@pytest.mark.parametrize(("text", "type"), TELLING)
def test_decisions_rules_and_preferences_with_names_or_numbers_are_high(text, type):
    assert 0.6 <= salience(text, type, novelty=0.9).total <= 0.95


def test_a_plain_fact_lies_between():
    assert 0.3 < salience("The museum opens at ten on weekdays.", "semantic", novelty=0.9).total < 0.6


def test_the_total_is_the_weighted_sum_of_the_parts():
    found = salience("We decided to use PostgreSQL.", "semantic", novelty=0.4)
    assert found.total == pytest.approx(sum(weight * getattr(found, part) for part, weight in WEIGHTS.items()))
    assert sum(WEIGHTS.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("I will call her", 1, 1),
        ("we decided on tabs", 1, 1),
        ("never push to main", 1, 1),
        ("she prefers tea", 0.9, 0.9),
        ("I live in Porto", 0.7, 0.7),
        ("the sky over the lake", 0, 0),
        ("Will we always do this?", 0, 0),
    ],
)
def test_commitment(text, least, most):
    assert least <= commitment_in(text) <= most


def test_what_the_caller_knows_is_taken():
    found = salience("the sky over the lake", "semantic", novelty=0.5, commitment=1, entities=["lake", "sky", "air"])
    assert (found.commitment, found.names) == (1, 1)


@pytest.mark.parametrize(
    "wrong", [{"novelty": 1.1}, {"novelty": -0.1}, {"novelty": float("nan")}, {"novelty": 0.5, "commitment": 2}]
)
def test_values_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        salience("text", "semantic", **wrong)


@given(st.text(max_size=400), types, unit)
def test_any_text_has_parts_and_total_between_0_and_1(text, type, novelty):
    found = salience(text, type, novelty=novelty)
    assert all(0 <= getattr(found, part) <= 1 for part in (*WEIGHTS, "total"))
    assert found == salience(text, type, novelty=novelty)


@given(st.text(max_size=200), types, unit, unit)
def test_novelty_never_lowers_it(text, type, one, other):
    low, high = sorted((one, other))
    assert salience(text, type, novelty=low).total <= salience(text, type, novelty=high).total + 1e-12
