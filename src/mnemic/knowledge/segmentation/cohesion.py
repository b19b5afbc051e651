"""How closely neighbouring messages hang together: similarities within a band, as matrices of shape (n, width)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.errors import InvalidInput
from mnemic.text.terms import content_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["band", "block_depth", "embedded", "lengths", "unit_rows"]

WORDS_SHARE = 0.2
"""How much of a similarity is common words; the rest is the embedding."""
WORD_SLOTS = 512
LOOKED_AT = 4_000
"""Characters of a message whose words count."""


def embedded(count: int, vectors: Floats | None) -> NDArray[np.bool_]:
    """Which messages have an embedding: a row that is finite and not all zeros.

    Raises:
        InvalidInput: the number of vectors is not ``count``.
    """
    import numpy as np

    if vectors is None:
        return np.zeros(count, np.bool_)
    if vectors.ndim != 2 or len(vectors) != count:
        raise InvalidInput(
            f"There are {count} messages but the vectors have the shape {vectors.shape}. Give one row per message, of zeros "
            "where a message has none."
        )
    return np.logical_and(np.isfinite(vectors).all(axis=1), np.any(vectors != 0, axis=1))


def unit_rows(texts: Sequence[str], vectors: Floats | None) -> Floats:
    """One vector per message whose products are similarities: embedding and words.

    Args:
        texts: the messages' texts.
        vectors: their embeddings, shape (n, d); rows of zeros or NaN stand for messages without one, whose words alone count.

    Returns:
        Shape (n, d + 512): rows of length 1 where both parts are known, shorter where one is missing.

    Raises:
        InvalidInput: the number of vectors is not that of the texts.
    """
    import numpy as np

    words = _word_rows(texts)
    if vectors is None:
        return words
    known = embedded(len(texts), vectors)
    size = vectors.shape[1]
    rows = np.empty((len(texts), size + WORD_SLOTS), np.float32)
    rows[:, :size] = vectors
    rows[~known, :size] = 0.0
    scale = np.sqrt(1 - WORDS_SHARE) / np.where(known, _row_lengths(rows[:, :size]), 1)
    rows[:, :size] *= scale.astype(np.float32)[:, None]
    rows[:, size:] = words * np.where(known, np.sqrt(WORDS_SHARE), 1).astype(np.float32)[:, None]
    return rows


def _row_lengths(rows: Floats) -> Floats:
    import numpy as np

    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _word_rows(texts: Sequence[str]) -> Floats:
    """The distinct content words of each text, hashed to signed slots, at length 1."""
    import numpy as np

    rows = np.zeros((len(texts), WORD_SLOTS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for term in set(content_terms(text[:LOOKED_AT])):
            code = zlib.crc32(term.encode())
            row[code % WORD_SLOTS] += 1.0 if code >> 31 else -1.0
    found = _row_lengths(rows)
    return (rows / np.where(found > 0, found, 1)[:, None]).astype(np.float32, copy=False)


def band(rows: Floats, width: int) -> Floats:
    """The product of each row with those after it: ``band[i, d]`` is row i times row i + d, 0 beyond the end."""
    import numpy as np

    found = np.zeros((len(rows), width), np.float32)
    for distance in range(min(width, len(rows))):
        found[: len(rows) - distance, distance] = np.einsum("ij,ij->i", rows[: len(rows) - distance], rows[distance:])
    return found


def lengths(products: Floats) -> Floats:
    """The length of the sum of every run of messages: ``lengths[i, k - 1]`` of the k messages from i on, 0 beyond the end.

    A run of one subject sums to a long vector; where subjects mix, directions cancel.
    """
    import numpy as np

    count, width = products.shape
    added = np.cumsum(np.concatenate([products[:, :1], 2 * products[:, 1:]], axis=1), axis=1, dtype=np.float64)
    found = np.zeros((count, width), np.float32)
    squares = np.zeros(count + 1)
    for size in range(1, min(width, count) + 1):
        runs = count - size + 1
        squares[:runs] = squares[1 : runs + 1] + added[:runs, size - 1]
        found[:runs, size - 1] = np.sqrt(np.maximum(squares[:runs], 0))
        squares[runs:] = 0
    return found


def block_depth(products: Floats, sums: Floats) -> Floats:
    """How deep the similarity of the two messages before and after each place dips below its peaks on both sides.

    TextTiling's depth score (Hearst, Computational Linguistics 23(1), 1997) over blocks of two messages; place 0 has none.
    """
    import numpy as np

    count = len(products)
    found = np.zeros(count, np.float32)
    if count < 2:
        return found
    near = np.zeros(count)
    near[1:] = products[:-1, 1]
    for distance in (2, 3):
        if products.shape[1] > distance:
            near[distance:] += products[: count - distance, distance]
    if products.shape[1] > 2:
        near[1:-1] += products[:-2, 2]
    before = np.concatenate([[1.0, sums[0, 0]], sums[: count - 2, 1]])
    after = np.concatenate([sums[:-1, 1], sums[-1:, 0]])
    similarity = (near / np.maximum(before * after, 1e-6))[1:]
    left, right = _peaks(similarity), _peaks(similarity[::-1])[::-1]
    found[1:] = left + right - 2 * similarity
    return found


def _peaks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value, the top of the slope that leads down to it from the left."""
    found = values.copy()
    for at in range(1, len(values)):
        if values[at - 1] >= values[at]:
            found[at] = found[at - 1]
    return found
