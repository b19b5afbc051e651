"""Consolidation: promotes important short-term memories to long-term and merges duplicates around them, reversibly."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mnemic.emotion.estimate import with_emotion
from mnemic.errors import Conflict, NotFound, StoreError
from mnemic.knowledge.candidates import with_description
from mnemic.knowledge.reconciliation import BY_MODEL, contradicts, time_said
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime, Throttle
from mnemic.runtime.settings import Consolidator
from mnemic.runtime.views import View
from mnemic.services.telemetry import traced
from mnemic.stores.sql.rows import importances
from mnemic.text.dates import of_one_time
from mnemic.text.differences import Difference, differs
from mnemic.text.values import now, shown, to_micros
from mnemic.types import (
    Candidates,
    ClusterSummary,
    Consolidate,
    ConsolidationAdvice,
    ConsolidationReport,
    Link,
    MarkConsolidating,
    MemoryRecord,
    MemoryType,
    Promotion,
    Receipt,
    Revise,
    Scope,
    Undo,
)
from mnemic.types.literals import UNTRUSTED
from mnemic.vectors import dot

HOUR = 3_600_000_000
"""In microseconds."""
MAX_ASKED = 3
"""Members of a cluster that the language model decides about; rules decide about the others."""
ATTEMPTS = 3
"""Attempts of a cycle when other writers change its memories."""


@dataclass(frozen=True, slots=True)
class _ScoredCandidates:
    """Candidates of consolidation with their rows in the view and their current importance."""

    view: View
    candidates: Candidates
    worth: NDArray[np.float64]
    rows: NDArray[np.intp]

    def seeds(self, settings: Consolidator, *, named: bool = False) -> list[int]:
        """Positions of the seeds, most important first: short-term memories that are not judged yet, or all that are named."""
        c = self.candidates
        due = named | (c.fresh & ((c.judged == 0) | (c.last_access > c.judged)))
        ready = np.flatnonzero(due & (c.trust >= UNTRUSTED) & (self.worth >= settings.importance_threshold))
        return ready[np.lexsort((ready, -self.worth[ready]))].tolist()


@dataclass(frozen=True, slots=True)
class _Plan:
    """The plan of one cycle."""

    change: Consolidate
    summaries: tuple[ClusterSummary, ...]
    clusters: int
    skipped: int


def _score_candidates(
    runtime: Runtime, scope: Scope, settings: Consolidator, throttle: Throttle, ids: Sequence[str] | None = None
) -> _ScoredCandidates | None:
    """The candidates, only those with these ids if there are any.

    Raises:
        NotFound: the user has no memory with one of the ids.
    """
    named = None if ids is None else _docs(runtime, scope, ids)
    runtime.uses.save()
    view = runtime.views.of(scope.user)
    throttle()
    if view is None:
        return None
    moment = to_micros(now())
    candidates = runtime.store.lifecycle.candidates(scope.user, moment - int(settings.min_age_hours * HOUR))
    throttle()
    rows = view.columns.rows_of(candidates.doc)
    throttle()
    selected = np.isin(candidates.doc, view.columns.doc[rows])  # some were stored after the snapshot
    if named is not None:
        selected &= np.isin(candidates.doc, named)
    if not selected.all():
        candidates = candidates[selected]
        rows = view.columns.rows_of(candidates.doc)
    worth = importances(candidates.salience, candidates.boost, candidates.last_use, moment)
    return _ScoredCandidates(view, candidates, worth, rows)


def _docs(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[int]:
    docs = runtime.store.docs_of(scope.user, ids, kind="memory")
    if missing := [id_ for id_ in ids if id_ not in docs]:
        raise NotFound(f"This user has no memory with the id {shown(missing[0])}. Nothing was consolidated.")
    return [*docs.values()]


def advise(runtime: Runtime, scope: Scope, settings: Consolidator) -> ConsolidationAdvice:
    """Whether consolidation is due."""
    tiers = runtime.store.lifecycle.tiers(scope.user)
    short, long = tiers.get("short_term", 0) + tiers.get("consolidating", 0), tiers.get("long_term", 0)
    ready = 0
    if short < settings.buffer_threshold:
        why = f"{short} of the {settings.buffer_threshold} short-term memories that start a consolidation"
    else:
        throttle = Throttle(runtime.gate)
        scored = _score_candidates(runtime, scope, settings, throttle)
        throttle()
        ready = 0 if scored is None else len(scored.seeds(settings))
        if ready:
            why = f"{ready} of {short} short-term memories {'is' if ready == 1 else 'are'} old and important enough"
        else:
            why = f"none of {short} short-term memories is old enough, important enough and not judged yet"
    return ConsolidationAdvice(should_consolidate=ready > 0, reason=why, short_term_count=short, long_term_count=long)


@traced("mnemic.consolidate")
def consolidate(
    runtime: Runtime,
    scope: Scope,
    settings: Consolidator,
    *,
    ids: Sequence[str] | None = None,
    dry_run: bool = False,
) -> ConsolidationReport:
    """Run one cycle, unless another process is consolidating; with ``ids`` among these memories, to merge them."""
    began = time.monotonic()
    if dry_run:
        plan = _plan_cycle(runtime, scope, settings, ids, mark=False)
        return _report(plan, began, dry_run=True)
    with runtime.processing, runtime.store.lifecycle.exclusive() as acquired:
        if not acquired:
            return ConsolidationReport(duration_seconds=time.monotonic() - began)
        plan = None
        for attempt in range(1, ATTEMPTS + 1):
            try:
                plan = _store_plan(runtime, scope, settings, ids)
                break
            except Conflict:  # another writer changed one of the memories: plan again
                if attempt == ATTEMPTS:
                    raise
    return _report(plan, began, dry_run=False)


def _store_plan(runtime: Runtime, scope: Scope, settings: Consolidator, ids: Sequence[str] | None) -> _Plan | None:
    """Plan a cycle and store it, all or nothing."""
    runtime.store.lifecycle.release()
    try:
        plan = _plan_cycle(runtime, scope, settings, ids, mark=True)
        if plan is not None:
            runtime.store.apply(scope.user, [plan.change])
    finally:
        with suppress(StoreError):  # unmark the seeds that were not judged; if this fails, the next cycle does it
            runtime.store.lifecycle.release()
    return plan


def undo(runtime: Runtime, scope: Scope, id: str) -> Receipt:
    """Revert a consolidation, including the texts it changed."""
    with runtime.processing:
        before = runtime.store.lifecycle.previous_texts(scope.user, id)
        texts = [Revise(record=r, indexing=index) for r, index in runtime.indexer.indexed(before)]
        return runtime.store.apply(scope.user, [Undo(id=id), *texts])[0]


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


def _plan_cycle(
    runtime: Runtime, scope: Scope, settings: Consolidator, ids: Sequence[str] | None, *, mark: bool
) -> _Plan | None:
    """The plan of a cycle, None when there is nothing to do; ``mark`` sets the status of its seeds to consolidating.

    A cycle among the memories with these ids promotes none that it does not merge, and judges no other.
    """
    throttle = Throttle(runtime.gate)
    named = ids is not None
    scored = _score_candidates(runtime, scope, settings, throttle, ids)
    seeds = [] if scored is None else scored.seeds(settings, named=named)[: settings.max_batch_size]
    throttle()
    if scored is None or not seeds or (named and len(scored.candidates) < 2):
        return None
    if mark:
        marked = runtime.store.relations.ids(scored.view.user, scored.candidates.doc[seeds].tolist())
        runtime.store.apply(scope.user, [MarkConsolidating(ids=tuple(marked.values()))])
    records = _Records(runtime, scored, seeds)
    throttle()
    consultant = Consultant(runtime)
    clustering = _cluster(scored, seeds, settings, records, throttle, has_model=consultant.available)
    decisions = _decisions(runtime, consultant, scored, clustering, settings, records, throttle)
    if named:
        decisions = [d for d in decisions if d.absorbed or d.superseded_links]
    absorbed_by = {id_: d.best.id for d in decisions for id_ in d.absorbed}
    handled = {d.best.id for d in decisions} | set(absorbed_by)
    seeded = [records[position].id for position in seeds]
    links = _contradictions(clustering, records, absorbed_by)
    change = Consolidate(
        id=f"con_{uuid.uuid4().hex[:24]}",
        promotions=tuple(Promotion(id=d.best.id, absorbed=tuple(d.absorbed), revised=d.revised) for d in decisions),
        contradictions=(*links, *(link for d in decisions for link in d.superseded_links)),
        judged=tuple(id_ for id_ in seeded if id_ in handled or not named),
    )
    throttle()
    skipped = sum(id_ not in handled for id_ in seeded)
    return _Plan(change, tuple(map(_summary, decisions)), len(clustering.clusters), skipped)


def _contradictions(clustering: Clustering, records: _Records, absorbed_by: Mapping[str, str]) -> tuple[Link, ...]:
    """Links between contradicting pairs; an absorbed memory is represented by the one that absorbs it."""
    links: dict[tuple[str, str], Link] = {}
    for a, b in clustering.conflicts:
        target, source = (absorbed_by.get(records[position].id, records[position].id) for position in (a, b))
        if not contradicts(records[a], records[b]):  # both may be true
            continue
        if source != target and (target, source) not in links:
            reason = f"near, but they differ in {differs(records[a].content, records[b].content)}"
            links.setdefault((source, target), Link(source=source, target=target, type="contradicts", reason=reason))
    return tuple(links.values())


class _Records:
    """The candidate memories by position; seeds are loaded at once, others at first use."""

    def __init__(self, runtime: Runtime, scored: _ScoredCandidates, seeds: Sequence[int]) -> None:
        self._runtime, self._scored = runtime, scored
        self._records: dict[int, MemoryRecord] = {}
        self._contradicting: dict[int, set[int]] = {}
        self._fetch(seeds)

    def _fetch(self, positions: Iterable[int]) -> None:
        docs = {int(self._scored.candidates.doc[position]): position for position in positions}
        for doc, stored in self._runtime.store.fetch(self._scored.view.user, list(docs)).items():
            assert isinstance(stored.value, MemoryRecord)
            self._records[docs[doc]] = stored.value

    def __getitem__(self, position: int) -> MemoryRecord:
        if position not in self._records:
            self._fetch([position])
        return self._records[position]

    def difference(self, first: int, second: int) -> Difference | None:
        """The kind of difference between two memories."""
        record, other = self[first], self[second]
        if not of_one_time(record.content, time_said(record).toordinal(), other.content, time_said(other).toordinal()):
            return "date"
        return differs(record.content, other.content)

    def conflict(self, first: int, second: int, *, has_model: bool) -> bool:
        """Whether two memories have different content or are linked as contradicting.

        With ``has_model`` other words are no conflict yet: the language model decides whether they say something else.
        """
        docs = [int(self._scored.candidates.doc[position]) for position in (first, second)]
        if docs[1] in self._contradicting_docs(docs[0]):
            return True
        return self.difference(first, second) not in ((None, "value") if has_model else (None,))

    def _contradicting_docs(self, doc: int) -> set[int]:
        if doc not in self._contradicting:
            edges = self._runtime.store.relations.links(self._scored.view.user, [doc])
            ends = {end for a, b, kind, *_ in edges if kind == "contradicts" for end in (a, b)}
            self._contradicting[doc] = ends - {doc}
        return self._contradicting[doc]


def _cluster(
    scored: _ScoredCandidates, seeds: Sequence[int], settings: Consolidator, records: _Records, throttle: Throttle,
    *, has_model: bool,
) -> Clustering:  # fmt: skip
    """Cluster candidates around the seeds, within one level and trust; ``has_model``: a language model decides later."""
    columns, rows, c = scored.view.columns, scored.rows, scored.candidates
    kinds, trust = np.unique(c.trust, return_inverse=True)  # a memory must not absorb one of other trust
    level = columns.project[rows].astype(np.int64) * (int(columns.session.max(initial=0)) + 1) + columns.session[rows]
    throttle()
    levels = np.where(c.apart, -2 - rows, level * len(kinds) + trust.reshape(-1))
    matrix = scored.view.vectors.matrix
    whole = matrix is not None and 2 * len(rows) > len(matrix) > 0  # copying most rows costs more than multiplying all
    indices = rows.astype(np.intp) if whole else np.arange(len(rows))
    vectors = matrix if matrix is not None and whole else scored.view.vectors.of(rows)
    all_levels = np.full(len(vectors), -1, np.int64)
    all_levels[indices] = levels

    def position(index: int) -> int:
        return int(np.searchsorted(indices, index))

    clustering = clusters(
        indices[list(seeds)].tolist(), vectors, all_levels, indices,
        similarity_threshold=settings.similarity_threshold, min_cluster_size=settings.min_cluster_size,
        conflicting=lambda a, b: records.conflict(position(a), position(b), has_model=has_model),
        between=throttle,
    )  # fmt: skip
    return Clustering(
        clusters=tuple(tuple(map(position, members)) for members in clustering.clusters),
        conflicts=tuple((position(a), position(b)) for a, b in clustering.conflicts),
        singles=tuple(map(position, clustering.singles)),
    )


@dataclass(slots=True)
class _Decision:
    """The decision about one cluster: what is absorbed, the new text, and what is superseded."""

    best: MemoryRecord
    mean: float
    types: Counter[MemoryType]
    absorbed: list[str]
    revised: Revise | None = None
    superseded_links: list[Link] = field(default_factory=list[Link])
    apart: list[MemoryRecord] = field(default_factory=list[MemoryRecord])


def _decisions(
    runtime: Runtime,
    consultant: Consultant,
    scored: _ScoredCandidates,
    clustering: Clustering,
    settings: Consolidator,
    records: _Records,
    throttle: Throttle,
) -> list[_Decision]:
    """Decisions about the clusters that are important enough; the most important member absorbs the others."""
    decisions: list[_Decision] = []
    for group in (*clustering.clusters, *((single,) for single in clustering.singles)):
        throttle()
        positions = np.array(sorted(group), np.intp)
        mean = float(scored.worth[positions].mean())
        if mean < settings.importance_threshold:
            continue
        best, *members = positions[np.lexsort((positions, -scored.worth[positions]))].tolist()
        doubtful = {records[position].id for position in members if records.difference(best, position) is not None}
        ordered = sorted((records[position] for position in members), key=lambda record: record.id not in doubtful)
        decision = _decide(runtime, consultant, records[best], ordered, doubtful, mean=mean)
        decisions.append(decision)
        worth = {records[position].id: float(scored.worth[position]) for position in members}
        fresh = {records[position].id for position in members if scored.candidates.fresh[position]}
        decisions += [
            _Decision(best=record, mean=worth[record.id], types=Counter([record.type]), absorbed=[])
            for record in decision.apart
            if record.id in fresh and worth[record.id] >= settings.importance_threshold
        ]
    return decisions


def _decide(
    runtime: Runtime,
    consultant: Consultant,
    best: MemoryRecord,
    members: Sequence[MemoryRecord],
    doubtful: Collection[str],
    *,
    mean: float,
) -> _Decision:
    """Decide which members the best one absorbs, its text if the language model merged them, and what it supersedes.

    Doubtful members, which may say something else, are absorbed only if the language model says that they do not.
    """
    types: Counter[MemoryType] = Counter(record.type for record in (best, *members))
    result = _Decision(best=best, mean=mean, types=types, absorbed=[member.id for member in members])
    if not consultant.available or not members:
        return result
    from mnemic.llm import decision

    record = best
    unasked = [member for member in members[MAX_ASKED:] if member.id in doubtful]
    result.apart += unasked
    result.absorbed = [id_ for id_ in result.absorbed if id_ not in {member.id for member in unasked}]
    for member in members[:MAX_ASKED]:
        answer = consultant.ask(lambda r=record, m=member: decision.task(r, m))
        match answer:
            case decision.PairDecision(action="keep_both"):
                result.absorbed.remove(member.id)
                result.apart.append(member)
            case decision.PairDecision(action="supersede", kept=index):
                new, old = (result.best, member) if index == 0 else (member, result.best)
                result.absorbed.remove(member.id)
                if time_said(new).date() < time_said(old).date():  # no earlier statement ends a later one
                    result.apart.append(member)
                    continue
                result.superseded_links.append(Link(source=new.id, target=old.id, type="supersedes", reason=BY_MODEL))
                if new is member:
                    result.best = record = member
            case decision.PairDecision(action="merge", content=content) if not differs(content, record.content):
                record = replace(record, content=content)
            case None if member.id in doubtful:
                result.absorbed.remove(member.id)
                result.apart.append(member)
            case _:
                pass  # a duplicate by the rules or by the model: absorbed unchanged
    if record.content != result.best.content:
        result.revised = _revise_text(runtime, record)
    return result


def _revise_text(runtime: Runtime, record: MemoryRecord) -> Revise:
    record = with_description(replace(record, version=record.version + 1, updated_at=now(), summary=None, keywords=()))
    ((_, index),) = runtime.indexer.indexed([record])
    return Revise(record=with_emotion(record, index), indexing=index)


def _summary(decision: _Decision) -> ClusterSummary:
    return ClusterSummary(
        promoted_id=decision.best.id,
        source_ids=tuple(decision.absorbed),
        cluster_size=len(decision.absorbed) + 1,
        avg_importance=decision.mean,
        dominant_type=min(decision.types, key=lambda kind: (-decision.types[kind], kind)),
    )


LARGEST = 100
"""Most members of a cluster, and most conflicts; the rest is clustered in the next cycle."""
MARGIN = 0.1
"""How far a member's cosine to the seed may lie below the threshold, if it is near enough to the centroid."""
_BLOCK = 64
"""Seeds multiplied with all vectors at once; limits the product to 256 bytes per vector."""
_ROUNDING = 1e-6
"""Rounding difference of float32 products of the same vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """The result of clustering.

    Attributes:
        clusters: disjoint indices of members, the seed first, then in the order they joined.
        conflicts: pairs (member, excluded): near enough to join, but with different content. To be linked
            ``contradicts``, never merged.
        singles: seeds without a cluster, in order.
    """

    clusters: tuple[tuple[int, ...], ...] = ()
    conflicts: tuple[tuple[int, int], ...] = ()
    singles: tuple[int, ...] = ()


def _near(
    seeds: Sequence[int],
    vectors: NDArray[np.float32],
    levels: NDArray[np.int64],
    usable: NDArray[np.bool_],
    floor: float,
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each seed with the usable others of its level whose cosine reaches ``floor``, nearest first, ties by index."""
    for start in range(0, len(seeds), _BLOCK):
        block = list(seeds[start : start + _BLOCK])
        products: NDArray[np.float32] = dot(vectors[block], vectors.T)
        for row, seed in enumerate(block):
            near = np.flatnonzero(products[row] >= floor)
            near = near[usable[near] & (levels[near] == levels[seed]) & (near != seed)]
            yield seed, near[np.argsort(-products[row, near], kind="stable")]


def _grow_cluster(
    seed: int,
    near: NDArray[np.intp],
    vectors: NDArray[np.float32],
    threshold: float,
    conflicting: Callable[[int, int], bool],
) -> tuple[list[int], list[tuple[int, int]]]:
    """The members around a seed, and conflicts as (member, excluded)."""
    total: NDArray[np.float64] = vectors[seed].astype(np.float64)
    members, conflicts = [seed], list[tuple[int, int]]()
    for index in near.tolist():
        if len(members) >= LARGEST or len(conflicts) >= LARGEST:
            break
        norm = float(np.sqrt(np.vdot(total, total)))
        if norm == 0 or float(np.vdot(total, vectors[index])) / norm < threshold:
            continue
        against = next((member for member in members if conflicting(member, index)), None)
        if against is not None:
            conflicts.append((against, index))
            continue
        members.append(index)
        total += vectors[index]
    return members, conflicts


def clusters(
    seeds: Sequence[int],
    vectors: NDArray[np.float32],
    levels: NDArray[np.int64],
    eligible: NDArray[np.intp],
    *,
    similarity_threshold: float = 0.85,
    min_cluster_size: int = 2,
    conflicting: Callable[[int, int], bool],
    between: Callable[[], object] = bool,
) -> Clustering:
    """Cluster similar memories around seeds.

    Seeds are processed in order, except those in an earlier cluster. Their neighbours, nearest first, join when the
    cosine with the centroid (the normalized running mean of the members) reaches the threshold and no member conflicts.
    A cluster never crosses a level and has at most ``LARGEST`` members; it is closed after as many conflicts.

    Args:
        seeds: distinct indices, the most important first.
        vectors: unit rows, shape (n, d), float32.
        levels: the level of each of the n memories.
        eligible: indices that may join; seeds always may.
        similarity_threshold: least cosine with the centroid, 0 to 1.
        min_cluster_size: least members, including the seed, at least 1.
        conflicting: whether two memories, by index, have different content.
        between: called between seeds, to yield to other work.

    Returns:
        The clusters, the conflicts, including those of clusters that are too small, and the remaining seeds.
    """
    usable = np.zeros(len(vectors), np.bool_)
    usable[eligible] = usable[list(seeds)] = True
    free = usable.copy()
    threshold = similarity_threshold - _ROUNDING
    groups, conflicts, singles = list[tuple[int, ...]](), list[tuple[int, int]](), list[int]()
    for seed, near in _near(seeds, vectors, levels, usable, threshold - MARGIN):
        between()
        if not free[seed]:
            continue
        members, left_out = _grow_cluster(seed, near[free[near]], vectors, threshold, conflicting)
        conflicts += left_out
        if len(members) < min_cluster_size:
            singles.append(seed)
            continue
        groups.append(tuple(members))
        free[members] = False
    clustered = {index for members in groups for index in members}
    return Clustering(
        clusters=tuple(groups),
        conflicts=tuple(dict.fromkeys((min(pair), max(pair)) for pair in conflicts)),
        singles=tuple(seed for seed in singles if seed not in clustered),
    )
