"""Candidates to changes: what is stored, what ends, and what is linked; one place for ``process`` and ``remember``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemic.flows.candidates import Batch, Candidate
from mnemic.flows.engine import Engine
from mnemic.flows.feeling import felt
from mnemic.flows.snapshot import Neighbours, Snapshot
from mnemic.knowledge.links import Proposed, propose_links
from mnemic.knowledge.reconciliation import Resolution, reconcile, said_when, salience, since
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import now
from mnemic.types import (
    AddMemory,
    Change,
    Indexing,
    Link,
    MemoryRecord,
    PutLink,
    Revise,
    Supersede,
)

__all__ = ["DOUBTED", "Reconciled", "link_changes", "reconciled", "resolution_changes"]

DOUBTED = "said by a source that is trusted"
ANOTHER = "it gives another value of the same thing"


@dataclass(slots=True)
class Reconciled:
    """What becomes of candidates, as changes and in numbers."""

    changes: list[Change] = field(default_factory=list[Change])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def count(self, name: str) -> None:
        """One more of these."""
        self.counts[name] = self.counts.get(name, 0) + 1


def reconciled(engine: Engine, batch: Batch, known: Snapshot) -> Reconciled:
    """Compare candidates with what is known, one after the other, and decide what is stored and what ends."""
    found = Reconciled(counts={"known": batch.known})
    records = [one.record for one in batch.new]
    indexing = engine.indexing(records, engine.embedder)
    moods = felt([r.content for r in records], [i.vector for i in indexing], engine.embedder.id)
    for one, index, mood in zip(batch.new, indexing, moods, strict=True):
        new = replace(one, record=replace(one.record, emotion=mood))
        if twin := known.twin(new.record.spoken, batch.twins):
            if is_trusted(twin.trust) or not is_trusted(new.record.trust):
                found.count("known")
                _repeat(engine, new.record, [twin], known, found)
                continue
            _give_way([twin], known, found)
        _decide(engine, new, index, known, found)
    return found


def _decide(engine: Engine, new: Candidate, index: Indexing, known: Snapshot, found: Reconciled) -> None:
    """One candidate: what becomes of it, and of what it replaces."""
    settings, record = engine.settings, new.record
    near = known.near(index.vector, settings.max_statements_for_prediction)
    threshold = settings.knowledge_dedup_threshold if settings.enable_knowledge_dedup else None
    resolution = reconcile(record, *near, threshold=threshold)
    if doubted := _doubted(record, resolution, near):
        near = _without(near, _give_way(doubted, known, found))
        resolution = reconcile(record, *near, threshold=threshold)
    if resolution.outcome == "duplicate":
        found.count("known")
        _repeat(engine, record, [other for other in near[0] if other.id in resolution.of], known, found)
        return
    if new.verdict is not None and resolution.outcome == "new" and new.verdict[1] in {r.id for r in near[0]}:
        outcome, other = new.verdict
        resolution = replace(resolution, outcome=outcome, of=(other,), reason="the language model reads it so")
    if not record.pinned:
        weight = salience(new.worth, record.type, resolution.novelty)
        record = replace(record, importance=weight, salience=weight)
    found.changes.append(AddMemory(record=record, indexing=index, enrich=engine.llm is not None))
    found.count("memories")
    known.learn(record, index.vector)
    for change in resolution_changes(record, resolution, {other.id: other for other in near[0]}):
        found.changes.append(change)
        if isinstance(change, PutLink):
            found.count("contradictions")
        elif isinstance(change, Supersede):
            known.end(change.id, now())
            if change.id != record.id:
                found.count("updated")
    proposed = [one for one in propose_links(record, *near) if one.target not in resolution.of]
    found.changes += link_changes(record, proposed, {other.id: other for other in near[0]})


def _doubted(record: MemoryRecord, resolution: Resolution, near: Neighbours) -> list[MemoryRecord]:
    """The untrusted memories that say already what a trusted source says now: its fact is not known from them alone."""
    if resolution.outcome != "duplicate" or not is_trusted(record.trust):
        return []
    others = [other for other in near[0] if other.id in resolution.of]
    return [] if any(is_trusted(other.trust) for other in others) else others


def _without(near: Neighbours, ids: set[str]) -> Neighbours:
    records, cosines = near
    left = [place for place, record in enumerate(records) if record.id not in ids]
    return [records[place] for place in left], None if cosines is None else cosines[left]


def _give_way(others: Sequence[MemoryRecord], known: Snapshot, found: Reconciled) -> set[str]:
    """Untrusted memories end where a trusted source says the same; returns their ids."""
    for other in others:
        if other.expired_at is None:
            found.changes.append(Supersede(id=other.id, by=None, at=None, reason=DOUBTED))
            known.end(other.id, now())
    return {other.id for other in others}


def _repeat(
    engine: Engine, record: MemoryRecord, others: Sequence[MemoryRecord], known: Snapshot, found: Reconciled
) -> None:
    """What is known was said once more: it was said at the later of the two times, and is true since the earlier one.

    So what was said in between counts as older than it.
    """
    for other in others:
        if is_trusted(other.trust) and not is_trusted(record.trust):
            continue  # an untrusted source makes nothing newer
        if other.expired_at is not None or said_when(other) >= said_when(record):
            continue
        began = other.valid_at or said_when(other)
        later = replace(other, said_at=record.said_at, valid_at=began, version=other.version + 1, updated_at=now())
        (index,) = engine.indexing([later], engine.embedder)
        found.changes.append(Revise(record=later, indexing=index, weighs=False))
        known.revise(later)


def resolution_changes(record: MemoryRecord, resolution: Resolution, known: Mapping[str, MemoryRecord]) -> list[Change]:
    """What a new memory means for those it concerns: an end for what it replaces, a link to what it contradicts.

    What is trusted less never ends what is trusted more: the two are linked as contradicting each other. The reason names the
    first of them and may quote it; that of the others must not, or the quotation would stay when the first is erased.
    """
    changes: list[Change] = []
    for number, other in enumerate(known[id_] for id_ in resolution.of):
        outcome, reason = resolution.outcome, ANOTHER if number else resolution.reason
        if outcome == "update" and record.trust >= other.trust:
            changes.append(Supersede(id=other.id, by=record.id, at=_ends(other, record), reason=reason))
        elif outcome == "outdated" and other.trust >= record.trust:
            changes.append(Supersede(id=record.id, by=other.id, at=_ends(record, other), reason=reason))
        elif outcome in ("update", "outdated", "contradiction"):
            link = Link(source=record.id, target=other.id, type="contradicts", reason=reason)
            changes.append(PutLink(link=link))
    shorter = [id_ for id_ in resolution.shortens if known[id_].trust <= record.trust]
    changes += [Supersede(id=id_, by=record.id, at=since(record), reason=ANOTHER) for id_ in shorter]
    return changes


def _ends(record: MemoryRecord, follows: MemoryRecord) -> datetime:
    """When a memory ends that was stored after the one that follows it: when that one began, or was said again."""
    return since(follows) if since(follows) > since(record) else said_when(follows)


def link_changes(record: MemoryRecord, proposed: Sequence[Proposed], known: Mapping[str, MemoryRecord]) -> list[Change]:
    """Proposed links as changes: what is said to be replaced ends, unless it was said later or is trusted more.

    Only a language model proposes that something is replaced; by rule, ``reconcile`` alone decides it.
    """
    changes: list[Change] = []
    for one in proposed:
        other = known[one.target]
        if one.type == "supersedes":
            if record.trust >= other.trust and said_when(record) >= said_when(other):
                changes.append(Supersede(id=other.id, by=record.id, at=since(record), reason=one.reason))
            continue
        link = Link(source=record.id, target=other.id, type=one.type, strength=one.strength, reason=one.reason)
        changes.append(PutLink(link=link))
    return changes
