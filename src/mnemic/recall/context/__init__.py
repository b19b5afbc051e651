"""Hits to prompt text within a token budget: evidence by day, and beside it what there is room for. Pure functions."""

from mnemic.recall.context.excerpts import excerpted, passage
from mnemic.recall.context.packing import Background, annotate, pack, quoted

__all__ = ["Background", "annotate", "excerpted", "pack", "passage", "quoted"]
