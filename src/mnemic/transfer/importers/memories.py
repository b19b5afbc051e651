"""Storing the memories of a file: whose each is, which are there already, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, get_args

from mnemic.errors import InvalidInput
from mnemic.knowledge import remember
from mnemic.lifecycle import maintenance
from mnemic.recall import validation
from mnemic.runtime import redaction, scopes
from mnemic.text.clock import aware, now
from mnemic.transfer.importers.found import Damage, Found
from mnemic.types import MemoryRecord, Receipt, Scope, Status

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

__all__ = ["NOBODY", "Tally", "look", "owned", "store"]

NOBODY = "none"
"""As the field that says whose a memory is: no field does, all are of the one user."""

TRUST = 0.7
"""Of what a model wrote, as of everything with the source ``model_inference``."""

NAMED = 5
"""How many users an error names."""


@dataclass(slots=True)
class Tally:
    """What became of the memories of one user."""

    memories: int = 0
    stored: int = 0
    replacing: int = 0
    duplicate: int = 0
    rejected: list[Receipt] = field(default_factory=list[Receipt])

    def count(self, receipt: Receipt) -> None:
        """One more that was tried."""
        if receipt.outcome in ("stored", "superseded"):
            self.stored += 1
            self.replacing += receipt.outcome == "superseded"
        elif receipt.outcome == "duplicate":
            self.duplicate += 1
        else:
            self.rejected.append(receipt)

    def line(self) -> str:
        """In words."""
        replacing = f" ({self.replacing} in place of an earlier one)" if self.replacing else ""
        return f"{self.stored} stored{replacing}, {self.duplicate} already there, {len(self.rejected)} rejected"


def owned(
    found: Sequence[Found], *, user: str, field: str | None, only: str | None
) -> tuple[dict[str, list[Found]], list[Damage], int]:
    """The memories of each user in the order in which they were written, those that are nobody's, and how many are of others.

    Args:
        found: what the file holds.
        user: whose they are where no field says so.
        field: the field that says so; ``NOBODY``: none does; None: none, but then the file may speak of one user only.
        only: take those of this user alone.

    Raises:
        InvalidInput: the file speaks of several users, and nobody says what that means.
    """
    if field is None:
        _one_user(found)
    if only is not None and field in (None, NOBODY):
        raise InvalidInput("--only chooses one of the users that --user-from tells apart. Give both.")
    mine: dict[str, list[Found]] = {}
    damaged: list[Damage] = []
    others = 0
    for one in sorted(found, key=_when):
        owner = user if field in (None, NOBODY) else one.names.get(field)
        if owner is None:
            damaged.append(Damage(one.place, f"{one.place} has no {field}: nobody knows whose it is."))
        elif only is not None and owner != only:
            others += 1
        elif (wrong := _unusable(owner)) is not None:
            damaged.append(Damage(one.place, f"{one.place}.{field} {owner!r:.60} cannot be a user: {wrong}"))
        else:
            mine.setdefault(owner, []).append(one)
    return mine, damaged, others


def _one_user(found: Sequence[Found]) -> None:
    """Refuse to make one user of several."""
    names = dict.fromkeys(one.names["user_id"] for one in found if "user_id" in one.names)
    field, what = "user_id", "users"
    if not names:
        names = dict.fromkeys(".".join(one.names.values()) for one in found if "namespace.0" in one.names)
        field, what = _telling(found), "namespaces"
    if len(names) > 1:
        some = ", ".join([*names][:NAMED]) + (", ..." if len(names) > NAMED else "")
        raise InvalidInput(
            f"The file holds memories of {len(names)} {what} ({some}). Say whose they are: --user-from {field} gives each "
            f"a user of that name, with --only NAME just one of them, and --user-from {NOBODY} makes them all the user's."
        )


def _telling(found: Sequence[Found]) -> str:
    """The first label of the namespaces that is not the same in all of them."""
    for place in range(max((len(one.names) for one in found), default=0)):
        if len({one.names.get(f"namespace.{place}") for one in found}) > 1:
            return f"namespace.{place}"
    return "namespace.0"


def _when(one: Found) -> datetime:
    """When it was written; what has no time comes last."""
    return aware(one.changed, UTC) if one.changed else datetime.max.replace(tzinfo=UTC)


def _unusable(user: str) -> str | None:
    try:
        scopes.scope(user)
    except InvalidInput as error:
        return str(error)
    return None


class _Known:
    """What a user has at a level, live or not: nothing of it is brought back by an import."""

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime, self._scope = runtime, scope
        filters = validation.filters(
            Scope(user=scope.user),
            UTC,
            kinds=("memory",),
            reach="user",
            status=get_args(Status),
            expired=True,
            searched=False,
        )
        held = runtime.store.list_memories(scope.user, filters, order="oldest", limit=None, offset=0)
        self._ids = {record.id for record in held}
        self._said: dict[str, str] = {}
        for record in held:
            if (record.project, record.session) == (scope.project, None):
                self.learn(record)

    def learn(self, record: MemoryRecord) -> None:
        """A memory that is there."""
        self._ids.add(record.id)
        self._said[record.content.strip()] = record.id

    def told(self, record: MemoryRecord) -> Receipt | None:
        """What to say of a memory that is there already: its id, or its words from before the memory with them ended."""
        if record.id in self._ids:
            return Receipt(id=record.id, outcome="duplicate", reason="it was imported before")
        twin = self._said.get(record.content.strip())
        if twin is None or not self._stands(twin, record.valid_at or record.created_at):
            return None
        return Receipt(id=twin, outcome="duplicate", reason="the same statement is remembered already")

    def _stands(self, id: str, said: datetime) -> bool:
        """Whether a memory still stood at that time."""
        if not self._runtime.store.docs_of(self._scope.user, [id]):
            return True  # it would have been stored
        held = self._runtime.store.get(self._scope.user, id).value
        return not isinstance(held, MemoryRecord) or held.invalid_at is None or said < held.invalid_at


def look(runtime: Runtime, scope: Scope, found: Iterable[Found], zone: tzinfo) -> Tally:
    """What would become of memories, as far as it can be told without storing them."""
    known, tally = _Known(runtime, scope), Tally()
    for one in found:
        guarded = redaction.check_record(runtime.secrets, runtime.fence, _record(one, scope, zone))
        record: MemoryRecord = guarded.record
        receipt = _refused(guarded) or known.told(record) or Receipt(id=record.id, outcome="stored")
        if receipt.outcome == "stored":
            known.learn(record)
        tally.memories += 1
        tally.count(receipt)
    return tally


def store(
    runtime: Runtime, scope: Scope, found: Iterable[Found], zone: tzinfo, *, tally: Tally, step: Callable[[], None]
) -> None:
    """Store memories, oldest first, so that a later statement takes the place of an earlier one; then embed what waits."""
    known = _Known(runtime, scope)
    for one in found:
        guarded = redaction.check_record(runtime.secrets, runtime.fence, _record(one, scope, zone))
        record: MemoryRecord = guarded.record
        receipt = _refused(guarded) or known.told(record)
        if receipt is None:
            receipt = redaction.with_redactions(remember.store(runtime, scope, record), guarded.kinds)
            if receipt.outcome in ("stored", "superseded"):
                known.learn(record)
        tally.memories += 1
        tally.count(receipt)
        step()
    maintenance.embed_pending(runtime)


def _refused(guarded: redaction.CheckedRecord) -> Receipt | None:
    record: MemoryRecord = guarded.record
    return Receipt(id=record.id, outcome="rejected", reason=guarded.refusal) if guarded.refusal else None


def _record(one: Found, scope: Scope, zone: tzinfo) -> MemoryRecord:
    """The memory that an item becomes, with the times it has."""
    moment = now().astimezone(zone)
    changed = aware(one.changed, zone) if one.changed else moment
    created = aware(one.created, zone) if one.created else changed
    return MemoryRecord(
        id=one.id, content=one.content, type=one.type, category=one.category, tags=one.tags, metadata=_apart(one, scope),
        project=scope.project, source="model_inference", trust=TRUST, said_at=changed, valid_at=changed,
        created_at=created, updated_at=changed, delete_after=None if one.until is None else aware(one.until, zone),
    )  # fmt: skip


def _apart(one: Found, scope: Scope) -> Mapping[str, object]:
    """The metadata without what the scope says."""
    return {name: value for name, value in one.metadata.items() if (name, value) != ("user_id", scope.user)}
