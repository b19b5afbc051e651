"""What has ended, where a phrase says so and no verb with its object: laid off, broke up, her last day there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from mnemic.extraction.attributes import Fact
from mnemic.extraction.clauses import standing
from mnemic.extraction.nouns import told_fact
from mnemic.extraction.values import canonical
from mnemic.text.sentences import sentences

__all__ = ["endings"]

_WHO = r"(?P<who>(?-i:[A-Z])[\w.'-]*(?: (?-i:[A-Z])[\w.'-]*)?|i|the user|he|she)"
_NAME = r"(?P<old>(?-i:[A-Z])[\w&.'-]*(?: (?-i:[A-Z])[\w&.'-]*){0,3})"
_LATELY = r"(?:just |recently |finally |sadly |officially )?"
_READ = 4_000
_ANY = re.compile(
    r"\b(?:off|fired|let go|redundant|last day|up|divorced|separated|single|again|died|passed away|put)\b",
    re.IGNORECASE,
)
_MADE_UP = re.compile(r"\b(?:dream\w*|nightmares?|pretend\w*|movie|film|novel|story|episode|joke\w*)\b", re.IGNORECASE)
_LOST_JOB = (
    rf"\b{_WHO} {_LATELY}(?:got|was|have been|has been|am|is|being) {_LATELY}"
    r"(?:laid off|fired(?! up\b)|let go|made redundant)"
    rf"(?: (?:from|by|at) (?:my |their |his |her )?(?:job )?(?:(?:from|by|at|with) )?{_NAME})?"
)
_DIED = (
    rf"^(?:\w+,? )?(?:(?:my|our|the user's|their) )?(?:\w+ )?{_NAME} {_LATELY}(?:has |had to be |was )?"
    r"(?:died|passed away|put down|put to sleep)\b"
)
_HAVE = rf"{_LATELY}(?:have |has )?{_LATELY}"
_PHRASES = [
    (attribute, re.compile(expression, re.IGNORECASE))
    for attribute, expression in (
        ("employer", _LOST_JOB),
        ("employer", rf"\b(?P<who>my|the user's|(?-i:[A-Z])\w+'s) last day (?:at|with) {_NAME} was\b"),
        ("partner", rf"\b{_NAME} and {_WHO} {_HAVE}(?:broke|broken|split) up\b"),
        ("partner", rf"\b{_NAME} and {_WHO} {_LATELY}(?:(?:got|are|have) divorced|(?:have |are )?separated)\b"),
        ("partner", rf"\b{_WHO} {_HAVE}(?:(?:broke|broken|split) up with|separated from|divorced) {_NAME}"),
        ("partner", rf"\b{_WHO} (?:am|is|are)(?: now| finally| happily)* single(?: now| again)?\b"),
        ("*", _DIED),
        ("*", rf"\bput {_NAME} (?:down|to sleep)\b"),
        ("diet", rf"\b{_WHO} (?:now |do |does )?eats? (?:meat|everything)(?: and fish)? again\b"),
    )
]
"""Attributes with the phrases that say their value has ended; ``*`` is any."""


def endings(text: str) -> Iterator[Fact]:
    """What a statement says has ended, in phrases whose verb alone does not tell it.

    Args:
        text: a statement in the first or the third person; of a long one the beginning is read.
    """
    for sentence in sentences(text[:_READ]):
        real = not sentence.rstrip().endswith("?") and not any(standing(sentence)) and not _MADE_UP.search(sentence)
        if real and _ANY.search(sentence):
            yield from _ended(sentence)


def _ended(sentence: str) -> Iterator[Fact]:
    for attribute, phrase in _PHRASES:
        for found in phrase.finditer(sentence):
            told = found.groupdict(default="")
            who = told.get("who", "i").removesuffix("'s").lower()
            who = "i" if who in {"i", "my", "the user"} else canonical(who)
            yield replace(told_fact(who, attribute, told.get("old", ""), "one", change=True), polarity=False)
