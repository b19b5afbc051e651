"""Trust, set by the source of a text and at most that of its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mnemic.types import Source
from mnemic.types.literals import UNTRUSTED

TRUST_OF_SOURCE: Mapping[Source, float] = {
    "direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3,
}  # fmt: skip
"""Default trust by source."""

REPEATED_TRUST = TRUST_OF_SOURCE["tool_external"]
"""Most trust of a text that repeats untrusted text."""

UNTRUSTED_SHARE = 0.3
"""Largest share of the hits of a search from one untrusted source."""


def is_trusted(trust: float | None) -> bool:
    """Whether a text is trusted; a message without a trust value is."""
    return trust is None or trust >= UNTRUSTED


def least_trust(trusts: Iterable[float | None]) -> float:
    """The trust of a text derived from several: the minimum; 1 for none."""
    return min((trust for trust in trusts if trust is not None), default=1.0)
