"""From features and vector to valence, arousal and how sure that is: pure arithmetic on the fitted weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mnemic.emotion.features import FEATURES
from mnemic.vectors import dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemic.emotion.weights import Weights

    Floats: TypeAlias = NDArray[np.float32]

__all__ = ["bounded", "confidence", "evidence", "kernel", "ratings", "standardised", "text_ratings"]

LIMIT = 10.0  # standard deviations: beyond, an outlier counts no more
KNEE = 0.8


def standardised(found: Floats, weights: Weights) -> Floats:
    """Features on one scale, their sum of squares about 1: shape (n, features), float32."""
    scaled = np.clip((found - weights.mean) / weights.spread, -LIMIT, LIMIT)
    return (scaled / np.sqrt(len(FEATURES))).astype(np.float32)


def kernel(points: Floats, centres: Floats, squares: Floats, width: float) -> Floats:
    """The Gaussian of the distance of each point to each centre, in 0..1: shape (points, centres).

    Args:
        points: shape (n, d).
        centres: shape (m, d).
        squares: the squared lengths of the centres, shape (m,).
        width: the larger, the nearer a point must be to count.
    """
    apart = np.sum(points * points, axis=1)[:, None] + squares - 2 * dot(points, centres.T)
    return np.exp(-width * np.maximum(apart, 0))


def ratings(vectors: Floats, scaled: Floats, weights: Weights) -> Floats:
    """Valence and arousal around neutral, in points of the five-point scale.

    Args:
        vectors: unit vectors of the fitted embedder, shape (n, 384).
        scaled: standardised features, shape (n, features).
        weights: the fitted weights.

    Returns:
        float32 array of shape (n, 2).
    """
    width, share = (float(value) for value in weights.scale)
    near = kernel(np.hstack([vectors, share * scaled]), weights.centres, weights.squares, width)
    straight = dot(np.hstack([vectors, scaled]), weights.linear)
    return dot(near, weights.kernel) + straight + weights.bias - weights.neutral


def text_ratings(scaled: Floats, weights: Weights) -> Floats:
    """The same from the features alone: less exact, and good for any embedder or none."""
    return dot(scaled, weights.text_linear) + weights.text_bias - weights.neutral


def bounded(found: Floats) -> Floats:
    """Ratings as places on the plane: one point of the scale is 1; beyond 0.8 it takes ever more to come nearer to 1."""
    size = np.abs(found)
    beyond = KNEE + (1 - KNEE) * np.tanh((size - KNEE) / (1 - KNEE))
    return np.copysign(np.where(size > KNEE, beyond, size), found)


def evidence(found: Floats, by_text: Floats, length: Floats) -> Floats:
    """What speaks for an estimate: how far from neutral, how near the features alone come to it, how many words.

    Args:
        found: the estimates, shape (n, 2).
        by_text: those from the features alone, shape (n, 2).
        length: logarithm of the number of words, 0 to 1, shape (n,).

    Returns:
        float32 array of shape (n, 4); the last column is 1.
    """
    seen = np.ones((len(found), 4), np.float32)
    seen[:, 0] = np.abs(found).max(axis=1)
    seen[:, 1] = np.exp(-2 * np.abs(found - by_text).max(axis=1))
    seen[:, 2] = length
    return seen


def confidence(seen: Floats, sure: Floats) -> Floats:
    """Twice the chance, above even, that the stronger of the two signs is right: 0 is a coin, 1 is certain."""
    chance = 1 / (1 + np.exp(-np.clip((seen * sure).sum(axis=1), -30, 30)))
    return np.clip(2 * chance - 1, 0, 1)
