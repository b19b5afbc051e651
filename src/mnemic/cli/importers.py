"""From the JSON of others to messages. Pure: parsed JSON in, ``Message`` values out, nothing read or stored.

Nothing is dropped in silence: a field that is missing or of the wrong type is an error that names its place, and parts
 that are not text (images, calls of tools) are named in ``metadata["left_out"]`` of the message they belong to.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from mnemic.errors import InvalidInput
from mnemic.types import Message

__all__ = ["LEFT_OUT", "detect", "parse", "read_messages"]

LEFT_OUT = "left_out"
"""Key of a message's metadata that lists what of it could not be taken in."""

TURN_STEP = timedelta(seconds=1)
"""LoCoMo dates sessions, not turns: each turn is put one second after the one before, which keeps their order."""

_MESSAGE_FIELDS = ("role", "content", "name", "sent_at", "id", "session", "metadata")
_TOOL_FIELDS = ("tool_calls", "tool_call_id", "function_call", "refusal", "annotations", "audio")
_TEXT_PARTS = ("text", "input_text", "output_text")
_ROLE_OF_TYPE = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_ROLE_OF_LLAMA = {"chatbot": "assistant", "model": "assistant"}
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SESSION_TIME = re.compile(r"(\d{1,2}):(\d{2})\s*([ap]m)\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE)
_SESSION = re.compile(r"session_(\d+)")


def parse(text: str) -> object:
    """The value of a JSON text, or the list of values of JSON lines.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].lstrip().startswith("{") or not _is_json(lines[0][1]):
            raise InvalidInput(f"This is not JSON: {error}. Give a JSON or JSONL file.") from error
    return [_json_line(number, line) for number, line in lines]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _json_line(number: int, line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Line {number} is not JSON: {error}. Nothing was imported; correct the line.") from error


def detect(data: object) -> str:
    """The format of parsed JSON, told by its first object.

    Returns:
        ``locomo``, ``messages``, ``langchain`` or ``llama-index``.

    Raises:
        InvalidInput: it looks like none of them.
    """
    value = _unwrapped(data)
    if value == []:
        return "messages"
    head = cast("list[object]", value)[0] if isinstance(value, list) else value
    keys = set(_mapping(head))
    for name, marks in _MARKS:
        if any(mark <= keys for mark in marks):
            return name
    raise InvalidInput(
        f"The shape of the file is not known: it begins with {_described(head)}. Accepted are LoCoMo conversations, "
        "lists of messages with role and content, and dumps of LangChain and LlamaIndex messages."
    )


_MARKS: tuple[tuple[str, tuple[set[str], ...]], ...] = (
    ("locomo", ({"conversation"}, {"speaker_a", "speaker_b"})),
    ("langchain", ({"lc"}, {"type", "data"})),
    ("llama-index", ({"store"}, {"role", "blocks"}, {"role", "additional_kwargs"})),
    ("messages", ({"role", "content"}, {"role"}, {"content"})),
)


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
    if name not in _READERS:
        raise InvalidInput(f"There is no format {name!r}; there are {sorted(_READERS)} and auto.")
    return _identified(_READERS[name](_unwrapped(data), session))


def _identified(messages: Iterable[Message]) -> list[Message]:
    """The messages with ids: one that has none gets one made of what it says, who says it, when and where.

    Repetitions are counted, so that saying "ok" twice is two messages, and importing both again is none.
    """
    seen = Counter[str]()
    named: list[Message] = []
    for message in messages:
        if message.id is not None:
            named.append(message)
            continue
        when = message.sent_at.isoformat() if message.sent_at else None
        said = json.dumps([message.session, message.role, message.name, when, message.content])
        seen[said] += 1
        digest = hashlib.sha256(f"{seen[said]} {said}".encode()).hexdigest()[:24]
        named.append(replace(message, id=f"import:{digest}"))
    return named


# Reading fields


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object and its place in the file, for errors."""

    values: Mapping[str, object]
    place: str

    def fault(self, field: str, problem: str) -> InvalidInput:
        return InvalidInput(f"{self.place}.{field} {problem}. Nothing was imported; correct the file.")

    def text(self, field: str, *, needed: bool = True) -> str | None:
        value = self.values.get(field)
        if isinstance(value, str) or (value is None and not needed):
            return value or (None if not needed else "")
        if value is None:
            raise self.fault(field, "is missing")
        raise self.fault(field, f"must be a string, not {_described(value)}")

    def word(self, field: str) -> str:
        value = self.text(field)
        if not value:
            raise self.fault(field, "is empty")
        return value

    def moment(self, field: str) -> datetime | None:
        value = self.text(field, needed=False)
        try:
            return None if value is None else datetime.fromisoformat(value)
        except ValueError as error:
            raise self.fault(
                field, f"is {value!r:.60}, not a time in ISO 8601 such as 2026-03-01T18:05+01:00"
            ) from error

    def inside(self, field: str) -> _Object:
        value = self.values.get(field)
        if value is None:
            raise self.fault(field, "is missing")
        return _object(value, f"{self.place}.{field}")

    def maybe(self, field: str) -> _Object:
        value = self.values.get(field)
        return _object({} if value is None else value, f"{self.place}.{field}")

    def said(self, field: str, *, kind: str = "type", joint: str = "\n") -> tuple[str, tuple[str, ...]]:
        """The text of a string or of a list of parts, and what kinds of parts are not text."""
        value = self.values.get(field)
        if value is None and field not in self.values:
            raise self.fault(field, "is missing")
        if value is None or isinstance(value, str):
            return value or "", ()
        if not isinstance(value, list):
            raise self.fault(field, f"must be a string or a list of parts, not {_described(value)}")
        texts: list[str] = []
        others: list[str] = []
        for number, item in enumerate(cast("list[object]", value)):
            part = (
                _Object({kind: "text", "text": item}, "")
                if isinstance(item, str)
                else _object(item, f"{self.place}.{field}[{number}]")
            )
            name = part.values.get(kind, "text" if "text" in part.values else "part")
            if name in _TEXT_PARTS:
                texts.append(part.text("text") or "")
            else:
                others.append(str(name))
        return joint.join(texts), tuple(dict.fromkeys(others))


def _object(value: object, place: str) -> _Object:
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"{place} must be an object, not {_described(value)}. Nothing was imported; correct the file."
        )
    return _Object(cast("Mapping[str, object]", value), place)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _described(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object with {sorted(cast('Mapping[str, object]', value))[:8]}"
    names = {"list": "a list", "str": "a string", "bool": "a truth value", "NoneType": "null"}
    return names.get(type(value).__name__, "a number")


def _unwrapped(data: object) -> object:
    """A list stays a list; ``{"messages": [...]}``, the state of an agent, is its list."""
    inside = _mapping(data).get("messages")
    return cast("object", inside) if isinstance(inside, list) else data


def _objects(data: object, place: str = "") -> list[_Object]:
    """The objects of a list; an object alone is a list of one."""
    items = cast("list[object]", data) if isinstance(data, list) else [data]
    return [_object(item, f"{place}[{number}]") for number, item in enumerate(items)]


def _metadata(values: Mapping[str, object], left_out: Iterable[str]) -> dict[str, Any]:
    missing = list(left_out)
    return {**values, **({LEFT_OUT: missing} if missing else {})}


# The formats


def _plain(data: object, session: str | None) -> Iterable[Message]:
    for item in _objects(data):
        if unknown := sorted(set(item.values) - {*_MESSAGE_FIELDS, *_TOOL_FIELDS}):
            raise item.fault(
                unknown[0], f"is not known; a message has {', '.join(_MESSAGE_FIELDS)}: other values go into metadata"
            )
        content, parts = item.said("content")
        tools = [name for name in _TOOL_FIELDS if item.values.get(name)]
        yield Message(
            role=item.word("role"),
            content=content,
            name=item.text("name", needed=False),
            sent_at=item.moment("sent_at"),
            id=item.text("id", needed=False),
            session=item.text("session", needed=False) or session,
            metadata=_metadata(item.maybe("metadata").values, [*parts, *tools]),
        )


def _langchain(data: object, session: str | None) -> Iterable[Message]:
    for item in _objects(data):
        body = item.inside("kwargs" if "lc" in item.values else "data")
        kind = _langchain_type(item)
        content, parts = body.said("content", joint="")
        tools = ["tool_calls"] if body.values.get("tool_calls") else []
        yield Message(
            role=body.word("role") if kind == "chat" else _ROLE_OF_TYPE[kind],
            content=content,
            name=body.text("name", needed=False),
            sent_at=body.maybe("additional_kwargs").moment("sent_at"),
            id=body.text("id", needed=False),
            session=session,
            metadata=_metadata({}, [*parts, *tools]),
        )


def _langchain_type(item: _Object) -> str:
    """``human``, ``ai`` ...: from the dump's own word, or from the class name of a constructor."""
    names = item.values.get("id")
    path = cast("list[object]", names) if isinstance(names, list) else []
    word = str(path[-1]) if "lc" in item.values and path else item.word("type")
    kind = re.sub(r"(Message)?(Chunk)?$", "", word).lower()
    if kind not in {*_ROLE_OF_TYPE, "chat"}:
        raise item.fault("id" if path else "type", f"is {word!r:.60}, which is not a message of a conversation")
    return kind


def _llama_index(data: object, session: str | None) -> Iterable[Message]:
    if "store" in _mapping(data):
        store = _object(_mapping(data)["store"], "store")
        for key in store.values:
            yield from _llama_messages(store.values[key], f"store[{key!r:.60}]", key)
    else:
        yield from _llama_messages(data, "", session)


def _llama_messages(data: object, place: str, session: str | None) -> Iterable[Message]:
    for item in _objects(data, place):
        blocks = "blocks" if "blocks" in item.values else "content"
        content, parts = item.said(blocks, kind="block_type" if blocks == "blocks" else "type")
        extra = item.maybe("additional_kwargs")
        role = item.word("role")
        tools = [name for name in _TOOL_FIELDS if extra.values.get(name)]
        yield Message(
            role=_ROLE_OF_LLAMA.get(role, role),
            content=content,
            name=extra.text("name", needed=False),
            sent_at=extra.moment("sent_at"),
            id=extra.text("id", needed=False),
            session=session,
            metadata=_metadata({}, [*parts, *tools]),
        )


def _locomo(data: object, session: str | None) -> Iterable[Message]:
    for item in _objects(data):
        if "conversation" in item.values:
            yield from _conversation(item.inside("conversation"), item.word("sample_id"))
        else:
            yield from _conversation(item, item.text("sample_id", needed=False) or session or "locomo")


def _conversation(talk: _Object, sample: str) -> Iterable[Message]:
    roles = {talk.word("speaker_a"): "user", talk.word("speaker_b"): "assistant"}
    numbers = sorted(int(match[1]) for key in talk.values if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        field = f"session_{number}"
        began = _session_time(talk, f"{field}_date_time")
        for position, turn in enumerate(_objects(talk.values[field], f"{talk.place}.{field}")):
            speaker = turn.word("speaker")
            if speaker not in roles:
                raise turn.fault("speaker", f"is {speaker!r:.60}, neither speaker_a nor speaker_b")
            caption = turn.text("blip_caption", needed=False)
            image = f" [shares an image: {caption}]" if caption else ""
            yield Message(
                role=roles[speaker],
                content=f"{turn.text('text')}{image}".lstrip(),
                name=speaker,
                sent_at=began + position * TURN_STEP,
                id=f"{sample}:{turn.word('dia_id')}",
                session=f"{sample}:{field}",
            )


def _session_time(talk: _Object, field: str) -> datetime:
    """A time such as ``1:56 pm on 8 May, 2023``, in no zone; read without the machine's locale."""
    text = talk.word(field)
    match = _SESSION_TIME.fullmatch(text.strip())
    hour, minute, half, day, month, year = match.groups() if match else ("",) * 6
    try:
        return datetime(  # noqa: DTZ001 - the file names no zone; the handle's applies
            int(year),
            _MONTHS.index(month.lower()) + 1,
            int(day),
            int(hour) % 12 + 12 * (half.lower() == "pm"),
            int(minute),
        )
    except ValueError as error:
        raise talk.fault(field, f'is {text!r:.60}, not a time such as "1:56 pm on 8 May, 2023"') from error


_READERS: Mapping[str, Callable[[object, str | None], Iterable[Message]]] = {
    "locomo": _locomo,
    "messages": _plain,
    "langchain": _langchain,
    "llama-index": _llama_index,
}
