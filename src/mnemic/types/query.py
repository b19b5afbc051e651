"""Queries and filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, TypeAlias, TypedDict

from mnemic.types.literals import Evidence, Kind, MemoryType, Reach, Status
from mnemic.types.records import Emotion

Mood: TypeAlias = Emotion | str | Callable[[], Emotion | str | None] | None
"""A mood to rank by: an emotion, words that show one, ``"session"`` for that of the user's last turns in the session, or a
function that is asked at each call.
"""


class Filters(TypedDict, total=False):
    """The filters of every method that reads several records. They apply before any ranking or limit.

    Attributes:
        reach: levels to read: ``session``, ``project``, ``project+global`` (the default), ``user``, or ``auto`` (narrow first,
            wider until there are enough).
        session: messages of this conversation only.
        role: messages of this role only.
        speaker: records of what this person said only.
        agent: records of this agent only: what was added or remembered with ``agent=``, and what was made of that.
        types: types of memory; excludes messages. Here and below, one word stands for a list of one.
        category: memories of this category, or of one of several; excludes messages. One that no memory has is refused with
            the names of those that there are.
        tags: at least one of these; excludes messages.
        metadata: every key must equal its value.
        status: default: all but archived records.
        since: said at this time or later; a memory whose source has no time, stored.
        until: said before this time.
        at: what was true then, by what was said until then; default: what is true now.
        known_at: what was believed then, whatever became known later.
        include_expired: also memories that are no longer true or no longer believed.
        exclude: ids to leave out, such as those of messages already in the prompt.
        min_trust: lowest trust, 0 to 1; 0.5 excludes untrusted sources.
        min_importance: lowest importance, 0 to 1.
    """

    reach: Reach
    session: str | None
    role: str | None
    speaker: str | None
    agent: str | None
    types: MemoryType | Sequence[MemoryType] | None
    category: str | Sequence[str] | None
    tags: str | Sequence[str] | None
    metadata: Mapping[str, Any] | None
    status: Status | Sequence[Status] | None
    since: datetime | None
    until: datetime | None
    at: datetime | None
    known_at: datetime | None
    include_expired: bool
    exclude: str | Sequence[str]
    min_trust: float | None
    min_importance: float | None


class SearchFilters(Filters, total=False):
    """The filters of ``search`` and ``get_memory_context``.

    Attributes:
        kinds: of ``message``, ``memory`` and ``episode``, those that may be hits; default: messages and memories.
        min_relevance: lowest ``relevance`` of a hit, 0 to 1. By default a search has no limit; a context leaves out what is
            below 0.005, and is empty where nothing reaches 0.05.
        min_similarity: lowest cosine with the query, -1 to 1.
        untrusted_share: largest share of the hits from one untrusted source, such as a tool or a document, 0 to 1; the default
            allows three of ten.
    """

    kinds: Kind | Sequence[Kind]
    min_relevance: float | None
    min_similarity: float | None
    untrusted_share: float


class Description(TypedDict, total=False):
    """What ``remember`` and ``update`` take beside the statement; ``process`` fills in what is not given.

    Attributes:
        summary: the statement in a few words.
        context: where it comes from or when it matters.
        keywords: words that it is found by.
        confidence: how sure it is, 0 to 1.
        related_files: paths it is about.
        related_entities: persons, products and places it is about.
        emotion: how it felt; by default it is read from the statement.
    """

    summary: str | None
    context: str | None
    keywords: str | Sequence[str] | None
    confidence: float | None
    related_files: str | Sequence[str] | None
    related_entities: str | Sequence[str] | None
    emotion: Emotion | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
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
    category: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    status: tuple[str, ...] | None = None
    role: str | None = None
    speaker: str | None = None
    since: int | None = None
    until: int | None = None
    at: int | None = None
    known_at: int | None = None
    expired: bool = False
    min_trust: float | None = None
    min_importance: float | None = None
    exclude: tuple[str, ...] = ()

    def without_stored(self) -> RecordFilter:
        """These filters without those that the store answers, because the catalog has no column of them."""
        return replace(self, tags=None, metadata=None, category=None, speaker=None, min_trust=None, min_importance=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query for ``k`` hits for ``text`` within the filters, at ``now`` (microseconds since 1970).

    ``min_relevance`` is the lowest relevance of a hit; there are no hits where the highest one is below ``min_best``.
    """

    text: str
    k: int
    filters: RecordFilter
    recipe: Any
    now: int
    zone: tzinfo
    min_similarity: float | None = None
    min_relevance: float = 0.0
    min_best: float = 0.0
    min_evidence: Evidence = "none"
    expand_links: int = 0
    expand_query: bool = False
    recent: tuple[str, ...] = ()
    mood: Emotion | str | None = None
    emotion_weight: float = 0.3
    untrusted_share: float = 0.3
