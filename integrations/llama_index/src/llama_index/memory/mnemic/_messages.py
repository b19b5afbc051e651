"""Chat messages of LlamaIndex as messages of a thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, TypeAlias, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from pydantic import BaseModel, BeforeValidator

from mnemic import Memory, Message
from mnemic.adapters import Thread, ThreadMessage, checked_location, evidence, sent_at, text_of_parts, with_tools

Place: TypeAlias = Annotated[
    Memory | str | Path | None, BeforeValidator(lambda given: None if given is None else checked_location(given))
]
"""An open memory, or the location of one."""

ROLES = {"user": "user", "assistant": "assistant", "chatbot": "assistant", "model": "assistant"}
"""Roles of people and models; the others (system, tool ...) are not evidence."""

UNTITLED = "input_document"
"""The title that LlamaIndex gives to a document without one."""

_TEMPLATE = ("<memory>\n", "</memory>")
"""What llama_index.core.memory.Memory puts around the content of its blocks."""

_THOUGHT, _ANSWER = "Thought:", "\nAnswer:"
"""How the steps of a ReActAgent begin and end: it puts all steps of a turn as one message."""

_ACTION = re.compile(r"^Action: (\S+)\nAction Input: ", re.MULTILINE)
"""How such a step calls a tool."""

_CODE, _CODE_END, _OUTPUT = "<execute>", "</execute>", "Result of executing the code given:"
"""What a CodeActAgent runs, within its answers, and how the code's output begins, which it puts into the user's role."""


def text_of(message: ChatMessage | str | None) -> str:
    """The text of a message, without white space around it."""
    content = message.content if isinstance(message, ChatMessage) else message
    return (content or "").strip()


def _said(message: ChatMessage) -> str:
    """The text of a message, media by reference."""
    if all(isinstance(block, TextBlock) for block in message.blocks):
        return message.content or ""
    return text_of_parts(map(_part, message.blocks), kind="block_type")


def _part(block: BaseModel) -> dict[str, object]:
    """A block as a content part."""
    part = block.model_dump(exclude_none=True)
    if "url" in part:
        part["url"] = str(part["url"])
    if part.get("title") == UNTITLED:
        del part["title"]
    return part


def is_call(block: object) -> bool:
    """Whether a block is a tool call; its class does not exist in the older versions of llama-index-core."""
    return getattr(block, "block_type", None) == "tool_call"


def _evidence_text(message: ChatMessage) -> str:
    """The text that is evidence: of a ReActAgent's steps only the last one's answer, and neither code nor its output.

    The other steps hold results of tools. The answer itself may have lines that begin with ``Answer:``.
    """
    text, role = _said(message), ROLES.get(message.role.value)
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


def thread_message(message: ChatMessage) -> ThreadMessage:
    """A message of a thread. Tool calls, the results of tools, instructions and messages without text are not evidence."""
    role, text = ROLES.get(message.role.value), _evidence_text(message)
    calls = [*(message.additional_kwargs.get("tool_calls") or ()), *(b for b in message.blocks if is_call(b))]
    name, call = message.additional_kwargs.get("name"), message.additional_kwargs.get("tool_call_id")
    return ThreadMessage(
        role=role or message.role.value, text=text, stored=role is not None and bool(text.strip()) and not calls,
        name=name if isinstance(name, str) else None, sent_at=sent_at(message.additional_kwargs),
        call=None if call is None else str(call), calls=dict(map(_call, calls)),
    )  # fmt: skip


def _call(call: object) -> tuple[str, str]:
    """The id of a call and the name of the tool, in the forms in which providers keep them."""
    if isinstance(call, Mapping):
        call = SimpleNamespace(**cast("Mapping[str, object]", call))
    function = getattr(call, "function", None)
    if isinstance(function, Mapping):
        function = SimpleNamespace(**cast("Mapping[str, object]", function))
    ids = (getattr(call, key, None) for key in ("tool_call_id", "tool_id", "id"))
    names = (getattr(of, key, None) for of in (call, function) for key in ("tool_name", "name"))
    return str(next(filter(None, ids), "")), str(next(filter(None, names), "tool"))


def _steps(message: ChatMessage) -> Iterator[ThreadMessage]:
    """A message, after the tools that its steps used if it holds those of a ReActAgent."""
    text = message.content or ""
    if message.role == MessageRole.ASSISTANT and text.lstrip().startswith(_THOUGHT):
        yield from (ThreadMessage(role="tool", text="", stored=False, name=name) for name in _ACTION.findall(text))
    yield thread_message(message)


def thread_of(messages: Iterable[ChatMessage], memory: Memory, before: Sequence[ChatMessage] = ()) -> Thread:
    """The evidence of a history, in the session of the handle.

    Args:
        messages: the history, or its end.
        memory: the handle.
        before: what came before that end; the tools used in it belong to the next answer.
    """
    clean, head = memory.admin.redacted, [step for message in before for step in _steps(message)]
    noted = with_tools([*head, *(step for message in messages for step in _steps(message))])
    return Thread(evidence(noted[len(head) :], clean), scope=memory.scope, clean=clean)


def cleaned(messages: Iterable[ChatMessage], memory: Memory) -> list[ChatMessage]:
    """Copies without injected text; a message that holds nothing else is left out."""
    return [clean for m in messages if (clean := _without_recall(m, memory)) is not None]


def copied(message: ChatMessage) -> ChatMessage:
    """A message the framework may edit: it writes into the blocks of what it gets."""
    return message.model_copy(
        update={
            "blocks": [block.model_copy() for block in message.blocks],
            "additional_kwargs": dict(message.additional_kwargs),
        }
    )


def _without_recall(message: ChatMessage, memory: Memory) -> ChatMessage | None:
    """A copy without the text that was injected into it; None when nothing else was in it.

    It is known by its fence, which stays with the text wherever a framework puts it. An entry of ``additional_kwargs``
    would be lost when messages are merged, and some providers reject fields they do not know.
    """
    clean = copied(message)
    marked = False
    for block in clean.blocks:
        if isinstance(block, TextBlock) and (rest := memory.admin.without_recalled(block.text)) != block.text:
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
