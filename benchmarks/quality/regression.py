"""Logistic regressions with a ridge, by Newton's method."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders.readers import pack, phrases

Floats = NDArray[np.float64]

STEPS, SETTLED = 30, 1e-7
"""Most steps, and the largest change of a coefficient in the last one."""
LARGEST = 30.0
"""Log odds beyond which a step counts them as this."""


def newton(design: Floats, answers: Floats, weights: Floats, ridge: Floats, offset: Floats | float = 0.0) -> Floats:
    """The (F,) coefficients.

    Args:
        design: (n, F) features, a column of ones for the intercept among them.
        answers: (n,) 0 or 1.
        weights: (n,) what each row weighs.
        ridge: (F,) penalty of each squared coefficient.
        offset: (n,) log odds that are given.
    """
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-np.clip(design @ found + offset, -LARGEST, LARGEST)))
        slope = design.T @ (weights * (likely - answers)) + ridge * found
        bend = (design * (weights * likely * (1 - likely))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < SETTLED:
            break
    return found


def standardised(rows: Floats, answers: Floats, weights: Floats, ridge: float) -> Floats:
    """The (F + 1,) coefficients of features as they are, the intercept last; the ridge is on standardised columns."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    design = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    found = newton(design, answers, weights, np.append(np.full(rows.shape[1], ridge), 1e-6))
    scaled = found[:-1] / spread
    return np.append(scaled, found[-1] - scaled @ mean)


@dataclass(frozen=True, slots=True)
class TextRegression:
    """A regression on vectors and phrases of texts: the weights of the d dimensions, of the phrases and the intercept."""

    phrases: Sequence[str]
    weights: Floats

    def log_odds(self, texts: Sequence[str], vectors: Floats) -> Floats:
        """(n,) as ``mnemic.embedders.readers.TextProbe``."""
        return np.hstack([vectors, spoken(texts, self.phrases)]) @ self.weights[:-1] + self.weights[-1]

    def to_json(self) -> str:
        """The file that ``TextProbe`` reads."""
        dimension = len(self.weights) - len(self.phrases) - 1
        vector = pack(np.append(self.weights[:dimension], self.weights[-1]))
        weights = dict(zip(self.phrases, self.weights[dimension:-1].round(2).tolist(), strict=True))
        return json.dumps({"vector": vector, "phrases": weights}, ensure_ascii=False, indent=0) + "\n"


def common_phrases(texts: Sequence[str], authors: Sequence[str], least: int) -> list[str]:
    """The phrases that at least so many authors wrote, in order."""
    by_author: dict[str, set[str]] = {}
    for text, author in zip(texts, authors, strict=True):
        by_author.setdefault(author, set()).update(phrases(text))
    wrote = Counter(phrase for own in by_author.values() for phrase in own)
    return sorted(phrase for phrase, count in wrote.items() if count >= least)


def spoken(texts: Sequence[str], among: Sequence[str]) -> Floats:
    """(n, P) which of the phrases each text has: 0 or 1."""
    said = [phrases(text) for text in texts]
    return np.array([[phrase in own for phrase in among] for own in said], float).reshape(len(texts), len(among))
