"""Records as hits."""

from __future__ import annotations

from mnemic.types import Episode, Hit, Message, Stored

__all__ = ["hit_from"]


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
        summary=value.summary, tags=value.tags, metadata=value.metadata, source=value.source,
        trust=value.trust,
    )  # fmt: skip
