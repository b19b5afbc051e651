"""Reconciliation: what a new memory means for what is known, for ``remember`` and ``process`` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge.candidates import Batch, Candidate
from mnemic.knowledge.links import Proposed, propose_links
from mnemic.knowledge.snapshot import Neighbours, Snapshot
from mnemic.knowledge.supersession import replaced_value
from mnemic.recall.mood import emotions_of
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import aware, now
from mnemic.text.differences import differs
from mnemic.text.terms import content_terms
from mnemic.types import (
    AddMemory,
    Change,
    Indexing,
    Link,
    MemoryRecord,
    MemoryType,
    PutLink,
    Revise,
    Supersede,
)

__all__ = [
    "DOUBTED",
    "Outcome",
    "Reconciled",
    "Resolution",
    "link_changes",
    "reconcile",
    "reconciled",
    "resolution_changes",
    "said_when",
    "salience",
    "since",
]

Outcome: TypeAlias = Literal["new", "duplicate", "update", "outdated", "contradiction"]

LEAST, SPAN = 0.2, 0.4
"""Salience of an event that is worth nothing, and what it gains when it is sure to be noted."""
LASTING: Mapping[MemoryType, float] = {"procedural": 0.25, "semantic": 0.1, "emotional": 0.1, "episodic": 0.0}
"""What a memory gains by its type."""
KNOWN = 0.3
"""The share of salience that a memory loses of which everything was known."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is to be done with a new memory.

    Attributes:
        outcome: ``new``: store it. ``duplicate``: it says what those in ``of`` say; drop it. ``update``: store it, and end
            those in ``of``. ``outdated``: store it as ended by the one in ``of``, which was said later. ``contradiction``:
            store it, linked to those in ``of``.
        of: ids of the known memories it concerns.
        shortens: with ``outdated``: ids of those that end when this one begins, not later.
        novelty: 0 to 1, how little of it was known: the prediction error.
        reason: why, for the history and for people.
    """

    outcome: Outcome
    of: tuple[str, ...] = ()
    shortens: tuple[str, ...] = ()
    novelty: float = 1.0
    reason: str = ""


def salience(worth: float, type: MemoryType, novelty: float = 1.0) -> float:
    """How much a memory deserves to be kept, judged once, when it is made.

    Args:
        worth: 0 to 1, the probability that a person would note it.
        type: a rule is of use for longer than a fact or a feeling, and these for longer than one event.
        novelty: 0 to 1, how little of it was known.

    Returns:
        .14 to .85.
    """
    return round((LEAST + SPAN * worth + LASTING[type]) * (1 - KNOWN * (1 - novelty)), 3)


def said_when(record: MemoryRecord) -> datetime:
    """When a memory was said: the time it names, else since when it is true, else when it was stored."""
    return aware(record.said_at or record.valid_at or record.created_at, UTC)


def since(record: MemoryRecord) -> datetime:
    """Since when a memory is true: from the time it names, else since it was said."""
    return aware(record.valid_at or record.said_at or record.created_at, UTC)


def reconcile(
    record: MemoryRecord,
    known: Sequence[MemoryRecord],
    cosines: NDArray[np.float64] | None,
    *,
    threshold: float | None = None,
) -> Resolution:
    """Decide what a new memory means for what is known.

    A value under the same key replaces the earlier one. Else only what two statements of one speaker say decides: see
    ``supersession``.

    Args:
        record: the new memory.
        known: believed or ended memories that may be about the same: the nearest, and those of the same key.
        cosines: with each of them, shape (len(known),), or None.
        threshold: cosine from which a statement that differs in nothing repeats another; None: repetitions are not looked for.
    """
    error = _novelty(record, known, cosines)
    near = [1.0] * len(known) if cosines is None else cosines.tolist()
    if record.key is None and threshold is not None:
        again = [o.id for o, cosine in zip(known, near, strict=True) if cosine >= threshold and _repeats(record, o)]
        if again:
            return Resolution("duplicate", tuple(again), novelty=min(error, 1 - threshold), reason="said before")
    related = [(other, why) for other in known if (why := _replaces(record, other))]
    earlier = [other for other, _ in related if said_when(other) <= said_when(record)]
    if later := [one for one in related if said_when(one[0]) > said_when(record)]:
        other, why = min(later, key=lambda one: said_when(one[0]))
        shorter = tuple(one.id for one in earlier)
        return Resolution("outdated", (other.id,), shorter, error, f"{why}, and that was said later")
    if live := [(other, why) for other, why in related if other.expired_at is None]:
        return Resolution("update", tuple(other.id for other, _ in live), novelty=error, reason=live[0][1])
    return Resolution("new", novelty=error, reason="nothing known says it or gives it another value")


def _one_key(record: MemoryRecord, other: MemoryRecord) -> bool:
    return record.key is not None and record.key == other.key


def _replaces(record: MemoryRecord, other: MemoryRecord) -> str:
    """Why one of two memories takes the place of the other, whichever was said first; empty where neither does."""
    if record.key is not None or other.key is not None:
        return f"the same key, {record.key}" if _one_key(record, other) else ""
    if record.speaker != other.speaker:
        return ""
    last, first = (record, other) if said_when(record) >= said_when(other) else (other, record)
    value = replaced_value(last.content, first.content)
    return f"it replaces {value}" if value else ""


def _repeats(record: MemoryRecord, other: MemoryRecord) -> bool:
    if other.expired_at is not None and said_when(other) != said_when(record):
        return False  # it was over, and holds again
    return record.speaker == other.speaker and differs(record.content, other.content) is None


def _novelty(record: MemoryRecord, known: Sequence[MemoryRecord], cosines: NDArray[np.float64] | None) -> float:
    """The share of a memory that what is known did not foretell: by meaning, and without vectors by words."""
    if cosines is not None and len(cosines):
        return float(np.clip(1 - cosines.max(), 0, 1))
    terms = set(content_terms(record.content))
    shares = (len(terms & set(content_terms(other.content))) / len(terms) for other in known if terms)
    return 1 - max(shares, default=0.0)


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


def reconciled(runtime: Runtime, batch: Batch, known: Snapshot) -> Reconciled:
    """Compare candidates with what is known, one after the other, and decide what is stored and what ends."""
    found = Reconciled(counts={"known": batch.known})
    records = [one.record for one in batch.new]
    indexing = runtime.indexer.indexing(records, runtime.indexer.embedder)
    moods = emotions_of([r.content for r in records], [i.vector for i in indexing], runtime.indexer.embedder.id)
    for one, index, mood in zip(batch.new, indexing, moods, strict=True):
        new = replace(one, record=replace(one.record, emotion=mood))
        if twin := known.twin(new.record.spoken, batch.twins):
            if is_trusted(twin.trust) or not is_trusted(new.record.trust):
                found.count("known")
                _repeat(runtime, new.record, [twin], known, found)
                continue
            _give_way([twin], known, found)
        _decide(runtime, new, index, known, found)
    return found


def _decide(runtime: Runtime, new: Candidate, index: Indexing, known: Snapshot, found: Reconciled) -> None:
    """One candidate: what becomes of it, and of what it replaces."""
    settings, record = runtime.settings.processing, new.record
    near = known.near(index.vector, settings.max_statements_for_prediction)
    threshold = settings.knowledge_dedup_threshold if settings.enable_knowledge_dedup else None
    resolution = reconcile(record, *near, threshold=threshold)
    if doubted := _doubted(record, resolution, near):
        near = _without(near, _give_way(doubted, known, found))
        resolution = reconcile(record, *near, threshold=threshold)
    if resolution.outcome == "duplicate":
        found.count("known")
        _repeat(runtime, record, [other for other in near[0] if other.id in resolution.of], known, found)
        return
    if new.verdict is not None and resolution.outcome == "new" and new.verdict[1] in {r.id for r in near[0]}:
        outcome, other = new.verdict
        resolution = replace(resolution, outcome=outcome, of=(other,), reason="the language model reads it so")
    if not record.pinned:
        weight = salience(new.worth, record.type, resolution.novelty)
        record = replace(record, importance=weight, salience=weight)
    found.changes.append(AddMemory(record=record, indexing=index, enrich=runtime.llm is not None))
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
    runtime: Runtime, record: MemoryRecord, others: Sequence[MemoryRecord], known: Snapshot, found: Reconciled
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
        (index,) = runtime.indexer.indexing([later], runtime.indexer.embedder)
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
