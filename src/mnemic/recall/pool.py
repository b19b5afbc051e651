"""The pool: the candidates of one query with everything the signals read, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.text.dates import Period
from mnemic.vectors import among

__all__ = ["HERE", "Pool", "ascending", "neighbours", "top"]

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]

REACH = 3
HERE = REACH
"""The candidate's own column in arrays of the turns around it, which run from -3 to +3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """m candidates of one query with T terms.

    Attributes:
        rows: (m,) row of each candidate in the catalog, ascending.
        dense: (m,) cosine with the query; ``dense_before``: (m,) that of the turn before if it asks something, else 0;
            ``dense_session``: (m,) the highest of the candidate's conversation; ``dense_reply``: (m,) that of the other half
            of the exchange, the answer to what a person said or the request that an agent answers; 0 outside of a conversation.
        agent: (m,) true for what an assistant, a tool or the system said; ``assisted``: (m,) true for a turn of a
            conversation in which one of these speaks, and for other records where most conversations are such.
        echo: (m,) true for a question of an assisted conversation that says hardly more than the query. What it is near to
            counts neither for its conversation nor for its answer.
        bm25: (m,) BM25 of the candidate.
        counts: (m, 7, T) occurrences of each term in the turns around; 0 where there is no turn.
        lengths: (m, 7) content terms of those turns.
        in_session: (m, T) whether the conversation has the term anywhere.
        idf: (T,) inverse document frequencies over their maximum, 0 to 1; a term nobody uses has 1.
        mean_length: mean length of a record.
        speaker: (m,) true where the query names one speaker and it is theirs.
        traits: (m,) bits of ``text.cues``; ``asked_for``: the bits the query asks for.
        days: (m,) ordinals; ``told``: periods each candidate speaks of; ``asked``: periods the query names.
        words: (m,) length in content terms.
        times: (m,) and ``now``: microseconds since 1970.
        mood: (m,) nearness to the mood that is asked for, 0 to 1.
        graph: (m,) nearness to the first hits over links, 0 to 1.
        importance: (m,) 0 to 1. ``long_term``: (m,) 1 or 0. ``near``: (m,) 0 to 2, narrower levels more.
    """

    rows: Rows
    dense: Floats
    dense_before: Floats
    dense_session: Floats
    dense_reply: Floats
    agent: NDArray[np.bool_]
    assisted: NDArray[np.bool_]
    echo: NDArray[np.bool_]
    bm25: Floats
    counts: Floats
    lengths: Floats
    in_session: NDArray[np.bool_]
    idf: Floats
    mean_length: float
    speaker: NDArray[np.bool_]
    traits: NDArray[np.int32]
    asked_for: int
    days: NDArray[np.int64]
    told: Sequence[Sequence[Period]]
    asked: Sequence[Period]
    words: Floats
    times: NDArray[np.int64]
    now: int
    importance: Floats
    long_term: Floats
    near: Floats
    graph: Floats
    mood: Floats

    def __len__(self) -> int:
        return len(self.rows)


def top(scores: Floats, allowed: NDArray[np.bool_], k: int, *, above: float) -> Rows:
    """The rows of the k highest scores among the allowed ones above a floor, best first; ties go to the lower row."""
    rows = among(scores, allowed, k, above=above)
    return rows[np.argsort(-scores[rows], kind="stable")]


def ascending(size: int, *parts: Rows | Sequence[int]) -> Rows:
    """The rows in any of several lists, each once, ascending; all are below ``size``."""
    among = np.zeros(size, np.bool_)
    for rows in parts:
        among[rows] = True
    return np.flatnonzero(among)


def neighbours(rows: Rows, previous: NDArray[np.int32], following: NDArray[np.int32]) -> Rows:
    """(m, 7) rows of the turns from three before to three after, -1 where the conversation begins or ends.

    Both links end in a -1 of their own, so that whoever follows a -1 stays there.
    """
    around = np.empty((2 * REACH + 1, len(rows)), np.intp)
    around[HERE] = rows
    for step in range(1, REACH + 1):
        around[HERE - step] = previous[around[HERE - step + 1]]
        around[HERE + step] = following[around[HERE + step - 1]]
    return around.T
