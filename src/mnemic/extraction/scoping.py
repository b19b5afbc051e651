"""What a statement holds for: "the log level is DEBUG in dev" says nothing of the log level elsewhere."""

from __future__ import annotations

import re
from functools import lru_cache

from mnemic.text.dates import MONTHS
from mnemic.text.terms import content_terms

__all__ = ["scope"]

_LONGEST = 400
_SCOPED = re.compile(
    r"^(?:[^:]{1,60} says?: )?(?:(?:the|our|my|his|her|their)\b|[A-Z][\w-]*(?: user)?['\u2019]s\b)[^,;:]{1,80}? "
    r"(?:is|are|was|were) (?!(?:in|on|at|for|with|from|to|by|of|under|about|(?:\w+ )?\w{2,}ing)\b)[^,;]{1,120}? "
    r"(?P<word>for|in|on|during|under) (?P<of>[^,;]{2,60}?)[.!?]*$",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"(?:now|good|ever|sure|total|general|average|all|everyone|everybody|every|any|both|me|us|you|him|her|them|free|sale|hold|"
    r"time|charge|progress|place|order|use|line|fact|person|the (?:moment|time|meantime|future|end|past|first|next|last|"
    r"whole|morning|afternoon|evening|night|week|weekend|year|way)|an? (?:while|moment|long|year|month|week|day)|\d|"
    r"(?:one|two|three|four|five|six|ten|several|many)\b|"
    rf"(?:{'|'.join(MONTHS)}|mon|tues|wednes|thurs|fri|satur|sun)[a-z]*)\b",
    re.IGNORECASE,
)
"""What limits a statement to nothing, or to a time."""
_IN_A_PLACE = re.compile(
    r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*(?: (?:now|nowadays|these days|at the moment|currently|again|for|since|after|with)\b.*)?"
)


@lru_cache(maxsize=4096)
def scope(text: str) -> frozenset[str]:
    """The terms of what alone a statement holds for; empty where it holds without limit, or limits itself by no such phrase.

    Of statements that give the thing somebody has a value: "the X is V for Y", "in Y", "on Y". A town after "in" is part
    of the value.
    """
    match = _SCOPED.match(text[:_LONGEST])
    if match is None or _EVERYWHERE.match(match["of"]):
        return frozenset()
    if match["word"].lower() in ("in", "on") and _IN_A_PLACE.fullmatch(match["of"]):
        return frozenset()
    return frozenset(content_terms(match["of"]))
