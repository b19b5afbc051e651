"""How memories and the evidence they were made from stand to each other in one search.

The verbatim message is the hit, and the memories made of it are named by it: a derived memory takes a place of its own only
where its evidence may not be shown. What was replaced stands behind what replaced it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnemic import recall
from mnemic.recall.candidates import Question
from mnemic.runtime.views import View

__all__ = ["Behind", "Standing", "current_first", "stand"]

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

DERIVED = 50
"""How many derived memories of a search bring their evidence into the pool."""
BEARS = 0.25
"""Lowest cosine of a memory that bears on a query."""
BESIDE = 0.1
"""How much nearer to a query a message is than a memory made of it, where the query is about something else in it."""
LIFT = 0.5
"""How far the cosine of evidence rises towards that of a nearer memory made from it; half is best on LoCoMo."""


@dataclass(frozen=True, slots=True)
class Behind:
    """What stands behind the rows of a pool: docs of the memories that bear on the query, and of what replaced them."""

    via: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    lifted: Mapping[int, float] = field(default_factory=dict[int, float])
    replaced: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    instead: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])

    def rows(self) -> list[int]:
        """Rows that have to be in the pool."""
        return list({*self.via, *(row for rows in self.instead.values() for row in rows)})


@dataclass(frozen=True, slots=True)
class Standing:
    """The rows a search may return: ``shown`` take places, ``represented`` are derived memories whose evidence may be shown."""

    shown: Mask
    represented: Mask

    def behind(self, view: View, question: Question, rows: Rows) -> Behind:
        """What stands behind the rows of a pool."""
        via, lifted = self._via(view, question)
        replaced, instead = self._replaced(view, question, recall.ascending(len(view.columns), rows, list(via)))
        return Behind(via, lifted, replaced, instead)

    def _via(self, view: View, question: Question) -> tuple[dict[int, list[int]], dict[int, float]]:
        """The derived memories nearest to the query, by the row of their evidence."""
        via: dict[int, list[int]] = {}
        lifted: dict[int, float] = {}
        if question.cosines is None or not self.represented.any():
            return via, lifted
        meaning = question.cosines.values
        best = recall.top(meaning, self.represented, DERIVED, above=BEARS)
        evidence = self._evidence(view, best)
        shown = [parent for parents in evidence.values() for parent in parents]
        question.cosines.sharpen(np.array([*best.tolist(), *shown], np.intp))
        for row in best.tolist():
            for parent in evidence.get(row, ()):
                via.setdefault(parent, []).append(int(view.columns.doc[row]))
                nearer = LIFT * float(meaning[row]) + (1 - LIFT) * float(meaning[parent])
                lifted[parent] = max(lifted.get(parent, -1.0), nearer)
        return via, lifted

    def _evidence(self, view: View, rows: Rows) -> dict[int, list[int]]:
        """The rows shown for derived memories."""
        child, parent = view.columns.derived()
        wanted = np.flatnonzero(np.isin(child, rows) & self.shown[parent])
        found: dict[int, list[int]] = {}
        for pair in wanted.tolist():
            found.setdefault(int(child[pair]), []).append(int(parent[pair]))
        return found

    def _replaced(
        self, view: View, question: Question, rows: Rows
    ) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """For rows whose matter was replaced: the docs that hold instead, and the rows that show these."""
        beliefs, columns = view.columns.beliefs, view.columns
        replaced: dict[int, list[int]] = {}
        instead: dict[int, list[int]] = {}
        if not beliefs.successors:
            return replaced, instead
        for row in rows.tolist():
            doc = int(columns.doc[row])
            told = self._told(view, question, [doc, *beliefs.made.get(doc, ())])
            asked = question.query.filters
            if superseding := beliefs.superseding(doc, asked.at, asked.known_at):
                replaced[row] = superseding
            holds = None if told is None else beliefs.successor(told, asked.at, asked.known_at)
            if told is None or holds is None or not self._bears(view, question, row, told):
                continue
            for at in columns.rows_of([holds]).tolist():
                instead[row] = [other for other in self.showing(view, at) if other != row]
        return replaced, instead

    def showing(self, view: View, row: int) -> list[int]:
        """The rows that show a record: its own, or those of its evidence, or none."""
        return [row] if self.shown[row] else self._evidence(view, np.array([row])).get(row, [])

    def _bears(self, view: View, question: Question, row: int, told: int) -> bool:
        """Whether a question is about what a memory told, rather than about something else that its message says."""
        at = view.columns.rows_of([told])
        if question.cosines is None or not len(at) or int(at[0]) == row:
            return True
        question.cosines.sharpen(np.array([row, at[0]], np.intp))
        own, memory = question.cosines.values[[row, at[0]]].tolist()
        return memory >= min(BEARS, own - BESIDE)

    def _told(self, view: View, question: Question, docs: Sequence[int]) -> int | None:
        """Of a record and the memories made of it, the memory that bears on the query most."""
        columns = view.columns
        memories = [doc for doc in docs if doc in columns.beliefs.origins or doc in columns.beliefs.successors]
        if len(memories) < 2 or question.cosines is None:
            return memories[0] if memories else None
        rows = columns.rows_of(sorted(memories))
        question.cosines.sharpen(rows)
        return int(columns.doc[rows[int(np.argmax(question.cosines.values[rows]))]]) if len(rows) else None


def stand(view: View, allowed: Mask) -> Standing:
    """Divide what a search may return into what takes places and what is named by its evidence."""
    child, parent = view.columns.derived()
    represented = np.zeros(len(view.columns), np.bool_)
    represented[child[allowed[parent]]] = True
    named = np.zeros(
        len(view.columns), np.bool_
    )  # what comes of a memory that takes no place itself is named by nobody
    named[child[allowed[parent] & ~represented[parent]]] = True
    represented &= allowed & named
    return Standing(allowed & ~represented, represented)


def current_first(order: Rows, instead: Mapping[int, Iterable[int]]) -> Rows:
    """The order with what holds now moved right before what it replaced; everything else keeps its place.

    Args:
        order: positions in a pool, best first.
        instead: for positions whose matter was replaced, the positions that hold instead.
    """
    if not instead:
        return order
    found: dict[int, None] = {}
    for position in order.tolist():
        _place(position, instead, found, set())
    return np.array(list(found), np.intp)


def _place(position: int, instead: Mapping[int, Iterable[int]], found: dict[int, None], open_: set[int]) -> None:
    """Append a position after everything that holds instead of it; ``open_`` ends circles."""
    if position in found or position in open_:
        return
    open_.add(position)
    for other in instead.get(position, ()):
        _place(other, instead, found, open_)
    found.setdefault(position, None)
