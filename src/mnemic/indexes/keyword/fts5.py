"""Keyword search over FTS5: the file holds the inverted index, memory holds the postings that were asked for.

FTS5's own bm25() ranks with the statistics of all users. Here FTS5 supplies which documents contain a term and how
often; terms are stored under their user, so the wall costs nothing, and scoring uses that user's statistics alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.text.terms import index_terms

if TYPE_CHECKING:
    from mnemic.indexes.catalog import Columns
    from mnemic.indexes.corpus import Corpus, Occurrences
    from mnemic.types import CatalogDelta

__all__ = ["Fts5Index"]

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
