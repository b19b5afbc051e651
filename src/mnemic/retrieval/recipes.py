"""Recipes: named, immutable settings of the ranking. A user can pass their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.retrieval.fusion import rank_fusion, weighted_sum
from mnemic.retrieval.pool import Pool
from mnemic.retrieval.signals import SIGNALS

__all__ = ["RECIPES", "Recipe", "recipe_named", "score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How signals become one score.

    Attributes:
        weights: weight of each signal by name; see ``retrieval.signals`` for what there is.
        rrf_k: with a number, reciprocal rank fusion with that k; without, a weighted sum of signals scaled to 0..1.
        candidates: how many candidates each of the two searches gives to the pool.
        fitted: where the weights come from.
    """

    weights: Mapping[str, float]
    rrf_k: float | None = None
    candidates: int = 200
    fitted: str = "set by hand"

    def __post_init__(self) -> None:
        unknown = sorted(set(self.weights) - set(SIGNALS))
        if unknown or not self.weights:
            raise InvalidInput(f"A recipe weighs signals of {sorted(SIGNALS)}; it cannot weigh {unknown or 'nothing'}.")
        object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "conversation": Recipe(
            weights={
                "dense": 1.0, "dense_near": 1.0, "bm25": 1.0, "bm25_window1": 0.5, "bm25_window2": 0.5,
                "bm25_session": 0.35, "speaker": 0.3, "length": 0.2, "question": 0.15, "when": 0.3,
            },
        ),
        "facts": Recipe(
            weights={"dense": 1.0, "bm25": 1.0, "importance": 0.05, "recency": 0.05, "tier": 0.05, "level": 0.05}
        ),
        "rrf": Recipe(weights={"dense": 0.5, "bm25": 0.5}, rrf_k=60.0, fitted="the textbook setting"),
        "vector": Recipe(weights={"dense": 1.0}, fitted="plain order by cosine"),
    }
)  # fmt: skip


def recipe_named(recipe: str | Recipe) -> Recipe:
    """A recipe by name, or the recipe itself.

    Raises:
        InvalidInput: there is no recipe of that name.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise InvalidInput(f"There is no recipe {recipe!r}; there are {sorted(RECIPES)}, or pass a Recipe of your own.")
    return RECIPES[recipe]


def score(pool: Pool, recipe: Recipe) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]:
    """The score of every candidate, and the value of every signal that went into it."""
    values = {name: SIGNALS[name](pool) for name in recipe.weights}
    if recipe.rrf_k is not None:
        return rank_fusion(values, recipe.weights, recipe.rrf_k), values
    return weighted_sum(values, recipe.weights), values
