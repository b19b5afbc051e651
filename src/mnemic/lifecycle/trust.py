"""Trust: quarantine of doubtful records, and the texts that never enter the record as they are."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType

from mnemic.errors import InvalidInput
from mnemic.ingest import fields
from mnemic.recall import validation
from mnemic.runtime.redaction import redact_errors
from mnemic.runtime.runtime import Runtime
from mnemic.safety.fences import without_recalled
from mnemic.types import Episode, MemoryRecord, Message, Quarantine, Receipt, Receipts, RecordFilter, Release, Scope

__all__ = ["Trust"]

_ALL = ("short_term", "consolidating", "long_term", "archived")


@redact_errors
class Trust:
    """What of a user's records can be relied on, and what never enters the record: ``memory.trust``."""

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime, self._scope = runtime, scope

    def quarantine(
        self,
        ids: Iterable[str] | None = None,
        *,
        source: str | None = None,
        session: str | None = None,
        reason: str = "",
    ) -> Receipts:
        """Exclude records, and everything derived from them, from searches, contexts and consolidation.

        Quarantined records stay reachable by id and in ``list(status=["quarantined"])``; nothing is derived from them,
        and only ``release`` brings them back.

        Args:
            ids: the records.
            source: instead, all records of a source such as ``"tool_external"``, or of a tool by its name.
            session: instead, all records of a conversation; with ``source``, those of both.
            reason: kept in their history.

        Returns:
            A receipt for each quarantined record.

        Raises:
            InvalidInput: no argument is given, or ids with another one.
            NotFound: there is no such record.
        """
        if (ids is None) == (source is None and session is None):
            raise InvalidInput("quarantine() takes either ids, or source= and session=.")
        if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
            raise InvalidInput("reason must be a string.")
        for name, value in (("source", source), ("session", session)):
            if not isinstance(value, (str, NoneType)):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are not all typed
                raise InvalidInput(f"{name} must be a string.")
        secrets, user = self._runtime.secrets, self._scope.user
        place = None if session is None else secrets.name(session)
        named = fields.words("ids", ids) if ids is not None else _records_of(self._runtime, user, source, place)
        if not named:
            return Receipts()
        lifecycle = self._runtime.store.lifecycle
        before = set(lifecycle.quarantined(user))
        self._runtime.store.apply(user, [Quarantine(ids=tuple(named), reason=secrets.redacted(reason)[0])])
        quarantined = [id_ for id_ in lifecycle.quarantined(user) if id_ not in before]
        return Receipts(Receipt(id=id_, outcome="quarantined", reason=reason) for id_ in quarantined)

    def release(self, ids: Iterable[str]) -> Receipts:
        """Release records from quarantine, and those derived from them, unless another source of these is still there.

        Returns:
            A receipt for each released record.

        Raises:
            NotFound: there is no such record.
        """
        named = fields.words("ids", ids)
        if not named:
            return Receipts()
        lifecycle, user = self._runtime.store.lifecycle, self._scope.user
        before = lifecycle.quarantined(user)
        self._runtime.store.apply(user, [Release(ids=tuple(named))])
        left = set(lifecycle.quarantined(user))
        return Receipts(Receipt(id=id_, outcome="restored") for id_ in before if id_ not in left)

    def redacted(self, text: str) -> str:
        """A text as it would be stored, with every secret replaced by a mark, if the policy redacts them.

        Compare this with stored texts, and derive names from it: a digest of a short secret would reveal it.

        Raises:
            InvalidInput: the text is not a string.
        """
        return self._runtime.secrets.redacted(validation.identifier(text))[0]

    def without_recalled(self, text: str) -> str:
        """A text without the contexts of this memory that were inserted into it; unchanged if it holds none.

        Stored texts are stripped automatically; use this for text that is shown again, such as a chat history.

        Raises:
            InvalidInput: the text is not a string.
        """
        rest = without_recalled(validation.identifier(text), self._runtime.fence)
        return text if rest is None else rest


def _records_of(runtime: Runtime, user: str, source: str | None, session: str | None) -> list[str]:
    """Ids of all records of a source, of a conversation, or both."""
    store = runtime.store
    reach = RecordFilter(reach="user", in_session=session, status=_ALL, expired=True)
    records: list[Message | Episode | MemoryRecord] = [*store.list_messages(user, reach, limit=None, newest=False)]
    records += store.knowledge.episodes(user, reach, limit=None, newest=False)
    records += store.list_memories(user, reach, order="oldest", limit=None, offset=0)
    return [str(record.id) for record in records if source is None or _comes_from(record, source)]


def _comes_from(record: Message | Episode | MemoryRecord, source: str) -> bool:
    return record.source == source or (isinstance(record, Message) and record.role != "user" and record.name == source)
