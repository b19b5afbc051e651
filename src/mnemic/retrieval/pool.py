"""The pool: the candidates of one query with everything the signals read, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["OFFSETS", "Pool", "neighbours", "top"]

Floats = NDArray[np.float32]
Rows = NDArray[np.intp]

OFFSETS = (-2, -1, 0, 1, 2)
"""Turns around a candidate, in the order of the columns of ``Pool.around``; the candidate itself is in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """m candidates of one query, with T query terms.

    Attributes:
        rows: (m,) row of each candidate in the catalog, ascending.
        around: (m, 5) rows of the turns around it, -1 where there is none.
        dense: (m, 5) cosine of each of those with the query; 0 where there is no turn or no vector.
        counts: (m, 5, T) occurrences of each query term in each of those.
        lengths: (m, 5) their lengths in content terms.
        mean_length: mean length of the corpus.
        idf: (T,) of the query terms in the corpus of the searched user.
        session_counts: (m, T) occurrences in the candidate's whole conversation.
        session_lengths: (m,) and ``session_mean``: lengths of conversations.
        speaker: (m,) true where the query names the speaker.
        traits: (m,) bits of ``text.traits``.
        times: (m,) microseconds since 1970.
        importance: (m,) 0 to 1.
        status: (m,) code of the status; ``kind``: (m,) code of the kind; ``near``: (m,) 1 for the handle's own project.
        query: the text of the query.
    """

    rows: Rows
    around: Rows
    dense: Floats
    counts: Floats
    lengths: Floats
    mean_length: float
    idf: Floats
    session_counts: Floats
    session_lengths: Floats
    session_mean: float
    speaker: NDArray[np.bool_]
    traits: NDArray[np.int32]
    times: NDArray[np.int64]
    importance: Floats
    status: NDArray[np.int8]
    kind: NDArray[np.int8]
    near: Floats
    query: str
    now: int

    def __len__(self) -> int:
        return len(self.rows)


def top(scores: Floats, allowed: NDArray[np.bool_], k: int, *, above: float) -> Rows:
    """The rows of the k highest scores among the allowed ones above a floor, best first; ties go to the lower row."""
    rows = np.flatnonzero(allowed & (scores > above))
    if len(rows) > k:
        values = scores[rows]
        threshold = np.partition(values, len(rows) - k)[len(rows) - k]
        rows = np.concatenate([rows[values > threshold], rows[values == threshold]])[:k]
    return rows[np.lexsort((rows, -scores[rows]))]


def neighbours(rows: Rows, previous: NDArray[np.int32], following: NDArray[np.int32]) -> Rows:
    """(m, 5) rows of the turns around each row, -1 where the conversation begins or ends."""
    size = len(previous)

    def step(at: Rows, links: NDArray[np.int32]) -> Rows:
        to = np.where(at >= 0, links[np.maximum(at, 0)], -1)
        return np.where(to < size, to, -1)  # a link to a turn that came after this snapshot

    before, after = step(rows, previous), step(rows, following)
    columns = (step(before, previous), before, rows, after, step(after, following))
    return np.stack(columns, axis=1).astype(np.intp)
