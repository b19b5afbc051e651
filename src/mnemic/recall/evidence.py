"""Evidence grade: how likely a result holds the answer, rather than only the best of what is there.

Six absolute features of the pool and its first hits give the probability that the first ten hold evidence: a logistic
regression, calibrated for as many answerable as unanswerable questions (for other odds add their logarithm). It detects
well whether the memory knows the subject (AUROC .93 against questions to another user's memory), and poorly whether
this very fact was said (.65 when only the turns with the answer are missing).

Below 300 rows the features of a right answer shrink, so the sum is shifted and scaled by the logarithm of the missing
rows. Fitted on windows of one to 256 turns of the tuning conversations (``python -m
benchmarks.quality.evidence_small``).

Conversations with an assistant have a separate model, because there a single outstanding hit may be a subject mentioned
once. Its features: the mean cosine of the first ten hits, the lead of the first, the share of the query that they cover
together, and the number of records searched. Fitted on BEAM, RealMem and small records written for the purpose, against
BEAM's unanswerable questions (AUROC .72 and .63, held out by conversation) and against questions to another user's
memory (.91 to .99; .96 in records of two turns).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.recall.candidates import HERE, Pool
from mnemic.recall.recipes import CONVERSATION, SIGNALS, own_coverage, plain_sum
from mnemic.types import Evidence
from mnemic.vectors import DEFAULT_MODELS, dot

WEAK, STRONG = 0.17, 0.6
_INTERCEPT, _BEST, _LEAD, _COSINE, _OWN, _CUE, _NO_SPEAKER = -7.06, 0.29, 0.39, 2.24, 1.16, -0.6, 0.3
_REFERENCE_SIZE, _SMALL_SHIFT, _SMALL_SCALE = 300, 1.36, 0.136
_PRIORS = {"length", "question"}  # independent of the query
_ASSISTED_WEAK = 0.25
_ASSISTED_INTERCEPT, _MEAN_COSINE, _SPREAD, _COVERAGE, _SIZE = 1.07, 7.3, -0.37, 3.1, -0.86
_MIN_SEARCHED = 60
"""Rows above which a larger record makes a hit less significant."""
_TOP, _ROWS_PER_HIT = 10, 8
"""Hits examined, and rows needed for each: in a short conversation most turns are irrelevant."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade with its probability, 0 to 1."""

    evidence: Evidence
    probability: float


NOTHING = Grade("none", 0.0)


def _grade_of(probability: float, weak: float = WEAK) -> Grade:
    word: Evidence = "none" if probability < weak else "weak" if probability < STRONG else "strong"
    return Grade(word, probability)


def _assisted_grade(pool: Pool, order: NDArray[np.intp], searched: int) -> Grade:
    """The grade for conversations with an assistant."""
    first = order[: max(1, min(_TOP, searched // _ROWS_PER_HIT))]
    weights = CONVERSATION.assisted
    merit = plain_sum({name: SIGNALS[name](pool) for name in weights}, weights)[first]
    covered: NDArray[np.bool_] = np.any(pool.counts[first, HERE] > 0, axis=0)
    coverage = float(dot(covered, pool.idf)) / float(pool.idf.sum() + 1e-9)
    mean_cosine, spread = float(pool.dense[first].mean()), float(merit.max() - merit.min())
    sum_ = _ASSISTED_INTERCEPT + _MEAN_COSINE * mean_cosine + _SPREAD * spread + _COVERAGE * coverage
    sum_ += _SIZE * math.log(max(searched, _MIN_SEARCHED))
    return _grade_of(1.0 / (1.0 + math.exp(-sum_)), _ASSISTED_WEAK)


def cap_at_weak(evidence: Evidence, probability: float) -> Grade:
    """Cap a grade at ``weak``, for languages that the embedder does not know."""
    return Grade("weak" if evidence == "strong" else evidence, min(probability, STRONG - 0.01))


def grade(pool: Pool, order: NDArray[np.intp], *, model: str | None, searched: int = _REFERENCE_SIZE) -> Grade:
    """Grade a ranked pool.

    Args:
        pool: the candidates.
        order: their positions, best first.
        model: id of the embedder, None when the query had no vector. Other models than the calibrated one have cosines
            of unknown scale: the grade then uses words alone, the share of the query's idf mass that the best of the
            first ten hits contains.
        searched: number of rows visible to the query.
    """
    if not len(pool):
        return NOTHING
    own = own_coverage(pool)
    best_coverage = float(own[order[:10]].max())
    if model not in DEFAULT_MODELS:
        return _grade_of(best_coverage)
    if pool.assisted[order[:_TOP]].mean() > 0.5:
        return _assisted_grade(pool, order, searched)
    weights = {name: weight for name, weight in CONVERSATION.weights.items() if name not in _PRIORS}
    merit = plain_sum({name: SIGNALS[name](pool) for name in weights}, weights)
    first = order[:3]
    sum_ = (
        _INTERCEPT
        + _BEST * float(merit.max())
        + _LEAD * float(merit.max() - np.median(merit))
        + _COSINE * float(pool.dense[first].mean())
        + _OWN * best_coverage
        + _CUE * float(SIGNALS["cue"](pool)[first].mean())
        + _NO_SPEAKER * (not pool.speaker.any())
    )
    missing = max(0.0, math.log(_REFERENCE_SIZE / max(searched, 1)))
    sum_ += missing * (_SMALL_SHIFT + _SMALL_SCALE * sum_)
    return _grade_of(float(1.0 / (1.0 + np.exp(-sum_))))
