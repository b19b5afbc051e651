from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.relative_dates import absolute_dates, happened

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)  # a Monday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went there yesterday.", "I went there on 7 May 2023."),
        ('He said "see you tomorrow" and left yesterday.', 'He said "see you tomorrow" and left on 7 May 2023.'),
        ('My 5" pipe broke yesterday.', 'My 5" pipe broke on 7 May 2023.'),
        ("Yesterday, I met Tom.", "On 7 May 2023, I met Tom."),
        ("I saw her last Friday.", "I saw her on Friday 5 May 2023."),
        ("On last Friday night we ate.", "On the night of Friday 5 May 2023 we ate."),
        ("It was two weeks ago.", "It was around 24 April 2023."),
        ("about a week ago", "around 1 May 2023"),
        ("just last week", "in the week of 1 May 2023"),
        ("3 days ago", "on 5 May 2023"),
        ("a few days ago", "around 5 May 2023"),
        ("over 10 years ago", "around 2013"),
        ("several months ago", "around January 2023"),
        ("We camp next month.", "We camp in June 2023."),
        ("I did it last year!", "I did it in 2022!"),
        ("This weekend we hike.", "On the weekend of 13 May 2023 we hike."),
        ("during this past weekend", "during the weekend of 6 May 2023"),
        ("I'm cooking tonight", "I'm cooking on the evening of 8 May 2023"),
        ("Today is my birthday", "8 May 2023 is my birthday"),
        ("Tomorrow's the party", "9 May 2023 is the party"),
        ("This year's been rough", "2023 has been rough"),
        ("yesterday's meeting", "the 7 May 2023 meeting"),
        ("I know it since last year", "I know it since 2022"),
        ("open until tomorrow", "open until 9 May 2023"),
        ("by next month", "by June 2023"),
        ("early next month", "in early June 2023"),
        ("earlier this year", "earlier in 2023"),
        ("this morning", "on the morning of 8 May 2023"),
        ("yesterday evening", "on the evening of 7 May 2023"),
        ("last night", "on the night of 7 May 2023"),
        ("next Friday", "on Friday 19 May 2023"),
        ("this Friday", "on Friday 12 May 2023"),
        ("last summer", "in the summer of 2022"),
        ("last winter", "in the winter of 2022/23"),
        ("last June", "in June 2022"),
        ("next March", "in March 2024"),
        ("last week was hard", "the week of 1 May 2023 was hard"),
        ("the day before yesterday", "on 6 May 2023"),
        ("We will move in two weeks.", "We will move around 22 May 2023."),
        ("I finished it in two weeks.", "I finished it in two weeks."),
        ("Over the last year I changed.", "Over the last year I changed."),
        ("The next day I left.", "The next day I left."),
        ("her last year of high school", "her last year of high school"),
        ("USA Today and today's world", "USA Today and today's world"),
        ('I love "Yesterday" by them', 'I love "Yesterday" by them'),
        ("Last time I saw it on Tuesday.", "Last time I saw it on Tuesday."),
        ("5000 years ago", "5000 years ago"),
        ("", ""),
    ],
)
def test_absolute_dates(text, expected):
    found = absolute_dates(text, SAID)
    assert found == expected
    assert absolute_dates(found, SAID + timedelta(days=99)) == expected


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I met Ana yesterday.", (2023, 5, 7)),
        ("on 7 May 2021", (2021, 5, 7)),
        ("on May 3", (2023, 5, 3)),
        ("2020-02-29", (2020, 2, 29)),
        ("since 2019", (2019, 1, 1)),
        ("in March 2024", (2024, 3, 1)),
        ("the week of 1 May 2023", (2023, 5, 1)),
        ("on 31 June", None),
        ("soon", None),
    ],
)
def test_when_it_happened(text, day):
    assert happened(text, SAID) == (datetime(*day, tzinfo=UTC) if day else None)


def test_days_are_those_of_the_speakers_zone():
    zone = timezone(timedelta(hours=-8))
    said = datetime(2023, 5, 8, 23, tzinfo=zone)
    assert absolute_dates("today", said) == "on 8 May 2023"
    assert happened("yesterday", said) == datetime(2023, 5, 7, tzinfo=zone)


def test_the_ends_of_time_leave_the_words_alone():
    assert absolute_dates("last year, yesterday", datetime(1, 1, 1, tzinfo=UTC)) == "last year, yesterday"
    assert absolute_dates("tomorrow, next month", datetime(9999, 12, 31, tzinfo=UTC)) == "tomorrow, next month"


WORDS = st.lists(
    st.sampled_from(
        "I on in the at last next this week year Friday yesterday today's tomorrow two days ago since early May is . , weekend".split()
    ),
    max_size=10,
).map(" ".join)


@given(WORDS | st.text(max_size=100), st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)))
def test_twice_changes_nothing_and_prepositions_stay_single(text, said):
    said = said.replace(tzinfo=UTC)
    once = absolute_dates(text, said)
    assert absolute_dates(once, said) == once
    happened(text, said)
