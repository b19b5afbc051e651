"""Named conversations that can be ended: whoever opens one later, in any process, finds what was said since.

How often a conversation was ended is the number of its markers: archived messages with computable ids that no search finds.
"""

from __future__ import annotations

import hashlib
import uuid
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from typing import Any, get_args

from mnemic.adapters.threads import Thread, Words, left_out, unstored, words_of
from mnemic.errors import InvalidInput, NotFound
from mnemic.memory import Memory
from mnemic.types import Message
from mnemic.types.literals import Status

_SUFFIX = "#reset"
_MARK = {"mnemic": "withdrawn"}
"""Of the archived message that names the messages which an edit took out of a history."""


def session_messages(memory: Memory, session: str, limit: int | None = None, **filters: Any) -> list[Message]:
    """The last messages of a session of the handle's project, oldest first; without a project, of those that have none.

    Args:
        memory: with the project.
        session: its name.
        limit: most messages; None for all.
        filters: more of ``Filters``.
    """
    if memory.scope.project is None:  # a project that does not exist sees its own messages and those of no project
        return memory.scoped(project=f"none-{uuid.uuid4().hex}").messages(session=session, limit=limit, **filters)
    return memory.messages(session=session, reach="project", limit=limit, **filters)


def session_words(memory: Memory, session: str, limit: int) -> list[Words]:
    """The words of the user and the assistant in the last ``limit`` messages of a session, oldest first."""
    return [words_of(m) for m in session_messages(memory, session, limit) if m.role in ("user", "assistant")]


def unstored_in_session(
    memory: Memory, session: str, words: Sequence[Words], seen: Sequence[Words], limit: int
) -> tuple[list[Words], list[int]]:
    """The words of a session, and the positions in a history without ids of what it never held.

    A forgotten message is still held. An erased one is not, so that after an erasure, and for a session that is longer than
    ``limit``, a gap counts as erased; see ``unstored``.

    Args:
        memory: with the project.
        session: its name.
        words: of the history, oldest first.
        seen: of the history as it was shown before: this was stored then, and may be erased since.
        limit: how many of the latest messages of the session are compared.
    """
    messages = session_messages(memory, session, limit, status=get_args(Status))
    complete = len(messages) < limit and not memory.admin.log(operations=["erase"], limit=1)
    stored = [words_of(message) for message in messages if message.role in ("user", "assistant")]
    unseen = {*unstored(seen, words, complete=complete)}
    return stored, [i for i in unstored(stored, words, complete=complete) if i in unseen]


def shown_in_session(memory: Memory, session: str, words: Iterable[Words], limit: int) -> list[str]:
    """The ids of the last ``limit`` messages of a session that a history without ids shows, or had until it was edited.

    What was taken out before the first message that is left is no edit of this history, but an older one.
    """
    shown, messages = {*words}, session_messages(memory, session, limit)
    removed = edited_out(memory, session, messages)
    edited = dropwhile(lambda message: message.id in removed, messages)
    replaced = {message.id for message in edited if message.id in removed}
    return [m.id for m in messages if m.id is not None and (words_of(m) in shown or m.id in replaced)]


def edited_out(memory: Memory, session: str, messages: Iterable[Message]) -> set[str | None]:
    """The ids of those messages that edits took out of the history of their session; they stay evidence, and active.

    Args:
        memory: with the project.
        session: its name.
        messages: of the session.
    """
    names = {*_edited_names(memory, session)}
    return {message.id for message in messages if names and name_of(message) in names}


def _edited_names(memory: Memory, session: str) -> list[str]:
    last = session_messages(memory, session, 1, status="archived", metadata=_MARK)
    return [str(name) for message in last for name in message.metadata.get("messages", ())]


def name_of(message: Message) -> str:
    """A digest of the id, for metadata: the id may look like a card number and would be redacted, and has one of the text."""
    return hashlib.blake2b(str(message.id).encode(errors="replace"), digest_size=6).hexdigest()


def note_edit(memory: Memory, session: str, edited: Sequence[Words], replaced: Sequence[Words], limit: int) -> None:
    """Note which messages of a session its edited history leaves out, and which it has again; see ``left_out``.

    Args:
        memory: with the project and session.
        session: its name.
        edited: the words of the edited history.
        replaced: the words of the history before the edit; what it did not show is not taken out.
        limit: how many of the latest messages of the session are compared.
    """
    before, seen = _edited_names(memory, session), {*replaced}
    messages = ((name_of(m), words_of(m)) for m in session_messages(memory, session, limit))
    recorded = [(name, words) for name, words in messages if not edited or words in seen or name in before]
    after = left_out(recorded, edited, before)
    if after != before:
        mark = Message(role="system", content="The history was edited.", metadata={**_MARK, "messages": after})
        receipts = memory.add([mark])
        memory.forget(ids=[receipt.id for receipt in receipts], reason="marks the edit of a history")


class Conversation:
    """A conversation of one project, known by its name.

    Until it is ended its session is its name, then ``"<name>#reset1"``, ``#reset2`` and so on. A name that itself ends like
    that gets ``#reset0``.

    Args:
        memory: with the user and project.
        name: of the conversation.
    """

    def __init__(self, memory: Memory, name: str) -> None:
        self.name = name
        self.memory = memory.scoped(session=self._session(0))

    @property
    def session(self) -> str:
        """The session it is in."""
        return self._session(self._reset_count())

    @property
    def handle(self) -> Memory:
        """A handle on the session it is in."""
        return self.memory.scoped(session=self.session)

    def messages(self, limit: int | None = None) -> list[Message]:
        """The last messages since it began or was ended, oldest first; all for None."""
        return session_messages(self.memory, self.session, limit)

    def end(self) -> None:
        """End the session with a summary, in every process and for good; what was said stays in long-term memory.

        Raises:
            InvalidInput: the record rejects the marker.
        """
        self.handle.sessions.summarise()
        marker = self._marker(self._reset_count() + 1)
        receipts = self.memory.add([Message(role="system", content="The conversation was reset.", id=marker)])
        if receipts.rejected:
            raise InvalidInput(f"The conversation was not reset: {receipts.rejected[0].reason}. Use another name.")
        self.memory.forget(ids=[marker], reason="marks the reset of a conversation")

    def _session(self, ended: int) -> str:
        _, suffix, number = self.name.rpartition(_SUFFIX)
        return f"{self.name}{_SUFFIX}{ended}" if ended or (suffix and number.isdecimal()) else self.name

    def _marker(self, number: int) -> str:
        return Thread((), scope=self.memory.scope, clean=str).record_id("reset", str(number))

    def _has_marker(self, number: int) -> bool:
        try:
            self.memory.get(self._marker(number))
        except NotFound:
            return False
        return True

    def _reset_count(self) -> int:
        """The number of the last marker; they have no gaps, so doubling and halving finds it in a few reads."""
        high = 1
        while self._has_marker(high):
            high *= 2
        low = high // 2
        return low + bisect_left(range(low + 1, high), True, key=lambda number: not self._has_marker(number))  # noqa: FBT003
