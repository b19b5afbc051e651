"""Recipes: named, immutable ranking settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.recall.candidates import Pool
from mnemic.recall.signals import SIGNALS
from mnemic.text.values import shown

__all__ = [
    "CONVERSATION",
    "RECIPES",
    "Recipe",
    "Values",
    "normalised",
    "plain_sum",
    "rank_fusion",
    "recipe_named",
    "score",
    "spread",
    "total",
    "weighted",
]

Floats = NDArray[np.float32]


def weighted(values: Mapping[str, Floats], weights: Mapping[str, float]) -> dict[str, Floats]:
    """What each signal adds to a weighted sum."""
    return {name: np.float32(weight) * values[name] for name, weight in weights.items()}


def total(parts: Mapping[str, Floats]) -> Floats:
    """The sum of what each signal adds."""
    found = np.zeros(len(next(iter(parts.values()))), np.float32)
    for part in parts.values():
        found += part
    return found


def plain_sum(values: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Weighted sum of the values as they are."""
    return total(weighted(values, weights))


def _min_max(values: Floats) -> Floats:
    """Scaled to 0..1 within the pool; a constant signal becomes 0."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def normalised(values: Mapping[str, Floats], weights: Mapping[str, float]) -> dict[str, Floats]:
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


Values = dict[str, Floats]
Fusion = Literal["sum", "normalised", "rrf"]

LARGEST = 1e6
_ALWAYS = ("dense", "bm25")  # every hit reports these, whatever the recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How signals become one score.

    Attributes:
        weights: weight of each signal by name; see ``mnemic.recall.signals``.
        assisted: other weights for conversations with an assistant, whose turns are long and unequal; only with
            ``fusion`` ``sum``. Empty: the same weights.
        fusion: ``sum`` of the values as they are; ``normalised`` sum of values scaled to 0..1 within the pool; or ``rrf``.
        rrf_k: the constant of reciprocal rank fusion.
        spread: penalty of further turns of one conversation between people; 0 turns it off.
        quality: weights of query-independent signals (importance, recency, tier, level), at the strength of a
            tie-break. Empty: nothing but the query ranks.
        candidates: candidates from each of the two searches.
        fitted: where the weights come from.
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
        given = (self.weights, self.assisted, self.quality)
        if not all(isinstance(one, Mapping) for one in given):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput("weights, assisted and quality of a recipe must be mappings from signals to numbers.")
        unknown = sorted({name for one in given for name in one} - set(SIGNALS))
        if unknown or not self.weights:
            raise InvalidInput(f"A recipe weighs signals of {sorted(SIGNALS)}; it cannot weigh {unknown or 'nothing'}.")
        if self.fusion not in get_args(Fusion):
            raise InvalidInput(f"fusion must be one of {list(get_args(Fusion))}, not {shown(self.fusion)}.")
        if self.assisted and self.fusion != "sum":
            raise InvalidInput(f'Weights for assisted conversations need fusion="sum", not {self.fusion!r}.')
        numbers = (*(value for one in given for value in one.values()), self.spread, self.rrf_k)
        if not all(isinstance(n, (int, float)) and abs(n) <= LARGEST for n in numbers) or self.rrf_k <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(
                "Weights, spread and rrf_k of a recipe must be numbers up to a million, and rrf_k above 0."
            )
        if not isinstance(self.candidates, int) or isinstance(self.candidates, bool) or self.candidates < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"candidates must be a whole number from 1, not {shown(self.candidates)}.")
        for name, one in zip(("weights", "assisted", "quality"), given, strict=True):
            object.__setattr__(self, name, MappingProxyType(dict(one)))


CONVERSATION = Recipe(
    weights={
        "dense": 5.0, "session_dense": 6.0, "answers": 1.0, "coverage": 5.5, "date": 4.0, "speaker": 0.7, "length": 0.7,
        "question": -0.8, "cue": 1.7,
    },
    assisted={
        "dense": 3.4, "session_dense": 3.6, "reply": 2.8, "said": 1.9, "date": 0.7, "person": 2.2, "request_length": -0.6,
        "echo": -5.0,
    },
    spread=0.6,
    quality={"importance": 0.2, "recency": 0.1, "tier": 0.1, "level": 0.2},
    fitted="listwise softmax with L2. weights: on LoCoMo's conversations 26, 41, 43, 47 and 49 and three distorted copies of "
    "each (turns shuffled within sessions, sessions interleaved, sentences as turns), held out by conversation. assisted: on "
    "28 conversations of BEAM and 5 of RealMem, each source with equal weight, held out by conversation and by source. Then "
    "rounded; echo and quality set by hand at the strength of a tie-break",
)  # fmt: skip

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "conversation": CONVERSATION,
        "facts": Recipe(
            weights={"dense": 5.0, "coverage": 5.5, "date": 4.0},
            quality={"importance": 0.5, "recency": 0.3, "tier": 0.2, "level": 0.4},
            fitted="the weights of conversation without what only turns of a dialogue have; quality set by hand",
        ),
        "coding": Recipe(
            weights={"dense": 0.4, "bm25": 0.3, "graph": 0.2, "importance": 0.1},
            fusion="normalised",
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
        case "normalised":
            parts = normalised(values, recipe.weights)
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
        scores = scores + total(added)
        parts |= {name: parts[name] + part if name in parts else part for name, part in added.items()}
    if recipe.spread:
        scores = spread(scores, np.where(pool.assisted, 0, groups) if assisted else groups, recipe.spread)
    return scores, values, parts
