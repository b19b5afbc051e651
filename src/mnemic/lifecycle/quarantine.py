"""Quarantine of doubtful records."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from types import NoneType

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.lifecycle.revision import update_summaries
from mnemic.runtime.runtime import Runtime
from mnemic.types import Episode, MemoryRecord, Message, Quarantine, Receipt, Receipts, RecordFilter, Release, Scope

_ALL_STATUSES = ("short_term", "consolidating", "long_term", "archived")


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
    if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
        raise InvalidInput("reason must be a string.")
    for name, value in (("source", source), ("session", session)):
        if not isinstance(value, (str, NoneType)):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
            raise InvalidInput(f"{name} must be a string.")
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
    reach = RecordFilter(reach="user", in_session=session, status=_ALL_STATUSES, expired=True)
    records: list[Message | Episode | MemoryRecord] = [*store.list_messages(user, reach, limit=None, newest=False)]
    records += store.knowledge.episodes(user, reach, limit=None, newest=False)
    records += store.list_memories(user, reach, order="oldest", limit=None, offset=0)
    return [str(record.id) for record in records if source is None or _comes_from(record, source)]


def _comes_from(record: Message | Episode | MemoryRecord, source: str) -> bool:
    return record.source == source or (isinstance(record, Message) and record.role != "user" and record.name == source)
