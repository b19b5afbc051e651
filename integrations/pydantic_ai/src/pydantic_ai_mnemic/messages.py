"""pydantic-ai messages as messages of a thread. Pure: no memory is read or written here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    BaseToolReturnPart,
    BinaryContent,
    CachePoint,
    FileUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    UploadedFile,
    UserContent,
    UserPromptPart,
)

from mnemic.adapters import ThreadMessage, text_of_parts

OUTPUT_TOOL = "final_result"
OUTPUT_TAKEN = "Final result processed."


def _part(item: UserContent) -> str | dict[str, object]:
    """An item of a prompt as a content part; markers of caching say nothing."""
    match item:
        case str():
            return item
        case TextContent():
            return item.content
        case FileUrl():
            return {"type": item.kind.removesuffix("-url"), "url": item.url}
        case BinaryContent():
            return {"type": "file", "media_type": item.media_type, "data": item.data}
        case UploadedFile():
            return {"type": "file", "file_id": item.file_id}
        case CachePoint():
            return ""


def text_of(content: str | Sequence[UserContent] | None) -> str:
    """The text of a prompt, media by reference."""
    if content is None or isinstance(content, str):
        return content or ""
    return text_of_parts(map(_part, content))


def _parts(message: ModelMessage) -> Iterator[ThreadMessage]:
    """What is evidence of a message: prompts and answers, not system prompts, tool calls and reasoning; and which tools ran.

    pydantic-ai's messages have no ids; the time of a message survives serialization and identifies it.
    """
    yield from _uses(message)
    metadata = {"run_id": message.run_id} if message.run_id else {}
    if isinstance(message, ModelResponse):
        text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
        found = [("assistant", text, message.timestamp)]
    elif message.run_id and _results(message):
        found = []  # what tools show the model beside their results; requests that the framework merged have no run
    else:
        prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
        found = [("user", text_of(part.content), part.timestamp) for part in prompts]
    for role, text, at in found:
        if text.strip():
            yield ThreadMessage(role=role, text=text, key=f"{at.timestamp():.6f}", sent_at=at, metadata=metadata)


def _uses(message: ModelMessage) -> Iterator[ThreadMessage]:
    """The tools that ran, without what they answered; the tools of structured output are none."""
    for part in message.parts:
        if isinstance(part, BaseToolReturnPart) and not _is_output(part):
            yield ThreadMessage(
                role="tool", text="", stored=False, name=part.tool_name, call=part.tool_call_id, sent_at=part.timestamp,
                outcome="ok" if part.outcome == "success" else "error",
            )  # fmt: skip


def thread_messages(messages: Sequence[ModelMessage]) -> list[ThreadMessage]:
    """The evidence of a history. An answer that was sent back to the model is none: the user never got it."""
    return [part for at, message in enumerate(messages) if not _sent_back(messages, at) for part in _parts(message)]


def _results(message: ModelMessage) -> list[ToolReturnPart]:
    return [part for part in message.parts if isinstance(part, ToolReturnPart)]


def _sent_back(messages: Sequence[ModelMessage], at: int) -> bool:
    """Whether the message at that place is a refused answer: the next message asks for another one."""
    if isinstance(messages[at], ModelRequest) or at + 1 == len(messages):
        return False
    return any(isinstance(part, RetryFeedbackPart) for part in messages[at + 1].parts)


def asked(request: ModelRequest, prompt: str | Sequence[UserContent] | None) -> ModelRequest:
    """A request of a run with its prompt and results of tools, without what those show the model beside their results."""
    if request.run_id or not _results(request):  # one with a run was sent before, and is resumed
        return request
    return replace(
        request, parts=[p for p in request.parts if not isinstance(p, UserPromptPart) or p.content == prompt]
    )


def unanswered(messages: Sequence[ModelMessage]) -> Sequence[ModelRequest]:
    """The prompts at the end of a history that got no answer, though tools may have been called for them."""
    first = len(messages)
    while first > 0 and not _ended(messages, first - 1):
        first -= 1
    return [message for message in messages[first:] if isinstance(message, ModelRequest)]


def _ended(messages: Sequence[ModelMessage], at: int) -> bool:
    """Whether the message at that place ended a run: with an answer, or with the call of an output tool."""
    message = messages[at]
    if isinstance(message, ModelResponse):
        answer = any(not isinstance(part, ThinkingPart) for part in message.parts)
        return answer and not message.tool_calls and message.state != "interrupted" and not _sent_back(messages, at)
    return any(map(_is_output, _results(message)))


def _is_output(part: BaseToolReturnPart[Any]) -> bool:
    return part.content == OUTPUT_TAKEN or part.tool_name.startswith(OUTPUT_TOOL)


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
