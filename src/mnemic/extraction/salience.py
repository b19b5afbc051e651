"""Salience: how much a statement deserves to be remembered, judged once, when it is extracted, and frozen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.errors import InvalidInput
from mnemic.text.names import names
from mnemic.text.terms import content_terms
from mnemic.types import MemoryType

__all__ = ["WEIGHTS", "Salience", "commitment_in", "salience"]

LONGEST = 4_000
"""Characters of a text that are looked at."""

WEIGHTS = {"type": 0.15, "specificity": 0.2, "names": 0.25, "commitment": 0.25, "novelty": 0.15}
"""What each part counts; they add up to one.

Names, numbers and commitment weigh most: they are what cannot be guessed later. Novelty weighs least of what can
reach 1 by itself, so that new chit-chat stays chit-chat. With these, small talk comes to .1 to .3, a plain fact to .3
to .6, a preference, rule or decision that names what it is about to .6 to .9.
"""

_OF_TYPE: dict[MemoryType, float] = {"procedural": 0.9, "semantic": 0.7, "emotional": 0.6, "episodic": 0.5}
"""A rule or a fact is of use for longer than one event."""

# What binds somebody, by how firmly; the first that fits counts.
_BINDS = re.compile(
    r"\b(?:(?:i|we)(?: will|[\u2019']ll| promise| swear| commit| decided| have decided| agreed| chose| vowed| refuse|"
    r" (?:never|always) )|(?:decided|agreed|chose|committed|resolved|promised|settled|plans?|intends?) (?:to|on|that|"
    r"against)|decision|never|always|must|must not|forbidden|do not|make sure|remember (?:to|that)|from now on|"
    r"deadline|no longer|not allowed|(?:am|is|are) allergic)\b|^don[\u2019']t\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefers?|preferred|preference|favou?rite|hates?|dislikes?|can(?:[\u2019']t|not) stand|rather than|"
    r"would rather|instead of|likes? to|loves?|wants? to|(?:i|we)[\u2019']m going to|(?:am|are|is) going to|"
    r"requires?|only)\b",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"\b(?:my name is|call me|(?:i|we|he|she|they) (?:lives?|works?|moved|studied|study|married|own|owns|speaks?|"
    r"have|has|am|are|is)|my \w+(?: \w+)? (?:is|are|was)|i[\u2019']m (?:a|an|from|\d)|(?:uses?|runs? on|listens? on|"
    r"set to|stands? for|born|lives? in|works? (?:at|as|for)|likes?|enjoys?|fixed|caused by|turns? out))\b",
    re.IGNORECASE,
)
_COMMITMENTS = ((1.0, _BINDS), (0.9, _PREFERS), (0.7, _LASTS))
_NUMBERS = re.compile(
    r"\d[\d.,:/-]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|"
    r"thousand|million|half|twice|once|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|"
    r"march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_IDENTIFIERS = re.compile(r"`[^`\n]+`|\b\w+_\w+\b|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+\.[a-z]{2,4}\b|\w+\(\)|/\w+/")
# Words that fill talk and tell nothing.
_FILLERS = frozenset(
    """haha hahaha lol wow yeah yep nice cool great good awesome amazing thanks thank please sure sorry hello hi bye okay really
    thing things stuff know think guess mean sound sounds look looks feel fun interesting lovely wonderful absolutely
    definitely totally exactly maybe today day time well see hope gonna wanna glad happy talk chat let""".split()
)
_FILLER_TERMS = frozenset(term for word in _FILLERS for term in content_terms(word))


@dataclass(frozen=True, slots=True, kw_only=True)
class Salience:
    """The parts of a statement's salience, each 0 to 1, and their weighted sum.

    Attributes:
        type: how long such a thing is of use: rules, then facts, feelings, events.
        specificity: how much content it carries: distinct content terms beyond the fillers of talk, 8 or more count
        as 1.
        names: named people, places, products, identifiers, numbers and dates, three or more count as 1.
        commitment: how firmly it binds: "I will", "we decided", "always", "never" 1, a preference .9, a lasting fact
        about
            somebody .7, otherwise 0.
        novelty: how little of it was known before, as the caller measured it.
        total: the sum of the parts by ``WEIGHTS``, 0 to 1.
    """

    type: float
    specificity: float
    names: float
    commitment: float
    novelty: float
    total: float


def commitment_in(text: str) -> float:
    """How firmly a statement binds somebody, 0 to 1; a question binds nobody."""
    if text.rstrip().endswith(("?", "\uff1f")):
        return 0.0
    return next((worth for worth, pattern in _COMMITMENTS if pattern.search(text[:LONGEST])), 0.0)


def _named(text: str, known: Sequence[str] | None) -> float:
    found = {name.casefold() for name in (names(text) if known is None else known)}
    found |= {each.casefold() for each in _IDENTIFIERS.findall(text)}
    return min((len(found) + len(set(_NUMBERS.findall(text)))) / 3, 1.0)


def _specificity(text: str) -> float:
    return min(len(set(content_terms(text)) - _FILLER_TERMS) / 8, 1.0)


def salience(
    text: str,
    type: MemoryType,
    *,
    novelty: float,
    commitment: float | None = None,
    entities: Sequence[str] | None = None,
) -> Salience:
    """How much a statement deserves to be remembered, by parts that stay as they were on the day of extraction.

    Args:
        text: the statement.
        type: its type.
        novelty: how little of it was known, 0 to 1: the prediction error.
        commitment: how firmly it binds, 0 to 1, where the caller knows (an LLM's answer); None reads it from the text.
        entities: what it names, where the caller has found it already; None looks for proper names.

    Returns:
        The parts and the total.

    Raises:
        InvalidInput: novelty or commitment is not between 0 and 1.
    """
    for what, value in (("novelty", novelty), ("commitment", commitment)):
        if value is not None and not 0 <= value <= 1:
            raise InvalidInput(f"{what} must lie between 0 and 1, this one is {value!r}.")
    text = text[:LONGEST]
    specificity = _specificity(text)
    if commitment is None:
        commitment = commitment_in(text) if specificity else 0.0  # "I am good" binds nobody to anything
    parts = {
        "type": _OF_TYPE.get(type, 0.5),
        "specificity": specificity,
        "names": _named(text, entities),
        "commitment": float(commitment),
        "novelty": float(novelty),
    }
    total = sum(WEIGHTS[part] * value for part, value in parts.items())
    return Salience(**parts, total=min(total, 1.0))
