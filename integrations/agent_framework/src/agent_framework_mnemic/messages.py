"""Messages of the Agent Framework as messages of a thread. Pure: no memory is read or written here."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

from agent_framework import Content, Message

from mnemic.adapters import ThreadMessage, sent_at, text_of_parts

INPUT: ContextVar[Sequence[Message]] = ContextVar("input", default=())
"""The messages of the run under way, for its tools: the framework shows them none."""

SPEAKERS = ("user", "assistant")
FILES = ("data", "uri", "hosted_file")


def _part(content: Content) -> dict[str, object]:
    """An item as a content part: files by their address or id."""
    if content.type in FILES:
        place = content.uri or content.file_id
        return {"type": "file", "name": content.name, "url": place, "media_type": content.media_type}
    return {"type": content.type, "text": content.text}


def text_of(message: Message) -> str:
    """What a message says, media by reference."""
    return text_of_parts(map(_part, message.contents))


def _uses(message: Message) -> Iterator[ThreadMessage]:
    """The tools that ran, without what they answered."""
    for content in message.contents:
        if content.type == "function_result":
            outcome = "error" if content.exception else "ok"
            yield ThreadMessage(role="tool", text="", stored=False, call=content.call_id, outcome=outcome)


def thread_messages(messages: Sequence[Message]) -> list[ThreadMessage]:
    """The evidence of messages: what the user and the agent said; and which tools ran.

    Few messages have an id, and what is new is known by its place in the run: the keys are random.
    """
    found: list[ThreadMessage] = []
    for message in messages:
        found += _uses(message)
        text, made = text_of(message), sent_at(message.additional_properties)
        calls = {c.call_id: c.name for c in message.contents if c.type == "function_call" and c.call_id and c.name}
        if message.role in SPEAKERS and (text.strip() or calls):
            name = message.author_name if message.role == "user" else None
            found.append(
                ThreadMessage(
                    role=message.role, text=text, key=uuid.uuid4().hex, stored=bool(text.strip()), name=name, sent_at=made,
                    calls=calls,
                )
            )  # fmt: skip
    return found
