"""Query to ranked hits: signals over a pool of candidates, fused by a recipe. Pure functions on arrays."""

from mnemic.retrieval.pool import Pool, neighbours, top
from mnemic.retrieval.recipes import RECIPES, Recipe, recipe_named, score

__all__ = ["RECIPES", "Pool", "Recipe", "neighbours", "recipe_named", "score", "top"]
