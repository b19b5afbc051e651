"""The graph of linked memories: decay of links, and proximity to the first hits of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import DAY
from mnemic.recall.results import Visibility
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View

LINK_HALF_LIFE = timedelta(days=90)
"""Time without use in which half of the decaying share of a link's strength is lost."""
LINK_FLOOR = 0.2
"""Share of a link's strength that never decays."""


def link_strength(strength: float, idle: timedelta) -> float:
    """The strength of a link, 0 to 1, after neither end was used for a time."""
    return strength * (LINK_FLOOR + (1 - LINK_FLOOR) * 0.5 ** (max(idle, timedelta()) / LINK_HALF_LIFE))


SEEDS = 10
"""First hits from which links are followed."""
LINK_DECAY = 0.7
"""Factor per link."""


def proximities(
    runtime: Runtime,
    view: View,
    visible_records: Visibility,
    first: Sequence[int],
    via: Mapping[int, Sequence[int]],
    depth: int,
    now: int,
) -> dict[int, float]:
    """Proximity of rows to the first hits over links, 0 to 1; rows without a path are missing.

    Links whose ends have not been used for long count less, but are always followed.

    Args:
        runtime: gives access to the links.
        view: the user's records.
        visible_records: the rows that may be returned.
        first: rows of the hits, best first.
        via: docs of the memories derived from rows.
        depth: links to follow, at least 1.
        now: time of the query, in microseconds since 1970.
    """
    columns = view.columns
    validity = columns.validity
    seeds: dict[int, None] = {}
    for row in first[:SEEDS]:
        doc = int(columns.doc[row])
        seeds |= dict.fromkeys((doc, *via.get(row, ()), *validity.derived.get(doc, ())))
    edges = _edges(runtime, view, list(seeds), depth, now)
    reached: dict[int, float] = {}
    for seed in seeds:
        for doc, near in _reach_from(seed, edges, depth).items():
            reached[doc] = max(reached.get(doc, 0.0), near)
    return _visible_rows(view, visible_records, reached)


def _edges(runtime: Runtime, view: View, docs: Sequence[int], depth: int, now: int) -> dict[int, dict[int, float]]:
    """The links within ``depth`` steps of some records, in both directions, with their decayed strength."""
    edges: dict[int, dict[int, float]] = {}
    visited, frontier = set(docs), list(docs)
    for _ in range(depth):
        if not frontier:
            break
        further: set[int] = set()
        for source, target, _, strength, used in runtime.store.relations.links(view.user, frontier):
            days = max(now - used, 0) // DAY  # whole ones, so that a repeated query gives the same result
            decayed = link_strength(strength, timedelta(days=days))
            for here, there in ((source, target), (target, source)):
                neighbours = edges.setdefault(here, {})
                neighbours[there] = max(neighbours.get(there, 0.0), decayed)
                further.add(there)
        frontier = sorted(further - visited)
        visited |= further
    return edges


def _reach_from(seed: int, edges: Mapping[int, Mapping[int, float]], depth: int) -> dict[int, float]:
    """Proximity of records to one seed, without the seed itself."""
    reached = {seed: 1.0}
    frontier = {seed: 1.0}
    for _ in range(depth):
        further: dict[int, float] = {}
        for here, near in frontier.items():
            for there, strength in edges.get(here, {}).items():
                nearer = near * strength * LINK_DECAY
                if nearer > reached.get(there, 0.0):
                    reached[there] = further[there] = nearer
        frontier = further
    del reached[seed]
    return reached


def _visible_rows(view: View, visible_records: Visibility, reached: Mapping[int, float]) -> dict[int, float]:
    by_row: dict[int, float] = {}
    for doc, near in reached.items():
        rows: NDArray[np.intp] = view.columns.rows_of([doc])
        for row in rows.tolist():
            for evidence_row in visible_records.evidence_rows(view, row):
                by_row[evidence_row] = max(by_row.get(evidence_row, 0.0), near)
    return by_row
