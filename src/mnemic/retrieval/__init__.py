"""Query to ranked hits: signals over a pool of candidates, fused by a recipe. Pure functions on arrays."""

from mnemic.retrieval.evidence import CALIBRATED_FOR, Grade, grade, unsure
from mnemic.retrieval.folding import Folded
from mnemic.retrieval.followup import TURNS, share_of_turns, with_turns
from mnemic.retrieval.hits import falling, hit_from
from mnemic.retrieval.pool import HERE, Pool, ascending, neighbours, top
from mnemic.retrieval.recency import Said, asks, latest_first
from mnemic.retrieval.recipes import RECIPES, Recipe, recipe_named, score

__all__ = [
    "CALIBRATED_FOR",
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
