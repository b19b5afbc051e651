"""The vectors of one user at one moment, row for row beside the catalog: in RAM, or in the record behind an index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.vector.centre import Centre, Probe
from mnemic.indexes.vector.cosines import Cosines, HeldCosines, nearest_wording
from mnemic.protocols import VectorIndex
from mnemic.vectors import dot, unpacked

__all__ = ["DistantRows", "HeldRows", "RowVectors"]

Floats = NDArray[np.float32]
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
