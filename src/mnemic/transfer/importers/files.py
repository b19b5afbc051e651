"""From the text of a file to what it holds: messages or memories. Pure: nothing is read or stored here.

Nothing is dropped in silence. Of messages, a field that is missing or of the wrong type is an error that names its place.
Of memories, what is damaged is told beside the others. Parts of messages that are not text (images, calls of tools) are
named in ``metadata["left_out"]`` of the message they belong to.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mnemic.errors import InvalidInput
from mnemic.transfer.importers import langgraph, mem0, messages
from mnemic.transfer.importers.fields import fields_of, json_type, mapping
from mnemic.transfer.importers.found import Damage, Found
from mnemic.transfer.importers.locomo import locomo
from mnemic.types import Message

__all__ = ["MEMORY_FORMATS", "Parsed", "detect", "parse", "parsed", "read_memories", "read_messages"]

NOTHING = "Nothing was imported; correct the file."


@dataclass(frozen=True, slots=True)
class Parsed:
    """The JSON of a file. ``lines`` has the number of the line of each value, where each line is one."""

    data: object
    lines: Sequence[int] = ()
    damaged: Sequence[Damage] = ()


def parsed(text: str) -> Parsed:
    """The value of a JSON text, or the values of JSON lines with those lines that are none.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        return Parsed(json.loads(text))
    except (ValueError, RecursionError) as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].lstrip().startswith("{") or isinstance(_json(*lines[0]), Damage):
            raise InvalidInput(f"This is not JSON: {error}. Give a JSON or JSONL file.") from error
    values = [(number, _json(number, line)) for number, line in lines]
    good = [(number, value) for number, value in values if not isinstance(value, Damage)]
    damaged = [value for _, value in values if isinstance(value, Damage)]
    return Parsed([value for _, value in good], [number for number, _ in good], damaged)


def _json(number: int, line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return Damage(f"line {number}", f"Line {number} is not JSON: {error}.")


def parse(text: str) -> object:
    """The value of a JSON text, or the list of values of JSON lines.

    Raises:
        InvalidInput: it is neither, or a line is damaged.
    """
    return whole(parsed(text))


def whole(read: Parsed) -> object:
    """What was read, if none of it is damaged.

    Raises:
        InvalidInput: a line is.
    """
    if read.damaged:
        raise InvalidInput(f"{read.damaged[0].reason} {NOTHING}")
    return read.data


def detect(data: object) -> str:
    """The format of parsed JSON, told by its first object.

    Returns:
        ``locomo``, ``messages``, ``langchain``, ``llama-index``, ``mem0`` or ``langgraph``.

    Raises:
        InvalidInput: it looks like none of them.
    """
    value = _unwrapped(data)
    if value == []:
        return "messages"
    head = cast("list[object]", value)[0] if isinstance(value, list) else value
    keys = set(mapping(head))
    for name, marks in _MARKS:
        if any(mark <= keys for mark in marks):
            return name
    raise InvalidInput(
        f"The shape of the file is not known: it begins with {json_type(head)}. Accepted are LoCoMo conversations, "
        "lists of messages with role and content, dumps of LangChain and LlamaIndex messages, and memories of mem0 and "
        "of LangGraph stores."
    )


_MARKS: tuple[tuple[str, tuple[set[str], ...]], ...] = (
    ("locomo", ({"conversation"}, {"speaker_a", "speaker_b"})),
    ("langgraph", ({"namespace", "key", "value"}, {"prefix", "key", "value"})),
    ("mem0", ({"id", "memory"}, {"id", "payload"}, {"memory_id", "new_memory"})),
    ("langchain", ({"lc"}, {"type", "data"})),
    ("llama-index", ({"store"}, {"role", "blocks"}, {"role", "additional_kwargs"})),
    ("messages", ({"role", "content"}, {"role"}, {"content"})),
)


def _unwrapped(data: object) -> object:
    """A list stays a list; of an object that holds one, such as ``{"messages": [...]}``, it is the list."""
    for key in ("messages", "results", "memories", "items"):
        inside = mapping(data).get(key)
        if isinstance(inside, list):
            return cast("object", inside)
    points = mapping(mapping(data).get("result")).get("points")
    return cast("object", points) if isinstance(points, list) else data


# Messages


def read_messages(data: object, *, format: str = "auto", session: str | None = None) -> list[Message]:
    """The messages in parsed JSON, in its order, each with an id.

    Args:
        data: what ``parse`` gave.
        format: ``locomo``, ``messages``, ``langchain``, ``llama-index``, or ``auto`` to tell by the shape.
        session: the conversation of messages that name none.

    Raises:
        InvalidInput: a field is missing or malformed; the message names its place, counted from 0.
    """
    name = detect(data) if format == "auto" else format
    if name not in _MESSAGES:
        raise InvalidInput(f"There is no format {name!r} of messages; there are {sorted(_MESSAGES)} and auto.")
    inside = mapping(data).get("messages")
    value = cast("object", inside) if isinstance(inside, list) else data
    try:
        return _identified(_MESSAGES[name](value, session))
    except InvalidInput as error:
        raise InvalidInput(f"{error} {NOTHING}") from error


def _identified(found: Iterable[Message]) -> list[Message]:
    """The messages with ids: one that has none gets one made of what it says, who says it, when and where.

    Repetitions are counted, so that saying "ok" twice is two messages, and importing both again is none.
    """
    seen = Counter[str]()
    named: list[Message] = []
    for message in found:
        if message.id is not None:
            named.append(message)
            continue
        when = message.sent_at.isoformat() if message.sent_at else None
        said = json.dumps([message.session, message.role, message.name, when, message.content])
        seen[said] += 1
        digest = hashlib.sha256(f"{seen[said]} {said}".encode()).hexdigest()[:24]
        named.append(replace(message, id=f"import:{digest}"))
    return named


_MESSAGES: Mapping[str, Callable[[object, str | None], Iterable[Message]]] = {
    "locomo": locomo,
    "messages": messages.plain,
    "langchain": messages.langchain,
    "llama-index": messages.llama_index,
}


# Memories


def read_memories(read: Parsed, format: str) -> tuple[list[Found], list[Damage]]:
    """The memories of a file, in its order, and what of it is damaged or could not be taken in.

    Args:
        read: what ``parsed`` gave.
        format: ``mem0`` or ``langgraph``.

    Raises:
        InvalidInput: the file as a whole is something else.
    """
    reader = MEMORY_FORMATS[format]
    value = _unwrapped(read.data)
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    lines = read.lines if value is read.data and len(read.lines) == len(items) else ()
    places = [f"line {number}" for number in lines] or [f"[{number}]" for number in range(len(items))]
    found: list[Found] = []
    damaged = [*read.damaged, *reader.beside(mapping(read.data))]
    for place, item in zip(places, items, strict=True):
        try:
            found.append(reader.memory(fields_of(item, place)))
        except InvalidInput as error:
            damaged.append(Damage(place, str(error)))
    return found, damaged


MEMORY_FORMATS = {"langgraph": langgraph, "mem0": mem0}
"""Formats that hold memories; a module reads one item with ``memory`` and tells with ``beside`` what else is there."""
