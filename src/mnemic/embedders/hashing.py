"""An embedder without a model: hashed words and character n-grams."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from mnemic.validation import option, prepared
from mnemic.vectors import checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mnemic.protocols import InputKind, Vectors

WORD = re.compile(r"\w+")
PIECE_LENGTHS = (3, 4)
PIECE_WEIGHT = 0.25
CANCELLED = 1e-9
MIXER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio: spreads CRC values over all 64 bits


class HashingEmbedder:
    """Deterministic vectors from hashed words and character n-grams.

    Texts with common words or parts of words are similar; meaning is ignored. It needs no files and no network, is fast and
    gives the same vectors on every platform: for tests, examples, and machines without a model. Texts are cut to their first
    20,000 characters. A text without words has a vector too.

    Args:
        dimension: the dimension of the vectors, 8 to 65,536. It is part of the id.
    """

    def __init__(self, dimension: int = 256) -> None:
        self._dimension = option("dimension", dimension, 8, 65_536)

    @property
    def id(self) -> str:
        """``hashing-`` and the dimension."""
        return f"hashing-{self._dimension}"

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._dimension

    def embed(self, texts: Sequence[str], *, kind: InputKind = "document") -> Vectors:
        """Embed texts; queries and documents are treated alike.

        Returns:
            float32 array of shape (len(texts), dimension) with unit rows.

        Raises:
            InvalidInput: `texts` is not a sequence of strings.
        """
        rows = [_row(text, self._dimension) for text in prepared(texts, kind)]
        return checked(rows, len(rows), self._dimension)


def _row(text: str, dimension: int) -> np.ndarray:
    weights: dict[str, float] = {}
    for feature, weight in _features(text.lower()):
        weights[feature] = weights.get(feature, 0.0) + weight
    row = _scatter(weights, dimension)
    # No words, or words that cancel each other out: hash the whole text.
    return row if np.abs(row).max() > CANCELLED else _scatter({f"text {text}": 1.0}, dimension)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in WORD.findall(text):
        yield word, 1.0
        framed = f"<{word}>"
        for length in PIECE_LENGTHS:
            for start in range(len(framed) - length + 1):
                yield f"{length} {framed[start : start + length]}", PIECE_WEIGHT


def _scatter(weights: dict[str, float], dimension: int) -> np.ndarray:
    """Sum the weights into `dimension` buckets; the hash of a feature gives its bucket and sign."""
    hashes = np.fromiter((crc32(feature.encode()) for feature in weights), dtype=np.uint64, count=len(weights))
    mixed = hashes * MIXER
    places = ((mixed >> np.uint64(32)) % np.uint64(dimension)).astype(np.intp)
    signs = np.where(mixed >> np.uint64(31) & np.uint64(1), 1.0, -1.0)
    # Square roots limit the weight of a word that is repeated a hundred times.
    values = np.sqrt(np.fromiter(weights.values(), dtype=np.float64, count=len(weights)))
    return np.bincount(places, weights=signs * values, minlength=dimension)
