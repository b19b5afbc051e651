"""Hits to prompt text within a token budget: as evidence by day, or as facts by episode. Pure functions."""

from mnemic.context.excerpts import excerpted, passage
from mnemic.context.grouping import Grouped, Replaced, covers, group
from mnemic.context.packing import pack
from mnemic.context.quoting import quoted

__all__ = ["Grouped", "Replaced", "covers", "excerpted", "group", "pack", "passage", "quoted"]
