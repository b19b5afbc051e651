"""Short follow-ups, with and without the turns before them: ``python -m benchmarks.quality.followups --data FILE``.

Each case is a record, the last turns of a conversation that is not in it, a follow-up that says little alone, and a message that
changes the topic. Prints R@5 and R@10 of both, searched for with ``recent=`` and without.
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
from benchmarks.quality import metrics
from benchmarks.vectors import default_embedder
from mnemic import Memory, Message

DEPTHS = (5, 10)
DEFINITIONS = {
    "case": "24 to 40 messages of several topics; 2 to 4 turns of a conversation that goes on with one of them",
    "follow-up": "the next message says little alone, such as `and the second step?`; gold: what is needed to answer it",
    "alone": "the next message changes the topic and can be understood by itself",
    "R@k": "gold turns among the first k distinct message_ids, over gold turns; mean over the cases, in percent",
}


def measured(case: Mapping[str, Any], embedder: Any) -> dict[str, float]:
    """R@k of one case by kind of question, with the turns before it and without."""
    found: dict[str, float] = {}
    recent = [turn["text"] for turn in case["recent"]]
    with Memory(":memory:", embedder=embedder) as memory:
        memory.add(
            Message(role=m["role"], content=m["text"], id=m["id"], session=m["session"]) for m in case["messages"]
        )
        for kind, asked, gold in (
            ("follow-up", case["followup"], case["followup_gold"]),
            ("alone", case["alone"], case["alone_gold"]),
        ):
            for name, turns in (("without", ()), ("with", recent)):
                hits = memory.search(asked, k=max(DEPTHS), recent=turns)
                ranked = metrics.distinct(id_ for hit in hits for id_ in hit.message_ids)
                for k in DEPTHS:
                    found[f"{kind}, {name} turns, R@{k}"] = metrics.fraction(frozenset(gold), ranked[:k])
    return found


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.followups", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a JSON list of cases")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    cases = json.loads(options.data.read_text(encoding="utf-8"))
    embedder = default_embedder()
    values = [measured(case, embedder) for case in cases]
    figures = {name: round(100 * float(np.mean([one[name] for one in values])), 1) for name in values[0]}
    reporting.print_table(f"{len(cases)} cases", ("figure", "percent"), list(figures.items()))
    result = reporting.document(
        "quality.followups", given,
        data={"file": options.data.name, "sha256": reporting.sha256(options.data), "cases": len(cases)},
        settings={"embedder": embedder.id}, definitions=DEFINITIONS, figures=figures,
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
