"""Asking a model that may fail: answers in order, failures counted, and an end to waiting for one that is not there."""

import threading
from types import SimpleNamespace

import pytest

from mnemic.errors import LanguageModelError, LanguageModelUnavailable, StoreFull
from mnemic.runtime.consultant import MAX_UNREACHABLE, MESSAGES_PER_PROMPT, Consultant, prompt_groups
from mnemic.secrets.policy import SecretPolicy


class Model:
    """Answers with its question, unless the question is an error."""

    def __init__(self):
        self.asked = []
        self._lock = threading.Lock()

    def ask(self, question):
        with self._lock:
            self.asked.append(question)
        if isinstance(question, BaseException):
            raise question
        return question


def consultant(model):
    return Consultant(
        SimpleNamespace(llm=model, secrets=SecretPolicy(action="allow"), notices=SimpleNamespace(warn=lambda *_: None))
    )


def asking(*questions):
    return [lambda q=question: q for question in questions]


WRONG = LanguageModelError("nonsense")
AWAY = LanguageModelUnavailable("not there")


def test_without_a_model_nothing_is_asked_and_nothing_failed():
    none = consultant(None)
    assert not none.available
    assert none.ask(lambda: pytest.fail("a question was made")) is None
    assert none.ask_all([lambda: pytest.fail("a question was made")] * 3) == [None] * 3
    assert none.failed == 0


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_answers_come_in_the_order_of_the_questions(count):
    model = Model()
    found = consultant(model)
    assert found.available
    assert found.ask_all(asking(*map(str, range(count)))) == [str(n) for n in range(count)]
    assert sorted(model.asked, key=int) == [str(n) for n in range(count)]
    assert found.failed == 0


def test_a_failed_question_is_none_and_counted():
    found = consultant(Model())
    assert found.ask_all(asking("a", WRONG, "b", AWAY)) == ["a", None, "b", None]
    assert found.failed == 2


def test_a_model_that_cannot_be_reached_is_left_alone():
    model = Model()
    found = consultant(model)
    for _ in range(MAX_UNREACHABLE + 5):
        assert found.ask(lambda: AWAY) is None
    assert len(model.asked) == MAX_UNREACHABLE
    assert found.ask(lambda: "fine") is None
    assert found.failed == MAX_UNREACHABLE + 6


@pytest.mark.parametrize("between", ["fine", WRONG])
def test_a_model_that_answers_now_and_then_is_asked_on(between):
    """An answer, even a wrong one, shows that the model is there."""
    model = Model()
    found = consultant(model)
    for _ in range(4):
        for question in [AWAY] * (MAX_UNREACHABLE - 1) + [between]:
            found.ask(lambda q=question: q)
    assert len(model.asked) == 4 * MAX_UNREACHABLE


def test_many_questions_to_a_model_that_is_away_are_not_all_asked():
    """Those under way when patience ends may still go out, the others not."""
    model = Model()
    found = consultant(model)
    assert found.ask_all(asking(*[AWAY] * 200)) == [None] * 200
    assert found.failed == 200
    assert MAX_UNREACHABLE <= len(model.asked) < 100


def test_each_run_begins_with_new_patience():
    model = Model()
    for _ in range(2):
        found = consultant(model)
        for _ in range(9):
            found.ask(lambda: AWAY)
    assert len(model.asked) == 2 * MAX_UNREACHABLE


def test_counting_loses_nothing_between_threads():
    found = consultant(Model())
    found.ask_all(asking(*[WRONG] * 500))
    assert found.failed == 500


@pytest.mark.parametrize("error", [StoreFull("no room"), KeyboardInterrupt(), ZeroDivisionError()])
@pytest.mark.parametrize("count", [1, 3])
def test_other_errors_are_not_swallowed(error, count):
    with pytest.raises(type(error)):
        consultant(Model()).ask_all(asking(*[error] * count))


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([], []),
        ([5], [[0]]),
        ([MESSAGES_PER_PROMPT - 5, 5, 1], [[0, 1], [2]]),
        ([MESSAGES_PER_PROMPT + 40, 1, 2], [[0], [1, 2]]),
        ([1, MESSAGES_PER_PROMPT + 40, 1], [[0], [1], [2]]),
        ([1] * 5, [[0, 1, 2], [3, 4]]),
    ],
)
def test_episodes_that_fit_one_question(sizes, parts):
    trusted = dict.fromkeys(range(len(sizes)), True)
    assert prompt_groups(trusted, 3, dict(enumerate(sizes))) == parts


def test_trusted_and_untrusted_items_have_prompts_of_their_own():
    assert prompt_groups({0: True, 1: False, 2: True, 4: False, 5: True}, 2) == [[0, 2], [5], [1, 4]]
