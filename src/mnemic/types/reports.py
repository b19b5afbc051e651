"""Reports and statistics; lineage and the receipts of erasure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from mnemic.types.literals import SESSION_SUMMARY, Kind, MemoryType
from mnemic.types.records import MemoryRecord, Message
from mnemic.types.results import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class StageUsage:
    """The usage of the language model by one stage.

    ``cost`` is in US dollars if the price of the model is known, else 0. ``fallbacks`` counts how often the deterministic
    method was used instead.
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
    """The state and usage of the language model.

    Attributes:
        model: ``provider:model``.
        state: ``unasked``: not used yet; ``answering``; ``failing``: its last answer was unusable; ``unreachable``: no
            package, key, model or server, or no answer in time.
        error: the last error in one line, while it is failing or unreachable.
        since: the start of that state; None while it is unasked.
        stages: usage by stage since the record was opened.
    """

    model: str
    state: Literal["unasked", "answering", "failing", "unreachable"] = "unasked"
    error: str | None = None
    since: datetime | None = None
    stages: Mapping[str, StageUsage] = field(default_factory=dict[str, StageUsage])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of a file that was imported, or what would in a dry run.

    Attributes:
        file: the path.
        format: the format it was read in, such as ``chatgpt``.
        counts: its records by kind: ``message``, ``memory``, ``episode``, ``link``.
        stored: number of records that were stored.
        duplicate: number of records that were stored before.
        without_text: number of messages without text, such as a call of a tool.
        rejected: receipts of records that were not stored, with the reason.
        damaged: what cannot be read, each with its line or place; the rest was imported.
        undated: number of records without a time; they get the current time.
        left_out: how many items were left out because they are not text, by kind, such
            as ``image``.
        remarks: how dates, columns and roles were interpreted, and what else was left
            out.
        pending: how many records still wait for a task, by task, such as ``embed``.
        dry_run: whether this is a preview, and nothing was stored.
    """

    file: str
    format: str
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    stored: int = 0
    duplicate: int = 0
    without_text: int = 0
    rejected: tuple[Receipt, ...] = ()
    damaged: tuple[str, ...] = ()
    undated: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    remarks: tuple[str, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict[str, int])
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """The result of one run of ``process``.

    ``memories`` counts the stored memories, ``updated`` those that superseded an
    earlier one, ``contradictions`` those kept beside a memory that contradicts them,
    and ``known`` the statements that were already stored. ``enriched`` counts
    remembered statements that were given a summary, keywords and tags. ``waiting`` is
    the number of messages still unprocessed.
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
    """The current conversation.

    Attributes:
        id: its name; None if the handle has none.
        messages: its messages in order.
        tools: how often each tool was used.
        preferences: the current keys and values: those of its project, else of the user.
        given: ids of the records that this process has returned in contexts of this
            session, oldest first. Pass them as ``exclude=`` to avoid repetition in
            prompts.
    """

    id: str | None
    messages: tuple[Message, ...] = ()
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    preferences: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSummary:
    """One cluster of equivalent memories: its representative and its members."""

    promoted_id: str
    source_ids: tuple[str, ...]
    cluster_size: int
    avg_importance: float
    dominant_type: MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """The result of one consolidation; with ``dry_run`` its preview.

    Attributes:
        id: the id for ``undo``; empty if nothing was changed.
        clusters_formed: clusters of two or more equivalent memories, promoted or not; a single memory forms none.
        memories_promoted: memories that became long-term.
        memories_archived: absorbed members; they are kept and can be restored.
        memories_skipped: seeds that stay short-term, because the mean importance of their cluster is below the threshold.
        contradictions: similar pairs with a contradiction: linked, never merged.
        duration_seconds: wall-clock time.
        cluster_summaries: one for each promoted memory, including single ones.
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
    """Whether consolidation has work to do, and why; true in a condition if it has."""

    should_consolidate: bool
    reason: str
    short_term_count: int
    long_term_count: int

    def __bool__(self) -> bool:
        return self.should_consolidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of one user's records, and properties of the whole store.

    ``memories`` are counted by status. ``types`` and ``categories`` count the memories
    that are neither archived nor superseded, most frequent first; memories without a
    category are not among ``categories``. ``pending`` counts records by pending task:
    ``embed`` (a
    vector), ``process`` (extraction), ``enrich`` (keywords and tags). ``llm`` is the state of the language model; None
    without one.
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
    types: Mapping[str, int] = field(default_factory=dict[str, int])
    categories: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def preferences(self) -> int:
        """Current memories of the category ``preference``, those of ``memory.preferences`` among them."""
        return self.categories.get("preference", 0)

    @property
    def summaries(self) -> int:
        """Current summaries of sessions."""
        return self.categories.get(SESSION_SUMMARY, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The result of ``verify``. ``checks`` has the number of rows by check; ``findings`` are the problems found."""

    checks: Mapping[str, int]
    findings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConflict:
    """A record that was changed on both sides, so that what a user sees of it differed.

    Attributes:
        id: the record.
        differs: of ``text``, ``status`` (forgotten, in quarantine) and ``validity``.
        kept: the later text, which both sides now have. It is current unless it was
            forgotten.
        other: the text of the other side, which is kept in the history; equal to
            ``kept`` unless the texts differ. If a side had corrected the record, its
            text is the correction.
        kept_at: the time of the last change on the side of the kept text.
        other_at: the time of the last change on the other side.
    """

    id: str
    differs: tuple[Literal["text", "status", "validity"], ...]
    kept: str
    other: str
    kept_at: datetime
    other_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedSide:
    """What one side took over: numbers of its records."""

    location: str
    added: int = 0
    updated: int = 0
    erased: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The result of a sync; with ``dry_run`` its preview.

    Attributes:
        user: the user whose records are equal now.
        sides: the record of the handle, and the other one.
        conflicts: records that both sides had changed.
        dry_run: whether nothing was changed.
    """

    user: str
    sides: tuple[SyncedSide, SyncedSide]
    conflicts: tuple[SyncConflict, ...] = ()
    dry_run: bool = False

    @property
    def changed(self) -> bool:
        """Whether a side was changed."""
        return any(side.added or side.updated or side.erased for side in self.sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageNode:
    """A record in a lineage; ``sources`` are the ids it was derived from."""

    id: str
    kind: Kind
    live: bool
    category: str | None = None
    project: str | None = None
    session: str | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Absorption:
    """A memory that absorbed others in a consolidation.

    ``edges`` are the members whose lineage edge was added by it. ``reworded``: the memory got a new text. ``before`` is the
    memory with its previous text, as the next version, unless it was changed by other means since.
    """

    id: str
    members: tuple[str, ...]
    edges: tuple[str, ...]
    reworded: bool = False
    before: MemoryRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Records with all their descendants, by id, and the consolidations that any of them was part of."""

    nodes: Mapping[str, LineageNode]
    absorptions: tuple[Absorption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """The purge of the bytes of erased rows.

    ``pending`` says why some bytes may still be on disk; if it is empty, none are. This
    includes bytes of earlier erasures in files that have not changed since. The purge
    is retried when the record is opened, flushed or closed. ``bytes_scanned`` bytes
    were searched for ``needles`` erased texts and vectors, of which ``found`` were
    still there. All three are 0 if nothing was searched: a record in RAM has no files,
    and those of a server are not accessible.
    """

    bytes_scanned: int = 0
    needles: int = 0
    found: int = 0
    pending: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure.

    Attributes:
        ids: the erased records: the requested ones and all their descendants.
        missing: requested ids that do not exist.
        remade: episodes and session summaries rewritten from the remaining records, and memories restored to their text
            before a consolidation.
        spared: records that resemble a description and were kept.
        counts: erased rows by table.
        purge: the purge of their bytes.
    """

    ids: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    remade: tuple[str, ...] = ()
    spared: tuple[Receipt, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    purge: Purge = field(default_factory=Purge)

    @property
    def clean(self) -> bool:
        """Whether no bytes are left on disk: the purge is not pending, and its search found nothing."""
        return not self.purge.pending and not self.purge.found
