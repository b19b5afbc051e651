"""Records, queries and filters for them, and the columns that caches read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from mnemic.types.literals import TRANSITIONS, UNTRUSTED, Evidence, Kind, LinkType, MemoryType, Reach, Source, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRUST_OF_SOURCE: Mapping[Source, float] = {
    "direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3,
}  # fmt: skip
"""Default trust by source."""
REPEATED_TRUST = TRUST_OF_SOURCE["tool_external"]
"""Most trust of a text that repeats untrusted text."""
UNTRUSTED_SHARE = 0.3
"""Largest share of the hits of a search from one untrusted source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One verbatim turn of a conversation.

    Attributes:
        role: ``user``, ``assistant``, ``system``, ``tool`` or another role.
        content: the verbatim text.
        name: the name of the speaker; it is searched together with the text.
        sent_at: when it was said. Naive values take the handle's time zone; ``None`` is now.
        id: unique per user. ``None`` lets the store create one; a message that was read
            from the store always has an id. Messages are not deduplicated by content.
        session: the conversation that it belongs to; ``None`` takes the handle's
            session.
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
    """A mood: valence and arousal from -1 to 1, and a confidence from 0 to 1.

    The ranges are checked when the value is used, not when it is created.
    """

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

    ``valid_at`` and ``invalid_at`` bound the time when it is true; ``created_at`` and
    ``expired_at`` bound the time when the record held it as current. ``salience`` is
    its initial importance. ``importance`` is its importance at the time of reading: it
    starts at the salience and changes with use, emotion and time, unless it is
    ``pinned``. ``access_count`` and ``last_accessed_at`` tell how often and when it was
    used: found by a search or cited in a reply. ``superseded_by`` has the ids of the
    memories that superseded it. ``said_at`` is when its source said it; if that is
    ``None``, ``created_at`` counts. ``source_ids`` are the records that it was derived
    from. ``project`` is its level (``None``: the user level). ``speaker`` is the name
    of the speaker (``None``: the user, or an unnamed speaker). ``key`` is an attribute
    such as ``meetings.time``: per key and level, only the latest value is current.
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

    ``content`` is a summary written by the language model. Without one, it is the most
    informative sentences, verbatim, one per line with the speaker. ``message_ids`` are
    the messages, oldest first. ``source_ids`` are the episodes that it was merged from.
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


Record: TypeAlias = Message | Episode | MemoryRecord
Level: TypeAlias = tuple[str | None, str | None]
"""Project and session of a conversation."""


def kind_of(record: Record) -> Kind:
    """The kind of a record."""
    return "message" if isinstance(record, Message) else "episode" if isinstance(record, Episode) else "memory"


def searchable(record: Record) -> str:
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


class Embeddable(NamedTuple):
    """A text to embed, and the body whose passages have vectors of their own, empty if there is none."""

    text: str
    body: str = ""


def embeddable(record: Record) -> Embeddable:
    """What is embedded of a record: a body is what a person or an assistant said, or a memory."""
    said = isinstance(record, MemoryRecord) or (isinstance(record, Message) and record.role in ("user", "assistant"))
    return Embeddable(searchable(record), record.content if said else "")


class TextVectors(NamedTuple):
    """The vector of a text, shape (d,), and those of its passages, shape (n, d)."""

    text: NDArray[np.float32]
    passages: NDArray[np.float32]


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


def last_transition(events: Sequence[Event]) -> Event | None:
    """The last event of a record that archived it or brought it back: a link may have been noted since."""
    return next((event for event in reversed(events) if event.operation in TRANSITIONS), None)


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
    value: Record
    status: str
    project: str | None
    episode: int | None = None

    @property
    def id(self) -> str:
        """The id of the record."""
        assert self.value.id is not None
        return self.value.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that was asked of the memory, and where; ``mood`` is None unless one was given as values."""

    text: str
    asked_at: datetime
    project: str | None = None
    session: str | None = None
    mood: Emotion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledHit:
    """A hit of an earlier context: the beginning of its text, and why it was found.

    ``contributions`` is what each signal added to its rank. ``shown`` says whether the
    prompt contained it.
    """

    id: str
    kind: Kind
    text: str
    relevance: float
    contributions: Mapping[str, float]
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenContext:
    """A context as it was given to a program: what was asked, what was found, and the prompt; see ``RetentionPolicy``.

    ``prompt`` is the result of ``to_prompt()`` without a style. ``hits`` are the hits
    that it shows and the first of the others, best first. ``plain`` says that only the
    question and ``min_evidence`` determined what was found: no filter, recipe, mood or
    earlier message was given. ``number`` identifies it in the store.
    """

    question: str
    given_at: datetime
    prompt: str
    evidence: Evidence
    probability: float
    max_tokens: int
    token_count: int
    left_out: int
    hits: tuple[RecalledHit, ...]
    min_evidence: Evidence = "none"
    plain: bool = True
    project: str | None = None
    session: str | None = None
    number: int = 0


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

    def __getitem__(self, rows: NDArray[Any]) -> Candidates:
        """The candidates at some rows: a mask or positions."""
        columns: dict[str, Any] = {column.name: getattr(self, column.name)[rows] for column in fields(self)}
        return Candidates(**columns)


@dataclass(frozen=True, slots=True)
class Coded:
    """A dictionary-encoded column.

    Attributes:
        words: the distinct values.
        codes: (n,) the index of the value of each row.
    """

    words: Sequence[str | None]
    codes: NDArray[np.int32]

    def __iter__(self) -> Any:
        return map(self.words.__getitem__, self.codes.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRows:
    """n records, ascending by ``doc``.

    Attributes:
        doc: (n,) docs.
        kind, status, session, project, label, speaker: encoded columns; the label is the role of a message, else the type.
        time: (n,) when it was said, in microseconds since 1970.
        moment: (n,) start of validity, likewise; ``offset``: (n,) its offset from UTC in minutes.
        length: (n,) content terms. ``traits``: (n,) bits of ``text.english``.
        salience, boost, last_use: (n,) the parts of the importance; .5, 0 and for ever of what is no memory.
        periods: the periods that a text mentions, as JSON, by doc.
    """

    doc: NDArray[np.int64]
    kind: Coded
    status: Coded
    session: Coded
    project: Coded
    time: NDArray[np.int64]
    label: Coded
    speaker: Coded
    length: NDArray[np.float32]
    traits: NDArray[np.int32]
    salience: NDArray[np.float32]
    boost: NDArray[np.float32]
    last_use: NDArray[np.int64]
    moment: NDArray[np.int64]
    offset: NDArray[np.int64]
    periods: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.doc)


@dataclass(frozen=True, slots=True)
class CatalogVectors:
    """The vectors of n records: ``doc`` (n,), ascending, and ``values`` (n, dimension); owned by the receiver."""

    doc: NDArray[np.int64]
    values: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.doc)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDelta:
    """The changes that bring a cache of one user's records to event number ``event``, and to the
    uses recorded until ``moment`` (microseconds since 1970).

    ``rows`` and ``vectors`` are those of new and touched docs; None if there are none. A touched doc without a row was erased.
    ``validity`` are (doc, valid from, valid until or None, expired at or None, created at, JSON list of source docs, successor
    doc or None, given ``valid_at`` or None, whether no source said it) of memories. ``kept`` are docs with an unchanged text,
    and so unchanged terms and vector: their vectors are left out. An empty ``kept`` is always correct, but slower.
    """

    event: int
    moment: int = 0
    rows: CatalogRows | None = None
    vectors: CatalogVectors | None = None
    validity: Sequence[tuple[Any, ...]] = ()
    touched: Sequence[int] = ()
    kept: Collection[int] = ()
    model: str | None = None
    dimension: int | None = None
    reembedded: bool = False


Mood: TypeAlias = Emotion | str | Callable[[], Emotion | str | None] | None
"""A mood to rank by: an emotion; text that shows one; ``"session"`` for the mood of the
user's last turns in the session; or a function that is called at each search.
"""


class Filters(TypedDict, total=False):
    """The filters of every method that reads several records. They apply before any ranking or limit.

    Attributes:
        reach: the levels to read: ``session``, ``project``, ``project+global`` (the
            default), ``user``, or ``auto`` (begins narrow, and widens until there are
            enough hits).
        session: only messages and episodes of this conversation, and memories that are
            limited to it. Memories derived from its messages do not belong to it.
        role: only messages with this role; excludes memories and episodes.
        speaker: only what this person said.
        agent: only records of this agent: those added or remembered with ``agent=``,
            and records derived from them.
        types: only memories of these types; excludes messages. Here and below, a single
            word is accepted in place of a list.
        category: only memories of this category, or of one of several; excludes
            messages. A category that is not one of Mnemic's own and that no memory has
            is an error.
        tags: only memories with at least one of these tags; excludes messages.
        metadata: every key must be present with an equal value.
        status: only records with this status. Default: all but archived records.
        since: only what was said at this time or later. For a memory whose source has
            no time, the time when it was stored counts.
        until: only what was said before this time.
        at: what was true at that time, according to what had been said by then.
            Default: what is true now.
        known_at: what was believed at that time, regardless of what became known later.
        include_expired: also memories that are no longer true or no longer believed.
        exclude: ids to leave out, such as those of messages that the prompt already
            contains.
        min_trust: the lowest trust, 0 to 1; 0.5 excludes untrusted sources.
        min_importance: the lowest importance, 0 to 1; excludes messages.
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
        kinds: which of ``message``, ``memory`` and ``episode`` may be hits. Default:
            messages and memories.
        min_relevance: the lowest ``relevance`` of a hit, 0 to 1. By default, a search
            has no limit; a context leaves out hits below 0.005, and is empty if no hit
            reaches 0.05.
        min_similarity: the lowest cosine with the query, -1 to 1.
        untrusted_share: the largest share of hits that may come from one untrusted
            source, such as a tool or a document, 0 to 1. Default: 0.3.
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
        keywords: further words to find it by.
        confidence: how certain it is, 0 to 1.
        related_files: paths that it is about.
        related_entities: people, products and places that it is about.
        emotion: the mood of the statement. Default: estimated from its text.
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
    untrusted_share: float = UNTRUSTED_SHARE


def is_trusted(trust: float | None) -> bool:
    """Whether a text is trusted; a message without a trust value is."""
    return trust is None or trust >= UNTRUSTED


def least_trust(trusts: Iterable[float | None]) -> float:
    """The trust of a text derived from several: the minimum; 1 for none."""
    return min((trust for trust in trusts if trust is not None), default=1.0)
