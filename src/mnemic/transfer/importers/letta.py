"""Letta: agent files in both versions, lists of messages, and lists of archival passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import (
    Damage,
    Fields,
    ParsedMemory,
    array,
    fields_of,
    identifier,
    mapping,
    metadata_of,
    names_in,
    read_each,
    read_one,
    statement,
)
from mnemic.types import Message

_ROLES = {
    "user": "user", "user_message": "user", "assistant": "assistant", "assistant_message": "assistant",
}  # fmt: skip
"""The speaker by role (agent files) or kind (listed messages); other roles and kinds are prompts, tools and thoughts."""

_PASSAGE = ("id", "text", "created_at", "updated_at", "tags", "embedding", "embedding_config", "metadata", "is_deleted")


def rows(data: object) -> list[object]:
    """The memory blocks and messages of an agent file, each message with its agent, and its damage; a list as it is."""
    file = Fields(mapping(data), "file")
    if "agents" in file.values:
        agents = enumerate(_listed(file, "agents"))
        turns = (turn for number, agent in agents for turn in read_one(agent, _turns, f"file.agents[{number}]"))
        return [*_listed(file, "blocks"), *turns]
    if "core_memory" in file.values:  # the first version: one agent
        return [*_listed(file, "core_memory"), *_turns(file)]
    return array(data, [data])


def _listed(owner: Fields, field: str) -> list[object]:
    """A list, or its damage."""
    try:
        return owner.listed(field)
    except InvalidInput as error:
        return [Damage(f"{owner.path}.{field}", str(error))]


def _turns(agent: Fields) -> Iterator[object]:
    (name,), damaged = agent.texts("name")
    yield from damaged
    about = {"agent": name, "agent_type": agent.values.get("agent_type")}
    for turn in _listed(agent, "messages"):
        fields = mapping(turn)
        yield {**fields, **about} if fields else turn


def memories(item: Fields) -> Iterable[ParsedMemory]:
    """A memory block or an archival passage; none for a message, and for the block about the agent itself.

    Raises:
        InvalidInput: a field is missing or malformed.
    """
    if _is_message(item):
        return
    if "label" not in item.values:
        rest = {name: value for name, value in item.values.items() if name not in _PASSAGE}
        yield ParsedMemory(
            path=item.path,
            id=identifier("letta", item.word("id")),
            content=statement(item, "text", item.text("text") or ""),
            names=names_in(item.maybe("metadata").values),
            tags=tuple(str(tag) for tag in array(item.values.get("tags"))),
            metadata=metadata_of(item.maybe("metadata").values, rest, "letta"),
            created=item.moment("created_at"),
            changed=item.moment("updated_at") or item.moment("created_at"),
        )
    elif (label := item.word("label")) != "persona" and (value := item.text("value")):
        digest = hashlib.sha256(f"{label}\n{value}".encode(errors="replace")).hexdigest()[:24]
        yield ParsedMemory(
            path=item.path, id=identifier("letta", digest), content=statement(item, "value", value), names={},
            tags=(label,), metadata={"block": label},
        )  # fmt: skip


def _is_message(item: Fields) -> bool:
    return "role" in item.values or "message_type" in item.values


def messages(data: object, session: str | None) -> Iterator[Message | Damage]:
    """What the user and the agent said; ids of an agent file are its own, so that messages get derived ones."""

    def read(item: Fields) -> Iterator[Message]:
        role = _ROLES.get(item.word("role" if "role" in item.values else "message_type")) if _is_message(item) else None
        if role is not None and (text := _spoken_text(item, role)):
            sent_at = item.moment("date" if "date" in item.values else "created_at")
            yield Message(role=role, content=text, session=item.text("agent", needed=False) or session, sent_at=sent_at)

    return read_each(data, read)


def _spoken_text(item: Fields, role: str) -> str:
    """The words of a message. A MemGPT agent speaks by the tool ``send_message``; the rest of what it writes is thought."""
    field = "content" if "content" in item.values else "text"
    text, _ = item.said(field)
    if item.values.get(field) is None and not item.values.get("tool_calls"):
        raise item.fault(field, "is missing")
    if role == "user":
        event = _json(text)
        if "type" not in event:
            return text
        return str(event.get("message", "")) if event["type"] == "user_message" else ""  # others: logins, heartbeats
    calls = [mapping(mapping(call).get("function")) for call in array(item.values.get("tool_calls"))]
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
