"""Whether two statements say different things: the one function that recall, extraction and consolidation ask.

It errs on the side of difference: two restatements kept apart cost a line, two facts folded into one cost the truth.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal

from mnemic.text.dates import MONTHS
from mnemic.text.terms import STOP_WORDS, content_terms

__all__ = ["NEGATIONS", "Difference", "differs"]

Difference = Literal["number", "date", "name", "polarity", "role", "value"]

_WORDS = re.compile(r"\w+(?:['\u2019]\w+)*", re.UNICODE)
_NUMERALS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NUMBER_WORDS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion first second
    third fourth fifth half quarter once twice double triple dozen couple both single""".split()
)
_DATE_WORDS = frozenset(
    MONTHS
    + tuple(
        """monday tuesday wednesday thursday friday saturday sunday yesterday today tomorrow tonight morning afternoon evening
        night noon midnight weekend week month year spring summer autumn fall winter last next ago daily weekly monthly
        yearly annually before after""".split()
    )
)
NEGATIONS = frozenset(
    """no not never none nobody nothing nowhere neither nor cannot without hardly barely rarely seldom stop stopped stops quit
    quits dislike dislikes disliked hate hates hated refuse refuses refused deny denies denied fail fails failed avoid avoids
    avoided lack lacks lacked unable former formerly ex longer""".split()
)
_SPEAKER = frozenset("i me we us".split())
_JOINED = frozenset("and or".split())
_ALIGNED = 300
"""Terms of a statement that can be compared word by word in reasonable time; longer ones differ unless they are equal."""
_REPLACED = 2
"""Up to so many words exchanged for others in an equal frame are another value of the same thing; more are one as well where
they are exchanged for about as many, at most twice as many: else one side only says more."""


def _numbers(words: list[str], text: str) -> frozenset[str]:
    return frozenset(_NUMERALS.findall(text)) | {word for word in words if word in _NUMBER_WORDS}


def _names(text: str, lowered: set[str], known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Capitalised words; one that begins a sentence counts unless it is a common word or stands in lower case elsewhere.

    The very first word of a text counts only when it is ``known`` as a name from elsewhere.
    """
    found: set[str] = set()
    for match in _WORDS.finditer(text):
        word = match[0].removesuffix("'s").removesuffix("\u2019s")
        if not word[:1].isupper() or word == "I":
            continue
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in ".!?:\n\"'\u201c-\u2022"
        unsure = word.lower() in STOP_WORDS or word.lower() in lowered or len(before) == 0
        if begins and unsure and word.casefold() not in known:
            continue
        found.add(word.casefold())
    return frozenset(found)


def _roles(text: str, names: frozenset[str]) -> list[set[str]]:
    """Who is named, in order of first mention; those joined by "and" or "or" are one."""
    found: list[set[str]] = []
    joined = False
    for match in _WORDS.finditer(text):
        word = match[0].casefold().removesuffix("'s").removesuffix("\u2019s")
        name = "i" if word in _SPEAKER else word
        name = name if name in names else ""
        if name and not any(name in group for group in found):
            if joined and found:
                found[-1].add(name)
            else:
                found.append({name})
        joined = bool(name) or (joined and word in _JOINED)
    return found


def _negations(words: list[str]) -> int:
    return sum(word in NEGATIONS or word.endswith(("n't", "n\u2019t")) for word in words)


def _exchanged(first: str, second: str) -> bool:
    """Words of one statement stand where others stand in the second, in a frame they share."""
    a, b = content_terms(first), content_terms(second)
    if a == b:
        return False
    if max(len(a), len(b)) > _ALIGNED:
        return True
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < 0.5:  # half of the words in common: an equal frame
        return False
    swaps = [op for op in matcher.get_opcodes() if op[0] == "replace"]
    sides = [sorted((i2 - i1, j2 - j1)) for _, i1, i2, j1, j2 in swaps]
    return any(longer <= max(_REPLACED, 2 * shorter) for shorter, longer in sides)


def differs(first: str, second: str) -> Difference | None:
    """What two statements differ in, or None when one restates the other.

    Args:
        first: a statement.
        second: another about what seems the same thing.

    Returns:
        ``number``, ``date``, ``name``, ``polarity`` (one denies what the other asserts), ``role`` (the same names in another
        order: who owes whom), ``value`` (words exchanged in an equal sentence: purple for cyan), or None. The answer is the
        same in both directions.
    """
    words = [_WORDS.findall(text.lower()) for text in (first, second)]
    sets = [set(found) for found in words]
    if _numbers(words[0], first) != _numbers(words[1], second):
        return "number"
    if sets[0] & _DATE_WORDS != sets[1] & _DATE_WORDS:
        return "date"
    if _negations(words[0]) % 2 != _negations(words[1]) % 2:
        return "polarity"
    lower = {w for text in (first, second) for w in _WORDS.findall(text) if w.islower()}
    known = _names(first, lower) | _names(second, lower)
    names = _names(first, lower, known)
    if names != _names(second, lower, known):
        return "name"
    both = names | {"i"} if sets[0] & _SPEAKER and sets[1] & _SPEAKER else names
    if _roles(first, both) != _roles(second, both):
        return "role"
    return "value" if _exchanged(*sorted((first, second))) else None
