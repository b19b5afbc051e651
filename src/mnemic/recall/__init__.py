"""Query to ranked hits: signals over a pool of candidates, fused by a recipe. Pure functions on arrays."""

from mnemic.recall.candidates import HERE, TURNS, Pool, ascending, neighbours, share_of_turns, top, with_turns
from mnemic.recall.evidence import Grade, grade, unsure
from mnemic.recall.folding import Folded, falling, hit_from
from mnemic.recall.recency import Said, asks, latest_first
from mnemic.recall.recipes import RECIPES, Recipe, recipe_named, score

__all__ = [
    "HERE",
    "RECIPES",
    "TURNS",
    "Folded",
    "Grade",
    "Pool",
    "Recipe",
    "Said",
    "ascending",
    "asks",
    "falling",
    "grade",
    "hit_from",
    "latest_first",
    "neighbours",
    "recipe_named",
    "score",
    "share_of_turns",
    "top",
    "unsure",
    "with_turns",
]
