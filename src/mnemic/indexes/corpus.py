"""Whose statistics count: the records of some kinds, and where the terms of a query occur among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.text import bm25

if TYPE_CHECKING:
    from mnemic.indexes.catalog import Columns

__all__ = ["Corpus", "Occurrences"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float32]

COMMON, FEW = 16, 1_000
"""A term is common where one of so many rows contains it, and no fewer than so many do."""
HELD = 16
"""Common terms that are kept for one state of the records, at 8 bytes a row for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The records whose statistics count, whatever else a query filters. Not to be changed.

    Attributes:
        rows: whether each row belongs to it.
        size: how many do.
        mean_length: of these, in terms; 0 for none.
        common: the terms that many of its records contain, as far as they were asked for.
    """

    rows: NDArray[np.bool_]
    size: int
    mean_length: float
    common: dict[str, Occurrences] = field(default_factory=dict[str, "Occurrences"], repr=False)

    def occurrences(self, columns: Columns, rows: Rows, counts: Floats) -> Occurrences:
        """The postings of a term as far as they belong to it."""
        if self.size < len(columns):
            inside = self.rows[rows]
            rows, counts = rows[inside], counts[inside]
        return Occurrences(columns, self, rows, counts)

    def keep(self, term: str, said: Occurrences) -> None:
        """Hold on to a common term: the same ones are asked for again and again."""
        if said.common:
            if len(self.common) >= HELD:
                self.common.clear()
            self.common[term] = said


class Occurrences:
    """Where a term occurs in a corpus.

    A common term is also told for every row, which costs once what reading its many postings costs each time.

    Args:
        columns: the user's records.
        corpus: those that count.
        rows: those of them that contain the term, ascending.
        counts: how often each does.
    """

    def __init__(self, columns: Columns, corpus: Corpus, rows: Rows, counts: Floats) -> None:
        self.common = len(rows) >= max(FEW, len(columns) // COMMON)
        self.idf = bm25.idf(corpus.size, len(rows))
        earned = self.idf * bm25.saturation(counts, columns.length[rows], corpus.mean_length)
        self._rows: Rows | slice = slice(None) if self.common else rows
        self._counts = _for_all(len(columns) + 1, rows, counts) if self.common else counts
        self._earned = _for_all(len(columns), rows, earned) if self.common else earned
        self.conversations = np.zeros(columns.groups, np.bool_)
        """Whether each conversation contains it."""
        self.conversations[columns.group[rows]] = True
        self.conversations[0] = False  # no conversation

    def add_to(self, scores: Floats) -> None:
        """Add to the score of every row what the term earns it by BM25."""
        scores[self._rows] += self._earned

    def at(self, places: Rows, buffer: Floats) -> Floats:
        """How often some rows contain it; the buffer has a zero for every row and one more, and has them again."""
        if self.common:
            return self._counts[places]
        buffer[self._rows] = self._counts
        found = buffer[places]
        buffer[self._rows] = 0.0
        return found


def _for_all(size: int, rows: Rows, values: Floats) -> Floats:
    found = np.zeros(size, np.float32)
    found[rows] = values
    return found
