"""Edits: corrections, updates, archiving and restoring of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from mnemic import validation
from mnemic.emotion.estimate import with_emotion
from mnemic.errors import InvalidInput, NotFound
from mnemic.ingest.add import new_id, storable, unstored
from mnemic.knowledge.candidates import with_new_description
from mnemic.knowledge.reconciliation import left_of_others
from mnemic.lifecycle.revision import shown_again, update_derived
from mnemic.runtime.redaction import check_record, with_redactions
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import TRUST_OF_SOURCE, is_trusted
from mnemic.text.markup import is_blank
from mnemic.text.values import now, shown
from mnemic.types import (
    UNSET,
    AddMemory,
    Archive,
    Change,
    Description,
    MemoryRecord,
    Message,
    Receipt,
    Receipts,
    Restore,
    Revise,
    Scope,
)


def _validated(name: str, value: object, zone: tzinfo) -> Any:
    """The validated new value of a field; ``None`` clears fields that may be empty."""
    match name:
        case "importance":
            return None if value is None else validation.number(name, value)
        case "category":
            return validation.category(value)
        case "tags":
            return () if value is None else validation.words(name, value)
        case "metadata":
            return validation.json_object(name, value)
        case "valid_at" | "invalid_at" | "delete_after":
            return validation.moment(name, value, zone)
        case "type":
            return validation.memory_type(value)
        case "source":
            return validation.source(value)
        case _ if name in Description.__annotations__:
            return validation.description({name: value})[name]
        case _:
            text = validation.text(name, value, validation.MAX_CONTENT)
            if name == "content" and is_blank(text):
                raise InvalidInput("content must not be empty; to remove a memory call forget().")
            return text


def _set_trust(changed: dict[str, Any], held: MemoryRecord) -> None:
    """Limit the trust of new content to that of its source."""
    if "source" in changed and "content" not in changed:
        raise InvalidInput("source= is the source of new content: pass content= as well.")
    if changed.get("content") == held.content:
        changed.pop("source", None)
    if "source" in changed:
        changed["trust"] = min(held.trust, TRUST_OF_SOURCE[changed["source"]])


def update(runtime: Runtime, scope: Scope, id: str, values: Mapping[str, Any], zone: tzinfo) -> Receipt:
    """Write the next version of a memory; earlier ones are kept. ``invalid_at=None`` makes an ended one hold again."""
    held = runtime.store.get(scope.user, validation.name("id", id)).value
    if not isinstance(held, MemoryRecord):
        what = "a message: what was said is evidence and never rewritten" if isinstance(held, Message) else "an episode"
        raise InvalidInput(f"{shown(id)} is {what}. To say what is true instead: correct({shown(id)}, ...).")
    changed = {name: _validated(name, value, zone) for name, value in values.items() if value is not UNSET}
    _set_trust(changed, held)
    if held.expired_at is None or changed.get("invalid_at", UNSET) is not None:
        return revise(runtime, scope, held, changed, zone)
    (receipt, *_) = restore(runtime, scope, [held.id], zone)
    del changed["invalid_at"]
    if not receipt.changed or not changed:
        return receipt
    return revise(runtime, scope, replace(held, expired_at=None, invalid_at=None), changed, zone)


def revise(runtime: Runtime, scope: Scope, held: MemoryRecord, changed: dict[str, Any], zone: tzinfo) -> Receipt:
    """Write the next version of a memory, with valid values of some fields."""
    if "importance" in changed:
        changed["pinned"] = changed["importance"] is not None
        if not changed["pinned"]:
            del changed["importance"]
    one = check_record(
        runtime.secrets,
        runtime.fence,
        replace(held, **changed, version=held.version + 1, updated_at=now().astimezone(zone)),
    )
    if not storable(one):
        return unstored(one)
    record: MemoryRecord = one.record
    reworded = record.content != held.content
    if not reworded:
        record = replace(record, trust=held.trust)
    elif is_trusted(held.trust) and not is_trusted(record.trust):
        why = "untrusted content cannot replace trusted content; remember it as a new memory"
        return Receipt(id=held.id, outcome="rejected", reason=why)
    if all(getattr(held, name) == getattr(record, name) for name in changed):
        return Receipt(id=held.id, outcome="duplicate", reason="nothing changed")
    embedder = runtime.indexer.embedder
    if reworded:
        record = with_new_description(record, held)
    (indexing,) = runtime.indexer.indexing([record], embedder)
    if record.emotion is None or (reworded and "emotion" not in changed):
        record = with_emotion(record, indexing.vector, embedder.id)
    said = _said(runtime, scope, held) if reworded else None
    change = Revise(record=record, indexing=indexing, left=reworded, said=said)
    others = left_of_others(runtime, scope, [held]) if said else []
    receipt, *_ = runtime.store.apply(scope.user, [change, *others], model=embedder.id)
    if said is not None and receipt.changed:
        update_derived(runtime, scope, [said.record.id], zone)
    return with_redactions(receipt, one.kinds)


def _said(runtime: Runtime, scope: Scope, held: MemoryRecord) -> AddMemory | None:
    """What the messages of a memory say, unless an earlier edit kept it: recall ranks them behind the edit."""
    if held.said_at is None or not held.source_ids:
        return None
    before = runtime.store.relations.predecessors(scope.user, [held.id]).get(held.id, ())
    if any(other.source_ids == held.source_ids for other in before):
        return None
    said = replace(held, id=new_id("mem_"), key=None, version=1)
    (indexing,) = runtime.indexer.indexing([said], runtime.indexer.embedder)
    return AddMemory(record=said, indexing=indexing)


def archive(runtime: Runtime, scope: Scope, ids: Iterable[str], reason: str, zone: tzinfo) -> Receipts:
    """Remove records from searches; receipts report ids that do not exist."""
    return _apply_and_follow(
        runtime, scope, validation.words("ids", ids), lambda id_: Archive(id=id_, reason=reason, everywhere=True), zone
    )


def restore(runtime: Runtime, scope: Scope, ids: Iterable[str], zone: tzinfo) -> Receipts:
    """Bring archived records back."""
    return _apply_and_follow(runtime, scope, validation.words("ids", ids), lambda id_: Restore(id=id_), zone)


def _apply_and_follow(
    runtime: Runtime, scope: Scope, ids: Sequence[str], change: Callable[[str], Change], zone: tzinfo
) -> Receipts:
    """Change records, then what goes with them."""
    receipts = _apply_each(runtime, scope, ids, change)
    return Receipts([*receipts, *update_derived(runtime, scope, ids, zone)])


def _apply_each(runtime: Runtime, scope: Scope, ids: Sequence[str], change: Callable[[str], Change]) -> Receipts:
    receipts: list[Receipt] = []
    for id_ in ids:
        try:
            receipts += runtime.store.apply(scope.user, [change(id_)])
            if receipts[-1].outcome == "restored":
                shown_again(runtime, scope, id_)
        except NotFound as error:
            reason = runtime.secrets.redacted(str(error))[0]
            receipts.append(Receipt(id=runtime.secrets.name(id_), outcome="rejected", reason=reason))
    return Receipts(receipts)
