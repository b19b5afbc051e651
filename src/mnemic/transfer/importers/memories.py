"""Importing the memories of a file: their users, duplicates, and storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, get_args

from mnemic.errors import InvalidInput
from mnemic.knowledge import remember
from mnemic.runtime import redaction, scopes
from mnemic.text.values import aware, now
from mnemic.transfer.importers.fields import Damage, Found
from mnemic.types import MemoryRecord, Receipt, RecordFilter, Scope, Status

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

NOBODY = "none"
"""Value of ``user_from``: no field names the user, all memories belong to one."""

TRUST = 0.7
"""The trust of imported memories, as of all records with the source ``model_inference``."""

NAMED = 5
"""Maximum number of users named in an error."""


def by_user(
    found: Sequence[Found], *, user: str, field: str | None, only: str | None
) -> tuple[dict[str, list[Found]], list[Damage], int]:
    """Memories by user, oldest first; memories without a valid user; and the number of those of other users.

    Args:
        found: the memories of the file.
        user: the user if no field names one.
        field: the field that names the user; ``NOBODY``: none; None: none, and the file must have a single user.
        only: import only the memories of this user.

    Raises:
        InvalidInput: the file has several users, but no field is given.
    """
    if field is None:
        _one_user(found)
    if only is not None and field in (None, NOBODY):
        raise InvalidInput("--only selects one of the users named by --user-from. Give both.")
    mine: dict[str, list[Found]] = {}
    damaged: list[Damage] = []
    others = 0
    for one in sorted(found, key=_when):
        owner = user if field in (None, NOBODY) else one.names.get(field)
        if owner is None:
            damaged.append(Damage(one.place, f"{one.place} has no {field}: its user is unknown."))
        elif only is not None and owner != only:
            others += 1
        elif (wrong := _user_error(owner)) is not None:
            damaged.append(Damage(one.place, f"{one.place}.{field} {owner!r:.60} cannot be a user: {wrong}"))
        else:
            mine.setdefault(owner, []).append(one)
    return mine, damaged, others


def _one_user(found: Sequence[Found]) -> None:
    """Refuse a file with several users."""
    names = dict.fromkeys(one.names["user_id"] for one in found if "user_id" in one.names)
    field, what = "user_id", "users"
    if not names:
        names = dict.fromkeys(".".join(one.names.values()) for one in found if "namespace.0" in one.names)
        field, what = _distinguishing_field(found), "namespaces"
    if len(names) > 1:
        some = ", ".join([*names][:NAMED]) + (", ..." if len(names) > NAMED else "")
        raise InvalidInput(
            f"The file holds memories of {len(names)} {what} ({some}). Choose by the field that names them: user_from="
            f"{field!r} takes those of this user, {NOBODY!r} all of them for this user. On the command line "
            f"--user-from {field} makes a user for each name, with --only NAME for one of them."
        )


def _distinguishing_field(found: Sequence[Found]) -> str:
    """The first field of the namespaces that differs between memories."""
    for place in range(max((len(one.names) for one in found), default=0)):
        if len({one.names.get(f"namespace.{place}") for one in found}) > 1:
            return f"namespace.{place}"
    return "namespace.0"


def _when(one: Found) -> datetime:
    """The sort key by time of change; undated memories come last."""
    return aware(one.changed, UTC) if one.changed else datetime.max.replace(tzinfo=UTC)


def _user_error(user: str) -> str | None:
    try:
        scopes.scope(user)
    except InvalidInput as error:
        return str(error)
    return None


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
        id=one.id, content=one.content, type=one.type, category=one.category, tags=one.tags, metadata=_metadata(one, scope),
        project=scope.project, source="model_inference", trust=TRUST, said_at=changed, valid_at=changed,
        invalid_at=None if one.ended is None else aware(one.ended, zone), created_at=created, updated_at=changed,
        delete_after=None if one.until is None else aware(one.until, zone),
    )  # fmt: skip


def _metadata(one: Found, scope: Scope) -> Mapping[str, object]:
    """The metadata without a ``user_id`` equal to that of the scope."""
    return {name: value for name, value in one.metadata.items() if (name, value) != ("user_id", scope.user)}
