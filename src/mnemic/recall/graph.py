"""The graph of memories: how links fade, and what lies near the first hits of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.recall.provenance import Standing
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View

__all__ = [
    "LINK_FLOOR",
    "LINK_HALF_LIFE",
    "RANK_FLOOR",
    "RANK_HALF_LIFE",
    "link_strength",
    "nearby",
    "rank_weight",
]

LINK_HALF_LIFE = timedelta(days=90)
LINK_FLOOR = 0.2
"""Share of a link's strength that stays for good."""
RANK_HALF_LIFE = timedelta(days=180)
RANK_FLOOR = 0.8
"""Share of a score that stays for good: a tie-break, so that what is relevant is found however old it is."""


def _faded(idle: timedelta, half_life: timedelta, floor: float) -> float:
    """1 right after a use, falling to ``floor``; one half of the way after a half-life."""
    if half_life <= timedelta():
        raise InvalidInput(f"half_life must be longer than nothing, this one is {half_life}.")
    if not 0 <= floor <= 1:
        raise InvalidInput(f"floor must lie between 0 and 1, this one is {floor!r}.")
    return floor + (1 - floor) * 0.5 ** (max(idle, timedelta()) / half_life)


def link_strength(
    strength: float, idle: timedelta, *, half_life: timedelta = LINK_HALF_LIFE, floor: float = LINK_FLOOR
) -> float:
    """What a link is worth after a time without use.

    Args:
        strength: as it was made, 0 to 1.
        idle: time since either end was last used; less than nothing counts as nothing.
        half_life: time in which it loses one half of what it can lose.
        floor: the share that stays for good, 0 to 1.

    Returns:
        At most ``strength``, at least ``floor`` times it.

    Raises:
        InvalidInput: an argument is out of its range.
    """
    if not 0 <= strength <= 1:
        raise InvalidInput(f"strength must lie between 0 and 1, this one is {strength!r}.")
    return strength * _faded(idle, half_life, floor)


def rank_weight(idle: timedelta, *, half_life: timedelta = RANK_HALF_LIFE, floor: float = RANK_FLOOR) -> float:
    """The factor, ``floor`` to 1, by which a score is multiplied after a time without use.

    Args:
        idle: time since the memory was last used or made; less than nothing counts as nothing.
        half_life: time in which it falls half of the way.
        floor: what it never falls below, 0 to 1.

    Raises:
        InvalidInput: half_life or floor is out of its range.
    """
    return _faded(idle, half_life, floor)


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
