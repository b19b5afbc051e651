"""The mean of a user's vectors, which is taken away before they are compared where it says more than what is left.

All texts are alike to some models: any two of multilingual-e5-small have a cosine of about .8, and what tells them apart lies
in the rest (anisotropy: Mu and Viswanath 2018). The mean is that of the user's own vectors: nobody else's text moves a score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.vectors import dot

__all__ = ["Centre", "Probe", "centre_of", "sample_size"]

Floats = NDArray[np.float32]

LONG, LONGEST = 0.5, 0.99
"""Squared length of a mean, which is the cosine of any two texts on average, from which it is taken away, and up to which
anything is left. In conversations it is .2 to .4 for all-MiniLM-L6-v2 and .8 to .86 for multilingual-e5-small."""
FEWEST, MOST = 64, 2_048
"""Records from which there is a mean, and of how many it is made."""
NOWHERE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A query as it is compared with stored vectors: ``cosines(vectors @ direction, inverse)``.

    Attributes:
        direction: (d,) unit vector.
        shift: what the mean itself has in common with it.
    """

    direction: Floats
    shift: float = 0.0

    def cosines(self, dots: Floats, inverse: Floats | None) -> Floats:
        """Cosines of what is left without the mean, from products with ``direction`` and ``Centre.inverse``; None: as is."""
        return dots if inverse is None else (dots - self.shift) * inverse


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """A mean that is long enough to be taken away.

    Attributes:
        mean: (d,), shorter than 1.
    """

    mean: Floats

    def probe(self, query: Floats) -> Probe:
        """A query, a unit vector, without the mean."""
        rest = query - self.mean
        length = float(np.sqrt(dot(rest, rest)))
        direction = rest / length if length > NOWHERE else np.zeros_like(rest)
        return Probe(direction, float(dot(self.mean, direction)))

    def inverse(self, vectors: Floats) -> Floats:
        """One over the length of what is left of each of (n, d) vectors; 0 for rows of zeros, which are none."""
        with np.errstate(all="ignore"):  # as in mnemic.vectors.dot
            squares = np.vecdot(vectors, vectors)
            left = squares - 2 * np.vecdot(vectors, self.mean) + np.vecdot(self.mean, self.mean)
        return np.where(squares > 0, 1 / np.sqrt(np.maximum(left, np.float32(NOWHERE))), np.float32(0))

    def apart(self, vectors: Floats) -> Floats:
        """Unit vectors without the mean, to be compared with each other; shape (n, d), rows of zeros stay so."""
        return (vectors - self.mean) * self.inverse(vectors)[:, None]


def sample_size(rows: int) -> int:
    """Of how many of the first rows the mean is made: it stays until a record has twice as many; 0 for too few."""
    return 0 if rows < FEWEST else min(MOST, 1 << (rows.bit_length() - 1))


def centre_of(sample: Floats) -> Centre | None:
    """The mean of unit vectors, shape (n, d), where it is long; rows of zeros are none."""
    count = np.count_nonzero(sample.any(axis=1)) if sample.size else 0
    if count < FEWEST:
        return None
    mean = (sample.sum(axis=0, dtype=np.float64) / count).astype(np.float32)
    return Centre(mean) if LONG < float(dot(mean, mean)) < LONGEST else None
