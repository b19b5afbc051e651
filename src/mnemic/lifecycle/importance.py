"""Importance: the current value of a memory, from its initial salience, use and emotion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.types import Emotion

__all__ = ["HALF_LIFE", "Importance", "importance", "importances"]

HALF_LIFE = timedelta(days=30)
"""Time without access in which recency is halved."""
DECAY_SHARE = 0.3
"""Share of the salience that decays with disuse."""
BOOSTS = {"frequency": 0.3, "arousal": 0.2}
"""Most that frequent access and strong emotion can add, as a share of the distance to 1."""
SATURATION = 50
"""Accesses that count as frequency 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """The components of a memory's importance, each 0 to 1, and the total.

    Attributes:
        salience: initial value, set at extraction.
        recency: 1 when just made or used, one half after a half-life without use.
        frequency: uses on a logarithmic scale: 0 for none, 1 for 50.
        arousal: emotional arousal times its confidence.
        pinned: whether ``total`` was set by hand; the other components are reported all the same.
        total: 0 to 1.
    """

    salience: float
    recency: float
    frequency: float
    arousal: float
    pinned: bool
    total: float


def _unit(what: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise InvalidInput(f"{what} must lie between 0 and 1, this one is {value!r}.")
    return float(value)


def importance(
    salience: float,
    *,
    idle: timedelta,
    accesses: int = 0,
    emotion: Emotion | None = None,
    pinned: float | None = None,
    half_life: timedelta = HALF_LIFE,
) -> Importance:
    """The current importance of a memory.

    ``kept = salience x (1 - .3 x (1 - recency))`` and ``total = kept + (1 - kept) x (.3 x frequency + .2 x arousal)``:
    disuse takes at most three tenths of the salience, use and emotion add at most half of the distance to 1. A new,
    unused memory has its salience. The total increases in every component, and recomputing it does not compound.

    Args:
        salience: set at extraction, 0 to 1.
        idle: time since it was last used or made; negative counts as 0.
        accesses: number of uses, at least 0.
        emotion: its emotion, if any; only arousal above 0 counts.
        pinned: importance set by hand, 0 to 1, which replaces the total.
        half_life: time without use in which recency is halved.

    Returns:
        The components and the total.

    Raises:
        InvalidInput: salience or pinned is not between 0 and 1, accesses is negative, or half_life is not positive.
    """
    if accesses < 0:
        raise InvalidInput(f"accesses counts uses and cannot be negative, this one is {accesses}.")
    if half_life <= timedelta():
        raise InvalidInput(f"half_life must be positive, this one is {half_life}.")
    kept = _unit("salience", salience)
    recency = 0.5 ** (max(idle, timedelta()) / half_life)
    frequency = min(math.log1p(accesses) / math.log1p(SATURATION), 1.0)
    arousal = min(max(emotion.arousal, 0.0), 1.0) * min(max(emotion.confidence, 0.0), 1.0) if emotion else 0.0
    kept *= 1 - DECAY_SHARE * (1 - recency)
    total = kept + (1 - kept) * (BOOSTS["frequency"] * frequency + BOOSTS["arousal"] * arousal)
    return Importance(
        salience=float(salience),
        recency=recency,
        frequency=frequency,
        arousal=arousal,
        pinned=pinned is not None,
        total=min(total, 1.0) if pinned is None else _unit("pinned", pinned),
    )


def importances(
    salience: NDArray[np.float64],
    idle: NDArray[np.float64],
    accesses: NDArray[np.int64],
    arousal: NDArray[np.float64],
    *,
    half_life: timedelta = HALF_LIFE,
) -> NDArray[np.float64]:
    """Vectorised totals of ``importance``, without pinning.

    Args:
        salience: (n,) set at extraction, 0 to 1.
        idle: (n,) seconds since last use or creation.
        accesses: (n,) numbers of uses.
        arousal: (n,) arousal times its confidence.
        half_life: time without use in which recency is halved.

    Returns:
        (n,) totals, 0 to 1.
    """
    recency = np.exp2(-np.maximum(idle, 0.0) / half_life.total_seconds())
    frequency = np.minimum(np.log1p(accesses) / math.log1p(SATURATION), 1.0)
    kept = salience * (1 - DECAY_SHARE * (1 - recency))
    boost = BOOSTS["frequency"] * frequency + BOOSTS["arousal"] * np.clip(arousal, 0.0, 1.0)
    return np.minimum(kept + (1 - kept) * boost, 1.0)
