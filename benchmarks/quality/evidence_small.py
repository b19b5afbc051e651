"""The evidence grade over small memories: does a new user's first day look as if memory were broken?

Windows of one to 256 turns are cut from the conversations of a LoCoMo-shaped file so that they hold a gold turn of a
question. Each window is asked that question, and one of another conversation with the names exchanged.

    python -m benchmarks.quality.evidence_small --data FILE [--questions 250] [--seed 0] [--json OUT]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.conversations import Conversation, load
from benchmarks.quality.evidence import DEFINITIONS, Graded, exchanged, figures, graded, speakers
from benchmarks.vectors import default_embedder
from mnemic import Memory
from mnemic.recall import evidence

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SHOWN = ("auroc", "answerable_graded_none", "graded_none", "none_with_evidence", "strong_with_evidence")


def window(conversation: Conversation, gold: Sequence[str], size: int, draw: random.Random) -> list[Any]:
    """So many turns in a row, of which one is gold."""
    ids = [message.id for message in conversation.messages]
    at = draw.choice([ids.index(id_) for id_ in gold])
    start = max(0, min(at - draw.randrange(size), len(ids) - size))
    return list(conversation.messages[start : start + size])


def run(
    conversations: Sequence[Conversation], embedder: Any, *, questions: int, seed: int
) -> dict[int, list[tuple[str, Graded]]]:
    """Answers by size, each with the name of its conversation."""
    draw = random.Random(seed)
    known = {c.name: {m.id for m in c.messages} for c in conversations}
    asked = [(c, q) for c in conversations for q in c.questions if q.gold and set(q.gold) <= known[c.name]]
    draw.shuffle(asked)
    answers: dict[int, list[tuple[str, Graded]]] = {size: [] for size in SIZES}
    for size, found in answers.items():
        for c, question in asked[:questions]:
            turns = window(c, question.gold, size, draw)
            other = draw.choice([one for one in conversations if one is not c])
            stranger = exchanged(draw.choice(other.questions).text, speakers(other), speakers(c))
            with Memory(":memory:", embedder=embedder) as memory:
                memory.add(turns)
                found.append((c.name, graded(memory, question.text, c, question.gold)))
                found.append((c.name, graded(memory, stranger, c, None)))
    return answers


def fitted(answers: dict[int, list[tuple[str, Graded]]]) -> list[float]:
    """What to add for each unit of the logarithm that is missing, and by how much to stretch the sum, by Newton's method."""
    rows = [(size, one) for size, found in answers.items() for _, one in found]
    missing = np.maximum(0, np.log([evidence._REFERENCE_SIZE / size for size, _ in rows]))
    chance = np.clip([one.probability for _, one in rows], 1e-9, 1 - 1e-9)
    told = np.log(chance / (1 - chance))
    plain = (told - evidence._SMALL_SHIFT * missing) / (1 + evidence._SMALL_SCALE * missing)
    held = np.array([one.evidence for _, one in rows], np.float64)
    parts, weights = (
        np.column_stack([missing, missing * plain]),
        np.array([evidence._SMALL_SHIFT, evidence._SMALL_SCALE]),
    )
    for _ in range(20):
        said = 1 / (1 + np.exp(-np.clip(plain + parts @ weights, -50, 50)))
        curve = parts.T @ (parts * (said * (1 - said))[:, None])
        weights = weights - np.linalg.solve(curve, parts.T @ (said - held))
    return [round(float(weight), 3) for weight in weights]


def main(given: Sequence[str]) -> dict[str, Any]:
    """Run, print, and write the result if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.evidence_small", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=250, help="of all conversations, drawn with the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    embedder = default_embedder()
    answers = run(load(options.data), embedder, questions=options.questions, seed=options.seed)
    found = {str(size): figures([one for _, one in part]) for size, part in answers.items()}
    reporting.print_table(
        "the grade by turns in the memory", ("turns", *SHOWN),
        [(size, *(figure[name] for name in SHOWN)) for size, figure in found.items()],
    )  # fmt: skip
    weights = fitted(answers)
    print(f"added and stretched, fitted on these windows: {weights}")
    result = reporting.document(
        "quality.evidence_small", given,
        data={"file": options.data.name, "sha256": reporting.sha256(options.data)},
        settings={"seed": options.seed, "questions": options.questions}, definitions=DEFINITIONS,
        figures={"by_turns": found, "fitted": weights},
    )  # fmt: skip
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
