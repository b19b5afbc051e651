"""Dates in texts: those a question names, and those a message mentions relative to its own day.

They are dates, such as "23 and 24 November", and words that count from a day, such as "in the last two weeks" and "the year
before last". A period is a pair of days, both included, as proleptic ordinals (``date.toordinal``). A week begins on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar, cast

from mnemic.text.english import MONTHS, NUMBERS, READ, WEEKDAYS, language_of
from mnemic.text.terms import STOP_WORDS

T = TypeVar("T")
R = TypeVar("R")
Period = tuple[int, int]


class Mention(NamedTuple):
    """Where a text names a time, and the periods that it can mean."""

    start: int
    end: int
    periods: list[Period]


UNITS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
"""Days of a unit."""
LATELY = "(?:lately|recently)"
RECENT = 28
"""Days that it goes back."""
_NUMBERS = {word: number for word, number in NUMBERS.items() if 1 <= number <= 12}
_LOOSE = {"few": 3, "several": 4}
_COUNTS = _NUMBERS | _LOOSE | {"a": 1, "an": 1, "couple": 2}
_WORDS = {"day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2}
_STEPS = {"last": -1, "this": 0, "next": 1}
_HOURS = ("morning", "afternoon", "evening", "night")

COUNTED = rf"(\d{{1,4}}|{'|'.join(_COUNTS)}) (?:of )?({'|'.join(UNITS)})s?"
"""A number and its unit, in two groups."""
_WEEKDAY = "|".join(WEEKDAYS)
_WHAT = rf"(week(?:end)?|month|year|{'|'.join(_HOURS)}|{_WEEKDAY})"
_BEFORE_A_DAY = (
    "(?:on|of|about|during|since|until|till|before|after|between|and|from|to|by|was|"
    "show me|list|recap|review|summari[sz]e)"
)

Reading = Callable[["re.Match[str]", int], Period]


def month_of(year: int, month: int) -> Period:
    """The days of a month of the years 1 to 9999."""
    first = date(year, month, 1).toordinal()
    following = date(year + month // 12, month % 12 + 1, 1).toordinal() if (year, month) != (9999, 12) else first + 31
    return first, following - 1


def length(words: re.Match[str]) -> tuple[int, int, int]:
    """Of "a few weeks", as ``COUNTED`` matches it: their days, those of one, and by how many they may be more or fewer."""
    count, unit = words[1], UNITS[words[2]]
    return (int(count) if count.isdigit() else _COUNTS[count]) * unit, unit, unit * (count in _LOOSE)


def _ago(words: re.Match[str], reference: int) -> Period:
    days, unit, more = length(words)
    spread = unit // 2 + more
    return reference - days - spread, reference - days + spread


def _lasting(words: re.Match[str], reference: int) -> Period:
    days, _, more = length(words)
    return reference - days - more, reference


def _word(words: re.Match[str], reference: int) -> Period:
    day = reference + _WORDS[words[1]]
    return day, day


def _calendar(unit: str, step: int, reference: int) -> Period:
    """The unit of the calendar so many steps from the one that holds a day.

    Raises:
        ValueError: it is beyond the calendar.
    """
    if unit in _HOURS:
        return reference + step, reference + step
    monday = reference - (reference - 1) % 7
    if unit in WEEKDAYS:  # last: before the day, next: after it
        day = monday + WEEKDAYS.index(unit)
        day += 7 * (step + (step < 0 and day < reference) - (step > 0 and day > reference))
        return day, day
    if unit in ("week", "weekend"):
        return monday + 7 * step + 5 * (unit == "weekend"), monday + 7 * step + 6
    day = date.fromordinal(reference)
    if unit == "year":
        return date(day.year + step, 1, 1).toordinal(), date(day.year + step, 12, 31).toordinal()
    year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
    return month_of(year, month + 1)


def _day_of_month(words: re.Match[str], reference: int) -> Period:
    """The last such day before a day.

    Raises:
        ValueError: the words count something else, such as a floor, or there is none.
    """
    if words[2] and words[2] not in STOP_WORDS:
        raise ValueError(words[0])
    for step in range(3):  # of three months in a row one has 31 days
        first, last = _calendar("month", -step, reference)
        day = first + int(words[1]) - 1
        if first <= day <= last and day < reference:
            return day, day
    raise ValueError(words[0])


# Patterns and how they are read. Earlier patterns take their text from later ones; ``day`` is where the name of a day begins.
_PHRASES: tuple[tuple[str, Reading], ...] = (
    (rf"\b{COUNTED} (?:ago|back)\b", _ago),
    (rf"\b(?:last|past|previous) {COUNTED}\b", _lasting),
    (
        rf"\b(?:past|(?:in|within|over|for) the last) ({'|'.join(UNITS)})\b",
        lambda words, today: (today - UNITS[words[1]], today),
    ),
    (rf"\b{_WHAT} before last\b", lambda words, today: _calendar(words[1], -2, today)),
    (rf"\b(last|this|next) {_WHAT}\b", lambda words, today: _calendar(words[2], _STEPS[words[1]], today)),
    (rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\b", _word),
)


def _compiled(*phrases: tuple[str, Reading]) -> tuple[tuple[re.Pattern[str], Reading], ...]:
    return tuple((re.compile(pattern), reading) for pattern, reading in phrases)


_IN_STATEMENTS = _compiled(*_PHRASES, (r"\bweekend", lambda _, today: (today - 3, today + 7)))
_IN_QUESTIONS = _compiled(
    *_PHRASES,
    (rf"\b{LATELY}\b", lambda _, today: (today - RECENT, today)),
    (r"\bweekend\b", lambda _, today: _calendar("weekend", 0 if today % 7 in (6, 0) else -1, today)),
    (rf"\b{_BEFORE_A_DAY} (?P<day>{_WEEKDAY})\b", lambda words, today: _calendar(words[1], -1, today)),
    (rf"\b({_WEEKDAY})(?=['\u2019]s\b)", lambda words, today: _calendar(words[1], -1, today)),
    (rf"\b{_BEFORE_A_DAY} the (?P<day>\d{{1,2}})(?:st|nd|rd|th)\b(?= ?([a-z]*))", _day_of_month),
)


def relative_mentions(text: str, reference: int, *, is_question: bool = False) -> tuple[list[Mention], str]:
    """The phrases of a lower-case text that count from a day, and the text without them.

    Args:
        text: the text.
        reference: ordinal of the day it was said.
        is_question: whether it asks about the past: its weekdays, weekend and days of a month are the last ones. A statement
            may mean the next ones as well; in it, weekdays and days of a month alone name nothing.
    """

    def mention(words: re.Match[str], reading: Reading) -> Mention:
        start = words.start("day") if "day" in words.re.groupindex else words.start()
        return Mention(start, words.end(), [reading(words, reference)])

    return _extracted(text, _IN_QUESTIONS if is_question else _IN_STATEMENTS, mention)


def _extracted(
    text: str, patterns: Iterable[tuple[re.Pattern[str], T]], read: Callable[[re.Match[str], T], R]
) -> tuple[list[R], str]:
    """What the matches of patterns stand for, and the text without them, of the same length.

    A match that stands for nothing, such as a day beyond the calendar, stays.
    """
    extracted: list[R] = []
    for pattern, meaning in patterns:

        def take(match: re.Match[str], meaning: T = meaning) -> str:
            try:
                extracted.append(read(match, meaning))
            except ValueError:
                return match[0]
            return " " * len(match[0])

        text = pattern.sub(take, text)
    return extracted, text


MOST_PERIODS = 20
"""Most periods of one text."""

_NUMBER_OF = {month: number for number, month in enumerate(MONTHS, start=1)}
_ANY = "|".join(MONTHS)
UNMISTAKABLE_MONTHS = "|".join(
    month for month in MONTHS if month not in {"march", "may"}
)  # march and may are verbs as well
_BEFORE_A_MONTH = "in|of|during|by|since|until|till|late|early|mid|last|this|next|and|before|after|between|from"

_YEAR = r"(?:19|20)\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_LINK = r",? (?:and|to|until|till|through) (?:the )?| ?[-\u2013] ?"
_NO_MONTH_BEFORE = "".join(rf"(?<!{month} )(?<!{month}, )" for month in MONTHS)
_SHARED = (
    (
        re.compile(rf"\b{_NO_MONTH_BEFORE}({_DAY})({_LINK})(?={_DAY}((?: of)? (?:{_ANY})\b(?:,? \d{{4}}\b)?))"),
        r"\1\3\2",
    ),
    (
        re.compile(
            rf"\b((?:{_ANY}),? )({_DAY})({_LINK})({_DAY})\b(?! ?(?:am|pm|of|{_ANY})\b|[:.]\d)((?:,? \d{{4}}\b)?)"
        ),
        r"\1\2\5\3\1\4\5",
    ),
)
"""Two days that share a month, "23 and 24 November" and "November 23 to 24", and how they are spelled out."""

# Pattern, and which of its groups are year, month and day (0: none). Earlier patterns take their text from later ones.
# Of "3/4/2026" both readings are found: the first of its patterns takes no text.
_DATES = tuple(
    (re.compile(pattern), groups)
    for pattern, groups in (
        (rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_ANY})\b,?(?: (\d{{4}}))?", (3, 2, 1)),
        (rf"\b({_ANY}),? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", (3, 1, 2)),
        (rf"\b({_ANY}),? (?:of )?(\d{{4}})\b", (2, 1, 0)),
        (rf"\b({_YEAR})([-./])(\d{{1,2}})\2(\d{{1,2}})\b", (1, 3, 4)),
        (rf"\b(?=(0?[1-9]|1[0-2])/(0?[1-9]|1[0-2])/({_YEAR})\b)", (3, 1, 2)),
        (rf"\b(\d{{1,2}})[-/](1[3-9]|2\d|3[01])[-/]({_YEAR})\b", (3, 1, 2)),
        (rf"\b(\d{{1,2}})([-./])(\d{{1,2}})\2({_YEAR})\b", (4, 3, 1)),
        (rf"\b({_YEAR})-(0[1-9]|1[0-2])\b", (1, 2, 0)),
        (rf"\b(0?[1-9]|1[0-2])[./]({_YEAR})\b", (2, 1, 0)),
        (rf"\b(?:{_BEFORE_A_MONTH})[ -]({_ANY})\b", (0, 1, 0)),
        (rf"\b({UNMISTAKABLE_MONTHS})\b", (0, 1, 0)),
        (rf"\b({_YEAR})\b", (1, 0, 0)),
    )
)

# No date and no relative period is without one of these: most messages need no further look.
_HINT = re.compile(
    rf"\d|{_ANY}|yesterday|today|tonight|tomorrow|weekend|lately|recently|last|past|previous|this |next |ago|back"
)
_DIGIT = re.compile(r"\d")
_HOURS_AGO = re.compile(r"(\d{1,4}|an?) (minute|hour)s? ago")

EARLIEST = 1
"""Where a period begins that has no beginning: "until March"."""
_OPENING = re.compile(
    rf"\b(?:(?:{COUNTED}|(?:the|last) ({'|'.join(UNITS)}|weekend)) )?(since|after|until|till|before|between|from)"
    r"(?: the)?(?: (?:early|mid|late|start of|end of))?[ -]$"
)
_AND = re.compile(r",? (and|to|until|till|through) (?:(?:the|on|in) )*| ?[-\u2013] ?")
_LATELY = re.compile(LATELY)
_READ_BEFORE = 30
"""Characters before a date that may say what begins or ends with it."""


class _Date(NamedTuple):
    """A date in a text; missing parts are 0."""

    start: int
    end: int
    year: int
    month: int
    day: int


def _extract_dates(text: str) -> tuple[list[_Date], str]:
    """Every date in a lower-case text, and the text without them, of the same length."""
    return _extracted(text, _DATES, _date)


def _date(match: re.Match[str], groups: tuple[int, int, int]) -> _Date:
    parts = [match[group] or "0" if group else "0" for group in groups]
    year, month, day = (int(part) if part.isdigit() else _NUMBER_OF[part] for part in parts)
    return _Date(match.start(1), match.end(), year, month, day)


def _spelled_out(text: str) -> str:
    """A text in lower case, where each of two days that share a month has it."""
    text = text.lower()
    for pattern, apart in _SHARED if _DIGIT.search(text) else ():
        text = pattern.sub(apart, text)
    return text


def without_dates(text: str) -> str:
    """A text in lower case without the dates in it; words such as "yesterday" stay."""
    return _extract_dates(_spelled_out(text))[1]


NEAR = 15
"""Days within which a date may be worked out from the day of a message: "last Friday", "the week before"."""


_OF_A_YEAR = re.compile(rf"\b(?:{_BEFORE_A_MONTH}|spring|summer|autumn|winter)[ -]\Z")
"""What stands before a year, which else is some number."""
_LEAP_YEAR = 2000
"""The year of dates where none is given."""


def without_known_dates(text: str, source: str, near: Collection[int]) -> str:
    """A text in lower case without the dates of a source, or less precise, and those at most 15 days from days ``near``."""
    text, known = text.lower(), _extract_dates(source)[0]
    years = {date.fromordinal(day).year for day in near} | {year for *_, year, _, _ in known if year}
    years = years or {_LEAP_YEAR}
    spans = [span for *_, year, month, day in known for span in _periods(year, month, day, years)]
    for start, end, year, month, day in _extract_dates(text)[0]:
        if not month and not _OF_A_YEAR.search(text[:start]):
            continue
        meant = _periods(year, month, day, years)
        is_known = any(first <= begin and until <= last for first, last in meant for begin, until in spans)
        if is_known or any(first == last and abs(first - other) <= NEAR for first, last in meant for other in near):
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def without_periods(query: str, today: int) -> str:
    """A question in lower case without the dates in it and the words that count from the day it is asked (ordinal)."""
    return relative_mentions(without_dates(query), today, is_question=True)[1]


def _periods(year: int, month: int, day: int, years: Iterable[int] = ()) -> list[Period]:
    """The periods a partial date can mean: a missing year is each of ``years``."""
    periods: list[Period] = []
    for y in [year] if year else years:
        try:
            if month and day:
                periods.append((date(y, month, day).toordinal(), date(y, month, day).toordinal()))
            elif month:
                periods.append(month_of(y, month))
            else:
                periods.append((date(y, 1, 1).toordinal(), date(y, 12, 31).toordinal()))
        except ValueError:
            continue  # no such day, such as 31 June
    return periods


def relative_periods(text: str, reference: int) -> list[Period]:
    """The periods of phrases such as "last week" in a statement, relative to the day it was said (ordinal)."""
    return [period for mention in relative_mentions(text.lower(), reference)[0] for period in mention.periods]


def mentioned_periods(text: str, reference: int) -> list[Period]:
    """The periods a message mentions, relative to the day it was said.

    Args:
        text: the message.
        reference: ordinal of its day.

    Returns:
        Periods for "yesterday", "two months ago", "in May" and similar phrases; a month without a year is in the year
        of the message. Years alone are ignored: too wide to distinguish messages.
    """
    periods = [period for period in _foreign_periods(text, reference) if period[1] - period[0] < UNITS["year"] - 1]
    lowered = text.lower()
    if _HINT.search(lowered):
        lowered = _spelled_out(lowered)
        periods += relative_periods(lowered, reference)
        for date_ in _extract_dates(lowered)[0]:
            if date_.month:
                periods += _periods(date_.year or date.fromordinal(reference).year, date_.month, date_.day)
    return _distinct(periods)


def of_one_time(first: str, first_said: int, second: str, second_said: int) -> bool:
    """Whether two texts mention the same periods, each relative to the day it was said (ordinal).

    "I had a panic attack today." is another fact on another day.
    """
    return first_said == second_said or mentioned_periods(first, first_said) == mentioned_periods(second, second_said)


def may_name_a_date(query: str) -> bool:
    """Whether a question names a date, possibly without a year."""
    return bool(_extract_dates(query.lower())[0])


def named_periods(query: str, today: int, years: Sequence[int], *, loosely: bool = False) -> list[Period]:
    """The periods a question asks about.

    Args:
        query: the question.
        today: ordinal of the day it is asked; "last month" counts from it, and "since May" lasts to it.
        years: candidates for the year of a month without one: the years of the records.
        loosely: "lately" and "recently" name the last weeks; between people they are often said of no time in particular.
    """
    lowered = _spelled_out(query)
    mentions = sorted(_mentions(lowered, today, years))
    if not loosely:
        mentions = [mention for mention in mentions if not _LATELY.match(lowered, mention.start)]
    return _distinct(_combined_periods(lowered, mentions, today)) if mentions else _foreign_periods(query, today)


def _mentions(lowered: str, today: int, years: Sequence[int]) -> list[Mention]:
    """The dates that a question names, or else its words that count from the day it is asked."""
    dates, _ = _extract_dates(lowered)
    if dates:
        by_start: dict[int, Mention] = {}
        for start, end, year, month, day in dates[:MOST_PERIODS]:
            other = by_start.get(start, Mention(start, end, []))
            by_start[start] = Mention(start, max(end, other.end), other.periods + _periods(year, month, day, years))
        return list(by_start.values())
    return relative_mentions(lowered, today, is_question=True)[0][:MOST_PERIODS]


def _combined_periods(text: str, mentions: Sequence[Mention], today: int) -> Iterator[Period]:
    """The periods of a text whose times are named in this order, with those that one begins and another ends as one."""
    index = 0
    while index < len(mentions):
        start, end, periods = mentions[index]
        index += 1
        opening = None if text.startswith("'s", end) else _OPENING.search(text[max(start - _READ_BEFORE, 0) : start])
        spans = opening is not None and opening[4] in ("between", "from")
        link = _AND.fullmatch(text, end, mentions[index].start) if index < len(mentions) else None
        if periods and link and (spans or link[1] != "and"):
            yield from _spans(periods, mentions[index].periods, today)
            index += 1
        elif opening is None or spans or not periods:
            yield from periods
        else:
            yield _bounded_period(opening, periods, today)


def _spans(firsts: Sequence[Period], lasts: Sequence[Period], today: int) -> Iterator[Period]:
    """From the latest first day to each last day after one; to the day it is asked where there is none yet."""
    starts, ends = [start for start, _ in firsts], [end for _, end in lasts]
    if starts and ends and min(starts) > max(ends):
        ends = [max(today, *starts)]
    for end in ends:
        if begun := [start for start in starts if start <= end]:
            yield max(begun), end


def _bounded_period(opening: re.Match[str], periods: Sequence[Period], today: int) -> Period:
    """What lasts from or to the latest of the periods that has begun, or is so long before or after it."""
    start, end = max((period for period in periods if period[0] <= today), default=periods[0])
    before = opening[4] == "before"
    if opening[4] in ("before", "after") and opening[1]:
        days, unit, more = length(opening)
        middle, spread = start - days if before else end + days, unit // 2 + more
        return middle - spread, middle + spread
    if opening[4] in ("before", "after") and opening[3]:
        unit = UNITS.get(opening[3], UNITS["week"])
        return (start - unit, start - 1) if before else (end + 1, end + unit)
    if opening[4] in ("since", "after"):
        begins = start if opening[4] == "since" else end + 1
        return begins, max(today, begins)
    return EARLIEST, max(start - 1 if before else end, EARLIEST)


def _distinct(periods: Iterable[Period]) -> list[Period]:
    """Each period once, and no more than MOST_PERIODS."""
    return list(dict.fromkeys(periods))[:MOST_PERIODS]


def _foreign_periods(text: str, reference: int) -> list[Period]:
    """The periods that a text names in another language than English."""
    periods: list[Period] = []
    for day, period in _foreign_dates(text, reference):
        if period == "week":
            periods.append((day.toordinal() - 3, day.toordinal() + 3))
        else:
            periods += _periods(day.year, day.month * (period != "year"), day.day * (period == "day"))
    return periods


_IN_WORDS = re.compile(r"[^\W_]+(?:,? [^\W_]+)*")
"""A date with other marks is ISO 8601 or means different days to different people."""


def named_time(text: str, now: datetime) -> datetime:
    """The time that a whole text names: ISO 8601, "yesterday", "3 days ago", "March"; of a period, its beginning.

    Args:
        text: in which a month without a year is the last one.
        now: from which words count, in their time zone.

    Raises:
        ValueError: it names none.
    """
    text = text.strip()
    for whole in (text, f"{text}-01"):  # a month
        with suppress(ValueError):
            return datetime.fromisoformat(whole)
    with suppress(ValueError, OverflowError):
        return _in_words(text.lower(), now)
    raise ValueError('must be a time such as "2026-03-01", "2026-03-01T18:00", "yesterday" or "3 days ago"')


def _in_words(text: str, now: datetime) -> datetime:
    """The time that words name.

    Raises:
        ValueError: they name none.
        OverflowError: it is too long ago.
    """
    if text == "now":
        return now
    if match := _HOURS_AGO.fullmatch(text):
        return now - timedelta(**{f"{match[2]}s": int(match[1]) if match[1].isdigit() else 1})
    today = now.date().toordinal()
    starts: list[int] = []
    if _IN_WORDS.fullmatch(text):
        mentions = _mentions(text, today, (now.year - 1, now.year))
        starts = [start for mention in mentions for start, _ in mention.periods]
        starts = starts or [start for start, _ in _foreign_periods(text, today)]
    day = date.fromordinal(max((start for start in starts if start <= today), default=min(starts)))
    return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)


# Other languages than English, by the library dateparser, which the extra ``languages`` brings

_TELLING = re.compile(r"\d|[^\W\d_]{4,}|[^\W_\u0000-\u024f]")
"""What a date needs: a digit, a word of four letters, or a letter that is not Latin. Shorter words are mostly others, such as
``mi`` and ``mit``, which are short for Wednesday as well."""


def _foreign_dates(text: str, reference: int) -> list[tuple[date, str]]:
    """The dates of a text, each with its period: ``day``, ``week``, ``month`` or ``year``.

    Args:
        text: in any language; none are found in an English one, or without the library.
        reference: ordinal of the day from which "yesterday" counts, in any language.
    """
    if not _installed() or (language := language_of(text)) is None:
        return []
    base = datetime.fromordinal(reference)
    try:
        matches = _search_dates(text[:READ], languages=[language], settings={"RELATIVE_BASE": base}, add_period=True)
    except (ValueError, OverflowError):  # it does not know the language, or the date is beyond the calendar
        return []
    return [(moment.date(), period) for words, moment, period in matches or () if _TELLING.search(words)]


@cache
def _installed() -> bool:
    return find_spec("dateparser") is not None


def _search_dates(text: str, **options: Any) -> Any:  # the package need not be installed
    from dateparser import search

    return cast("Any", search).search_dates(text, **options)
