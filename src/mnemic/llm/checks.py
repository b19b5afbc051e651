"""Rules that an answer keeps whatever the task: no invented numbers, no lost values, whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import Message

__all__ = ["borne_out", "distinct", "founded", "lost_values", "shortened", "told_by"]

_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_DATE_WORDS = re.compile(
    r"\b(?:january|february|april|june|july|august|september|october|november|december|march \d|may \d|\d+ march|\d+ may"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"
)
_LARGEST_DAY = 31
_YEARS = range(1900, 2101)
_SPELLED = {
    "40": "forty", "50": "fifty", "60": "sixty", "70": "seventy", "80": "eighty", "90": "ninety", "100": "hundred",
    "1000": "thousand", "1000000": "million",
}  # fmt: skip


def founded(text: str, sources: Iterable[str]) -> bool:
    """Whether every number of a text stands in its sources.

    Numbers up to 31 and years are let through: dates are worked out, and small numbers are counted.
    """
    said = " ".join(sources).lower()
    known = set(_numbers(said))
    return all(
        number in known or _may_be_a_date(number) or _SPELLED.get(number, "\n") in said for number in _numbers(text)
    )


def borne_out(text: str, sources: Iterable[str], share: float = 0.2) -> bool:
    """Whether a text speaks of what its sources speak of: this share of its words, and at least one, stands there too.

    A model that repeats its instructions, or answers another question, does not pass.
    """
    terms = set(content_terms(text))
    held = set(content_terms(" ".join(sources)))
    return bool(terms & held) and len(terms & held) >= share * len(terms)


def _numbers(text: str) -> list[str]:
    """Numbers without separators of thousands: 5,000 and 5000 are one."""
    return [_plain_number(found) for found in _NUMERAL.findall(text)]


def _plain_number(written: str) -> str:
    bare = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", written).replace(",", ".")
    whole, point, rest = bare.partition(".")
    return (whole.lstrip("0") or "0") + point + rest


def _may_be_a_date(number: str) -> bool:
    return number.isdecimal() and (int(number) <= _LARGEST_DAY or int(number) in _YEARS)


def lost_values(text: str, sources: Sequence[str]) -> list[str]:
    """Numbers, names, dates and addresses of the sources that a text made from them no longer holds."""
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


def told_by(messages: Iterable[Message]) -> list[str]:
    """The texts that an answer about messages may take its numbers from: what was said, by whom and when."""
    return [f"{m.name or ''} {m.sent_at:%Y %H %M} {m.content}" if m.sent_at else m.content for m in messages]


def shortened(text: str, most_sentences: int, limit: int) -> str | None:
    """The first whole sentences of a text, on one line, within both limits; None when not even one fits."""
    kept: list[str] = []
    for sentence in sentences(text)[:most_sentences]:
        if len(" ".join([*kept, sentence])) > limit:
            break
        kept.append(sentence)
    return " ".join(" ".join(kept).split()) or None


def distinct(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """The first texts that differ in more than case and spaces, each on one line."""
    found: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        found.setdefault(line.casefold().strip("#.,;:?! "), line)
    found.pop("", None)
    return tuple(list(found.values())[:most])
