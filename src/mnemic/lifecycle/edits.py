"""Edits: updates, archiving, quarantine and restoring of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from mnemic import validation
from mnemic.emotion.estimate import with_emotion
from mnemic.errors import InvalidInput, NotFound
from mnemic.ingest import check_record, new_id, storable, unstored, with_redactions
from mnemic.knowledge.candidates import with_new_description
from mnemic.knowledge.reconciliation import left_of_others
from mnemic.lifecycle.revision import archive_omission, update_derived, update_summaries
from mnemic.runtime.runtime import Runtime
from mnemic.text.markup import is_blank
from mnemic.text.values import now, shown
from mnemic.types import (
    UNSET,
    AddMemory,
    Archive,
    Description,
    MemoryRecord,
    Message,
    Quarantine,
    Receipt,
    Receipts,
    Record,
    RecordFilter,
    Release,
    Restore,
    Revise,
    Scope,
)
from mnemic.types.literals import EVERYWHERE
from mnemic.types.records import TRUST_OF_SOURCE, is_trusted


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


def _set_trust(changed: dict[str, Any], existing: MemoryRecord) -> None:
    """Limit the trust of new content to that of its source."""
    if "source" in changed and "content" not in changed:
        raise InvalidInput("source= is the source of new content: pass content= as well.")
    if changed.get("content") == existing.content:
        changed.pop("source", None)
    if "source" in changed:
        changed["trust"] = min(existing.trust, TRUST_OF_SOURCE[changed["source"]])


def update(runtime: Runtime, scope: Scope, id: str, values: Mapping[str, Any], zone: tzinfo) -> Receipt:
    """Write the next version of a memory; earlier ones are kept. ``invalid_at=None`` makes an ended one hold again."""
    existing = runtime.store.get(scope.user, validation.name("id", id)).value
    if not isinstance(existing, MemoryRecord):
        why = (
            f"a message: what was said is evidence and never rewritten. To say what is true: correct({shown(id)}, ...)."
            if isinstance(existing, Message)
            else "an episode, which is made from messages. Give the id of a memory. Nothing was changed."
        )
        raise InvalidInput(f"{shown(id)} is {why}")
    changed = {name: _validated(name, value, zone) for name, value in values.items() if value is not UNSET}
    _set_trust(changed, existing)
    if existing.expired_at is None or changed.get("invalid_at", UNSET) is not None:
        return revise(runtime, scope, existing, changed, zone)
    (receipt, *_) = restore(runtime, scope, [existing.id], zone)
    del changed["invalid_at"]
    if not receipt.changed or not changed:
        return receipt
    return revise(runtime, scope, replace(existing, expired_at=None, invalid_at=None), changed, zone)


def revise(runtime: Runtime, scope: Scope, existing: MemoryRecord, changed: dict[str, Any], zone: tzinfo) -> Receipt:
    """Write the next version of a memory, with valid values of some fields."""
    if "importance" in changed:
        changed["pinned"] = changed["importance"] is not None
        if not changed["pinned"]:
            del changed["importance"]
    checked = check_record(
        runtime.secrets,
        runtime.fence,
        replace(existing, **changed, version=existing.version + 1, updated_at=now().astimezone(zone)),
    )
    if not storable(checked):
        return unstored(checked)
    record: MemoryRecord = checked.record
    reworded = record.content != existing.content
    if not reworded:
        record = replace(record, trust=existing.trust)
    elif is_trusted(existing.trust) and not is_trusted(record.trust):
        why = "untrusted content cannot replace trusted content; remember it as a new memory"
        return Receipt(id=existing.id, outcome="rejected", reason=why)
    if all(getattr(existing, name) == getattr(record, name) for name in changed):
        return Receipt(id=existing.id, outcome="duplicate", reason="nothing changed")
    if reworded:
        record = with_new_description(record, existing)
    ((_, indexing),) = runtime.indexer.indexed([record])
    if record.emotion is None or (reworded and "emotion" not in changed):
        record = with_emotion(record, indexing)
    statement = _statement_of_messages(runtime, scope, existing) if reworded else None
    change = Revise(record=record, indexing=indexing, left=reworded, said=statement)
    others = left_of_others(runtime, scope, [existing]) if statement else []
    receipt, *_ = runtime.store.apply(scope.user, [change, *others])
    if statement is not None and receipt.changed:
        update_derived(runtime, scope, [statement.record.id], zone)
    return with_redactions(receipt, checked.kinds)


def _statement_of_messages(runtime: Runtime, scope: Scope, edited: MemoryRecord) -> AddMemory | None:
    """What the messages of a memory say, unless an earlier edit kept it: recall ranks them behind the edit."""
    if edited.said_at is None or not edited.source_ids:
        return None
    before = runtime.store.relations.predecessors(scope.user, [edited.id]).get(edited.id, ())
    if any(other.source_ids == edited.source_ids for other in before):
        return None
    statement = replace(edited, id=new_id("mem_"), key=None, version=1)
    ((_, indexing),) = runtime.indexer.indexed([statement])
    return AddMemory(record=statement, indexing=indexing)


def archive(runtime: Runtime, scope: Scope, ids: Iterable[str], reason: str, zone: tzinfo) -> Receipts:
    """Remove records from searches, in one transaction; receipts report ids that do not exist."""
    named = validation.words("ids", ids)
    while True:
        known = runtime.store.docs_of(scope.user, named)
        changes = [Archive(id=id_, reason=reason, everywhere=True) for id_ in named if id_ in known]
        try:
            applied = iter(runtime.store.apply(scope.user, changes) if changes else ())
        except NotFound:  # one was erased meanwhile
            continue
        break
    receipts = [next(applied) if id_ in known else _unknown(runtime, id_) for id_ in named]
    return Receipts([*receipts, *update_derived(runtime, scope, named, zone)])


def restore(runtime: Runtime, scope: Scope, ids: Iterable[str], zone: tzinfo) -> Receipts:
    """Bring archived records back."""
    named = validation.words("ids", ids)
    receipts: list[Receipt] = []
    for id_ in named:
        try:
            receipts += runtime.store.apply(scope.user, [Restore(id=id_)])
            if receipts[-1].outcome == "restored":
                archive_omission(runtime, scope, id_)
        except NotFound:
            receipts.append(_unknown(runtime, id_))
    return Receipts([*receipts, *update_derived(runtime, scope, named, zone)])


def _unknown(runtime: Runtime, id_: str) -> Receipt:
    name = runtime.secrets.name(id_)
    return Receipt(id=name, outcome="rejected", reason=f"This user has no record with the id {name!r}.")


def quarantine(
    runtime: Runtime,
    user: str,
    ids: Iterable[str] | None,
    *,
    source: str | None,
    session: str | None,
    reason: str,
    zone: tzinfo,
) -> Receipts:
    """Quarantine records by id, or those of a source or a conversation; see ``Admin.quarantine``."""
    if (ids is None) == (source is None and session is None):
        raise InvalidInput("quarantine() takes either ids, or source= and session=.")
    reason = validation.text("reason", reason)
    source, session = validation.optional("source", source), validation.optional("session", session)
    session_name = None if session is None else runtime.secrets.name(session)
    record_ids = validation.words("ids", ids) if ids is not None else _records_of(runtime, user, source, session_name)
    if not record_ids:
        return Receipts()
    lifecycle = runtime.store.lifecycle
    before = set(lifecycle.quarantined(user))
    runtime.store.apply(user, [Quarantine(ids=tuple(record_ids), reason=runtime.secrets.redacted(reason)[0])])
    quarantined = [id_ for id_ in lifecycle.quarantined(user) if id_ not in before]
    update_summaries(runtime, Scope(user=user), quarantined, zone)
    return Receipts(Receipt(id=id_, outcome="quarantined", reason=reason) for id_ in quarantined)


def release(runtime: Runtime, user: str, ids: Iterable[str], zone: tzinfo) -> Receipts:
    """Release records from quarantine; see ``Admin.release``."""
    record_ids = validation.words("ids", ids)
    if not record_ids:
        return Receipts()
    before = runtime.store.lifecycle.quarantined(user)
    runtime.store.apply(user, [Release(ids=tuple(record_ids))])
    remaining = set(runtime.store.lifecycle.quarantined(user))
    released = [id_ for id_ in before if id_ not in remaining]
    update_summaries(runtime, Scope(user=user), released, zone)
    return Receipts(Receipt(id=id_, outcome="restored") for id_ in released)


def _records_of(runtime: Runtime, user: str, source: str | None, session: str | None) -> list[str]:
    """Ids of all records of a source, of a conversation, or both."""
    store = runtime.store
    reach = RecordFilter(reach="user", in_session=session, status=EVERYWHERE, expired=True)
    records: list[Record] = [*store.list_messages(user, reach, limit=None, newest=False)]
    records += store.knowledge.episodes(user, reach, limit=None, newest=False)
    records += store.list_memories(user, reach, order="oldest", limit=None, offset=0)
    return [str(record.id) for record in records if source is None or _comes_from(record, source)]


def _comes_from(record: Record, source: str) -> bool:
    return record.source == source or (isinstance(record, Message) and record.role != "user" and record.name == source)
