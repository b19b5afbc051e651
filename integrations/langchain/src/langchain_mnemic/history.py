"""MnemicChatMessageHistory: the messages of one conversation, kept as evidence."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langchain_mnemic.binding import checked
from langchain_mnemic.messages import entry, id_prefix, record_id, restored
from mnemic import InvalidInput, Memory, Message, NotFound

__all__ = ["MnemicChatMessageHistory"]

_SUFFIX = re.compile(r"#cleared\d+$")


class MnemicChatMessageHistory(BaseChatMessageHistory):
    """One conversation, in order; what is read equals what was added.

    A conversation belongs to the project of ``memory``: the same name in another project is another conversation.

    Adding the same message (same id, same content) twice stores it once; messages without an id are always stored.

    ``clear`` ends the conversation and forgets nothing: ``messages`` is empty afterwards, in every process and after
    every restart, while ``memory.search`` still finds what was said. What is added next belongs to a new session,
    ``"<session_id>#cleared1"``, then ``#cleared2``. To erase, use ``memory.forget``.

    Args:
        memory: the memory to keep it in; for another user pass ``memory.scoped(user=...)``.
        session_id: the name of the conversation; a number or a UUID stands for its text.
        limit: read at most this many messages, the latest; None reads all.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``.
        InvalidInput: ``session_id`` is not a usable name.
    """

    def __init__(self, memory: Memory, session_id: str | int | uuid.UUID, *, limit: int | None = None) -> None:
        super().__init__()
        if session_id is None:  # pyright: ignore[reportUnnecessaryComparison] - callers are not all typed
            raise InvalidInput("session_id must name a conversation, and is None: that would be all of the user's.")
        self._name = str(session_id)
        self._memory = checked(memory).scoped(session=self._session(0))
        self._limit = limit

    @property
    def session(self) -> str:
        """The session that new messages belong to: the name of the conversation until it is cleared."""
        return self._session(self._cleared())

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - declared as a field, documented as a property
        """The messages since the conversation began or was cleared, oldest first."""
        return self.latest(self._limit)

    def latest(self, count: int | None) -> list[BaseMessage]:
        """The last ``count`` messages, oldest first; all of them for None."""
        return [restored(message) for message in self.records(count)]

    def records(self, count: int | None) -> list[Message]:
        """The last ``count`` messages as they are stored, oldest first; all of them for None."""
        return self._said(self.session, count)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in the order given.

        Raises:
            InvalidInput: one of them cannot be stored; then none was, unless the message says so.
            StoreError: the store refuses.
        """
        handle = self._memory.scoped(session=self.session)
        prefix = id_prefix(handle.scope)
        receipts = handle.add([entry(message, prefix=prefix, clean=handle.trust.redacted) for message in messages])
        if rejected := receipts.rejected:
            reasons = "; ".join(f"{receipt.id}: {receipt.reason}" for receipt in rejected)
            raise InvalidInput(f"{len(rejected)} of {len(receipts)} messages were not stored: {reasons}.")

    def clear(self) -> None:
        """End the conversation; long-term memory keeps it. An empty one is left as it is."""
        cleared = self._cleared()
        if not self._said(self._session(cleared), 1):
            return
        marker = Message(role="system", content=f"Conversation {self._name!r} ended.", id=self._marker(cleared + 1))
        if rejected := self._memory.add([marker]).rejected:
            raise InvalidInput(f"The conversation was not cleared: {rejected[0].reason}. Name it otherwise.")
        self._memory.forget(ids=[self._marker(cleared + 1)], reason="marks the end of a conversation")

    def _said(self, session: str, limit: int | None) -> list[Message]:
        """The messages of a session of this project; without a project, of those that belong to none."""
        if self._memory.scope.project is None:  # a project that nobody has sees its own messages and those of none
            nowhere = self._memory.scoped(project=f"none-{uuid.uuid4().hex}")
            return nowhere.messages(session=session, limit=limit)
        return self._memory.messages(session=session, reach="project", limit=limit)

    def _session(self, cleared: int) -> str:
        """What the record calls it: a name that looks like that of a cleared conversation gets a suffix as well."""
        return f"{self._name}#cleared{cleared}" if cleared or _SUFFIX.search(self._name) else self._name

    # A conversation was cleared as often as it has markers: archived messages whose ids can be computed.

    def _marker(self, number: int) -> str:
        return record_id(id_prefix(self._memory.scope), "cleared", str(number))

    def _marked(self, number: int) -> bool:
        try:
            self._memory.get(self._marker(number))
        except NotFound:
            return False
        return True

    def _cleared(self) -> int:
        """The number of the last marker; they have no gaps, so doubling and halving finds it in a few reads."""
        high = 1
        while self._marked(high):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._marked(middle) else (low, middle)
        return low
