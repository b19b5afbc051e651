"""What was done, and what there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from mnemic.types.literals import MemoryType
from mnemic.types.records import Message

__all__ = [
    "ClusterSummary",
    "ConsolidationAdvice",
    "ConsolidationReport",
    "LanguageModelStats",
    "ProcessReport",
    "SessionView",
    "StageUsage",
    "Stats",
    "VerifyReport",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageUsage:
    """What one stage asked of the language model, and how often it had to do without.

    ``cost`` is in US dollars where the price of the model is known, else 0. ``fallbacks`` counts the times the
    deterministic form took over.
    """

    calls: int = 0
    retries: int = 0
    failures: int = 0
    fallbacks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModelStats:
    """How the language model does.

    Attributes:
        model: ``provider:model``.
        state: ``unasked`` so far; ``answering``; ``failing``, its last answer was of no use; ``unreachable``: no package, key,
            model or server, or no answer in time.
        error: the last error in a line, while it is failing or unreachable.
        since: when that state began; None while it is unasked.
        stages: what was asked since the record was opened, by stage.
    """

    model: str
    state: Literal["unasked", "answering", "failing", "unreachable"] = "unasked"
    error: str | None = None
    since: datetime | None = None
    stages: Mapping[str, StageUsage] = field(default_factory=dict[str, StageUsage])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """What one run of ``process`` made of the messages that waited.

    ``memories`` counts those stored, ``updated`` those among them that replaced an earlier one, ``contradictions`` those
    kept beside one they cannot be reconciled with, and ``known`` statements that said nothing new. ``enriched`` counts
    remembered statements that got their summary, keywords and tags. ``waiting`` is what is left.
    """

    messages: int = 0
    episodes: int = 0
    memories: int = 0
    updated: int = 0
    contradictions: int = 0
    known: int = 0
    enriched: int = 0
    fallbacks: int = 0
    waiting: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """The conversation under way, as it stands.

    Attributes:
        id: its name; None when the handle has none.
        messages: in order.
        tools: how often each tool answered in it.
        preferences: the keys and values that hold in it: those of its project, else of the user.
        given: ids of what contexts have handed out in it, by this process and until it ends, the oldest first; as
            ``exclude=`` they keep a prompt from telling the same twice.
    """

    id: str | None
    messages: tuple[Message, ...] = ()
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    preferences: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """One group of memories that say the same: the one that stands for it, and those it was made from."""

    promoted_id: str
    source_ids: tuple[str, ...]
    cluster_size: int
    avg_importance: float
    dominant_type: MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What one cycle of consolidation did, or with ``dry_run`` would do.

    Attributes:
        id: for ``undo``; empty when nothing was changed.
        clusters_formed: groups of two or more that say the same.
        memories_promoted: memories that became long-term.
        memories_archived: members that the promoted ones stand for; they are kept and can be restored.
        memories_skipped: seeds that stay short-term: not important enough.
        contradictions: pairs that were near each other and differ: linked, never merged.
        duration_seconds: wall-clock time.
        cluster_summaries: one for each promoted memory, single ones included.
    """

    id: str = ""
    clusters_formed: int = 0
    memories_promoted: int = 0
    memories_archived: int = 0
    memories_skipped: int = 0
    contradictions: int = 0
    duration_seconds: float = 0.0
    cluster_summaries: tuple[ClusterSummary, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationAdvice:
    """Whether consolidation has work to do, and why."""

    should_consolidate: bool
    reason: str
    short_term_count: int
    long_term_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what one user has, and of the store as a whole.

    ``pending`` counts what waits: ``embed`` for a vector, ``process`` for being made into knowledge, ``enrich`` for keywords
    and tags. ``llm`` is how the language model does; None without one.
    """

    messages: int
    episodes: int
    memories: Mapping[str, int]
    links: int
    sessions: int
    projects: int
    pending: Mapping[str, int]
    embedding_model: str | None
    dimension: int | None
    schema_version: int
    bytes_on_disk: int
    location: str
    llm: LanguageModelStats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What ``verify`` found. ``checks`` names what was looked at, with how many rows; ``findings`` is what is wrong."""

    checks: Mapping[str, int]
    findings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.findings
