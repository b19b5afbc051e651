"""The parts of a statement that hold or end by themselves: sentences, and the halves of one that tells two things."""

from __future__ import annotations

import re

from mnemic.extraction.attributes import AUXILIARIES, lemma
from mnemic.text.sentences import sentences

__all__ = ["goes_on", "parts_of"]

_TWO = re.compile(
    r"(?P<who>(?:The|the) user(?: and others)?|[A-Z]\w+(?: [A-Z]\w+)?)(?P<thing>'s(?: [\w-]+){1,4}?)? "
    r"(?P<verb>is|are|has|have|[a-z]+s) "
    r"(?P<first>[^;]{2,150}?),? and (?P<second>[^;]{2,150})"
)
_THEIRS = re.compile(r"(?:their|his|her) (?=\w)", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|that|these|those)\b", re.IGNORECASE)


def parts_of(statement: str) -> list[tuple[str, bool]]:
    """Each part of a statement as a sentence of its own, and whether it leans on the one before it, by a pronoun.

    "Ana is vegan and allergic to nuts." is "Ana is vegan." and "Ana is allergic to nuts."; whether a half tells anything is
    the caller's to see.

    Args:
        statement: one in the third person.
    """
    found: list[tuple[str, bool]] = []
    for sentence in sentences(statement):
        halves = _halves(sentence)
        found.append((halves[0], bool(found) and goes_on(sentence)))
        found += [(half, False) for half in halves[1:]]
    return found


def goes_on(clause: str) -> bool:
    """Whether a sentence or a clause begins with a pronoun, and so goes on about what was said before."""
    return _PRONOUN.match(clause) is not None


def _halves(sentence: str) -> list[str]:
    match = _TWO.fullmatch(sentence.rstrip("."))
    if match is None:
        return [sentence]
    who, verb, second = match["who"], match["verb"], match["second"]
    owner = f"{who}'s "
    word = second.split(" ", maxsplit=1)[0].lower()
    if _THEIRS.match(second):
        other = _THEIRS.sub(lambda _: owner, second, count=1)
    elif match["thing"]:
        return [sentence]
    elif word in AUXILIARIES or (lemma(word) and lemma(word) != word):
        other = f"{who} {second}"
    elif verb in ("is", "are"):
        other = f"{who} {verb} {second}"
    else:
        return [sentence]
    return [f"{who}{match['thing'] or ''} {verb} {match['first']}.", f"{other}."]
