"""How messages are made into knowledge: the settings of ``process``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from mnemic.errors import ConfigurationError
from mnemic.text.showing import shown

__all__ = ["Consolidator", "Processing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Processing:
    """Settings of ``Memory.process``.

    Attributes:
        batch_threshold: process in the background once so many messages wait, at least 1; ``None`` leaves it to calls of
            ``process`` and ``flush``.
        time_gap: a pause this long begins a new episode.
        enable_episode_merging: whether an episode joins a recent one that tells the same.
        merge_similarity_threshold: cosine of two episodes from which they are merged, 0 to 1.
        max_statements_for_prediction: how many known statements a new one is compared with, 1 to 100.
        enable_knowledge_dedup: whether a statement that restates a known one is left out.
        knowledge_dedup_threshold: cosine from which a statement may restate another, 0 to 1; values that differ never do.

    Raises:
        ConfigurationError: a value lies outside its range.
    """

    batch_threshold: int | None = None
    time_gap: timedelta = timedelta(minutes=30)
    enable_episode_merging: bool = True
    merge_similarity_threshold: float = 0.9
    max_statements_for_prediction: int = 10
    enable_knowledge_dedup: bool = True
    knowledge_dedup_threshold: float = 0.9

    def __post_init__(self) -> None:
        for name in ("merge_similarity_threshold", "knowledge_dedup_threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise ConfigurationError(f"{name} must be a number from 0 to 1, not {shown(value)}.")
        for name, least, most in (("batch_threshold", 1, 2**31), ("max_statements_for_prediction", 1, 100)):
            value = getattr(self, name)
            if name == "batch_threshold" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ConfigurationError(f"{name} must be a whole number from {least} to {most}, not {shown(value)}.")
        if not isinstance(self.time_gap, timedelta) or self.time_gap <= timedelta():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"time_gap must be a timedelta above zero, not {shown(self.time_gap)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """Settings of ``Memory.consolidate``.

    Attributes:
        importance_threshold: mean importance from which a cluster, or a memory alone, becomes long-term, 0 to 1.
        min_age_hours: younger memories are left in peace, at least 0.
        max_batch_size: seeds of one cycle, 1 to 10,000.
        buffer_threshold: short-term memories from which consolidation is advised, at least 0.
        similarity_threshold: cosine with the centre of a cluster from which a memory belongs to it, 0 to 1.
        min_cluster_size: members from which a cluster is one, at least 1.

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
        for name, most in (("importance_threshold", 1.0), ("similarity_threshold", 1.0), ("min_age_hours", 1e9)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise ConfigurationError(f"{name} must be a number from 0 to {most:g}, not {shown(value)}.")
        for name, least, most in (
            ("max_batch_size", 1, 10_000),
            ("buffer_threshold", 0, 2**31),
            ("min_cluster_size", 1, 100),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise ConfigurationError(f"{name} must be a whole number from {least} to {most}, not {shown(value)}.")
