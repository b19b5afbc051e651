"""Reads a message in the forms in which chat APIs and their clients hold one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields

from mnemic.errors import InvalidInput
from mnemic.text.parts import join_parts, mapping_of
from mnemic.text.values import json_type
from mnemic.types import Message

_FIELDS = tuple(field.name for field in dataclass_fields(Message))
_ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "chatbot": "assistant", "system": "system", "developer": "developer", "tool": "tool", "function": "function",
}  # fmt: skip
NOT_TEXT = ("tool_calls", "function_call", "audio", "images")
"""Fields of a message for what is not text."""
_ENVELOPE = frozenset({
    "annotations", "cache_control", "created", "created_at", "done", "done_reason", "index", "model", "phase", "prefix",
    "reasoning", "reasoning_content", "reasoning_details", "refusal", "status", "stop_details", "stop_reason",
    "stop_sequence", "thinking", "tool_call_id", "tool_name", "type", "usage",
})  # fmt: skip
"""Fields that clients keep with a message and that say nothing."""


def is_one_message(value: object) -> bool:
    """Whether a value is a message in some form, rather than several."""
    return isinstance(value, (Message, Mapping)) or hasattr(value, "model_dump")


def message_fields(value: object, place: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """The fields of a message with its content as text, and the names of what in it is not text.

    Takes the mappings, and the objects with ``model_dump``, of OpenAI's chat completions and responses, Anthropic,
    Gemini, Bedrock, Ollama and Mnemic. A call of a tool says nothing: its content is empty.

    Args:
        value: the message.
        place: its path, for errors.

    Raises:
        InvalidInput: it is no message, or has a field that no message has.
    """
    given = mapping_of(value)
    if given is None:
        raise InvalidInput(f"{place} must be a message: an object with role and content, not {json_type(value)}.")
    if "role" not in given and (item := _response_item(given)):
        given = item
    content = "parts" if "parts" in given and "content" not in given else "content"
    if unknown := sorted(str(key) for key in given if key not in {*_FIELDS, *NOT_TEXT, *_ENVELOPE, content}):
        raise InvalidInput(
            f"{place}.{unknown[0]} is not known; a message has {', '.join(_FIELDS)}: other values go into metadata."
        )
    others = [name for name in NOT_TEXT if given.get(name)]
    if missing := [name for name in ("role", content) if name not in given and not (others and name == content)]:
        raise InvalidInput(f"{place}.{missing[0]} is missing.")
    text, kinds = join_parts(given.get(content), f"{place}.{content}")
    found = {name: given[name] for name in _FIELDS if name in given}
    return {**found, "content": text or _refusal_or_transcript(given)}, (*kinds, *others)


def _response_item(given: Mapping[str, object]) -> Mapping[str, object] | None:
    """An item of OpenAI's responses (a call, its output, reasoning) as a message; None for anything else."""
    kind = given.get("type")
    if not isinstance(kind, str) or not (kind == "reasoning" or kind.endswith(("_call", "_output"))):
        return None
    if kind.endswith("_output"):
        return {"role": "tool", "content": given.get("output")}
    return {"role": "assistant", "content": None, "function_call": kind}


def _refusal_or_transcript(given: Mapping[str, object]) -> str:
    """What an assistant said in another field than the content."""
    audio = mapping_of(given.get("audio")) or {}
    return next((text for text in (given.get("refusal"), audio.get("transcript")) if isinstance(text, str)), "")


def role_of(role: str) -> str:
    """Mnemic's name of a role that another system may call something else; an unknown role stays as it is."""
    return _ROLES.get(role.lower(), role)
