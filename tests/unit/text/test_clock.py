"""Times: what goes in comes out, and what cannot is told."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.errors import InvalidInput
from mnemic.text.values import aware, from_micros, now, offset_minutes, to_micros

RUN = settings(max_examples=200, deadline=None)
OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# A day from either end of the calendar, every offset stays within it.
INSIDE = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30, 23, 59, 59, 999_999))


@RUN
@given(st.datetimes(), OFFSETS)
@example(datetime(1, 1, 1), timezone(timedelta(hours=14)))
@example(datetime(9999, 12, 31, 23), timezone(timedelta(hours=-14)))
def test_the_moment_and_its_offset_come_back(value, zone):
    moment = value.replace(tzinfo=zone)
    try:
        moment.astimezone(UTC)
    except OverflowError:  # pushed out of the calendar by its zone
        with pytest.raises(InvalidInput, match="years 1 to 9999"):
            to_micros(moment)
        return
    back = from_micros(to_micros(moment), offset_minutes(moment))
    assert back == moment
    assert back.utcoffset() == moment.utcoffset()
    assert back.replace(tzinfo=None) == value


@RUN
@given(st.datetimes())
def test_every_time_in_utc_comes_back(value):
    moment = value.replace(tzinfo=UTC)
    assert from_micros(to_micros(moment)) == moment
    assert offset_minutes(moment) == 0


@RUN
@given(st.datetimes(), OFFSETS)
def test_an_offset_that_cannot_be_expressed_leaves_the_moment(value, zone):
    moment = value.replace(tzinfo=UTC)
    assert from_micros(to_micros(moment), int(zone.utcoffset(None).total_seconds() // 60)) == moment


@RUN
@given(INSIDE, INSIDE, OFFSETS, OFFSETS)
def test_order_is_kept(one, other, here, there):
    first, second = one.replace(tzinfo=here), other.replace(tzinfo=there)
    assert (to_micros(first) < to_micros(second)) == (first < second)


def test_naive_times_take_the_zone():
    lisbon = ZoneInfo("Europe/Lisbon")
    noon = datetime(2024, 7, 1, 12)
    assert aware(noon, lisbon) == noon.replace(tzinfo=lisbon)
    assert to_micros(noon, lisbon) == to_micros(noon) - 3_600_000_000
    assert aware(noon.replace(tzinfo=UTC), lisbon).tzinfo is UTC


def test_the_hour_that_happens_twice_is_two_moments():
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
    second = first.replace(fold=1)
    assert to_micros(second) - to_micros(first) == 3_600_000_000
    assert (offset_minutes(first), offset_minutes(second)) == (120, 60)


def test_offsets_of_seconds_keep_the_moment():
    moment = datetime(1900, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=28)))
    assert from_micros(to_micros(moment), offset_minutes(moment)) == moment
    edge = datetime(1900, 1, 1, tzinfo=timezone(timedelta(hours=23, minutes=59, seconds=59)))
    assert from_micros(to_micros(edge), offset_minutes(edge)) == edge


@pytest.mark.parametrize("bad", [None, "2024-01-01", 0, 1.5, date(2024, 1, 1), timedelta(1)])
def test_what_is_no_time_is_told(bad):
    with pytest.raises(InvalidInput, match=r"datetime\.datetime"):
        to_micros(bad)


def test_now_is_in_utc():
    assert now().tzinfo is UTC
    assert abs(now() - datetime.now(UTC)) < timedelta(minutes=1)
