"""Running the sequences of ``updates`` through the public API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.quality.updates import Sequence_
from mnemic.types import Hit

__all__ = ["between", "by_memory"]


def interval(values: Sequence[float]) -> list[float]:
    """95 % interval of the mean, in percent."""
    drawn = np.random.default_rng(0).choice(np.asarray(values, float), (2000, len(values))).mean(axis=1)
    return [round(100 * float(q), 1) for q in np.quantile(drawn, (0.025, 0.975))]


def share(values: Sequence[float]) -> float | None:
    return round(100 * float(np.mean(values)), 1) if len(values) else None


def right(hit: Hit | None, value: str, sequence: Sequence_) -> bool:
    """Whether a hit holds the value and comes from a message that gave it."""
    if hit is None or value.lower() not in hit.text.lower():
        return False
    told = {step.message.id for step in sequence.steps if step.value == value}
    return not hit.message_ids or bool(told & set(hit.message_ids))


def by_memory(made: Sequence[Sequence_], embedder: Any, *, show: bool = False) -> dict[str, Any]:
    """The figures of the public API: add, process, search now and at past dates, and what is still reachable."""
    from mnemic import Memory

    current: list[float] = []
    past: list[list[float]] = []
    by_name: dict[str, list[float]] = defaultdict(list)
    lost = unfound = values = 0
    for number, sequence in enumerate(made):
        with Memory(
            ":memory:", user=f"u{number}", embedder=embedder, secrets="allow"
        ) as memory:  # passwords are values here
            for step in sequence.steps:
                memory.add([step.message])
                memory.process()
            now = sequence.steps[-1].message.sent_at + timedelta(days=3)
            first = next(iter(memory.search(sequence.question, k=10, now=now)), None)
            value = sequence.changes[-1][1]
            current.append(float(right(first, value, sequence)))
            by_name[sequence.attribute].append(current[-1])
            if show and not current[-1]:
                print(
                    f"[now] {sequence.attribute}: {sequence.question} wants {value}, gives {first.text if first else None!r}"
                )
            past.append([_at(memory, sequence, moment, show=show) for moment in between(sequence)])
            everything = " ".join(m.content for m in memory.messages(limit=None)).lower()
            shown = " ".join(
                h.text for h in memory.search(sequence.question, k=50, now=now, include_expired=True)
            ).lower()
            for each in {value for _, value in sequence.changes}:
                values += 1
                unfound += each.lower() not in shown
                lost += each.lower() not in shown and each.lower() not in everything
    flat = [value for each in past for value in each]
    return {
        "sequences": len(made), "current": share(current), "current_interval": interval(current), "past": share(flat),
        "past_interval": interval([float(np.mean(each)) for each in past if each]), "past_questions": len(flat),
        "values": values, "lost": lost, "unfound": unfound,
        "by_attribute": {name: share(found) for name, found in by_name.items()},
    }  # fmt: skip


def between(sequence: Sequence_) -> list[datetime]:
    """The middle of each interval but the last."""
    moments = [moment for moment, _ in sequence.changes]
    return [a + (b - a) / 2 for a, b in pairwise(moments)]


def _at(memory: Any, sequence: Sequence_, moment: datetime, *, show: bool) -> float:
    now = sequence.steps[-1].message.sent_at + timedelta(days=3)
    first = next(iter(memory.search(sequence.question, k=10, at=moment, now=now)), None)
    value = sequence.at(moment)
    found = right(first, value, sequence)
    if show and not found:
        print(
            f"[{moment:%d %b}] {sequence.attribute}: {sequence.question} wants {value}, gives {first.text if first else None!r}"
        )
    return float(found)
