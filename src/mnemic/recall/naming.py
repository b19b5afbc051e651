"""Naming: what a question names decides between hits on like things.

A number, an identifier or a name in the question tells like things apart: ticket 4700 from ticket 4701. A hit that shares
the rest of the question but lacks its name never stands before a hit that has all it has and the name too, whatever the
signals and the other passes say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mnemic.recall.candidates import HERE, Pool
from mnemic.text.dates import may_name_a_date, named_periods
from mnemic.text.names import names
from mnemic.text.terms import content_terms
from mnemic.vectors import Mask, Rows

FIRST = 100
"""First hits whose order may change."""
_SOME_DAY = 738_000
"""The ordinal of a day to read dates by; any will do."""


def naming_terms(text: str, terms: Sequence[str]) -> Mask:
    """(T,) which terms of a question name something: those with a digit, and those of proper names, but for dates."""
    named = {term for name in names(text) for term in content_terms(name)}
    found = [term in named or any(map(str.isdigit, term)) for term in terms]
    if any(found) and may_name_a_date(text):
        found = [mark and not _is_in_date(term, text) for term, mark in zip(terms, found, strict=True)]
    return np.array(found, np.bool_)


def _is_in_date(term: str, text: str) -> bool:
    """Whether a text names another date without a term, or none."""
    without = re.sub(rf"\b{re.escape(term)}(?:st|nd|rd|th)?\b", " ", text, flags=re.IGNORECASE)
    return named_periods(without, _SOME_DAY, ()) != named_periods(text, _SOME_DAY, ())


def named_first(text: str, terms: Sequence[str], pool: Pool, order: Rows) -> Rows:
    """The order with each hit behind those on a like thing that have all its terms of the question, and a name more.

    Args:
        text: the question.
        terms: its terms, as the pool counts them.
        pool: the candidates.
        order: positions in the pool, best first.
    """
    naming = naming_terms(text, terms)
    if not naming.any():
        return order
    first = order[:FIRST]
    has = pool.counts[first, HERE] > 0
    named_more = (has[:, None, naming] & ~has[None, :, naming]).any(axis=2)
    lacks = (has[None] & ~has[:, None]).any(axis=2)
    alike = has[:, ~naming].any(axis=1) | bool(naming.all())
    ahead: Mask = np.logical_and(named_more & ~lacks, alike)
    return np.concatenate([first[_behind(ahead)], order[FIRST:]])


def _behind(ahead: Mask) -> list[int]:
    """The places 0 to n - 1, each behind those that go ahead of it; otherwise in order.

    Args:
        ahead: (n, n) whether the first place goes before the second; without cycles.
    """
    left, found = list(range(len(ahead))), list[int]()
    waits = ahead.sum(axis=0)
    while left:
        place = next(place for place in left if not waits[place])
        left.remove(place)
        found.append(place)
        waits -= ahead[place]
    return found
