"""BM25 keyword search with postings from the store, and in RAM with rank-bm25; statistics are per user."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import KINDS, STATUSES, Columns
from mnemic.text.terms import index_terms
from mnemic.vectors import Floats, Rows, dot

if TYPE_CHECKING:
    from mnemic.types import CatalogDelta


K1 = 1.5
"""Saturation of repeated terms."""
B = 0.75
"""Strength of length normalization, 0 to 1."""


def idf(documents: int, containing: int) -> float:
    """Inverse document frequency in Lucene's form, log(1 + (N - n + .5) / (n + .5)): never negative.

    Args:
        documents: number of documents N, those of the searched user.
        containing: number of them with the term, 0 to N.
    """
    return math.log(1.0 + (documents - containing + 0.5) / (containing + 0.5))


def saturation(counts: Floats, lengths: Floats, mean_length: float) -> Floats:
    """The factor of a term's idf for each document: tf (k1 + 1) / (tf + k1 (1 - b + b length / mean)).

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).

    Args:
        counts: occurrences of the term, one per document; shape (n,) or (n, terms) with ``lengths`` as (n, 1).
        lengths: document lengths in terms, the same shape or broadcastable.
        mean_length: mean length of the documents; 0 counts as 1.

    Returns:
        Values in 0..k1+1.
    """
    return (counts * (K1 + 1.0) / (counts + K1 * (1.0 - B + B * lengths / (mean_length or 1.0)))).astype(
        "f4", copy=False
    )


COMMON, FEW = 16, 1_000
"""A term is common if at least one of ``COMMON`` rows contains it, and at least ``FEW`` rows do."""
MAX_COMMON = 16
"""Common terms cached per snapshot, at 8 bytes a row for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The records for BM25 statistics, whatever else a query filters. Read-only.

    Attributes:
        rows: mask of the rows that belong to it.
        size: the number of these rows.
        mean_length: their mean length in terms; 0 if there are none.
        common: the cache of common terms.
    """

    rows: NDArray[np.bool_]
    size: int
    mean_length: float
    common: dict[str, Occurrences] = field(default_factory=dict[str, "Occurrences"], repr=False)

    def occurrences(self, columns: Columns, rows: Rows, counts: Floats) -> Occurrences:
        """The postings of a term within the corpus."""
        if self.size < len(columns):
            inside = self.rows[rows]
            rows, counts = rows[inside], counts[inside]
        return Occurrences(columns, self, rows, counts)

    def cache(self, term: str, occurrences: Occurrences) -> None:
        """Cache a common term: queries repeat them often."""
        if occurrences.common:
            if len(self.common) >= MAX_COMMON:
                self.common.clear()
            self.common[term] = occurrences


def corpus_of(columns: Columns, kinds: Sequence[str]) -> Corpus:
    """The records for BM25 statistics: all live ones of these kinds, whatever else the query filters.

    Next to messages, memories that say the same do not count: processing must not change the ranking of messages.
    """
    return columns.cached(("corpus", *kinds), lambda: _corpus(columns, kinds))


def _corpus(columns: Columns, kinds: Sequence[str]) -> Corpus:
    rows = (columns.status != STATUSES["archived"]) & np.isin(columns.kind, [KINDS[kind] for kind in kinds])
    if "message" in kinds:
        rows[columns.derived()[0]] = False
    size = int(np.count_nonzero(rows))
    return Corpus(rows, size, float(dot(columns.length, rows)) / size if size else 0.0)


class Occurrences:
    """The occurrences of a term in a corpus.

    Those of a common term are expanded to all rows once, because reading its many postings is slow.

    Args:
        columns: the user's records.
        corpus: the records for the statistics.
        rows: the rows that contain the term, ascending.
        counts: the term frequency in each of them.
    """

    def __init__(self, columns: Columns, corpus: Corpus, rows: Rows, counts: Floats) -> None:
        self.common = len(rows) >= max(FEW, len(columns) // COMMON)
        self.idf = idf(corpus.size, len(rows))
        bm25 = self.idf * saturation(counts, columns.length[rows], corpus.mean_length)
        self._rows: Rows | slice = slice(None) if self.common else rows
        self._counts = _scatter(len(columns) + 1, rows, counts) if self.common else counts
        self._bm25 = _scatter(len(columns), rows, bm25) if self.common else bm25
        self.conversations = np.zeros(columns.groups, np.bool_)
        """Mask of the conversations that contain the term."""
        self.conversations[columns.group[rows]] = True
        self.conversations[0] = False  # no conversation

    def add_to(self, scores: Floats) -> None:
        """Add the BM25 score of the term to every row."""
        scores[self._rows] += self._bm25

    def counts_at(self, rows: Rows, buffer: Floats) -> Floats:
        """Term frequencies of some rows. ``buffer`` is all zeros, one more than rows, and is zeroed again."""
        if self.common:
            return self._counts[rows]
        buffer[self._rows] = self._counts
        counts = buffer[rows]
        buffer[self._rows] = 0.0
        return counts


def _scatter(size: int, rows: Rows, values: Floats) -> Floats:
    column = np.zeros(size, np.float32)
    column[rows] = values
    return column


Postings = tuple[NDArray[np.intp], NDArray[np.float32]]
MAX_TAIL = 2_000
_EMPTY: Postings = (np.empty(0, np.intp), np.empty(0, np.float32))


@dataclass(slots=True)
class _State:
    """The cached postings; replaced as a whole, so that no search sees a partial update."""

    last: int
    base: dict[str, Postings] = field(default_factory=dict[str, Postings])
    tail: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    tail_size: int = 0


class Fts5Index:
    """The keyword index of one user.

    Postings read from the store cover the records up to some doc (the *base*). Later records (the *tail*) are analysed here,
    so that a search after an add does not read all postings again.

    Args:
        read: postings of a term from the store: docs ascending, each repeated by its term frequency.
        texts: searchable texts by doc, for the tail.
    """

    def __init__(self, read: Callable[[str], list[int]], texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self._read, self._texts = read, texts
        self._state: _State | None = None

    def apply(self, delta: CatalogDelta, columns: Columns) -> None:
        """Apply new and changed records."""
        state = self._state
        docs = delta.rows.doc if delta.rows else np.empty(0, np.int64)
        new_docs = sorted({*docs[docs > state.last].tolist()} - {*delta.touched}) if state else []
        changed = any(doc not in delta.kept for doc in delta.touched)
        if state is None or changed or state.tail_size + len(new_docs) > MAX_TAIL:
            self._state = _State(int(columns.doc[-1]) if len(columns) else -1)
            return
        for doc, text in sorted(self._texts(new_docs).items()) if new_docs else ():
            row = int(np.searchsorted(columns.doc, doc))
            for term in index_terms(text):
                counts = state.tail.setdefault(term, {})
                counts[row] = counts.get(row, 0) + 1
        state.tail_size += len(new_docs)

    def postings(self, columns: Columns, term: str) -> Postings:
        """The rows that contain a term, ascending, and its frequency in each."""
        state = self._state  # another thread may replace it
        if state is None:
            return _EMPTY
        rows, counts = self._base_postings(state, columns, term)
        if len(rows) and rows[-1] >= len(columns):  # read for a newer snapshot than this one
            rows, counts = rows[rows < len(columns)], counts[rows < len(columns)]
        tail = state.tail.get(term)
        recent = sorted((row, count) for row, count in list(tail.items()) if row < len(columns)) if tail else []
        if not recent:
            return rows, counts
        tail_rows, tail_counts = zip(*recent, strict=True)
        return np.append(rows, np.array(tail_rows, np.intp)), np.append(counts, np.array(tail_counts, np.float32))

    def _base_postings(self, state: _State, columns: Columns, term: str) -> Postings:
        """The postings of the base; cached if this snapshot includes all of its records."""
        postings = state.base.get(term)
        if postings is not None:
            return postings
        docs = np.array(self._read(term), np.int64)
        docs.sort(kind="stable")  # usually sorted already, then this is cheap
        docs = docs[: np.searchsorted(docs, state.last, "right")]
        is_first = np.ones(len(docs), np.bool_)
        np.not_equal(docs[1:], docs[:-1], out=is_first[1:])
        starts = np.flatnonzero(is_first)
        distinct, counts = docs[starts], np.diff(np.append(starts, len(docs)))
        rows = np.searchsorted(columns.doc, distinct)
        is_present = rows < len(columns)
        is_present[is_present] = columns.doc[rows[is_present]] == distinct[is_present]
        postings = (rows[is_present], counts[is_present].astype(np.float32)) if len(distinct) else _EMPTY
        if len(columns) and columns.doc[-1] >= state.last:
            state.base[term] = postings
        return postings

    def occurrences(self, columns: Columns, term: str, corpus: Corpus) -> Occurrences:
        """The occurrences of a term in a corpus."""
        occurrences = corpus.common.get(term)
        if occurrences is None:
            occurrences = corpus.occurrences(columns, *self.postings(columns, term))
            corpus.cache(term, occurrences)
        return occurrences

    def scores(self, columns: Columns, terms: Sequence[str], corpus: Corpus) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the corpus; zero elsewhere."""
        scores = np.zeros(len(columns), np.float32)
        for term in terms:
            self.occurrences(columns, term, corpus).add_to(scores)
        return scores


def _okapi(corpus: list[Counter[str]], lengths: NDArray[np.float32]) -> Any:
    """rank-bm25's Okapi with Lucene's idf (its own is negative for terms in half of the corpus).

    Documents are term counts. They contain all terms, but ``lengths`` counts only content terms, as everywhere in Mnemic.
    """
    from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingTypeStubs]

    class Okapi(BM25Okapi):
        def _initialize(self, corpus: list[Counter[str]]) -> dict[str, int]:
            self.doc_freqs, self.corpus_size = corpus, len(corpus)
            return Counter(itertools.chain.from_iterable(corpus))

        def _calc_idf(self, nd: dict[str, int]) -> None:
            size = self.corpus_size
            self.idf = {term: math.log(1.0 + (size - n + 0.5) / (n + 0.5)) for term, n in nd.items()}

    okapi: Any = Okapi(corpus, k1=K1, b=B)
    okapi.doc_len = lengths.astype(np.float64)
    okapi.avgdl = float(lengths.mean()) or 1.0
    return okapi


class RankBM25Index:
    """An in-memory keyword index of one user, rebuilt on changes: suitable for a few thousand records.

    Args:
        texts: searchable texts by doc.
    """

    def __init__(self, texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self._texts = texts
        self._state: tuple[list[Counter[str]], dict[bytes, Any]] = ([], {})

    def apply(self, delta: CatalogDelta, columns: Columns) -> None:
        """Apply new and changed records."""
        counts = self._state[0]
        changed = columns.rows_of([doc for doc in delta.touched if doc not in delta.kept])
        rows = sorted({*changed.tolist(), *range(len(counts), len(columns))})
        if rows:
            texts = self._texts(columns.doc[rows].tolist())
            new_counts = [Counter(index_terms(texts.get(doc, ""))) for doc in columns.doc[rows].tolist()]
            counts = [*counts, *itertools.repeat(Counter[str](), len(columns) - len(counts))]
            for row, row_counts in zip(rows, new_counts, strict=True):
                counts[row] = row_counts
            self._state = (counts, {})

    def postings(self, columns: Columns, term: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows that contain a term, ascending, and its frequency in each."""
        matches = [(row, counts[term]) for row, counts in enumerate(self._state[0][: len(columns)]) if term in counts]
        rows, counts = zip(*matches, strict=True) if matches else ((), ())
        return np.array(rows, np.intp), np.array(counts, np.float32)

    def occurrences(self, columns: Columns, term: str, corpus: Corpus) -> Occurrences:
        """The occurrences of a term in a corpus."""
        return corpus.occurrences(columns, *self.postings(columns, term))

    def scores(self, columns: Columns, terms: Sequence[str], corpus: Corpus) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the corpus; zero elsewhere."""
        scores = np.zeros(len(columns), np.float32)
        rows = np.flatnonzero(corpus.rows)
        if not len(rows) or not terms:
            return scores
        counts, cache = self._state  # together: another thread may replace both
        okapi = cache.get(rows.tobytes())
        if okapi is None:
            okapi = _okapi([counts[row] for row in rows], columns.length[rows])
            cache.clear()
            cache[rows.tobytes()] = okapi
        scores[rows] = okapi.get_scores(list(terms))
        return scores
