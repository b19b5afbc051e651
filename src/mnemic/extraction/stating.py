"""Whether a sentence states a value that can change: what is kept though few words tell it, and stands alone."""

from __future__ import annotations

import re
from functools import lru_cache

from mnemic.extraction.attributes import Fact, cardinality
from mnemic.extraction.clauses import clauses, tells_of_change
from mnemic.extraction.facts import facts
from mnemic.extraction.rewriting import is_past
from mnemic.extraction.values import has_number, kind

__all__ = ["is_clause", "plainly_stated", "stated"]

_PRONOUNS = frozenset("they it he she you that this these those everyone something we both people".split())
_VERB = re.compile(
    r"(?:[\w'-]+ ){1,5}?(?:[a-z]{2,}[^su\W]s (?=at|in|on|to|below|above|with|for|from|by|through|the|a|an|\d|[A-Z])|"
    r"(?<=[a-z]s )[a-z]{2,} (?=at|in|on|to|through|with|over|under|between|via)\b)"
)
"""A third person before what follows a verb, or a plural with a base form behind it."""
_PASSING = frozenset("weather temperature mood status location".split())
"""What has one value at a time but seldom keeps it for a day."""
_UNSURE = re.compile(r"\b(?:if|maybe|perhaps|might|could|would|should)\b", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def stated(said: str) -> bool:
    """Whether it gives something one value, or a new one: such a sentence is a memory of its own.

    Args:
        said: one sentence, in the first or the third person.
    """
    if said.rstrip("\"')*_ ").endswith(("?", "\uff1f")):
        return False
    return any(_holds(fact) for fact in facts(said)) or _named_change(said)


@lru_cache(maxsize=4_096)
def plainly_stated(said: str) -> bool:
    """Whether it is ``stated`` of an attribute that is known to have one value, by a value that is one: no mere talk."""
    if not stated(said) or _UNSURE.search(said):
        return False
    return any(_holds(f) and cardinality(f.attribute) == "one" and _is_value(said, f) for f in facts(said))


def is_clause(said: str) -> bool:
    """Whether it has a subject and a verb: one that the rules know, or a word in the form of one."""
    return bool(facts(said)) or any(clauses(said)) or _VERB.match(said) is not None or _has_past(said)


def _has_past(said: str) -> bool:
    words = said.split()[1:8]
    return any(is_past(word) for word in words[:-1])


def _holds(fact: Fact) -> bool:
    return (
        fact.tense == "present"
        and (fact.single or fact.change)
        and (fact.subject not in _PRONOUNS or (fact.subject == "we" and fact.attribute not in {"be", "is"}))
        and fact.attribute not in _PASSING
        and fact.cardinality != "many"
    )


def _named_change(said: str) -> bool:
    """Whether no rule reads it, and yet it tells of a change to something that is named or counted."""
    if not tells_of_change(said) or _UNSURE.search(said) or len(said) > 160:
        return False
    return has_number(said) or any(word[:1].isupper() for word in said.split()[1:] if word not in {"I", "I'm", "I've"})


def _is_value(said: str, fact: Fact) -> bool:
    found = kind(fact.value)
    return bool(found) or has_number(fact.value) or fact.value.title() in said.replace(".", "")
