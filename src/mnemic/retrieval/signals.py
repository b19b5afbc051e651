"""Signals: what speaks for a candidate. Each is a plain function of the pool, with its scale in the docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mnemic.retrieval.pool import Pool
from mnemic.text import bm25 as scoring
from mnemic.text.traits import QUESTION, TIME

__all__ = ["SIGNALS", "Signal"]

Floats = NDArray[np.float32]
Signal = Callable[[Pool], Floats]

_HERE = 2  # the candidate's own column in (m, 5) arrays


def dense(pool: Pool) -> Floats:
    """Cosine of the turn with the query, -1 to 1."""
    return pool.dense[:, _HERE]


def dense_near(pool: Pool) -> Floats:
    """Cosine with the turns around: s(i) + .5 s(i-1) + .25 s(i+1). Equals vectors of windows, and costs none."""
    return pool.dense @ np.array([0.0, 0.5, 1.0, 0.25, 0.0], np.float32)


def _window(pool: Pool, reach: int) -> Floats:
    """BM25 of the turns from -reach to +reach taken as one text."""
    inside = slice(_HERE - reach, _HERE + reach + 1)
    counts, lengths = pool.counts[:, inside].sum(axis=1), pool.lengths[:, inside].sum(axis=1)
    mean = pool.mean_length * (2 * reach + 1)
    return scoring.saturation(counts, lengths[:, None], mean) @ pool.idf


def bm25(pool: Pool) -> Floats:
    """BM25 of the turn."""
    return _window(pool, 0)


def bm25_window1(pool: Pool) -> Floats:
    """BM25 of the turn with one turn either side."""
    return _window(pool, 1)


def bm25_window2(pool: Pool) -> Floats:
    """BM25 of the turn with two turns either side."""
    return _window(pool, 2)


def bm25_session(pool: Pool) -> Floats:
    """BM25 of the whole conversation."""
    return scoring.saturation(pool.session_counts, pool.session_lengths[:, None], pool.session_mean) @ pool.idf


def speaker(pool: Pool) -> Floats:
    """1 where the query names who speaks."""
    return pool.speaker.astype(np.float32)


def length(pool: Pool) -> Floats:
    """Logarithm of the length: a longer turn says more."""
    return np.log1p(pool.lengths[:, _HERE])


def question(pool: Pool) -> Floats:
    """-1 for a turn that only asks: questions seldom hold the answer."""
    return -((pool.traits & QUESTION) > 0).astype(np.float32)


def when(pool: Pool) -> Floats:
    """1 where the query asks when and the turn speaks of a time."""
    asks = (
        pool.query.lower()
        .lstrip()
        .startswith(("when", "how long", "what year", "what date", "what day", "which year", "which month"))
    )
    return ((pool.traits & TIME) > 0).astype(np.float32) * float(asks)


def importance(pool: Pool) -> Floats:
    """Importance, 0 to 1."""
    return pool.importance


def recency(pool: Pool) -> Floats:
    """2 ** (-age / 30 days), by when it was said."""
    days = np.maximum(pool.now - pool.times, 0) / 86_400e6
    return np.exp2(-days / 30.0).astype(np.float32)


def tier(pool: Pool) -> Floats:
    """1 for long-term memories."""
    return (pool.status == 2).astype(np.float32)


def level(pool: Pool) -> Floats:
    """1 for the handle's own project, 0 for the user's other records."""
    return pool.near


SIGNALS: Mapping[str, Signal] = {
    function.__name__: function
    for function in (
        dense, dense_near, bm25, bm25_window1, bm25_window2, bm25_session, speaker, length, question, when, importance,
        recency, tier, level,
    )
}  # fmt: skip
