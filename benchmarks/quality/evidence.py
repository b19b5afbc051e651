"""The evidence grade on a LoCoMo-shaped file: does the library know when it does not know?

Every question is asked of its own conversation and of another one that cannot answer it. There the speakers' names in the
question are exchanged for those of the other conversation, so that a matching name cannot give the answer away.

    python -m benchmarks.quality.evidence --data FILE [--seed 0] [--others 1] [--json OUT]
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import Conversation, load
from benchmarks.vectors import default_embedder
from mnemic import Memory

DEFINITIONS = {
    "answerable": "a question asked of its own conversation",
    "unanswerable": "the same question asked of another conversation of the file, drawn with the seed, names exchanged",
    "auroc": "area under the ROC curve of SearchResult.probability, answerable against unanswerable",
    "graded_none": "share of the unanswerable questions whose result is graded none",
    "none_with_evidence": "of all results graded none, the share whose first ten hits held evidence (a gold turn)",
    "strong_with_evidence": "of all results graded strong, the share whose first ten hits held evidence",
    "answerable_graded_none": "share of the answerable questions graded none",
}


@dataclass(frozen=True, slots=True)
class Graded:
    """One answer: its probability and grade, whether it could be answered, whether its first ten hold a gold turn."""

    probability: float
    grade: str
    answerable: bool
    evidence: bool


def speakers(conversation: Conversation) -> list[str]:
    """The names in a conversation, in the order they first speak."""
    return list(dict.fromkeys(m.name for m in conversation.messages if m.name))


def exchanged(question: str, here: Sequence[str], there: Sequence[str]) -> str:
    """The question with the names of one conversation in the place of those of another."""
    for old, new in zip(here, there, strict=False):
        question = re.sub(rf"\b{re.escape(old)}\b", new, question)
    return question


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a positive has the higher value, ties by half."""
    above = sum(np.searchsorted(np.sort(negative), p, "left") for p in positive)
    ties = sum(np.searchsorted(np.sort(negative), p, "right") for p in positive) - above
    return float((above + ties / 2) / (len(positive) * len(negative)))


def figures(answers: Sequence[Graded]) -> dict[str, Any]:
    """The figures of DEFINITIONS, in percent but for the area."""

    def share(part: Sequence[Graded], name: str) -> float | None:
        return round(100 * sum(bool(getattr(a, name)) for a in part) / len(part), 1) if part else None

    yes, no = [a for a in answers if a.answerable], [a for a in answers if not a.answerable]
    none, strong = [a for a in answers if a.grade == "none"], [a for a in answers if a.grade == "strong"]
    return {
        "answerable": len(yes), "unanswerable": len(no),
        "auroc": round(auroc([a.probability for a in yes], [a.probability for a in no]), 3),
        "graded_none": round(100 * sum(a.grade == "none" for a in no) / len(no), 1),
        "none_with_evidence": share(none, "evidence"), "strong_with_evidence": share(strong, "evidence"),
        "answerable_graded_none": round(100 * sum(a.grade == "none" for a in yes) / len(yes), 1),
        "calibration": calibration(answers),
    }  # fmt: skip


def calibration(answers: Sequence[Graded]) -> list[dict[str, float]]:
    """Tenths of the probability: the mean that was said and the share that held evidence."""
    rows: list[dict[str, float]] = []
    for tenth in range(10):
        part = [a for a in answers if min(int(a.probability * 10), 9) == tenth]
        if part:
            said, held = np.mean([a.probability for a in part]), np.mean([a.evidence for a in part])
            rows.append({"said": round(float(said), 2), "held": round(float(held), 2), "answers": len(part)})
    return rows


def graded(memory: Memory, question: str, conversation: Conversation, gold: Sequence[str] | None) -> Graded:
    result = memory.search(question, k=10, now=conversation.asked_at)
    found = {id_ for hit in result for id_ in hit.message_ids}
    return Graded(result.probability, result.evidence, gold is not None, bool(found & set(gold or ())))


def run(conversations: Sequence[Conversation], embedder: Any, *, seed: int, others: int) -> list[Graded]:
    """Ask every question of its own conversation and of ``others`` strangers."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        memories: list[Memory] = []
        for c in conversations:
            memories.append(Memory(Path(folder, c.name), embedder=embedder, durability="NORMAL"))
            memories[-1].add(c.messages)
        answers: list[Graded] = []
        for here, c in enumerate(conversations):
            for question in c.questions:
                answers.append(graded(memories[here], question.text, c, question.gold))
                for there in draw.sample([n for n in range(len(conversations)) if n != here], others):
                    stranger = conversations[there]
                    asked = exchanged(question.text, speakers(c), speakers(stranger))
                    answers.append(graded(memories[there], asked, stranger, None))
        for memory in memories:
            memory.close()
    return answers


def show(found: Mapping[str, Any]) -> None:
    """The figures as tables."""
    reporting.print_table(
        "evidence grade", ("figure", "value"), [(k, v) for k, v in found.items() if k != "calibration"]
    )
    lines = [(row["said"], row["held"], row["answers"]) for row in found["calibration"]]
    reporting.print_table("calibration", ("said", "held", "answers"), lines)


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.evidence", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--others", type=int, default=1, help="conversations that each question is asked of in vain")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    conversations = [c for c in load(options.data) if c.questions]
    answers = run(conversations, default_embedder(None), seed=options.seed, others=options.others)
    result = reporting.document(
        "quality.evidence", given, data={"file": options.data.name, "sha256": reporting.sha256(options.data)},
        settings={"seed": options.seed, "others": options.others}, definitions=DEFINITIONS, figures=figures(answers),
    )  # fmt: skip
    show(result["figures"])
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
