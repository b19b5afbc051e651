"""The importance of memories as columns; that the SQL gives the same is a promise of every store."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.stores.sql.rows import DAY, HALF_LIFE_DAYS, importances

NOW = 2 * 10**15
unit = st.floats(0, 1)
idles = st.integers(-10 * DAY, 100_000 * DAY)


def importance(salience, idle=0, boost=0.0):
    columns = (np.array([value]) for value in (float(salience), float(boost), NOW - idle))
    return float(importances(*columns, NOW)[0])


def test_a_new_memory_that_was_never_used_is_worth_its_salience():
    assert importance(0.65) == 0.65


def test_disuse_takes_at_most_three_tenths_in_whole_days():
    assert importance(0.8, HALF_LIFE_DAYS * DAY) == pytest.approx(0.8 * 0.85)
    assert importance(0.8, 100_000 * DAY) == pytest.approx(0.8 * 0.7)
    assert importance(0.8, DAY - 1) == 0.8 > importance(0.8, DAY)


def test_a_clock_that_was_set_back_counts_as_now():
    assert importance(0.5, -3 * DAY) == importance(0.5)


@given(unit, unit, idles, idles, unit, unit)
def test_each_part_raises_it_or_leaves_it(low, high, long, short, calm, stirred):
    low, high = sorted((low, high))
    short, long = sorted((short, long))
    calm, stirred = sorted((calm, stirred))
    assert 0 <= importance(low, long, calm / 2) <= importance(high, short, stirred / 2) + 1e-9 <= 1 + 2e-9
