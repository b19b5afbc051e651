"""Chat messages of LlamaIndex as evidence: what of them is stored, under which id, and what is known already."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from mnemic import Memory, Message, pieces

__all__ = [
    "ROLES", "Clean", "Said", "as_chat", "cleaned", "copied", "evidence", "holds", "is_call", "nameless", "news", "said",
    "spoken", "tellable", "text_of", "without_recall",
]  # fmt: skip

ROLES = {"user": "user", "assistant": "assistant", "chatbot": "assistant", "model": "assistant"}
"""Roles of people and models; the others (system, tool ...) are not evidence."""

_TEMPLATE = ("<memory>\n", "</memory>")
"""What llama_index.core.memory.Memory puts around the content of its blocks."""

_THOUGHT, _ANSWER = "Thought:", "\nAnswer:"
"""How the steps of a ReActAgent begin and end: it puts all steps of a turn as one message; see ``_told``."""

_CODE, _CODE_END, _OUTPUT = "<execute>", "</execute>", "Result of executing the code given:"
"""What a CodeActAgent runs, within its answers, and how what that printed begins: it puts this as words of the user."""

LONGEST = 1_000_000
"""Characters that one record holds."""


Clean: TypeAlias = Callable[[str], str]
"""``Memory.redacted``: the words that are stored. A digest of others would give a short secret away."""


class Said(NamedTuple):
    """What makes two messages of one conversation the same."""

    role: str
    text: str


def text_of(message: ChatMessage | str | None) -> str:
    """The text of a message, without white space around it."""
    content = message.content if isinstance(message, ChatMessage) else message
    return (content or "").strip()


def is_call(block: object) -> bool:
    """Whether a block is a tool call; its class does not exist in the older versions of llama-index-core."""
    return getattr(block, "block_type", None) == "tool_call"


def _told(message: ChatMessage) -> str:
    """The text of a message that is evidence: of a ReActAgent's steps only the last one's answer, and nothing of code.

    The others hold what tools answered. The answer itself may have lines that begin with ``Answer:``.
    """
    text, role = message.content or "", ROLES.get(message.role.value)
    if role == "user":
        return "" if text.startswith(_OUTPUT) else text
    if _CODE in text:
        text = _without_code(text).strip()
    last = text.rfind(_ANSWER)
    if role != "assistant" or last < 0 or not text.lstrip().startswith(_THOUGHT):
        return text
    step = text.rfind(_THOUGHT, 0, last)
    return text[text.index(_ANSWER, step) + len(_ANSWER) :].strip()


def _without_code(text: str) -> str:
    kept, at = "", 0
    while (start := text.find(_CODE, at)) >= 0 and (end := text.find(_CODE_END, start)) >= 0:
        kept += text[at:start]
        at = end + len(_CODE_END)
    return kept + text[at:]


def said(message: ChatMessage) -> Said | None:
    """What a message says, or None when it is no evidence: a tool call, a tool's answer, instructions, nothing."""
    role, text = ROLES.get(message.role.value), _told(message).strip()
    calls = message.additional_kwargs.get("tool_calls") or any(is_call(b) for b in message.blocks)
    return None if role is None or not text or calls else Said(role, text)


def spoken(messages: Iterable[ChatMessage | Message], clean: Clean) -> list[Said]:
    """What a history says, without what is no evidence, in the words that are stored."""
    chat = (as_chat(m) if isinstance(m, Message) else m for m in messages)
    words = [word for m in chat if m is not None and (word := said(m)) is not None]
    return [Said(word.role, clean(word.text)) for word in words]


def tellable(messages: Iterable[ChatMessage], clean: Clean) -> list[ChatMessage]:
    """Those that are evidence, without what of them is none; one that is longer than a record may be as several."""
    return [piece for m in messages if said(m) is not None for piece in _pieces(m, clean)]


def _pieces(message: ChatMessage, clean: Clean) -> list[ChatMessage]:
    text = _told(message)
    if len(text) <= LONGEST and text == message.content:
        return [message]
    parts = [text] if len(text) <= LONGEST else pieces(text, clean)
    return [
        ChatMessage(role=message.role, content=part, additional_kwargs=dict(message.additional_kwargs))
        for part in parts
        if part.strip()
    ]


def cleaned(messages: Iterable[ChatMessage], memory: Memory) -> list[ChatMessage]:
    """Copies without injected memory; see ``without_recall``."""
    return [clean for m in messages if (clean := without_recall(m, memory)) is not None]


def copied(message: ChatMessage) -> ChatMessage:
    """A message the framework may edit: it writes into the blocks of what it gets."""
    return message.model_copy(
        update={
            "blocks": [block.model_copy() for block in message.blocks],
            "additional_kwargs": dict(message.additional_kwargs),
        }
    )


def without_recall(message: ChatMessage, memory: Memory) -> ChatMessage | None:
    """A copy without the memory that was injected into it; None when nothing else was in it.

    The fence is the mark. It travels with the text wherever a framework puts it, whereas an entry of
    ``additional_kwargs`` is lost when messages are merged, and some providers reject fields they do not know.
    """
    clean = copied(message)
    marked = False
    for block in clean.blocks:
        if isinstance(block, TextBlock) and (rest := memory.trust.without_recalled(block.text)) != block.text:
            begin, end = _TEMPLATE
            whole = rest.startswith(begin) and rest.endswith(end)
            block.text, marked = "" if whole else rest, True
    if marked:
        clean.blocks = [block for block in clean.blocks if not isinstance(block, TextBlock) or block.text]
    return None if marked and not clean.blocks else clean


def as_chat(message: Message) -> ChatMessage | None:
    """A stored message as one of the chat; None for roles that cannot stand in a history alone, such as a tool's."""
    role = ROLES.get(message.role)
    return None if role is None else ChatMessage(role=MessageRole(role), content=message.content)


def holds(stored: Sequence[Said], given: Sequence[Said]) -> bool:
    """Whether ``given`` was said in ``stored``, in one run."""
    return any(s == given[0] and stored[at : at + len(given)] == given for at, s in enumerate(stored))


def news(stored: Sequence[Said], given: Sequence[Said]) -> list[int]:
    """Positions in ``given`` of what was not said in ``stored``, the same conversation as far as it is known.

    ``given`` may begin later (the front was cut off), may go on further, or may have been edited. A text said again
    after the known end is new. What is missing in ``stored`` before the newest text it knows was dealt with: it was
    stored, and erased since. Before it only what stands in the place of as many other texts is new.
    """
    size = len(given)
    for overlap in range(min(len(stored), size), 0, -1):
        if stored[-overlap:] == given[:overlap]:
            return list(range(overlap, size))
    same = SequenceMatcher(None, stored, given, autojunk=False).get_matching_blocks()
    new: list[int] = []
    left = right = 0
    for block in same:
        last = block.size == 0  # the matcher ends with one
        others, here = block.a - left, block.b - right
        edited = here == others and right > 0
        chance = others > 0 and block.size == 1  # one text that both hold, such as "Thanks.", says little of the place
        if last or edited or chance:
            new += range(right, block.b)
        left, right = block.a + block.size, block.b + block.size
    return new


def evidence(
    session: str, stored: Sequence[Said], messages: Sequence[ChatMessage], new: Sequence[int], clean: Clean
) -> list[Message]:
    """The new ones among ``messages`` (all of them evidence) to be stored, each with an id that says it again.

    The id is made of the session, the text, the text before it and how often this pair was said: whoever stores the
    same turn twice (two processes, a retry, a message that was forgotten) meets the same id.
    """
    words = spoken(messages, clean)
    before: list[Said | None] = [None if len(new) < len(words) or not stored else stored[-1], *words[:-1]]
    pairs = Counter(zip([None, *stored], stored, strict=False))
    found: list[Message] = []
    for at in new:
        pair = (before[at], words[at])
        found.append(_message(session, messages[at], words[at].role, json.dumps([session, *pair, pairs[pair]])))
        pairs[pair] += 1
    return found


def _sent_at(message: ChatMessage) -> datetime | None:
    """When it was said: ``additional_kwargs["sent_at"]`` in ISO 8601, else None, which is the moment it is stored.

    LlamaIndex's messages have no time of their own; whoever replays an old conversation can give one this way.
    """
    value = message.additional_kwargs.get("sent_at")
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:  # a key of somebody else's
        return None


def _message(session: str, message: ChatMessage, role: str, seed: str) -> Message:
    name = message.additional_kwargs.get("name")
    return Message(
        role=role,
        content=message.content or "",
        name=name if isinstance(name, str) else None,
        sent_at=_sent_at(message),
        id="li_" + hashlib.sha256(seed.encode()).hexdigest()[:32],
        session=session,
    )


def nameless(message: Message) -> Message:
    """The same message without an id: the memory makes one, and it is stored whatever was said before."""
    return replace(message, id=None)
