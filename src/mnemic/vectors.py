"""The arithmetic of vectors that several stages share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CALIBRATED_FOR", "NEAR", "among", "base_cosine", "dot", "eased", "highest", "unit", "unpacked"]

CALIBRATED_FOR = "all-MiniLM-L6-v2"
"""The embedder for whose cosines thresholds are made; those of others are brought to its scale."""
NEAR = 0.1
"""How far from one the length of a stored vector may be."""

_SAMPLED, _MANY = 8, 256
"""One of so many values tells which may be among the highest, where there are so many for each that is wanted."""
_GATHERED = 4
"""Where no more than one of so many values is allowed, these are gathered; else the others are made lowest, which is sooner."""
_USUAL_BASE, _HIGHEST_BASE, _FEWEST = 0.15, 0.95, 4
"""Base of the default embedder, the highest that is believed, and from how many records one is told."""


def unit(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which rows are directions: of numbers, and about as long as one. Shape (n,)."""
    with np.errstate(all="ignore"):
        return np.abs(np.sqrt(np.vecdot(rows, rows)) - 1) <= NEAR


def unpacked(blob: bytes, count: int = 1) -> NDArray[np.float32]:
    """So many vectors as a record stores them, float16 one after the other: shape (count, dimension).

    One that is no direction, because a byte of it changed on the disk, is zeros, as where there is none: a single NaN in a
    product would reach every score.

    Raises:
        ValueError: they are not of one length.
    """
    rows = np.frombuffer(blob, "<f2").astype(np.float32).reshape(count, -1)
    rows[~unit(rows)] = 0
    return rows


def dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float32]:
    """The matrix product ``left @ right``.

    Some processors' kernels for small matrices compute beyond the edge and throw that away, yet leave the floating-point
    flags of what they threw away: NumPy would then warn of a value that is not there.
    """
    with np.errstate(all="ignore"):
        return left @ right


def highest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """The places of the k highest values, ascending; all of them where there are no more. Of equal ones the first count."""
    if not 0 < k < len(values):
        return np.arange(min(max(k, 0), len(values)))
    some = values[::_SAMPLED] if len(values) > _MANY * k else values
    threshold = np.partition(some, len(some) - k)[len(some) - k]  # that of all is not lower
    above = np.flatnonzero(values > threshold)
    if len(above) > k:
        high = values[above]
        threshold = np.partition(high, len(high) - k)[len(high) - k]
        above = above[high > threshold]
    level = np.flatnonzero(values == threshold)[: k - len(above)]
    return np.sort(np.concatenate([above, level]))


def among(
    values: NDArray[np.float32], allowed: NDArray[np.bool_], k: int, *, above: float = -np.inf
) -> NDArray[np.intp]:
    """The places of the k highest values above a floor among the allowed ones, ascending; of equal ones the first count."""
    allowed = allowed & (values > above)
    if np.count_nonzero(allowed) * _GATHERED < len(values):
        rows = np.flatnonzero(allowed)
        return rows[highest(values[rows], k)]
    rows = highest(np.where(allowed, values, np.float32(-np.inf)), k)
    return rows[allowed[rows]]


def base_cosine(vectors: NDArray[Any]) -> float:
    """The cosine of texts that have nothing to do with each other: what a quarter of all pairs stay below.

    Args:
        vectors: of some of somebody's records, shape (n, d); rows of zeros are left out, and 4 others are needed.

    Returns:
        The cosine, at least that of the default embedder, for which the thresholds are made.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    rows = np.asarray(vectors, np.float32)[lengths > 0] / lengths[lengths > 0][:, None]
    if len(rows) < _FEWEST:
        return _USUAL_BASE
    cosines = dot(rows, rows.T)[np.triu_indices(len(rows), 1)]
    return min(max(float(np.quantile(cosines, 0.25)), _USUAL_BASE), _HIGHEST_BASE)


def eased(cosines: NDArray[np.float64], base: float) -> NDArray[np.float64]:
    """Cosines as the default embedder would give them: some embedders hold all texts to be alike, from a base of .7 to 1."""
    return cosines if base <= _USUAL_BASE else 1 - (1 - cosines) * ((1 - _USUAL_BASE) / (1 - base))
