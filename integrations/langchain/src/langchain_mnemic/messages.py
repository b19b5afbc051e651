"""LangChain messages as messages of a thread, and stored ones back. Pure: no memory is read or written here."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import (
    LC_ID_PREFIX,
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    messages_from_dict,
)

from mnemic import InvalidInput, Message, pieces
from mnemic.adapters import Clean, ThreadMessage, sent_at, text_of_parts
from mnemic.adapters.tools import is_search_answer

KEPT = "langchain"
"""The key of a stored message's metadata that holds what LangChain needs to build it again."""

ANSWER = "mnemic_answer"
"""The key of a message's ``response_metadata``, which no model sees, with the id of the call that is the answer."""

MAX_CONTENT = 1_000_000
"""Characters of one record."""

_NOTICE = re.compile(
    r"Model call failed after \d+ attempts? with \w+: |Model call limits exceeded: (thread|run) limit \("
    r"|(Tool|'.*' tool) call limit reached: (thread|run) limit exceeded \("
)
"""Answers that LangChain's middleware for retries and limits gives in place of the model."""

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_TEXT_BLOCKS = ("text", "input_text", "output_text")


def _blocks(message: BaseMessage) -> str | list[str | dict[str, Any]]:
    return cast("str | list[str | dict[str, Any]]", message.content)


def text_of(message: BaseMessage) -> str:
    """The text of a message, media by reference. Models split one sentence over blocks, people do not."""
    content = _blocks(message)
    return content if isinstance(content, str) else _joined(message, content)


def _joined(message: BaseMessage, blocks: Sequence[str | dict[str, Any]]) -> str:
    return text_of_parts(blocks, joint="" if isinstance(message, AIMessage) else "\n")


def _redacted(message: BaseMessage, clean: Clean) -> BaseMessage:
    """The message; if a secret spans its blocks, with their text as one redacted block."""
    content = _blocks(message)
    if isinstance(content, str) or clean(text := text_of(message)) == text:
        return message
    words = [block for block in content if isinstance(block, str) or block.get("type") in _TEXT_BLOCKS]
    whole = {"type": "text", "text": clean(_joined(message, words))}
    return message.model_copy(update={"content": [whole, *(block for block in content if block not in words)]})


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return message.role
    if message.type not in _ROLES:
        raise InvalidInput(f"A {type(message).__name__} has no role; it cannot be stored.")
    return _ROLES[message.type]


def _is_notice(message: AIMessage, text: str) -> bool:
    """Whether an answer is a notice of LangChain's middleware: by its words, and without what models return."""
    from_model = message.response_metadata or (message.id or "").startswith(LC_ID_PREFIX)
    return not from_model and _NOTICE.match(text) is not None


def with_answer_marked(messages: Sequence[BaseMessage], *, answered: bool) -> list[BaseMessage]:
    """What a model call returned, with a mark on the call that is its answer and on the results, which no tool gave.

    Args:
        messages: the model's and LangChain's own.
        answered: whether the call has what the schema asks for.
    """
    results = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    calls = [_marked_call(message, results if answered else ()) for message in messages]
    return [
        message if call is None else _with_mark(message, call) for message, call in zip(messages, calls, strict=True)
    ]


def _marked_call(message: BaseMessage, results: Collection[str]) -> str | None:
    if isinstance(message, ToolMessage):
        return message.tool_call_id
    made = message.tool_calls if isinstance(message, AIMessage) else []
    return next((call["id"] for call in made if call["id"] in results), None)


def _with_mark(message: BaseMessage, call: str) -> BaseMessage:
    return message.model_copy(update={"response_metadata": {**message.response_metadata, ANSWER: call}})


def _answer(message: BaseMessage) -> str:
    """The text of a message; with the arguments of the call, of an answer that is a tool call."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    given = [call["args"] for call in calls if call["id"] == message.response_metadata.get(ANSWER)]
    return "\n".join(
        filter(None, [text_of(message), *(json.dumps(args, ensure_ascii=False, default=str) for args in given[:1])])
    )


def thread_message(message: BaseMessage, *, store_tools: bool) -> ThreadMessage:
    """A message of an agent's thread.

    Evidence are the user's messages (harnesses put summaries and notices into that role, marked ``lc_source``), the answers
    that are not notices and, with ``store_tools``, the results of other tools than those of memory. LangChain's own results
    of calls that give a schema are no tool's.
    """
    message = message_chunk_to_message(message)
    if isinstance(message, ToolMessage) and ANSWER in message.response_metadata:
        return ThreadMessage(role="assistant", text="", key=message.id, stored=False)
    text = _answer(message)
    stored = (
        (isinstance(message, HumanMessage) and not isinstance(message.additional_kwargs.get("lc_source"), str))
        or (isinstance(message, AIMessage) and not _is_notice(message, text))
        or (store_tools and isinstance(message, ToolMessage) and not is_search_answer(text))
    )
    data = message.model_dump(mode="json", include={"id", "tool_call_id", "status"}, exclude_defaults=True)
    return ThreadMessage(
        role=_role(message), text=text, key=message.id, stored=stored, name=message.name,
        sent_at=sent_at(message.additional_kwargs), metadata={KEPT: {"type": message.type, "data": data}}, **_tools(message),
    )  # fmt: skip


def _tools(message: BaseMessage) -> dict[str, Any]:
    """What a message says of tools: those an answer calls, or the outcome of a call."""
    if isinstance(message, AIMessage):
        return {"calls": {call["id"]: call["name"] for call in message.tool_calls if call["id"]}}
    if isinstance(message, ToolMessage):
        return {"call": message.tool_call_id, "outcome": "error" if message.status == "error" else "ok"}
    return {}


def _shown(message: BaseMessage, clean: Clean) -> str:
    """Text for a message that may have none, such as a bare tool call, or more than a record may hold."""
    if (text := text_of(message)).strip():
        return pieces(text, clean, MAX_CONTENT)[0]
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    lines = [f"[calls {call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}]" for call in calls]
    return pieces("\n".join(lines), clean, MAX_CONTENT)[0] or "[no text]"


def entry(message: BaseMessage, clean: Clean) -> ThreadMessage:
    """A message as an entry of a chat history, from which ``restored`` makes an equal one.

    Values of other types than JSON has, inside ``additional_kwargs`` and the like, become strings.

    Raises:
        InvalidInput: the message has no role, or its fields cannot be written as JSON.
    """
    message = message_chunk_to_message(message)
    text = _shown(message, clean)
    without = {"content", "type"} if message.content == text else {"type"}
    try:
        data = json.loads(
            _redacted(message, clean).model_dump_json(exclude=without, exclude_defaults=True, fallback=str)
        )
    except ValueError as error:
        raise InvalidInput(
            f"A {type(message).__name__} cannot be written as JSON: {error}. Nothing was stored."
        ) from error
    return ThreadMessage(
        role=_role(message), text=text, key=message.id, name=message.name or None, sent_at=sent_at(message.additional_kwargs),
        metadata={KEPT: {"type": message.type, "data": data}},
    )  # fmt: skip


def _rebuilt(message: Message) -> BaseMessage | None:
    """The LangChain message from its metadata; None when that is missing, broken, or claims another role."""
    kept = message.metadata.get(KEPT)
    if not isinstance(kept, Mapping):
        return None
    held = cast("Mapping[str, Any]", kept)
    try:
        kind, data = held["type"], {"content": message.content, "name": message.name, **held["data"]}
        if _ROLES.get(kind, data.get("role")) != message.role:
            return None
        return messages_from_dict([{"type": kind, "data": data}])[0]
    except (KeyError, TypeError, ValueError):
        return None


def well_formed(messages: Sequence[BaseMessage], *, complete: bool) -> list[BaseMessage]:
    """A conversation as model providers accept it: each call of a tool with its result, and each result with its call.

    The calls of the last message may still be answered. ``complete``: it begins where it began; else with a user's message.
    """
    begins = (n for n, message in enumerate(messages) if isinstance(message, (HumanMessage, SystemMessage)))
    part, last = messages[0 if complete else next(begins, 0) :], messages[-1:]
    results = {message.tool_call_id for message in part if isinstance(message, ToolMessage)}
    calls = {
        id(message): {str(call["id"]) for call in message.tool_calls}
        for message in part
        if isinstance(message, AIMessage)
    }
    whole = [message for message in part if calls.get(id(message), set[str]()) <= results or message in last]
    answered = set[str]().union(*(calls.get(id(message), ()) for message in whole))
    return [m for m in whole if not isinstance(m, ToolMessage) or m.tool_call_id in answered]


def restored(message: Message) -> BaseMessage:
    """The LangChain message of a stored one; one from elsewhere is made by its role."""
    if (rebuilt := _rebuilt(message)) is not None:
        return rebuilt
    given: dict[str, Any] = {"content": message.content, "name": message.name, "id": message.id}
    match message.role:
        case "user":
            return HumanMessage(**given)
        case "assistant" | "ai":
            return AIMessage(**given)
        case "system" | "developer":
            return SystemMessage(**given)
        case _:
            return ChatMessage(role=message.role, **given)
