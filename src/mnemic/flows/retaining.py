"""Retention: what has had its time is archived, oldest and least important first; nothing that a live memory cites."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from mnemic.errors import ConfigurationError
from mnemic.flows.engine import Engine
from mnemic.text.clock import now, to_micros
from mnemic.text.showing import shown
from mnemic.types import Archive, Scope

__all__ = ["RetentionPolicy", "retire"]

BATCH = 500
LONGEST = 1e6
"""Days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How long things are kept; what is over is archived, and can be restored.

    Attributes:
        message_days: days after which messages are archived that no live memory was made from; ``None`` keeps them.
        memory_limit: memories of a user that are kept; beyond it the least important short-term ones go first, pinned ones
            and long-term ones never; ``None`` keeps all. What was replaced or no longer holds does not count and is
            not what goes.
        session_summary_days: days that the summary of a session is kept.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    message_days: float | None = None
    memory_limit: int | None = None
    session_summary_days: float = 7.0

    def __post_init__(self) -> None:
        for name, value in (("message_days", self.message_days), ("session_summary_days", self.session_summary_days)):
            if value is None and name == "message_days":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < LONGEST:
                raise ConfigurationError(f"{name} must be a number of days above 0, not {shown(value)}.")
        limit = self.memory_limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"memory_limit must be a whole number from 1, not {shown(limit)}.")


def retire(engine: Engine, scope: Scope, policy: RetentionPolicy) -> int:
    """Archive what has had its time; returns how many records."""
    moment = now()
    due = engine.store.lifecycle.overdue(scope.user, to_micros(moment))
    if policy.message_days is not None:
        before = to_micros(moment - timedelta(days=policy.message_days))
        due += engine.store.lifecycle.uncited(scope.user, before)
    if policy.memory_limit is not None:
        due += engine.store.lifecycle.beyond(scope.user, policy.memory_limit, to_micros(moment))
    ids = list(dict.fromkeys(due))
    for start in range(0, len(ids), BATCH):
        changes = [Archive(id=id_, reason="its time is over") for id_ in ids[start : start + BATCH]]
        engine.store.apply(scope.user, changes)
    return len(ids)
