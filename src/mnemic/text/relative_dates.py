"""Relative dates to absolute ones, as people write them: a memory is read long after it was said."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from mnemic.text.dates import MONTHS

__all__ = ["absolute_dates", "happened"]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {day[:3]: number for number, day in enumerate(_WEEKDAYS)}
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "several": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Told:
    """A date as it is written: ``preposition text``, and the day it begins."""

    preposition: str
    text: str
    day: date


def _day(value: date) -> str:
    return f"{value.day} {MONTHS[value.month - 1].capitalize()} {value.year:04d}"


def _on(value: date) -> _Told:
    return _Told("on", _day(value), value)


def _part(value: date, part: str) -> _Told:
    return _Told("on", f"the {part} of {_day(value)}", value)


def _month(value: date, step: int) -> date:
    year, month = divmod(value.year * 12 + value.month - 1 + step, 12)
    return date(year, month + 1, 1)


def _in_month(value: date, preposition: str = "in") -> _Told:
    return _Told(preposition, f"{MONTHS[value.month - 1].capitalize()} {value.year:04d}", value.replace(day=1))


def _in_year(year: int, preposition: str = "in") -> _Told:
    return _Told(preposition, f"{year:04d}", date(year, 1, 1))


def _week(said: date, step: int) -> _Told:
    monday = said - timedelta(days=said.weekday()) + timedelta(weeks=step)
    return _Told("in", f"the week of {_day(monday)}", monday)


def _weekend(said: date, step: int) -> _Told:
    """The weekend that begins in this week; on a Sunday "this weekend" is the one that is ending."""
    saturday = said - timedelta(days=said.weekday()) + timedelta(days=5, weeks=step)
    return _Told("on", f"the weekend of {_day(saturday)}", saturday)


_STEPS = {"last": -1, "past": -1, "previous": -1, "this past": -1, "this": 0, "this coming": 0, "coming": 0, "next": 1}


def _period(match: re.Match[str], said: date) -> _Told | None:
    """Last, this or next week, weekend, month or year."""
    step, unit = _STEPS[match["which"]], match["unit"]
    if unit == "week":
        return _week(said, step)
    if unit == "weekend":
        return _weekend(said, step)
    return _in_month(_month(said, step)) if unit == "month" else _in_year(said.year + step)


def _weekday(match: re.Match[str], said: date) -> _Told:
    """The latest such day before, or the first after it was said; "next" is the one of the week to come."""
    number, which = _SHORT[match["weekday"][:3]], match["which"]
    if which in {"last", "past", "previous", "this past"}:
        found = said - timedelta(days=(said.weekday() - number - 1) % 7 + 1)
    elif which == "next":
        found = said - timedelta(days=said.weekday()) + timedelta(days=7 + number)
    else:
        found = said + timedelta(days=(number - said.weekday()) % 7)
    name = f"{_WEEKDAYS[number].capitalize()} "
    if match["part"]:
        return _Told("on", f"the {match['part'].strip()} of {name}{_day(found)}", found)
    return _Told("on", name + _day(found), found)


def _named_month(match: re.Match[str], said: date) -> _Told:
    number, step = MONTHS.index(match["month"]) + 1, _STEPS[match["which"]]
    year = said.year
    if step < 0 and number >= said.month:
        year -= 1
    if step > 0 and number <= said.month:
        year += 1
    return _in_month(date(year, number, 1))


def _month_of_year(match: re.Match[str], said: date) -> _Told:
    return _in_month(date(said.year + _STEPS[match["which"]], MONTHS.index(match["month"]) + 1, 1))


def _season(match: re.Match[str], said: date) -> _Told:
    """A season is named by the year it begins in; the last one is the latest that is over."""
    name, step = match["season"], _STEPS[match["which"]]
    begins, year = _SEASONS[name], said.year
    if step < 0 and not _month(date(year, begins, 1), 3) <= said:
        year -= 1
        if not _month(date(year, begins, 1), 3) <= said:
            year -= 1
    if step == 0 and begins == 12 and said.month <= 2:
        year -= 1
    if step > 0 and begins <= said.month + 3:  # in May, "next summer" is not the one that is about to begin
        year += 1
    written = f"{year:04d}/{(year + 1) % 100:02d}" if begins == 12 else f"{year:04d}"
    return _Told("in", f"the {name} of {written}", date(year, begins, 1))


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text]


def _moved(match: re.Match[str], said: date, sign: int) -> _Told | None:
    """So many days, weeks, months or years before or after."""
    count, unit = sign * _count(match["count"]), match["unit"]
    exact = match["count"].isdigit() or match["count"] not in {"few", "several", "couple"}
    if unit == "day":
        moved = said + timedelta(days=count)
        return _on(moved) if exact else _Told("around", _day(moved), moved)
    if unit == "week":
        moved = said + timedelta(weeks=count)
        return _Told("around", _day(moved), moved)
    if unit == "month":
        return _in_month(_month(said, count), "around")
    return _in_year(said.year + count * (10 if unit == "decade" else 1), "around")


def _relative_day(match: re.Match[str], said: date) -> _Told:
    word = match["day"]
    moved = said + timedelta(days={"yesterday": -1, "today": 0, "tomorrow": 1}[word])
    part = (match["part"] or "").strip()
    return _part(moved, part) if part else _on(moved)


_UNIT = r"(?P<unit>day|week|month|year|decade)s?"
_COUNT = rf"(?:a )?(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?:of )?"
_PART = r"(?P<part> morning| afternoon| evening| night)?"
_WHICH = r"(?P<which>this past|this coming|last|past|previous|this|coming|next)"
_ABOUT = (
    r"(?:(?:a (?:little|bit) (?:over|under|more than|less than)|just|only|about|around|roughly|almost|nearly|approximately|"
    r"maybe|like|over|more than|less than|some) )*"
)

_Rule = Callable[[re.Match[str], date], "_Told | None"]


def _before_last(match: re.Match[str], said: date) -> _Told:
    return _weekend(said, -2) if match["end"] else _week(said, -2)


def _this_part(match: re.Match[str], said: date) -> _Told:
    return _part(said, match["part"])


def _ago(match: re.Match[str], said: date) -> _Told | None:
    return _moved(match, said, -1)


def _ahead(match: re.Match[str], said: date) -> _Told | None:
    return _moved(match, said, 1)


_PATTERNS: tuple[tuple[str, _Rule], ...] = (
    (r"the day before yesterday", lambda _, said: _on(said - timedelta(days=2))),
    (r"the day after tomorrow", lambda _, said: _on(said + timedelta(days=2))),
    (r"the week(?P<end>end)? before last", _before_last),
    (r"this time last year", lambda _, said: _in_month(date(said.year - 1, said.month, 1), "around")),
    (r"last night", lambda _, said: _part(said - timedelta(days=1), "night")),
    (r"(?:later )?tonight", lambda _, said: _part(said, "evening")),
    (r"(?:earlier |later )?this (?P<part>morning|afternoon|evening)", _this_part),
    (rf"(?:earlier |later |just |only )?(?P<day>yesterday|today|tomorrow){_PART}", _relative_day),
    (rf"(?<!half )(?<!half of )(?<!and )(?<!over )(?<!than ){_ABOUT}{_COUNT}{_UNIT} ago", _ago),
    (rf"{_ABOUT}{_COUNT}{_UNIT} from now", _ahead),
    (rf"{_WHICH} (?P<weekday>{'|'.join(_WEEKDAYS)}|mon|tues?|wed|thu|thurs?|fri|sat|sun)\b{_PART}", _weekday),
    (rf"{_WHICH} (?P<season>spring|summer|fall|autumn|winter)", _season),
    (rf"{_WHICH} (?P<month>{'|'.join(MONTHS)})", _named_month),
    (rf"(?P<month>{'|'.join(MONTHS)}) (?:of )?(?P<which>last|this|next) year", _month_of_year),
    (rf"(?:just |only )?{_WHICH} (?P<unit>weekend|week|month|year)", _period),
)
_RULES = tuple((re.compile(pattern), rule) for pattern, rule in _PATTERNS)
_AFTER_WILL = re.compile(rf"in {_ABOUT}{_COUNT}{_UNIT}(?:' time)?")
_WILL = re.compile(
    r"\b(?:will|going to|gonna|plan|planning|starts?|begins?|moves?|moving|leaves?|leaving|is due|are due)\b|'ll\b"
)

# One cheap look before any of the patterns.
_HINT = re.compile(
    r"yesterday|today|tonight|tomorrow|this |last |past |next |coming |previous | ago\b|from now|in (?:a|"
    r"an|\d|one|two|three|four|five|six|"
    r"seven|eight|nine|ten|several|few)"
)
_GROUP_NAME = re.compile(r"\?P<[a-z]+>")
_ALL = re.compile(
    "|".join(rf"(?P<r{n}>\b(?:{_GROUP_NAME.sub('?:', pattern)})\b)" for n, (pattern, _) in enumerate(_PATTERNS))
)
_PREPOSITION = re.compile(
    r"\b(in|on|at|since|until|till|by|before|after|from|for|of|during|around|about|through|throughout|between|over|"
    r"into|as of|starting|early|late|mid|the|this|to|earlier|later|sometime|than)[ -]+$",
    re.IGNORECASE,
)
_KEEPS = frozenset(
    "since until till by before after from for of through throughout between into during to than".split()
)
_VERB = re.compile(
    r" (?:is|was|has|had|will|isn't|wasn't|hasn't|won't|would|marks?|marked|brought|seems?|seemed|feels?|"
    r"felt|turned|went|got|makes?|made)\b|'ll\b"
)
_GENITIVE = re.compile(
    r"'s (?!(?:been|gone|going|gonna|the|a|an|my|our|his|her|their|your|not|already|also|so|too|all|one)\b)(?=\w)"
)
_HAS = re.compile(r"'s (?:already |also |not )?(?:been|gone|got|had|become)\b")
_IS = re.compile(r"'s\b")


def absolute_dates(text: str, said: datetime) -> str:
    """The text with its relative dates written as absolute ones.

    Args:
        text: what was said.
        said: when, in the speaker's own zone.

    Returns:
        "I saw Ben yesterday" said on 8 May 2023 becomes "I saw Ben on 7 May 2023"; weeks and amounts become "in the week
        of", "around". What is vague ("soon", "on Friday") or a span ("over the last year") stays as it is, and so does a
        text without relative dates and what is quoted: doing it twice changes nothing.
    """
    return _rewritten(text, said)[0]


def happened(text: str, said: datetime) -> datetime | None:
    """When the first date that a text tells of begins: relative or absolute; None when it tells of none.

    Args:
        text: what was said, before or after ``absolute_dates``.
        said: when, in the speaker's own zone; the answer is midnight of a day in that zone.
    """
    _, told = _rewritten(text, said)
    found = told or _written(text, said.date())
    if found is None:
        return None
    return datetime(found.year, found.month, found.day, tzinfo=said.tzinfo or UTC)


def _rewritten(text: str, said: datetime) -> tuple[str, date | None]:
    lowered = text.lower()
    if len(lowered) != len(text) or not _HINT.search(lowered):
        return text, None
    lowered = lowered.replace("\u2019", "'")
    pieces: list[str] = []
    first: date | None = None
    done = 0
    for place, until, told in _found(lowered, said.date()):
        written, start, end = _fitted(text, lowered, place, until, told)
        if start < done:
            continue
        pieces += [text[done:start], written]
        done = end
        first = first or told.day
    return "".join(pieces) + text[done:], first


_QUOTED = re.compile(r'"[^"\n]{1,400}"|\u201c[^\u201d\n]{1,400}\u201d')


def _found(lowered: str, said: date) -> list[tuple[int, int, _Told]]:
    """The places of relative dates that can be told, in order."""
    found: list[tuple[int, int, _Told]] = []
    for match in _ALL.finditer(lowered):
        number = int(str(match.lastgroup)[1:])
        told = _told(*_RULES[number], lowered, match, said)
        if told and not _is_span(lowered, match.start(), match.end()):
            found.append((match.start(), match.end(), told))
    if _WILL.search(lowered):
        found += [
            (match.start(), match.end(), told)
            for match in _AFTER_WILL.finditer(lowered)
            if _WILL.search(lowered, _sentence(lowered, match.start()), match.start())
            and (told := _guarded(_ahead, match, said))
        ]
    return _unquoted(lowered, sorted(found, key=lambda place: place[0]))


def _unquoted(lowered: str, found: list[tuple[int, int, _Told]]) -> list[tuple[int, int, _Told]]:
    """Those that do not stand in quotation marks: the words of others stay as they were."""
    if not found or ('"' not in lowered and "\u201c" not in lowered):
        return found
    spans = [match.span() for match in _QUOTED.finditer(lowered)]
    begins = [start for start, _ in spans]
    return [place for place in found if not ((n := bisect_right(begins, place[0])) and place[0] < spans[n - 1][1])]


def _sentence(lowered: str, at: int) -> int:
    return max(lowered.rfind(mark, 0, at) for mark in ".!?\n") + 1


def _told(pattern: re.Pattern[str], rule: _Rule, lowered: str, place: re.Match[str], said: date) -> _Told | None:
    match = pattern.match(lowered, place.start())
    return _guarded(rule, match, said) if match else None


def _guarded(rule: _Rule, match: re.Match[str], said: date) -> _Told | None:
    try:
        return rule(match, said)
    except (OverflowError, ValueError):
        return None  # before year 1 or after 9999


_SPAN_BEFORE = re.compile(r"(?:\b(?:the|these|those|all|every|each|per|my|our|his|her|their|your|usa)|[\"\u201c]) ?$")
_SPAN_AFTER = re.compile(
    r" (?:of (?!\d)|or (?:two|so)\b|one\b|time\b)|[\"\u201d]|'s (?:world|society|age|youth|market)\b"
)


def _is_span(lowered: str, start: int, end: int) -> bool:
    """Whether it is a stretch or an ordinal ("over the last year", "the next day"), or a quoted title: no date."""
    if lowered.startswith("the ", start):
        return False
    before = _SPAN_BEFORE.search(lowered[max(start - 12, 0) : start])
    met = before and before[0].startswith("her")  # "I saw her last Friday"
    return bool((before and not met) or _SPAN_AFTER.match(lowered, end))


def _fitted(text: str, lowered: str, start: int, end: int, told: _Told) -> tuple[str, int, int]:
    """The date with the preposition that its place asks for, and the stretch of text it replaces."""
    genitive = _GENITIVE.match(lowered, end)
    if genitive:
        if told.text.startswith("the "):  # "last week's" stays: there is no such adjective
            return text[start:end], start, end
        article = (
            ""
            if _PREPOSITION.search(lowered[max(start - 12, 0) : start]) and lowered[:start].endswith("the ")
            else "the "
        )
        return _cased(f"{article}{told.text}", text, start), start, end + 2
    if _VERB.match(lowered, end) and _begins_clause(lowered, start):
        return _cased(told.text, text, start), start, end
    if _IS.match(lowered, end):
        verb = "has" if _HAS.match(lowered, end) else "is"
        return _cased(f"{told.text} {verb}", text, start), start, end + 2
    before = _PREPOSITION.search(lowered[max(start - 14, 0) : start])
    word = before[1] if before else ""
    if before is None or word in {"the", "this"}:
        return _cased(f"{told.preposition} {told.text}", text, start), start, end
    begin = start - len(before[0])
    if word in {"early", "late", "mid"}:
        return _cased(f"in {word} {told.text}", text, begin), _without_in(lowered, begin), end
    if word in {"earlier", "later", "sometime", "starting"}:
        return f"{text[begin:start]}{told.preposition} {told.text}", begin, end
    kept = word if word in _KEEPS or (word in {"around", "about"} and told.preposition != "on") else told.preposition
    return _cased(f"{kept} {told.text}", text, begin), begin, end


def _without_in(lowered: str, begin: int) -> int:
    return begin - 3 if lowered.endswith("in ", 0, begin) else begin


def _begins_clause(lowered: str, start: int) -> bool:
    before = lowered[:start].rstrip()
    return (
        not before
        or before[-1] in ".!?,;:\n"
        or before.endswith((" and", " but", " so", " because", " since", " that"))
    )


def _cased(written: str, text: str, start: int) -> str:
    return written[0].upper() + written[1:] if text[start : start + 1].isupper() else written


_ANY_MONTH = "|".join(MONTHS)
_FULL = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_ANY_MONTH})\b(?:,? (\d{{4}}))?", re.IGNORECASE)
_AMERICAN = re.compile(rf"\b({_ANY_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_OF_YEAR = re.compile(
    rf"\b(?:in|since|around|during|by|until|of) (?:({_ANY_MONTH}),? )?((?:19|20)\d\d)\b", re.IGNORECASE
)


def _written(text: str, said: date) -> date | None:
    """The first absolute date of a text; a day without a year is of the year it was said in."""
    found: list[tuple[int, str, str, str]] = []
    for pattern, groups in ((_FULL, (3, 2, 1)), (_AMERICAN, (3, 1, 2)), (_ISO, (1, 2, 3)), (_OF_YEAR, (2, 1, 0))):
        if match := pattern.search(text):
            year, month, day = (match[group] or "" if group else "" for group in groups)
            found.append((match.start(), year, month, day))
    for _, year, month, day in sorted(found):
        number = int(month) if month.isdigit() else MONTHS.index(month.lower()) + 1 if month else 1
        try:
            return date(int(year) if year else said.year, number, int(day) if day else 1)
        except ValueError:
            continue  # 31 June
    return None
