"""Retention: archives expired records, except messages that a live memory cites, and keeps the last questions."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from mnemic.errors import StoreError, StoreReadOnly
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import RetentionPolicy
from mnemic.runtime.usage import is_counted
from mnemic.text.values import now, to_micros
from mnemic.types import Archive, Emotion, KeepQuestions, Query, Question, Scope

BATCH = 500


def retire(runtime: Runtime, scope: Scope, policy: RetentionPolicy) -> int:
    """Archive expired records; returns their number."""
    runtime.uses.save()
    moment = now()
    due = runtime.store.lifecycle.overdue(scope.user, to_micros(moment))
    if policy.message_days is not None:
        before = to_micros(moment - timedelta(days=policy.message_days))
        due += runtime.store.lifecycle.uncited(scope.user, before)
    if policy.memory_limit is not None:
        due += runtime.store.lifecycle.over_capacity(scope.user, policy.memory_limit, to_micros(moment))
    ids = list(dict.fromkeys(due))
    for start in range(0, len(ids), BATCH):
        changes = [Archive(id=id_, reason="its time is over") for id_ in ids[start : start + BATCH]]
        runtime.store.apply(scope.user, changes)
    with suppress(StoreReadOnly):
        runtime.store.apply(scope.user, [KeepQuestions(asked=(), most=policy.questions)])
    return len(ids)


def keep_question(runtime: Runtime, scope: Scope, query: Query) -> None:
    """Keep a question; one that cannot be written is left out, and its answer stands."""
    if not is_counted() or not query.text.strip():
        return
    mood = query.mood if isinstance(query.mood, Emotion) else None
    asked = Question(text=query.text, asked_at=now(), project=scope.project, session=scope.session, mood=mood)
    with suppress(StoreError):
        runtime.store.apply(scope.user, [KeepQuestions(asked=(asked,), most=runtime.settings.retention.questions)])
