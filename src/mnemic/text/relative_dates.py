"""Periods that words name relative to a day: "yesterday", "in the last two weeks", "the year before last", "on Thursday".

A period is a pair of days, both included, as proleptic ordinals (``date.toordinal``). A week begins on Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from mnemic.text.english import NUMBERS, WEEKDAYS
from mnemic.text.terms import STOP_WORDS

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
_DAY = "|".join(WEEKDAYS)
_WHAT = rf"(week(?:end)?|month|year|{'|'.join(_HOURS)}|{_DAY})"
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


def _ago(words: re.Match[str], said: int) -> Period:
    days, unit, more = length(words)
    spread = unit // 2 + more
    return said - days - spread, said - days + spread


def _lasting(words: re.Match[str], said: int) -> Period:
    days, _, more = length(words)
    return said - days - more, said


def _past_unit(words: re.Match[str], said: int) -> Period:
    return said - UNITS[words[1]], said


def _word(words: re.Match[str], said: int) -> Period:
    day = said + _WORDS[words[1]]
    return day, day


def _lately(_: re.Match[str], said: int) -> Period:
    return said - RECENT, said


def _shifted(words: re.Match[str], said: int) -> Period:
    return _calendar(words[2], _STEPS[words[1]], said)


def _before_last(words: re.Match[str], said: int) -> Period:
    return _calendar(words[1], -2, said)


def _calendar(unit: str, step: int, said: int) -> Period:
    """The unit of the calendar so many steps from the one that holds a day.

    Raises:
        ValueError: it is beyond the calendar.
    """
    if unit in _HOURS:
        return said + step, said + step
    monday = said - (said - 1) % 7
    if unit in WEEKDAYS:  # last: before the day, next: after it
        day = monday + WEEKDAYS.index(unit)
        day += 7 * (step + (step < 0 and day < said) - (step > 0 and day > said))
        return day, day
    if unit in ("week", "weekend"):
        return monday + 7 * step + 5 * (unit == "weekend"), monday + 7 * step + 6
    day = date.fromordinal(said)
    if unit == "year":
        return date(day.year + step, 1, 1).toordinal(), date(day.year + step, 12, 31).toordinal()
    year, month = divmod(day.year * 12 + day.month - 1 + step, 12)
    return month_of(year, month + 1)


def _weekend(_: re.Match[str], said: int) -> Period:
    return said - 3, said + 7


def _past_weekend(_: re.Match[str], said: int) -> Period:
    return _calendar("weekend", 0 if said % 7 in (6, 0) else -1, said)


def _weekday(words: re.Match[str], said: int) -> Period:
    return _calendar(words[1], -1, said)


def _day_of_month(words: re.Match[str], said: int) -> Period:
    """The last such day before a day.

    Raises:
        ValueError: the words count something else, such as a floor, or there is none.
    """
    if words[2] and words[2] not in STOP_WORDS:
        raise ValueError(words[0])
    for step in range(3):  # of three months in a row one has 31 days
        first, last = _calendar("month", -step, said)
        day = first + int(words[1]) - 1
        if first <= day <= last and day < said:
            return day, day
    raise ValueError(words[0])


# Patterns and how they are read. Earlier patterns take their text from later ones; ``at`` is where the name of a day begins.
_PHRASES = (
    (rf"\b{COUNTED} (?:ago|back)\b", _ago),
    (rf"\b(?:last|past|previous) {COUNTED}\b", _lasting),
    (rf"\bpast ({'|'.join(UNITS)})\b", _past_unit),
    (rf"\b{_WHAT} before last\b", _before_last),
    (rf"\b(last|this|next) {_WHAT}\b", _shifted),
    (rf"\b({'|'.join(sorted(_WORDS, key=len, reverse=True))})\b", _word),
)


def _compiled(*phrases: tuple[str, Reading]) -> tuple[tuple[re.Pattern[str], Reading], ...]:
    return tuple((re.compile(pattern), reading) for pattern, reading in phrases)


_STATED = _compiled(*_PHRASES, (r"\bweekend", _weekend))
_ASKED = _compiled(
    *_PHRASES,
    (rf"\b{LATELY}\b", _lately),
    (r"\bweekend\b", _past_weekend),
    (rf"\b{_BEFORE_A_DAY} (?P<at>{_DAY})\b", _weekday),
    (rf"\b({_DAY})(?=['\u2019]s\b)", _weekday),
    (rf"\b{_BEFORE_A_DAY} the (?P<at>\d{{1,2}})(?:st|nd|rd|th)\b(?= ?([a-z]*))", _day_of_month),
)


def relative_mentions(text: str, said: int, *, asked: bool = False) -> tuple[list[Mention], str]:
    """The phrases of a lower-case text that count from a day, and the text without them.

    Args:
        text: the text.
        said: ordinal of the day it was said.
        asked: it is a question, about the past: its weekdays, weekend and days of a month are the last ones. A statement may
            mean the next ones as well; in it, weekdays and days of a month alone name nothing.
    """
    found: list[Mention] = []
    for pattern, reading in _ASKED if asked else _STATED:

        def take(words: re.Match[str], reading: Reading = reading) -> str:
            start = words.start("at") if "at" in words.re.groupindex else words.start()
            try:
                found.append(Mention(start, words.end(), [reading(words, said)]))
            except ValueError:  # beyond the calendar, or no day
                return words[0]
            return " " * len(words[0])

        text = pattern.sub(take, text)
    return found, text
