"""Feeling: memories on the plane of valence and arousal."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from mnemic.memory import Memory
from mnemic.types import Emotion, MemoryRecord
from mnemic.web.drawings import plane
from mnemic.web.explorer import Explorer, href, number, spoken

POINTS = 300


def page(ui: Explorer, request: Request) -> Response:
    """The plane, and a mood that asks recall."""
    query = request.query_params
    valence, arousal = number(query, "valence") or 0.0, number(query, "arousal") or 0.0
    mood = Emotion(valence=max(-1.0, min(valence, 1.0)), arousal=max(-1.0, min(arousal, 1.0)))
    memories = felt(ui.memory)
    base = request.scope.get("root_path", "")
    points = [(record.emotion, spoken(record), href(base, record.id)) for record in memories if record.emotion]
    return ui.render(
        request, "emotions.html", title="Feeling", drawing=plane(points, mood), memories=memories, mood=mood
    )


def felt(memory: Memory) -> list[MemoryRecord]:
    """The newest memories with an emotion."""
    return [record for record in memory.list(order="newest", limit=POINTS) if record.emotion]
