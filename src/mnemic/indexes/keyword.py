"""Search by words: over FTS5, and in RAM with rank-bm25; the statistics are those of the searched user alone."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.text import bm25
from mnemic.text.terms import index_terms

if TYPE_CHECKING:
    from mnemic.indexes.catalog import Columns
    from mnemic.types import CatalogDelta

__all__ = [
    "Corpus",
    "Fts5Index",
    "Occurrences",
    "RankBM25Index",
]

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


Postings = tuple[NDArray[np.intp], NDArray[np.float32]]
MAX_TAIL = 2_000
_EMPTY: Postings = (np.empty(0, np.intp), np.empty(0, np.float32))


@dataclass(slots=True)
class _Known:
    """What is held of one state of the file: replaced as a whole, so that no search sees half of it."""

    last: int
    base: dict[str, Postings] = field(default_factory=dict[str, Postings])
    tail: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    tail_size: int = 0


class Fts5Index:
    """The keyword index of one user.

    Postings read from the file cover the records known then (the *base*). Records that came later (the *tail*) are
    analysed here, so that a search after an add does not read everything again.

    Args:
        read: postings of a term from the file: docs ascending, each as often as the term occurs.
        texts: searchable text of docs, for the tail.
    """

    def __init__(self, read: Callable[[str], list[int]], texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self._read, self._texts = read, texts
        self._known: _Known | None = None

    def apply(self, delta: CatalogDelta, columns: Columns) -> None:
        """Learn of new and changed records."""
        known = self._known
        docs = delta.rows.doc if delta.rows else np.empty(0, np.int64)
        fresh = sorted({*docs[docs > known.last].tolist()} - {*delta.touched}) if known else []
        changed = any(doc not in delta.kept for doc in delta.touched)
        if known is None or changed or known.tail_size + len(fresh) > MAX_TAIL:
            self._known = _Known(int(columns.doc[-1]) if len(columns) else -1)
            return
        for doc, text in sorted(self._texts(fresh).items()) if fresh else ():
            row = int(np.searchsorted(columns.doc, doc))
            for term in index_terms(text):
                counts = known.tail.setdefault(term, {})
                counts[row] = counts.get(row, 0) + 1
        known.tail_size += len(fresh)

    def postings(self, columns: Columns, term: str) -> Postings:
        """The rows that contain a term, ascending, and how often each does."""
        known = self._known  # as it is now: another thread may begin anew meanwhile
        if known is None:
            return _EMPTY
        rows, counts = self._of_base(known, columns, term)
        if len(rows) and rows[-1] >= len(columns):  # read for a newer snapshot than this one
            rows, counts = rows[rows < len(columns)], counts[rows < len(columns)]
        tail = known.tail.get(term)
        late = sorted((row, count) for row, count in list(tail.items()) if row < len(columns)) if tail else []
        if not late:
            return rows, counts
        more, often = zip(*late, strict=True)
        return np.append(rows, np.array(more, np.intp)), np.append(counts, np.array(often, np.float32))

    def _of_base(self, known: _Known, columns: Columns, term: str) -> Postings:
        """The postings of the records known when the base was laid; kept when this snapshot sees all of them."""
        found = known.base.get(term)
        if found is not None:
            return found
        docs = np.array(self._read(term), np.int64)
        docs.sort(kind="stable")  # as a rule it is sorted, and then this costs next to nothing
        docs = docs[: np.searchsorted(docs, known.last, "right")]
        new = np.ones(len(docs), np.bool_)
        np.not_equal(docs[1:], docs[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        distinct, counts = docs[starts], np.diff(np.append(starts, len(docs)))
        rows = np.searchsorted(columns.doc, distinct)
        held = rows < len(columns)
        held[held] = columns.doc[rows[held]] == distinct[held]
        found = (rows[held], counts[held].astype(np.float32)) if len(distinct) else _EMPTY
        if len(columns) and columns.doc[-1] >= known.last:
            known.base[term] = found
        return found

    def occurrences(self, columns: Columns, term: str, corpus: Corpus) -> Occurrences:
        """Where the records of a corpus contain a term."""
        found = corpus.common.get(term)
        if found is None:
            found = corpus.occurrences(columns, *self.postings(columns, term))
            corpus.keep(term, found)
        return found

    def scores(self, columns: Columns, terms: Sequence[str], corpus: Corpus) -> NDArray[np.float32]:
        """BM25 of every row for the terms, with the statistics of the corpus; zero elsewhere."""
        found = np.zeros(len(columns), np.float32)
        for term in terms:
            self.occurrences(columns, term, corpus).add_to(found)
        return found


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
