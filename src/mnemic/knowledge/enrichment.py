"""What remembered statements get after their receipt: summary, keywords, tags, category, files and entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import Conflict, NotFound
from mnemic.knowledge.candidates import described
from mnemic.knowledge.links import Proposed, propose_links
from mnemic.knowledge.reconciliation import link_changes, said_when
from mnemic.knowledge.snapshot import Neighbours, Snapshot
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import now
from mnemic.types import Change, Indexing, MemoryRecord, Revise, Scope

if TYPE_CHECKING:
    from mnemic.llm import enrichment

__all__ = ["enrich_pending"]

BATCH = 60
NEAREST = 10
"""Memories that another one may be linked to."""
CANDIDATES, LIKE = 4, 0.6
"""How many of them a language model is asked about, and how like it they are at least, as a cosine."""


def enrich_pending(
    runtime: Runtime,
    consultant: Consultant,
    scope: Scope,
    zone: tzinfo,
    *,
    limit: int | None = None,
    halted: Callable[[], bool] = lambda: False,
    already: Collection[str] = (),
) -> int:
    """Enrich the memories that wait for it now, at most ``limit`` of them; returns how many were.

    ``already`` holds the ids of what the language model described when it found it: that is only linked. What is remembered
    meanwhile waits for the next call, so that this one ends however much others write.
    """
    done = 0
    waiting = runtime.store.knowledge.pending(scope.user, "enrich")[:limit]
    for start in range(0, len(waiting), BATCH):
        if halted():
            break
        found = runtime.store.knowledge.records(scope.user, waiting[start : start + BATCH]).values()
        batch = [record for record in found if isinstance(record, MemoryRecord) and record.status != "archived"]
        try:
            done += _enrich(runtime, consultant, scope, zone, batch, already)
        except (Conflict, NotFound):  # one was erased meanwhile: the others wait for the next call
            continue
    return done


def _enrich(
    runtime: Runtime,
    consultant: Consultant,
    scope: Scope,
    zone: tzinfo,
    batch: Sequence[MemoryRecord],
    already: Collection[str],
) -> int:
    """Enrich a few memories; returns how many are better than they were."""
    moment = now().astimezone(zone)
    left = [place for place, record in enumerate(batch) if record.id not in already]
    asked = dict(zip(left, _described(consultant, [batch[place] for place in left]), strict=True))
    pairs = [asked.get(place, (record, True)) for place, record in enumerate(batch)]
    records = [replace(record, version=record.version + 1, updated_at=moment) for record, _ in pairs]
    embedder = runtime.indexer.embedder
    indexing = runtime.indexer.indexing(records, embedder)
    changes: list[Change] = [
        Revise(
            record=record,
            indexing=index,
            operation="enrich",
            left=not done,
            weighs=(record.importance, record.salience) != (before.importance, before.salience),
        )
        for record, index, before, (_, done) in zip(records, indexing, batch, pairs, strict=True)
        if index.vector is not None and (done or not before.keywords)  # else nothing is better than it was
    ]
    if not changes:
        return 0
    kept = {change.record.id for change in changes if isinstance(change, Revise)}
    linkable = [(r, i) for r, i in zip(records, indexing, strict=True) if r.id in kept]
    changes += _linked(runtime, consultant, scope.user, linkable)
    receipts = runtime.store.apply(scope.user, changes, model=embedder.id)
    return sum(receipt.outcome == "stored" for receipt in receipts[: len(kept)])


def _linked(
    runtime: Runtime, consultant: Consultant, user: str, described: Sequence[tuple[MemoryRecord, Indexing]]
) -> list[Change]:
    """Links of memories to those they resemble: as the language model sees it, else by rule."""
    known: dict[str | None, Snapshot] = {}
    fresh = {record.id: record for record, _ in described}
    asked: list[tuple[MemoryRecord, Neighbours]] = []
    for record, index in described:
        if record.session is None and index.vector is not None:
            if record.project not in known:
                known[record.project] = Snapshot(runtime, user, record.project)
            others, cosines = _resembling(record, index.vector, known[record.project])
            if others:
                asked.append((record, ([fresh.get(other.id, other) for other in others], cosines)))
    answers = _judged(consultant, [(record, _alike(near)) for record, near in asked])
    changes: list[Change] = []
    for (record, near), answer in zip(asked, answers, strict=True):
        proposed = propose_links(record, *near) if answer is None else answer
        changes += link_changes(record, proposed, {other.id: other for other in near[0]})
    return changes


def _resembling(record: MemoryRecord, vector: NDArray[np.float32], known: Snapshot) -> Neighbours:
    """The believed memories nearest to one that were not said after it."""
    others, cosines = known.near(vector, NEAREST + 1)
    if cosines is None:
        return [], None
    places = [
        place
        for place, other in enumerate(others)
        if other.id != record.id and other.expired_at is None and said_when(other) <= said_when(record)
    ]
    return [others[place] for place in places], cosines[places]


def _alike(near: Neighbours) -> list[MemoryRecord]:
    """Those of them that are worth a question."""
    others, cosines = near
    if cosines is None:
        return []
    return [other for other, cosine in zip(others, cosines, strict=True) if cosine >= LIKE][:CANDIDATES]


def _judged(
    consultant: Consultant, pairs: Sequence[tuple[MemoryRecord, Sequence[MemoryRecord]]]
) -> list[list[Proposed] | None]:
    """What the language model says of memories and their candidates; None where there is none, or no answer."""
    found: list[list[Proposed] | None] = [None] * len(pairs)
    if not consultant.available:
        return found
    from mnemic.llm import links

    parts = _parts([place for place, (_, others) in enumerate(pairs) if others], pairs, links.MOST_MEMORIES)
    answers = consultant.ask_all([lambda p=part: links.task([pairs[place] for place in p]) for part in parts])
    for part, answer in zip(parts, answers, strict=True):
        if answer is None:
            continue
        for number, place in enumerate(part):
            found[place] = [
                Proposed(
                    target=pairs[place][1][link.candidate].id,
                    type=link.type,
                    strength=link.strength,
                    reason=link.reason,
                )
                for link in answer.links
                if link.memory == number
            ]
    return found


def _parts(
    places: Sequence[int], pairs: Sequence[tuple[MemoryRecord, Sequence[MemoryRecord]]], most: int
) -> list[list[int]]:
    """Places of memories that are asked about together: never those that are trusted with those that are not."""
    kinds = ([p for p in places if is_trusted(pairs[p][0].trust) == trusted] for trusted in (True, False))
    return [kind[start : start + most] for kind in kinds for start in range(0, len(kind), most)]


def _described(consultant: Consultant, records: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, bool]]:
    """Memories with what describes them, and whether it is by whom it should be: the language model, if there is one."""
    if not consultant.available:
        return [(described(record), True) for record in records]
    from mnemic.llm import enrichment

    most = enrichment.MOST_MEMORIES
    order = sorted(range(len(records)), key=lambda place: not is_trusted(records[place].trust))
    first = sum(is_trusted(record.trust) for record in records)  # never in one question with those that are not
    ends = [*range(0, first, most), *range(first, len(records), most), len(records)]
    parts = [[records[place] for place in order[a:b]] for a, b in pairwise(ends)]
    answers = consultant.ask_all([lambda p=part: enrichment.task(p) for part in parts])
    found: list[tuple[MemoryRecord, bool]] = []
    for part, answer in zip(parts, answers, strict=True):
        items = [None] * len(part) if answer is None else answer.items
        for record, item in zip(part, items, strict=True):
            found.append((described(record) if item is None else _with(record, item), answer is not None))
    return [one for _, one in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]


def _with(record: MemoryRecord, found: enrichment.Enrichment) -> MemoryRecord:
    """A memory with what the language model says of it; what its author gave stays."""
    return replace(
        record, summary=found.summary or record.summary, keywords=found.keywords or record.keywords,
        tags=record.tags or found.tags, category=record.category or found.category,
        importance=record.importance if record.pinned else found.importance,
        salience=record.salience if record.pinned else found.importance,
        confidence=min(record.confidence, found.confidence),
        related_files=found.related_files or record.related_files,
        related_entities=found.related_entities or record.related_entities,
    )  # fmt: skip
