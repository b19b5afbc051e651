"""Queries and filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Literal, TypeAlias

from mnemic.types.literals import Evidence, Kind, Reach
from mnemic.types.records import Emotion

__all__ = ["Filters", "Mood", "Query"]

Mood: TypeAlias = Emotion | Literal["session"] | Callable[[], Emotion | None] | None
"""A mood to rank by: an emotion, a function that is asked at each call, or that of the user's last turns in the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters of a search or listing, applied before ranking and limit.

    ``exclude`` are ids to leave out; ``tags`` requires at least one of them, ``metadata`` equality of every key. Times are
    microseconds since 1970 UTC: ``since`` is inclusive, ``until`` exclusive. ``status=None`` means all records that are not
    archived. ``at`` selects memories valid at that time, ``known_at`` those known at that time; by default both are now.
    ``expired`` includes all others.
    """

    kinds: tuple[Kind, ...] = ("message", "memory")
    reach: Reach = "project+global"
    project: str | None = None
    session: str | None = None
    in_session: str | None = None
    types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    status: tuple[str, ...] | None = None
    role: str | None = None
    since: int | None = None
    until: int | None = None
    at: int | None = None
    known_at: int | None = None
    expired: bool = False
    min_trust: float | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query for ``k`` hits for ``text`` within the filters, at ``now`` (microseconds since 1970)."""

    text: str
    k: int
    filters: Filters
    recipe: Any
    now: int
    zone: tzinfo
    quality: bool = True
    min_similarity: float | None = None
    min_evidence: Evidence = "none"
    expand_links: int = 0
    expand_query: bool = False
    recent: tuple[str, ...] = ()
    mood: Emotion | Literal["session"] | None = None
    emotion_weight: float = 0.3
    untrusted_share: float = 0.3
