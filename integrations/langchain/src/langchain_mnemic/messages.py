"""LangChain messages to Mnemic messages and back. Pure: no memory is touched here."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, TypeAlias, cast
from urllib.parse import quote

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

from mnemic import InvalidInput, Message, Scope, pieces

__all__ = [
    "KEPT", "Clean", "digest_of", "entry", "evidence", "id_prefix", "is_notice", "is_recalled", "key_of", "record_id",
    "record_ids", "restored", "said_by", "said_in", "text_of", "typed_by_user",
]  # fmt: skip

KEPT = "langchain"
"""The key of a stored message's metadata that holds what LangChain needs to build it again."""

MAX_CONTENT = 1_000_000
"""Characters that one record holds."""
MAX_ID = 1_000

Clean: TypeAlias = Callable[[str], str]
"""``Memory.redacted``: the words that are stored."""

_NOTICE = re.compile(
    r"Model call failed after \d+ attempts? with \w+: |Model call limits exceeded: (thread|run) limit \("
    r"|(Tool|'.*' tool) call limit reached: (thread|run) limit exceeded \("
)
"""What LangChain's middleware for retries and limits says in the assistant's place."""

_ANSWERS = (
    {"evidence", "results"}, {"evidence", "found"}, {"text", "token_count", "truncated"}, {"memories", "more"},
    {"memories", "links"},
)  # fmt: skip
"""The fields of what the tools of Mnemic answer that look something up, in all their vocabularies."""

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_TEXT_BLOCKS = ("text", "input_text", "output_text")
_MEDIA = {
    "audio": "[audio]", "document": "[file]", "file": "[file]", "image": "[image]", "image_url": "[image]",
    "input_audio": "[audio]", "input_file": "[file]", "input_image": "[image]", "media": "[file]", "text-plain": "[file]",
    "video": "[video]",
}  # fmt: skip


def _block_text(block: str | Mapping[str, Any]) -> str:
    """A content block as text; reasoning, tool calls and provider blocks are nobody's words and give nothing."""
    if isinstance(block, str):
        return block
    kind = block.get("type")
    if kind in _TEXT_BLOCKS:
        return str(block.get("text") or "")
    return _MEDIA.get(str(kind), "")


def text_of(message: BaseMessage) -> str:
    """What was said, media as a word in brackets. Models split one sentence over blocks, people do not."""
    content = cast("str | list[str | dict[str, Any]]", message.content)
    return content if isinstance(content, str) else _joined(message, content)


def _joined(message: BaseMessage, blocks: Sequence[str | dict[str, Any]]) -> str:
    split = isinstance(message, AIMessage)
    parts = [(part, split and part not in _MEDIA.values()) for block in blocks if (part := _block_text(block))]
    between = ["" if before and after else "\n" for (_, before), (_, after) in pairwise(parts)]
    return "".join(part + joint for (part, _), joint in zip(parts, [*between, ""], strict=False))


def _redacted(message: BaseMessage, clean: Clean) -> BaseMessage:
    """The message itself; where its blocks hold a secret between them, with their words as one block and redacted."""
    content = cast("str | list[str | dict[str, Any]]", message.content)
    if isinstance(content, str) or clean(text := text_of(message)) == text:
        return message
    words = [block for block in content if isinstance(block, str) or block.get("type") in _TEXT_BLOCKS]
    whole = {"type": "text", "text": clean(_joined(message, words))}
    return message.model_copy(update={"content": [whole, *(block for block in content if block not in words)]})


def typed_by_user(message: BaseMessage) -> bool:
    """Whether a human message is the user's own: harnesses put summaries and notices into that role, marked so."""
    return isinstance(message, HumanMessage) and not isinstance(message.additional_kwargs.get("lc_source"), str)


def is_notice(message: BaseMessage) -> bool:
    """Whether an answer is a notice of LangChain's own: in its words, and with nothing about it that models give."""
    from_model = message.response_metadata or (message.id or "").startswith(LC_ID_PREFIX)
    return isinstance(message, AIMessage) and not from_model and _NOTICE.match(text_of(message)) is not None


def is_recalled(message: BaseMessage) -> bool:
    """Whether it is what a tool of Mnemic found, here or behind a server: it stands in the record already.

    Known by what it holds, because servers are free to name their tools.
    """
    text = text_of(message).strip() if isinstance(message, ToolMessage) else ""
    if not text.startswith("{") or not any(f'"{word}"' in text for word in ("evidence", "memories", "token_count")):
        return False
    try:
        answer: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        return False
    lists = [answer[name] for name in ("results", "found", "memories") if name in answer]
    return any(keys <= answer.keys() for keys in _ANSWERS) and all(map(_are_hits, lists))


def _are_hits(listed: object) -> bool:
    lines = cast("list[object]", listed) if isinstance(listed, list) else [None]
    return all(isinstance(line, dict) and "id" in line and ("text" in line or "content" in line) for line in lines)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def digest_of(message: BaseMessage, clean: Clean) -> str:
    """Stands for the words of a message, as they are stored: those of a secret could be found by trying."""
    return _digest(clean(text_of(message)))


def key_of(message: BaseMessage, position: int, clean: Clean) -> str:
    """What names a message in its thread: its id, else its place and its text."""
    return message.id or f"{position}.{digest_of(message, clean)}"


def id_prefix(scope: Scope) -> str:
    """Sets the ids of one conversation apart from those of all others of its user."""
    place = "" if scope.session is None else quote(scope.session, safe="")
    return place if scope.project is None else f"{quote(scope.project, safe='')}/{place}"


def record_id(prefix: str, key: str, digest: str) -> str:
    """Same words under the same id are one record; edited words are another, because evidence is never rewritten."""
    whole = f"{prefix}:{key}:{digest}"
    return whole if len(whole) <= MAX_ID else f"lc:{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}"


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return message.role
    if message.type not in _ROLES:
        raise InvalidInput(f"A {type(message).__name__} is not something that was said; it cannot be stored.")
    return _ROLES[message.type]


def said_by(message: BaseMessage, clean: Clean) -> tuple[str, str]:
    """Who says what: the role, and the digest of the words."""
    return _role(message), digest_of(message, clean)


def said_in(record: Message) -> tuple[str, str]:
    """Who said what, as ``said_by`` tells it."""
    return record.role, _digest(record.content)


def sent_at(message: BaseMessage) -> datetime | None:
    """When it was said: ``additional_kwargs["sent_at"]`` in ISO 8601, else None, which is the moment it is stored.

    LangChain's messages have no time of their own; whoever replays an old conversation can give one this way.
    """
    value = message.additional_kwargs.get("sent_at")
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:  # a key of somebody else's
        return None


def _pieces(message: BaseMessage, prefix: str, position: int, clean: Clean) -> list[tuple[str, str]]:
    """Ids and texts of the records a message makes: none without text, several when it is longer than one may be."""
    key, text = key_of(message, position, clean), text_of(message)
    named = ((f"{key}+{number}" if number else key, piece) for number, piece in enumerate(pieces(text, clean)))
    return [(record_id(prefix, name, _digest(clean(piece))), piece) for name, piece in named if piece.strip()]


def record_ids(message: BaseMessage, *, prefix: str, position: int, clean: Clean) -> list[str]:
    """The ids under which ``evidence`` stores a message."""
    return [id_ for id_, _ in _pieces(message_chunk_to_message(message), prefix, position, clean)]


def evidence(message: BaseMessage, *, prefix: str, position: int, clean: Clean) -> list[Message]:
    """A message as text to remember: none when it has no text, several when it is longer than a record may be.

    Args:
        message: any message with a role.
        prefix: see ``id_prefix``.
        position: its index in the thread; names it when it has no id.
        clean: ``Memory.redacted``: ids are made of the words that are stored.
    """
    message = message_chunk_to_message(message)
    data = message.model_dump(mode="json", include={"id", "tool_call_id", "status"}, exclude_defaults=True)
    return [
        Message(
            role=_role(message),
            content=piece,
            name=pieces(message.name or "", clean, MAX_ID)[0] or None,
            sent_at=sent_at(message),
            id=id_,
            metadata={KEPT: {"type": message.type, "data": data}},
        )
        for id_, piece in _pieces(message, prefix, position, clean)
    ]


def _shown(message: BaseMessage, clean: Clean) -> str:
    """Text that stands for a message which may have none, such as a bare tool call, or more than a record may hold."""
    if (text := text_of(message)).strip():
        return pieces(text, clean, MAX_CONTENT)[0]
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    said = [f"[calls {call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}]" for call in calls]
    return pieces("\n".join(said), clean, MAX_CONTENT)[0] or "[no text]"


def entry(message: BaseMessage, *, prefix: str, clean: Clean) -> Message:
    """A message as an entry of a chat history, from which ``restored`` makes an equal one.

    Values of other types than JSON has, inside ``additional_kwargs`` and the like, become strings.

    Raises:
        InvalidInput: the message has no role, or its fields cannot be written as JSON.
    """
    message = message_chunk_to_message(message)
    text = _shown(message, clean)
    without = {"content", "type"} if message.content == text else {"type"}
    try:
        kept = _redacted(message, clean)
        data = json.loads(kept.model_dump_json(exclude=without, exclude_defaults=True, fallback=str))
    except ValueError as error:
        raise InvalidInput(
            f"A {type(message).__name__} cannot be written as JSON: {error}. Nothing was stored."
        ) from error
    return Message(
        role=_role(message),
        content=text,
        name=message.name or None,
        sent_at=sent_at(message),
        id=record_id(prefix, message.id, _digest(clean(text))) if message.id else None,
        metadata={KEPT: {"type": message.type, "data": data}},
    )


def _rebuilt(message: Message) -> BaseMessage | None:
    """The LangChain message from what was kept of it; None when that is missing, broken, or claims another role."""
    kept = message.metadata.get(KEPT)
    if not isinstance(kept, Mapping):
        return None
    held = cast("Mapping[str, Any]", kept)
    try:
        kind, data = held["type"], {"content": message.content, **held["data"]}
        if _ROLES.get(kind, data.get("role")) != message.role:
            return None
        return messages_from_dict([{"type": kind, "data": data}])[0]
    except (KeyError, TypeError, ValueError):
        return None


def restored(message: Message) -> BaseMessage:
    """The LangChain message of a stored one; one that came from elsewhere is made by its role."""
    if (rebuilt := _rebuilt(message)) is not None:
        return rebuilt
    match message.role:
        case "user":
            return HumanMessage(content=message.content, name=message.name, id=message.id)
        case "assistant" | "ai":
            return AIMessage(content=message.content, name=message.name, id=message.id)
        case "system" | "developer":
            return SystemMessage(content=message.content, name=message.name, id=message.id)
        case _:
            return ChatMessage(content=message.content, role=message.role, name=message.name, id=message.id)
