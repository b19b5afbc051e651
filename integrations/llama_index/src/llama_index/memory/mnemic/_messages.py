"""Chat messages of LlamaIndex as evidence: what of them is stored, under which id, and what is known already."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from mnemic import Message

__all__ = ["Said", "as_chat", "copied", "evidence", "news", "said", "text_of", "without_recall"]

ROLES = {"user": "user", "assistant": "assistant", "chatbot": "assistant", "model": "assistant"}
"""Roles of people and models; the others (system, tool ...) are not evidence."""

_RECALLED = re.compile(r"<memory (\S+)>\n.*?</memory \1>", re.DOTALL)


class Said(NamedTuple):
    """What makes two messages of one conversation the same."""

    role: str
    text: str


def text_of(message: ChatMessage | str | None) -> str:
    """The text of a message, without white space around it."""
    content = message.content if isinstance(message, ChatMessage) else message
    return (content or "").strip()


def said(message: ChatMessage) -> Said | None:
    """What a message says, or None when it is no evidence: a tool call, a tool's answer, instructions, nothing."""
    role, text = ROLES.get(message.role.value), text_of(message)
    calls = message.additional_kwargs.get("tool_calls") or any(isinstance(b, ToolCallBlock) for b in message.blocks)
    return None if role is None or not text or calls else Said(role, text)


def copied(message: ChatMessage) -> ChatMessage:
    """A message the framework may edit: it writes into the blocks of what it gets."""
    return message.model_copy(
        update={
            "blocks": [block.model_copy() for block in message.blocks],
            "additional_kwargs": dict(message.additional_kwargs),
        }
    )


def without_recall(message: ChatMessage) -> ChatMessage | None:
    """A copy without the memory that was injected into it; None when nothing else was in it.

    The fence is the mark. It travels with the text wherever a framework puts it, whereas an entry of
    ``additional_kwargs`` is lost when messages are merged, and some providers reject fields they do not know.
    """
    clean = copied(message)
    for block in clean.blocks:
        if isinstance(block, TextBlock) and "<memory " in block.text:
            block.text = _RECALLED.sub("", block.text).strip()
    clean.blocks = [b for b in clean.blocks if not isinstance(b, TextBlock) or b.text]
    return None if message.blocks and not clean.blocks else clean


def as_chat(message: Message) -> ChatMessage | None:
    """A stored message as one of the chat; None for roles that cannot stand in a history alone, such as a tool's."""
    role = ROLES.get(message.role)
    if role is None:
        return None
    extra: dict[str, Any] = {"name": message.name} if message.name else {}
    return ChatMessage(role=MessageRole(role), content=message.content, additional_kwargs=extra)


def news(stored: Sequence[Said], given: Sequence[Said]) -> list[int]:
    """Positions in ``given`` of what was not said in ``stored``, the same conversation as far as it is known.

    ``given`` may begin later (the front was cut off), may go on further, or may have been edited. A text said again
    after the known end is new.
    """
    stored, given = list(stored), list(given)
    size = len(given)
    if any(stored[at : at + size] == given for at in range(len(stored) - size + 1)):
        return []
    for overlap in range(min(len(stored), size), 0, -1):
        if stored[-overlap:] == given[:overlap]:
            return list(range(overlap, size))
    same = SequenceMatcher(None, stored, given, autojunk=False).get_matching_blocks()
    known = {block.b + i for block in same for i in range(block.size)}
    return [at for at in range(size) if at not in known]


def evidence(
    session: str, stored: Sequence[Said], messages: Sequence[ChatMessage], new: Sequence[int]
) -> list[Message]:
    """The new ones among ``messages`` (all of them evidence) to be stored, each with an id that says it again.

    The id is made of the session, the text, the text before it and how often this pair was said: whoever stores the
    same turn twice (two processes, a retry, a message that was forgotten) meets the same id.
    """
    words = [word for m in messages if (word := said(m)) is not None]
    before: list[Said | None] = [None if len(new) < len(words) or not stored else stored[-1], *words[:-1]]
    pairs = Counter(zip([None, *stored[:-1]], stored, strict=True))
    found: list[Message] = []
    for at in new:
        pair = (before[at], words[at])
        found.append(_message(session, messages[at], words[at], f"{pair} {pairs[pair]}"))
        pairs[pair] += 1
    return found


def _message(session: str, message: ChatMessage, word: Said, seed: str) -> Message:
    name = message.additional_kwargs.get("name")
    return Message(
        role=word.role,
        content=word.text,
        name=name if isinstance(name, str) else None,
        id="li_" + hashlib.sha256(f"{session}\x00{seed}".encode(errors="surrogatepass")).hexdigest()[:32],
        session=session,
    )
