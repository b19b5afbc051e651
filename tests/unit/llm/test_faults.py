"""Every task with every way in which a model goes wrong, once and always: an answer that keeps the rules, or a typed error."""

import pytest

from mnemic.errors import LanguageModelError, LanguageModelUnavailable
from mnemic.testing.language_models import FAULTS, FaultyModel

STAGES = ("segment", "narrate", "predict", "extract", "enrich", "link", "expand", "forget", "decide")
UNREACHABLE = {"timeout", "refused connection", "429", "500"}
HARMLESS = {"prose", "fences", "control characters", "repeated ids"}
HOPELESS = {"empty", "refusal", "cut", "wrong schema", "10 MB"}
NEEDS_IDS = {"invented ids", "other ids"}
MOST_REQUESTS = 5


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_fault_that_passes(asked, case, stage, kind):
    given = case(stage)
    model = FaultyModel(kind, {stage: given.good}, times=1)
    llm = asked(model)
    answer = llm.ask(given.task)
    if kind != "repeats":
        assert answer == read_well(given)
    harmless = kind in HARMLESS or (kind in NEEDS_IDS and not given.has_ids)
    usage = llm.stats().stages[stage]
    assert usage.fallbacks == 0
    assert usage.calls == len(model.requests) <= 2
    if kind != "repeats":
        assert usage.failures == (0 if harmless else 1)
    assert usage.retries == (1 if kind in UNREACHABLE else 0)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_fault_that_stays_until_the_next_run(asked, case, stage, kind):
    given = case(stage)
    model = FaultyModel(kind, {stage: given.good}, times=None)
    llm = asked(model)
    failed = outcome(llm, given)
    assert len(model.requests) <= MOST_REQUESTS
    if kind in UNREACHABLE:
        assert isinstance(failed, LanguageModelUnavailable)
    elif kind in HOPELESS or (kind in NEEDS_IDS and given.has_ids):
        assert type(failed) is LanguageModelError
    elif kind != "repeats":
        assert failed is None
    usage = llm.stats().stages[stage]
    assert usage.fallbacks == (failed is not None)
    assert usage.calls == len(model.requests)
    model.recover()
    assert llm.ask(given.task) == read_well(given)


def read_well(given):
    return given.task.read(given.task.schema.model_validate(given.good))


def outcome(llm, given):
    try:
        llm.ask(given.task)
    except LanguageModelError as error:
        return error
    return None


@pytest.mark.parametrize("times", [1, None])
def test_only_the_stages_it_is_meant_for(asked, case, times):
    model = FaultyModel("refusal", {s: case(s).good for s in ("expand", "narrate")}, times=times, stages={"narrate"})
    llm = asked(model)
    assert llm.ask(case("expand").task) == read_well(case("expand"))
    assert isinstance(outcome(llm, case("narrate")), LanguageModelError if times is None else type(None))
