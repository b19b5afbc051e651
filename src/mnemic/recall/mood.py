"""Emotion of records, and similarity to a mood."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mnemic import emotion
from mnemic.emotion.estimate import emotions_of
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.types import Emotion, Query, RecordFilter, Scope, searchable
from mnemic.vectors import Floats


def mood_of(runtime: Runtime, text: str) -> Emotion:
    """The mood that words show."""
    embedder = runtime.indexer.embedder
    return emotions_of([text], runtime.indexer.documents([text], embedder), embedder.id)[0]


def mood_and_weight(
    runtime: Runtime, scope: Scope, query: Query, scale: float, *, processed: bool
) -> tuple[Emotion | None, float]:
    """The mood to rank by and its weight: the caller's, that of the session, else that of the query if it has affect.

    Args:
        runtime: gives access to the session.
        scope: user and session.
        query: the query.
        scale: weight of a cosine in the recipe, to which the weight of the mood is relative.
        processed: whether any record has an emotion to compare with.
    """
    if isinstance(query.mood, Emotion):
        return query.mood, query.emotion_weight * scale
    if query.mood == "session" and (mood := session_mood(runtime, scope)) is not None:
        return mood, IMPLICIT_WEIGHT * query.emotion_weight * scale
    if not query.emotion_weight or not processed:
        return None, 0.0
    mood = emotion.emotion(query.text)
    return (mood, IMPLICIT_WEIGHT * query.emotion_weight * scale) if emotion.has_affect(mood) else (None, 0.0)


DECIDES = 2.0
"""Times its weight that a given mood counts among answers that are equally good, so that it decides between them."""
LEAST_SHOWN = 0.05
"""Similarity to a mood below which nothing is said to suit it."""


def among_equals(near: Floats, scores: Floats, weight: float) -> Floats:
    """Similarities to a mood, 0 to 1, with that of the best fit among the best answers as 1; others have none.

    Few texts show a mood as clearly as a caller names it: what counts is which of them suits it best.

    Args:
        near: (m,) similarity of each candidate to the mood.
        scores: (m,) their scores without the mood.
        weight: of the mood; those within it of the best score answer as well as the best.
    """
    equal = scores >= scores.max() - weight
    best = float(near[equal].max())
    return np.where(equal, near / best if best >= LEAST_SHOWN else near, 0.0).astype(np.float32)


def session_mood(runtime: Runtime, scope: Scope) -> Emotion | None:
    """Mean mood of the user's last turns in the session, weighted by confidence; None if they show none."""
    if scope.session is None:
        return None
    filters = RecordFilter(kinds=("message",), reach="user", in_session=scope.session, role="user")
    turns = runtime.store.list_messages(scope.user, filters, limit=TURNS, newest=True)
    shown = [mood for mood in emotion.emotions([turn.content for turn in turns]) if emotion.has_affect(mood)]
    total = sum(mood.confidence for mood in shown)
    if not total:
        return None
    valence = sum(mood.valence * mood.confidence for mood in shown) / total
    arousal = sum(mood.arousal * mood.confidence for mood in shown) / total
    return Emotion(valence=valence, arousal=arousal, confidence=total / len(shown))


TURNS = 5
"""Turns of the user that make up the mood of a session."""
IMPLICIT_WEIGHT = 0.2
"""Weight of a mood inferred from the query or the session, relative to one given by the caller."""


def mood_proximities(
    runtime: Runtime, view: View, docs: NDArray[np.int64], mood: Emotion, *, judge: bool
) -> Mapping[int, float]:
    """Similarity of records to a mood, 0 to 1, by doc.

    Args:
        runtime: gives access to the records.
        view: the user's records.
        docs: the records.
        mood: the mood to compare with.
        judge: compute missing emotions now; else these records are left out.
    """
    emotions = runtime.store.relations.emotions(view.user, docs.tolist())
    missing = [int(doc) for doc in docs if int(doc) not in emotions] if judge else []
    stored = runtime.store.fetch(view.user, missing) if missing else {}
    if stored:
        rows = view.columns.rows_of(sorted(stored))
        vectors = [*view.vectors.of(rows)] if view.vectors.dimension else [None] * len(rows)
        texts = [searchable(stored[doc].value) for doc in sorted(stored)]
        emotions |= dict(zip(sorted(stored), emotions_of(texts, vectors, view.model or ""), strict=True))
    return {doc: emotion.similarity(mood, record_emotion) for doc, record_emotion in emotions.items()}
