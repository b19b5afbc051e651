"""What records feel like, and how near that is to a mood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic import emotion
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.text.render import searchable
from mnemic.types import Emotion, Filters, MemoryRecord, Query, Scope

__all__ = ["feeling", "felt", "moods", "session_mood", "strength"]

Vector = NDArray[np.float32]


def felt(texts: Sequence[str], vectors: Sequence[Vector | None], model: str) -> list[Emotion]:
    """The emotion of texts with their vectors, as far as they have one."""
    width = next((len(vector) for vector in vectors if vector is not None), 0)
    rows = np.zeros((len(texts), width), np.float32)
    for row, vector in zip(rows, vectors, strict=True):
        if vector is not None and np.isfinite(vector).all():
            row[:] = vector
    return emotion.emotions(texts, rows if width else None, model)


def feeling(record: MemoryRecord, vector: Vector | None, model: str) -> MemoryRecord:
    """A memory with the emotion of its text."""
    return replace(record, emotion=felt([record.content], [vector], model)[0])


def strength(
    runtime: Runtime, scope: Scope, query: Query, scale: float, *, processed: bool
) -> tuple[Emotion | None, float]:
    """The mood to look for and what it weighs: the caller's, that of the session, else that of the query if it has one.

    Args:
        runtime: the record.
        scope: whose session.
        query: what is asked.
        scale: what the recipe gives a cosine, so that a mood counts beside it.
        processed: whether any record was judged: without one the mood of a query has nothing to be compared with.
    """
    if isinstance(query.mood, Emotion):
        return query.mood, query.emotion_weight * scale
    if query.mood == "session" and (mood := session_mood(runtime, scope)) is not None:
        return mood, TOLD * query.emotion_weight * scale
    if not query.emotion_weight or not processed:
        return None, 0.0
    mood = emotion.emotion(query.text)
    return (mood, TOLD * query.emotion_weight * scale) if emotion.has_affect(mood) else (None, 0.0)


def session_mood(runtime: Runtime, scope: Scope) -> Emotion | None:
    """The mood of the last turns of the user in the session: their mean, weighted by confidence; None where none shows."""
    if scope.session is None:
        return None
    filters = Filters(kinds=("message",), reach="user", in_session=scope.session, role="user")
    turns = runtime.store.list_messages(scope.user, filters, limit=TURNS, newest=True)
    shown = [mood for mood in emotion.emotions([turn.content for turn in turns]) if emotion.has_affect(mood)]
    sure = sum(mood.confidence for mood in shown)
    if not sure:
        return None
    valence = sum(mood.valence * mood.confidence for mood in shown) / sure
    arousal = sum(mood.arousal * mood.confidence for mood in shown) / sure
    return Emotion(valence=valence, arousal=arousal, confidence=sure / len(shown))


TURNS = 5
"""Turns of the user that tell the mood of a session."""
TOLD = 0.2
"""A mood that only shows in the words of a query weighs so much of one that the caller names: it breaks ties."""


def moods(runtime: Runtime, view: View, docs: NDArray[np.int64], mood: Emotion, *, judge: bool) -> Mapping[int, float]:
    """How near the records of a pool are to a mood, 0 to 1, by doc.

    Args:
        runtime: where they are.
        view: the user's records.
        docs: which of them.
        mood: what to compare with.
        judge: whether those nobody has judged yet are judged now; else they count as unlike.
    """
    known = runtime.store.relations.emotions(view.user, docs.tolist())
    missing = [int(doc) for doc in docs if int(doc) not in known] if judge else []
    stored = runtime.store.fetch(view.user, missing) if missing else {}
    if stored:
        rows = view.columns.rows_of(sorted(stored))
        vectors = [*view.vectors.of(rows)] if view.vectors.dimension else [None] * len(rows)
        texts = [searchable(stored[doc].value) for doc in sorted(stored)]
        known |= dict(zip(sorted(stored), felt(texts, vectors, view.model or ""), strict=True))
    return {doc: emotion.similarity(mood, own) for doc, own in known.items()}
