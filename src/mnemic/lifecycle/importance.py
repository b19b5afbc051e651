"""Importance: what a memory is worth now, from what it was worth when it was made and what became of it since."""

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
"""Time without access in which recency falls to one half."""
FADES = 0.3
"""Share of the salience that disuse can take away; the rest stays for good."""
LIFTS = {"frequency": 0.3, "arousal": 0.2}
"""Share of what is missing to 1 that frequent access, and strong feeling, can add."""
SATURATES = 50
"""Accesses that count as frequency 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """The parts of a memory's importance, each 0 to 1, and what they come to.

    Attributes:
        salience: what it was worth when it was extracted; frozen.
        recency: 1 when it was just made or used, one half after a half-life without use.
        frequency: how often it was used, on a logarithmic scale: 0 for never, 1 for 50 times.
        arousal: how strongly it stirred, weighted by the confidence of that.
        pinned: whether somebody set ``total`` by hand; the parts are shown all the same.
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
    """What a memory is worth now.

    ``kept = salience x (1 - .3 x (1 - recency))`` and ``total = kept + (1 - kept) x (.3 x frequency + .2 x arousal)``: disuse
    takes at most three tenths of the salience, use and feeling add at most half of what is missing to 1. A new memory
    that was never used is worth its salience. Every part raises the total or leaves it; recomputing it compounds nothing.

    Args:
        salience: frozen at extraction, 0 to 1.
        idle: time since it was last used, or made when it never was; less than nothing, by a clock set back, counts as nothing.
        accesses: how often it was found and used, at least 0.
        emotion: its feeling, if it has one; only arousal above 0 counts.
        pinned: the importance that somebody set by hand, 0 to 1; it stays.
        half_life: time without use in which recency falls to one half.

    Returns:
        The parts and the total.

    Raises:
        InvalidInput: salience or pinned is not between 0 and 1, accesses is negative, or half_life is not positive.
    """
    if accesses < 0:
        raise InvalidInput(f"accesses counts uses and cannot be negative, this one is {accesses}.")
    if half_life <= timedelta():
        raise InvalidInput(f"half_life must be longer than nothing, this one is {half_life}.")
    kept = _unit("salience", salience)
    recency = 0.5 ** (max(idle, timedelta()) / half_life)
    frequency = min(math.log1p(accesses) / math.log1p(SATURATES), 1.0)
    arousal = min(max(emotion.arousal, 0.0), 1.0) * min(max(emotion.confidence, 0.0), 1.0) if emotion else 0.0
    kept *= 1 - FADES * (1 - recency)
    total = kept + (1 - kept) * (LIFTS["frequency"] * frequency + LIFTS["arousal"] * arousal)
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
    """What many memories are worth now: the total of ``importance`` for each, none of them pinned.

    Args:
        salience: (n,) frozen at extraction, 0 to 1.
        idle: (n,) seconds since each was last used or made.
        accesses: (n,) how often each was used.
        arousal: (n,) arousal times its confidence.
        half_life: time without use in which recency falls to one half.

    Returns:
        (n,) totals, 0 to 1.
    """
    recency = np.exp2(-np.maximum(idle, 0.0) / half_life.total_seconds())
    frequency = np.minimum(np.log1p(accesses) / math.log1p(SATURATES), 1.0)
    kept = salience * (1 - FADES * (1 - recency))
    lifted = LIFTS["frequency"] * frequency + LIFTS["arousal"] * np.clip(arousal, 0.0, 1.0)
    return np.minimum(kept + (1 - kept) * lifted, 1.0)
