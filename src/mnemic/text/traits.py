"""Traits of a text that ranking wants to know without reading it again: one bit each, found when it is stored."""

from __future__ import annotations

import re

__all__ = ["MONTHS", "NUMBER", "QUESTION", "TIME", "TIME_WORDS", "traits"]

QUESTION = 1
TIME = 2
NUMBER = 4

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
TIME_WORDS = (
    *MONTHS, "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "yesterday", "today",
    "tomorrow", "tonight", "week", "weeks", "weekend", "month", "months", "year", "years", "day", "days", "ago", "last",
    "next", "recently", "morning", "evening", "night", "afternoon", "summer", "winter", "spring", "autumn", "fall",
)  # fmt: skip
_TIME = re.compile(rf"\b(?:{'|'.join(TIME_WORDS)}|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th))\b")
_NUMBER = re.compile(r"\d")


def traits(text: str) -> int:
    """QUESTION when the text ends in a question, TIME when it speaks of a time, NUMBER when it holds a digit."""
    lowered = text.lower()
    return (
        (QUESTION if text.rstrip().endswith(("?", "\uff1f")) else 0)
        | (TIME if _TIME.search(lowered) else 0)
        | (NUMBER if _NUMBER.search(text) else 0)
    )
