"""Context: hits to prompt text within a token budget, evidence by day with notes where there is room."""

from mnemic.recall.context.packing import (
    Background,
    Frame,
    annotate,
    excerpt,
    pack,
    quoted,
    quoted_speaker,
    shortened,
    with_excerpts,
)
from mnemic.recall.context.styles import StyledPrompt, render_hits, without_repeated

__all__ = [
    "Background", "Frame", "StyledPrompt", "annotate", "excerpt", "pack", "quoted", "quoted_speaker", "render_hits",
    "shortened", "with_excerpts", "without_repeated",
]  # fmt: skip
