"""Fits the weights of ``mnemic.recall.need`` and prints them, with how they do on chats by other authors.

    python -m benchmarks.quality.need_fit [--json OUT]

``texts_by_need.json`` holds 841 texts for which nothing from earlier conversations could help, and 721 for which it could, by an
author who knew no code. The figures are those on ``small_chats_by_others.json``, which is not fitted on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.quality import regression
from benchmarks.quality.chats import SMALL as CHATS
from benchmarks.quality.evidence import auroc
from benchmarks.vectors import default_embedder
from mnemic.recall import need

DATA = Path(__file__).with_name("texts_by_need.json")
RIDGE = 0.4
DEFINITIONS = {
    "questions": "probability that a question which a chat answers needs memory more than a text that needs none",
    "unanswered": "the same for questions that no message answers",
    "left_out": "of the questions that a chat answers, those with log odds below -1, in percent",
}


def fitted(vectors: np.ndarray, needs: np.ndarray) -> np.ndarray:
    """The (d + 1,) weights of a logistic regression in which both answers weigh the same; the intercept last."""
    design = np.hstack([vectors, np.ones((len(vectors), 1))])
    weights = np.where(needs > 0, 1 / np.count_nonzero(needs), 1 / np.count_nonzero(needs == 0)) * len(needs) / 2
    return regression.newton(design, needs, weights, np.append(np.full(vectors.shape[1], RIDGE), 1e-6))


def main(given: Sequence[str]) -> dict[str, Any]:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.need_fit", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args(given)
    texts, chats = json.loads(DATA.read_text(encoding="utf-8")), json.loads(CHATS.read_text(encoding="utf-8"))
    embedder = default_embedder()

    def vectors(some: Sequence[str]) -> np.ndarray:
        return embedder.embed(some, kind="query").astype(np.float64)

    rows = np.vstack([vectors(texts["needs"]), vectors(texts["idle"])])
    answers = np.repeat([1.0, 0.0], [len(texts["needs"]), len(texts["idle"])])
    weights = fitted(rows, answers)

    def odds(kind: str) -> list[float]:
        some = [text if isinstance(text, str) else text["text"] for chat in chats for text in chat[kind]]
        return (vectors(some) @ weights[:-1] + weights[-1]).tolist()

    asked, unanswered, idle = map(odds, ("questions", "unanswered", "idle"))
    embedder.close()
    figures = {
        "questions": round(auroc(asked, idle), 3),
        "unanswered": round(auroc(unanswered, idle), 3),
        "left_out": round(100 * float(np.mean(np.array(asked) < -1)), 1),
    }
    print(need.packed(weights))
    reporting.print_table("the need of memory", ("figure", "value"), list(figures.items()))
    data = {"sha256": {file.name: reporting.sha256(file) for file in (DATA, CHATS)}}
    result = reporting.document("quality.need_fit", given, data=data, definitions=DEFINITIONS, figures=figures)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
