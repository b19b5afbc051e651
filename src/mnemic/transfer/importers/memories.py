"""Importing the memories of a file: duplicates, and storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, get_args

from mnemic.knowledge import remember
from mnemic.runtime import redaction
from mnemic.text.values import aware, now
from mnemic.transfer.importers.fields import Found
from mnemic.types import MemoryRecord, Receipt, RecordFilter, Scope, Status

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

TRUST = 0.7
"""The trust of imported memories, as of all records with the source ``model_inference``."""


def when_changed(one: Found) -> datetime:
    """The sort key by time of change; undated memories come last."""
    return aware(one.changed, UTC) if one.changed else datetime.max.replace(tzinfo=UTC)


class _Stored:
    """The memories of a user, live or not: an import must not bring any of them back."""

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime, self._scope = runtime, scope
        filters = RecordFilter(kinds=("memory",), reach="user", status=get_args(Status), expired=True)
        held = runtime.store.list_memories(scope.user, filters, order="oldest", limit=None, offset=0)
        self._ids = {record.id for record in held}
        self._said: dict[str, str] = {}
        for record in held:
            if (record.project, record.session) == (scope.project, None):
                self.add(record)

    def add(self, record: MemoryRecord) -> None:
        """Add a stored memory."""
        self._ids.add(record.id)
        self._said[record.content.strip()] = record.id

    def duplicate_of(self, record: MemoryRecord) -> Receipt | None:
        """The receipt for a duplicate: of a stored id, or of the text of a memory that was valid at that time."""
        if record.id in self._ids:
            return Receipt(id=record.id, outcome="duplicate", reason="already imported")
        duplicate = self._said.get(record.content.strip())
        if duplicate is None or not self._was_valid(duplicate, record.valid_at or record.created_at):
            return None
        return Receipt(id=duplicate, outcome="duplicate", reason="the same statement is already stored")

    def _was_valid(self, id: str, said: datetime) -> bool:
        """Whether a memory was valid at that time."""
        if not self._runtime.store.docs_of(self._scope.user, [id]):
            return True  # it would have been stored
        held = self._runtime.store.get(self._scope.user, id).value
        return not isinstance(held, MemoryRecord) or held.invalid_at is None or said < held.invalid_at


def store(
    runtime: Runtime, scope: Scope, found: Iterable[Found], zone: tzinfo, *, dry_run: bool = False
) -> Iterator[Receipt]:
    """Store memories, oldest first, so that later statements supersede earlier ones.

    A dry run gives the expected receipts, without storing anything.
    """
    known = _Stored(runtime, scope)
    for one in found:
        guarded = redaction.check_record(runtime.secrets, runtime.fence, _record(one, scope, zone))
        record: MemoryRecord = guarded.record
        receipt = _refused(guarded) or known.duplicate_of(record)
        if receipt is None and dry_run:
            receipt = Receipt(id=record.id, outcome="stored")
        elif receipt is None:
            receipt = redaction.with_redactions(remember.store(runtime, scope, record), guarded.kinds)
        if receipt.outcome in ("stored", "superseded"):
            known.add(record)
        yield receipt


def _refused(guarded: redaction.CheckedRecord) -> Receipt | None:
    record: MemoryRecord = guarded.record
    return Receipt(id=record.id, outcome="rejected", reason=guarded.refusal) if guarded.refusal else None


def _record(one: Found, scope: Scope, zone: tzinfo) -> MemoryRecord:
    """The memory record of an item, with its times."""
    moment = now().astimezone(zone)
    changed = aware(one.changed, zone) if one.changed else moment
    created = aware(one.created, zone) if one.created else changed
    return MemoryRecord(
        id=one.id, content=one.content, type=one.type, category=one.category, tags=one.tags, metadata=one.metadata,
        project=scope.project, source="model_inference", trust=TRUST, said_at=changed, valid_at=changed,
        invalid_at=None if one.ended is None else aware(one.ended, zone), created_at=created, updated_at=changed,
        delete_after=None if one.until is None else aware(one.until, zone),
    )  # fmt: skip
