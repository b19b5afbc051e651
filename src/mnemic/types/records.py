"""What is kept: messages, episodes, memories, links, and what was done to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from mnemic.types.literals import Kind, LinkType, MemoryType, Source, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Candidates",
    "Emotion",
    "Episode",
    "Event",
    "Graph",
    "Link",
    "MemoryRecord",
    "Message",
    "Scope",
    "Stored",
    "Waiting",
]


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
    ``salience`` is what it was worth when it was made; ``importance`` starts there and moves with use, feeling and time.
    ``said_at`` is when its source said it (``None``: when it was made). ``source_ids`` names the records it was made from.
    ``project`` is the level it lives at (``None``: the user's own). ``speaker`` is the name of who said it (``None``: the user,
    or somebody without a name). ``key`` names what it is a value of, such as ``meetings.time``: of one key at one level the
    latest value holds.
    """

    id: str
    content: str
    speaker: str | None = None
    key: str | None = None
    type: MemoryType = "semantic"
    status: Status = "short_term"
    category: str | None = None
    importance: float = 0.5
    salience: float = 0.5
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
    said_at: datetime | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    expired_at: datetime | None = None
    delete_after: datetime | None = None

    @property
    def spoken(self) -> str:
        """The content after the name of who said it, as in ``Ana: I moved to Lisbon``."""
        return f"{self.speaker}: {self.content}" if self.speaker else self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A run of messages on one subject.

    ``content`` is its story where a language model told it, else its most telling sentences, verbatim, each with who said it on
    a line of its own. ``message_ids`` are the messages it is made of, in the order of time. ``source_ids`` names the
    episodes it was merged from.
    """

    id: str
    title: str
    content: str
    message_ids: tuple[str, ...]
    started_at: datetime
    ended_at: datetime
    source_ids: tuple[str, ...] = ()
    status: Literal["short_term", "archived"] = "short_term"
    session: str | None = None
    project: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: Source = "direct_user"
    trust: float = 1.0
    version: int = 1
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge from one memory to another, with a strength in 0..1 and the reason for it."""

    source: str
    target: str
    type: LinkType
    strength: float = 1.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Memories and the links between them. ``depths`` says how many links each memory is away from where one began."""

    memories: tuple[MemoryRecord, ...]
    links: tuple[Link, ...]
    depths: Mapping[str, int]


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
class Scope:
    """Who asks and from where. Made with the handle; nothing a model writes can change it."""

    user: str = "default"
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A message that waits to be processed, with its level and its vector if it has one."""

    doc: int
    message: Message
    project: str | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record as the store hands it out, whatever its kind. ``episode`` is the doc of a message's episode."""

    kind: Kind
    value: Message | Episode | MemoryRecord
    status: str
    project: str | None
    episode: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Live memories as consolidation weighs them, as columns of one length, ascending by ``doc``.

    Times are microseconds since 1970. ``fresh`` are those not in the long-term tier; ``judged`` is 0 for never; ``arousal``
    is weighted by its confidence; ``apart`` are those that stand for nothing but themselves, such as preferences.
    """

    doc: NDArray[np.int64]
    fresh: NDArray[np.bool_]
    salience: NDArray[np.float64]
    importance: NDArray[np.float64]
    pinned: NDArray[np.bool_]
    created_at: NDArray[np.int64]
    accesses: NDArray[np.int64]
    last_access: NDArray[np.int64]
    arousal: NDArray[np.float64]
    judged: NDArray[np.int64]
    trust: NDArray[np.float64]
    apart: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.doc)
