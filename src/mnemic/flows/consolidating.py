"""Short-term to long-term: what matters is kept for good, what says the same is kept once, nothing is lost."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemic import consolidation
from mnemic.flows.consulting import Consultant
from mnemic.flows.engine import Engine, View
from mnemic.flows.learning import enriched, slots_of
from mnemic.flows.settings import Consolidator
from mnemic.text.clock import now, to_micros
from mnemic.text.differs import differs
from mnemic.types import (
    Candidate,
    ClusterSummary,
    Consolidate,
    ConsolidationAdvice,
    ConsolidationReport,
    Link,
    MemoryRecord,
    MemoryType,
    Promotion,
    Receipt,
    Revise,
    Scope,
    Supersede,
    Undo,
    Work,
)

__all__ = ["advise", "consolidate", "undo"]

HOUR = 3_600_000_000
"""In microseconds."""
ASKED = 3
"""Members of a cluster that the language model is asked about; the rules decide on the others."""


@dataclass(frozen=True, slots=True)
class _Bench:
    """The memories that consolidation weighs: candidates by row, with their vectors and what they are worth now."""

    view: View
    candidates: Sequence[Candidate]
    worth: NDArray[np.float32]
    rows: NDArray[np.intp]

    def seeds(self, settings: Consolidator) -> list[int]:
        """Places of the short-term memories to begin with: the most important that may become long-term."""
        fresh = [
            place
            for place, c in enumerate(self.candidates)
            if c.status == "short_term"
            and c.trusted
            and self.worth[place] >= settings.importance_threshold
            and (c.judged == 0 or c.last_access > c.judged)
        ]
        fresh.sort(key=lambda place: (-float(self.worth[place]), self.candidates[place].doc))
        return fresh


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one cycle decides."""

    change: Consolidate
    summaries: tuple[ClusterSummary, ...]
    clusters: int
    skipped: int
    superseded: tuple[Supersede, ...] = ()


def _bench(engine: Engine, scope: Scope, settings: Consolidator) -> _Bench | None:
    view = engine.view(scope.user)
    if view is None:
        return None
    engine.save_uses()
    moment = to_micros(now())
    found = engine.store.lifecycle.candidates(scope.user, moment - int(settings.min_age_hours * HOUR))
    rows = view.columns.rows_of([c.doc for c in found])
    if len(rows) != len(found):  # made since the snapshot
        known = set(view.columns.doc[rows].tolist())
        found = [c for c in found if c.doc in known]
    idle = np.array([moment - max(c.created_at, c.last_access) for c in found], np.float64)
    worth = consolidation.importances(
        np.array([c.salience for c in found]), idle / 1e6, np.array([c.accesses for c in found]),
        np.array([c.arousal for c in found]),
    )  # fmt: skip
    pinned = np.array([c.pinned for c in found], np.bool_)
    worth = np.where(pinned, np.array([c.importance for c in found]), worth).astype(np.float32)
    return _Bench(view, found, worth, rows)


def advise(engine: Engine, scope: Scope, settings: Consolidator) -> ConsolidationAdvice:
    """Whether there is enough to do."""
    tiers = engine.store.lifecycle.tiers(scope.user)
    short, long = tiers.get("short_term", 0) + tiers.get("consolidating", 0), tiers.get("long_term", 0)
    if short < settings.buffer_threshold:
        reason = f"{short} short-term memories are fewer than {settings.buffer_threshold}"
        return ConsolidationAdvice(
            should_consolidate=False, reason=reason, short_term_count=short, long_term_count=long
        )
    bench = _bench(engine, scope, settings)
    ready = 0 if bench is None else len(bench.seeds(settings))
    what = (
        f"{ready} of {short} short-term memories are old and important enough"
        if ready
        else (f"none of {short} short-term memories is old and important enough and not looked at yet")
    )
    return ConsolidationAdvice(should_consolidate=ready > 0, reason=what, short_term_count=short, long_term_count=long)


def consolidate(engine: Engine, scope: Scope, settings: Consolidator, *, dry_run: bool = False) -> ConsolidationReport:
    """One cycle; where another process is at it, nothing."""
    began = time.monotonic()
    if dry_run:
        plan, _ = _planned(engine, scope, settings, mark=False)
        return _report(plan, began, dry_run=True)
    with engine.processing, engine.store.lifecycle.alone() as alone:
        if not alone:
            return ConsolidationReport(duration_seconds=time.monotonic() - began)
        engine.store.lifecycle.release()
        plan, marked = _planned(engine, scope, settings, mark=True)
        try:
            if plan is not None and plan.change.weighed:
                changes = [*plan.superseded, plan.change]
                engine.store.apply(scope.user, changes, model=engine.embedder.id)
        finally:
            if marked:
                engine.store.apply(scope.user, [Work(ids=marked, done=True)])
    return _report(plan, began, dry_run=False)


def undo(engine: Engine, scope: Scope, id: str) -> Receipt:
    """Take one consolidation back."""
    with engine.processing:
        return engine.store.apply(scope.user, [Undo(id=id)])[0]


def _report(plan: _Plan | None, began: float, *, dry_run: bool) -> ConsolidationReport:
    seconds = time.monotonic() - began
    if plan is None:
        return ConsolidationReport(duration_seconds=seconds, dry_run=dry_run)
    change = plan.change
    return ConsolidationReport(
        id="" if dry_run or not change.weighed else change.id,
        clusters_formed=plan.clusters,
        memories_promoted=len(change.promotions),
        memories_archived=sum(len(promotion.absorbed) for promotion in change.promotions),
        memories_skipped=plan.skipped,
        contradictions=len(change.contradictions),
        duration_seconds=seconds,
        cluster_summaries=plan.summaries,
        dry_run=dry_run,
    )


def _planned(
    engine: Engine, scope: Scope, settings: Consolidator, *, mark: bool
) -> tuple[_Plan | None, tuple[str, ...]]:
    """The plan of a cycle, and the ids that were marked as being worked on."""
    bench = _bench(engine, scope, settings)
    seeds = [] if bench is None else bench.seeds(settings)[: settings.max_batch_size]
    if bench is None or not seeds:
        return None, ()
    records = _Records(engine, bench)
    marked = tuple(records[place].id for place in seeds) if mark else ()
    if marked:
        engine.store.apply(scope.user, [Work(ids=marked)])
    grouped = _clustered(bench, seeds, settings, records)
    consultant = Consultant(engine)
    promotions: list[Promotion] = []
    summaries: list[ClusterSummary] = []
    superseded: list[Supersede] = []
    skipped = 0
    groups = [*grouped.clusters, *((single,) for single in grouped.singles)]
    for group in groups:
        mean = float(np.mean(bench.worth[list(group)]))
        if mean < settings.importance_threshold:
            skipped += sum(place in set(seeds) for place in group)
            continue
        promotion, ended = _promotion(engine, consultant, bench, group, records)
        promotions.append(promotion)
        superseded += ended
        summaries.append(_summary(promotion, group, mean, records))
    links = tuple(
        Link(source=records[b].id, target=records[a].id, type="contradicts", reason=f"near, but they differ in {why}")
        for a, b in grouped.conflicts
        if (why := differs(records[a].content, records[b].content))
    )
    weighed = {records[place].id: float(bench.worth[place]) for place in seeds}
    change = Consolidate(
        id=f"con_{uuid.uuid4().hex[:24]}", promotions=tuple(promotions), contradictions=links, weighed=weighed
    )
    return _Plan(change, tuple(summaries), len(grouped.clusters), skipped, tuple(superseded)), marked


class _Records:
    """The memories of a bench by place, fetched when they are first looked at."""

    def __init__(self, engine: Engine, bench: _Bench) -> None:
        self._engine, self._bench = engine, bench
        self._held: dict[int, MemoryRecord] = {}

    def __getitem__(self, place: int) -> MemoryRecord:
        if place not in self._held:
            doc = self._bench.candidates[place].doc
            record = self._engine.store.fetch(self._bench.view.user, [doc])[doc].value
            assert isinstance(record, MemoryRecord)
            self._held[place] = record
        return self._held[place]


def _clustered(
    bench: _Bench, seeds: Sequence[int], settings: Consolidator, records: _Records
) -> consolidation.Clustering:
    """Gather what says the same around the seeds; never across a level, nor across trust."""
    columns, rows = bench.view.columns, bench.rows
    trusted = np.array([c.trusted for c in bench.candidates], np.int64)
    levels = (columns.project[rows].astype(np.int64) << 32 | columns.session[rows]) * 2 + trusted
    vectors = bench.view.matrix[rows]
    return consolidation.clusters(
        seeds, vectors, levels, np.flatnonzero(vectors.any(axis=1)),
        similarity_threshold=settings.similarity_threshold, min_cluster_size=settings.min_cluster_size,
        conflicting=lambda a, b: differs(records[a].content, records[b].content) is not None,
    )  # fmt: skip


def _promotion(
    engine: Engine, consultant: Consultant, bench: _Bench, group: Sequence[int], records: _Records
) -> tuple[Promotion, list[Supersede]]:
    """The most important member stands for the others."""
    best = min(group, key=lambda place: (-float(bench.worth[place]), bench.candidates[place].doc))
    members = [place for place in group if place != best]
    absorbed, revised, ended = _decided(engine, consultant, records[best], [records[place] for place in members])
    worth = max(float(bench.worth[place]) for place in group)
    return Promotion(id=records[best].id, importance=worth, absorbed=tuple(absorbed), revised=revised), ended


def _decided(
    engine: Engine, consultant: Consultant, best: MemoryRecord, members: Sequence[MemoryRecord]
) -> tuple[list[str], Revise | None, list[Supersede]]:
    """Which members the best one absorbs, its new text if the language model merged them, and what it replaces."""
    absorbed = [member.id for member in members]
    if not consultant.there or not members:
        return absorbed, None, []
    from mnemic.llm import deciding

    record, ended = best, list[Supersede]()
    for member in members[:ASKED]:
        answer = consultant.ask(lambda r=record, m=member: deciding.task(r, m))
        match None if answer is None else answer.action:
            case deciding.KeepBoth():
                absorbed.remove(member.id)
            case deciding.Replace(kept=0):
                absorbed.remove(member.id)
                ended.append(
                    Supersede(id=member.id, by=best.id, at=_since(best), reason="the language model reads it so")
                )
            case deciding.Merge(content=content) if not differs(content, record.content):
                record = replace(record, content=content)
            case _:
                pass  # the rules have found that they say the same: absorbed as it is
    if record.content == best.content:
        return absorbed, None, ended
    record = enriched(replace(record, version=best.version + 1, updated_at=now(), summary=None, keywords=()))
    (index,) = engine.indexing([record], engine.embedder)
    return absorbed, Revise(record=record, indexing=replace(index, slots=slots_of(record.content))), ended


def _since(record: MemoryRecord) -> datetime:
    return record.valid_at or record.said_at or record.created_at


def _summary(promotion: Promotion, group: Sequence[int], mean: float, records: _Records) -> ClusterSummary:
    types: Counter[MemoryType] = Counter(records[place].type for place in group)
    return ClusterSummary(
        promoted_id=promotion.id,
        source_ids=promotion.absorbed,
        cluster_size=len(promotion.absorbed) + 1,
        avg_importance=mean,
        dominant_type=min(types, key=lambda kind: (-types[kind], kind)),
    )
