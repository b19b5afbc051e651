"""Fusion: the values of several signals to one score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["normalised_sum", "plain_sum", "rank_fusion", "spread"]

Floats = NDArray[np.float32]


def plain_sum(values: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Weighted sum of the values as they are."""
    total = np.zeros(len(next(iter(values.values()))), np.float32)
    for name, weight in weights.items():
        total += np.float32(weight) * values[name]
    return total


def _min_max(values: Floats) -> Floats:
    """Scaled to 0..1 within the pool; a signal that says the same of all says nothing."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def normalised_sum(values: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Weighted sum of signals, each scaled to 0..1 within the pool."""
    return plain_sum({name: _min_max(values[name]) for name in weights}, weights)


def rank_fusion(values: Mapping[str, Floats], weights: Mapping[str, float], k: float) -> Floats:
    """Reciprocal rank fusion: sum of weight / (k + rank).

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods"
    (2009). A candidate that a signal gives no score above zero is not in that signal's list.
    """
    total = np.zeros(len(next(iter(values.values()))), np.float32)
    for name, weight in weights.items():
        scores = values[name]
        ranks = np.empty(len(scores), np.float32)
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        total += np.where(scores > 0, weight / (k + ranks), 0.0)
    return total


def spread(scores: Floats, groups: NDArray[np.int32], weight: float) -> Floats:
    """Scores lowered so that many turns of one conversation do not crowd out others.

    In the order of the scores, the r-th turn of a conversation (from 0) loses ``weight`` x ln(1 + r). Group 0 stands for
    records of no conversation, which lose nothing.
    """
    order = np.argsort(-scores, kind="stable")
    together = order[np.argsort(groups[order], kind="stable")]
    first = np.flatnonzero(np.diff(groups[together], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    lowered = scores.copy()
    lowered[together] -= np.where(groups[together] > 0, weight * np.log1p(rank), 0.0).astype(np.float32)
    return lowered
