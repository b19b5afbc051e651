"""What is recalled for a turn: the record's own text, without the messages the prompt shows already."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from llama_index.memory.mnemic._messages import Said, spoken
from mnemic import Memory, Message

__all__ = ["before", "latest", "recall", "shown_ids"]

COMPARED = 2_000
"""How many of the latest messages of a session a history is compared with."""

MAX_QUESTION = 8_000
"""Characters that are asked; of a longer text its beginning and its end."""

RECENT = 4
"""Turns before a message that say what it is about."""

Count = Callable[[str], int]


def latest(memory: Memory, session: str, limit: int = COMPARED) -> list[Message]:
    """The latest messages of a session, oldest first; those of its project, or of none when there is no project."""
    if memory.scope.project is None:  # what a project that nobody has can see: its own messages and those of none
        return memory.scoped(project=f"none-{uuid.uuid4().hex}").messages(session=session, limit=limit)
    return memory.messages(session=session, reach="project", limit=limit)


def shown_ids(memory: Memory, session: str, shown: Iterable[Said]) -> list[str]:
    """The ids of what a prompt shows of a session.

    They are looked up by what was said: a history that comes from the framework carries no ids of records.
    """
    words = {*shown}
    return [
        m.id
        for m in latest(memory, session)
        if m.id is not None and words.intersection(spoken([m], memory.trust.redacted))
    ]


def before(query: str, shown: Sequence[Said]) -> list[str]:
    """What was said in the last turns before a message of the user."""
    last = next((at for at in range(len(shown) - 1, -1, -1) if shown[at] == ("user", query)), len(shown))
    return [said.text for said in shown[:last]][-RECENT:]


def recall(
    memory: Memory,
    query: str,
    max_tokens: int,
    *,
    count: Count,
    exclude: Sequence[str],
    recent: Sequence[str],
    arguments: Mapping[str, Any],
) -> str:
    """Fenced text for a prompt; empty when nothing is found or nothing fits.

    Args:
        memory: where to look.
        query: what is asked.
        max_tokens: the budget, by ``count`` and by the handle's own tokenizer.
        count: text in, number of tokens out.
        exclude: ids to leave out.
        recent: the last turns before the query.
        arguments: more arguments of ``Memory.get_memory_context``.
    """
    if len(query) > MAX_QUESTION:
        query = f"{query[: MAX_QUESTION // 2]}\n{query[-MAX_QUESTION // 2 :]}"
    budget = max_tokens
    while budget > 0:
        found = memory.get_memory_context(query, max_tokens=budget, exclude=exclude, recent=recent, **arguments)
        tokens = count(found.text)
        if tokens <= max_tokens:
            return found.text
        budget = found.token_count * max_tokens // tokens  # the handle counts fewer tokens than this tokenizer
    return ""
