"""Retention: archives expired records, except messages that a live memory cites."""

from __future__ import annotations

from datetime import timedelta

from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import RetentionPolicy
from mnemic.text.clock import now, to_micros
from mnemic.types import Archive, Scope

__all__ = ["retire"]

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
    return len(ids)
