"""Periods that a query names, such as "last week" or "in May", and the candidates that were said in them or tell of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import numpy as np

from mnemic.indexes.catalog import ASSISTANTS, KINDS, Columns
from mnemic.indexes.keyword import Corpus
from mnemic.ingest.messages import role_of
from mnemic.runtime.views import View
from mnemic.text import english
from mnemic.text.dates import Period, may_name_a_date, named_periods, without_periods
from mnemic.text.terms import content_terms
from mnemic.text.values import from_micros
from mnemic.types import Query
from mnemic.vectors import Floats, Mask, Rows, dot

_ANOTHER_ROLE = 0.5


@dataclass(frozen=True, slots=True)
class AskedPeriods:
    """The periods that a query of T terms names, and what it names beside them.

    Attributes:
        named: the periods.
        asked: the same, or the last weeks for "lately".
        particular: (T,) which terms name something else; verbs ask for whatever was said or done.
        roles: the roles whose messages it asks for, such as the customer's; ``role_terms``: (T,) their words.
    """

    named: Sequence[Period]
    asked: Sequence[Period]
    particular: Mask
    roles: frozenset[str]
    role_terms: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodAnswers:
    """How m candidates answer a query by the time that they are of.

    Attributes:
        named: the periods that the query names.
        mentioned: (m) the periods that each candidate mentions; empty where the query names none.
        within: (m,) 1 for a turn said in a period that the query asks for, or telling of a time in it. Half of it for
            another role than the query names. Less if a record of another time has nearly all else that it names while
            neither the turn nor any of the period has it: by that idf and by its share of what the query names.
        answering: (m,) ``within`` by the share of what else the query names that the turn has; all of it where it names
            nothing else.
        beside: how much of what else it names one record has: its idf, by its share.
    """

    named: Sequence[Period]
    mentioned: Sequence[Sequence[Period]]
    within: Floats
    answering: Floats
    beside: float


def asked_periods(c: Columns, query: Query, terms: Sequence[str]) -> AskedPeriods:
    """The periods a query names, relative to its time."""
    years: list[int] = []
    if may_name_a_date(query.text):
        years = sorted({date.fromordinal(int(day)).year for day in np.unique(c.day)})
        years = [years[0] - 1, *years]
    today = _today(query)
    named, asked = (named_periods(query.text, today, years, loosely=loosely) for loosely in (False, True))
    words = english.bare_words(without_periods(query.text, today)) if asked else []
    roles = _roles(words)
    others = [word for word in words if word not in roles and english.is_particular(word)]
    return AskedPeriods(named, asked, _has_term(terms, others), frozenset(roles.values()), _has_term(terms, roles))


def _today(query: Query) -> int:
    """The day of the query as an ordinal."""
    try:
        return from_micros(query.now).astimezone(query.zone).toordinal()
    except OverflowError:  # the edges of the calendar have no neighbours
        return from_micros(query.now).toordinal()


def _roles(words: Sequence[str]) -> dict[str, str]:
    """The words that name a role of a conversation, each with its role; "which model" asks for a thing."""
    found = {
        word: role_of(word.removesuffix("s"))
        for before, word in pairwise(("", *words))
        if before not in ("which", "what")
    }
    return {word: role for word, role in found.items() if role in ("user", *ASSISTANTS)}


def _has_term(terms: Sequence[str], words: Iterable[str]) -> Mask:
    """(T,) which terms of a query are of these words."""
    wanted = {term for word in words for term in content_terms(word)}
    return np.array([term in wanted for term in terms], np.bool_)


def said_within(c: Columns, periods: Sequence[Period]) -> Mask:
    """(n,) which records were said in one of the periods."""
    within = np.zeros(len(c), np.bool_)
    for start, end in periods:
        within |= (start <= c.day) & (c.day <= end)
    return within


def period_answers(
    view: View, asked: AskedPeriods, rows: Rows, spoken: Mask, named: Floats, idf: Floats
) -> PeriodAnswers:
    """How candidates answer by the time that they are of.

    Args:
        view: the user's records.
        asked: what the query asks for.
        rows: (m,) the candidates.
        spoken: (m, T) which terms of the query each has.
        named: (n,) the idf of the particular terms in each record.
        idf: (T,) of the terms.
    """
    c, nothing = view.columns, np.zeros(len(rows), np.float32)
    if not asked.asked:
        return PeriodAnswers(named=(), mentioned=(), within=nothing, answering=nothing, beside=0.0)
    mass = float(dot(asked.particular, idf)) + 1e-9
    mentioned = [c.periods_of(doc) for doc in c.doc[rows].tolist()]
    tells = [any(start <= a and b <= end for a, b in own for start, end in asked.asked) for own in mentioned]
    said, own = said_within(c, asked.asked), named[rows]
    inside, elsewhere = (float(named.max(initial=0.0, where=where)) for where in (said, ~said))
    of_it = said[rows] | np.array(tells, np.bool_)
    if not asked.named and inside > 0:  # "lately" is said of what else the question names
        of_it &= own > 0
    more = elsewhere - np.maximum(own, np.float32(inside))
    kept = np.clip(1 - more * np.float32(elsewhere / mass), 0, 1)
    another = ~(spoken[:, asked.role_terms].any(axis=1) | _of_role(c, rows, asked.roles))
    within = (of_it * kept * np.where(another, _ANOTHER_ROLE, 1.0)).astype(np.float32)
    return PeriodAnswers(
        named=asked.named,
        mentioned=mentioned,
        within=within,
        answering=within * (own / np.float32(mass)).astype(np.float32) if asked.particular.any() else within,
        beside=max(inside, elsewhere) ** 2 / mass,
    )


def particulars(view: View, terms: Sequence[str], corpus: Corpus, asked: AskedPeriods, idf: Floats) -> Floats:
    """(n,) the idf of what a query names beside its periods in each record."""
    c, held = view.columns, np.zeros(len(view.columns), np.float32)
    if asked.particular.any():
        buffer, every = np.zeros(len(c) + 1, np.float32), np.arange(len(c))
        for t in np.flatnonzero(asked.particular).tolist():
            held += idf[t] * (view.keyword.occurrences(c, terms[t], corpus).counts_at(every, buffer) > 0)
    return held


def _of_role(c: Columns, rows: Rows, roles: Collection[str]) -> Mask:
    """(m,) which records are messages of one of the roles, or no messages; all if there is no role."""
    return ((c.kind != KINDS["message"]) | c.has_role(tuple(roles)) | (not roles))[rows]
