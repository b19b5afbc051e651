"""Statements to facts: subject, attribute and value, spelled so that different wordings of the same thing meet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from mnemic.extraction.attributes import Fact
from mnemic.extraction.clauses import clauses
from mnemic.extraction.frames import facts_of

__all__ = ["Fact", "facts"]

_MOST_FACTS = 16


def facts(text: str) -> list[Fact]:
    """What a statement says of whom, in the first or the third person.

    It reads English by rule: verbs and nouns of common attributes by a table, others by their frame (X's Y is Z, the
    Y of X
    is Z, X changed Y to Z, Y is now Z, no longer). What it cannot read gives no fact.

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
    return tuple(_resident(fact) if fact.subject in left else fact for fact in found)


def _resident(fact: Fact) -> Fact:
    """No longer lives in Rome, is in Oslo now: there, where somebody is is where they live."""
    return replace(fact, attribute="residence", cardinality="one") if fact.attribute == "location" else fact
