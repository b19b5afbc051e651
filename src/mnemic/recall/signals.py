"""Ranking signals, each a plain function of the pool with its scale in the docstring.

Values are absolute, not scaled within the pool, so that the order depends neither on the size of the pool nor on ``k``,
and the same values grade the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.candidates import HERE, Pool
from mnemic.text import bm25 as scoring
from mnemic.text import cues
from mnemic.vectors import dot

__all__ = ["SIGNALS", "Signal", "own_coverage"]

Floats = NDArray[np.float32]
Signal = Callable[[Pool], Floats]

# Credit of a term in a nearby turn, from three before to three after, and anywhere in the session.
_CREDITS = np.array([0.3, 0.5, 0.8, 1.0, 0.5, 0.3, 0.2], np.float32)
_IN_SESSION = 0.3
_LONGEST = 25
_DAYS_AFTER, _DAYS_BEFORE, _TOLD = 10.0, 5.0, 0.4
_HALF_LIFE_DAYS = 30.0
_MICROSECONDS_A_DAY = 86_400_000_000


def dense(pool: Pool) -> Floats:
    """Cosine of the turn with the query, -1 to 1."""
    return pool.dense


def session_dense(pool: Pool) -> Floats:
    """The highest cosine in the turn's conversation, -1 to 1."""
    return pool.dense_session


def answers(pool: Pool) -> Floats:
    """Cosine of the turn before if it is a question: an answer inherits from it, -1 to 1."""
    return pool.dense_before


def reply(pool: Pool) -> Floats:
    """Cosine of the other half of the exchange: the reply to a person, or the request to an agent, -1 to 1."""
    return pool.dense_reply


def coverage(pool: Pool) -> Floats:
    """Coverage of the query here or nearby: sum of idf x credit over the root of the query's idf mass, 0 to about 3.

    A term has credit 1 in the turn itself, less in turns before and after, least elsewhere in the conversation. Terms
    that occur nowhere count in the mass.
    """
    said = (pool.counts > 0) * _CREDITS[None, :, None]
    credit = np.maximum(said.max(axis=1), _IN_SESSION * pool.in_session)
    return dot(credit, pool.idf) / np.sqrt(pool.idf.sum() + 1e-9)


def own_coverage(pool: Pool) -> Floats:
    """The share of the query's idf mass in the turn itself, 0 to 1."""
    return dot(pool.counts[:, HERE] > 0, pool.idf) / (pool.idf.sum() + np.float32(1e-9))


def said(pool: Pool) -> Floats:
    """Coverage of the query by the turn itself: idf of its terms over the root of the query's idf mass, 0 to about
    3.
    """
    return dot(pool.counts[:, HERE] > 0, pool.idf) / np.sqrt(pool.idf.sum() + np.float32(1e-9))


def bm25(pool: Pool) -> Floats:
    """BM25 of the turn, unbounded."""
    return pool.bm25


def bm25_window(pool: Pool) -> Floats:
    """BM25 of the turn with one turn either side taken as one text, in units of the largest idf."""
    inside = slice(HERE - 1, HERE + 2)
    counts, lengths = pool.counts[:, inside].sum(axis=1), pool.lengths[:, inside].sum(axis=1)
    return dot(scoring.saturation(counts, lengths[:, None], 3 * pool.mean_length), pool.idf)


def date(pool: Pool) -> Floats:
    """Proximity of the turn to a date in the query, plus 0.4 if it mentions that date; 0 without a date, at most 1.4.

    A turn within the period has 1, decaying with the days after it (people speak of the past) and faster before.
    """
    if not pool.query_periods:
        return np.zeros(len(pool), np.float32)
    gaps = np.stack(
        [
            np.where(pool.days > end, pool.days - end, np.minimum(pool.days - start, 0))
            for start, end in pool.query_periods
        ]
    )
    gap = gaps[np.abs(gaps).argmin(axis=0), np.arange(len(pool))]
    near = np.exp(np.where(gap >= 0, -gap / _DAYS_AFTER, gap / _DAYS_BEFORE)).astype(np.float32)
    tells = [
        any(a <= end and start <= b for a, b in mentioned for start, end in pool.query_periods)
        for mentioned in pool.mentioned
    ]
    return (near + np.float32(_TOLD) * np.array(tells, np.float32)).astype(np.float32)


def speaker(pool: Pool) -> Floats:
    """1 where the query names one speaker and the turn is theirs."""
    return pool.speaker.astype(np.float32)


def length(pool: Pool) -> Floats:
    """Logarithm of the length, capped at some fifty words, 0 to 3.3."""
    return np.log1p(np.minimum(pool.words, _LONGEST))


def person(pool: Pool) -> Floats:
    """1 for turns of a person: replies of an assistant are mostly useful once."""
    return (~pool.agent).astype(np.float32)


def request_length(pool: Pool) -> Floats:
    """Length of a person's turn, log(1 + words / 25), 0 for an agent: long pasted text matches everything."""
    return np.log1p(pool.words / _LONGEST) * ~pool.agent


def echo(pool: Pool) -> Floats:
    """1 for a question that repeats the query: it is no answer."""
    return pool.echo.astype(np.float32)


def question(pool: Pool) -> Floats:
    """1 for a turn that ends in a question: it rarely holds an answer."""
    return ((pool.traits & cues.QUESTION) > 0).astype(np.float32)


def cue(pool: Pool) -> Floats:
    """1 where the query asks for a time, an amount, a reason or a name, and the turn contains one."""
    return ((pool.traits & pool.query_traits) > 0).astype(np.float32)


def importance(pool: Pool) -> Floats:
    """Importance, 0 to 1."""
    return pool.importance


def recency(pool: Pool) -> Floats:
    """Halved every 30 days, 0 to 1; in whole days, so that repeating a query gives the same result."""
    days = np.maximum(pool.now - pool.times, 0) // _MICROSECONDS_A_DAY
    return np.exp2(-days / _HALF_LIFE_DAYS).astype(np.float32)


def tier(pool: Pool) -> Floats:
    """1 for long-term memories."""
    return pool.long_term


def graph(pool: Pool) -> Floats:
    """Proximity to the first hits over links, 0 to 1: the product of link strengths and a factor per link."""
    return pool.graph


def emotion(pool: Pool) -> Floats:
    """Similarity to the requested mood on the plane of valence and arousal, 0 to 1."""
    return pool.mood


def level(pool: Pool) -> Floats:
    """1 for the handle's project, plus 1 for a memory of its session."""
    return pool.near


SIGNALS: Mapping[str, Signal] = {
    function.__name__: function
    for function in (
        dense, session_dense, answers, reply, coverage, said, bm25, bm25_window, date, speaker, person, length, request_length,
        question, echo, cue, importance, recency, tier, level, graph, emotion,
    )
}  # fmt: skip
