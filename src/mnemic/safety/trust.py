"""Trust, set by the source of a text and at most that of its sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class SourceQuota:
    """Limits the share of each untrusted source in a list of hits.

    Each source may have its share of ten hits at once, and one more whenever the list has grown enough, so that a
    longer list begins with the shorter one.

    Attributes:
        share: largest share of one source, 0 to 1; 1 is no limit.
    """

    share: float = UNTRUSTED_SHARE
    _admitted: Counter[str] = field(default_factory=Counter[str])

    def admits(self, source: str | None, through: int) -> bool:
        """Whether a hit may follow so many others; the source of trusted hits is None."""
        if source is None or self.share >= 1.0:
            return True
        return self._admitted[source] < max(round(self.share * 10), int(self.share * (through + 1)))

    def count(self, source: str | None) -> None:
        """Count an admitted hit of a source."""
        if source is not None:
            self._admitted[source] += 1
