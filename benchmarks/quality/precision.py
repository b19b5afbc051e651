"""What a limit of relevance leaves: statements of which few bear on a question, written by another hand.

    python -m benchmarks.quality.precision [--data FILE] [--recipe NAME] [--json OUT]

``talk_by_others/beliefs.json`` holds three memories of 38 statements, each with 76 questions and requests that say which statements
should stand before an agent; 101 of the 228 want none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from mnemic import Hit, Memory

DATA = Path(__file__).with_name("talk_by_others") / "beliefs.json"
LIMITS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
K = 20
DEFINITIONS = {
    "precision": "expected statements among the hits, over the hits, 0 without hits; mean over the cases that expect some, in percent",
    "recall": "expected statements among the hits, over the expected; mean over the same cases, in percent",
    "exact": "of these cases, those whose hits are what is expected, in percent",
    "empty": "of the cases that expect nothing, those without hits, in percent",
    "first": "of the cases that expect some, those whose first hit is expected, in percent",
}

Case = tuple[Sequence[Hit], frozenset[str]]


def asked(samples: Sequence[Mapping[str, Any]], recipe: str) -> list[Case]:
    """The first 20 hits of each case, and what it expects."""
    found: list[Case] = []
    for sample in samples:
        with Memory(":memory:", user="ana") as memory:
            for belief in sample["beliefs"]:
                memory.remember(belief["text"], id=belief["id"])
            found += [
                (memory.search(case["query"], k=K, recipe=recipe), frozenset(case["expected"]))
                for case in sample["cases"]
            ]
    return found


def figures(cases: Sequence[Case], limit: float) -> dict[str, float]:
    """The figures of DEFINITIONS for the hits that reach a limit."""
    kept = [({hit.id for hit in hits if hit.relevance >= limit}, expected) for hits, expected in cases]
    wanting = [(ids, expected) for ids, expected in kept if expected]
    shares = {
        "precision": [len(ids & expected) / max(len(ids), 1) for ids, expected in wanting],
        "recall": [len(ids & expected) / len(expected) for ids, expected in wanting],
        "exact": [ids == expected for ids, expected in wanting],
        "empty": [not ids for ids, expected in kept if not expected],
        "first": [hits[0].id in expected for hits, expected in cases if expected],
    }
    return {name: round(100 * float(np.mean(values)), 1) for name, values in shares.items()}


def main(given: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.precision", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a file in the shape of beliefs.json")
    parser.add_argument("--recipe", default="conversation", help="a recipe by name")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    cases = asked(json.loads(options.data.read_text(encoding="utf-8")), options.recipe)
    found = {str(limit): figures(cases, limit) for limit in LIMITS}
    reporting.print_table(
        f"{len(cases)} cases", ("limit", *DEFINITIONS), [(limit, *figure.values()) for limit, figure in found.items()]
    )
    if options.json:
        data = {"file": options.data.name, "sha256": reporting.sha256(options.data), "cases": len(cases)}
        result = reporting.document("quality.precision", given, data=data, definitions=DEFINITIONS, figures=found)
        reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
