"""Records as hits, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mnemic.types import Episode, Hit, Message, Stored

__all__ = ["falling", "hit_from"]

STEP = 1 - 1e-6
"""What a hit scores at most beside the one before it: whoever sorts by score keeps the order."""


def hit_from(stored: Stored, score: float, scores: dict[str, float]) -> Hit:
    """A record with its score and the values behind it."""
    value = stored.value
    if isinstance(value, Message):
        assert value.id is not None
        return Hit(
            id=value.id, kind="message", text=value.content, score=score, scores=scores, message_ids=(value.id,),
            session=value.session, project=stored.project, role=value.role, speaker=value.name or value.role,
            sent_at=value.sent_at, status=stored.status, metadata=value.metadata,
            source=value.source or "direct_user", trust=1.0 if value.trust is None else value.trust,
        )  # fmt: skip
    if isinstance(value, Episode):
        return Hit(
            id=value.id, kind="episode", text=value.content, score=score, scores=scores, session=value.session,
            project=value.project, sent_at=value.started_at, status=value.status, summary=value.title,
            metadata=value.metadata, episode=value.id, source=value.source, trust=value.trust,
        )  # fmt: skip
    return Hit(
        id=value.id, kind="memory", text=value.content, score=score, scores=scores, session=value.session,
        project=value.project, sent_at=value.said_at or value.created_at, valid_at=value.valid_at,
        invalid_at=value.invalid_at, status=value.status, type=value.type, importance=value.importance,
        summary=value.summary, tags=value.tags, speaker=value.speaker, metadata=value.metadata, source=value.source,
        trust=value.trust,
    )  # fmt: skip


def falling(hits: Sequence[Hit], probability: float) -> tuple[Hit, ...]:
    """Hits in their order, with scores of 0 to 1 that fall down the list.

    A score is the probability that the result holds what was asked for, times the hit's share of the best sum of signals,
    and always less than the score before it: what was put lower for being out of date must not come back to the top.
    """
    best = max((hit.score for hit in hits), default=0.0)
    score, scored = probability, list[Hit]()
    for hit in hits:
        share = hit.score / best if best > 0 else 1.0
        score = max(0.0, min(score * STEP, probability * share))
        scored.append(replace(hit, score=score))
    return tuple(scored)
