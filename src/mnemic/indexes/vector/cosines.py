"""The cosines of a query with every row of one user: exact, or for very many rows exact wherever it matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.vector.centre import Probe
from mnemic.vectors import among, dot

__all__ = ["LARGE", "Cosines", "HeldCosines", "nearest_wording", "signs_of"]

Floats = NDArray[np.float32]
Signs = NDArray[np.uint64]

LARGE = 50_000
"""Rows from which signs choose which rows are multiplied: below, multiplying them all costs less than a search may."""
BLOCK = 256
"""Rows that are gathered and multiplied at a time: as many as stay in a processor's cache meanwhile."""
KEPT = 4_000
"""Rows that are multiplied after the signs have chosen: the first 200 of all are among them in 99 of 100 cases (MiniLM)."""


def signs_of(vectors: Floats, mean: Floats | float = 0.0) -> Signs:
    """The signs of vectors less a mean as bits, shape (words, n): 48 bytes for 384 numbers, one row for each 64 of them."""
    bits = np.packbits(vectors > mean, axis=1)
    short = -bits.shape[1] % 8
    if short:
        bits = np.pad(bits, ((0, 0), (0, short)))
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)


def similarities(matrix: Floats, query: Floats) -> Floats:
    """Cosines of a unit query with unit vectors, shape (rows,).

    Row by row on one thread: as fast as a matrix product on one, while a product on all cores can be many times slower on
    a machine that is busy.
    """
    with np.errstate(all="ignore"):  # as in mnemic.vectors.dot
        return np.vecdot(matrix, query)


class Cosines(Protocol):
    """What a query has in common with every row; the cosine of every row that is ranked is exact."""

    values: Floats
    """Shape (rows,); rough where a row is not among those that may matter."""

    def settle(self, allowed: NDArray[np.bool_]) -> None:
        """Make exact the rows that are likely the nearest among those a search may return."""
        ...

    def sharpen(self, rows: NDArray[np.intp]) -> None:
        """Make rows exact that are not yet."""
        ...


def nearest_wording(found: Sequence[Floats]) -> Floats:
    """For every row the highest of its cosines with several wordings of one question."""
    best = found[0]
    for more in found[1:]:
        best = np.maximum(best, more)
    return best


class HeldCosines:
    """The cosines of rows that are in RAM.

    With signs, rows are first compared by how many signs they share with the query, which tells the angle roughly (random
    hyperplanes: Charikar 2002); those that may matter are then multiplied; the others serve only to say that a conversation
    holds nothing near.

    Args:
        matrix: (n, d) unit rows, zeros where there is no vector.
        signs: (words, n) of the same rows less the mean, or None to multiply all.
        wordings: of the query; a row counts by the nearest of them.
        inverse: see ``Centre.inverse``; None where no mean is taken away.
    """

    def __init__(
        self, matrix: Floats, signs: Signs | None, wordings: Sequence[Probe], inverse: Floats | None = None
    ) -> None:
        self._matrix, self._wordings, self._inverse = matrix, wordings, inverse
        self._exact: NDArray[np.bool_] | None = None
        if signs is None:
            self.values = nearest_wording(
                [one.cosines(similarities(matrix, one.direction), inverse) for one in wordings]
            )
            return
        self.values = nearest_wording([_by_angle(signs, one.direction) for one in wordings])
        self._exact = np.zeros(len(matrix), np.bool_)

    def settle(self, allowed: NDArray[np.bool_]) -> None:
        """Multiply the rows that are likely the nearest among those a search may return."""
        if self._exact is None:
            return
        self.sharpen(among(self.values, allowed, KEPT))

    def sharpen(self, rows: NDArray[np.intp]) -> None:
        """Multiply rows that have not been multiplied yet."""
        if self._exact is None:
            return
        wanted = np.zeros(len(self._exact), np.bool_)
        wanted[rows] = True
        rows = np.flatnonzero(wanted & ~self._exact)
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            chosen = self._matrix.take(some, axis=0)
            inverse = None if self._inverse is None else self._inverse[some]
            self.values[some] = nearest_wording(
                [one.cosines(dot(chosen, one.direction), inverse) for one in self._wordings]
            )
        self._exact[rows] = True


def _by_angle(signs: Signs, query: Floats) -> Floats:
    """A rough cosine from the share of signs that differ; it falls with every sign that does."""
    differ = np.zeros(signs.shape[1], np.uint16)
    word, few = np.empty(signs.shape[1], np.uint64), np.empty(signs.shape[1], np.uint8)
    for words, own in zip(signs, signs_of(query[None])[:, 0], strict=True):
        np.bitwise_xor(words, own, out=word)
        np.bitwise_count(word, out=few)
        differ += few
    table = np.cos(np.pi * np.arange(len(query) + 1) / len(query)).astype(np.float32)
    return np.take(table, differ)
