"""Recall: query to ranked hits, by signals over a pool of candidates that a recipe fuses."""

from mnemic.recall.candidates import HERE, TURNS, Pool, ascending, blend_turns, neighbours, top, turn_weight
from mnemic.recall.evidence import Grade, cap_at_weak, grade, relevances
from mnemic.recall.folding import FoldedHits, descending_scores, hit_from
from mnemic.recall.recency import FirstHits, asks, latest_first
from mnemic.recall.recipes import RECIPES, Recipe, recipe_named, score

__all__ = [
    "HERE",
    "RECIPES",
    "TURNS",
    "FirstHits",
    "FoldedHits",
    "Grade",
    "Pool",
    "Recipe",
    "ascending",
    "asks",
    "blend_turns",
    "cap_at_weak",
    "descending_scores",
    "grade",
    "hit_from",
    "latest_first",
    "neighbours",
    "recipe_named",
    "relevances",
    "score",
    "top",
    "turn_weight",
]
