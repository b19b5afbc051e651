"""What the graph of memories adds to a search: records that lie near its first hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.decay import link_strength
from mnemic.recall.provenance import Standing
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View

__all__ = ["nearby"]

SEEDS = 10
"""How many of the first hits the graph is entered from."""
DAY = 86_400_000_000
"""In microseconds."""
PER_LINK = 0.7
"""What one link of full strength leaves of the nearness."""


def nearby(
    runtime: Runtime,
    view: View,
    standing: Standing,
    first: Sequence[int],
    via: Mapping[int, Sequence[int]],
    depth: int,
    now: int,
) -> dict[int, float]:
    """How near rows are to the first hits over links, 0 to 1; rows that no link leads to are missing.

    A link whose ends nobody has used for long counts less; it is never left out for that.

    Args:
        runtime: where the links are.
        view: the user's records.
        standing: which rows may be shown.
        first: rows of the hits, best first.
        via: docs of the memories behind rows.
        depth: how many links to follow, at least 1.
        now: when it is asked, in microseconds since 1970.
    """
    columns = view.columns
    beliefs = columns.beliefs
    seeds: dict[int, None] = {}
    for row in first[:SEEDS]:
        doc = int(columns.doc[row])
        seeds |= dict.fromkeys((doc, *via.get(row, ()), *beliefs.made.get(doc, ())))
    edges = _edges(runtime, view, list(seeds), depth, now)
    reached: dict[int, float] = {}
    for seed in seeds:
        for doc, near in _from(seed, edges, depth).items():
            reached[doc] = max(reached.get(doc, 0.0), near)
    return _shown(view, standing, reached)


def _edges(runtime: Runtime, view: View, docs: Sequence[int], depth: int, now: int) -> dict[int, dict[int, float]]:
    """The links within so many steps of some records, from either end, each with what it is worth by now."""
    edges: dict[int, dict[int, float]] = {}
    known, frontier = set(docs), list(docs)
    for _ in range(depth):
        if not frontier:
            break
        further: set[int] = set()
        for source, target, _, strength, used in runtime.store.relations.edges(view.user, frontier):
            idle = timedelta(days=max(now - used, 0) // DAY)  # whole days: the same question has the same answer
            worth = link_strength(strength, idle)
            for here, there in ((source, target), (target, source)):
                held = edges.setdefault(here, {})
                held[there] = max(held.get(there, 0.0), worth)
                further.add(there)
        frontier = sorted(further - known)
        known |= further
    return edges


def _from(seed: int, edges: Mapping[int, Mapping[int, float]], depth: int) -> dict[int, float]:
    """How near records are to one of the first hits; not to itself."""
    reached = {seed: 1.0}
    frontier = {seed: 1.0}
    for _ in range(depth):
        further: dict[int, float] = {}
        for here, near in frontier.items():
            for there, strength in edges.get(here, {}).items():
                nearer = near * strength * PER_LINK
                if nearer > reached.get(there, 0.0):
                    reached[there] = further[there] = nearer
        frontier = further
    del reached[seed]
    return reached


def _shown(view: View, standing: Standing, reached: Mapping[int, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for doc, near in reached.items():
        rows: NDArray[np.intp] = view.columns.rows_of([doc])
        for row in rows.tolist():
            for showing in standing.showing(view, row):
                found[showing] = max(found.get(showing, 0.0), near)
    return found
