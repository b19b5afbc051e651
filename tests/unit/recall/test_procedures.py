"""The steps and the outcome of a run, and what they are worth."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.recall.procedures import HALF_LIFE_DAYS, Run, ToolUse, _procedure, outcome_of, steps_of
from mnemic.text.values import now, to_micros
from mnemic.types import Hit

USES = st.lists(st.builds(ToolUse, st.sampled_from("abc"), st.sampled_from(["ok", "error", None])), max_size=8)
NOW = now()
HIT = Hit(id="m", kind="message", text="Do it.", score=0.5, relevance=0.2, scores={"dense": 0.5})


def run(outcome, age=0.0):
    return Run(HIT, [ToolUse("a", outcome)], NOW - timedelta(days=age))


def worth(*runs):
    return _procedure(("a",), {("a",): runs}, to_micros(NOW)).score


@given(USES)
def test_steps_are_what_worked_in_order_and_none_follows_itself(uses):
    steps, names = steps_of(uses), iter(use.name for use in uses)
    assert all(step in names for step in steps)  # a subsequence
    assert all(one != other for one, other in pairwise(steps))
    if outcome_of(uses) == "ok":
        assert steps == steps_of([use for use in uses if use.outcome != "error"])


@given(USES, st.integers(0, 7), st.integers(1, 3))
def test_a_step_that_is_tried_again_until_it_works_is_the_same_step(uses, at, times):
    if at < len(uses) and uses[at].outcome == "ok":
        again = [*uses[:at], *[uses[at]._replace(outcome="error")] * times, *uses[at:]]
        assert (steps_of(again), outcome_of(again)) == (steps_of(uses), outcome_of(uses))


@given(USES)
def test_a_run_that_ends_in_an_error_failed_and_names_it(uses):
    ended = [*uses, ToolUse("last", "error")]
    assert outcome_of(ended) == "error"
    assert steps_of(ended)[-1] == "last"


@given(st.lists(st.tuples(st.sampled_from(["ok", "error", None]), st.floats(0, 400)), min_size=1, max_size=6))
def test_a_success_never_lowers_the_worth_and_a_failure_never_raises_it(outcomes):
    runs = [run(*one) for one in outcomes]
    assert worth(*runs, run("error")) <= worth(*runs) <= worth(*runs, run("ok"))
    assert worth(*runs, run(None)) == worth(*runs)
    assert 0 < worth(*runs) < 1


def test_an_outcome_counts_half_after_the_half_life_and_one_of_the_future_as_of_now():
    ok, old = worth(run("ok")), worth(run("ok", HALF_LIFE_DAYS))
    assert (ok, old) == (0.5 * 1.5 / 2, 0.5 * 1 / 1.5)
    assert worth(run("ok", -50)) == ok


def test_the_likeness_is_the_cosine_of_the_first_request_and_without_vectors_its_share_of_the_words():
    for cosine, likeness in ((0.9, 0.9), (-0.2, 0.0), (0.0, HIT.relevance)):
        first = replace(run("ok"), request=replace(HIT, scores={"dense": cosine}))
        assert worth(first, run("ok")) == pytest.approx(likeness * 2.5 / 3)


STEPS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple)


@given(STEPS, STEPS)
def test_a_run_that_failed_counts_against_the_procedures_that_begin_with_its_steps_and_no_others(steps, tried):
    uses = [*(ToolUse(name, "ok") for name in tried[:-1]), ToolUse(tried[-1], "error")]
    by_steps = {steps: [run("ok")]}
    by_steps.setdefault(tried, []).append(replace(run("error"), uses=uses))
    found = _procedure(steps, by_steps, to_micros(NOW))
    assert found.failures == (steps[: len(tried)] == tried)
