"""Quality reranking on a set made for it: memories that answer a question equally well and differ in what is known of them.

Each question has a group of statements that fit it alike, and one of them is the one to give: the important one, the one that
consolidation kept, the one of the project at hand, or the one said last. Which statement of a group that is, is drawn with the
seed, so words cannot tell.

    python -m benchmarks.quality.quality [--seed 0] [--json OUT]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.vectors import default_embedder
from mnemic import Consolidator, Memory, Message
from mnemic.protocols import Embedder

DEFINITIONS = {
    "first": "percent of questions whose wanted record is the first hit",
    "reciprocal": "mean reciprocal rank of the wanted record among the first ten, in percent",
    "importance": "one of four memories was remembered with importance 0.9, the others with 0.2",
    "tier": "one of four memories is long-term by a consolidation, the others are not",
    "level": "one of four memories belongs to the project at hand, the others to no project",
    "recency": "one of four messages was said yesterday, the others 60, 120 and 240 days before",
}
THINGS = (
    "the deployment", "the garden fence", "the school play", "the tax form", "the bakery", "the choir", "the boiler", "the insurance",
    "the allotment", "the ferry trip", "the piano", "the museum visit", "the bicycle", "the newsletter", "the archive", "the chess club",
    "the greenhouse", "the survey", "the workshop", "the reading group", "the old laptop", "the kitchen", "the dog walk", "the parking permit",
)  # fmt: skip
WAYS = (
    "Ines wrote a note on {x}",
    "There was a talk about {x}",
    "Somebody asked me about {x}",
    "We had a question on {x}",
)
ASKED = "What was there about {x}?"
PROJECT = "here"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def _statements(draw: random.Random, thing: str) -> list[str]:
    ways = [way.format(x=thing) for way in WAYS]
    draw.shuffle(ways)
    return ways


def _importance(memory: Memory, ways: Sequence[str]) -> str:
    receipts = [memory.remember(way, importance=0.9 if i == 0 else 0.2) for i, way in enumerate(ways)]
    return receipts[0].id


def _level(memory: Memory, ways: Sequence[str]) -> str:
    for way in ways[1:]:
        memory.remember(way)
    return memory.scoped(project=PROJECT).remember(ways[0]).id


def _recency(memory: Memory, ways: Sequence[str]) -> str:
    days = (1, 60, 120, 240)
    said = [
        Message(role="user", content=way, sent_at=NOW - timedelta(days=day), session=f"{way}")
        for way, day in zip(ways, days, strict=True)
    ]
    return memory.add(said).ids[0]


def _tier(memory: Memory, ways: Sequence[str]) -> str:
    """Weighty when a cycle runs, so that it is promoted; then as light as the others."""
    kept = memory.remember(ways[0], importance=0.9).id
    memory.consolidate()
    memory.update(kept, importance=0.2)
    for way in ways[1:]:
        memory.remember(way, importance=0.2)
    assert memory.get(kept).status == "long_term", "the cycle promoted nothing, and the set would measure nothing"
    return kept


SETS: dict[str, Callable[[Memory, Sequence[str]], str]] = {
    "importance": _importance, "tier": _tier, "level": _level, "recency": _recency,
}  # fmt: skip


def measured(embedder: Embedder, seed: int) -> dict[str, Any]:
    """The figures of every set, without and with quality."""
    found: dict[str, Any] = {}
    for name, tell in SETS.items():
        draw = random.Random(f"{seed}:{name}")
        settings = Consolidator(min_age_hours=0.0, importance_threshold=0.5)
        with Memory(":memory:", embedder=embedder, consolidator=settings) as memory:
            wanted = {thing: tell(memory, _statements(draw, thing)) for thing in THINGS}
            found[name] = {
                label: _figures(memory.scoped(project=PROJECT), wanted, quality=quality)
                for label, quality in (("without", False), ("with", True))
            }
    return found


def _figures(memory: Memory, wanted: dict[str, str], *, quality: bool) -> dict[str, float]:
    ranks: list[float] = []
    for thing, id_ in wanted.items():
        ids = [hit.id for hit in memory.search(ASKED.format(x=thing), quality=quality, now=NOW)]
        ranks.append(1 / (1 + ids.index(id_)) if id_ in ids else 0.0)
    first = float(np.mean([rank == 1.0 for rank in ranks]))
    return {"first": round(100 * first, 1), "reciprocal": round(100 * float(np.mean(ranks)), 1)}


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.quality", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--vectors-cache", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    embedder = default_embedder(options.vectors_cache)
    found = measured(embedder, options.seed)
    embedder.close()
    rows = [
        (name, *(both[how][figure] for figure in ("first", "reciprocal") for how in ("without", "with")))
        for name, both in found.items()
    ]
    reporting.print_table("the wanted record, %", ("set", "first", "with", "reciprocal", "with"), rows)
    data = {"made": f"{len(THINGS)} questions a set, {len(WAYS)} statements each, seed {options.seed}"}
    result = reporting.document("quality.quality", given, data=data, definitions=DEFINITIONS, figures=found)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
