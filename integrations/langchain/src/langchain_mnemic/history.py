"""MnemicChatMessageHistory: the messages of one conversation, kept as evidence."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langchain_mnemic.messages import entry, restored, well_formed
from mnemic import InvalidInput, Memory, Message, Scope
from mnemic.adapters import Conversation, bound, checked_memory, thread_of


class MnemicChatMessageHistory(BaseChatMessageHistory):
    """One conversation, in order; what is read equals what was added.

    A conversation belongs to the project of ``memory``: the same name in another project is another conversation.

    Adding the same message (same id, same content) twice stores it once; messages without an id are always stored.

    ``clear`` ends the conversation with a summary and forgets nothing: ``messages`` is empty afterwards, in every process
    and after every restart, while ``memory.search`` still finds what was said. What is added next belongs to a new session,
    ``"<session_id>#reset1"``, then ``#reset2``. To erase, use ``memory.forget``.

    Args:
        memory: the memory to keep it in.
        session_id: the name of the conversation; a number or a UUID stands for its text.
        scope: whose conversation it is; names it leaves out are those of ``memory``. ``session_id`` takes the place of
            its session.
        limit: read at most this many messages, the latest; None reads all.
        idle: arm ``memory.idle`` when something is added: after an idle period new messages are processed and consolidated,
            and the conversation is summarized, on a background thread.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``.
        InvalidInput: ``session_id`` or ``scope`` is not usable.
    """

    def __init__(
        self,
        memory: Memory,
        session_id: str | int | uuid.UUID,
        *,
        scope: Scope | Mapping[str, str] | None = None,
        limit: int | None = None,
        idle: bool = True,
    ) -> None:
        super().__init__()
        if session_id is None:  # pyright: ignore[reportUnnecessaryComparison] - callers are not all typed
            raise InvalidInput("session_id must name a conversation, and is None: that would be all of the user's.")
        self._conversation = Conversation(bound(checked_memory(memory), scope, None), str(session_id))
        self._limit, self._idle = limit, idle

    @property
    def session(self) -> str:
        """The session that new messages belong to: the name of the conversation until it is cleared."""
        return self._conversation.session

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - declared as a field, documented as a property
        """The messages since the conversation began or was cleared, oldest first."""
        return self.latest(self._limit)

    def latest(self, count: int | None) -> list[BaseMessage]:
        """The last ``count`` messages, oldest first; all of them for None.

        Without what a model provider would reject: a tool's call or result without the other, because that was forgotten or is
        not among the last ones, and then an answer before the first words of a user.
        """
        messages = [restored(message) for message in self.records(count)]
        return well_formed(messages, complete=count is None and not self._conversation.has_forgotten)

    def records(self, count: int | None) -> list[Message]:
        """The last ``count`` messages as they are stored, oldest first; all of them for None."""
        return self._conversation.messages(count)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in the order given.

        Raises:
            InvalidInput: one of them cannot be stored; then none was, unless the message says so.
            StoreError: the store refuses.
        """
        handle = self._conversation.handle
        entries = [entry(message, handle.admin.redacted) for message in messages]
        receipts = handle.add(thread_of(handle, entries).entries())
        if rejected := receipts.rejected:
            reasons = "; ".join(f"{receipt.id}: {receipt.reason}" for receipt in rejected)
            raise InvalidInput(f"{len(rejected)} of {len(receipts)} messages were not stored: {reasons}.")
        self._arm(handle)

    def clear(self) -> None:
        """End the conversation; long-term memory keeps it, and a summary. An empty one is left as it is."""
        if self._conversation.messages(1):
            self._arm(self._conversation.handle)
            self._conversation.end()

    def _arm(self, handle: Memory) -> None:
        """Restart the idle period."""
        if self._idle:
            handle.idle.arm(handle.scope)
