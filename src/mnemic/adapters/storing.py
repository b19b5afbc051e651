"""Storing what the runs of a framework say, each message once, for frameworks whose runs know only themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from mnemic.adapters.calls import log_rejected
from mnemic.adapters.threads import Thread, unanswered, words_of
from mnemic.aio import AsyncMemory
from mnemic.types import Message

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
        last = [record for record in await last_of_session(memory) if record.id not in answered]
        open_prompts = unanswered(last, datetime.now(UTC) - AGAIN)
        again = [i for i, words in enumerate(thread.words) if words in open_prompts]
        stored |= {record.id for record in thread.records(again)}
    records = {record.id: record for record in thread.records()}
    if new := [record for id_, record in records.items() if id_ not in stored]:
        log_rejected(await memory.add(new))
        stored |= {record.id for record in new}
