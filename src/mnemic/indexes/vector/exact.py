"""The vectors of one user, one row per catalog row, and their exact cosines with a query."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import Columns
from mnemic.protocols import VectorSearch
from mnemic.types import CatalogDelta
from mnemic.vectors import Floats, Rows, among, dot, unpacked

LONG, LONGEST = 0.5, 0.99
"""Squared length of the mean vector (the average cosine of any two texts): it is removed from vectors in this range. In
conversations it is .2 to .4 for all-MiniLM-L6-v2 and .8 to .86 for multilingual-e5-small."""
FEWEST, MOST = 64, 2_048
"""Minimum number of records for a mean, and maximum number of records in its sample."""
TINY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A query vector ready for comparison: ``cosines(vectors @ direction, inverse)``.

    Attributes:
        direction: (d,) unit vector.
        shift: its dot product with the mean.
    """

    direction: Floats
    shift: float = 0.0

    def cosines(self, dots: Floats, inverse: Floats | None) -> Floats:
        """Centred cosines from products with ``direction`` and ``Centre.inverse``; None: no mean is removed."""
        return dots if inverse is None else (dots - self.shift) * inverse


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """The mean vector of a record, removed before vectors are compared.

    Attributes:
        mean: (d,), shorter than 1.
    """

    mean: Floats

    def probe(self, query: Floats) -> Probe:
        """The probe of a query, a unit vector, without the mean."""
        rest = query - self.mean
        length = float(np.sqrt(dot(rest, rest)))
        direction = rest / length if length > TINY else np.zeros_like(rest)
        return Probe(direction, float(dot(self.mean, direction)))

    def inverse(self, vectors: Floats) -> Floats:
        """(n,) reciprocal lengths of (n, d) vectors without the mean; 0 for rows of zeros (no vector)."""
        with np.errstate(all="ignore"):  # as in mnemic.vectors.dot
            squares = np.vecdot(vectors, vectors)
            remainders = squares - 2 * np.vecdot(vectors, self.mean) + np.vecdot(self.mean, self.mean)
        return np.where(squares > 0, 1 / np.sqrt(np.maximum(remainders, np.float32(TINY))), np.float32(0))

    def apart(self, vectors: Floats) -> Floats:
        """Vectors without the mean, scaled to unit length; shape (n, d). Rows of zeros stay zero."""
        return (vectors - self.mean) * self.inverse(vectors)[:, None]


def sample_size(rows: int) -> int:
    """The number of first rows in the sample of the mean: it changes when a record doubles; 0 for too few rows."""
    return 0 if rows < FEWEST else min(MOST, 1 << (rows.bit_length() - 1))


def centre_of(sample: Floats) -> Centre | None:
    """The mean of unit vectors, shape (n, d); None if it is short. Rows of zeros are ignored."""
    count = np.count_nonzero(sample.any(axis=1)) if sample.size else 0
    if count < FEWEST:
        return None
    mean = (sample.sum(axis=0, dtype=np.float64) / count).astype(np.float32)
    return Centre(mean) if LONG < float(dot(mean, mean)) < LONGEST else None


Signs = NDArray[np.uint64]

LARGE = 50_000
"""Number of rows from which signs preselect rows: below it, a full matrix product is fast enough."""
BLOCK = 256
"""Rows gathered and multiplied at a time; a block fits in the processor cache."""
KEPT = 4_000
"""Rows multiplied after the preselection by signs: they contain the true first 200 in 99 of 100 cases (MiniLM)."""


def signs_of(vectors: Floats, mean: Floats | float = 0.0) -> Signs:
    """Signs of vectors minus a mean as bits, shape (words, n), 64 dimensions per word: 48 bytes for 384 dimensions."""
    bits = np.packbits(vectors > mean, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)


def similarities(matrix: Floats, query: Floats) -> Floats:
    """Cosines of a unit query with unit vectors, shape (rows,).

    Row by row on one thread: as fast as a single-threaded matrix product, while a product on all cores can be many times
    slower on a busy machine.
    """
    with np.errstate(all="ignore"):  # as in mnemic.vectors.dot
        return np.vecdot(matrix, query)


def _nearest(wordings: Sequence[Probe], dots: Callable[[Floats], Floats], inverse: Floats | None) -> Floats:
    """The maximum cosine of every row over several wordings of one query; ``dots`` multiplies all rows with a direction."""
    cosines = [probe.cosines(dots(probe.direction), inverse) for probe in wordings]
    return cosines[0] if len(cosines) == 1 else np.maximum.reduce(cosines)


class MatrixCosines:
    """Cosines of a query with every row in RAM, in ``values``, shape (rows,); those of ranked rows are exact.

    With signs, rows are first compared by the number of signs shared with the query, which estimates the angle (random
    hyperplanes: Charikar 2002); candidates are then multiplied. The estimates of the others only show that a conversation
    has no near row.

    Args:
        matrix: (n, d) unit rows, zeros without a vector.
        signs: (words, n) of the same rows minus the mean; None to multiply all rows.
        wordings: of the query; a row gets its maximum over them.
        inverse: see ``Centre.inverse``; None if no mean is removed.
    """

    def __init__(
        self, matrix: Floats, signs: Signs | None, wordings: Sequence[Probe], inverse: Floats | None = None
    ) -> None:
        self._matrix, self._wordings, self._inverse = matrix, wordings, inverse
        self._exact: NDArray[np.bool_] | None = None
        if signs is None:
            self.values = _nearest(wordings, lambda direction: similarities(matrix, direction), inverse)
            return
        self.values = _nearest(wordings, lambda direction: _angle_cosines(signs, direction), None)
        self._exact = np.zeros(len(matrix), np.bool_)

    def settle(self, allowed: NDArray[np.bool_], enough: int | None = None) -> None:  # noqa: ARG002
        """Multiply the likely nearest of the allowed rows."""
        if self._exact is not None:
            self.sharpen(among(self.values, allowed, KEPT))

    def sharpen(self, rows: NDArray[np.intp]) -> None:
        """Multiply rows that were not multiplied yet."""
        if self._exact is None:
            return
        is_requested = np.zeros(len(self._exact), np.bool_)
        is_requested[rows] = True
        rows = np.flatnonzero(is_requested & ~self._exact)
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            vectors = self._matrix.take(block, axis=0)
            inverse = None if self._inverse is None else self._inverse[block]
            self.values[block] = _nearest(
                self._wordings, lambda direction, vectors=vectors: dot(vectors, direction), inverse
            )
        self._exact[rows] = True


def _angle_cosines(signs: Signs, query: Floats) -> Floats:
    """Cosines estimated from the share of differing signs."""
    differ = np.zeros(signs.shape[1], np.uint16)
    word, counts = np.empty(signs.shape[1], np.uint64), np.empty(signs.shape[1], np.uint8)
    for words, bits in zip(signs, signs_of(query[None])[:, 0], strict=True):
        np.bitwise_xor(words, bits, out=word)
        np.bitwise_count(word, out=counts)
        differ += counts
    table = np.cos(np.pi * np.arange(len(query) + 1) / len(query)).astype(np.float32)
    return np.take(table, differ)


Fetch = Callable[[Sequence[int]], Sequence[tuple[int, bytes]]]
"""Returns (doc, float16 bytes) of docs; those without a vector are left out."""

ENOUGH = 200
"""Rows that a search ranks by cosine; the number of candidates that a recipe takes from each signal."""
FETCHED = 4_000
"""Up to this number of allowed rows are fetched and multiplied without the index, if ``ENOUGH`` are wanted."""
ASKED, SPARE, FURTHER = 400, 2, 4
"""Minimum k for the index, if ``ENOUGH`` are wanted, the factor above the expected need, and that for the next attempt."""
COSTS = 4
"""The cost of one result of an index, in fetched and multiplied rows."""


def _probes(wordings: Sequence[Floats], centre: Centre | None) -> list[Probe]:
    return [Probe(wording) if centre is None else centre.probe(wording) for wording in wordings]


class MatrixRows:
    """Vectors in RAM: ``matrix``, shape (rows, dimension), in which rows without a vector are zeros.

    Args:
        matrix: (rows, dimension) float32.
        signs: see ``MatrixCosines``.
        centre: the mean to remove.
        inverse: ``centre.inverse(matrix)``, computed here if it is not given.
    """

    def __init__(
        self,
        matrix: Floats,
        signs: NDArray[np.uint64] | None,
        centre: Centre | None = None,
        inverse: Floats | None = None,
    ) -> None:
        self.matrix, self._signs, self.centre = matrix, signs, centre
        self._inverse = centre.inverse(matrix) if centre is not None and inverse is None else inverse

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while there are none."""
        return self.matrix.shape[1] if len(self.matrix) else 0

    def of(self, rows: Rows | NDArray[np.bool_]) -> Floats:
        """The vectors of some rows."""
        return self.matrix[rows]

    def cosines(self, wordings: Sequence[Floats], *, plain: bool = False) -> MatrixCosines:
        """Cosines of one query, in one or several wordings (unit vectors), with every row.

        Args:
            wordings: at least one.
            plain: compare the original vectors, without removing the mean.
        """
        if plain and self.centre is not None:
            return MatrixCosines(self.matrix, None, _probes(wordings, None))
        return MatrixCosines(self.matrix, self._signs, _probes(wordings, self.centre), self._inverse)


class IndexedRows:
    """Vectors that stay in the record; an index finds the nearest.

    Args:
        docs: the doc of every row, ascending.
        dimension: length of a vector; 0 while there are none.
        fetch: reads vectors from the record.
        index: finds the nearest docs.
        user: the number of the user.
        model: the embedder of the vectors.
        centre: the mean to remove.
    """

    matrix = None

    def __init__(
        self,
        docs: NDArray[np.int64],
        dimension: int,
        fetch: Fetch,
        index: VectorSearch,
        *,
        user: int,
        model: str | None,
        centre: Centre | None = None,
    ) -> None:
        self._docs, self.dimension, self._fetch = docs, dimension, fetch
        self._index, self._user, self._model, self.centre = index, user, model, centre

    def of(self, rows: Rows | NDArray[np.bool_]) -> Floats:
        """The vectors of some rows."""
        docs = self._docs[rows]
        vectors = np.zeros((len(docs), self.dimension), np.float32)
        # Vectors of another length are of another model, to which the record was changed in the meantime.
        fetched = [pair for pair in self._fetch(np.unique(docs).tolist()) if len(pair[1]) == 2 * self.dimension]
        if fetched:
            fetched_docs = np.array([doc for doc, _ in fetched], np.int64)
            fetched_vectors = unpacked(b"".join(blob for _, blob in fetched), len(fetched_docs))
            order = np.argsort(fetched_docs)
            positions = order[np.minimum(np.searchsorted(fetched_docs, docs, sorter=order), len(fetched_docs) - 1)]
            is_fetched = fetched_docs[positions] == docs
            vectors[is_fetched] = fetched_vectors[positions[is_fetched]]
        return vectors

    def nearest(self, query: Floats, k: int) -> Rows | None:
        """The nearest rows by the index, and those not indexed yet; None if the index is unavailable."""
        nearest = self._index.nearest(self._user, query, k)
        if nearest is None or not self._index.serves(self._model):
            return None
        docs = np.array(nearest, np.int64)
        rows = np.searchsorted(self._docs, docs)
        rows = rows[(rows < len(self._docs)) & (self._docs[np.minimum(rows, len(self._docs) - 1)] == docs)]
        return np.unique(rows)

    def cosines(self, wordings: Sequence[Floats], *, plain: bool = False) -> IndexedCosines:
        """Cosines, empty until ``settle`` finds the nearest rows."""
        return IndexedCosines(self, len(self._docs), wordings, None if plain else self.centre)


class IndexedCosines:
    """Cosines of rows found by an index, in ``values``, shape (rows,); other rows have 0.

    The index only returns candidates: every cosine is computed from the vector in the record, so that a stale, approximate or
    damaged index can miss a row but never rank one wrongly.
    """

    def __init__(self, vectors: IndexedRows, size: int, wordings: Sequence[Floats], centre: Centre | None) -> None:
        self._vectors, self._wordings, self._centre = vectors, _probes(wordings, centre), centre
        self.values = np.zeros(size, np.float32)
        self._exact = np.zeros(size, np.bool_)

    def settle(self, allowed: NDArray[np.bool_], enough: int | None = None) -> None:
        """Find the nearest ``enough`` (``ENOUGH``) of the allowed rows; if they are few, compare them without the index."""
        count, enough = int(allowed.sum()), enough or ENOUGH
        k = max(ASKED * enough // ENOUGH, math.ceil(SPARE * enough * len(allowed) / max(count, 1)))
        filtered = count < len(allowed) / 2
        while count and not (filtered and count <= max(FETCHED * enough // ENOUGH, k * COSTS)):
            answers = [self._vectors.nearest(probe.direction, k) for probe in self._wordings]
            nearest = [rows for rows in answers if rows is not None]
            if len(nearest) < len(answers):
                break
            rows = np.unique(np.concatenate(nearest))
            self.sharpen(rows)
            if int(allowed[rows].sum()) >= enough:
                return
            if k >= len(allowed):
                break
            k *= FURTHER
        rows = np.flatnonzero(allowed)
        for start in range(0, len(rows), FETCHED):
            self.sharpen(rows[start : start + FETCHED])

    def sharpen(self, rows: Rows) -> None:
        """Fetch and multiply rows that were not compared yet."""
        rows = np.unique(rows[~self._exact[rows]])
        if len(rows):
            vectors = self._vectors.of(rows)
            inverse = None if self._centre is None else self._centre.inverse(vectors)
            self.values[rows] = _nearest(self._wordings, lambda direction: dot(vectors, direction), inverse)
            self._exact[rows] = True


def compared(wordings: Sequence[Floats], vectors: Floats, centre: Centre | None) -> Floats:
    """The cosines of a query with vectors that are no rows of a view, on the same scale as those of the rows.

    Args:
        wordings: of the query, at least one unit vector (d,); a vector gets its maximum over them.
        vectors: (n, d), unit vectors.
        centre: of the view.
    """
    inverse = None if centre is None else centre.inverse(vectors)
    return _nearest(_probes(wordings, centre), lambda direction: dot(vectors, direction), inverse)


Cosines = MatrixCosines | IndexedCosines
RowVectors = MatrixRows | IndexedRows
"""The vectors of one user for a search."""


class ExactIndex:
    """The vectors of one user, one row per catalog row; rows without a vector are zero.

    Not thread-safe: callers lock around ``apply``; ``Cosines`` work on a snapshot.
    """

    def __init__(self) -> None:
        self._matrix: NDArray[np.float32] = np.empty((0, 0), np.float32)
        self._size = 0
        self._signs: NDArray[np.uint64] | None = None
        self._signed = 0
        self._searched = False
        self._centre: Centre | None = None
        self._inverse: NDArray[np.float32] = np.empty(0, np.float32)
        self._sampled = 0
        self._snapshots: WeakSet[MatrixRows] = WeakSet()

    def apply(self, delta: CatalogDelta, columns: Columns) -> None:
        """Apply new, replaced and rebuilt vectors."""
        old_size, size = self._size, len(columns)
        dimension = delta.dimension or (self._matrix.shape[1] if self._matrix.ndim == 2 else 0)
        if delta.reembedded or dimension != self._matrix.shape[1]:
            self._matrix, old_size = np.zeros((size, dimension), np.float32), 0
            self._signs, self._signed = None, 0
            self._centre, self._sampled = None, 0
        if size > len(self._matrix):
            grown = np.zeros((max(size, len(self._matrix) + len(self._matrix) // 4), dimension), np.float32)
            grown[:old_size] = self._matrix[:old_size]
            self._matrix = grown
        self._size = size
        if not delta.vectors:
            return
        docs, values = delta.vectors.doc, delta.vectors.values
        rows = np.minimum(np.searchsorted(columns.doc, docs), size - 1)
        is_known = columns.doc[rows] == docs
        changed = rows[is_known & (rows < old_size)]
        if len(changed) and self._snapshots:  # a search may still read the matrix
            self._matrix = self._matrix.copy()
            self._signs = None if self._signs is None else self._signs.copy()
        if not old_size and len(rows) == size and is_known.all():
            self._matrix = values
        else:
            self._matrix[rows[is_known]] = values[is_known]
        if len(changed) and changed.min() < self._sampled:
            self._sampled = 0
        if self._centre is not None and len(replaced := changed[changed < len(self._inverse)]):
            self._inverse = self._inverse.copy()
            self._inverse[replaced] = self._centre.inverse(self._matrix[replaced])
        signed = changed[changed < self._signed]
        if self._signs is not None and len(signed):
            self._signs[:, signed] = self._signs_of(self._matrix[signed])

    def rows(self, *, centred: bool = False) -> MatrixRows:
        """A snapshot of the vectors for a search.

        Args:
            centred: remove the mean if it is long; must be the same for all calls with vectors of one model.
        """
        if centred and (size := sample_size(self._size)) != self._sampled:
            self._centre, self._sampled = centre_of(self._matrix[:size]), size
            self._signs, self._signed = None, 0
            self._inverse = self._inverse[:0]
        if self._centre is not None and (count := len(self._inverse)) < self._size:
            self._inverse = np.concatenate([self._inverse, self._centre.inverse(self._matrix[count : self._size])])
        inverse = None if self._centre is None else self._inverse
        rows = MatrixRows(self.matrix(), self.signs(), self._centre, inverse)
        self._snapshots.add(rows)
        return rows

    def signs(self) -> NDArray[np.uint64] | None:
        """The signs of the vectors as bits; None below ``LARGE`` rows.

        The first search does without: computing the signs takes longer.
        """
        if self._size <= LARGE or not self._searched:
            self._searched = True
            return None
        if self._signs is None or self._signs.shape[1] < self._size:
            grown = np.zeros((-(-self._matrix.shape[1] // 64), len(self._matrix)), np.uint64)
            if self._signs is not None:
                grown[:, : self._signed] = self._signs[:, : self._signed]
            self._signs = grown
        self._signs[:, self._signed : self._size] = self._signs_of(self._matrix[self._signed : self._size])
        self._signed = self._size
        return self._signs[:, : self._size]

    def _signs_of(self, vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
        return signs_of(vectors) if self._centre is None else signs_of(vectors, self._centre.mean)

    def matrix(self) -> NDArray[np.float32]:
        """The current vectors: shape (rows, dimension)."""
        return self._matrix[: self._size]
