"""Results of writes and searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from textwrap import shorten
from typing import Any, overload

from mnemic.errors import InvalidInput
from mnemic.types.literals import Evidence, Kind, Outcome, Source, Style

LISTED = 10
"""Maximum number of hits in a repr."""
SHOWN = 80
"""Maximum characters of a text in a repr."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The outcome of one write.

    ``pending`` are tasks still to be done, such as ``("embed",)`` while the embedder is down; the record is already stored
    and found by keyword.
    """

    id: str
    outcome: Outcome
    reason: str = ""
    pending: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the record was changed: the outcome is neither ``duplicate`` nor ``rejected``."""
        return self.outcome not in ("duplicate", "rejected")


class Receipts(tuple[Receipt, ...]):
    """The receipts of one call, in the order of its input."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The id of the only receipt, as of one added text.

        Raises:
            InvalidInput: there are several, or none.
        """
        if len(self) != 1:
            raise InvalidInput(f"These are {len(self)} receipts, not one: receipts.ids has the id of each.")
        return self[0].id

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the order of the input."""
        return tuple(r.id for r in self)

    @property
    def rejected(self) -> tuple[Receipt, ...]:
        """The receipts of rejected records, each with its reason."""
        return tuple(r for r in self if r.outcome == "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message, episode or memory found for a query.

    Attributes:
        text: the verbatim content. In a message that is still partly valid, "[...]"
            stands for sentences that were forgotten or have ended.
        score: 0 to 1, descending: the ``probability`` of the result, times the hit's
            sum of signals relative to the best hit's.
        relevance: 0 to 1: the probability that the hit is evidence for the query; 0
            without a query.
        scores: the value of every signal by name (``dense`` is a cosine, ``bm25`` is unbounded).
        contributions: what each signal adds to the sum that ranks the hit, without
            zeros. Later stages (spreading over conversations, recency, a reranker) may
            move the hit.
        message_ids: the messages whose text this hit contains.
        speaker: the name of the speaker, else the role; for a memory, the name only.
        similar: ids of restatements that were folded into this hit.
        said_at: if there are restatements, when the hit and each of them were said, in
            order.
        via: ids of memories that were derived from this hit and match the query.
        passage: for a long text, the passage that is closest in meaning to the query.
        superseded_by: ids of the memories that superseded this hit, even if they were
            forgotten since. For a message, only if nothing that it says is still valid.
        ended: whether it was superseded by a memory that has since been erased, so that
            there is no id to name.
        episode: the id of its episode, once it has been processed.
        source: the origin of its text.
        trust: 0 to 1; below 0.5 it is shown as unverified.
        sequence: orders hits of one time: the lower was stored first.
    """

    id: str
    kind: Kind
    text: str
    score: float
    relevance: float = 0.0
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    contributions: Mapping[str, float] = field(default_factory=dict[str, float])
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
    said_at: tuple[datetime, ...] = ()
    via: tuple[str, ...] = ()
    passage: str | None = None
    superseded_by: tuple[str, ...] = ()
    ended: bool = False
    episode: str | None = None
    source: Source = "direct_user"
    trust: float = 1.0
    sequence: int = field(default=0, compare=False)

    @property
    def current(self) -> bool:
        """Whether nothing took its place."""
        return not (self.ended or self.superseded_by)

    def __repr__(self) -> str:
        day = f"{self.sent_at:%d %b %Y}, " if self.sent_at else ""
        text = shorten(self.text[: 10 * SHOWN], SHOWN, placeholder="...")
        ended = "" if self.current else " (replaced)"
        return f"<{self.score:.2f} {day}{self.speaker or self.type or self.kind}: {text}{ended} [{self.id}]>"


def _empty(*_: object) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[Hit]):
    """An immutable sequence of hits, best first.

    A ranking always returns something, even if nothing matches. Therefore ``evidence``
    grades the result (``strong``, ``weak`` or ``none``), and ``probability``, 0 to 1,
    estimates how likely the first ten hits are to answer the query. ``left_out`` counts
    the records among the first k whose relevance is below ``min_relevance``; they are
    not hits.
    """

    hits: tuple[Hit, ...] = ()
    evidence: Evidence = "none"
    probability: float = 0.0
    left_out: int = 0
    render: Callable[[Sequence[Hit], Evidence, Style | None], str] = field(default=_empty, repr=False, compare=False)

    def to_prompt(self, style: Style | None = None) -> str:
        """All hits as text for a prompt, grouped by day and fenced as data.

        The text is empty if there are no hits. Unlike ``get_memory_context``, this has
        no token budget.

        Args:
            style: ``None`` for plain lines, or ``"markdown"``, ``"xml"`` or ``"json"`` inside the fence.

        Raises:
            InvalidInput: there is no such style.
        """
        return self.render(self.hits, self.evidence, style)

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
class Procedure:
    """What agents did for requests like a given one, and how that went; see ``Memory.procedures``.

    Attributes:
        steps: the names of the tools in order, as far as they worked in the end.
        requests: the earlier requests that it was used for, most similar first. A
            request that was made several times is one hit.
        successes: how often its last known outcome was ``ok``.
        failures: how often that was an error, including runs that stopped after its
            first steps. Runs without a recorded outcome count as neither.
        last_used: the time of the last answer that it was used for.
        score: 0 to 1: the similarity of the requests, times the success rate.
    """

    steps: tuple[str, ...]
    requests: tuple[Hit, ...]
    successes: int
    failures: int
    last_used: datetime
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """One line of a context as data, in the format of memory servers."""

    id: str
    summary: str
    content: str
    importance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """Hits that fit a token budget, rendered for a prompt.

    ``text`` is the verbatim evidence, grouped by day. ``prompt`` adds annotations if
    there is room: what was superseded, and the titles and summaries of episodes; it is
    empty if there is nothing to add, or no room. Use ``to_prompt()``, which returns the
    better of the two. Neither exceeds the budget. ``token_count`` is the number of
    tokens of ``text``, as counted by the handle's tokenizer. ``truncated`` says that
    hits were left out because the budget was used up. ``hits`` are the hits that are
    shown, ``found`` all hits that they were chosen from, best first. ``left_out``
    counts the hits that are not shown, because of the budget or their relevance.
    """

    text: str
    prompt: str = ""
    memories: tuple[MemorySummary, ...] = ()
    hits: tuple[Hit, ...] = ()
    token_count: int = 0
    truncated: bool = False
    left_out: int = 0
    evidence: Evidence = "none"
    found: SearchResult = field(default_factory=SearchResult, repr=False, compare=False)
    render: Callable[[Style], str] = field(default=_empty, repr=False, compare=False)

    def to_prompt(self, style: Style | None = None) -> str:
        """The text for a prompt: the evidence with its annotations; empty if nothing was found.

        Args:
            style: ``None`` for plain lines by day; ``"markdown"``, ``"xml"`` or ``"json"`` for the same evidence in that
                form, facts under their episodes, inside the same fence and within the same budget. These forms take more
                tokens: the last hits may be left out.

        Raises:
            InvalidInput: there is no such style.
        """
        return (self.prompt or self.text) if style is None else self.render(style)

    def __str__(self) -> str:
        return self.to_prompt()

    def __repr__(self) -> str:
        return f"<{self.token_count} tokens from {len(self.hits)} hits, evidence {self.evidence}>"

    def __bool__(self) -> bool:
        return bool(self.text)
