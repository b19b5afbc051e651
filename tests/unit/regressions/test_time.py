"""Times at the edges of the calendar, and the two clocks of a memory."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest

from mnemic import InvalidInput, Memory

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))
OUTSIDE = [datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=WEST)]


class NoOffset(tzinfo):
    """A zone that does not know its offset: Python takes such datetimes for naive ones."""

    def utcoffset(self, moment):
        return None


@pytest.mark.parametrize("moment", OUTSIDE, ids=["year 1", "year 9999"])
def test_a_time_pushed_out_of_the_calendar_by_its_zone_is_refused_and_nothing_is_stored(memory, moment):
    memory.add("hello Ana", id="before")
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        memory.add("hello there", sent_at=moment)
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        memory.remember("hello fact", valid_at=moment)
    assert [message.id for message in memory.messages()] == ["before"]
    assert [hit.id for hit in memory.search("hello")] == ["before"]


def test_a_naive_time_pushed_out_by_the_zone_of_the_handle_is_refused():
    with Memory(":memory:", embedder="hashing", timezone=EAST) as memory:
        with pytest.raises(InvalidInput, match="years 1 to 9999"):
            memory.add("hello", sent_at=datetime(1, 1, 1))
        assert memory.messages() == []


@pytest.mark.parametrize("moment", OUTSIDE, ids=["year 1", "year 9999"])
@pytest.mark.parametrize("argument", ["since", "until", "now"])
def test_a_question_about_a_time_outside_the_calendar_is_refused(memory, argument, moment):
    memory.add("hello")
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        memory.search("hello", **{argument: moment})


def test_a_zone_without_an_offset_counts_as_none():
    noon = datetime(2024, 7, 1, 12)
    with Memory(":memory:", embedder="hashing", timezone=EAST) as memory:
        memory.add("hello", id="m", sent_at=noon.replace(tzinfo=NoOffset()))
        assert memory.get("m").sent_at == noon.replace(tzinfo=EAST)
        assert memory.search("hello", until=(noon + timedelta(hours=1)).replace(tzinfo=NoOffset()))[0].id == "m"


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", None])
@pytest.mark.parametrize("query", ["the thing in May", "the thing last month", "the thing of last year", "in 2024"])
@pytest.mark.parametrize("edge", [FIRST, LAST], ids=["year 1", "year 9999"])
def test_a_dated_question_at_an_edge_of_the_calendar_is_answered(zone, query, edge):
    with Memory(":memory:", embedder="hashing", timezone=zone) as memory:
        memory.remember("the thing", valid_at=edge, id="memory")
        memory.add("the thing we saw yesterday, last month", sent_at=edge, id="message")
        for now in (FIRST, LAST):
            found = memory.search(query, now=now, include_expired=True)  # what begins in 9999 is not true yet
            assert {hit.id for hit in found} == {"memory", "message"}
            assert memory.get_memory_context(query, now=now).hits


def test_an_offset_of_seconds_on_the_last_day_has_no_day_after_it(memory):
    moment = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(seconds=31)))
    memory.add("the thing", sent_at=moment, id="m")
    assert memory.search("the thing in May")[0].id == "m"


def test_since_and_until_mean_the_same_in_search_and_list(memory):
    """When it was said: a fact about the year 2000 that was told today is news of today."""
    memory.remember("tea was cheap", valid_at=datetime(2000, 1, 1, tzinfo=UTC))
    recently = datetime.now(UTC) - timedelta(hours=1)
    for limits, count in (({"since": recently}, 1), ({"until": recently}, 0)):
        assert len(memory.list(**limits)) == count
        assert len(memory.search("tea", **limits)) == count
        assert len(memory.get_memory_context("tea", **limits).hits) == count


@pytest.mark.parametrize("order", ["newest", "oldest", "importance"])
def test_what_was_said_long_ago_is_listed_as_of_then(memory, order):
    """An imported conversation is processed today; its memories are of the day on which it was said."""
    memory.add("I moved to Lisbon with my sister Zoe.", sent_at=datetime(2020, 3, 1, tzinfo=UTC))
    memory.process()
    days = [datetime(2020, month, 1, tzinfo=UTC) for month in (2, 4)]
    assert [record.content for record in memory.list(order=order)] == ["I moved to Lisbon with my sister Zoe."]
    assert memory.list(order=order, since=days[0], until=days[1]) == memory.list(order=order)
    assert memory.list(order=order, until=days[0]) == memory.list(order=order, since=days[1]) == []
