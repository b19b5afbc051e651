"""The vectors of one user, row for row beside the catalog, and their exact cosines with a query."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import Columns
from mnemic.protocols import VectorIndex
from mnemic.types import CatalogDelta
from mnemic.vectors import among, dot, unpacked

__all__ = [
    "LARGE",
    "Centre",
    "Cosines",
    "DistantRows",
    "ExactIndex",
    "HeldCosines",
    "HeldRows",
    "Probe",
    "RowVectors",
    "centre_of",
    "nearest_wording",
    "sample_size",
    "signs_of",
]

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


Rows = NDArray[np.intp]
Fetch = Callable[[Sequence[int]], Sequence[tuple[int, bytes]]]
"""Docs to (doc, float16 bytes); those without a vector are missing."""

ENOUGH = 200
"""Rows a search wants to rank by meaning, as many as a recipe takes from each search."""
FETCHED = 4_000
"""Rows left by a filter that are fetched and multiplied rather than looked up: an index would have to find them among all."""
ASKED, SPARE, FURTHER = 400, 2, 4
"""How many an index is asked for at least, how many times what should be enough, and how many times more when it was not."""
COSTS = 4
"""What one result of an index costs, in rows that are fetched and multiplied."""


class RowVectors(Protocol):
    """What a search asks of a user's vectors; rows without one are zeros."""

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while there are none."""
        ...

    @property
    def held(self) -> Floats | None:
        """All of them, where they are in RAM: shape (rows, dimension)."""
        ...

    def of(self, rows: Rows | NDArray[np.bool_]) -> Floats:
        """Those of some rows, by number or by mask: shape (len(rows), dimension)."""
        ...

    @property
    def centre(self) -> Centre | None:
        """The mean that is taken away before they are compared; None where they are compared as they are."""
        ...

    def cosines(self, wordings: Sequence[Floats], *, plain: bool = False) -> Cosines:
        """What one question, in one or several wordings (unit vectors), has in common with every row.

        Args:
            wordings: at least one.
            plain: of the vectors as the embedder gave them, whatever the mean.
        """
        ...


def _probes(wordings: Sequence[Floats], centre: Centre | None) -> list[Probe]:
    return [Probe(one) if centre is None else centre.probe(one) for one in wordings]


class HeldRows:
    """All vectors in RAM.

    Args:
        matrix: (rows, dimension) float32.
        signs: see ``HeldCosines``.
        centre: what is taken away before they are compared.
        inverse: its ``inverse`` of them, made here if it is not given.
    """

    def __init__(
        self,
        matrix: Floats,
        signs: NDArray[np.uint64] | None,
        centre: Centre | None = None,
        inverse: Floats | None = None,
    ) -> None:
        self.held, self._signs, self.centre = matrix, signs, centre
        self._inverse = centre.inverse(matrix) if centre is not None and inverse is None else inverse

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while there are none."""
        return self.held.shape[1] if len(self.held) else 0

    def of(self, rows: Rows | NDArray[np.bool_]) -> Floats:
        """Those of some rows."""
        return self.held[rows]

    def cosines(self, wordings: Sequence[Floats], *, plain: bool = False) -> HeldCosines:
        """The cosine of every row."""
        if plain and self.centre is not None:
            return HeldCosines(self.held, None, _probes(wordings, None))
        return HeldCosines(self.held, self._signs, _probes(wordings, self.centre), self._inverse)


class DistantRows:
    """Vectors that stay in the record, chosen by an index.

    Args:
        docs: the doc of every row, ascending.
        dimension: length of a vector; 0 while there are none.
        fetch: vectors from the record.
        index: says which are near.
        user: whose they are.
        model: whose vectors they are.
        centre: what is taken away before they are compared.
    """

    held = None

    def __init__(
        self,
        docs: NDArray[np.int64],
        dimension: int,
        fetch: Fetch,
        index: VectorIndex,
        *,
        user: int,
        model: str | None,
        centre: Centre | None = None,
    ) -> None:
        self._docs, self.dimension, self._fetch = docs, dimension, fetch
        self._index, self._user, self._model, self.centre = index, user, model, centre

    def of(self, rows: Rows | NDArray[np.bool_]) -> Floats:
        """Those of some rows."""
        docs = self._docs[rows]
        found = np.zeros((len(docs), self.dimension), np.float32)
        # Vectors of another length are of another model: the record has changed to it meanwhile.
        fetched = [pair for pair in self._fetch(np.unique(docs).tolist()) if len(pair[1]) == 2 * self.dimension]
        if fetched:
            names = np.array([doc for doc, _ in fetched], np.int64)
            vectors = unpacked(b"".join(blob for _, blob in fetched), len(names))
            order = np.argsort(names)
            at = order[np.minimum(np.searchsorted(names, docs, sorter=order), len(names) - 1)]
            held = names[at] == docs
            found[held] = vectors[at[held]]
        return found

    def nearest(self, query: Floats, k: int) -> Rows | None:
        """The rows the index holds for the nearest, and those it has not taken in yet; None when it cannot say."""
        waiting = self._index.waiting(self._user)  # first: what is taken in meanwhile is then in both
        near = self._index.nearest(self._user, query, k)
        if waiting is None or near is None or not self._index.serves(self._model):
            return None
        docs = np.array([*near, *waiting], np.int64)
        at = np.searchsorted(self._docs, docs)
        at = at[(at < len(self._docs)) & (self._docs[np.minimum(at, len(self._docs) - 1)] == docs)]
        return np.unique(at)

    def cosines(self, wordings: Sequence[Floats], *, plain: bool = False) -> FoundCosines:
        """Nothing yet: ``settle`` looks up which rows matter."""
        return FoundCosines(self, len(self._docs), wordings, None if plain else self.centre)


class FoundCosines:
    """The cosines of rows that an index finds; what it does not find counts as unlike (0).

    The index only names rows: every cosine is made from the vector in the record, so that an index which is late, rough or
    damaged can miss a row but never place one wrongly.
    """

    def __init__(self, vectors: DistantRows, size: int, wordings: Sequence[Floats], centre: Centre | None) -> None:
        self._vectors, self._wordings, self._centre = vectors, _probes(wordings, centre), centre
        self.values = np.zeros(size, np.float32)
        self._exact = np.zeros(size, np.bool_)

    def settle(self, allowed: NDArray[np.bool_]) -> None:
        """Find the nearest of the rows a search may return; the few that a filter leaves are compared without the index."""
        many = int(allowed.sum())
        asked = max(ASKED, math.ceil(SPARE * ENOUGH * len(allowed) / max(many, 1)))
        filtered = many < len(allowed) / 2
        while many and not (filtered and many <= max(FETCHED, asked * COSTS)):
            found = [self._vectors.nearest(one.direction, asked) for one in self._wordings]
            near = [rows for rows in found if rows is not None]
            if len(near) < len(found):
                break
            rows = np.unique(np.concatenate(near))
            self.sharpen(rows)
            if int(allowed[rows].sum()) >= ENOUGH:
                return
            if asked >= len(allowed):
                break
            asked *= FURTHER
        rows = np.flatnonzero(allowed)
        for start in range(0, len(rows), FETCHED):
            self.sharpen(rows[start : start + FETCHED])

    def sharpen(self, rows: Rows) -> None:
        """Fetch and multiply rows that were not yet."""
        rows = np.unique(rows[~self._exact[rows]])
        if len(rows):
            chosen = self._vectors.of(rows)
            inverse = None if self._centre is None else self._centre.inverse(chosen)
            self.values[rows] = nearest_wording(
                [one.cosines(dot(chosen, one.direction), inverse) for one in self._wordings]
            )
            self._exact[rows] = True


class ExactIndex:
    """The vectors of one user, row for row beside the catalog's columns; rows without a vector are zero.

    Not thread-safe: the owner locks around ``apply``; ``Cosines`` work on the array it was given.
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
        self._lent: WeakSet[HeldRows] = WeakSet()

    def apply(self, delta: CatalogDelta, columns: Columns) -> None:
        """Take in new, replaced and rebuilt vectors."""
        known, size = self._size, len(columns)
        dimension = delta.dimension or (self._matrix.shape[1] if self._matrix.ndim == 2 else 0)
        if delta.reembedded or dimension != self._matrix.shape[1]:
            self._matrix, known = np.zeros((size, dimension), np.float32), 0
            self._signs, self._signed = None, 0
            self._centre, self._sampled = None, 0
        if size > len(self._matrix):
            grown = np.zeros((max(size, len(self._matrix) + len(self._matrix) // 4), dimension), np.float32)
            grown[:known] = self._matrix[:known]
            self._matrix = grown
        self._size = size
        if not delta.vectors:
            return
        wanted, values = delta.vectors.doc, delta.vectors.values
        rows = np.minimum(np.searchsorted(columns.doc, wanted), size - 1)
        held = columns.doc[rows] == wanted
        changed = rows[held & (rows < known)]
        if len(changed) and self._lent:  # a search still reads what changes
            self._matrix = self._matrix.copy()
            self._signs = None if self._signs is None else self._signs.copy()
        if not known and len(rows) == size and held.all():
            self._matrix = values
        else:
            self._matrix[rows[held]] = values[held]
        if len(changed) and changed.min() < self._sampled:
            self._sampled = 0
        if self._centre is not None and len(replaced := changed[changed < len(self._inverse)]):
            self._inverse = self._inverse.copy()
            self._inverse[replaced] = self._centre.inverse(self._matrix[replaced])
        signed = changed[changed < self._signed]
        if self._signs is not None and len(signed):
            self._signs[:, signed] = self._signs_of(self._matrix[signed])

    def rows(self, *, centred: bool = False) -> HeldRows:
        """The vectors as they are now, ready to search; they stay so for whoever holds on to what is returned.

        Args:
            centred: whether their mean is taken away where it is long; the same for all calls with vectors of one model.
        """
        if centred and (size := sample_size(self._size)) != self._sampled:
            self._centre, self._sampled = centre_of(self._matrix[:size]), size
            self._signs, self._signed = None, 0
            self._inverse = self._inverse[:0]
        if self._centre is not None and (known := len(self._inverse)) < self._size:
            self._inverse = np.concatenate([self._inverse, self._centre.inverse(self._matrix[known : self._size])])
        inverse = None if self._centre is None else self._inverse
        lent = HeldRows(self.matrix(), self.signs(), self._centre, inverse)
        self._lent.add(lent)
        return lent

    def signs(self) -> NDArray[np.uint64] | None:
        """The signs of the vectors as bits, where there are so many rows that they pay; None where there are not.

        The first search goes without: it is answered sooner than the signs are made.
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
        """The vectors as they are now: shape (rows, dimension)."""
        return self._matrix[: self._size]
