"""What a memory is worth now."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.lifecycle.importance import HALF_LIFE, importance
from mnemic.types import Emotion

unit = st.floats(0, 1)
idles = st.timedeltas(timedelta(days=-10), timedelta(days=10_000))
counts = st.integers(0, 10_000)
NONE = timedelta()


def test_a_new_memory_that_was_never_used_is_worth_its_salience():
    found = importance(0.65, idle=NONE)
    assert (found.total, found.recency, found.frequency, found.arousal) == (0.65, 1, 0, 0)


def test_disuse_takes_at_most_three_tenths():
    assert importance(0.8, idle=HALF_LIFE).recency == pytest.approx(0.5)
    assert importance(0.8, idle=HALF_LIFE).total == pytest.approx(0.8 * 0.85)
    assert importance(0.8, idle=timedelta(days=100_000)).total == pytest.approx(0.8 * 0.7)


def test_use_and_feeling_lift_what_is_missing():
    used = importance(0.4, idle=NONE, accesses=50)
    assert (used.frequency, used.total) == (1, pytest.approx(0.4 + 0.6 * 0.3))
    stirred = importance(0.4, idle=NONE, emotion=Emotion(valence=-1, arousal=1, confidence=0.5))
    assert (stirred.arousal, stirred.total) == (0.5, pytest.approx(0.4 + 0.6 * 0.1))
    assert importance(0.4, idle=NONE, emotion=Emotion(valence=1, arousal=-1)).total == 0.4


def test_pinned_stays():
    found = importance(0.2, idle=timedelta(days=400), accesses=3, pinned=0.95)
    assert (found.total, found.pinned) == (0.95, True)
    assert 0 < found.recency < 1


def test_a_clock_that_was_set_back_counts_as_now():
    assert importance(0.5, idle=-timedelta(days=3)) == importance(0.5, idle=NONE)


@pytest.mark.parametrize(
    ("salience", "more", "says"),
    [
        (1.2, {}, "salience"),
        (float("nan"), {}, "salience"),
        (0.5, {"accesses": -1}, "accesses"),
        (0.5, {"pinned": 2.0}, "pinned"),
        (0.5, {"half_life": NONE}, "half_life"),
    ],
)
def test_values_out_of_range_are_refused(salience, more, says):
    with pytest.raises(InvalidInput, match=says):
        importance(salience, idle=NONE, **more)


@given(unit, idles, counts, unit, unit)
def test_every_part_and_the_total_lie_between_0_and_1(salience, idle, accesses, arousal, confidence):
    emotion = Emotion(valence=0, arousal=arousal, confidence=confidence)
    found = importance(salience, idle=idle, accesses=accesses, emotion=emotion)
    assert all(0 <= part <= 1 for part in (found.recency, found.frequency, found.arousal, found.total))
    assert found == importance(salience, idle=idle, accesses=accesses, emotion=emotion)


@given(unit, unit, idles, idles, counts, counts, unit, unit)
def test_each_part_raises_the_total_or_leaves_it(low, high, long, short, few, many, calm, stirred):
    low, high = sorted((low, high))
    short, long = sorted((short, long))
    few, many = sorted((few, many))
    calm, stirred = sorted((calm, stirred))
    less = importance(low, idle=long, accesses=few, emotion=Emotion(valence=0, arousal=calm))
    more = importance(high, idle=short, accesses=many, emotion=Emotion(valence=0, arousal=stirred))
    assert less.total <= more.total + 1e-9
