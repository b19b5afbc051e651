"""Context: hits to prompt text within a token budget, evidence by day with notes where there is room."""

from mnemic.recall.context.excerpts import passage, with_excerpts
from mnemic.recall.context.packing import Background, annotate, pack, quoted

__all__ = ["Background", "annotate", "pack", "passage", "quoted", "with_excerpts"]
