"""Dates in texts: what a question names, and what a message tells of."""

from datetime import date, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemic.text.dates import NEAR, may_name_a_date, mentioned_periods, named_periods, of_one_time, without_known_dates

LAST = date.max.toordinal()
RUN = settings(max_examples=200, deadline=None)
PIECES = st.sampled_from(
    [*"january february march april may june july august september october november december".split(), "in", "of", "last",
     "next", "week", "month", "year", "weekend", "yesterday", "tomorrow", "monday", "last tuesday", "two weeks ago",
     "9999 years ago", "a few days ago", "since", "between", "and", "until", "before", "on", "the", "on the 31st", "lately", "past", "last month", "next month", "last year", "29", "30", "31st", "0", "2024", "0000",
     "9999", "0001", "2023-02-29", "2024-02-29", "2024-13-01", ",", "٣", "٢٠٢٤", "-"]
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=8).map(" ".join))
DAY = st.one_of(st.integers(1, LAST), st.sampled_from([1, 2, 31, 365, 366, LAST, LAST - 1, LAST - 31, LAST - 366]))


def day(year, month, number):
    return date(year, month, number).toordinal()


def month(year, number):
    following = (
        day(year + number // 12, number % 12 + 1, 1) if (year, number) != (9999, 12) else date.max.toordinal() + 1
    )
    return day(year, number, 1), following - 1


def one(year, number, of_month):
    return (day(year, number, of_month),) * 2


SAID = day(2024, 3, 15)  # a Friday


@RUN
@given(TEXT, DAY, st.lists(st.integers(1, 9999), max_size=3))
@example("two weeks ago, 9999 years ago, last month, last year", 1, [])
@example("next month, next week, tomorrow, this weekend", LAST, [9999])
@example("in december 9999 and in december", LAST, [9999])
@example("29 february", 1, [1, 1900, 2000])
def test_any_text_on_any_day(text, said, years):
    for start, end in (*mentioned_periods(text, said), *named_periods(text, said, years)):
        assert type(start) is type(end) is int
        assert start <= end
    assert isinstance(may_name_a_date(text), bool)


@pytest.mark.parametrize(
    ("query", "periods"),
    [
        ("What did she do on 5 May 2023?", [one(2023, 5, 5)]),
        ("What did she do on May 5, 2023?", [one(2023, 5, 5)]),
        ("on the 5th of May, 2023", [one(2023, 5, 5)]),
        ("on May 5th 2023", [one(2023, 5, 5)]),
        ("on 2023-05-05", [one(2023, 5, 5)]),
        ("in May 2023", [month(2023, 5)]),
        ("May of 2023", [month(2023, 5)]),
        ("in February 2024", [(day(2024, 2, 1), day(2024, 2, 29))]),
        ("in December 2023", [(day(2023, 12, 1), day(2023, 12, 31))]),
        ("in 2022", [(day(2022, 1, 1), day(2022, 12, 31))]),
        ("29 February 2024", [one(2024, 2, 29)]),
        ("29 February 2023", []),
        ("31 June 2023", []),
        ("2023-02-30", []),
        ("on 1 January 0001", [one(1, 1, 1)]),
        ("on 31 December 9999", [one(9999, 12, 31)]),
        ("in December 9999", [month(9999, 12)]),
        ("in May 2023 and in June 2023", [month(2023, 5), month(2023, 6)]),
        ("between May 2023 and June 2023", [(day(2023, 5, 1), day(2023, 6, 30))]),
        ("from 3 May 2023 to the 7th of May 2023", [(day(2023, 5, 3), day(2023, 5, 7))]),
        ("since May 2023", [(day(2023, 5, 1), SAID)]),
        ("after 3 May 2023", [(day(2023, 5, 4), SAID)]),
        ("until May 2023", [(1, day(2023, 5, 31))]),
        ("before 3 May 2023", [(1, day(2023, 5, 2))]),
        ("the week before 3 May 2023", [(day(2023, 4, 26), day(2023, 5, 2))]),
        ("the day after 3 May 2023", [one(2023, 5, 4)]),
        ("two weeks before 17 May 2023", [(day(2023, 4, 30), day(2023, 5, 6))]),
        ("ten days after 3 May 2023", [one(2023, 5, 13)]),
        ("after May 2030", [(day(2030, 6, 1),) * 2]),
        ("before 1 January 0001", [(1, 1)]),
        ("3-5 May 2023", [(day(2023, 5, 3), day(2023, 5, 5))]),
        ("on 3 and 5 May 2023", [one(2023, 5, 3), one(2023, 5, 5)]),
        ("May 3, 2023 to 5 pm", [one(2023, 5, 3)]),
        ("on 3/4/2023", [one(2023, 3, 4), one(2023, 4, 3)]),
        ("on 4/4/2023", [one(2023, 4, 4)]),
        ("in 2023-05 or 06/2023", [month(2023, 5), month(2023, 6)]),
        ("on 32.13.2023", []),
        ("on 31/31/2023", []),
        ("in 2022-2023", [(day(2022, 1, 1), day(2023, 12, 31))]),
        ("who may march with her?", []),
        ("she may 5ive", []),
        ("the march was long", []),
        ("nothing at all", []),
        ("room 2101 and 1899 coins", []),
    ],
)  # fmt: skip
def test_dates_with_a_year(query, periods):
    assert named_periods(query, SAID, [2020]) == periods


@pytest.mark.parametrize(
    ("query", "years", "periods"),
    [
        ("in May", [2022, 2023], [month(2022, 5), month(2023, 5)]),
        ("last March", [2022], [month(2022, 3)]),
        ("What happened in march?", [2022], [month(2022, 3)]),
        ("her July trip", [2022], [month(2022, 7)]),
        ("on 29 February", [2023, 2024], [one(2024, 2, 29)]),
        ("on May 5", [2022, 2023], [one(2022, 5, 5), one(2023, 5, 5)]),
        ("since October", [2022, 2023], [(day(2023, 10, 1), SAID)]),
        ("since May", [2023, 2024], [(day(2023, 5, 1), SAID)]),
        ("since May", [], []),
        ("from November to February", [2023, 2024], [(day(2023, 11, 1), day(2024, 2, 29))]),
        ("between March and June", [2022, 2023], [(day(y, 3, 1), day(y, 6, 30)) for y in (2022, 2023)]),
        ("between May 3 and 5 June", [2022], [(day(2022, 5, 3), day(2022, 6, 5))]),
        ("in May", [], []),
        ("in May", [0], []),
    ],
)  # fmt: skip
def test_dates_without_a_year_are_of_the_years_that_are_remembered(query, years, periods):
    assert named_periods(query, SAID, years) == periods
    assert may_name_a_date(query)


@pytest.mark.parametrize(
    ("words", "periods"),
    [
        ("yesterday", [(SAID - 1, SAID - 1)]),
        ("last night", [(SAID - 1, SAID - 1)]),
        ("tomorrow", [(SAID + 1, SAID + 1)]),
        ("the day before yesterday", [(SAID - 2, SAID - 2)]),
        ("the day after tomorrow", [(SAID + 2, SAID + 2)]),
        ("today", [(SAID, SAID)]),
        ("this morning", [(SAID, SAID)]),
        ("tonight", [(SAID, SAID)]),
        ("last week", [(SAID - 11, SAID - 5)]),
        ("this week", [(SAID - 4, SAID + 2)]),
        ("next week", [(SAID + 3, SAID + 9)]),
        ("the week before last", [(SAID - 18, SAID - 12)]),
        ("last weekend", [(SAID - 6, SAID - 5)]),
        ("next weekend", [(SAID + 8, SAID + 9)]),
        ("last Tuesday", [(SAID - 3, SAID - 3)]),
        ("last Friday", [(SAID - 7, SAID - 7)]),
        ("next Monday", [(SAID + 3, SAID + 3)]),
        ("this month", [month(2024, 3)]),
        ("the month before last", [month(2024, 1)]),
        ("the year before last", [(day(2022, 1, 1), day(2022, 12, 31))]),
        ("in the last two weeks", [(SAID - 14, SAID)]),
        ("in the last week", [(SAID - 7, SAID)]),
        ("over the last week", [(SAID - 7, SAID)]),
        ("in the past ten days", [(SAID - 10, SAID)]),
        ("over the past month", [(SAID - 30, SAID)]),
        ("last month", [month(2024, 2)]),
        ("next month", [month(2024, 4)]),
        ("last year", [(day(2023, 1, 1), day(2023, 12, 31))]),
        ("three days ago", [(SAID - 3, SAID - 3)]),
        ("a few days ago", [(SAID - 4, SAID - 2)]),
        ("three weeks back", [(SAID - 24, SAID - 18)]),
        ("two weeks ago", [(SAID - 17, SAID - 11)]),
        ("a couple of weeks ago", [(SAID - 17, SAID - 11)]),
        ("2 months ago", [(SAID - 75, SAID - 45)]),
        ("a year ago", [(SAID - 365 - 182, SAID - 365 + 182)]),
        ("Monday", []),
        ("on Mondays", []),
        ("ages ago", []),
    ],
)
def test_words_count_from_the_day_they_are_said(words, periods):
    for text in (words, f"We met {words}, I think", words.upper()):
        assert mentioned_periods(text, SAID) == periods
        assert named_periods(text, SAID, [1999]) == periods


def test_lately_is_the_last_weeks_to_who_reads_it_loosely():
    for question in ("How did I sleep lately?", "Who called recently?"):
        assert named_periods(question, SAID, [], loosely=True) == [(SAID - 28, SAID)]
        assert named_periods(question, SAID, []) == mentioned_periods(question, SAID) == []


@pytest.mark.parametrize(
    ("words", "periods"),
    [
        ("on Thursday", [(SAID - 1, SAID - 1)]),
        ("on Friday", [(SAID - 7, SAID - 7)]),
        ("about Thursday", [(SAID - 1, SAID - 1)]),
        ("with Thursday's guests", [(SAID - 1, SAID - 1)]),
        ("every Thursday, and what was Black Friday", []),
        ("since Monday", [(SAID - 4, SAID)]),
        ("between Monday and Wednesday", [(SAID - 4, SAID - 2)]),
        ("between Wednesday and Monday", [(SAID - 2, SAID)]),
        ("at the weekend", [(SAID - 6, SAID - 5)]),
        ("on the 14th", [(SAID - 1, SAID - 1)]),
        ("on the 15th", [one(2024, 2, 15)]),
        ("on the 31st, at home", [one(2024, 1, 31)]),
        ("from the 10th to the 12th", [(day(2024, 3, 10), day(2024, 3, 12))]),
        ("since last week", [(SAID - 11, SAID)]),
        ("before last Tuesday", [(1, SAID - 4)]),
        ("after yesterday's meeting", [(SAID - 1, SAID - 1)]),
        ("on the 14th floor", []),
        ("on the 99th", []),
    ],
)
def test_a_question_asks_of_the_last_such_day(words, periods):
    assert named_periods(f"Did I run {words}?", SAID, [1999]) == periods
    assert named_periods(words, SAID, [1999]) == periods


COUNTS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
WORDS_OR_DIGITS = st.integers(1, 12).flatmap(
    lambda n: st.sampled_from([(n, COUNTS[n - 1]), (n, str(n))])
) | st.integers(13, 999).map(lambda n: (n, str(n)))


@RUN
@given(
    st.integers(400_000, LAST),
    WORDS_OR_DIGITS,
    st.sampled_from([("day", 1), ("week", 7), ("month", 30), ("year", 365)]),
)
def test_counts_in_words_and_digits(said, count, unit):
    (number, words), (name, days) = count, unit
    middle, half = said - number * days, days // 2
    for text in (f"What happened {words} {name}s ago?", f"{words} {name}s back"):
        assert named_periods(text, said, []) == mentioned_periods(text, said) == [(middle - half, middle + half)]
    assert named_periods(f"in the last {words} {name}s", said, []) == [(middle, said)]


@RUN
@given(st.integers(1_000, LAST - 1_000), st.sampled_from(["monday", "friday", "sunday"]), st.integers(1, 31))
def test_the_last_such_day_is_before_the_day_it_is_asked(said, weekday, number):
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")
    for asked, gap in ((f"on {weekday}", 7), (f"on the {number}{suffix}", 62)):
        ((start, end),) = named_periods(f"What did I do {asked}?", said, [])
        assert start == end
        assert said - gap <= start < said
    assert f"{date.fromordinal(named_periods(f'on {weekday}', said, [])[0][0]):%A}".lower() == weekday
    assert date.fromordinal(start).day == number


@RUN
@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_what_begins_and_ends_with_a_day(one, other):
    first, last = sorted((one, other))
    start, end, asked = first.toordinal(), last.toordinal(), date(2091, 1, 1).toordinal()
    named = [f"{moment.day} {moment:%B} {moment.year}" for moment in (first, last)]
    for text in ("between {} and {}", "from {} to {}", "from the {} until the {}"):
        assert named_periods(text.format(*named), asked, []) == [(start, end)]
    assert named_periods(f"since {named[0]}", asked, []) == [(start, asked)]
    assert named_periods(f"until {named[0]}", asked, []) == [(1, start)]


@RUN
@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_a_day_in_numbers_is_never_its_year_alone(moment):
    d, m, y = moment.day, moment.month, moment.year
    for text in (f"{d}.{m}.{y}", f"{d:02}.{m:02}.{y}", f"{d}/{m}/{y}", f"{d}-{m}-{y}", f"{y}/{m}/{d}", f"{m}/{d}/{y}"):
        found = named_periods(f"What happened on {text}?", SAID, [])
        assert (moment.toordinal(),) * 2 in found
        assert all(start == end for start, end in found)
        assert len(found) == 1 or max(d, m) <= 12


@RUN
@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.integers(1, 30), st.booleans())
def test_two_days_share_the_month_that_stands_at_one_of_them(first, length, with_year):
    last = min(first.replace(day=1).toordinal() + 27, first.toordinal() + length)
    start, end = first.toordinal(), max(first.toordinal(), last)
    a, b, name = first.day, date.fromordinal(end).day, f"{first:%B}"
    year = f" {first.year}" if with_year else ""
    for text in ("between {} and {}", "from {} to {}", "from the {} until the {}", "{}-{}", "{} to {}"):
        assert named_periods(text.format(a, f"{b} {name}{year}"), LAST, [first.year]) == [(start, end)]
        assert named_periods(text.format(f"{name} {a}", f"{b}{year}"), LAST, [first.year]) == [(start, end)]


@pytest.mark.parametrize("form", ["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "the %dth of %B %Y"])
@settings(max_examples=60, deadline=None)
@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.integers(-2 * NEAR, 2 * NEAR))
def test_days_that_are_near_are_taken_out(form, said, apart):
    text = f"On {said + timedelta(days=apart):{form}} she swam 12 lengths."
    rest = without_known_dates(text, "", [said.toordinal()])
    taken = "on she swam 12 lengths." if "the" not in form else "on the she swam 12 lengths."
    assert " ".join(rest.split()) == (taken if abs(apart) <= NEAR else text.lower())
    assert without_known_dates(text, "", []) == text.lower()


def test_the_turn_of_the_year():
    assert mentioned_periods("last month", day(2024, 1, 31)) == [month(2023, 12)]
    assert mentioned_periods("next month", day(2023, 12, 1)) == [month(2024, 1)]
    assert mentioned_periods("last month", day(2024, 3, 31)) == [month(2024, 2)]


def test_the_edges_of_the_calendar():
    assert mentioned_periods("last month and last year", 1) == []
    assert mentioned_periods("next month", LAST) == []
    assert mentioned_periods("next month", day(9999, 11, 30)) == [month(9999, 12)]
    assert mentioned_periods("in December", LAST) == [month(9999, 12)]


def test_a_month_without_a_year_is_of_the_year_it_was_said_in():
    assert mentioned_periods("I was there in May and on June 3", SAID) == [(one(2024, 6, 3)), month(2024, 5)]
    assert mentioned_periods("I was there in May 2021", SAID) == [month(2021, 5)]
    assert mentioned_periods("I was there in 2021", SAID) == []  # too wide to tell one message from another
    assert mentioned_periods("31 June", SAID) == []


def test_a_date_beats_words_that_count_from_today():
    assert named_periods("What did she say last year in May 2021?", SAID, []) == [month(2021, 5)]
    assert not may_name_a_date("last month")
    assert not may_name_a_date("may I?")


@RUN
@given(DAY, DAY, st.sampled_from(["yesterday", "today", "last night", "three days ago", "the day before yesterday"]))
def test_what_counts_from_its_day_is_of_one_time_on_that_day_alone(first, second, words):
    assert of_one_time(f"I ran {words}.", first, f"I ran {words}!", second) == (first == second)
    assert of_one_time("I like to run.", first, "I do like to run.", second)
