"""Evidence: how likely each hit bears on the question, and how likely a result holds the answer.

The relevance of a hit is a logistic regression on eight features of the hit and its pool, fitted on questions to their
own and to another conversation: LoCoMo, its observations as remembered statements, FriendsQA, RealMem, BEAM, and chats with an
assistant, alone and several in one memory.

The grade says whether a result holds the answer, rather than only the best of what is there.

Six absolute features of the pool and its first hits give the probability that the first ten hold evidence: a logistic
regression, calibrated for as many answerable as unanswerable questions (for other odds add their logarithm). It detects
well whether the memory knows the subject (AUROC .93 against questions to another user's memory), and poorly whether
this very fact was said (.65 when only the turns with the answer are missing).

Below 300 rows the features of a right answer shrink, so the sum is shifted and scaled by the logarithm of the missing
rows. Fitted on windows of one to 256 turns of the tuning conversations (``python -m
benchmarks.quality.evidence_small``).

Conversations with an assistant have a separate model, because there a single outstanding hit may be a subject mentioned
once. Its features: the highest cosine, the length of that record (what answers in a few words is near), the number of records
searched, and whether the query needs memory. Courtesies of the assistant do not count, since in a young memory nothing is
nearer to "thanks". Fitted on BEAM, RealMem, windows of both, and chats by two authors who knew no code, alone and beside up to
1,000 other messages, against questions to another user's memory, questions whose answer is missing, and texts that need no
memory (``python -m benchmarks.quality.grade_fit``). What it cannot tell is whether this very fact was said, or only its
subject.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders.readers import LinearProbe
from mnemic.recall.candidates import HERE, Pool
from mnemic.recall.recipes import CONVERSATION, SIGNALS, Floats, own_coverage, plain_sum
from mnemic.text import english
from mnemic.types import Evidence
from mnemic.vectors import DEFAULT_MODELS

WEAK, STRONG = 0.17, 0.6
_INTERCEPT, _BEST, _LEAD, _COSINE, _OWN, _CUE, _NO_SPEAKER = -7.06, 0.29, 0.39, 2.24, 1.16, -0.6, 0.3
_REFERENCE_SIZE, _SMALL_SHIFT, _SMALL_SCALE = 300, 1.36, 0.136
_PRIORS = {"length", "question"}  # independent of the query
_APART = {"period"}  # has a least probability of its own
_ASSISTED_WEAK = 0.25
_ASSISTED_INTERCEPT, _HIGHEST_COSINE, _LENGTH, _SIZE = -1.29, 6.55, 0.26, -0.2
_LONG = 20
"""Content words from which a longer record makes its cosine no more significant."""
_LEAST_SEARCHED = 8
"""Records below which a smaller memory makes a hit no more significant."""
_COURTESY = 3
"""Content words up to which a turn of an assistant may be a courtesy, near to any other: "Noted.", "Thanks for telling me."."""
_FACTUAL = english.NAME | english.NUMBER | english.TIME
_NEED = 0.8
_PERIOD, _OF_PERIOD = 0.7, 0.3
"""Least probability where the records of a period that the question names have all else it names, and where they have none.
Set by hand."""
_COMPLETE = 0.95
"""Share of what a question names beside its period that a record of this period has, from which others come later."""
_TOP = 10


@dataclass(frozen=True, slots=True)
class Grade:
    """A grade with its probability, 0 to 1."""

    evidence: Evidence
    probability: float


NOTHING = Grade("none", 0.0)

WEIGHTS: Mapping[str, float] = MappingProxyType({
    "merit": 0.56, "best": -0.192, "rank": -0.694, "rarest": 0.654, "searched": -0.25, "assisted": 1.508, "need": 0.397,
    "bias": -4.006,
})  # fmt: skip
"""Weight of each feature in the log odds that a hit is evidence; fitted by ``benchmarks.quality.relevance_fit``."""


def relevances(pool: Pool, order: NDArray[np.intp], *, model: str | None, searched: int) -> Floats:
    """(m,) the probability that a candidate is evidence for the query, 0 to 1.

    Args:
        pool: the candidates.
        order: their positions, best first.
        model: as for ``grade``; with other models the share of the query's idf mass that the candidate contains.
        searched: number of rows visible to the query, without pieces of documents.
    """
    if model not in DEFAULT_MODELS or not len(pool):
        probabilities = own_coverage(pool)
    else:
        probabilities = 1.0 / (1.0 + np.exp(-plain_sum(features(pool, order, searched), WEIGHTS)))
    probabilities = np.where(_excluded(pool), 0, probabilities)
    return np.maximum(probabilities, _with_need(_PERIOD, pool) * pool.periods.answering).astype(np.float32)


def features(pool: Pool, order: NDArray[np.intp], searched: int) -> dict[str, Floats]:
    """The features of relevance, each (m,).

    The sum of signals and the best one of the pool, the logarithm of the rank, the rarity of the rarest word shared with
    the query, the logarithm of the number of records searched, whether it is talk with an assistant, and the log odds that
    the query needs memory.
    """
    merit = _merit(pool, CONVERSATION.weights, _PRIORS | _APART)
    if pool.assisted.any():
        merit = np.where(pool.assisted, _merit(pool, CONVERSATION.assisted, _APART), merit)
    rank = np.empty(len(pool), np.float32)
    rank[order] = np.log1p(np.arange(len(order)))
    rarest = ((pool.counts[:, HERE] > 0) * pool.idf).max(axis=1, initial=0.0)
    values = {
        "merit": merit, "best": merit.max(), "rank": rank, "rarest": rarest, "searched": math.log(max(searched, 1)),
        "assisted": pool.assisted, "need": pool.need, "bias": 1.0,
    }  # fmt: skip
    return {name: np.broadcast_to(np.asarray(value, np.float32), len(pool)) for name, value in values.items()}


def _merit(pool: Pool, weights: Mapping[str, float], without: AbstractSet[str]) -> Floats:
    weights = {name: weight for name, weight in weights.items() if name not in without}
    return plain_sum({name: SIGNALS[name](pool) for name in weights}, weights)


def _grade_of(probability: float, weak: float = WEAK) -> Grade:
    word: Evidence = "none" if probability < weak else "weak" if probability < STRONG else "strong"
    return Grade(word, probability)


def courtesies(pool: Pool) -> NDArray[np.bool_]:
    """(m,) mask of courtesies: a few words of an assistant that ask, or that have no name, number or time, nor a word of the
    query if that needs memory.
    """
    says_something = (pool.traits & _FACTUAL) > 0
    if not pool.need:
        says_something |= own_coverage(pool) > 0
    asks = (pool.traits & english.QUESTION) > 0
    return pool.agent & (pool.words <= _COURTESY) & (asks | ~says_something)


def doubtful(pool: Pool) -> NDArray[np.bool_]:
    """(m,) mask of what may look like evidence: courtesies, the query itself, and what is of another period than it names where
    it asks what was said then, or where a record of that period has all of what it asks for.
    """
    periods = pool.periods
    answered = bool(periods.named) and float(periods.answering.max(initial=0.0)) >= _COMPLETE
    another = (periods.within == 0) & answered
    return courtesies(pool) | _excluded(pool) | another


def _excluded(pool: Pool) -> NDArray[np.bool_]:
    """(m,) mask of what is no evidence: the query itself, and what was said at another time than it asks for."""
    return pool.unanswered | pool.periods.elsewhere


def _assisted_features(pool: Pool, searched: int) -> tuple[float, float, float]:
    """The highest cosine of what may hold an answer, the length of that record, and the number of records; both as logarithms.

    A repetition of a text that may need no memory holds none, nor does a courtesy.
    """
    cosines = np.where(courtesies(pool) | _excluded(pool) | (pool.echo if pool.need else False), 0, pool.dense)
    nearest = int(cosines.argmax())
    length = min(0.0, math.log((float(pool.words[nearest]) + 1) / _LONG))
    return float(cosines[nearest]), length, math.log(max(searched, _LEAST_SEARCHED))


def _assisted_probability(pool: Pool, searched: int) -> float:
    """The probability for conversations with an assistant."""
    cosine, length, size = _assisted_features(pool, searched)
    sum_ = _ASSISTED_INTERCEPT + _HIGHEST_COSINE * cosine + _LENGTH * length + _SIZE * size + _NEED * pool.need
    return 1.0 / (1.0 + math.exp(-sum_))


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
        searched: number of rows visible to the query, without pieces of documents.
    """
    order = order[~_excluded(pool)[order]]
    if not len(order):
        return NOTHING
    least = _least_probability(pool)
    if model not in DEFAULT_MODELS:
        return _grade_of(max(least, float(own_coverage(pool)[order[:_TOP]].max())))
    if pool.assisted[order[:_TOP]].mean() > 0.5:
        return _grade_of(max(least, _assisted_probability(pool, searched)), _ASSISTED_WEAK)
    return _grade_of(max(least, _probability(pool, order, searched)))


def _least_probability(pool: Pool) -> float:
    """The probability that what was said in the period that the question names is what it asks for; 0 without a period."""
    answer, other = pool.periods.answering.max(), pool.periods.within.max()
    return float(max(_with_need(_PERIOD, pool) * answer, _with_need(_OF_PERIOD, pool) * other))


def _with_need(probability: float, pool: Pool) -> float:
    """A probability, less where the query may need no memory."""
    return probability / (probability + (1 - probability) * math.exp(-_NEED * pool.need))


def _probability(pool: Pool, order: NDArray[np.intp], searched: int) -> float:
    """The probability for conversations between people."""
    merit = _merit(pool, CONVERSATION.weights, _PRIORS | _APART)[order]
    first = order[:3]
    sum_ = (
        _INTERCEPT
        + _BEST * float(merit.max())
        + _LEAD * float(merit.max() - np.median(merit))
        + _COSINE * float(pool.dense[first].mean())
        + _OWN * float(own_coverage(pool)[order[:_TOP]].max())
        + _CUE * float(SIGNALS["cue"](pool)[first].mean())
        + _NO_SPEAKER * (not pool.speaker.any())
    )
    missing = max(0.0, math.log(_REFERENCE_SIZE / max(searched, 1)))
    sum_ += missing * (_SMALL_SHIFT + _SMALL_SCALE * sum_) + _NEED * pool.need
    return float(1.0 / (1.0 + np.exp(-sum_)))


NEED = LinearProbe("mnemic.recall", "need.json")
"""The log odds that a text needs memory: "go on", "tell me a joke" and "translate this" do not.

Fitted by ``benchmarks.quality.need_fit`` on 2,562 texts to an assistant, written by three authors who knew no code.
"""


def need(vector: Floats, model: str | None) -> float:
    """The log odds that a text needs memory, at most 0: most texts may.

    Args:
        vector: of the text as a query, shape (384,).
        model: id of its embedder; 0 with one that the weights were not fitted on.
    """
    return min(0.0, float(NEED.log_odds(vector[None], model)[0]))
