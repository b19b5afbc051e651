"""Dates in texts: those a question names, and those a message mentions relative to its own day.

A period is a pair of days, both included, as proleptic ordinals (``date.toordinal``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

from mnemic.text.english import MONTHS, READ, language_of

Period = tuple[int, int]

MOST_PERIODS = 20
"""Most periods of one text."""

_NUMBER_OF = {month: number for number, month in enumerate(MONTHS, start=1)}
_ANY = "|".join(MONTHS)
_UNMISTAKABLE = "|".join(month for month in MONTHS if month not in {"march", "may"})  # march and may are verbs as well
_BEFORE_A_MONTH = "in|of|during|by|since|until|late|early|mid|last|this|next|and|before|after"

# Pattern, and which of its groups are year, month and day (0: none). Earlier patterns take their text from later ones.
_DATES = tuple(
    (re.compile(pattern), groups)
    for pattern, groups in (
        (rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_ANY})\b,?(?: (\d{{4}}))?", (3, 2, 1)),
        (rf"\b({_ANY}),? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", (3, 1, 2)),
        (rf"\b({_ANY}),? (?:of )?(\d{{4}})\b", (2, 1, 0)),
        (r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b", (1, 2, 3)),
        (rf"\b(?:{_BEFORE_A_MONTH})[ -]({_ANY})\b", (0, 1, 0)),
        (rf"\b({_UNMISTAKABLE})\b", (0, 1, 0)),
        (r"\b((?:19|20)\d\d)\b", (1, 0, 0)),
    )
)

# No date and no relative period is without one of these: most messages need no further look.
_HINT = re.compile(rf"\d|{_ANY}|yesterday|tomorrow|weekend|last |next |ago")

_COUNT = {"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "several": 4}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_AGO = re.compile(rf"\b(\d{{1,4}}|{'|'.join(_COUNT)}) (?:of )?(day|week|month|year)s? ago")
_HOURS_AGO = re.compile(r"(\d{1,4}|an?) (minute|hour)s? ago")
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()

# Words and the days they mean, from and to, counted from the day they are said; wide enough for loose speech.
_NEAR = (
    ("yesterday", -1, -1), ("last night", -1, -1), ("tomorrow", 1, 1), ("last week", -10, -5), ("weekend", -3, 7),
    ("next week", 4, 11),
)  # fmt: skip


def _read(text: str) -> tuple[list[tuple[int, int, int]], str]:
    """(year, month, day) of every date in a lower-case text, 0 for missing parts, and the text without them."""
    found: list[tuple[int, int, int]] = []
    for pattern, groups in _DATES:

        def take(match: re.Match[str], groups: tuple[int, int, int] = groups) -> str:
            parts = [match[group] or "0" if group else "0" for group in groups]
            year, month, day = (int(part) if part.isdigit() else _NUMBER_OF[part] for part in parts)
            found.append((year, month, day))
            return " "

        text = pattern.sub(take, text)
    return found, text


def _dates(text: str) -> list[tuple[int, int, int]]:
    return _read(text)[0]


def without_dates(text: str) -> str:
    """A text in lower case without the dates in it; words such as "yesterday" stay."""
    return _read(text.lower())[1]


def _month(year: int, month: int) -> Period:
    first = date(year, month, 1).toordinal()
    following = date(year + month // 12, month % 12 + 1, 1).toordinal() if (year, month) != (9999, 12) else first + 31
    return first, following - 1


def _periods(named: tuple[int, int, int], years: Iterable[int]) -> list[Period]:
    """The periods a partial date can mean: a missing year is each of ``years``."""
    year, month, day = named
    found: list[Period] = []
    for y in [year] if year else years:
        try:
            if month and day:
                found.append((date(y, month, day).toordinal(), date(y, month, day).toordinal()))
            elif month:
                found.append(_month(y, month))
            else:
                found.append((date(y, 1, 1).toordinal(), date(y, 12, 31).toordinal()))
        except ValueError:
            continue  # no such day, such as 31 June
    return found


def relative_periods(text: str, said: int) -> list[Period]:
    """The periods of phrases such as "last week", relative to a day (ordinal)."""
    text = text.lower()
    found = [(said + start, said + end) for words, start, end in _NEAR if words in text]
    if any(f"last {weekday}" in text for weekday in _WEEKDAYS):
        found.append((said - 8, said - 1))
    day = date.fromordinal(said)
    for words, step in (("last month", -1), ("next month", 1)):
        year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
        if words in text and 1 <= year <= 9999:
            found.append(_month(year, month + 1))
    if "last year" in text and day.year > 1:
        found.append((date(day.year - 1, 1, 1).toordinal(), date(day.year - 1, 12, 31).toordinal()))
    for match in _AGO.finditer(text):
        unit = _DAYS[match[2]]
        middle = said - (int(match[1]) if match[1].isdigit() else _COUNT[match[1]]) * unit
        found.append((middle - unit // 2, middle + unit // 2))
    return found


def mentioned_periods(text: str, said: int) -> list[Period]:
    """The periods a message mentions, relative to the day it was said.

    Args:
        text: the message.
        said: ordinal of its day.

    Returns:
        Periods for "yesterday", "two months ago", "in May" and similar phrases; a month without a year is in the year
        of the message. Years alone are ignored: too wide to distinguish messages.
    """
    lowered = text.lower()
    found = [period for period in _foreign_periods(text, said) if period[1] - period[0] < _DAYS["year"] - 1]
    if _HINT.search(lowered):
        found += relative_periods(lowered, said)
        for named in _dates(lowered):
            if named[1]:
                found += _periods((named[0] or date.fromordinal(said).year, *named[1:]), ())
    return _first(found)


def may_name_a_date(query: str) -> bool:
    """Whether a question names a date, possibly without a year."""
    return bool(_dates(query.lower()))


def named_periods(query: str, asked: int, years: Sequence[int]) -> list[Period]:
    """The periods a question asks about.

    Args:
        query: the question.
        asked: ordinal of the day it is asked; "last month" counts from it.
        years: candidates for the year of a month without one: the years of the records.
    """
    lowered = query.lower()
    named = _dates(lowered)
    if named:
        return _first([period for one in named for period in _periods(one, years)])
    return relative_periods(lowered, asked) or _foreign_periods(query, asked)


def _first(periods: Iterable[Period]) -> list[Period]:
    """Each period once, and no more than MOST_PERIODS."""
    return list(dict.fromkeys(periods))[:MOST_PERIODS]


def _foreign_periods(text: str, said: int) -> list[Period]:
    """The periods that a text names in another language than English."""
    found: list[Period] = []
    for day, period in _foreign_dates(text, said):
        if period == "week":
            found.append((day.toordinal() - 3, day.toordinal() + 3))
        else:
            found += _periods((day.year, day.month * (period != "year"), day.day * (period == "day")), ())
    return found


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
    if found := _HOURS_AGO.fullmatch(text):
        return now - timedelta(**{f"{found[2]}s": int(found[1]) if found[1].isdigit() else 1})
    today = now.date().toordinal()
    starts = [today] if text == "today" else []
    if _IN_WORDS.fullmatch(text):
        starts += [start for start, _ in named_periods(text, today, (now.year - 1, now.year))]
    day = date.fromordinal(max((start for start in starts if start <= today), default=min(starts)))
    return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)


# Other languages than English, by the library dateparser, which the extra ``languages`` brings

_TELLING = re.compile(r"\d|[^\W\d_]{4,}|[^\W_\u0000-\u024f]")
"""What a date needs: a digit, a word of four letters, or a letter that is not Latin. Shorter words are mostly others, such as
``mi`` and ``mit``, which are short for Wednesday as well."""


def _foreign_dates(text: str, said: int) -> list[tuple[date, str]]:
    """The dates of a text, each with its period: ``day``, ``week``, ``month`` or ``year``.

    Args:
        text: in any language; none are found in an English one, or without the library.
        said: ordinal of the day from which "yesterday" counts, in any language.
    """
    if not _installed() or (language := language_of(text)) is None:
        return []
    base = datetime.fromordinal(said)
    try:
        found = _searched(text[:READ], languages=[language], settings={"RELATIVE_BASE": base}, add_period=True)
    except (ValueError, OverflowError):  # it does not know the language, or the date is beyond the calendar
        return []
    return [(moment.date(), period) for words, moment, period in found or () if _TELLING.search(words)]


@cache
def _installed() -> bool:
    return find_spec("dateparser") is not None


def _searched(text: str, **options: Any) -> Any:  # the package need not be installed
    from dateparser import search

    return cast("Any", search).search_dates(text, **options)
