"""Shared vector arithmetic, and the check of what a model returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import EmbedderError

Rows = NDArray[np.intp]
"""Numbers of rows."""
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

MINILM, DIMENSION = "all-MiniLM-L6-v2", 384
"""The default embedder, and the dimension of its vectors."""
DEFAULT_MODELS = (MINILM, f"{MINILM}-int8")
"""The embedder whose cosines the thresholds are calibrated for, in both forms; those of others are scaled to it."""
LENGTH_TOLERANCE = 0.1
"""Tolerance for the length of a stored unit vector."""

_SAMPLE_STEP, _SAMPLE_RATIO = 8, 256
"""A sample of one in 8 values bounds the threshold, where there are more than 256 values per wanted one."""
_GATHER_RATIO = 4
"""Below one allowed value in 4, the allowed ones are gathered; else the others are set to -inf, which is faster."""
_DEFAULT_BASE, _HIGHEST_BASE, _MIN_ROWS = 0.15, 0.95, 4
"""Base cosine of the default embedder, highest plausible base, and least records to estimate one."""


def unit(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which rows are finite and about of length 1. Shape (n,)."""
    with np.errstate(all="ignore"):
        return np.abs(np.sqrt(np.vecdot(rows, rows)) - 1) <= LENGTH_TOLERANCE


def unpacked(blob: bytes, count: int = 1) -> NDArray[np.float32]:
    """Decode stored vectors, float16 one after the other: shape (count, dimension).

    A row that is not a unit vector, because of damage on disk, becomes zeros: a single NaN would spread to every score.

    Raises:
        ValueError: the rows are not of one length.
    """
    rows = np.frombuffer(blob, "<f2").astype(np.float32).reshape(count, -1)
    rows[~unit(rows)] = 0
    return rows


def packed(rows: NDArray[np.float32]) -> bytes:
    """Vectors as they are stored: float16, one after the other."""
    return rows.astype("<f2").tobytes()


def dot(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float32]:
    """The matrix product ``left @ right``.

    Some processors' kernels for small matrices compute beyond the edge and discard that, yet leave its floating-point
    flags set: NumPy would then warn about a value that is not there.
    """
    with np.errstate(all="ignore"):
        return left @ right


def appended(matrix: Floats, count: int, row: Floats) -> Floats:
    """The matrix with a row after its first ``count``; it doubles as it grows, to avoid a copy per row."""
    if count == len(matrix):
        grown = np.empty((max(64, 2 * count), len(row)), np.float32)
        if count:
            grown[:count] = matrix
        matrix = grown
    matrix[count] = row
    return matrix


def highest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Indices of the k highest values, ascending; all of them if there are no more. Ties go to the first."""
    if not 0 < k < len(values):
        return np.arange(min(max(k, 0), len(values)))
    some = values[::_SAMPLE_STEP] if len(values) > _SAMPLE_RATIO * k else values
    threshold = np.partition(some, len(some) - k)[len(some) - k]  # the threshold over all values is not lower
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
    """Indices of the k highest allowed values above a floor, ascending. Ties go to the first."""
    allowed = allowed & (values > above)
    if np.count_nonzero(allowed) * _GATHER_RATIO < len(values):
        rows = np.flatnonzero(allowed)
        return rows[highest(values[rows], k)]
    rows = highest(np.where(allowed, values, np.float32(-np.inf)), k)
    return rows[allowed[rows]]


def base_cosine(vectors: NDArray[Any]) -> float:
    """The typical cosine of unrelated texts: the lower quartile over all pairs.

    Args:
        vectors: of a sample of records, shape (n, d); rows of zeros are ignored, and 4 others are needed.

    Returns:
        The cosine, at least that of the default embedder.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    rows = np.asarray(vectors, np.float32)[lengths > 0] / lengths[lengths > 0][:, None]
    if len(rows) < _MIN_ROWS:
        return _DEFAULT_BASE
    cosines = dot(rows, rows.T)[np.triu_indices(len(rows), 1)]
    return min(max(float(np.quantile(cosines, 0.25)), _DEFAULT_BASE), _HIGHEST_BASE)


def eased(cosines: NDArray[np.float64], base: float) -> NDArray[np.float64]:
    """Cosines on the scale of the default embedder: those of some embedders all lie between .7 and 1."""
    return cosines if base <= _DEFAULT_BASE else 1 - (1 - cosines) * ((1 - _DEFAULT_BASE) / (1 - base))


def top(scores: Floats, allowed: NDArray[np.bool_], k: int, *, above: float) -> Rows:
    """The rows of the k highest allowed scores above a floor, best first; ties go to the lower row."""
    rows = among(scores, allowed, k, above=above)
    return rows[np.argsort(-scores[rows], kind="stable")]


def ascending(size: int, *parts: Rows | Sequence[int]) -> Rows:
    """The union of several lists of rows, ascending; all are below ``size``."""
    among = np.zeros(size, np.bool_)
    for rows in parts:
        among[rows] = True
    return np.flatnonzero(among)


SMALLEST_NORM = 1e-12
SMALLEST_SAFE, LARGEST_SAFE = 1e-6, 1e100
"""Between these lengths a vector is not zero, and its squares neither underflow nor overflow."""
UNIT = 1e-6
"""How far the square of a length may be from 1: as far as float32 can be after a division by the length."""


def checked(vectors: object, count: int, dimension: int | None) -> Floats:
    """The output of a model as unit rows. Rows that are float32 and of length 1 already are not divided again.

    Args:
        vectors: anything that numpy can read as an array of `count` rows.
        count: the number of texts.
        dimension: the expected dimension; None accepts any.

    Returns:
        C-contiguous float32 array of shape (count, dimension) with rows of length 1.

    Raises:
        EmbedderError: not a 2-d array of numbers, wrong count or dimension, NaN, infinity or a zero vector.
    """
    given = cast("Floats", vectors)
    if count and isinstance(vectors, np.ndarray) and given.dtype == np.float32 and given.ndim == 2:
        # vdot, unlike dot, is silent when squares overflow
        squares = [cast("float", np.vdot(row, row)) for row in given]
        if all([abs(square - 1.0) < UNIT for square in squares]):  # noqa: C419 - faster than a generator
            _check_shape(given.shape, count, dimension)
            return given.copy()
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"The model did not return a table of numbers: {error}. Check the model.") from error
    if count == 0 and rows.size == 0:
        return np.zeros((0, dimension or 0), dtype=np.float32)
    _check_shape(rows.shape, count, dimension)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if ((norms > SMALLEST_SAFE) & (norms < LARGEST_SAFE)).all():
        return np.ascontiguousarray(rows / norms[:, None], dtype=np.float32)
    if not np.isfinite(rows).all():
        raise EmbedderError("The model returned NaN or infinity. Check its weights and its input.")
    # Dividing by the largest value first avoids overflow and underflow of the squares.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if (largest < SMALLEST_NORM).any():
        raise EmbedderError("The model returned a zero vector, which has no direction. Check its weights.")
    rows = rows / largest
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows, dtype=np.float32)


def _check_shape(shape: tuple[int, ...], count: int, dimension: int | None) -> None:
    if len(shape) != 2 or shape[0] != count or shape[1] == 0:
        raise EmbedderError(f"The model returned an array of shape {shape} for {count} texts. Check the model.")
    if dimension is not None and shape[1] != dimension:
        raise EmbedderError(
            f"The model returned vectors of dimension {shape[1]} instead of {dimension}. "
            "Was the model replaced? A record holds vectors of one model only."
        )
