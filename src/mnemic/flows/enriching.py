"""What remembered statements get after their receipt: summary, keywords, tags, category, files and entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from mnemic.extraction.salience import salience
from mnemic.flows.consulting import Consultant
from mnemic.flows.engine import Engine
from mnemic.flows.learning import enriched, slots_of
from mnemic.text.clock import now
from mnemic.types import Change, MemoryRecord, Revise, Scope

if TYPE_CHECKING:
    from mnemic.llm import enriching

__all__ = ["enrich_pending"]

BATCH = 60
UNJUDGED = 0.5
"""Salience of a memory that nobody has weighed."""


def enrich_pending(engine: Engine, consultant: Consultant, scope: Scope, zone: tzinfo) -> int:
    """Enrich the memories that wait for it; returns how many were."""
    done = 0
    seen: set[str] = set()
    while batch := [
        r for r in engine.store.knowledge.left(scope.user, "enrich", BATCH + len(seen)) if r.id not in seen
    ]:
        seen |= {record.id for record in batch}
        moment = now().astimezone(zone)
        described = _described(consultant, batch)
        records = [replace(record, version=record.version + 1, updated_at=moment) for record, _ in described]
        embedder = engine.embedder
        indexing = engine.indexing(records, embedder)
        changes: list[Change] = [
            Revise(
                record=record,
                indexing=replace(index, slots=slots_of(record.content)),
                operation="enrich",
                left=not done_,
            )
            for record, index, before, (_, done_) in zip(records, indexing, batch, described, strict=True)
            if index.vector is not None and (done_ or not before.keywords)  # else nothing is better than it was
        ]
        if not changes:
            continue
        receipts = engine.store.apply(scope.user, changes, model=embedder.id)
        done += sum(receipt.outcome == "stored" for receipt in receipts)
    return done


def _described(consultant: Consultant, records: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, bool]]:
    """Memories with what describes them, and whether it is by whom it should be: the language model, if there is one."""
    if not consultant.there:
        return [(_weighed(enriched(record)), True) for record in records]
    from mnemic.llm import enriching

    most = enriching.MOST_MEMORIES
    parts = [records[start : start + most] for start in range(0, len(records), most)]
    answers = consultant.ask_all([lambda p=part: enriching.task(p) for part in parts])
    found: list[tuple[MemoryRecord, bool]] = []
    for part, answer in zip(parts, answers, strict=True):
        items = [None] * len(part) if answer is None else answer.items
        for record, item in zip(part, items, strict=True):
            described = _weighed(enriched(record)) if item is None else _with(record, item)
            found.append((described, answer is not None))
    return found


def _with(record: MemoryRecord, found: enriching.Enrichment) -> MemoryRecord:
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


def _weighed(record: MemoryRecord) -> MemoryRecord:
    """A remembered statement with what it is worth by rule, unless somebody has said or judged it."""
    if record.pinned or record.salience != UNJUDGED:
        return record
    worth = salience(record.content, record.type, novelty=1.0, entities=record.related_entities).total
    return replace(record, salience=worth, importance=worth)
