"""Keyword search in RAM with rank-bm25: the index of the in-memory store, and the reference for the other one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.text import bm25
from mnemic.text.terms import index_terms

if TYPE_CHECKING:
    from mnemic.indexes.catalog import Columns
    from mnemic.indexes.corpus import Corpus, Occurrences
    from mnemic.types import CatalogDelta

__all__ = ["RankBM25Index"]


def _okapi(corpus: list[Counter[str]], lengths: NDArray[np.float32]) -> Any:
    """rank-bm25's Okapi with Lucene's idf (its own turns negative for words in half of the corpus).

    Documents come as their terms, counted once and for all; they carry all of them, and their length counts only those with
    content, as everywhere in Mnemic.
    """
    from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingTypeStubs]

    class Okapi(BM25Okapi):
        def _initialize(self, corpus: list[Counter[str]]) -> dict[str, int]:
            self.doc_freqs, self.corpus_size = corpus, len(corpus)
            return Counter(itertools.chain.from_iterable(corpus))

        def _calc_idf(self, nd: dict[str, int]) -> None:
            size = self.corpus_size
            self.idf = {term: math.log(1.0 + (size - n + 0.5) / (n + 0.5)) for term, n in nd.items()}

    okapi: Any = Okapi(corpus, k1=bm25.K1, b=bm25.B)
    okapi.doc_len = lengths.astype(np.float64)
    okapi.avgdl = float(lengths.mean()) or 1.0
    return okapi


class RankBM25Index:
    """The keyword index of one user, whose statistics are made anew when records changed: right for a few thousand records.

    Args:
        texts: searchable text of docs.
    """

    def __init__(self, texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self._texts = texts
        self._held: tuple[list[Counter[str]], dict[bytes, Any]] = ([], {})

    def apply(self, delta: CatalogDelta, columns: Columns) -> None:
        """Learn of new and changed records."""
        counts = self._held[0]
        changed = columns.rows_of([doc for doc in delta.touched if doc not in delta.kept])
        rows = sorted({*changed.tolist(), *range(len(counts), len(columns))})
        if rows:
            texts = self._texts(columns.doc[rows].tolist())
            fresh = [Counter(index_terms(texts.get(doc, ""))) for doc in columns.doc[rows].tolist()]
            counts = [*counts, *itertools.repeat(Counter[str](), len(columns) - len(counts))]
            for row, counted in zip(rows, fresh, strict=True):
                counts[row] = counted
            self._held = (counts, {})

    def postings(self, columns: Columns, term: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows that contain a term, ascending, and how often each does."""
        found = [(row, counts[term]) for row, counts in enumerate(self._held[0][: len(columns)]) if term in counts]
        rows, counts = zip(*found, strict=True) if found else ((), ())
        return np.array(rows, np.intp), np.array(counts, np.float32)

    def occurrences(self, columns: Columns, term: str, corpus: Corpus) -> Occurrences:
        """Where the records of a corpus contain a term."""
        return corpus.occurrences(columns, *self.postings(columns, term))

    def scores(self, columns: Columns, terms: Sequence[str], corpus: Corpus) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the corpus; zero elsewhere."""
        found = np.zeros(len(columns), np.float32)
        rows = np.flatnonzero(corpus.rows)
        if not len(rows) or not terms:
            return found
        counts, built = self._held  # together: another thread may replace both
        okapi = built.get(rows.tobytes())
        if okapi is None:
            okapi = _okapi([counts[row] for row in rows], columns.length[rows])
            built.clear()
            built[rows.tobytes()] = okapi
        found[rows] = okapi.get_scores(list(terms))
        return found
