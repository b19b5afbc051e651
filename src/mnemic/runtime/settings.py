"""Settings of processing, consolidation, idle work and retention, validated when they are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo
from math import inf

from mnemic.errors import ConfigurationError
from mnemic.text.values import shown
from mnemic.validation import number, option

LONGEST = 1e6
"""Days."""


def _number(settings: object, name: str, low: float, high: float, *, above: bool = False) -> None:
    number(name, getattr(settings, name), low, high, above=above, error=ConfigurationError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """Settings of ``Memory.process``.

    Attributes:
        batch_threshold: the number of waiting messages, at least 1, that starts
            processing in the background. ``None``: messages are processed only when
            ``process``, ``flush`` or ``sessions.end`` is called, and in idle time.
        time_gap: a pause of this length starts a new episode.
        enable_episode_merging: whether an episode is merged with a recent one that is
            nearly the same.
        merge_similarity_threshold: the lowest cosine at which two episodes are merged,
            0 to 1.
        max_statements_for_prediction: how many known statements a new one is compared
            with, 1 to 100.
        predict_first: whether the language model first predicts an episode from its
            title and the known statements, in a separate call without the messages.
            What it predicted counts less.
        enable_knowledge_dedup: whether a statement that restates a known one is dropped.
        knowledge_dedup_threshold: the lowest cosine at which ``process`` drops a
            restatement, 0 to 1, on the scale of the default embedder. A statement that
            differs in a number, a date, a name, a negation, an order or a content word,
            or that replaces a value, is never a restatement.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    batch_threshold: int | None = None
    time_gap: timedelta = timedelta(minutes=30)
    enable_episode_merging: bool = True
    merge_similarity_threshold: float = 0.9
    max_statements_for_prediction: int = 10
    predict_first: bool = False
    enable_knowledge_dedup: bool = True
    knowledge_dedup_threshold: float = 0.9

    def __post_init__(self) -> None:
        _number(self, "merge_similarity_threshold", 0, 1)
        _number(self, "knowledge_dedup_threshold", 0, 1)
        option("max_statements_for_prediction", self.max_statements_for_prediction, 1, 100)
        if self.batch_threshold is not None:
            option("batch_threshold", self.batch_threshold, 1, 2**31)
        if not isinstance(self.time_gap, timedelta) or self.time_gap <= timedelta():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"time_gap must be a timedelta above zero, not {shown(self.time_gap)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """Settings of ``Memory.consolidate``.

    Attributes:
        importance_threshold: the lowest mean importance at which a cluster, or a single
            memory, becomes long-term, 0 to 1.
        min_age_hours: the age in hours, at least 0, below which memories are not
            consolidated.
        max_batch_size: the number of seed memories in one cycle, 1 to 10,000.
        buffer_threshold: the number of short-term memories at which consolidation is
            advised, at least 0.
        similarity_threshold: the lowest cosine of a memory with the centroid of its
            cluster, 0 to 1.
        min_cluster_size: the smallest number of members of a cluster, 1 to 100.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    importance_threshold: float = 0.6
    min_age_hours: float = 1.0
    max_batch_size: int = 50
    buffer_threshold: int = 100
    similarity_threshold: float = 0.85
    min_cluster_size: int = 2

    def __post_init__(self) -> None:
        _number(self, "importance_threshold", 0, 1)
        _number(self, "similarity_threshold", 0, 1)
        _number(self, "min_age_hours", 0, 1e9)
        option("max_batch_size", self.max_batch_size, 1, 10_000)
        option("buffer_threshold", self.buffer_threshold, 0, 2**31)
        option("min_cluster_size", self.min_cluster_size, 1, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Settings of the idle trigger.

    Attributes:
        idle_seconds: seconds without activity before the trigger fires, above 0.
        check_interval: seconds between two checks whether consolidation has work to do,
            at least 0.
        rest_seconds: seconds between two consolidation cycles, at least 0. A cycle
            takes processor time and invalidates the caches of readers.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    idle_seconds: float = 30.0
    check_interval: float = 300.0
    rest_seconds: float = 1.0

    def __post_init__(self) -> None:
        _number(self, "idle_seconds", 0, inf, above=True)
        _number(self, "check_interval", 0, inf)
        _number(self, "rest_seconds", 0, inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How long records are kept; expired ones are archived and can be restored.

    Attributes:
        message_days: the number of days after which messages are archived, unless a
            live memory was derived from them. ``None`` keeps them.
        memory_limit: the maximum number of memories of a user. Beyond it, the least
            important short-term memories are archived first; pinned and long-term
            memories never are. Superseded and expired memories do not count and are not
            archived. ``None`` keeps all.
        session_summary_days: the number of days that session summaries are kept.
        questions: how many of a user's latest questions are kept, 0 to 1,000, so that
            the explorer can ask them again. Each search then stores its text (without
            secrets), time, scope and mood. Erasing any record of the user erases them.
        contexts: how many of a user's latest contexts are kept, 0 to 1,000, so that the
            explorer can show what an answer was based on. Each call of
            ``get_memory_context`` with a query then stores its hits and its prompt.
            Erasing any record of the user erases them.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    message_days: float | None = None
    memory_limit: int | None = None
    session_summary_days: float = 7.0
    questions: int = 0
    contexts: int = 0

    def __post_init__(self) -> None:
        if self.message_days is not None:
            _number(self, "message_days", 0, LONGEST, above=True)
        _number(self, "session_summary_days", 0, LONGEST, above=True)
        option("questions", self.questions, 0, 1_000)
        option("contexts", self.contexts, 0, 1_000)
        if self.memory_limit is not None:
            option("memory_limit", self.memory_limit, 1, 2**53)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a handle; ``timezone`` is that for times that have none."""

    processing: Processing = field(default_factory=Processing)
    consolidator: Consolidator = field(default_factory=Consolidator)
    idle: Idle = field(default_factory=Idle)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    timezone: tzinfo = UTC
