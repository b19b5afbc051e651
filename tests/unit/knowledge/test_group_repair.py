import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.knowledge.segmentation import repair_groups


def test_a_right_answer_stays():
    assert repair_groups([[0, 1], [2, 3, 4]], 5) == [[0, 1], [2, 3, 4]]
    assert repair_groups([[3, 4, 2], [1, 0], []], 5) == [[0, 1], [2, 3, 4]]
    assert repair_groups([], 0) == []


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        ([[0, 1, 2, 3], [5, 6, 7, 8, 9]], [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]),  # one left out
        ([[1, 2, 3, 4], [5, 6, 7, 8, 9]], [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]),  # the first left out
        ([[0, 1, 2, 3, 4], [4, 5, 6, 7, 8, 9]], [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]),  # one twice
        ([[0, 1, 2, 3, 4, 10], [5, 6, 7, 8, 9, -1]], [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]),  # two invented
        ([[0, 1, 2, 6, 7, 8, 9], [3, 4, 5]], [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]),  # a gap
    ],
)
def test_small_flaws_are_mended(groups, wanted):
    assert repair_groups(groups, 10) == wanted


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [[]],
        [[0, 1, 2, 3, 4, 5, 6]],  # three of ten left out
        [[*range(10), 11, 12, 13]],  # three invented
        [[100, 101]],
        [[0] * 1_000, list(range(1, 10))],  # repeats without end
        [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]],  # no runs at all
    ],
)
def test_too_much_wrong_is_refused(groups):
    assert repair_groups(groups, 10) is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 30), max_size=12), max_size=6), st.integers(0, 25))
def test_what_is_accepted_holds_every_message_once(groups, count):
    found = repair_groups(groups, count)
    assert found is None or [m for group in found for m in group] == list(range(count))
    assert found is None or all(found)
