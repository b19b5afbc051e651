"""Follow-ups: "and the second step?" says nothing alone. Its vector takes in those of the turns before it.

The less a query says itself, the more the turns count: their weight falls with the square of its content terms. Nothing of it
is fitted to a source: the two constants were set on follow-ups written for the purpose, and held against questions that
stand alone, asked after turns on other matters (``python -m benchmarks.quality.followups``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["TURNS", "share_of_turns", "with_turns"]

Floats = NDArray[np.float32]

TURNS = 4
"""How many of the last turns count."""
_MOST, _FADES = 1.2, 0.7
"""What the turns count beside a query of one term, and what each counts of the one after it."""
_LEAST = 0.02


def share_of_turns(terms: int) -> float:
    """What the turns count beside a query with so many content terms, 0 to 1.2; 0 where it would change nothing."""
    weight = _MOST / max(terms, 1) ** 2
    return weight if weight >= _LEAST else 0.0


def with_turns(query: Floats, turns: Sequence[Floats], weight: float) -> Floats:
    """A query's unit vector with those of the turns before it, oldest first, as a unit vector."""
    faded = [_FADES**age * turn for age, turn in enumerate(reversed(turns))]
    before = np.sum(faded, axis=0)
    mixed = query + np.float32(weight) * before / np.float32(max(float(np.linalg.norm(before)), 1e-9))
    return (mixed / np.float32(max(float(np.linalg.norm(mixed)), 1e-9))).astype(np.float32)
