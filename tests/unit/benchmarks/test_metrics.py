import pytest
from benchmarks.quality import metrics


def test_a_name_counts_once_where_it_came_first():
    assert metrics.distinct(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("gold", "found", "share", "any_", "all_"),
    [
        (["a", "b"], ["b", "x"], 0.5, 1.0, 0.0),
        (["a", "b"], ["b", "a", "x"], 1.0, 1.0, 1.0),
        (["a", "b"], ["x"], 0.0, 0.0, 0.0),
        (["a", "a"], ["a"], 1.0, 1.0, 1.0),
        (["a"], [], 0.0, 0.0, 0.0),
    ],
)
def test_fraction_any_and_all_are_three_metrics(gold, found, share, any_, all_):
    assert metrics.fraction(gold, found) == share
    assert metrics.any_of(gold, found) == any_
    assert metrics.all_of(gold, found) == all_


@pytest.mark.parametrize(
    ("ranked", "value"), [(["g", "x"], 1.0), (["x", "y", "h", "g"], 1 / 3), (["x"], 0.0), ([], 0.0)]
)
def test_reciprocal_rank_is_that_of_the_first_gold_name(ranked, value):
    assert metrics.reciprocal_rank(["g", "h"], ranked) == value


def test_a_passage_counts_only_when_it_stands_whole():
    context = "<memory>\n- Ana: I moved to\n  Lisbon.\n- Ben: Nice"
    assert metrics.in_text(["I moved to Lisbon."], context) == 1.0
    assert metrics.in_text(["I moved to\n\nLisbon.", "Nice to hear"], context) == 0.5


def test_the_mean_is_over_questions_and_conversations_stand_beside_it():
    found = metrics.summary({"a": [1.0, 1.0, 1.0], "b": [0.0], "empty": []})
    assert found["mean"] == 75.0
    assert found["mean_of_conversations"] == 50.0
    assert found["by_conversation"] == {"a": 100.0, "b": 0.0}
    assert (found["lowest"], found["highest"], found["questions"]) == (0.0, 100.0, 4)
    assert found["leave_one_out"] == [0.0, 100.0]


def test_the_interval_holds_the_mean_narrows_with_questions_and_repeats():
    few = metrics.summary({"a": [1.0, 0.0] * 10})
    many = metrics.summary({"a": [1.0, 0.0] * 1000})
    assert few["ci95"][0] < few["mean"] < few["ci95"][1]
    assert many["ci95"][1] - many["ci95"][0] < (few["ci95"][1] - few["ci95"][0]) / 3
    assert few == metrics.summary({"a": [1.0, 0.0] * 10})
    assert "leave_one_out" not in few


def test_no_question_gives_no_figure():
    assert metrics.summary({"a": []}) == {"mean": None, "questions": 0}
