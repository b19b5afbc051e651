"""Statements to facts: subject, attribute and value, spelled so that different wordings of the same thing meet."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from mnemic.extraction.attributes import Fact, cardinality, named
from mnemic.extraction.clauses import clauses
from mnemic.extraction.endings import endings
from mnemic.extraction.frames import facts_of

__all__ = ["Fact", "facts"]

_MOST_FACTS = 16
_HOMES = frozenset("apartment flat house home studio condo".split())
_MOVED = re.compile(
    r",\s+(?:just |recently |we |I |the user |they |he |she )?(?:just |recently )?moved\b(?! (?:on|to)\b)"
)


def facts(text: str) -> list[Fact]:
    """What a statement says of whom, in the first or the third person.

    It reads English by rule: verbs and nouns of common attributes by a table, others by their frame (X's Y is Z, the
    Y of X is Z, X changed Y to Z, Y is now Z, no longer). What it cannot read gives no fact.

    Args:
        text: a statement or a few; questions state nothing, and of a long text only the beginning is read.

    Returns:
        The facts in the order they are told, at most 16, each once.
    """
    return list(_facts(text))


@lru_cache(maxsize=4096)
def _facts(text: str) -> tuple[Fact, ...]:
    found = list(dict.fromkeys(fact for clause in clauses(text) for fact in facts_of(clause)))[:_MOST_FACTS]
    left = {fact.subject for fact in found if fact.attribute == "residence" and not fact.polarity}
    moved = _MOVED.search(text) is not None
    told = [_named(_at_home(fact, moved=moved or fact.subject in left)) for fact in found]
    return tuple(dict.fromkeys([*told, *endings(text)]))


def _at_home(fact: Fact, *, moved: bool) -> Fact:
    """No longer lives in Rome, is in Oslo now; is in Oslo now, moved last week; her new flat is in Oslo: she lives there."""
    if fact.attribute == "location" and moved:
        return replace(fact, attribute="residence", cardinality="one")
    owner, _, thing = fact.subject.rpartition("'s ")
    if fact.attribute == "place" and fact.change and owner and thing in _HOMES:
        return replace(fact, subject=owner, attribute="residence", cardinality="one")
    return fact


def _named(fact: Fact) -> Fact:
    """Her girlfriend is called Lena: Lena is her partner. She has no car any more: whatever it was."""
    owner, _, thing = fact.subject.rpartition("'s ")
    if fact.attribute == "name" and owner and cardinality(named(thing)) == "one":
        return replace(fact, subject=owner, attribute=named(thing), cardinality="one")
    if fact.attribute == "has" and not fact.polarity and fact.change and cardinality(named(fact.value)) == "one":
        return replace(fact, attribute=named(fact.value), value="", cardinality="one")
    return fact
