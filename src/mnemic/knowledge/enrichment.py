"""Enrichment of stored memories: summary, context, keywords, tags, category, files, entities and links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import Conflict, NotFound
from mnemic.knowledge.candidates import Neighbours, Snapshot, ruled_fields, with_description
from mnemic.knowledge.links import ProposedLink, propose_links
from mnemic.knowledge.reconciliation import link_changes, time_said
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted
from mnemic.text.values import now
from mnemic.types import Change, Indexing, MemoryRecord, Revise, Scope

if TYPE_CHECKING:
    from mnemic.llm import enrichment

BATCH = 60
NEAREST = 10
"""Nearest memories considered for links."""
CANDIDATES, MIN_COSINE = 4, 0.6
"""Most candidates shown to a language model, and their least cosine."""


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
    """Enrich waiting memories, at most ``limit``; returns the number enriched.

    Ids in ``already`` were described by the language model during extraction and are only linked. Memories stored
    meanwhile wait for the next call, so that this one always ends.
    """
    done = 0
    waiting = runtime.store.knowledge.pending(scope.user, "enrich")[:limit]
    for start in range(0, len(waiting), BATCH):
        if halted():
            break
        records = runtime.store.knowledge.records(scope.user, waiting[start : start + BATCH]).values()
        batch = [record for record in records if isinstance(record, MemoryRecord) and record.status != "archived"]
        try:
            done += _enrich(runtime, consultant, scope, zone, batch, already)
        except (Conflict, NotFound):  # one was erased meanwhile: the batch waits for the next call
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
    """Enrich a batch; returns the number of memories improved."""
    moment = now().astimezone(zone)
    undescribed = [record for record in batch if record.id not in already]
    described = dict(zip((r.id for r in undescribed), _describe_batch(consultant, undescribed), strict=True))
    pairs = [described.get(record.id, (record, True)) for record in batch]
    records = [replace(record, version=record.version + 1, updated_at=moment) for record, _ in pairs]
    embedder = runtime.indexer.embedder
    indexing = runtime.indexer.indexing(records, embedder)
    changes: list[Change] = [
        Revise(record=record, indexing=index, operation="enrich", left=not done)
        for record, index, before, (_, done) in zip(records, indexing, batch, pairs, strict=True)
        if index.vector is not None and (done or not before.keywords)  # else nothing improves
    ]
    if not changes:
        return 0
    improved = {change.record.id for change in changes if isinstance(change, Revise)}
    linkable = [(r, i) for r, i in zip(records, indexing, strict=True) if r.id in improved]
    changes += _batch_link_changes(runtime, consultant, scope.user, linkable)
    receipts = runtime.store.apply(scope.user, changes, model=embedder.id)
    return sum(receipt.outcome == "stored" for receipt in receipts[: len(improved)])


def _batch_link_changes(
    runtime: Runtime, consultant: Consultant, user: str, batch: Sequence[tuple[MemoryRecord, Indexing]]
) -> list[Change]:
    """Links to similar memories, by the language model or else by rule."""
    snapshots: dict[str | None, Snapshot] = {}
    fresh = {record.id: record for record, _ in batch}
    linkable: list[tuple[MemoryRecord, Neighbours]] = []
    for record, index in batch:
        if record.session is None and index.vector is not None:
            if record.project not in snapshots:
                snapshots[record.project] = Snapshot(runtime, user, record.project)
            others, cosines = _nearest_earlier(record, index.vector, snapshots[record.project])
            if others:
                linkable.append((record, ([fresh.get(other.id, other) for other in others], cosines)))
    answers = _ask_links(consultant, [(record, _link_candidates(nearest)) for record, nearest in linkable])
    changes: list[Change] = []
    for (record, nearest), answer in zip(linkable, answers, strict=True):
        proposed = propose_links(record, *nearest) if answer is None else answer
        changes += link_changes(record, proposed, {other.id: other for other in nearest[0]})
    return changes


def _nearest_earlier(record: MemoryRecord, vector: NDArray[np.float32], snapshot: Snapshot) -> Neighbours:
    """The nearest believed memories that were not said later."""
    others, cosines = snapshot.nearest(vector, NEAREST + 1)
    if cosines is None:
        return [], None
    indexes = [
        index
        for index, other in enumerate(others)
        if other.id != record.id and other.expired_at is None and time_said(other) <= time_said(record)
    ]
    return [others[index] for index in indexes], cosines[indexes]


def _link_candidates(nearest: Neighbours) -> list[MemoryRecord]:
    """The neighbours near enough to ask the language model about."""
    others, cosines = nearest
    if cosines is None:
        return []
    return [other for other, cosine in zip(others, cosines, strict=True) if cosine >= MIN_COSINE][:CANDIDATES]


def _ask_links(
    consultant: Consultant, pairs: Sequence[tuple[MemoryRecord, Sequence[MemoryRecord]]]
) -> list[list[ProposedLink] | None]:
    """Links proposed by the language model for each memory; None without a model or an answer."""
    proposals: list[list[ProposedLink] | None] = [None] * len(pairs)
    if not consultant.available:
        return proposals
    from mnemic.llm import links

    parts = _prompt_groups([index for index, (_, others) in enumerate(pairs) if others], pairs, links.MOST_MEMORIES)
    answers = consultant.ask_all([lambda p=part: links.task([pairs[index] for index in p]) for part in parts])
    for part, answer in zip(parts, answers, strict=True):
        if answer is None:
            continue
        for number, index in enumerate(part):
            proposals[index] = [
                ProposedLink(
                    target=pairs[index][1][link.candidate].id,
                    type=link.type,
                    strength=link.strength,
                    reason=link.reason,
                )
                for link in answer
                if link.memory == number
            ]
    return proposals


def _prompt_groups(
    indexes: Sequence[int], pairs: Sequence[tuple[MemoryRecord, Sequence[MemoryRecord]]], most: int
) -> list[list[int]]:
    """Group memories into prompts, trusted and untrusted ones apart."""
    kinds = ([index for index in indexes if is_trusted(pairs[index][0].trust) == trusted] for trusted in (True, False))
    return [kind[start : start + most] for kind in kinds for start in range(0, len(kind), most)]


def _describe_batch(consultant: Consultant, records: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, bool]]:
    """Described memories, and whether the description is final: by the language model if there is one."""
    if not consultant.available:
        return [(with_description(record), True) for record in records]
    from mnemic.llm import enrichment

    most = enrichment.MOST_MEMORIES
    order = sorted(range(len(records)), key=lambda index: not is_trusted(records[index].trust))
    first = sum(is_trusted(record.trust) for record in records)  # trusted and untrusted memories never share a prompt
    ends = [*range(0, first, most), *range(first, len(records), most), len(records)]
    parts = [[records[index] for index in order[a:b]] for a, b in pairwise(ends)]
    answers = consultant.ask_all([lambda p=part: enrichment.task(p) for part in parts])
    described: list[tuple[MemoryRecord, bool]] = []
    for part, answer in zip(parts, answers, strict=True):
        items = [None] * len(part) if answer is None else answer
        for record, item in zip(part, items, strict=True):
            described.append(
                (with_description(record) if item is None else _with_enrichment(record, item), answer is not None)
            )
    return [result for _, result in sorted(zip(order, described, strict=True), key=lambda pair: pair[0])]


def _with_enrichment(record: MemoryRecord, description: enrichment.Enrichment) -> MemoryRecord:
    """Apply the language model's description; fields set by the author are kept, those set by rule are not."""
    ruled = ruled_fields(record)
    text: dict[str, Any] = {
        name: getattr(description, name) or getattr(record, name)
        for name in ("summary", "context", "keywords", "category", "related_files", "related_entities")
        if name in ruled or not getattr(record, name)
    }
    return replace(
        record, **text, tags=record.tags or description.tags,
        importance=record.importance if record.pinned else description.importance,
        salience=record.salience if record.pinned else description.importance,
        confidence=min(record.confidence, description.confidence),
    )  # fmt: skip
