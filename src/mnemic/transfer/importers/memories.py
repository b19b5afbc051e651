"""Storing the memories of a file: new ones, duplicates, and what changed since an earlier import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from mnemic.ingest import check_record, unstored, with_redactions
from mnemic.knowledge import remember
from mnemic.lifecycle import edits
from mnemic.text.values import aware, now
from mnemic.transfer.importers.fields import ParsedMemory
from mnemic.types import Event, MemoryRecord, Receipt, RecordFilter, Scope, Status

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

TRUST = 0.7
"""The trust of imported memories, as of all records with the source ``model_inference``."""


def when_changed(memory: ParsedMemory) -> datetime:
    """The sort key by time of change; undated memories come last."""
    return aware(memory.changed, UTC) if memory.changed else datetime.max.replace(tzinfo=UTC)


class _Stored:
    """The memories of a user by id, live or not: an import must not bring any of them back."""

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime, self._scope = runtime, scope
        filters = RecordFilter(kinds=("memory",), reach="user", status=get_args(Status), expired=True)
        records = runtime.store.list_memories(scope.user, filters, order="oldest", limit=None, offset=0)
        self._by_id = {record.id: record for record in records}
        self._imported: set[str] = set()
        self._ids_by_text = {
            record.content.strip(): record.id
            for record in records
            if (record.project, record.session) == (scope.project, None)
        }

    def get(self, id: str) -> MemoryRecord | None:
        """The memory with an id, as it was before this import or became by it."""
        return self._by_id.get(id)

    def add(self, record: MemoryRecord) -> None:
        """Add a memory that was imported."""
        before = self._by_id.get(record.id)
        if before is not None and self._ids_by_text.get(before.content.strip()) == record.id:
            del self._ids_by_text[before.content.strip()]
        self._by_id[record.id] = record
        self._ids_by_text[record.content.strip()] = record.id
        self._imported.add(record.id)

    def duplicate_of(self, record: MemoryRecord) -> Receipt | None:
        """The receipt for a duplicate of the text of a memory that was valid at that time."""
        duplicate = self._ids_by_text.get(record.content.strip())
        if duplicate is None:
            return None
        ended = self._by_id[duplicate].invalid_at
        if ended is not None and (record.valid_at or record.created_at) >= ended:
            return None
        return Receipt(id=duplicate, outcome="duplicate", reason="the same statement is already stored")

    def is_later(self, record: MemoryRecord) -> bool:
        """Whether a record was changed after the text that is stored under its id, here or where it comes from."""
        existing, changed = self._by_id[record.id], record.said_at or record.created_at
        if changed <= (existing.said_at or existing.created_at):
            return False
        texts = [] if record.id in self._imported else self._texts(record.id)
        return all(event.at < changed for before, event in pairwise(texts) if event.content != before.content)

    def said(self, record: MemoryRecord) -> bool:
        """Whether the memory with the id of a record says the same, or did before it was edited."""
        if self._by_id[record.id].content == record.content:
            return True
        return record.id not in self._imported and record.content in {event.content for event in self._texts(record.id)}

    def _texts(self, id: str) -> list[Event]:
        return [event for event in self._runtime.store.history(self._scope.user, id) if event.content is not None]


def store(
    runtime: Runtime, scope: Scope, memories: Iterable[ParsedMemory], zone: tzinfo, *, dry_run: bool = False
) -> Iterator[Receipt]:
    """Store memories, oldest first, so that later statements supersede earlier ones.

    What was changed since an earlier import becomes the next version of its memory. A dry run gives the expected receipts,
    without storing anything.
    """
    stored = _Stored(runtime, scope)
    for memory in memories:
        checked = check_record(runtime.secrets, runtime.fence, _record(memory, scope, zone))
        record: MemoryRecord = checked.record
        old = stored.get(record.id)
        changes = {} if old is None else _new_values(stored, old, record, dated=memory.changed is not None)
        receipt = _outcome(stored, old, record, changes) if old else stored.duplicate_of(record)
        receipt = unstored(checked) if checked.refusal else receipt
        if receipt is None:
            receipt = (
                Receipt(id=record.id, outcome="stored")
                if dry_run
                else with_redactions(_write(runtime, scope, record, changes, zone), checked.kinds)
            )
        if receipt.changed:
            stored.add(record)
        yield receipt


def _new_values(stored: _Stored, existing: MemoryRecord, record: MemoryRecord, *, dated: bool) -> dict[str, Any]:
    """What a memory of a file changes in the one with its id: an earlier end, and whatever was changed later."""
    end, changes = record.invalid_at, dict[str, Any]()
    if dated and stored.is_later(record):
        new = {name: getattr(record, name) for name in ("content", "tags", "metadata", "delete_after")}
        changes = {name: value for name, value in new.items() if value and value != getattr(existing, name)}
        changes |= {"said_at": record.said_at} if changes else {}
        changes |= {"valid_at": record.valid_at} if "content" in changes else {}
    holds = end is None or (existing.invalid_at and existing.invalid_at <= end)
    return changes if holds else {**changes, "invalid_at": end}


def _outcome(stored: _Stored, old: MemoryRecord, record: MemoryRecord, changes: Mapping[str, Any]) -> Receipt | None:
    """The receipt of a memory whose id is stored, unless it changes that."""
    if old.status == "archived" or (not changes and stored.said(record)):
        return Receipt(id=record.id, outcome="duplicate", reason="already imported")
    if not changes:
        why = "another text is stored under its id, and the file does not say that its own is later"
        return Receipt(id=record.id, outcome="rejected", reason=why)
    if "content" in changes and old.expired_at is not None:
        why = (
            "it was changed where it comes from, but another memory has taken its place here: update() it, or the other"
        )
        return Receipt(id=record.id, outcome="rejected", reason=why)
    return None


def _write(runtime: Runtime, scope: Scope, record: MemoryRecord, changes: dict[str, Any], zone: tzinfo) -> Receipt:
    if not changes:
        return remember.store(runtime, scope, record)
    existing = runtime.store.get(scope.user, record.id).value
    assert isinstance(existing, MemoryRecord)
    return edits.revise(runtime, scope, existing, changes, zone)


def _record(memory: ParsedMemory, scope: Scope, zone: tzinfo) -> MemoryRecord:
    """The memory record of an item, with its times."""
    moment = now().astimezone(zone)
    changed = aware(memory.changed, zone) if memory.changed else moment
    created = aware(memory.created, zone) if memory.created else changed
    return MemoryRecord(
        id=memory.id, content=memory.content, type=memory.type, category=memory.category, tags=memory.tags,
        metadata=memory.metadata, project=scope.project, source="model_inference", trust=TRUST, said_at=changed,
        valid_at=changed,
        invalid_at=None if memory.ended is None else aware(memory.ended, zone), created_at=created, updated_at=changed,
        delete_after=None if memory.until is None else aware(memory.until, zone),
    )  # fmt: skip
