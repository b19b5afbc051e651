"""Letta: agent files in both versions, lists of messages, and lists of archival passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import cast

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import (
    Fields,
    Found,
    fields_of,
    identifier,
    mapping,
    metadata_of,
    names_in,
    objects,
    statement,
)
from mnemic.types import Message

_ROLES = {
    "user": "user", "user_message": "user", "assistant": "assistant", "assistant_message": "assistant",
}  # fmt: skip
"""The speaker by role (agent files) or kind (listed messages); other roles and kinds are prompts, tools and thoughts."""

_PASSAGE = ("id", "text", "created_at", "updated_at", "tags", "embedding", "embedding_config", "metadata", "is_deleted")


def rows(data: object) -> list[object]:
    """The memory blocks and messages of an agent file, each message with its agent; a list as it is."""
    file = mapping(data)
    if "agents" in file:
        return [*_list(file, "blocks"), *(turn for agent in _list(file, "agents") for turn in _turns(mapping(agent)))]
    if "core_memory" in file:  # the first version: one agent
        return [*_list(file, "core_memory"), *_turns(file)]
    return cast("list[object]", data) if isinstance(data, list) else [data]


def _list(value: Mapping[str, object], field: str) -> list[object]:
    found = value.get(field)
    return cast("list[object]", found) if isinstance(found, list) else []


def _turns(agent: Mapping[str, object]) -> Iterable[object]:
    about = {"agent": agent.get("name"), "agent_type": agent.get("agent_type")}
    for turn in _list(agent, "messages"):
        held = mapping(turn)
        yield {**held, **about} if held else turn


def memories(item: Fields) -> Iterable[Found]:
    """A memory block or an archival passage; none for a message, and for the block about the agent itself.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    if _is_message(item):
        return
    if "label" not in item.values:
        rest = {name: value for name, value in item.values.items() if name not in _PASSAGE}
        yield Found(
            place=item.place,
            id=identifier("letta", item.word("id")),
            content=statement(item, "text", item.text("text") or ""),
            names=names_in(item.maybe("metadata").values),
            tags=tuple(str(tag) for tag in _list(item.values, "tags")),
            metadata=metadata_of(item.maybe("metadata").values, rest, "letta"),
            created=item.moment("created_at"),
            changed=item.moment("updated_at") or item.moment("created_at"),
        )
    elif (label := item.word("label")) != "persona" and (value := item.text("value")):
        digest = hashlib.sha256(f"{label}\n{value}".encode(errors="replace")).hexdigest()[:24]
        yield Found(
            place=item.place, id=identifier("letta", digest), content=statement(item, "value", value), names={},
            tags=(label,), metadata={"block": label},
        )  # fmt: skip


def _is_message(item: Fields) -> bool:
    return "role" in item.values or "message_type" in item.values


def messages(data: object, session: str | None) -> Iterable[Message]:
    """What the user and the agent said; ids of an agent file are its own, so that messages get derived ones."""
    for item in objects(data):
        role = _ROLES.get(item.word("role" if "role" in item.values else "message_type")) if _is_message(item) else None
        if role is not None and (text := _said(item, role)):
            sent_at = item.moment("date" if "date" in item.values else "created_at")
            yield Message(role=role, content=text, session=item.text("agent", needed=False) or session, sent_at=sent_at)


def _said(item: Fields, role: str) -> str:
    """The words of a message. A MemGPT agent speaks by the tool ``send_message``; the rest of what it writes is thought."""
    text, _ = item.said("content" if "content" in item.values else "text")
    if role == "user":
        event = _json(text)
        if "type" not in event:
            return text
        return str(event.get("message", "")) if event["type"] == "user_message" else ""  # others: logins, heartbeats
    calls = [mapping(mapping(call).get("function")) for call in _list(item.values, "tool_calls")]
    spoken = [_json(str(call.get("arguments"))).get("message") for call in calls if call.get("name") == "send_message"]
    if spoken:
        return "\n".join(str(words) for words in spoken if words)
    return "" if str(item.values.get("agent_type")).startswith("memgpt") else text


def _json(text: str) -> Mapping[str, object]:
    try:
        return mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def left_out(data: object) -> int:
    """How many blocks and messages of a file are not imported: the persona, prompts, thoughts, tools and events."""
    count = 0
    for row in rows(data):
        with suppress(InvalidInput):  # damage is reported by itself
            item = fields_of(row, "")
            count += not [*memories(item), *messages([row], None)]
    return count
