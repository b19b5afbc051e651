"""The grade of a result: does it hold what was asked for, or is it only the best there is?

A rank always returns something. Six absolute features of the pool and its first hits give the probability that the first
ten hold evidence: a logistic regression, calibrated for as many answerable as unanswerable questions (for other odds add
their logarithm). It tells "this memory knows the subject" well (AUROC .93 against questions asked of a stranger's memory),
"this very fact was said" poorly (.65 when only the telling turns are missing).

Little to search is little to stand out from: below 300 rows the features of a right answer shrink, so the sum is raised and
stretched by the logarithm of how many are missing. Fitted on windows of one to 256 turns of the tuning conversations
(``python -m benchmarks.quality.evidence_small``).

Talk with an assistant has a grade of its own, because there a single hit that stands out is a subject that was touched once:
how near the first ten are on average, how far the first stands out of them, how much of the question they say together, and
how much there is to search: among more records more are near by chance. Fitted on BEAM, RealMem and small records written for
the purpose against BEAM's unanswerable questions (AUROC .72 and .63, held out by conversation) and against questions asked of
a stranger's memory (.91 to .99, in records of two turns .96).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.candidates import HERE, Pool
from mnemic.recall.recipes import CONVERSATION, plain_sum
from mnemic.recall.signals import SIGNALS, own_coverage
from mnemic.types import Evidence
from mnemic.vectors import CALIBRATED_FOR, dot

__all__ = ["Grade", "grade", "unsure"]

WEAK, STRONG = 0.17, 0.6
_INTERCEPT, _BEST, _LEAD, _COSINE, _OWN, _CUE, _NOBODY = -7.06, 0.29, 0.39, 2.24, 1.16, -0.6, 0.3
_USUAL, _FEWER, _STRETCHED = 300, 1.36, 0.136
_PRIORS = {"length", "question"}  # they speak for a turn whatever is asked
_ASSISTED_WEAK = 0.25
_ASSISTED_INTERCEPT, _NEAR, _APART, _TOGETHER, _SEARCHED = 1.07, 7.3, -0.37, 3.1, -0.86
_ENOUGH = 60
"""Rows from which more to search makes a hit less telling."""
_FIRST, _PER_HIT = 10, 8
"""Hits that are looked at, fewer where there are fewer than so many rows for each: most of a short talk is beside the point."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade with its probability, 0 to 1."""

    evidence: Evidence
    probability: float


NOTHING = Grade("none", 0.0)


def _named(probability: float, weak: float = WEAK) -> Grade:
    word: Evidence = "none" if probability < weak else "weak" if probability < STRONG else "strong"
    return Grade(word, probability)


def _assisted(pool: Pool, order: NDArray[np.intp], searched: int) -> Grade:
    """The grade of a talk with an assistant."""
    first = order[: max(1, min(_FIRST, searched // _PER_HIT))]
    weights = CONVERSATION.assisted
    merit = plain_sum({name: SIGNALS[name](pool) for name in weights}, weights)[first]
    said: NDArray[np.bool_] = np.any(pool.counts[first, HERE] > 0, axis=0)
    together = float(dot(said, pool.idf)) / float(pool.idf.sum() + 1e-9)
    near, apart = float(pool.dense[first].mean()), float(merit.max() - merit.min())
    sum_ = _ASSISTED_INTERCEPT + _NEAR * near + _APART * apart + _TOGETHER * together
    sum_ += _SEARCHED * math.log(max(searched, _ENOUGH))
    return _named(1.0 / (1.0 + math.exp(-sum_)), _ASSISTED_WEAK)


def unsure(evidence: Evidence, probability: float) -> Grade:
    """A grade that says ``weak`` at most: for languages that the embedder does not know."""
    return Grade("weak" if evidence == "strong" else evidence, min(probability, STRONG - 0.01))


def grade(pool: Pool, order: NDArray[np.intp], *, model: str | None, searched: int = _USUAL) -> Grade:
    """Grade a ranked pool.

    Args:
        pool: the candidates.
        order: their positions, best first.
        model: id of the embedder, None when the query had no vector. For other models than the one it was calibrated
            for, cosines are on an unknown scale: the grade then goes by words alone, the share of the query's idf mass
            that the best of the first ten hits says itself.
        searched: how many rows the query could see.
    """
    if not len(pool):
        return NOTHING
    own = own_coverage(pool)
    said = float(own[order[:10]].max())
    if model != CALIBRATED_FOR:
        return _named(said)
    if pool.assisted[order[:_FIRST]].mean() > 0.5:
        return _assisted(pool, order, searched)
    weights = {name: weight for name, weight in CONVERSATION.weights.items() if name not in _PRIORS}
    merit = plain_sum({name: SIGNALS[name](pool) for name in weights}, weights)
    first = order[:3]
    sum_ = (
        _INTERCEPT
        + _BEST * float(merit.max())
        + _LEAD * float(merit.max() - np.median(merit))
        + _COSINE * float(pool.dense[first].mean())
        + _OWN * said
        + _CUE * float(SIGNALS["cue"](pool)[first].mean())
        + _NOBODY * (not pool.speaker.any())
    )
    missing = max(0.0, math.log(_USUAL / max(searched, 1)))
    sum_ += missing * (_FEWER + _STRETCHED * sum_)
    return _named(float(1.0 / (1.0 + np.exp(-sum_))))
