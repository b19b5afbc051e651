"""Fits the weights of ``mnemic.extraction.contending`` and prints them as the module ``weights`` has them.

    python -m benchmarks.quality.updates_fit --locomo FILE [--without FAMILY] > weights

For each question of the sequences the first ten hits before they are put in order, each labelled by whether its message gives
the attribute a value. The questions of a LoCoMo file that ask for what is so count as well, labelled by their evidence: they
keep the rules from putting talk in the order of time. ``fifth`` is never read. With ``--without`` a family is left out of the
fit, and how often its questions come out right is printed instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.conversations import load
from benchmarks.quality import updates
from benchmarks.quality.updating import between
from benchmarks.vectors import default_embedder
from mnemic import Memory
from mnemic.extraction import contending, weights

FAMILIES = ("tuned", "held_out", "third", "fourth")
RIDGE = 10.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the first hits: what is read of them, and which of them answer."""

    rows: np.ndarray
    pairs: np.ndarray
    answers: np.ndarray


def _seen(memory: Any, question: str, told: set[str], **when: Any) -> Asked | None:
    """The first hits of a question as ``later_first`` is given them."""
    with mock.patch.object(contending, "later_first", side_effect=lambda _, said, __: list(range(len(said)))) as spy:
        memory.search(question, k=10, **when)
    if not spy.called:
        return None
    _, said, alike = spy.call_args.args
    rows, parts = contending.alone(question, said)
    answers = np.array([float(one.text in told) for one in said])
    return Asked(rows, contending.pairs(parts, alike), answers)


def _of_family(family: str, embedder: Any) -> Iterator[Asked]:
    count = len(updates.FAMILIES[family]) * (2 if family == "tuned" else 6)
    for sequence in (one for seed in (0, 1) for one in updates.sequences(family, count, seed)):
        told = {step.message.content for step in sequence.steps if step.value is not None}
        with Memory(":memory:", user="one", embedder=embedder, secrets="allow") as memory:
            for step in sequence.steps:
                memory.add([step.message])
                memory.process()
            now = sequence.steps[-1].message.sent_at + timedelta(days=3)
            for at in (None, *between(sequence)):
                found = _seen(memory, sequence.question, told, now=now, at=at)
                if found is not None:
                    yield found


def _of_talk(file: Path, embedder: Any) -> Iterator[Asked]:
    for conversation in load(file):
        with tempfile.TemporaryDirectory() as folder, Memory(folder, embedder=embedder, durability="NORMAL") as memory:
            memory.add(conversation.messages)
            memory.process()
            for question in conversation.questions:
                gold = {memory.get(id_).content for id_ in question.gold}
                found = _seen(memory, question.text, gold, now=conversation.asked_at)
                if found is not None:
                    yield found


def fitted(rows: np.ndarray, answers: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression with a ridge on standardised columns, by Newton's method."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    design = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    ridge = np.append(np.full(rows.shape[1], RIDGE), 1e-6)
    found = np.zeros(design.shape[1])
    for _ in range(25):
        likely = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        slope = design.T @ (likely - answers) + ridge * found
        bend = (design * (likely * (1 - likely))[:, None]).T @ design + np.diag(ridge)
        found -= np.linalg.solve(bend, slope)
    scaled = found[:-1] / spread
    return scaled, float(found[-1] - scaled @ mean)


def fit(asked: Sequence[Asked]) -> dict[str, tuple[np.ndarray, float]]:
    """The three regressions, each upon the one before it."""
    answers = np.concatenate([one.answers for one in asked])
    alone = fitted(np.vstack([one.rows for one in asked]), answers)
    rows, same = [], []
    for one in asked:
        for i in range(len(one.answers)):
            for j in (j for j in range(i) if one.answers[i] or one.answers[j]):
                rows.append(one.pairs[i, j])
                same.append(one.answers[i] * one.answers[j])
    pair = fitted(np.array(rows), np.array(same))
    with mock.patch.multiple(contending, ALONE=alone[0], ALONE_BIAS=alone[1], PAIR=pair[0], PAIR_BIAS=pair[1]):
        beside = np.vstack([contending.together(one.rows, one.pairs) for one in asked])
    return {"ALONE": alone, "PAIR": pair, "TOGETHER": fitted(beside, answers)}


def printed(found: dict[str, tuple[np.ndarray, float]]) -> str:
    """The regressions as Python."""
    lines: list[str] = []
    for name, (values, bias) in found.items():
        numbers = textwrap.wrap(" ".join(f"{value:.3f}," for value in values), 116)
        lines += [f"{name} = (", *(f"    {line}" for line in numbers), ")  # fmt: skip"]
        lines.append(f"{name}_BIAS = {bias:.3f}")
    return "\n".join(lines)


def main(given: Sequence[str]) -> None:
    """Fit, and print the weights, or the figures of the family that was left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.updates_fit", description=__doc__)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--without", choices=FAMILIES)
    options = parser.parse_args(given)
    embedder = default_embedder(None)
    asked = [one for family in FAMILIES if family != options.without for one in _of_family(family, embedder)]
    asked += _of_talk(options.locomo, embedder)
    found = fit(asked)
    if options.without is None:
        print(printed(found))
        return
    from benchmarks.quality import updating

    given_weights = {name: value for name, (value, _) in found.items()}
    given_weights |= {f"{name}_BIAS": bias for name, (_, bias) in found.items()}
    with mock.patch.multiple(contending, **given_weights), mock.patch.multiple(weights, **given_weights):
        figures = updating.by_memory(updates.sequences(options.without, 96, 0), embedder)
    print(options.without, {name: figures[name] for name in ("current", "past", "lost")})
    embedder.close()


if __name__ == "__main__":
    main(sys.argv[1:])
