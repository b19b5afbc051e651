"""pydantic-ai messages to Mnemic messages. Pure: no memory is touched here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import quote

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    VideoUrl,
)

from mnemic import Message, Scope, pieces

__all__ = ["asked", "before", "evidence", "id_prefix", "question", "unanswered", "with_data"]

MAX_ID = 1_000
MAX_QUESTION = 8_000
RECENT = 4
"""Turns before the user's last words that say what these are about."""

OUTPUT_TOOL = "final_result"
OUTPUT_TAKEN = "Final result processed."


def _item(item: UserContent) -> str:
    """Text, or a word for what is none; markers of caching say nothing."""
    match item:
        case str():
            return item
        case TextContent():
            return item.content
        case CachePoint():
            return ""
        case ImageUrl():
            return "[image]"
        case AudioUrl():
            return "[audio]"
        case VideoUrl():
            return "[video]"
        case BinaryContent():
            kind = item.media_type.partition("/")[0]
            return f"[{kind}]" if kind in ("image", "audio", "video") else "[file]"
        case _:
            return "[file]"


def _text(content: str | Sequence[UserContent]) -> str:
    """What the user said, media as a word in brackets."""
    if isinstance(content, str):
        return content
    return "\n".join(text for text in map(_item, content) if text)


def _said(message: ModelMessage) -> list[tuple[str, str, datetime]]:
    """Role, text and time of what was said; system prompts, tool calls, their results and reasoning were not."""
    if isinstance(message, ModelResponse):
        text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
        return [("assistant", text, message.timestamp)] if text.strip() else []
    if message.run_id and _results(message):
        return []  # what tools show the model beside their results; requests that the framework merged have no run
    prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
    return [("user", text, part.timestamp) for part in prompts if (text := _text(part.content)).strip()]


def _results(message: ModelMessage) -> list[ToolReturnPart]:
    return [part for part in message.parts if isinstance(part, ToolReturnPart)]


def _sent_back(messages: Sequence[ModelMessage], at: int) -> bool:
    """Whether the message at that place is an answer that was refused: what follows asks for another one."""
    if isinstance(messages[at], ModelRequest) or at + 1 == len(messages):
        return False
    return any(isinstance(part, RetryFeedbackPart) for part in messages[at + 1].parts)


def id_prefix(scope: Scope) -> str:
    """Sets the ids of one conversation apart from those of all others of its user."""
    place = "" if scope.session is None else quote(scope.session, safe="")
    return place if scope.project is None else f"{quote(scope.project, safe='')}/{place}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _record_id(prefix: str, sent_at: datetime, text: str, number: int) -> str:
    """pydantic-ai's messages have no ids: a message is known by its moment and its words, also after a round trip.

    ``number`` sets apart the pieces of one message, which may have the same words.
    """
    whole = f"{prefix}:{sent_at.timestamp():.6f}:{_digest(text)}" + (f"+{number}" if number else "")
    return whole if len(whole) <= MAX_ID else f"pai:{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}"


def evidence(messages: Sequence[ModelMessage], *, prefix: str, clean: Callable[[str], str]) -> list[Message]:
    """What was said, as messages to remember: each has the same id whenever it is met; very long ones become several.

    An answer that was sent back to the model is none: the user never got it.

    Args:
        messages: of a run, in order.
        prefix: see ``id_prefix``.
        clean: ``Memory.redacted``: ids are made of the words that are stored, because a digest of a secret gives it away.
    """
    return [
        Message(
            role=role, content=piece, sent_at=sent_at, id=_record_id(prefix, sent_at, clean(piece), number),
            metadata={"run_id": message.run_id} if message.run_id else {},
        )
        for at, message in enumerate(messages)
        if not _sent_back(messages, at)
        for role, text, sent_at in _said(message)
        for number, piece in enumerate(pieces(text, clean))
        if piece.strip()
    ]  # fmt: skip


def asked(request: ModelRequest, prompt: str | Sequence[UserContent] | None) -> ModelRequest:
    """A request of a run, without what tools show the model beside their results: only the prompt was said."""
    if request.run_id or not _results(request):  # one with a run was sent before, and is resumed
        return request
    return replace(request, parts=[p for p in request.parts if isinstance(p, UserPromptPart) and p.content == prompt])


def unanswered(messages: Sequence[ModelMessage]) -> Sequence[ModelRequest]:
    """What the user said at the end of a history and nobody answered, though tools may have been called for it."""
    first = len(messages)
    while first > 0 and not _ended(messages, first - 1):
        first -= 1
    return [message for message in messages[first:] if isinstance(message, ModelRequest)]


def _ended(messages: Sequence[ModelMessage], at: int) -> bool:
    """Whether the message at that place ended a run: with an answer, or with the call of an output tool."""
    message = messages[at]
    if isinstance(message, ModelResponse):
        said = any(not isinstance(part, ThinkingPart) for part in message.parts)
        return said and not message.tool_calls and message.state != "interrupted" and not _sent_back(messages, at)
    return any(part.content == OUTPUT_TAKEN or part.tool_name.startswith(OUTPUT_TOOL) for part in _results(message))


def question(prompt: str | Sequence[UserContent] | None, messages: Sequence[ModelMessage]) -> str:
    """The last words of the user; of a very long text its beginning and its end."""
    text = "" if prompt is None else _text(prompt).strip()
    if not text:
        said = (text for message in reversed(messages) for role, text, _ in reversed(_said(message)) if role == "user")
        text = next(said, "").strip()
    return text if len(text) <= MAX_QUESTION else f"{text[: MAX_QUESTION // 2]}\n{text[-MAX_QUESTION // 2 :]}"


def before(query: str, messages: Sequence[ModelMessage]) -> list[str]:
    """What was said in the last turns before the user's last words."""
    said = [(role, text.strip()) for message in messages for role, text, _ in _said(message)]
    last = next((at for at in range(len(said) - 1, -1, -1) if said[at] == ("user", query)), len(said))
    return [text for _, text in said[:last] if text][-RECENT:]


def with_data(messages: Sequence[ModelMessage], context: str) -> list[ModelMessage]:
    """The messages with the context at the head of a copy of the user's last prompt."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if not isinstance(message, ModelRequest):
            continue
        for place in range(len(message.parts) - 1, -1, -1):
            part = message.parts[place]
            if isinstance(part, UserPromptPart):
                content = part.content
                more = f"{context}\n\n{content}" if isinstance(content, str) else [context, *content]
                parts = [*message.parts[:place], replace(part, content=more), *message.parts[place + 1 :]]
                return [*messages[:at], replace(message, parts=parts), *messages[at + 1 :]]
    return [*messages]
