"""Context: hits to prompt text within a token budget, evidence by day with notes where there is room."""

from mnemic.recall.context.packing import (
    Background,
    Frame,
    annotate,
    pack,
    passage,
    quoted,
    quoted_speaker,
    with_excerpts,
)
from mnemic.recall.context.styles import StyledPrompt, render_hits, without_repeated

__all__ = [
    "Background", "Frame", "StyledPrompt", "annotate", "pack", "passage", "quoted", "quoted_speaker", "render_hits",
    "with_excerpts", "without_repeated",
]  # fmt: skip
