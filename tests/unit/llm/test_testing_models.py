"""The fakes themselves: what they promise to those who test with them."""

import pytest

from mnemic.errors import LanguageModelError
from mnemic.testing.language_models import FaultyModel, ScriptedModel, UndeclaredCall


def test_replies_in_order_and_every_request_kept(asked, case):
    first, second = {"queries": ["home city"]}, {"queries": ["town she lives in"]}
    model = ScriptedModel({"expand": [first, second]})
    llm = asked(model)
    assert [llm.ask(case("expand").task) for _ in range(2)] == [("home city",), ("town she lives in",)]
    assert model.calls == {"expand": 2}
    model.check()


def test_a_function_of_the_request(asked, case):
    def whole(request):
        return {"episodes": [{"topic": "all", "first": min(request.numbers), "last": max(request.numbers)}]}

    answer = asked(ScriptedModel({"segment": whole})).ask(case("segment").task)
    assert answer.groups == ((0, 1, 2, 3, 4, 5),)


def careless(llm, task):
    try:
        llm.ask(task)
    except Exception:  # noqa: BLE001 - what this test is about
        return


def test_an_undeclared_call_gets_past_those_who_catch_every_failure(asked, case):
    model = ScriptedModel({"narrate": {}})
    llm = asked(model)
    with pytest.raises(UndeclaredCall, match="expand"):
        careless(llm, case("expand").task)
    with pytest.raises(AssertionError, match="expand"):
        model.check()


def test_replies_that_ran_out_or_were_never_asked_for(asked, case):
    model = ScriptedModel({"expand": [case("expand").good]})
    with pytest.raises(AssertionError, match=r"never asked for: \{'expand': 1\}"):
        model.check()
    llm = asked(model)
    llm.ask(case("expand").task)
    model.check()
    with pytest.raises(UndeclaredCall):
        llm.ask(case("expand").task)


def test_an_unknown_form():
    with pytest.raises(ValueError, match="spoken"):
        ScriptedModel({}, refuses=["spoken"])


def test_faults_do_not_use_up_replies_when_nothing_comes_back(asked, case):
    model = FaultyModel("500", {"expand": [case("expand").good]}, times=2)
    assert asked(model).ask(case("expand").task)
    model.check()


def test_it_says_what_it_is(asked):
    assert repr(FaultyModel("500", {"expand": {}})) == "FaultyModel(['expand'])"
    assert repr(asked(ScriptedModel({}))) == "LanguageModel('function:scripted')"


def test_text_is_given_as_it_is(asked, case):
    with pytest.raises(LanguageModelError, match="no object"):
        asked(ScriptedModel({"expand": "only words"})).ask(case("expand").task)
