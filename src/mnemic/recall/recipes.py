"""Ranking: signals, and the recipes that weigh them.

A signal is a plain function of the pool with its scale in the docstring. Its values are absolute, not scaled within the pool,
so that the order depends neither on the size of the pool nor on ``k``, and the same values grade the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.indexes import keyword as scoring
from mnemic.indexes.catalog import DAY
from mnemic.recall.candidates import HERE, Pool
from mnemic.text import english
from mnemic.text.values import shown
from mnemic.validation import one_of
from mnemic.vectors import Floats, dot

Signal = Callable[[Pool], Floats]

# Credit of a term in a nearby turn, from three before to three after, and anywhere in the session.
_CREDITS = np.array([0.3, 0.5, 0.8, 1.0, 0.5, 0.3, 0.2], np.float32)
_IN_SESSION = 0.3
_LONGEST = 25
_DAYS_AFTER, _DAYS_BEFORE, _TOLD = 10.0, 5.0, 0.4
_HALF_LIFE_DAYS = 30.0
_ELSE = 3.2


def dense(pool: Pool) -> Floats:
    """Cosine of the turn with the query, -1 to 1."""
    return pool.dense


def session_dense(pool: Pool) -> Floats:
    """The highest cosine in the turn's conversation, -1 to 1."""
    return pool.dense_session


def answers(pool: Pool) -> Floats:
    """Cosine of the turn before if it is a question: an answer inherits from it, -1 to 1."""
    return pool.dense_before


def reply(pool: Pool) -> Floats:
    """Cosine of the other half of the exchange: the reply to a person, or the request to an agent, -1 to 1."""
    return pool.dense_reply


def coverage(pool: Pool) -> Floats:
    """Coverage of the query here or nearby: sum of idf x credit over the root of the query's idf mass, 0 to about 3.

    A term has credit 1 in the turn itself, less in turns before and after, least elsewhere in the conversation. Terms
    that occur nowhere count in the mass.
    """
    term_credits = (pool.counts > 0) * _CREDITS[None, :, None]
    credit = np.maximum(term_credits.max(axis=1), _IN_SESSION * pool.in_session)
    return dot(credit, pool.idf) / np.sqrt(pool.idf.sum() + 1e-9)


def own_coverage(pool: Pool) -> Floats:
    """The share of the query's idf mass in the turn itself, 0 to 1."""
    return dot(pool.counts[:, HERE] > 0, pool.idf) / (pool.idf.sum() + np.float32(1e-9))


def said(pool: Pool) -> Floats:
    """Coverage of the query by the turn itself: idf of its terms over the root of the query's idf mass, 0 to about
    3.
    """
    return dot(pool.counts[:, HERE] > 0, pool.idf) / np.sqrt(pool.idf.sum() + np.float32(1e-9))


def bm25(pool: Pool) -> Floats:
    """BM25 of the turn, unbounded."""
    return pool.bm25


def bm25_window(pool: Pool) -> Floats:
    """BM25 of the turn with one turn either side taken as one text, in units of the largest idf."""
    inside = slice(HERE - 1, HERE + 2)
    counts, lengths = pool.counts[:, inside].sum(axis=1), pool.lengths[:, inside].sum(axis=1)
    return dot(scoring.saturation(counts, lengths[:, None], 3 * pool.mean_length), pool.idf)


def date(pool: Pool) -> Floats:
    """Proximity of the turn to a date in the query, plus 0.4 if it mentions that date; 0 without a date, at most 1.4.

    A turn within the period has 1, decaying with the days after it (people speak of the past) and faster before.
    """
    if not pool.periods.named:
        return np.zeros(len(pool), np.float32)
    gaps = np.stack(
        [
            np.where(pool.days > end, pool.days - end, np.minimum(pool.days - start, 0))
            for start, end in pool.periods.named
        ]
    )
    gap = gaps[np.abs(gaps).argmin(axis=0), np.arange(len(pool))]
    near = np.exp(np.where(gap >= 0, -gap / _DAYS_AFTER, gap / _DAYS_BEFORE)).astype(np.float32)
    tells = [
        any(a <= end and start <= b for a, b in mentioned for start, end in pool.periods.named)
        for mentioned in pool.periods.mentioned
    ]
    return (near + np.float32(_TOLD) * np.array(tells, np.float32)).astype(np.float32)


def period(pool: Pool) -> Floats:
    """Whether the turn is of a period that the query names, 0 to 1; less if it names a speaker or may need no memory, and
    the more of what else it names one record has.
    """
    beside = pool.periods.beside + pool.names_speaker
    return pool.periods.within * np.float32(np.exp(pool.need - _ELSE * beside))


def speaker(pool: Pool) -> Floats:
    """1 where the query names one speaker and the turn is theirs."""
    return pool.speaker.astype(np.float32)


def length(pool: Pool) -> Floats:
    """Logarithm of the length, capped at some fifty words, 0 to 3.3."""
    return np.log1p(np.minimum(pool.words, _LONGEST))


def person(pool: Pool) -> Floats:
    """1 for turns of a person: replies of an assistant are mostly useful once. Half of it where the query asks for them."""
    return (~pool.agent).astype(np.float32) * np.float32(0.5 if pool.query_traits & english.REPLY else 1.0)


def verbosity(pool: Pool) -> Floats:
    """Length of the turn, log(1 + words / 25), uncapped: long replies and pasted text share words with everything."""
    return np.log1p(pool.words / _LONGEST)


def echo(pool: Pool) -> Floats:
    """1 for a question that repeats the query: it is no answer."""
    return pool.echo.astype(np.float32)


def question(pool: Pool) -> Floats:
    """1 for a turn that ends in a question: it rarely holds an answer."""
    return ((pool.traits & english.QUESTION) > 0).astype(np.float32)


def cue(pool: Pool) -> Floats:
    """1 where the query asks for a time, an amount, a reason or a name, and the turn contains one."""
    return ((pool.traits & pool.query_traits) > 0).astype(np.float32)


def importance(pool: Pool) -> Floats:
    """Importance, 0 to 1."""
    return pool.importance


def recency(pool: Pool) -> Floats:
    """Halved every 30 days, 0 to 1; in whole days, so that repeating a query gives the same result."""
    days = np.maximum(pool.now - pool.times, 0) // DAY
    return np.exp2(-days / _HALF_LIFE_DAYS).astype(np.float32)


def tier(pool: Pool) -> Floats:
    """1 for long-term memories."""
    return pool.long_term


def graph(pool: Pool) -> Floats:
    """Proximity to the first hits over links, 0 to 1: the product of link strengths and a factor per link."""
    return pool.graph


def emotion(pool: Pool) -> Floats:
    """Similarity to the requested mood on the plane of valence and arousal, 0 to 1."""
    return pool.mood


def level(pool: Pool) -> Floats:
    """1 for the handle's project, plus 1 for a memory of its session."""
    return pool.near


SIGNALS: Mapping[str, Signal] = {
    function.__name__: function
    for function in (
        dense, session_dense, answers, reply, coverage, said, bm25, bm25_window, date, period, speaker, person, length,
        verbosity, question, echo, cue, importance, recency, tier, level, graph, emotion,
    )
}  # fmt: skip


def weighted(values: Mapping[str, Floats], weights: Mapping[str, float]) -> dict[str, Floats]:
    """What each signal adds to a weighted sum."""
    return {name: np.float32(weight) * values[name] for name, weight in weights.items()}


def total(parts: Mapping[str, Floats]) -> Floats:
    """The sum of what each signal adds."""
    sum_ = np.zeros(len(next(iter(parts.values()))), np.float32)
    for part in parts.values():
        sum_ += part
    return sum_


def plain_sum(values: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Weighted sum of the values as they are."""
    return total(weighted(values, weights))


def _min_max(values: Floats) -> Floats:
    """Scaled to 0..1 within the pool; a constant signal becomes 0."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def normalized(values: Mapping[str, Floats], weights: Mapping[str, float]) -> dict[str, Floats]:
    """What each signal adds to a weighted sum of signals scaled to 0..1 within the pool."""
    return weighted({name: _min_max(values[name]) for name in weights}, weights)


def rank_fusion(values: Mapping[str, Floats], weights: Mapping[str, float], k: float) -> dict[str, Floats]:
    """What each signal adds in reciprocal rank fusion: weight / (k + rank).

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods"
    (2009). A candidate that a signal gives no score above zero is not in that signal's list.
    """
    parts: dict[str, Floats] = {}
    for name, weight in weights.items():
        scores = values[name]
        ranks = np.empty(len(scores), np.float32)
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        parts[name] = np.where(scores > 0, weight / (k + ranks), 0.0).astype(np.float32)
    return parts


def quality_unit(recipe: Recipe) -> float:
    """What a quality of weight 1 adds at most: in rank fusion the score of what all signals rank first, else 1."""
    return sum(recipe.weights.values()) / (recipe.rrf_k + 1) if recipe.fusion == "rrf" else 1.0


def spread(scores: Floats, groups: NDArray[np.int32], weight: float) -> Floats:
    """Diversify: lower the scores of further turns of one conversation.

    In order of score, the r-th turn of a conversation (from 0) loses ``weight`` x ln(1 + r). Records of group 0,
    outside of a conversation, lose nothing.
    """
    order = np.argsort(-scores, kind="stable")
    together = order[np.argsort(groups[order], kind="stable")]
    first = np.flatnonzero(np.diff(groups[together], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    lowered = scores.copy()
    lowered[together] -= np.where(groups[together] > 0, weight * np.log1p(rank), 0.0).astype(np.float32)
    return lowered


LEAST_SHOWN = 0.05
"""Similarity to a mood below which nothing is said to suit it."""


def among_equals(near: Floats, scores: Floats, weight: float) -> Floats:
    """Similarities to a mood, 0 to 1, with that of the best fit among the best answers as 1; others have none.

    Few texts show a mood as clearly as a caller names it: what counts is which of them suits it best.

    Args:
        near: (m,) similarity of each candidate to the mood.
        scores: (m,) their scores without the mood.
        weight: of the mood; those within it of the best score answer as well as the best.
    """
    equal = scores >= scores.max() - weight
    best = float(near[equal].max())
    return np.where(equal, near / best if best >= LEAST_SHOWN else near, 0.0).astype(np.float32)


Values = dict[str, Floats]
Fusion = Literal["sum", "normalized", "rrf"]

LARGEST = 1e6
_ALWAYS = ("dense", "bm25")  # every hit reports these, whatever the recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How signals become one score.

    Attributes:
        weights: weight of each signal by name, a key of ``mnemic.recall.recipes.SIGNALS``.
        assisted: other weights for conversations with an assistant, whose turns are long and unequal; only with
            ``fusion`` ``sum``. Empty: the same weights.
        fusion: ``sum`` of the values as they are; ``normalized`` sum of values scaled to 0..1 within the pool; or ``rrf``.
        rrf_k: the constant of reciprocal rank fusion.
        spread: the penalty for further turns of the same conversation between people; 0
            turns it off.
        quality: weights of signals that do not depend on the query (importance,
            recency, tier, level). They should be small enough to only break ties. With
            ``rrf``, they are relative to the best fused score. Empty: only the query
            determines the order.
        candidates: how many candidates each of the two searches contributes.
        fitted: a note on where the weights come from; it has no effect.
    """

    weights: Mapping[str, float]
    assisted: Mapping[str, float] = field(default_factory=dict[str, float])
    fusion: Fusion = "sum"
    rrf_k: float = 60.0
    spread: float = 0.0
    quality: Mapping[str, float] = field(default_factory=dict[str, float])
    candidates: int = 200
    fitted: str = "set by hand"

    def __post_init__(self) -> None:
        mappings = (self.weights, self.assisted, self.quality)
        if not all(isinstance(mapping, Mapping) for mapping in mappings):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput("weights, assisted and quality of a recipe must be mappings from signals to numbers.")
        unknown = sorted({name for mapping in mappings for name in mapping} - set(SIGNALS))
        if unknown or not self.weights:
            problem = f"there are no {unknown}" if unknown else "give at least one a weight"
            raise InvalidInput(f"A recipe weighs signals of {sorted(SIGNALS)}; {problem}.")
        one_of("fusion", self.fusion, get_args(Fusion))
        if self.assisted and self.fusion != "sum":
            raise InvalidInput(f'Weights for assisted conversations need fusion="sum", not {self.fusion!r}.')
        numbers = (*(value for mapping in mappings for value in mapping.values()), self.spread, self.rrf_k)
        if not all(isinstance(n, (int, float)) and abs(n) <= LARGEST for n in numbers) or self.rrf_k <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(
                "Weights, spread and rrf_k of a recipe must be numbers up to a million, and rrf_k above 0."
            )
        if not isinstance(self.candidates, int) or isinstance(self.candidates, bool) or self.candidates < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"candidates must be a whole number from 1, not {shown(self.candidates)}.")
        for name, mapping in zip(("weights", "assisted", "quality"), mappings, strict=True):
            object.__setattr__(self, name, MappingProxyType(dict(mapping)))


CONVERSATION = Recipe(
    weights={
        "dense": 5.0, "session_dense": 6.0, "answers": 1.0, "coverage": 5.5, "date": 4.0, "period": 16.0, "speaker": 0.7,
        "length": 0.7, "question": -0.8, "cue": 1.7,
    },
    assisted={
        "dense": 3.4, "session_dense": 3.6, "reply": 2.8, "said": 1.9, "date": 0.7, "period": 16.0, "cue": 0.7, "person": 0.7,
        "verbosity": -0.6, "echo": -5.0,
    },
    spread=0.6,
    quality={"importance": 0.2, "recency": 0.1, "tier": 0.1, "level": 0.2},
    fitted="listwise softmax with L2. weights: on LoCoMo's conversations 26, 41, 43, 47 and 49 and three distorted copies of "
    "each (turns shuffled within sessions, sessions interleaved, sentences as turns), held out by conversation. assisted: on "
    "28 conversations of BEAM and 5 of RealMem, each source with equal weight, held out by conversation and by source. Then "
    "rounded; person, verbosity and cue chosen on these and on 34 chats by two other authors, held out on 10 more; echo and "
    "quality set by hand at the strength of a tie-break, and period at that of a day in a journal over other days",
)  # fmt: skip

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "conversation": CONVERSATION,
        "facts": Recipe(
            weights={"dense": 5.0, "coverage": 5.5, "date": 4.0, "period": 16.0},
            quality={"importance": 0.5, "recency": 0.3, "tier": 0.2, "level": 0.4},
            fitted="the weights of conversation without what only turns of a dialogue have; quality set by hand",
        ),
        "coding": Recipe(
            weights={"dense": 0.4, "bm25": 0.3, "graph": 0.2, "importance": 0.1},
            fusion="normalized",
            fitted="the mix that coding-agent memories use: .4 vector, .3 keyword, .2 graph, .1 importance",
        ),
        "rrf": Recipe(weights={"dense": 0.5, "bm25": 0.5}, fusion="rrf", fitted="the textbook setting"),
        "vector": Recipe(weights={"dense": 1.0}, fitted="plain order by cosine"),
    }
)


def recipe_named(recipe: str | Recipe) -> Recipe:
    """A recipe by name, or the recipe itself.

    Raises:
        InvalidInput: there is no recipe of that name.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"There is no recipe {shown(recipe)}; there are {sorted(RECIPES)}, or pass a Recipe of your own."
        )
    return RECIPES[recipe]


def score(pool: Pool, recipe: Recipe, groups: NDArray[np.int32]) -> tuple[Floats, Values, Values]:
    """The score of every candidate, the signal values it is made of, and what each signal adds.

    Args:
        pool: the candidates.
        recipe: the weights.
        groups: (m,) the conversation of each candidate, 0 for none.
    """
    boost = recipe.quality
    assisted: Mapping[str, float] = recipe.assisted if pool.assisted.any() else {}
    named = dict.fromkeys((*_ALWAYS, *recipe.weights, *assisted, *boost))
    values = {name: SIGNALS[name](pool) for name in named}
    match recipe.fusion:
        case "rrf":
            parts = rank_fusion(values, recipe.weights, recipe.rrf_k)
        case "normalized":
            parts = normalized(values, recipe.weights)
        case "sum":
            parts = weighted(values, recipe.weights)
    scores = total(parts)
    if assisted:
        others = weighted(values, assisted)
        scores = np.where(pool.assisted, total(others), scores)
        none = np.zeros(len(scores), np.float32)
        parts = {
            name: np.where(pool.assisted, others.get(name, none), parts.get(name, none))
            for name in dict.fromkeys((*parts, *others))
        }
    if boost:
        added = weighted(values, boost)
        added = {name: part * np.float32(quality_unit(recipe)) for name, part in added.items()}
        scores = scores + total(added)
        parts |= {name: parts[name] + part if name in parts else part for name, part in added.items()}
    if recipe.spread:
        scores = spread(scores, np.where(pool.assisted, 0, groups) if assisted else groups, recipe.spread)
    return scores, values, parts
