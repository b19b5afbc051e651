"""Hits to prompt text within a token budget: as evidence by day, or as facts by episode. Pure functions."""

from mnemic.context.grouping import Replaced, group
from mnemic.context.packing import pack

__all__ = ["Replaced", "group", "pack"]
