"""Usage counters by task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mnemic.types import StageUsage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Ledger"]


class Ledger:
    """Counts by stage; written by the background loop's thread, read by any."""

    def __init__(self) -> None:
        self._stages: dict[str, StageUsage] = {}

    def add(self, stage: str, **counts: float) -> None:
        """Add to the counts of a stage; the keywords are fields of StageUsage."""
        before = self._stages.get(stage, StageUsage())
        total: dict[str, Any] = {name: getattr(before, name) + count for name, count in counts.items()}
        self._stages[stage] = replace(before, **total)

    def view(self) -> Mapping[str, StageUsage]:
        """The counts as they are now."""
        return dict(self._stages)
