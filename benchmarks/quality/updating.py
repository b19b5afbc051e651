"""Running the sequences of ``updates``: through the public API, or through the resolver alone."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.quality.updates import START, Sequence_, Step
from mnemic.extraction.resolving import resolve
from mnemic.extraction.statements import statements
from mnemic.types import Hit, MemoryRecord

__all__ = ["between", "by_memory", "by_rules"]

NEIGHBOURS = 10


def interval(values: Sequence[float]) -> list[float]:
    """95 % interval of the mean, in percent."""
    drawn = np.random.default_rng(0).choice(np.asarray(values, float), (2000, len(values))).mean(axis=1)
    return [round(100 * float(q), 1) for q in np.quantile(drawn, (0.025, 0.975))]


def share(values: Sequence[float]) -> float | None:
    return round(100 * float(np.mean(values)), 1) if len(values) else None


# Through the public API


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


# Through the resolver alone


@dataclass(slots=True)
class _Held:
    """What has been resolved so far: records, their vectors, and the step each comes from."""

    records: list[MemoryRecord]
    vectors: list[np.ndarray]
    steps: list[Step]


def _resolved(steps: Sequence[Step], vectors: np.ndarray, *, show: bool = False) -> _Held:
    held = _Held([], [], [])
    for at, step in enumerate(steps):
        _store(held, step, vectors[at], show=show)
    return held


def _store(held: _Held, step: Step, vector: np.ndarray, *, show: bool) -> None:
    """Resolve one message against its nearest neighbours, and do what the resolver says."""
    said = step.message.sent_at or START
    near = np.argsort(-(np.stack(held.vectors) @ vector))[:NEIGHBOURS] if held.vectors else []
    known = [held.records[n] for n in near]
    found = resolve(
        step.message.content, said, vector, known, np.stack([held.vectors[n] for n in near]) if known else None
    )
    if show and found.outcome != "new":
        print(f"    {found.outcome} {step.message.content!r}: {found.reason}")
    places = {record.id: n for n, record in enumerate(held.records)}
    if found.outcome == "duplicate":
        for id_ in found.of:  # said again: it was true until now at least
            record = held.records[places[id_]]
            if record.valid_at is not None and record.valid_at < said:
                held.records[places[id_]] = replace(record, valid_at=said)
        return
    if found.outcome == "update":
        for id_ in found.of:
            held.records[places[id_]] = replace(held.records[places[id_]], invalid_at=said, expired_at=said)
    closed = said if found.outcome == "outdated" else None
    held.records.append(
        MemoryRecord(id=f"r{len(held.records)}", content=step.message.content, valid_at=said, created_at=said, updated_at=said,
                     expired_at=closed, source_ids=(step.message.id or "",))
    )  # fmt: skip
    held.vectors.append(vector)
    held.steps.append(step)


def told(step: Step) -> Step:
    """The step with the statement that is made of its message; as it was said when none is."""
    made = statements([step.message])
    return replace(step, message=replace(step.message, content=made[0].text)) if made else step


def by_rules(made: Sequence[Sequence_], embedder: Any, *, show: bool = False) -> dict[str, Any]:
    """The figures of the resolver alone: what it closed and what it left open."""
    open_, clean, shuffled, closed, wrong = [], [], [], [], []
    by_name: dict[str, list[float]] = defaultdict(list)
    for number, sequence in enumerate(made):
        steps = [told(step) for step in sequence.steps if step.message.role == "user"]
        vectors = embedder.embed([step.message.content for step in steps])
        held = _resolved(steps, vectors)
        value = sequence.changes[-1][1]
        live = [s.value for r, s in zip(held.records, held.steps, strict=True) if r.expired_at is None and s.value]
        open_.append(float(value in live))
        clean.append(float(value in live and set(live) == {value}))
        by_name[sequence.attribute].append(clean[-1])
        old = [
            r.expired_at is not None
            for r, s in zip(held.records, held.steps, strict=True)
            if s.value and s.value != value
        ]
        closed += [float(each) for each in old]
        wrong += [
            float(r.expired_at is not None) for r, s in zip(held.records, held.steps, strict=True) if s.value is None
        ]
        if show and (
            not clean[-1]
            or any(r.expired_at and s.value is None for r, s in zip(held.records, held.steps, strict=True))
        ):
            print(f"[{sequence.attribute}] wants {value}, open: "
                  f"{[r.content for r, s in zip(held.records, held.steps, strict=True) if r.expired_at is None and s.value]}")  # fmt: skip
            _resolved(steps, vectors, show=True)
        order = random.Random(number).sample(range(len(steps)), len(steps))
        mixed = _resolved([steps[n] for n in order], vectors[order])
        live = [s.value for r, s in zip(mixed.records, mixed.steps, strict=True) if r.expired_at is None and s.value]
        shuffled.append(float(set(live) == {value}))
    return {
        "sequences": len(made), "rules.current_open": share(open_), "rules.old_closed": share(closed), "rules.clean": share(clean),
        "rules.clean_interval": interval(clean), "rules.shuffled_clean": share(shuffled), "rules.wrongly_closed": share(wrong),
        "by_attribute": {name: share(found) for name, found in by_name.items()},
    }  # fmt: skip
