"""Periods that a query names, such as "last week" or "in May", and the candidates that were said in them or tell of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import numpy as np

from mnemic.indexes.catalog import ASSISTANTS, KINDS, Columns
from mnemic.indexes.keyword import Corpus
from mnemic.ingest import role_of
from mnemic.runtime.views import View
from mnemic.text import english
from mnemic.text.dates import Period, may_name_a_date, named_periods, without_periods
from mnemic.text.terms import content_terms
from mnemic.text.values import from_micros, local
from mnemic.types import Query
from mnemic.vectors import Floats, Mask, Rows, dot

_ANOTHER_ROLE = 0.5
_SUBJECTS = frozenset("i you he she we they".split())
"""Pronouns before a verb: what did you advise?"""
_SAID = (
    r"\bwhat (?:else )?(?:did (?:i|we|you(?: and (?:i|me))?) (?:say|tell|write|ask|mention|advise|suggest|recommend|discuss|"
    r"go over|(?:talk|chat|speak)(?: about)?)|were we (?:discussing|(?:talking|chatting|speaking)(?: about)?)|was said|"
    r"(?:was|were) our (?:conversation|chat|talk|discussion)s?(?: about)?)\b"
)
_SAID_EVER = re.compile(_SAID)
"""A question for words of the chat, which are on record when they were said; those of others may be told at any time."""
_SAID_THEN = re.compile(rf"{_SAID}(?: (?:to )?(?:you|me))?(?: (?:on|in|at|during|over))? {{3,}}")
"""The same, where a period, here blanks, says when: "say yesterday about the trip", not "say about the trip in May"."""


@dataclass(frozen=True, slots=True)
class AskedPeriods:
    """The periods that a query of T terms names, and what it names beside them.

    Attributes:
        named: the periods.
        asked: the same, or the last weeks for "lately".
        particular: (T,) which terms name something else; verbs ask for whatever was said or done.
        roles: the roles whose messages it asks for: the customer's, or the assistant's in "what did you say?";
            ``role_terms``: (T,) their words.
        of_words: whether it asks what was said in them; what was done, or happens then, may stand in anything.
    """

    named: Sequence[Period]
    asked: Sequence[Period]
    particular: Mask
    roles: frozenset[str]
    role_terms: Mask
    of_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodAnswers:
    """How m candidates answer a query by the time that they are of.

    Attributes:
        named: the periods that the query names.
        mentioned: (m) the periods that each candidate mentions; empty where the query names none.
        within: (m,) 1 for a turn said in a period that the query asks for, or telling of a time in it. Half of it for
            another role or speaker than the query names. Less if a record of another time has nearly all else that it names
            while neither the turn nor any of the period has it: by that idf and by its share of what the query names.
        answering: (m,) ``within`` by the share of what else the query names that the turn has; all of it where it names
            nothing else.
        beside: how much of what else it names one record has: its idf, by its share.
        elsewhere: (m,) true for what was said at another time, where the query asks what was said in its periods.
    """

    named: Sequence[Period]
    mentioned: Sequence[Sequence[Period]]
    within: Floats
    answering: Floats
    beside: float
    elsewhere: Mask


def asked_periods(c: Columns, query: Query, terms: Sequence[str]) -> AskedPeriods:
    """The periods a query names, relative to its time."""
    years: list[int] = []
    if may_name_a_date(query.text):
        years = sorted({date.fromordinal(int(day)).year for day in np.unique(c.day)})
        years = [years[0] - 1, *years]
    today = local(from_micros(query.now), query.zone).toordinal()
    named, asked = (named_periods(query.text, today, years, loosely=loosely) for loosely in (False, True))
    rest = without_periods(query.text, today) if asked else ""
    words = english.bare_words(rest)
    roles = _roles(words)
    others = [
        word
        for before, word in pairwise(("", *words))
        if before not in _SUBJECTS and word not in roles and english.is_particular(word)
    ]
    wanted = {*roles.values(), *(ASSISTANTS if english.expected_traits(query.text) & english.REPLY else ())}
    particular = _has_term(terms, others)
    of_words = bool(named) and (_SAID_THEN if particular.any() else _SAID_EVER).search(rest) is not None
    return AskedPeriods(named, asked, particular, frozenset(wanted), _has_term(terms, roles), of_words)


def _roles(words: Sequence[str]) -> dict[str, str]:
    """The words that name a role of a conversation, each with its role; "which model" asks for a thing."""
    roles = {
        word: role_of(word.removesuffix("s"))
        for previous, word in pairwise(("", *words))
        if previous not in ("which", "what")
    }
    return {word: role for word, role in roles.items() if role in ("user", *ASSISTANTS)}


def _has_term(terms: Sequence[str], words: Iterable[str]) -> Mask:
    """(T,) which terms of a query are of these words."""
    included = {term for word in words for term in content_terms(word)}
    return np.array([term in included for term in terms], np.bool_)


def said_within(c: Columns, periods: Sequence[Period]) -> Mask:
    """(n,) which records were said in one of the periods."""
    within = np.zeros(len(c), np.bool_)
    for start, end in periods:
        within |= (start <= c.day) & (c.day <= end)
    return within


def period_answers(
    view: View,
    periods: AskedPeriods,
    rows: Rows,
    has_terms: Mask,
    particular_idf: Floats,
    idf: Floats,
    speakers: Sequence[int] = (),
) -> PeriodAnswers:
    """How candidates answer by the time that they are of.

    Args:
        view: the user's records.
        periods: what the query asks for.
        rows: (m,) the candidates.
        has_terms: (m, T) which terms of the query each has.
        particular_idf: (n,) the idf of the particular terms in each record.
        idf: (T,) of the terms.
        speakers: whose words or doings the query asks for, by their codes; of nobody in particular if empty.
    """
    c, nothing = view.columns, np.zeros(len(rows), np.float32)
    if not periods.asked:
        nowhere = np.zeros(len(rows), np.bool_)
        return PeriodAnswers(named=(), mentioned=(), within=nothing, answering=nothing, beside=0.0, elsewhere=nowhere)
    mass = float(dot(periods.particular, idf)) + 1e-9
    mentioned = [c.periods_of(doc) for doc in c.doc[rows].tolist()]
    mentions = [any(start <= a and b <= end for a, b in each for start, end in periods.asked) for each in mentioned]
    in_period, own_idf = said_within(c, periods.asked), particular_idf[rows]
    inside, elsewhere = (float(particular_idf.max(initial=0.0, where=where)) for where in (in_period, ~in_period))
    of_period = in_period[rows] | (np.array(mentions, np.bool_) & (not periods.of_words))
    if not periods.named and inside > 0:  # "lately" is said of what else the question names
        of_period &= own_idf > 0
    excess = elsewhere - np.maximum(own_idf, np.float32(inside))
    factor = np.clip(1 - excess * np.float32(elsewhere / mass), 0, 1)
    of_role = (c.kind != KINDS["message"]) | c.has_role(tuple(periods.roles)) | (not periods.roles)
    other_role = ~(has_terms[:, periods.role_terms].any(axis=1) | of_role[rows])
    if speakers:
        other_role |= (c.kind[rows] == KINDS["message"]) & ~np.isin(c.speaker[rows], speakers)
    within = (of_period * factor * np.where(other_role, _ANOTHER_ROLE, 1.0)).astype(np.float32)
    return PeriodAnswers(
        named=periods.named,
        mentioned=mentioned,
        within=within,
        answering=within * (own_idf / np.float32(mass)).astype(np.float32) if periods.particular.any() else within,
        beside=max(inside, elsewhere) ** 2 / mass,
        elsewhere=~in_period[rows] & periods.of_words,
    )


def particulars(view: View, terms: Sequence[str], corpus: Corpus, periods: AskedPeriods, idf: Floats) -> Floats:
    """(n,) the idf of what a query names beside its periods in each record."""
    c, particular_idf = view.columns, np.zeros(len(view.columns), np.float32)
    if periods.particular.any():
        buffer, every = np.zeros(len(c) + 1, np.float32), np.arange(len(c))
        for t in np.flatnonzero(periods.particular).tolist():
            particular_idf += idf[t] * (view.keyword.occurrences(c, terms[t], corpus).counts_at(every, buffer) > 0)
    return particular_idf
