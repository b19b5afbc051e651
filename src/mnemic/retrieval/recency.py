"""Recency: of the first hits that say the same of one matter, what was said last comes first.

A pairwise model for talk with an assistant. A turn goes before an earlier one when both say much of the question, their
vectors are near, and the earlier one is not far ahead: a logistic regression on 46 pairs of an updated value in BEAM against
942 pairs of which the earlier turn alone is evidence (AUROC .87, held out by conversation). Nothing is hidden, and no word of
any language is known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.retrieval.pool import HERE, Pool
from mnemic.vectors import dot

__all__ = ["latest_first"]

Floats = NDArray[np.float32]

_INTERCEPT, _AHEAD, _ALIKE, _SHARED = -2.84, -0.49, 2.04, 5.21


def latest_first(pool: Pool, first: NDArray[np.intp], scores: Floats, vectors: Floats) -> list[int]:
    """The places of the first hits in a new order.

    Args:
        pool: the candidates.
        first: (n,) positions of the first hits in the pool, best first.
        scores: (n,) their scores.
        vectors: (n, d) their unit vectors.
    """
    said = pool.counts[first, HERE] > 0
    shared = dot(said[:, None, :] & said[None, :, :], pool.idf) / (pool.idf.sum() + np.float32(1e-9))
    said_at = np.argsort(
        np.lexsort((pool.rows[first], pool.times[first]))
    )  # of one moment, in the order they were stored
    people = ~pool.agent[first] & pool.assisted[first]
    sums = (
        _INTERCEPT + _AHEAD * (scores[:, None] - scores[None, :]) + _ALIKE * dot(vectors, vectors.T) + _SHARED * shared
    )
    newer = (said_at[:, None] < said_at[None, :]) & people[:, None] & people[None, :] & (sums > 0)
    order: list[int] = []
    for place in range(len(first)):
        at = next((n for n, other in enumerate(order) if newer[other, place]), len(order))
        order.insert(at, place)
    return order
