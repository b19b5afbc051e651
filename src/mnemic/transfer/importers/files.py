"""Parsing the text of a file into messages or memories. Pure functions, without input or output.

Nothing is dropped silently. A message or memory with a missing or invalid field is reported as damaged, with its place, next
to the valid ones. Parts of messages that are not text (images, tool calls) are listed in
``metadata["left_out"]`` of the message.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from mnemic.errors import InvalidInput
from mnemic.text.values import counted, json_type
from mnemic.transfer.importers import chats, memory_systems, messages, texts, transcripts
from mnemic.transfer.importers.fields import (
    Damage,
    Fields,
    ParsedMemory,
    derived_id,
    from_json,
    mapping,
    names_in,
    partition,
    read_each,
)
from mnemic.types import Message

SAMPLE = 100
"""Objects or lines at the beginning by which a format is recognized: some of them may be damaged."""


T = TypeVar("T", Damage, ParsedMemory)


class PlainText(str):
    """The text of a file that is no JSON."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """The JSON of a file; for JSON lines ``lines`` has the line number of each value. ``left_out``: names of other files."""

    data: object
    lines: Sequence[int] = ()
    damaged: Sequence[Damage] = ()
    left_out: Sequence[str] = ()


def parse_lines(text: str, format: str = "auto") -> Parsed:
    """The value of a JSON text, the values of JSON lines, including damaged ones, or a conversation in plain text as it is.

    Args:
        text: of the file.
        format: if it is one of plain text, the text is taken for that, whatever it looks like.

    Raises:
        InvalidInput: the text is none of these.
    """
    if format in _PLAIN:
        return Parsed(PlainText(text))
    try:
        return Parsed(from_json(text))
    except InvalidInput as error:
        if texts.detect_text(text):
            return Parsed(PlainText(text))
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        head = [isinstance(_json(*line), dict) for line in lines[:SAMPLE]]
        if len(lines) < 2 or 2 * sum(head) < len(head):
            raise InvalidInput(
                f"{error} Give a file in JSON or JSONL, a chat of WhatsApp, a transcript "
                "whose turns begin with User: and Assistant:, or a table in CSV. If it is one of the last three, name it with "
                "format=."
            ) from error
    values = [(number, _json(number, line)) for number, line in lines]
    good = [(number, value) for number, value in values if not isinstance(value, Damage)]
    damaged = [value for _, value in values if isinstance(value, Damage)]
    return Parsed([value for _, value in good], [number for number, _ in good], damaged)


def _json(number: int, line: str) -> object:
    try:
        return from_json(line, f"Line {number}")
    except InvalidInput as error:
        return Damage(f"line {number}", str(error))


def detect(data: object) -> str:
    """The format of parsed JSON, recognized by the fields of the whole, else by those of most of its first objects.

    Returns:
        One of ``MESSAGE_FORMATS`` or ``MEMORY_FORMATS``.

    Raises:
        InvalidInput: the format is not recognized.
    """
    if isinstance(data, PlainText) and (name := texts.detect_text(data)):
        return name
    value = _unwrap(data)
    if value == []:
        return "messages"
    items = cast("list[object]", value)[:SAMPLE] if isinstance(value, list) else [value]
    for some in ([data], items):
        if known := Counter(filter(None, map(_format_of, some))):
            return known.most_common(1)[0][0]
    raise InvalidInput(
        f"The format of the file is unknown: it begins with {json_type(items[0])}. Accepted are "
        f"{', '.join(dict.fromkeys((*MESSAGE_FORMATS, *MEMORY_FORMATS)))}. If it is one of them, name it with format=."
    )


def _format_of(value: object) -> str | None:
    """The format whose fields an object has."""
    keys = mapping(value).keys()
    return next((name for name, marks in _MARKS.items() if any({*mark.split()} <= keys for mark in marks)), None)


_MARKS: Mapping[str, Sequence[str]] = {
    "chatgpt": ["mapping"],
    "claude": ["chat_messages", "conversations_memory", "project_memories"],
    "claude-code": ["sessionId", "leafUuid", "type snapshot", "type payload"],
    "telegram": ["date_unixtime", "chats"],
    "slack": ["ts text", "channels users"],
    "letta": ["agents blocks", "agent_type core_memory", "id message_type", "text embedding_config", "text archive_id"],
    "chroma": ["ids documents"],
    "basic-memory": ["file note"],
    "zep": ["uuid fact", "uuid role content"],
    "memory-graph": ["entityType observations", "relationType"],
    "locomo": ["conversation", "speaker_a speaker_b"],
    "langgraph": ["namespace key value", "prefix key value"],
    "mem0": ["id memory", "id payload", "memory_id new_memory"],
    "langchain": ["lc", "type data"],
    "llama-index": ["store", "role blocks", "role additional_kwargs"],
    "messages": ["role", "content"],
}
"""The fields by which an object of a format is recognized, the first format before the others."""


def _unwrap(data: object) -> object:
    """The list in an object such as ``{"messages": [...]}``; other values unchanged."""
    for key in ("messages", "contents", "results", "memories", "items", "edges"):
        inside = mapping(data).get(key)
        if isinstance(inside, list):
            return cast("object", inside)
    points = mapping(mapping(data).get("result")).get("points")
    return cast("object", points) if isinstance(points, list) else data


# Messages


def messages_of(
    read: Parsed, format: str, session: str | None, *, guessed: bool = False
) -> tuple[list[Message], list[Damage]]:
    """The messages of a file, in order, and the parts that are damaged.

    Args:
        read: the result of ``parse_lines``.
        format: one of ``MESSAGE_FORMATS``.
        session: the session of messages that have none.
        guessed: it is only the name of a file, which the next export of the same chat may not have.

    Raises:
        InvalidInput: the file has another format.
    """
    data = _items(read.data, format) if format in _LISTS else read.data
    history, damaged = partition(MESSAGE_FORMATS[format](data, session))
    return with_ids(history, session if guessed else None), [*read.damaged, *(_by_line(part, read) for part in damaged)]


def _by_line(found: T, read: Parsed) -> T:
    """What was read of JSON lines, or is damaged there, with the number of its line as the place."""
    item = re.match(r"\[(\d+)\]", found.path)
    if item is None or not read.lines:
        return found
    line = f"line {read.lines[int(item[1])]}"
    path = line + found.path[item.end() :]
    if isinstance(found, Damage):
        return replace(found, path=path, reason=found.reason.replace(item[0], line, 1))
    return replace(found, path=path)


def _items(data: object, format: str) -> object:
    """The list of items in a file; the data where there is none."""
    match format:
        case "letta":
            return memory_systems.letta_rows(data)
        case "chroma":
            return memory_systems.chroma_rows(data)
        case "csv":
            return texts.rows(str(data))
        case _:
            return _unwrap(data)


def with_ids(history: Iterable[Message], guessed: str | None = None) -> list[Message]:
    """Messages with ids; a missing id is derived from content, speaker, time, session and user.

    A ``guessed`` session counts only for messages without a time: a newer export of a chat may be named otherwise.

    Repetitions are counted, so that two equal messages are stored as two, and a second import of both stores none.
    """
    seen = Counter[str]()
    identified: list[Message] = []
    for message in history:
        if message.id is not None:
            identified.append(message)
            continue
        moment = message.sent_at.isoformat() if message.sent_at else None
        users = names_in(message.metadata).values()
        session = None if moment and message.session == guessed else message.session
        content = json.dumps([session, message.role, message.name, moment, message.content, *users])
        seen[content] += 1
        identified.append(replace(message, id=derived_id("import", f"{seen[content]} {content}")))
    return identified


MESSAGE_FORMATS: Mapping[str, Callable[[object, str | None], Iterable[Message | Damage]]] = {
    "chatgpt": chats.chatgpt,
    "claude": chats.claude,
    "claude-code": transcripts.turns,
    "whatsapp": texts.whatsapp,
    "telegram": chats.telegram,
    "slack": chats.slack,
    "transcript": texts.transcript,
    "csv": texts.table,
    "messages": messages.plain,
    "langchain": messages.langchain,
    "llama-index": messages.llama_index,
    "locomo": messages.locomo,
    "letta": memory_systems.letta_messages,
    "zep": memory_systems.zep_messages,
}
"""Formats with messages, and the function that reads one."""
_LISTS = ("messages", "langchain", "llama-index", "letta", "zep", "csv")
"""Formats that are a list, alone or in a field such as ``messages``, or the rows of a table."""
_PLAIN = ("whatsapp", "transcript", "csv")
"""Formats that are no JSON."""


def remarks(data: object, format: str) -> list[str]:
    """What was understood of a file, and what was left out, where a person should know."""
    match format:
        case "chatgpt":
            count = chats.other_branches(data)
            return (
                [f"left out: {counted({'message': count})} of branches that were edited or asked again"]
                if count
                else []
            )
        case "letta":
            count = memory_systems.letta_left_out(data)
            return (
                [f"left out: {counted({'item': count})} (the persona, prompts, thoughts, tools and events)"]
                if count
                else []
            )
        case "whatsapp":
            return [f"dates are read as {texts.written_order(str(data))}"]
        case "csv":
            return [
                "columns: "
                + ", ".join(f"{field} from {column!r}" for field, column in texts.columns(str(data)).items())
            ]
        case _:
            return []


# Memories


def read_memories(read: Parsed, format: str) -> tuple[list[ParsedMemory], list[Damage]]:
    """The memories of a file, in order, and the parts that are damaged or not supported.

    Args:
        read: the result of ``parse_lines``.
        format: one of ``MEMORY_FORMATS``.

    Raises:
        InvalidInput: the file has another format.
    """
    unsupported = memory_systems.mem0_unsupported(mapping(read.data)) if format == "mem0" else ()
    memories, damaged = partition(read_each(_items(read.data, format), MEMORY_FORMATS[format]))
    located = [_by_line(memory, read) for memory in memories]
    return located, [*read.damaged, *unsupported, *(_by_line(part, read) for part in damaged)]


MEMORY_FORMATS: Mapping[str, Callable[[Fields], Iterable[ParsedMemory | Damage]]] = {
    "claude": memory_systems.claude,
    "mem0": memory_systems.mem0,
    "langgraph": memory_systems.langgraph,
    "memory-graph": memory_systems.memory_graph,
    "zep": memory_systems.zep,
    "letta": memory_systems.letta,
    "chroma": memory_systems.chroma,
    "basic-memory": memory_systems.basic_memory,
}
"""Formats with memories, and the function that parses an item."""
