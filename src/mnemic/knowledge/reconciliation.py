"""Reconciliation: what a new memory means for what is known, for ``remember`` and ``process`` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge.supersession import replaced_value
from mnemic.text.clock import aware
from mnemic.text.differs import differs
from mnemic.text.terms import content_terms
from mnemic.types import MemoryRecord, MemoryType

__all__ = ["Outcome", "Resolution", "reconcile", "said_when", "salience", "since"]

Outcome: TypeAlias = Literal["new", "duplicate", "update", "outdated", "contradiction"]

LEAST, SPAN = 0.2, 0.4
"""Salience of an event that is worth nothing, and what it gains when it is sure to be noted."""
LASTING: Mapping[MemoryType, float] = {"procedural": 0.25, "semantic": 0.1, "emotional": 0.1, "episodic": 0.0}
"""What a memory gains by its type."""
KNOWN = 0.3
"""The share of salience that a memory loses of which everything was known."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is to be done with a new memory.

    Attributes:
        outcome: ``new``: store it. ``duplicate``: it says what those in ``of`` say; drop it. ``update``: store it, and end
            those in ``of``. ``outdated``: store it as ended by the one in ``of``, which was said later. ``contradiction``:
            store it, linked to those in ``of``.
        of: ids of the known memories it concerns.
        shortens: with ``outdated``: ids of those that end when this one begins, not later.
        novelty: 0 to 1, how little of it was known: the prediction error.
        reason: why, for the history and for people.
    """

    outcome: Outcome
    of: tuple[str, ...] = ()
    shortens: tuple[str, ...] = ()
    novelty: float = 1.0
    reason: str = ""


def salience(worth: float, type: MemoryType, novelty: float = 1.0) -> float:
    """How much a memory deserves to be kept, judged once, when it is made.

    Args:
        worth: 0 to 1, the probability that a person would note it.
        type: a rule is of use for longer than a fact or a feeling, and these for longer than one event.
        novelty: 0 to 1, how little of it was known.

    Returns:
        .14 to .85.
    """
    return round((LEAST + SPAN * worth + LASTING[type]) * (1 - KNOWN * (1 - novelty)), 3)


def said_when(record: MemoryRecord) -> datetime:
    """When a memory was said: the time it names, else since when it is true, else when it was stored."""
    return aware(record.said_at or record.valid_at or record.created_at, UTC)


def since(record: MemoryRecord) -> datetime:
    """Since when a memory is true: from the time it names, else since it was said."""
    return aware(record.valid_at or record.said_at or record.created_at, UTC)


def reconcile(
    record: MemoryRecord,
    known: Sequence[MemoryRecord],
    cosines: NDArray[np.float64] | None,
    *,
    threshold: float | None = None,
) -> Resolution:
    """Decide what a new memory means for what is known.

    A value under the same key replaces the earlier one. Else only what two statements of one speaker say decides: see
    ``supersession``.

    Args:
        record: the new memory.
        known: believed or ended memories that may be about the same: the nearest, and those of the same key.
        cosines: with each of them, shape (len(known),), or None.
        threshold: cosine from which a statement that differs in nothing repeats another; None: repetitions are not looked for.
    """
    error = _novelty(record, known, cosines)
    near = [1.0] * len(known) if cosines is None else cosines.tolist()
    if record.key is None and threshold is not None:
        again = [o.id for o, cosine in zip(known, near, strict=True) if cosine >= threshold and _repeats(record, o)]
        if again:
            return Resolution("duplicate", tuple(again), novelty=min(error, 1 - threshold), reason="said before")
    related = [(other, why) for other in known if (why := _replaces(record, other))]
    earlier = [other for other, _ in related if said_when(other) <= said_when(record)]
    if later := [one for one in related if said_when(one[0]) > said_when(record)]:
        other, why = min(later, key=lambda one: said_when(one[0]))
        shorter = tuple(one.id for one in earlier)
        return Resolution("outdated", (other.id,), shorter, error, f"{why}, and that was said later")
    if live := [(other, why) for other, why in related if other.expired_at is None]:
        return Resolution("update", tuple(other.id for other, _ in live), novelty=error, reason=live[0][1])
    return Resolution("new", novelty=error, reason="nothing known says it or gives it another value")


def _one_key(record: MemoryRecord, other: MemoryRecord) -> bool:
    return record.key is not None and record.key == other.key


def _replaces(record: MemoryRecord, other: MemoryRecord) -> str:
    """Why one of two memories takes the place of the other, whichever was said first; empty where neither does."""
    if record.key is not None or other.key is not None:
        return f"the same key, {record.key}" if _one_key(record, other) else ""
    if record.speaker != other.speaker:
        return ""
    last, first = (record, other) if said_when(record) >= said_when(other) else (other, record)
    value = replaced_value(last.content, first.content)
    return f"it replaces {value}" if value else ""


def _repeats(record: MemoryRecord, other: MemoryRecord) -> bool:
    if other.expired_at is not None and said_when(other) != said_when(record):
        return False  # it was over, and holds again
    return record.speaker == other.speaker and differs(record.content, other.content) is None


def _novelty(record: MemoryRecord, known: Sequence[MemoryRecord], cosines: NDArray[np.float64] | None) -> float:
    """The share of a memory that what is known did not foretell: by meaning, and without vectors by words."""
    if cosines is not None and len(cosines):
        return float(np.clip(1 - cosines.max(), 0, 1))
    terms = set(content_terms(record.content))
    shares = (len(terms & set(content_terms(other.content))) / len(terms) for other in known if terms)
    return 1 - max(shares, default=0.0)
