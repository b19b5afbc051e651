"""The values that travel between the parts: frozen, keyword-only, free of behaviour.

Nothing here imports anything heavy: these classes are what ``import mnemic`` costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "AddMemory",
    "AddMessage",
    "Archive",
    "CatalogDelta",
    "Change",
    "Emotion",
    "Event",
    "Evidence",
    "Filters",
    "Hit",
    "Indexing",
    "Kind",
    "MemoryContext",
    "MemoryRecord",
    "MemorySummary",
    "MemoryType",
    "Message",
    "Outcome",
    "Query",
    "Reach",
    "Receipt",
    "Receipts",
    "Restore",
    "Revise",
    "Scope",
    "SearchResult",
    "Source",
    "Stats",
    "Status",
    "Stored",
    "VerifyReport",
]

Kind = Literal["message", "episode", "memory"]
Status = Literal["short_term", "consolidating", "long_term", "archived"]
MemoryType = Literal["episodic", "semantic", "procedural", "emotional"]
Reach = Literal["session", "project", "project+global", "user", "auto"]
Outcome = Literal["stored", "duplicate", "superseded", "rejected"]
Evidence = Literal["strong", "weak", "none"]
Source = Literal["direct_user", "model_inference", "tool_internal", "tool_external", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation, verbatim: the evidence.

    Attributes:
        role: who speaks in the protocol's sense: ``user``, ``assistant``, ``system``, ``tool`` or another word.
        content: the text as it was said.
        name: who speaks by name; it is searched together with the text.
        sent_at: when it was said. Naive values take the handle's time zone; ``None`` is now.
        id: unique per user. ``None`` lets the store mint one, and nothing is deduplicated by content.
        session: the conversation it belongs to; ``None`` takes the handle's session.
        metadata: any JSON object.
        source: where the text comes from; ``None`` derives it from the role.
        trust: 0 to 1; ``None`` takes the default of the source.
    """

    role: str
    content: str
    name: str | None = None
    sent_at: datetime | None = None
    id: str | None = None
    session: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: Source | None = None
    trust: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Emotion:
    """Valence and arousal in -1..1 with a confidence in 0..1."""

    valence: float
    arousal: float
    confidence: float = 1.0

    @property
    def quadrant(self) -> Literal["excited", "content", "distressed", "low"]:
        """The quadrant of the valence-arousal plane: its sign pair, named."""
        if self.valence >= 0:
            return "excited" if self.arousal >= 0 else "content"
        return "distressed" if self.arousal >= 0 else "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """One remembered statement or event, with its lineage and its two clocks.

    ``valid_at``/``invalid_at`` say when it is true in the world; ``created_at``/``expired_at`` when it was believed.
    ``source_ids`` names the records it was made from. ``project`` is the level it lives at (``None``: the user's own).
    """

    id: str
    content: str
    type: MemoryType = "semantic"
    status: Status = "short_term"
    category: str | None = None
    importance: float = 0.5
    confidence: float = 1.0
    pinned: bool = False
    summary: str | None = None
    context: str | None = None
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    emotion: Emotion | None = None
    source_ids: tuple[str, ...] = ()
    related_files: tuple[str, ...] = ()
    related_entities: tuple[str, ...] = ()
    project: str | None = None
    session: str | None = None
    source: Source = "direct_user"
    trust: float = 1.0
    version: int = 1
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    expired_at: datetime | None = None
    delete_after: datetime | None = None


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
        score: the final score; higher is better, comparable only within one result.
        scores: the value of every stage by name (``dense`` is a cosine, ``bm25`` is unbounded).
        message_ids: the evidence: messages whose text this hit carries.
        speaker: the name, else the role, of who said it (messages only).
        similar: ids of restatements folded into this hit.
        via: ids of memories whose sources are this hit.
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
    status: str = "short_term"
    type: str | None = None
    importance: float | None = None
    summary: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    similar: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


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

    ``token_count`` counts ``text`` by the handle's tokenizer and never exceeds the budget. ``truncated`` is true when
    something that was found had to be left out.
    """

    text: str
    memories: tuple[MemorySummary, ...] = ()
    hits: tuple[Hit, ...] = ()
    token_count: int = 0
    truncated: bool = False
    evidence: Evidence = "none"

    def to_prompt(self) -> str:
        """The text to put into a prompt; empty when nothing was found."""
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the audit trail of a record."""

    sequence: int
    at: datetime
    operation: str
    id: str
    version: int | None = None
    content: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what one user has, and of the store as a whole."""

    messages: int
    memories: Mapping[str, int]
    sessions: int
    projects: int
    pending: Mapping[str, int]
    embedding_model: str | None
    dimension: int | None
    schema_version: int
    bytes_on_disk: int
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What ``verify`` found. ``checks`` names what was looked at, with how many rows; ``findings`` is what is wrong."""

    checks: Mapping[str, int]
    findings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who asks and from where. Made with the handle; nothing a model writes can change it."""

    user: str = "default"
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a search or a listing is limited to, before any ranking or limit.

    ``exclude`` names records to leave out; ``tags`` asks for at least one of them, ``metadata`` for equality of every
    key. Times are microseconds since 1970 UTC: ``since`` is inclusive, ``until`` exclusive. ``status=None`` means
    everything that is not archived.
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
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked: ``k`` hits for ``text`` among what the filters allow, at ``now`` (microseconds since 1970)."""

    text: str
    k: int
    filters: Filters
    recipe: Any
    now: int
    zone: tzinfo
    quality: bool = True
    min_similarity: float | None = None
    min_evidence: Evidence = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record as the store hands it out, whatever its kind."""

    kind: Kind
    value: Message | MemoryRecord
    status: str
    project: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDelta:
    """What a cache of one user's records must learn to be up to date with event number ``event``.

    ``rows`` are (doc, kind, status, session, project, time, role or type, speaker, length, importance, traits, time in
    the world, utc offset in minutes, told periods as JSON or None) and ``vectors`` are (doc, float16 bytes), both of new and
    touched docs. A touched doc not among the rows is gone.
    """

    event: int
    rows: Sequence[tuple[Any, ...]]
    vectors: Sequence[tuple[int, bytes]]
    touched: Sequence[int] = ()
    model: str | None = None
    dimension: int | None = None
    reembedded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """How a record is found: terms, length in content terms, traits (bits), periods it tells of, vector if there is one."""

    terms: tuple[str, ...]
    length: int
    traits: int
    told: tuple[tuple[int, int], ...] = ()
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMessage:
    """Store one message under its id, unless that id is taken."""

    message: Message
    project: str | None
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class AddMemory:
    """Store one memory, unless the same content is live at the same level."""

    record: MemoryRecord
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Replace a memory by its next version, if ``record.version - 1`` is still the current one."""

    record: MemoryRecord
    indexing: Indexing


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Take a record out of every search; it stays reachable by id and can be restored."""

    id: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring an archived record back to the status it had."""

    id: str


Change: TypeAlias = AddMessage | AddMemory | Revise | Archive | Restore
"""A write as data. Applying the same list twice changes nothing the second time."""
