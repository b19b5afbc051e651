"""What a caller gets back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from textwrap import shorten
from typing import Any, overload

from mnemic.types.literals import Evidence, Kind, Outcome, Source

__all__ = ["Hit", "MemoryContext", "MemorySummary", "Receipt", "Receipts", "SearchResult"]

LISTED = 10
"""Hits that a result lists when it is printed."""
SHOWN = 80
"""Characters of a text that are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of one write.

    ``pending`` names work still to be done, such as ``("embed",)`` while the embedder is down; the record is
    stored and found by keyword all the same.
    """

    id: str
    outcome: Outcome
    reason: str = ""
    pending: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the record is another one now: neither ``duplicate`` nor ``rejected``."""
        return self.outcome not in ("duplicate", "rejected")


class Receipts(tuple[Receipt, ...]):
    """The receipts of one call, in the order of its input."""

    __slots__ = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order of the input."""
        return tuple(r.id for r in self)

    @property
    def rejected(self) -> tuple[Receipt, ...]:
        """Those that were not stored, each with its reason."""
        return tuple(r for r in self if r.outcome == "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message, episode or memory found for a query.

    Attributes:
        text: what is shown: the verbatim content.
        score: 0 to 1, falling down the list: the result's ``probability`` times the hit's share of the best sum of signals.
        scores: the value of every stage by name (``dense`` is a cosine, ``bm25`` is unbounded).
        message_ids: the evidence: messages whose text this hit carries.
        speaker: the name, else the role, of who said it; of a memory the name only.
        similar: ids of restatements folded into this hit.
        via: ids of memories made from this hit that bear on the query.
        superseded_by: ids of the memories that replaced what this hit says; empty while it is current.
        episode: id of the episode it belongs to, once it was processed.
        source: where its text comes from.
        trust: how far that is believed, 0 to 1; below 0.5 it is shown as unverified.
    """

    id: str
    kind: Kind
    text: str
    score: float
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    message_ids: tuple[str, ...] = ()
    session: str | None = None
    project: str | None = None
    role: str | None = None
    speaker: str | None = None
    sent_at: datetime | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    status: str = "short_term"
    type: str | None = None
    importance: float | None = None
    summary: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    similar: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    episode: str | None = None
    source: Source = "direct_user"
    trust: float = 1.0

    def __repr__(self) -> str:
        day = f"{self.sent_at:%d %b %Y}, " if self.sent_at else ""
        text = shorten(self.text[: 10 * SHOWN], SHOWN, placeholder="...")
        ended = " (replaced)" if self.superseded_by else ""
        return f"<{self.score:.2f} {day}{self.speaker or self.type or self.kind}: {text}{ended} [{self.id}]>"


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[Hit]):
    """An immutable sequence of hits, best first.

    ``evidence`` grades the result as a whole (``strong``, ``weak`` or ``none``) and ``probability`` is that the first ten
    hits hold what was asked for, 0 to 1: a rank always returns something, the grade says whether it is worth anything.
    """

    hits: tuple[Hit, ...] = ()
    evidence: Evidence = "none"
    probability: float = 0.0

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        head = f"<{len(self.hits)} hits, evidence {self.evidence} ({self.probability:.2f})>"
        more = [f"... {len(self.hits) - LISTED} more"] if len(self.hits) > LISTED else []
        return "\n".join([head, *(f"{hit!r}" for hit in self.hits[:LISTED]), *more])


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """One line of a context, for programs: the shape memory servers answer with."""

    id: str
    summary: str
    content: str
    importance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """Hits that fit a token budget, rendered for a prompt.

    ``text`` is the evidence by day, in its own words; ``prompt`` the same lines with what there was room for beside them: what
    replaced what, titles of episodes, stories (empty where there was nothing to add, or no room). Neither exceeds the budget;
    ``token_count`` counts ``text``, by the handle's tokenizer. ``truncated`` is true when something that was found had to be
    left out. ``hits`` are those that both show.
    """

    text: str
    prompt: str = ""
    memories: tuple[MemorySummary, ...] = ()
    hits: tuple[Hit, ...] = ()
    token_count: int = 0
    truncated: bool = False
    evidence: Evidence = "none"

    def to_prompt(self) -> str:
        """The text to put into a prompt: the evidence and what stands beside it; empty when nothing was found."""
        return self.prompt or self.text

    def __bool__(self) -> bool:
        return bool(self.text)
