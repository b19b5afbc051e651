"""Short-term to long-term: what matters is kept for good, what says the same is kept once, nothing is lost."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import Conflict, StoreError
from mnemic.knowledge.candidates import with_description
from mnemic.knowledge.links import contradicts
from mnemic.lifecycle.clustering import Clustering, clusters
from mnemic.lifecycle.importance import importances
from mnemic.recall.mood import with_emotion
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.gate import Throttle
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.settings import Consolidator
from mnemic.runtime.views import View
from mnemic.safety.trust import UNTRUSTED
from mnemic.text.clock import now, to_micros
from mnemic.text.differences import differs
from mnemic.types import (
    Candidates,
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
    Undo,
    Work,
)

__all__ = ["advise", "consolidate", "undo"]

HOUR = 3_600_000_000
"""In microseconds."""
ASKED = 3
"""Members of a cluster that the language model is asked about; the rules decide on the others."""
ATTEMPTS = 3
"""How often a cycle is planned anew when somebody changes one of its memories meanwhile."""
DIGITS = 3
"""Importance is weighed in thousandths: what was told in one breath is equal, whenever one looks."""


@dataclass(frozen=True, slots=True)
class _Bench:
    """The memories that consolidation weighs: candidates with their rows of the view, and what they are worth now."""

    view: View
    candidates: Candidates
    worth: NDArray[np.float64]
    rows: NDArray[np.intp]

    def seeds(self, settings: Consolidator) -> list[int]:
        """Places of the short-term memories to begin with: the most important that may become long-term."""
        c = self.candidates
        new = (c.judged == 0) | (c.last_access > c.judged)
        ready = np.flatnonzero(c.fresh & (c.trust >= UNTRUSTED) & (self.worth >= settings.importance_threshold) & new)
        return ready[np.lexsort((ready, -self.worth[ready]))].tolist()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one cycle decides."""

    change: Consolidate
    summaries: tuple[ClusterSummary, ...]
    clusters: int
    skipped: int


def _bench(runtime: Runtime, scope: Scope, settings: Consolidator, throttle: Throttle) -> _Bench | None:
    runtime.uses.save()
    view = runtime.views.of(scope.user)
    throttle()
    if view is None:
        return None
    moment = to_micros(now())
    found = runtime.store.lifecycle.candidates(scope.user, moment - int(settings.min_age_hours * HOUR))
    throttle()
    rows = view.columns.rows_of(found.doc)
    throttle()
    if len(rows) != len(found):  # made since the snapshot
        known = np.isin(found.doc, view.columns.doc[rows])
        found = Candidates(**{name: getattr(found, name)[known] for name in Candidates.__dataclass_fields__})
    idle = (moment - np.maximum(found.created_at, found.last_access)) / 1e6
    worth = np.round(importances(found.salience, idle, found.accesses, found.arousal), DIGITS)
    return _Bench(view, found, np.where(found.pinned, found.importance, worth), rows)


def advise(runtime: Runtime, scope: Scope, settings: Consolidator) -> ConsolidationAdvice:
    """Whether there is enough to do."""
    tiers = runtime.store.lifecycle.tiers(scope.user)
    short, long = tiers.get("short_term", 0) + tiers.get("consolidating", 0), tiers.get("long_term", 0)
    if short < settings.buffer_threshold:
        reason = f"{short} short-term memories are fewer than {settings.buffer_threshold}"
        return ConsolidationAdvice(
            should_consolidate=False, reason=reason, short_term_count=short, long_term_count=long
        )
    throttle = Throttle(runtime.gate)
    bench = _bench(runtime, scope, settings, throttle)
    throttle()
    ready = 0 if bench is None else len(bench.seeds(settings))
    what = (
        f"{ready} of {short} short-term memories are old and important enough"
        if ready
        else (f"none of {short} short-term memories is old and important enough and not looked at yet")
    )
    return ConsolidationAdvice(should_consolidate=ready > 0, reason=what, short_term_count=short, long_term_count=long)


def consolidate(
    runtime: Runtime, scope: Scope, settings: Consolidator, *, dry_run: bool = False
) -> ConsolidationReport:
    """One cycle; where another process is at it, nothing."""
    began = time.monotonic()
    if dry_run:
        plan = _planned(runtime, scope, settings, mark=False)
        return _report(plan, began, dry_run=True)
    with runtime.processing, runtime.store.lifecycle.alone() as alone:
        if not alone:
            return ConsolidationReport(duration_seconds=time.monotonic() - began)
        plan = None
        for attempt in range(1, ATTEMPTS + 1):
            try:
                plan = _stored(runtime, scope, settings)
                break
            except Conflict:  # somebody changed one of them meanwhile: it is planned anew
                if attempt == ATTEMPTS:
                    raise
    return _report(plan, began, dry_run=False)


def _stored(runtime: Runtime, scope: Scope, settings: Consolidator) -> _Plan | None:
    """Plan a cycle and store it, all or nothing."""
    runtime.store.lifecycle.release()
    try:
        plan = _planned(runtime, scope, settings, mark=True)
        if plan is not None:
            runtime.store.apply(scope.user, [plan.change], model=runtime.indexer.embedder.id)
    except BaseException:
        with suppress(StoreError):  # what was marked and not stored goes back; if not now, at the next cycle
            runtime.store.lifecycle.release()
        raise
    return plan


def undo(runtime: Runtime, scope: Scope, id: str) -> Receipt:
    """Take one consolidation back, and the texts that it changed."""
    with runtime.processing:
        before = runtime.store.lifecycle.reworded(scope.user, id)
        embedder = runtime.indexer.embedder
        indexed = zip(before, runtime.indexer.indexing(before, embedder), strict=True)
        texts = [Revise(record=r, indexing=index) for r, index in indexed]
        return runtime.store.apply(scope.user, [Undo(id=id), *texts], model=embedder.id)[0]


def _report(plan: _Plan | None, began: float, *, dry_run: bool) -> ConsolidationReport:
    seconds = time.monotonic() - began
    if plan is None:
        return ConsolidationReport(duration_seconds=seconds, dry_run=dry_run)
    change = plan.change
    return ConsolidationReport(
        id="" if dry_run else change.id,
        clusters_formed=plan.clusters,
        memories_promoted=len(change.promotions),
        memories_archived=sum(len(promotion.absorbed) for promotion in change.promotions),
        memories_skipped=plan.skipped,
        contradictions=sum(link.type == "contradicts" for link in change.contradictions),
        duration_seconds=seconds,
        cluster_summaries=plan.summaries,
        dry_run=dry_run,
    )


def _planned(runtime: Runtime, scope: Scope, settings: Consolidator, *, mark: bool) -> _Plan | None:
    """The plan of a cycle, None when there is nothing to do; ``mark`` notes its seeds as being worked on."""
    throttle = Throttle(runtime.gate)
    bench = _bench(runtime, scope, settings, throttle)
    seeds = [] if bench is None else bench.seeds(settings)[: settings.max_batch_size]
    throttle()
    if bench is None or not seeds:
        return None
    if mark:
        ids = runtime.store.relations.ids(bench.view.user, bench.candidates.doc[seeds].tolist())
        runtime.store.apply(scope.user, [Work(ids=tuple(ids.values()))])
    records = _Records(runtime, bench, seeds)
    throttle()
    grouped = _clustered(bench, seeds, settings, records, throttle)
    decided = _decisions(runtime, bench, grouped, settings, records, throttle)
    stands = {id_: d.best.id for d in decided for id_ in d.absorbed}
    links = _contradictions(grouped, records, stands)
    change = Consolidate(
        id=f"con_{uuid.uuid4().hex[:24]}",
        promotions=tuple(
            Promotion(id=d.best.id, importance=d.worth, absorbed=tuple(d.absorbed), revised=d.revised) for d in decided
        ),
        contradictions=(*links, *(link for d in decided for link in d.ended)),
        weighed={records[place].id: float(bench.worth[place]) for place in seeds},
    )
    throttle()
    kept = {d.best.id for d in decided} | set(stands)
    skipped = sum(id_ not in kept for id_ in change.weighed)
    return _Plan(change, tuple(map(_summary, decided)), len(grouped.clusters), skipped)


def _contradictions(grouped: Clustering, records: _Records, stands: Mapping[str, str]) -> tuple[Link, ...]:
    """The pairs that contradict each other, linked; whoever goes into another memory is spoken for by that one."""
    found: dict[tuple[str, str], Link] = {}
    for a, b in grouped.conflicts:
        target, source = (stands.get(records[place].id, records[place].id) for place in (a, b))
        if not contradicts(records[a], records[b]):  # both may be true
            continue
        if source != target and (target, source) not in found:
            reason = f"near, but they differ in {differs(records[a].content, records[b].content)}"
            found.setdefault((source, target), Link(source=source, target=target, type="contradicts", reason=reason))
    return tuple(found.values())


class _Records:
    """The memories of a bench by place: the seeds at once, others when they are first looked at."""

    def __init__(self, runtime: Runtime, bench: _Bench, seeds: Sequence[int]) -> None:
        self._runtime, self._bench = runtime, bench
        self._held: dict[int, MemoryRecord] = {}
        self._opposed: dict[int, set[int]] = {}
        self._fetch(seeds)

    def _fetch(self, places: Iterable[int]) -> None:
        docs = {int(self._bench.candidates.doc[place]): place for place in places}
        for doc, stored in self._runtime.store.fetch(self._bench.view.user, list(docs)).items():
            assert isinstance(stored.value, MemoryRecord)
            self._held[docs[doc]] = stored.value

    def __getitem__(self, place: int) -> MemoryRecord:
        if place not in self._held:
            self._fetch([place])
        return self._held[place]

    def conflict(self, first: int, second: int) -> bool:
        """Whether two memories say different things, or somebody said that they do."""
        docs = [int(self._bench.candidates.doc[place]) for place in (first, second)]
        return docs[1] in self._contradicted(docs[0]) or differs(self[first].content, self[second].content) is not None

    def _contradicted(self, doc: int) -> set[int]:
        if doc not in self._opposed:
            edges = self._runtime.store.relations.edges(self._bench.view.user, [doc])
            self._opposed[doc] = {end for a, b, kind, *_ in edges if kind == "contradicts" for end in (a, b)} - {doc}
        return self._opposed[doc]


def _clustered(
    bench: _Bench, seeds: Sequence[int], settings: Consolidator, records: _Records, throttle: Throttle
) -> Clustering:
    """Gather what says the same around the seeds; never across a level, nor across trust."""
    columns, rows, c = bench.view.columns, bench.rows, bench.candidates
    kinds, trust = np.unique(c.trust, return_inverse=True)  # a memory may not rest on one that is trusted less
    level = columns.project[rows].astype(np.int64) * (int(columns.session.max(initial=0)) + 1) + columns.session[rows]
    throttle()
    levels = np.where(c.apart, -2 - rows, level * len(kinds) + trust.reshape(-1))
    matrix = bench.view.vectors.held
    whole = (
        matrix is not None and 2 * len(rows) > len(matrix) > 0
    )  # a copy of nearly everything costs more than its products
    at = rows.astype(np.intp) if whole else np.arange(len(rows))
    vectors = matrix if matrix is not None and whole else bench.view.vectors.of(rows)
    all_levels = np.full(len(vectors), -1, np.int64)
    all_levels[at] = levels

    def place(index: int) -> int:
        return int(np.searchsorted(at, index))

    found = clusters(
        at[list(seeds)].tolist(), vectors, all_levels, at,
        similarity_threshold=settings.similarity_threshold, min_cluster_size=settings.min_cluster_size,
        conflicting=lambda a, b: records.conflict(place(a), place(b)),
        between=throttle,
    )  # fmt: skip
    return Clustering(
        clusters=tuple(tuple(map(place, members)) for members in found.clusters),
        conflicts=tuple((place(a), place(b)) for a, b in found.conflicts),
        singles=tuple(map(place, found.singles)),
    )


@dataclass(slots=True)
class _Decision:
    """What becomes of one group: who stands for whom, with which text, and what its time is over for."""

    best: MemoryRecord
    worth: float
    mean: float
    types: Counter[MemoryType]
    absorbed: list[str]
    revised: Revise | None = None
    ended: list[Link] = field(default_factory=list[Link])
    apart: list[MemoryRecord] = field(default_factory=list[MemoryRecord])


def _decisions(
    runtime: Runtime,
    bench: _Bench,
    grouped: Clustering,
    settings: Consolidator,
    records: _Records,
    throttle: Throttle,
) -> list[_Decision]:
    """The groups that are important enough, each decided on; the most important member stands for the others."""
    consultant = Consultant(runtime)
    decided: list[_Decision] = []
    for group in (*grouped.clusters, *((single,) for single in grouped.singles)):
        throttle()
        places = np.array(sorted(group), np.intp)
        mean = float(bench.worth[places].mean())
        if mean < settings.importance_threshold:
            continue
        best, *members = places[np.lexsort((places, -bench.worth[places]))].tolist()
        decision = _decided(
            runtime, consultant, records[best], [records[place] for place in members],
            worth=float(bench.worth[places].max()), mean=mean,
        )  # fmt: skip
        decided.append(decision)
        worth = {records[place].id: float(bench.worth[place]) for place in members}
        fresh = {records[place].id for place in members if bench.candidates.fresh[place]}
        decided += [
            _decision(record, worth[record.id])
            for record in decision.apart
            if record.id in fresh and worth[record.id] >= settings.importance_threshold
        ]
    return decided


def _decision(record: MemoryRecord, worth: float) -> _Decision:
    types: Counter[MemoryType] = Counter([record.type])
    return _Decision(best=record, worth=worth, mean=worth, types=types, absorbed=[])


def _decided(
    runtime: Runtime,
    consultant: Consultant,
    best: MemoryRecord,
    members: Sequence[MemoryRecord],
    *,
    worth: float,
    mean: float,
) -> _Decision:
    """Which members the best one absorbs, its new text if the language model merged them, and what it replaces."""
    types: Counter[MemoryType] = Counter(record.type for record in (best, *members))
    made = _Decision(best=best, worth=worth, mean=mean, types=types, absorbed=[member.id for member in members])
    if not consultant.available or not members:
        return made
    from mnemic.llm import decision

    record = best
    for member in members[:ASKED]:
        answer = consultant.ask(lambda r=record, m=member: decision.task(r, m))
        match None if answer is None else answer.action:
            case decision.KeepBoth():
                made.absorbed.remove(member.id)
                made.apart.append(member)
            case decision.Replace(kept=kept):
                new, old = (made.best, member) if kept == 0 else (member, made.best)
                made.absorbed.remove(member.id)
                made.ended.append(Link(source=new.id, target=old.id, type="supersedes", reason=READ))
                if new is member:
                    made.best = record = member
            case decision.Merge(content=content) if not differs(content, record.content):
                record = replace(record, content=content)
            case _:
                pass  # the rules have found that they say the same: absorbed as it is
    if record.content != made.best.content:
        made.revised = _reworded(runtime, record)
    return made


READ = "the language model reads it so"


def _reworded(runtime: Runtime, record: MemoryRecord) -> Revise:
    record = with_description(replace(record, version=record.version + 1, updated_at=now(), summary=None, keywords=()))
    (index,) = runtime.indexer.indexing([record], runtime.indexer.embedder)
    record = with_emotion(record, index.vector, runtime.indexer.embedder.id)
    return Revise(record=record, indexing=index)


def _summary(decision: _Decision) -> ClusterSummary:
    return ClusterSummary(
        promoted_id=decision.best.id,
        source_ids=tuple(decision.absorbed),
        cluster_size=len(decision.absorbed) + 1,
        avg_importance=decision.mean,
        dominant_type=min(decision.types, key=lambda kind: (-decision.types[kind], kind)),
    )
