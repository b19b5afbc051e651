"""Records: messages, episodes, memories, links and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mnemic.types.literals import Kind, LinkType, MemoryType, Source, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One verbatim turn of a conversation.

    Attributes:
        role: ``user``, ``assistant``, ``system``, ``tool`` or another role.
        content: the verbatim text.
        name: the name of the speaker; it is searched together with the text.
        sent_at: when it was said. Naive values take the handle's time zone; ``None`` is now.
        id: unique per user. With ``None`` the store creates one; messages are not deduplicated by content.
        session: the conversation it belongs to; ``None`` takes the handle's session.
        metadata: any JSON object.
        source: the origin of the text; ``None`` derives it from the role.
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
    """Valence and arousal in -1..1 with a confidence in 0..1; a mood outside of these is refused where it is used."""

    valence: float
    arousal: float
    confidence: float = 1.0

    @property
    def quadrant(self) -> Literal["excited", "content", "distressed", "low"]:
        """The quadrant of the valence-arousal plane."""
        if self.valence >= 0:
            return "excited" if self.arousal >= 0 else "content"
        return "distressed" if self.arousal >= 0 else "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """One remembered statement or event, with its lineage, valid time and transaction time.

    ``valid_at``/``invalid_at`` bound the time when it is true; ``created_at``/``expired_at`` the time when it was current in
    the record. ``salience`` is its initial worth; ``importance`` is what it is worth when it is read: it starts there and
    changes with use, emotion and time, unless it is ``pinned``. ``access_count`` and ``last_accessed_at`` are its uses:
    found by a search, or cited in a reply. ``superseded_by`` are the ids of the memories that superseded it.
    ``said_at`` is when its source said it (``None``: when it was created). ``source_ids`` are the records it was derived from.
    ``project`` is its level (``None``: the user's own). ``speaker`` is the name of the speaker (``None``: the user, or an
    unnamed one). ``key`` is an attribute such as ``meetings.time``: per key and level only the latest value is current.
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
    access_count: int = 0
    last_accessed_at: datetime | None = None
    superseded_by: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """The content with the name of its speaker, as in ``Ana: I moved to Lisbon``."""
        return f"{self.speaker}: {self.content}" if self.speaker else self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A segment of messages on one subject.

    ``content`` is a summary by the language model, or without one the most informative sentences, verbatim, one per line with
    its speaker. ``message_ids`` are its messages, oldest first. ``source_ids`` are the episodes it was merged from.
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


def searchable(record: Message | Episode | MemoryRecord) -> str:
    """The indexed text of a record.

    A message is ``Name: text`` (on LoCoMo the name adds nine points of dense recall), a memory includes its summary,
    keywords and tags, an episode is its title and story.
    """
    if isinstance(record, Message):
        return f"{record.name}: {record.content}" if record.name else record.content
    if isinstance(record, Episode):
        return f"{record.title}\n{record.content}"
    parts = [record.spoken, record.summary or "", " ".join(record.keywords), " ".join(record.tags)]
    return "\n".join(part for part in parts if part)


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
    """Memories and the links between them. ``depths`` is the distance of each memory from the start, in links."""

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
    """The user, project and session of a handle. Fixed at its creation; no text of a model can change it."""

    user: str = "default"
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An unprocessed message, with its level and its vector if it has one."""

    doc: int
    message: Message
    project: str | None
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record of any kind with its state. ``episode`` is the doc of a message's episode."""

    kind: Kind
    value: Message | Episode | MemoryRecord
    status: str
    project: str | None
    episode: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that was asked of the memory, and where; ``mood`` is None unless one was given as values."""

    text: str
    asked_at: datetime
    project: str | None = None
    session: str | None = None
    mood: Emotion | None = None


class StoredVector(NamedTuple):
    """The vector of a record as it is stored, with the name of the model that made it.

    ``values`` is a float32 array of shape (dimension,), of length 1, with the precision of float16.
    """

    model: str
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Live memories for consolidation, as columns of one length, ascending by ``doc``.

    Times are microseconds since 1970. ``fresh``: not in the long-term tier; ``judged``: the last evaluation, 0 for never;
    ``salience``, ``boost`` and ``last_use`` are the parts of the importance; ``apart``: never merged with others, such as
    preferences.
    """

    doc: NDArray[np.int64]
    fresh: NDArray[np.bool_]
    salience: NDArray[np.float64]
    boost: NDArray[np.float64]
    last_use: NDArray[np.int64]
    created_at: NDArray[np.int64]
    last_access: NDArray[np.int64]
    judged: NDArray[np.int64]
    trust: NDArray[np.float64]
    apart: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.doc)
