"""What agents did: whether the procedure that is best by then is offered first.

    python -m benchmarks.quality.procedures [--data FILE ...] [--embedder NAME] [--json OUT]

Each run is a request of a user, the tools that were used for it with their outcomes, an answer, and sometimes what the user said
then, in a session of its own. Each question is a similar request of the user at a time, with the steps that its author holds for
best by then; it is asked ``at`` that time. ``procedures_by_others.json`` is by another author. ``procedures_dev.json`` and
``procedures_held_out.json`` are by the author of the score, with six users of different trades.

Four ways choose among the same procedures: ``score`` as ``Memory.procedures`` does, ``recency`` takes the one used last,
``frequency`` the one that worked most often, ``nearest`` the one of the most alike request. ``last`` takes that of the user's last
run of all, whatever its request was. ``first three`` counts where the best procedure is among the first three of ``score``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import reporting
from mnemic import Memory, Message, Procedure
from mnemic.recall.procedures import likeness

DATA = [Path(__file__).with_name(f"procedures_{name}.json") for name in ("by_others", "held_out", "dev")]
USER = "ana"
ALL = 10_000


def filled(memory: Memory, runs: Sequence[Mapping[str, Any]]) -> None:
    """Store the runs."""
    for number, run in enumerate(runs):
        at, used = datetime.fromisoformat(run["at"]), {"tools_used": run["tools_used"]}
        turns = [
            Message(role="user", content=run["request"], sent_at=at),
            Message(role="assistant", content=run["answer"], sent_at=at, metadata=used),
        ]
        if said_then := run.get("then"):
            turns.append(Message(role="user", content=said_then, sent_at=at + timedelta(minutes=1)))
        memory.add(turns, session=f"run-{number}")


def chosen(found: Sequence[Procedure]) -> dict[str, list[tuple[str, ...]]]:
    """The steps that each way offers for a request."""
    if not found:
        return {}
    best = {
        "score": found[0],
        "recency": max(found, key=lambda one: one.last_used),
        "frequency": max(found, key=lambda one: one.successes),
        "nearest": max(found, key=lambda one: likeness(one.requests[0])),
    }
    return {"first three": [one.steps for one in found[:3]], **{way: [one.steps] for way, one in best.items()}}


def last(runs: Sequence[Mapping[str, Any]], at: str) -> tuple[str, ...]:
    """The steps of the last run before a time."""
    before = [run for run in runs if datetime.fromisoformat(run["at"]) <= datetime.fromisoformat(at)]
    used = max(before, key=lambda run: datetime.fromisoformat(run["at"]), default={"tools_used": []})["tools_used"]
    return tuple(str(use["name"]) for use in used)


WAYS = ("score", "first three", "recency", "frequency", "nearest", "last")


def measured(data: Mapping[str, Any], embedder: str | None) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The share of questions with the best procedure first, in percent, and the questions that ``score`` gets wrong."""
    right, wrong = dict.fromkeys(WAYS, 0), list[dict[str, Any]]()
    for user in dict.fromkeys(question.get("user", USER) for question in data["questions"]):
        runs = [run for run in data["runs"] if run.get("user", USER) == user]
        with Memory(":memory:", user=user, embedder=embedder) as memory:
            filled(memory, runs)
            for question in (one for one in data["questions"] if one.get("user", USER) == user):
                found = memory.procedures(question["request"], k=ALL, at=datetime.fromisoformat(question["at"]))
                offered = {**chosen(found), "last": [last(runs, question["at"])]}
                for way in WAYS:
                    right[way] += tuple(question["steps"]) in offered.get(way, ())
                if tuple(question["steps"]) not in offered.get("score", ()):
                    wrong.append({**question, "offered": [one.steps for one in found[:3]]})
    return {way: round(100 * count / len(data["questions"]), 1) for way, count in right.items()}, wrong


def main(given: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.procedures", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", default=DATA)
    parser.add_argument("--embedder", help="default: the default embedder")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    held, figures, wrong = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for file in options.data:
        data = json.loads(file.read_text(encoding="utf-8"))
        figures[file.stem], wrong[file.stem] = measured(data, options.embedder)
        counts = {name: len(data[name]) for name in ("runs", "questions")}
        held[file.stem] = {"file": file.name, "sha256": reporting.sha256(file), **counts}
    rows = [(way, *(shares[way] for shares in figures.values())) for way in WAYS]
    reporting.print_table("procedures", ("chosen by", *figures), rows)
    if options.json:
        definitions = {
            "right": "percent of questions whose best procedure is offered first",
            "wrong": "those that score misses, with the first three",
        }
        result = reporting.document(
            "quality.procedures", given, data=held, definitions=definitions, figures=figures, wrong=wrong
        )
        reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
