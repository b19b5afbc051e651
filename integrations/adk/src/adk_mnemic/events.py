"""Events of a session as messages of a thread. Pure: no memory is read or written here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime

from google.adk.events import Event
from google.genai import types

from mnemic.adapters import ThreadMessage, text_of_parts

EVENTS: ContextVar[Sequence[Event]] = ContextVar("events", default=())
"""Those of the session in which a tool is being called, for a memory service: the framework tells it nothing of the run."""

NOT_TOOLS = ("set_model_response", "transfer_to_agent")
"""With these calls the framework itself ends an answer or hands the conversation over."""


def _part(part: types.Part) -> dict[str, object]:
    """A part as a content part: text, or a file; reasoning and calls say nothing."""
    if part.text:
        return {"text": part.text, "thought": part.thought}
    media = part.inline_data or part.file_data
    return {"type": "file", **media.model_dump(exclude_none=True)} if media else {}


def text_of(content: types.Content | None, between: str = "\n") -> str:
    """The text of a content, media by reference."""
    return text_of_parts(map(_part, (content and content.parts) or ()), joint=between)


def thread_messages(events: Iterable[Event]) -> list[ThreadMessage]:
    """What is evidence of some events: what the user and the agents said; and which tools ran."""
    return [message for event in events if not event.partial for message in _messages(event)]


def _messages(event: Event) -> Iterator[ThreadMessage]:
    at = datetime.fromtimestamp(event.timestamp, UTC)
    for result in event.get_function_responses():
        if result.name not in NOT_TOOLS:
            outcome = "error" if "error" in (result.response or {}) else "ok"
            yield ThreadMessage(
                role="tool", text="", stored=False, name=result.name, call=result.id, sent_at=at, outcome=outcome
            )
    user = event.author == "user"
    text = text_of(event.content, "\n" if user else "")  # models split one sentence over parts, people do not
    if text.strip():
        metadata = {"invocation_id": event.invocation_id, **({} if user else {"author": event.author})}
        role = "user" if user else "assistant"
        yield ThreadMessage(role=role, text=text, key=event.id, sent_at=at, metadata=metadata)


def shown(messages: Iterable[ThreadMessage], contents: Iterable[types.Content]) -> list[ThreadMessage]:
    """The messages that a request shows; a history may be filtered, summarized, or retold to another agent."""
    text = "\n".join(map(text_of, contents))
    return [message for message in messages if message.text.strip() in text]


def with_data(contents: Sequence[types.Content], context: str, question: str) -> list[types.Content]:
    """The contents with the context at the head of a copy of the user's last message."""
    places = [at for at, content in enumerate(contents) if content.role == "user" and text_of(content)]
    asked = [at for at in places if question in text_of(contents[at])]
    if not places:
        return [*contents]
    at = (asked or places)[-1]
    parts = [types.Part(text=f"{context}\n\n"), *(contents[at].parts or ())]
    return [*contents[:at], types.Content(role="user", parts=parts), *contents[at + 1 :]]
