"""Statements that somebody asks to remember: stored as they are, in the place of what they give another value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mnemic.extraction.resolving import resolve as resolved
from mnemic.flows.engine import Engine
from mnemic.flows.feeling import feeling
from mnemic.flows.known import base_of
from mnemic.flows.learning import related_changes, rest_of, slots_of
from mnemic.safety.trust import is_trusted
from mnemic.types import AddMemory, Change, MemoryRecord, Receipt, Scope, Supersede

__all__ = ["store"]

BESIDE = ("tags", "metadata", "category")
"""What is kept beside a statement."""


def store(engine: Engine, scope: Scope, record: MemoryRecord) -> Receipt:
    """Store a memory and end those whose value it replaces; enrichment is left for later."""
    embedder = engine.embedder
    slots = slots_of(record.content)
    index = replace(engine.indexing([record], embedder)[0], slots=slots)
    record = feeling(record, index.vector, embedder.id)
    known = _of_slots(engine, scope, record, slots)
    vectors = engine.store.knowledge.vectors(scope.user, [other.id for other in known]) if known else {}
    matrix = None
    if index.vector is not None and known:
        blank = np.full(len(index.vector), np.nan, np.float32)
        matrix = np.stack([vectors.get(other.id, blank) for other in known])
    said = record.valid_at or record.created_at
    view = engine.view(scope.user) if known else None
    base = 0.0 if view is None else base_of(view)
    resolution = resolved(record.content, said, index.vector, known, matrix, dedup=False, base=base)
    changes: list[Change] = [AddMemory(record=record, indexing=index, enrich=True)]
    by_id = {other.id: other for other in known}
    for change in related_changes(record, resolution, by_id):
        changes.append(change)
        if not isinstance(change, Supersede) or change.id not in resolution.of:
            continue
        if change.at is None or change.at <= record.created_at:  # else the whole of it holds until then
            rest = rest_of(engine, by_id[change.id], record, slots)
            changes += [] if rest is None else [rest]
    twins = engine.store.knowledge.twins(scope.user, record.project, [record.spoken], session=record.session)
    doubted = _doubted(engine, scope, record, twins)
    if doubted:
        reason = "said by a source that is trusted"
        changes = [c for c in changes if not (isinstance(c, Supersede) and c.id == doubted)]
        changes.append(Supersede(id=doubted, by=record.id, at=None, reason=reason))
        changes.insert(0, Supersede(id=doubted, by=None, at=None, reason=reason))
    elif twins or engine.store.docs_of(scope.user, [record.id]):
        changes = changes[:1]  # it is known, or refused: the receipt says so, and nothing else changes
    receipt = engine.store.apply(scope.user, changes, model=embedder.id)[1 if doubted else 0]
    if receipt.outcome == "duplicate":
        return _known(engine, scope, record, receipt)
    ended = [c.id for c in changes if isinstance(c, Supersede) and c.by == record.id]
    return _told(receipt, ended, resolution.reason or "it was not trusted") if ended else receipt


def _doubted(engine: Engine, scope: Scope, record: MemoryRecord, twins: Mapping[str, str]) -> str | None:
    """The untrusted memory that says the same already: it gives way to one that is trusted."""
    twin = twins.get(record.spoken)
    if twin is None or not is_trusted(record.trust) or engine.store.docs_of(scope.user, [record.id]):
        return None
    return None if is_trusted(engine.store.get(scope.user, twin).value.trust) else twin


def _known(engine: Engine, scope: Scope, record: MemoryRecord, receipt: Receipt) -> Receipt:
    """A receipt that says what of a statement that is known was given anew, and stays as it was."""
    held = engine.store.get(scope.user, receipt.id).value
    assert isinstance(held, MemoryRecord)
    given = [name for name in BESIDE if (value := getattr(record, name)) and value != getattr(held, name)]
    given += ["importance"] if record.pinned and record.importance != held.importance else []
    if not given:
        return receipt
    return replace(receipt, reason=f"{receipt.reason}; its {', '.join(given)} stay as they were: update() changes them")


def _of_slots(engine: Engine, scope: Scope, record: MemoryRecord, slots: tuple[str, ...]) -> list[MemoryRecord]:
    """The memories at the same level that state something of the same matter."""
    ids = engine.store.knowledge.in_slots(scope.user, slots) if slots else []
    held = engine.store.knowledge.records(scope.user, ids) if ids else {}
    found = (held[id_] for id_ in ids if id_ in held)
    level = (record.project, record.session)
    return [other for other in found if isinstance(other, MemoryRecord) and (other.project, other.session) == level]


def _told(receipt: Receipt, ended: list[str], why: str) -> Receipt:
    if receipt.outcome != "stored":
        return receipt
    return replace(receipt, outcome="superseded", reason=f"takes the place of {', '.join(map(repr, ended))}: {why}")
