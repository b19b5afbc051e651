"""Statements that a caller asks to remember: stored as they are, in the place of what they replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mnemic.flows.engine import Engine
from mnemic.flows.feeling import feeling
from mnemic.flows.reconcile import DOUBTED, resolution_changes
from mnemic.flows.snapshot import Neighbours, Snapshot
from mnemic.knowledge.reconciliation import reconcile, salience
from mnemic.knowledge.selection import worth
from mnemic.safety.trust import is_trusted
from mnemic.types import AddMemory, Change, Indexing, MemoryRecord, Receipt, Scope, Supersede

__all__ = ["store"]

BESIDE = ("tags", "metadata", "category")
"""What is kept beside a statement."""


def store(engine: Engine, scope: Scope, record: MemoryRecord) -> Receipt:
    """Store a memory and end those it replaces; its description is left for later."""
    embedder = engine.embedder
    (index,) = engine.indexing([record], embedder)
    if not record.pinned:
        weight = salience(worth(record.content), record.type)
        record = replace(record, salience=weight, importance=weight)
    record = feeling(record, index.vector, embedder.id)
    near = _neighbours(engine, scope, record, index)
    resolution = reconcile(record, *near)
    changes: list[Change] = [AddMemory(record=record, indexing=index, enrich=True)]
    changes += resolution_changes(record, resolution, {other.id: other for other in near[0]})
    twins = engine.store.knowledge.twins(scope.user, record.project, [record.spoken], session=record.session)
    ending, why = _yielding(engine, scope, record, twins)
    if ending:
        changes = [c for c in changes if not (isinstance(c, Supersede) and c.id == ending)]
        changes.append(Supersede(id=ending, by=record.id, at=None, reason=why))
        changes.insert(0, Supersede(id=ending, by=None, at=None, reason=why))
    elif twins or engine.store.docs_of(scope.user, [record.id]):
        changes = changes[:1]  # it is known, or refused: the receipt says so, and nothing else changes
    receipt = engine.store.apply(scope.user, changes, model=embedder.id)[1 if ending else 0]
    if receipt.outcome == "duplicate":
        return _duplicate(engine, scope, record, receipt)
    ended = [c.id for c in changes if isinstance(c, Supersede) and c.by == record.id]
    return _superseding(receipt, ended, resolution.reason if resolution.of else why) if ended else receipt


def _neighbours(engine: Engine, scope: Scope, record: MemoryRecord, index: Indexing) -> Neighbours:
    """The memories at the same level that a new one may concern: of the same key, or the nearest."""
    if record.key is not None:
        return engine.store.knowledge.keyed(scope.user, record.key, record.project, record.session), None
    known = Snapshot(engine, scope.user, record.project, record.session)
    return known.near(index.vector, engine.settings.max_statements_for_prediction)


def _yielding(engine: Engine, scope: Scope, record: MemoryRecord, twins: Mapping[str, str]) -> tuple[str, str]:
    """The id of the memory with the same words that gives way to a new one, and why; both empty where none does."""
    twin = twins.get(record.spoken)
    if twin is None or engine.store.docs_of(scope.user, [record.id]):
        return "", ""
    held = engine.store.get(scope.user, twin).value
    assert isinstance(held, MemoryRecord)
    if is_trusted(record.trust) and not is_trusted(held.trust):
        return twin, DOUBTED
    if record.key not in (None, held.key) and record.trust >= held.trust:
        return twin, f"it has the key {record.key} now"
    return "", ""


def _duplicate(engine: Engine, scope: Scope, record: MemoryRecord, receipt: Receipt) -> Receipt:
    """The receipt of a statement that is known, with what was given beside it and stays as it was."""
    held = engine.store.get(scope.user, receipt.id).value
    assert isinstance(held, MemoryRecord)
    given = [name for name in BESIDE if (value := getattr(record, name)) and value != getattr(held, name)]
    given += ["importance"] if record.pinned and record.importance != held.importance else []
    if not given:
        return receipt
    return replace(receipt, reason=f"{receipt.reason}; its {', '.join(given)} stay as they were: update() changes them")


def _superseding(receipt: Receipt, ended: list[str], why: str) -> Receipt:
    if receipt.outcome != "stored":
        return receipt
    return replace(receipt, outcome="superseded", reason=f"takes the place of {', '.join(map(repr, ended))}: {why}")
