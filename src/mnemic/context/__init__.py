"""Hits to prompt text within a token budget: evidence by day, and beside it what there is room for. Pure functions."""

from mnemic.context.annotations import Background, annotate
from mnemic.context.excerpts import excerpted, passage
from mnemic.context.packing import pack
from mnemic.context.quoting import quoted

__all__ = ["Background", "annotate", "excerpted", "pack", "passage", "quoted"]
