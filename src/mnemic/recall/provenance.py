"""Provenance in a search: derived memories and their evidence, superseded records and their successors.

The verbatim message is the hit and lists the memories derived from it: a derived memory is a hit itself only where its
evidence may not be shown. Superseded records rank after their successors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnemic import recall
from mnemic.recall.candidates import AnalysedQuery
from mnemic.runtime.views import View

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

DERIVED = 50
"""Best derived memories whose evidence joins the pool."""
MIN_RELEVANCE = 0.25
"""Lowest cosine of a memory that is relevant to a query."""
RELEVANCE_MARGIN = 0.1
"""A message nearer to the query than its memory by this margin is relevant for something else that it says."""
BOOST = 0.5
"""How far the cosine of evidence is raised towards that of a nearer derived memory; half is best on LoCoMo."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of the rows of a pool.

    Attributes:
        via: docs of the relevant memories derived from a row.
        boosted: raised cosines of rows with a nearer derived memory.
        superseding: docs that superseded a row.
        successors: rows that show what holds instead of a row.
    """

    via: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    boosted: Mapping[int, float] = field(default_factory=dict[int, float])
    superseding: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    successors: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])

    def rows(self) -> list[int]:
        """Rows that must be in the pool."""
        return list({*self.via, *(row for rows in self.successors.values() for row in rows)})


@dataclass(frozen=True, slots=True)
class Visibility:
    """The rows a search may return: ``visible`` ones as hits; ``represented`` ones, derived memories, by their
    evidence.
    """

    visible: Mask
    represented: Mask

    def provenance(self, view: View, question: AnalysedQuery, rows: Rows) -> Provenance:
        """The provenance of the rows of a pool."""
        via, boosted = self._derived_memories(view, question)
        superseding, successors = self._superseded(view, question, recall.ascending(len(view.columns), rows, list(via)))
        return Provenance(via, boosted, superseding, successors)

    def _derived_memories(self, view: View, question: AnalysedQuery) -> tuple[dict[int, list[int]], dict[int, float]]:
        """The nearest derived memories by the row of their evidence, and the raised cosines of these rows."""
        via: dict[int, list[int]] = {}
        boosted: dict[int, float] = {}
        if question.cosines is None or not self.represented.any():
            return via, boosted
        meaning = question.cosines.values
        best = recall.top(meaning, self.represented, DERIVED, above=MIN_RELEVANCE)
        evidence = self._evidence(view, best)
        visible = [parent for parents in evidence.values() for parent in parents]
        question.cosines.sharpen(np.array([*best.tolist(), *visible], np.intp))
        for row in best.tolist():
            for parent in evidence.get(row, ()):
                via.setdefault(parent, []).append(int(view.columns.doc[row]))
                nearer = BOOST * float(meaning[row]) + (1 - BOOST) * float(meaning[parent])
                boosted[parent] = max(boosted.get(parent, -1.0), nearer)
        return via, boosted

    def _evidence(self, view: View, rows: Rows) -> dict[int, list[int]]:
        """The visible evidence rows of derived memories."""
        child, parent = view.columns.derived()
        wanted = np.flatnonzero(np.isin(child, rows) & self.visible[parent])
        found: dict[int, list[int]] = {}
        for pair in wanted.tolist():
            found.setdefault(int(child[pair]), []).append(int(parent[pair]))
        return found

    def _superseded(
        self, view: View, question: AnalysedQuery, rows: Rows
    ) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """For superseded rows: the docs that superseded them, and the rows that show these."""
        validity, columns = view.columns.validity, view.columns
        superseding: dict[int, list[int]] = {}
        successors: dict[int, list[int]] = {}
        if not validity.successors:
            return superseding, successors
        for row in rows.tolist():
            doc = int(columns.doc[row])
            own = [doc, *validity.saying(doc)]
            if validity.successors.keys().isdisjoint(own):
                continue
            memory = self._most_relevant(view, question, own)
            filters = question.query.filters
            if later := validity.superseding(doc, filters.at, filters.known_at):
                superseding[row] = later
            successor = None if memory is None else validity.successor(memory, filters.at, filters.known_at)
            if memory is None or successor is None or not self._is_relevant(view, question, row, memory):
                continue
            for at in columns.rows_of([successor]).tolist():
                successors[row] = [other for other in self.evidence_rows(view, at) if other != row]
        return superseding, successors

    def evidence_rows(self, view: View, row: int) -> list[int]:
        """The rows that show a record: its own row if visible, else its evidence."""
        return [row] if self.visible[row] else self._evidence(view, np.array([row])).get(row, [])

    def _is_relevant(self, view: View, question: AnalysedQuery, row: int, doc: int) -> bool:
        """Whether the query is about this memory, rather than about something else in its message."""
        at = view.columns.rows_of([doc])
        if question.cosines is None or not len(at) or int(at[0]) == row:
            return True
        question.cosines.sharpen(np.array([row, at[0]], np.intp))
        own, memory = question.cosines.values[[row, at[0]]].tolist()
        return memory >= min(MIN_RELEVANCE, own - RELEVANCE_MARGIN)

    def _most_relevant(self, view: View, question: AnalysedQuery, docs: Sequence[int]) -> int | None:
        """The memory most relevant to the query, of a record and the memories derived from it."""
        columns = view.columns
        memories = [doc for doc in docs if doc in columns.validity.origins or doc in columns.validity.successors]
        if len(memories) < 2 or question.cosines is None:
            return memories[0] if memories else None
        rows = columns.rows_of(sorted(memories))
        question.cosines.sharpen(rows)
        return int(columns.doc[rows[int(np.argmax(question.cosines.values[rows]))]]) if len(rows) else None


def visibility(view: View, allowed: Mask) -> Visibility:
    """Split the allowed rows into hits of their own and memories represented by their evidence."""
    child, parent = view.columns.derived()
    represented = np.zeros(len(view.columns), np.bool_)
    represented[child[allowed[parent]]] = True
    named = np.zeros(len(view.columns), np.bool_)  # a memory derived from a represented one has no hit to list it
    named[child[allowed[parent] & ~represented[parent]]] = True
    represented &= allowed & named
    return Visibility(allowed & ~represented, represented)


def current_first(order: Rows, successors: Mapping[int, Iterable[int]]) -> Rows:
    """Move successors right before what they superseded; everything else keeps its place.

    Args:
        order: positions in a pool, best first.
        successors: positions of the successors of superseded positions.
    """
    if not successors:
        return order
    found: dict[int, None] = {}
    for position in order.tolist():
        _append_after_successors(position, successors, found, set())
    return np.array(list(found), np.intp)


def _append_after_successors(
    position: int, successors: Mapping[int, Iterable[int]], found: dict[int, None], open_: set[int]
) -> None:
    """Append a position after its successors; ``open_`` guards against cycles."""
    if position in found or position in open_:
        return
    open_.add(position)
    for other in successors.get(position, ()):
        _append_after_successors(other, successors, found, open_)
    found.setdefault(position, None)
