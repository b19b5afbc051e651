"""Query to ranked hits: signals over a pool of candidates, fused by a recipe. Pure functions on arrays."""

from mnemic.recall.evidence import Grade, grade, unsure
from mnemic.recall.folding import Folded
from mnemic.recall.followup import TURNS, share_of_turns, with_turns
from mnemic.recall.hits import falling, hit_from
from mnemic.recall.pool import HERE, Pool, ascending, neighbours, top
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
