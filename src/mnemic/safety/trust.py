"""How far a text is believed: by where it comes from, and never more than what it was made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mnemic.types import Source
from mnemic.types.literals import UNTRUSTED

__all__ = ["REPEATED", "SHARE", "TRUST_OF_SOURCE", "UNTRUSTED", "Turnstile", "is_trusted", "least"]

TRUST_OF_SOURCE: Mapping[Source, float] = {
    "direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3,
}  # fmt: skip
"""Trust of a text whose source says nothing else."""

REPEATED = TRUST_OF_SOURCE["tool_external"]
"""The most trust that a text has which repeats what was shown as not trusted."""

SHARE = 0.3
"""Of the hits of a search, the part that one untrusted source may have."""


def is_trusted(trust: float | None) -> bool:
    """Whether a text is believed; a message that says nothing of it is."""
    return trust is None or trust >= UNTRUSTED


def least(trusts: Iterable[float | None]) -> float:
    """The trust of what is made of several texts: the least of theirs; 1 of nothing."""
    return min((trust for trust in trusts if trust is not None), default=1.0)


@dataclass(slots=True)
class Turnstile:
    """Lets hits through in order, of each untrusted source no more than its share of those that are through.

    So many as the share makes of ten go through at once, and one more whenever the list has grown enough: a longer list
    begins with the shorter one.

    Attributes:
        share: the part that one source may have, 0 to 1; 1 lets all through.
    """

    share: float = SHARE
    _passed: Counter[str] = field(default_factory=Counter[str])

    def lets(self, source: str | None, through: int) -> bool:
        """Whether a hit of a source may follow so many others; None is a source that is trusted."""
        if source is None or self.share >= 1.0:
            return True
        return self._passed[source] < max(round(self.share * 10), int(self.share * (through + 1)))

    def passed(self, source: str | None) -> None:
        """One more of a source is through."""
        if source is not None:
            self._passed[source] += 1
