"""Periods of equal length between two times."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.values import periods

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(
    lambda at: at.replace(tzinfo=ZoneInfo("Europe/Lisbon"))
)


@given(MOMENTS, MOMENTS, st.integers(1, 200))
def test_they_hold_both_times_in_few_equal_steps(one, other, most):
    first, last = sorted((one, other))
    bounds = periods(first, last, most)
    assert bounds[0] <= first
    assert last < bounds[-1]
    assert 1 <= len(bounds) - 1 <= most
    assert len({after - before for before, after in pairwise(bounds)}) == 1
    assert last >= bounds[-2]  # none is beyond the last time


def test_days_begin_at_midnight_in_the_zone():
    zone = ZoneInfo("Asia/Kolkata")
    first = datetime(2026, 3, 1, 13, 20, tzinfo=zone)
    bounds = periods(first, first + timedelta(days=40), 60)
    assert bounds[0].isoformat() == "2026-03-01T00:00:00+05:30"
    assert len(bounds) == 42
    assert periods(first, first, 10) == [datetime(2026, 3, 1, h, tzinfo=zone) for h in (13, 14)]
    century = datetime(1950, 1, 1, tzinfo=UTC)
    assert periods(century, century + timedelta(days=3649), 2)[1] == century + timedelta(days=5 * 365)
