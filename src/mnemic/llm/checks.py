"""Checks of answers for every task: no invented numbers, no lost values, whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from mnemic.text.dates import MONTHS, mentioned_periods
from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import Message

_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_DATE_WORDS = re.compile(
    r"\b(?:january|february|april|june|july|august|september|october|november|december|march \d|may \d|\d+ march|\d+ may"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"
)
_ANY_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)\b|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_ANY_MONTH})\b"
    rf"(?:,? (?P<year>\d{{4}})\b)?|(?P<month_>{_ANY_MONTH}) (?P<day_>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year_>\d{{4}})\b)?)"
)
_DAY_WORDS = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tonight|yesterday|tomorrow|week(?:s|end)?|days?|ago|morning|"
    r"evening|afternoon|night)\b"
)
"""Words from which a day can be derived."""
_NEAR = timedelta(days=15)
_DIGITS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
} | {"thirty": "30"}
_SPELLED = {
    "40": "forty", "50": "fifty", "60": "sixty", "70": "seventy", "80": "eighty", "90": "ninety", "100": "hundred",
    "1000": "thousand", "1000000": "million",
}  # fmt: skip


def numbers_supported(text: str, sources: Iterable[str]) -> bool:
    """Whether every number of a text occurs in its sources, in figures or in words.

    Only dates may be derived: within 15 days of a source that starts with its date, as from ``sources_of``, and
    mentions a day (on Friday, last week).
    """
    held = [source.lower() for source in sources]
    said = " ".join(held)
    words = {_DIGITS[word] for word in _WORDS.findall(said) if word in _DIGITS}
    known = {*_numbers(said), *words}
    dated = [found for source in held if _DAY_WORDS.search(source) and (found := _DATE.match(source))]
    days = [day for found in dated if (day := _day_of(found, None))]
    rest = _DATE.sub(lambda found: " " if _is_derived_date(found, days) else found[0], text.lower())
    return all(number in known or _SPELLED.get(number, "\n") in said for number in _numbers(rest))


def _day_of(found: re.Match[str], near: date | None) -> date | None:
    """The day of a date, by default in the year of ``near``; None for an invalid one."""
    month = found["m"] or found["month"] or found["month_"]
    year = found["y"] or found["year"] or found["year_"] or (near.year if near else None)
    if year is None:
        return None
    number = int(month) if month.isdecimal() else MONTHS.index(month) + 1
    try:
        return date(int(year), number, int(found["d"] or found["day"] or found["day_"]))
    except ValueError:
        return None


def _is_derived_date(found: re.Match[str], days: Sequence[date]) -> bool:
    return any((day := _day_of(found, near)) is not None and abs(day - near) <= _NEAR for near in days)


def topic_supported(text: str, sources: Iterable[str], share: float = 0.2) -> bool:
    """Whether a text is about its sources: they contain at least this share of its words, and at least one.

    A model that repeats its instructions, or answers another question, fails.
    """
    terms = set(content_terms(text))
    held = set(content_terms(" ".join(sources)))
    return bool(terms & held) and len(terms & held) >= share * len(terms)


def supported(text: str, sources: Sequence[str]) -> bool:
    """Whether a text is about its sources, and has no number that they do not have."""
    return numbers_supported(text, sources) and topic_supported(text, sources)


def _numbers(text: str) -> list[str]:
    """Numbers without thousands separators: 5,000 equals 5000."""
    return [_plain_number(found) for found in _NUMERAL.findall(text)]


def _plain_number(written: str) -> str:
    bare = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", written).replace(",", ".")
    whole, point, rest = bare.partition(".")
    return (whole.lstrip("0") or "0") + point + rest


def lost_values(text: str, sources: Sequence[str]) -> list[str]:
    """Numbers, names, dates and addresses of the sources that are missing in a text."""
    lowered = text.casefold()
    numbers = set(_numbers(text))
    words = set(_WORDS.findall(lowered))
    lost: list[str] = []
    for source in sources:
        lost += [number for number in _numbers(source) if number not in numbers]
        lost += [address for address in _ADDRESS.findall(source) if address.casefold() not in lowered]
        lost += [name for name in names(source) if not set(_WORDS.findall(name.casefold())) <= words]
        lost += [word for word in _DATE_WORDS.findall(source.lower()) if word not in lowered]
    return list(dict.fromkeys(lost))


def sources_of(messages: Iterable[Message]) -> list[str]:
    """The source texts of messages for checks: date, speaker, content, and the days mentioned."""
    found: list[str] = []
    for message in messages:
        text = f"{message.name or ''} {message.content}"
        if message.sent_at is not None:
            days = {day for period in mentioned_periods(message.content, message.sent_at.toordinal()) for day in period}
            mentioned = " ".join(date.fromordinal(day).isoformat() for day in sorted(days))
            text = f"{message.sent_at:%Y-%m-%d} {text} {mentioned}"
        found.append(text)
    return found


def shortened(text: str, most_sentences: int, limit: int) -> str | None:
    """The first whole sentences of a text on one line, within both limits; None if none fits."""
    kept: list[str] = []
    for sentence in sentences(text)[:most_sentences]:
        if len(" ".join([*kept, sentence])) > limit:
            break
        kept.append(sentence)
    return " ".join(" ".join(kept).split()) or None


def distinct(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """The first texts that differ in more than case and white space, each on one line."""
    found: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        found.setdefault(line.casefold().strip("#.,;:?! "), line)
    found.pop("", None)
    return tuple(list(found.values())[:most])
