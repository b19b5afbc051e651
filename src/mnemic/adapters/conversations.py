"""Named conversations that can be ended: whoever opens one later, in any process, finds what was said since.

How often a conversation was ended is the number of its markers: archived messages with computable ids that no search finds.
For frameworks whose runs know only themselves, what a run says is stored once.
"""

from __future__ import annotations

import hashlib
import uuid
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import dropwhile, takewhile
from typing import Any, get_args

from mnemic.adapters.calls import log_rejected
from mnemic.adapters.threads import Thread, ThreadMessage, Words, left_out, unanswered, unstored, words_of
from mnemic.aio import AsyncMemory
from mnemic.errors import InvalidInput, NotFound
from mnemic.memory import Memory
from mnemic.text.english import ASKS, bare_words, is_base_form, traits
from mnemic.text.sentences import sentences
from mnemic.types import Message
from mnemic.types.literals import Status

LATEST = 2_000
"""How many of the latest messages of a session are compared with a history without ids."""
_SUFFIX = "#reset"
_MARK = {"mnemic": "withdrawn"}
"""Of the archived message that names the messages which an edit took out of a history."""


def thread_of(memory: Memory | AsyncMemory, messages: Iterable[ThreadMessage]) -> Thread:
    """Messages as a thread, in the session of a handle."""
    return Thread(messages, scope=memory.scope, clean=memory.admin.redacted)


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


def has_forgotten(memory: Memory, session: str) -> bool:
    """Whether something that was said in a session is forgotten; what the adapters note of it is not."""
    return any(record.role != "system" for record in session_messages(memory, session, LATEST, status="archived"))


def session_words(memory: Memory, session: str) -> list[Words]:
    """The words of the user and the assistant in the last ``LATEST`` messages of a session, oldest first."""
    return [words_of(m) for m in session_messages(memory, session, LATEST) if m.role in ("user", "assistant")]


def unstored_in_session(
    memory: Memory, session: str, words: Sequence[Words], seen: Sequence[Words]
) -> tuple[list[Words], list[int]]:
    """The words of a session, and the positions in a history without ids of what it never held.

    A forgotten message is still held. An erased one is not, so that after an erasure, and for a session that is longer than
    ``LATEST``, a gap counts as erased; see ``unstored``.

    Args:
        memory: with the project.
        session: its name.
        words: of the history, oldest first.
        seen: of the history as it was shown before: this was stored then, and may be erased since.
    """
    messages = session_messages(memory, session, LATEST, status=get_args(Status))
    complete = len(messages) < LATEST and not memory.admin.log(operations=["erase"], limit=1)
    stored = [words_of(message) for message in messages if message.role in ("user", "assistant")]
    unseen = {*unstored(seen, words, complete=complete)}
    return stored, [i for i in unstored(stored, words, complete=complete) if i in unseen]


def shown_in_session(memory: Memory, session: str, words: Iterable[Words]) -> list[str]:
    """The ids of the last ``LATEST`` messages of a session that a history without ids shows, or had until it was edited.

    What was taken out before the first message that is left is no edit of this history, but an older one.
    """
    shown, messages = {*words}, session_messages(memory, session, LATEST)
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


def note_edit(memory: Memory, session: str, edited: Sequence[Words], replaced: Sequence[Words]) -> None:
    """Note which messages of a session its edited history leaves out, and which it has again; see ``left_out``.

    Args:
        memory: with the project and session.
        session: its name.
        edited: the words of the edited history.
        replaced: the words of the history before the edit; what it did not show is not taken out.
    """
    before, seen = _edited_names(memory, session), {*replaced}
    messages = ((name_of(m), words_of(m)) for m in session_messages(memory, session, LATEST))
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

    @property
    def has_forgotten(self) -> bool:
        """Whether a message of it was forgotten."""
        return has_forgotten(self.memory, self.session)

    def end(self) -> None:
        """End the session with a summary, in every process and for good; what was said stays in long-term memory.

        Raises:
            InvalidInput: the record rejects the marker.
        """
        self.handle.sessions.summarize()
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


COMPARED = 200
"""How many messages of a session are compared with what a run shows."""
AGAIN = timedelta(minutes=10)
"""A prompt that got no answer and is sent again this soon is the same prompt."""


async def last_of_session(memory: AsyncMemory) -> Sequence[Message]:
    """The last messages of the session of a handle, oldest first; none without a session."""
    session = memory.scope.session
    return () if session is None else await memory.messages(session=session, limit=COMPARED)


async def turn_ids(memory: AsyncMemory, thread: Thread) -> list[str]:
    """The ids of the messages that say what the user's last turn says, in whatever session and under whatever ids.

    Only of the time in which a prompt is sent again: the same words of long ago may be what is asked for.

    Raises:
        StoreError: the record cannot be read.
    """
    words, since = thread.turn_words(), datetime.now(UTC) - AGAIN
    last = await memory.messages(limit=COMPARED) if words else ()
    lately = (record for record in last if record.sent_at and record.sent_at >= since)
    return [str(record.id) for record in lately if words_of(record) in words]


def open_requests(messages: Iterable[Message], *, current: bool = False) -> list[str]:
    """The ids of what users asked lately at the end of a session: what is being answered is no evidence.

    Args:
        messages: the last ones, oldest first.
        current: whether they are those of the conversation in which something is looked up, where the user's last words are
            what is being answered, however they are put.
    """
    since, sessions = datetime.now(UTC) - AGAIN, dict[str | None, list[Message]]()
    for record in messages:
        sessions.setdefault(record.session, []).append(record)
    said = [r for last in sessions.values() for r in takewhile(lambda record: record.role == "user", reversed(last))]
    return [str(r.id) for r in said if r.sent_at and r.sent_at >= since and (current or _requests(r.content))]


def without_open_requests(
    options: Mapping[str, Any], messages: Iterable[Message], *, current: bool = False
) -> dict[str, Any]:
    """The arguments of a search that leaves out ``open_requests`` as well."""
    excluded = options.get("exclude") or ()
    excluded = [excluded] if isinstance(excluded, str) else excluded
    return {**options, "exclude": [*excluded, *open_requests(messages, current=current)]}


def _requests(text: str) -> bool:
    """Whether a text has a question, or a sentence that begins as a request does."""
    begins = (bare_words(sentence.lower().removeprefix("please "))[:1] for sentence in sentences(text))
    return bool(traits(text) & ASKS) or any(is_base_form(word) for words in begins for word in words)


async def store_new(
    memory: AsyncMemory, thread: Thread, stored: set[str | None], answered: Collection[str | None] = ()
) -> None:
    """Store what a run says, unless the run stored it before, or it is a prompt sent again because it got no answer.

    Args:
        memory: with the session of the conversation.
        thread: what the run has said so far, without what was said before it.
        stored: the ids of what the run stored; those of this call are added. What is erased during a run stays erased.
        answered: ids of prompts that got an answer which is not stored, such as a structured one.

    Raises:
        StoreError: the record cannot be read or written.
    """
    if not stored:  # the run begins
        last = [r for r in await last_of_session(memory) if r.role != "user" or r.id not in answered]
        open_prompts = unanswered(last, datetime.now(UTC) - AGAIN)
        again = [i for i, words in enumerate(thread.words) if words in open_prompts]
        prompts = {thread.words[i] for i in again}
        stored |= {record.id for record in (*thread.records(again), *last) if words_of(record) in prompts}
    records = {record.id: record for record in thread.records()}
    if new := [record for id_, record in records.items() if id_ not in stored]:
        log_rejected(await memory.add(new))
        stored |= {record.id for record in new}
