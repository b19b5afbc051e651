"""Fits the weights of ``mnemic.recall.evidence`` and prints them, with how they do on chats by other authors.

    python -m benchmarks.quality.need_fit [--json OUT]

``texts_by_need.json`` holds 1,221 texts for which something from earlier conversations could help, and 1,341 for which nothing
could, by three authors who knew no code: chats, sessions of developers, private life and offices. The figures are those of each
author left out, and of two sets of chats that are not fitted on.
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
from benchmarks.quality import regression
from benchmarks.quality.chats import LONGER, SMALL, percent
from benchmarks.quality.evidence import auroc
from benchmarks.vectors import default_embedder
from mnemic.embedders.readers import pack

DATA = Path(__file__).with_name("texts_by_need.json")
RIDGE = 0.4
LOW = -1
DEFINITIONS = {
    "auroc": "probability that a text that needs memory has higher odds than one that needs none",
    "needs": "texts that need memory with log odds below -1, in percent",
    "idle": "texts that need none with such odds, in percent",
}


def idle_texts() -> list[str]:
    """The texts that need no memory, of all authors."""
    return [text for author in json.loads(DATA.read_text(encoding="utf-8")) for text in author["idle"]]


def of_chats(file: Path) -> dict[str, list[str]]:
    """The texts of a file of chats."""
    chats = json.loads(file.read_text(encoding="utf-8"))
    cases = [case for chat in chats for kind in ("questions", "unanswered") for case in chat[kind]]
    asked = [case if isinstance(case, str) else case["text"] for case in cases]
    return {"needs": asked, "idle": [text for chat in chats for text in chat["idle"]]}


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
    authors = json.loads(DATA.read_text(encoding="utf-8"))
    embedder = default_embedder()

    def examples(*some: Mapping[str, Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        texts = [(text, float(kind == "needs")) for one in some for kind in ("needs", "idle") for text in one[kind]]
        vectors = embedder.embed([text for text, _ in texts], kind="query")
        return vectors.astype(np.float64), np.array([need for _, need in texts])

    def judged(weights: np.ndarray, one: Mapping[str, Sequence[str]]) -> dict[str, float]:
        vectors, needs = examples(one)
        odds = vectors @ weights[:-1] + weights[-1]
        asked, idle = odds[needs > 0], odds[needs == 0]
        return {
            "auroc": round(auroc(asked.tolist(), idle.tolist()), 3),
            "needs": percent(asked < LOW),
            "idle": percent(idle < LOW),
        }

    weights = fitted(*examples(*authors))
    figures = {
        f"author {number}": judged(fitted(*examples(*(a for a in authors if a is not author))), author)
        for number, author in enumerate(authors, 1)
    }
    figures |= {name: judged(weights, of_chats(file)) for name, file in (("small", SMALL), ("longer", LONGER))}
    embedder.close()
    print(pack(weights))
    rows = [(name, *figure.values()) for name, figure in figures.items()]
    reporting.print_table("the need of memory", ("texts", *DEFINITIONS), rows)
    data = {"sha256": {file.name: reporting.sha256(file) for file in (DATA, SMALL, LONGER)}}
    result = reporting.document("quality.need_fit", given, data=data, definitions=DEFINITIONS, figures=figures)
    return reporting.written(result, options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
