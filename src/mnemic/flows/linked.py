"""What the graph of memories adds to a search: records that lie near its first hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.flows.engine import Engine, View
from mnemic.flows.standing import Standing

__all__ = ["nearby"]

SEEDS = 10
"""How many of the first hits the graph is entered from."""
PER_LINK = 0.7
"""What one link of full strength leaves of the nearness."""


def nearby(
    engine: Engine, view: View, standing: Standing, first: Sequence[int], via: Mapping[int, Sequence[int]], depth: int
) -> dict[int, float]:
    """How near rows are to the first hits over links, 0 to 1; rows that no link leads to are missing.

    Args:
        engine: where the links are.
        view: the user's records.
        standing: which rows may be shown.
        first: rows of the hits, best first.
        via: docs of the memories behind rows.
        depth: how many links to follow, at least 1.
    """
    columns = view.columns
    beliefs = columns.beliefs
    reached: dict[int, float] = {}
    for row in first[:SEEDS]:
        doc = int(columns.doc[row])
        for seed in {doc, *via.get(row, ()), *beliefs.made.get(doc, ())}:
            reached[seed] = 1.0
    began, frontier = set(reached), dict(reached)
    for _ in range(depth):
        if not frontier:
            break
        further: dict[int, float] = {}
        for source, target, strength in engine.store.relations.links(view.user, sorted(frontier)):
            for here, there in ((source, target), (target, source)):
                near = frontier.get(here, 0.0) * strength * PER_LINK
                if near > reached.get(there, 0.0):
                    reached[there] = further[there] = near
        frontier = further
    return _shown(view, standing, {doc: near for doc, near in reached.items() if doc not in began})


def _shown(view: View, standing: Standing, reached: Mapping[int, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for doc, near in reached.items():
        rows: NDArray[np.intp] = view.columns.rows_of([doc])
        for row in rows.tolist():
            for showing in standing.showing(view, row):
                found[showing] = max(found.get(showing, 0.0), near)
    return found
