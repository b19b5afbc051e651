"""Fusion: the values of several signals to one score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["rank_fusion", "weighted_sum"]

Floats = NDArray[np.float32]


def _min_max(values: Floats) -> Floats:
    """Scaled to 0..1 within the pool; a signal that says the same of all says nothing."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def weighted_sum(values: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Weighted sum of signals, each scaled to 0..1 within the pool."""
    total = np.zeros(len(next(iter(values.values()))), np.float32)
    for name, weight in weights.items():
        total += weight * _min_max(values[name])
    return total


def rank_fusion(values: Mapping[str, Floats], weights: Mapping[str, float], k: float) -> Floats:
    """Reciprocal rank fusion: sum of weight / (k + rank).

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods"
    (2009).
    A candidate that a signal gives no score above zero is not in that signal's list.
    """
    total = np.zeros(len(next(iter(values.values()))), np.float32)
    for name, weight in weights.items():
        scores = values[name]
        ranks = np.empty(len(scores), np.float32)
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        total += np.where(scores > 0, weight / (k + ranks), 0.0)
    return total
