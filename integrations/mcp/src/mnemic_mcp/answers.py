"""What the tools answer: their output schemas. A field with a default is left out of an answer that has nothing for it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel

__all__ = [
    "Advice",
    "Cluster",
    "Context",
    "Counts",
    "Edge",
    "Evidence",
    "Found",
    "GraphAnswer",
    "Hub",
    "Listed",
    "MemoryContextAnswer",
    "MemoryLine",
    "Overview",
    "Place",
    "Recalled",
    "Removed",
    "Report",
    "Spared",
    "Stored",
]


Evidence: TypeAlias = Literal["strong", "weak", "none"]


class Stored(BaseModel):
    """What became of one write."""

    id: str
    outcome: str
    reason: str = ""


class Found(BaseModel):
    """One thing that was found: what somebody said, or a memory. ``cut`` says that the text goes on."""

    id: str
    kind: Literal["message", "episode", "memory"]
    text: str
    date: datetime | None = None
    speaker: str | None = None
    type: str | None = None
    importance: float | None = None
    tags: list[str] = []
    replaced_by: list[str] = []
    cut: bool = False


class Recalled(BaseModel):
    """What was found, best first; ``evidence`` grades it as a whole."""

    evidence: Evidence
    found: list[Found]


class Spared(BaseModel):
    """A record that stays, with the reason, or that would go, with what it says."""

    id: str
    reason: str


class Removed(BaseModel):
    """What is no longer found; ``would_remove`` is what a dry run found, ``kept`` is what was not removed, and why."""

    removed: list[str]
    would_remove: list[Spared] = []
    kept: list[Spared] = []


class MemoryLine(BaseModel):
    """One memory, short."""

    id: str
    summary: str
    content: str
    importance: float


class MemoryContextAnswer(BaseModel):
    """Memories that fit a budget of tokens."""

    memories: list[MemoryLine]
    token_count: int
    truncated: bool
    text: str


class Counts(BaseModel):
    """How much there is."""

    messages: int
    episodes: int
    short_term: int
    long_term: int
    archived: int
    links: int


class Place(BaseModel):
    """Where this is: the project, and whose memory. ``id`` is what the memory knows the project by."""

    name: str | None = None
    id: str | None = None
    description: str = ""
    root: str = ""
    user: str
    counts: Counts


class Hub(BaseModel):
    """A memory that others are linked to."""

    id: str
    text: str
    links: int


class Overview(BaseModel):
    """The graph of what matters most: how many links of each type, and the memories with the most."""

    links: dict[str, int]
    central: list[Hub]


class Context(BaseModel):
    """Text for the prompt. Without a query also what a new session should know."""

    text: str
    token_count: int
    truncated: bool
    evidence: Evidence
    project: Place | None = None
    important: list[Found] = []
    recent: list[Found] = []
    graph: Overview | None = None


class Cluster(BaseModel):
    """One memory that became long-term, and those it stands for."""

    promoted_id: str
    source_ids: list[str]
    cluster_size: int
    avg_importance: float
    dominant_type: str


class Report(BaseModel):
    """What one cycle of consolidation did. ``id`` is for undoing it; it is empty when nothing was changed."""

    id: str
    clusters_formed: int
    memories_promoted: int
    memories_archived: int
    memories_skipped: int
    contradictions: int
    duration_seconds: float
    cluster_summaries: list[Cluster]


class Advice(BaseModel):
    """Whether consolidation has work to do."""

    should_consolidate: bool
    reason: str
    short_term_count: int
    long_term_count: int


class Listed(BaseModel):
    """Memories in order. ``more`` says whether there are others behind them."""

    memories: list[Found]
    more: bool


class Edge(BaseModel):
    """A link from one memory to another."""

    source: str
    target: str
    type: str
    strength: float
    reason: str


class GraphAnswer(BaseModel):
    """Memories and the links between them."""

    memories: list[Found]
    links: list[Edge]
