"""Adds messages: read in the forms of chat APIs and their clients, validated, redacted, embedded, then written.

Each batch is one transaction; no language model is called.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, cast

from mnemic import validation
from mnemic.errors import InvalidInput
from mnemic.secrets.policy import SecretPolicy, redact_record, refusal_reason
from mnemic.services.processes import process_lock
from mnemic.text.markup import is_blank, is_cut_off, is_unverified, without_recalled
from mnemic.text.values import json_type, jsonable, now, written_time
from mnemic.types import (
    AddMessage,
    Indexing,
    Message,
    Receipt,
    Receipts,
    Record,
    Scope,
    Source,
)
from mnemic.types.literals import AGENT, ROLES
from mnemic.types.records import REPEATED_TRUST, TRUST_OF_SOURCE

if TYPE_CHECKING:
    from mnemic.runtime.runtime import Runtime

_lock = process_lock()
_last = 0


def new_id(prefix: str) -> str:
    """A new id, such as ``msg_019aab...``.

    Ids of one process sort in the order of creation, so that texts of the same millisecond keep their order. UUID version 7
    of RFC 9562, with the twelve bits of ``rand_a`` as fractions of a millisecond.
    """
    global _last  # noqa: PLW0603 - the order holds for the whole process
    with _lock:
        _last = tick = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
    rest = int.from_bytes(os.urandom(8)) >> 2 | 1 << 63
    return f"{prefix}{tick >> 12:012x}7{tick & 4095:03x}{rest:016x}"


def stable_id(prefix: str, *parts: str) -> str:
    """The id of something made of these parts: making it again stores nothing twice."""
    return prefix + hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


BATCH = 256
ID_PREFIX = "msg_"

SOURCE_OF_ROLE: Mapping[str, Source] = {
    "user": "direct_user", "assistant": "model_inference", "tool": "tool_external",
    "function": "tool_external", "system": "tool_internal", "developer": "tool_internal", "document": "document",
}  # fmt: skip


def complete(
    value: Message | Mapping[str, Any],
    scope: Scope,
    session: str | None,
    zone: tzinfo,
    moment: datetime,
    *,
    path: str = "message",
) -> Message:
    """The message with every field validated and filled in; ``moment`` is the default time."""
    if isinstance(value, Message):
        m, content = value, join_parts(value.content, "content")[0]
    else:
        fields: dict[str, Any] = message_fields(value, path)[0]
        m, content = Message(**fields), fields["content"]
    role = role_of(validation.name("role", m.role))
    if not role:
        raise InvalidInput("role must not be empty; use user, assistant, system or tool.")
    source = validation.source(validation.optional("source", m.source) or SOURCE_OF_ROLE.get(role, "tool_external"))
    id_ = validation.optional("id", m.id)
    if id_ == "":
        raise InvalidInput("id must not be empty; leave it out to have one made.")
    return replace(
        m,
        role=role,
        content=validation.text("content", content, validation.MAX_CONTENT),
        name=validation.optional("name", m.name) or None,
        sent_at=validation.moment("sent_at", m.sent_at, zone) or moment,
        id=id_ or new_id(ID_PREFIX),
        session=validation.optional("session", m.session) or session or scope.session,
        metadata=validation.json_object("metadata", m.metadata),
        source=source,
        trust=None if m.trust is None else validation.number("trust", m.trust),
    )


def add(
    runtime: Runtime,
    scope: Scope,
    messages: Iterable[Message | Mapping[str, Any]],
    session: str | None,
    zone: tzinfo,
    *,
    agent: str | None = None,
) -> Receipts:
    """Store messages: validate all, then embed and write them in one transaction per batch."""
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"add() takes a text, a message or a list of messages, not {type(messages).__name__}.")
    moment = now().astimezone(zone)  # one time for all, so that they stay together whatever else is written
    own_session = validation.optional("session", session)
    checked = [
        complete(message, scope, own_session, zone, moment, path=f"messages[{number}]")
        for number, message in enumerate(messages)
    ]
    if agent := validation.optional("agent", agent):
        checked = [replace(message, metadata={**message.metadata, AGENT: agent}) for message in checked]
    receipts: list[Receipt] = []
    for start in range(0, len(checked), BATCH):
        batch = [check_record(runtime.secrets, runtime.fence, message) for message in checked[start : start + BATCH]]
        accepted: list[Message] = [record.record for record in batch if storable(record)]
        changes = [
            AddMessage(message=message, project=scope.project, indexing=index)
            for message, index in _indexed(runtime, scope, accepted)
        ]
        written = iter(runtime.store.apply(scope.user, changes) if changes else ())
        receipts += [with_redactions(next(written), c.kinds) if storable(c) else unstored(c) for c in batch]
    return Receipts(receipts)


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """A redacted record, the kinds of secrets found in it, and the reason if it must not be stored."""

    record: Any
    kinds: tuple[str, ...] = ()
    refusal: str = ""


def check_record(policy: SecretPolicy, fence: str, record: Record) -> CheckedRecord:
    """Prepare an incoming record: set its trust, redact secrets, remove text recalled from this memory."""
    own_text = without_recalled(record.content, fence)
    if own_text == "":
        return CheckedRecord(record, refusal="this was recalled from the record: it is there already")
    if record.id is not None and (kinds := policy.in_name(record.id)):
        clean = policy.name(record.id)
        reason = f"its id is a secret ({', '.join(kinds)}), and ids are stored as they are: give it another"
        return CheckedRecord(replace(record, id=clean), refusal=reason)
    content = record.content if own_text is None else own_text
    clean, kinds = redact_record(policy, replace(record, content=content, trust=_trust(record, content, fence)))
    return CheckedRecord(clean, kinds, refusal_reason(policy, kinds))


def _trust(record: Record, content: str, fence: str) -> float:
    """Trust of a record. Repeating untrusted text gives it no trust, unless the caller set that of a message."""
    if isinstance(record, Message) and record.trust is not None:
        return record.trust
    trust = TRUST_OF_SOURCE[record.source or "tool_external"] if record.trust is None else record.trust
    return min(trust, REPEATED_TRUST) if is_unverified(content) or is_cut_off(record.content, fence) else trust


def with_redactions(receipt: Receipt, kinds: Sequence[str]) -> Receipt:
    """Add the redacted kinds to the reason of a receipt."""
    if not kinds or receipt.outcome not in ("stored", "superseded"):
        return receipt
    return replace(receipt, reason="; ".join(filter(None, (receipt.reason, f"redacted: {', '.join(kinds)}"))))


def storable(checked: CheckedRecord) -> bool:
    """Whether a record may be stored and has content."""
    return not checked.refusal and not is_blank(checked.record.content)


def unstored(checked: CheckedRecord) -> Receipt:
    """The receipt of a record that is not stored."""
    reason = checked.refusal or "the content is empty: there is nothing to remember"
    return Receipt(id=str(checked.record.id), outcome="rejected", reason=reason)


def _indexed(runtime: Runtime, scope: Scope, messages: Sequence[Message]) -> list[tuple[Message, Indexing]]:
    """Messages with their index entries; in a batch, those whose id is taken are not embedded again."""
    if len(messages) == 1:
        return runtime.indexer.indexed(messages)
    ids = [message.id for message in messages if message.id and not message.id.startswith(ID_PREFIX)]
    docs = runtime.store.docs_of(scope.user, ids, kind="message") if ids else {}
    new = iter(runtime.indexer.indexed(message for message in messages if message.id not in docs))
    return [(m, Indexing(terms=(), length=0, traits=0)) if m.id in docs else next(new) for m in messages]


def cite(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> None:
    """Count one use of each cited memory and of those derived from a cited message; unknown ids are ignored."""
    if ids:
        derived = runtime.store.relations.memories_of(scope.user, ids)
        cited = [*ids, *(id_ for memories in derived.values() for id_ in memories)]
        runtime.uses.note(scope.user, runtime.store.docs_of(scope.user, cited, kind="memory").values())


_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Kinds of parts that are said, and the field that holds the words."""
_MEDIA = {
    "audio": "audio", "audio_url": "audio", "document": "file", "file": "file", "file_data": "file", "image": "image",
    "image_url": "image", "inline_data": "file", "input_audio": "audio", "input_file": "file", "input_image": "image",
    "media": "file", "text-plain": "file", "video": "video", "video_url": "video",
}  # fmt: skip
_ADDRESS = ("url", "uri", "image_url", "audio_url", "video_url", "file_url", "file_uri", "fileUri")
_NAME = ("filename", "file_name", "display_name", "displayName", "name", "title")
_LOCATION = ("path", "file_id")
_DATA = ("data", "base64", "bytes", "file_data", "image")
_TYPE = ("media_type", "mime_type", "mimeType", "image_mimetype", "format")
_CAPTION = ("caption", "alt", "alt_text")
_DESCRIPTION = "description"
"""A caption of an image; that of a file may be its author's and not the caller's."""
LONGEST = 500
"""Most characters of a reference."""
NAME_START, NAME_END = 80, 20
"""Characters of a longer name that are kept: its end says what kind of file it is."""
REFERENCE = re.compile(rf"\[(?:{'|'.join(sorted(set(_MEDIA.values())))})(?:: [^\]\n]{{1,{LONGEST + 20}}})?\][ \n]?")
"""What stands in a text for an image, a recording, a video or a file, without its caption."""


def mapping_of(value: object) -> Mapping[str, object] | None:
    """A mapping, or the fields of an object of a client's; None for any other value."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    dump = getattr(value, "model_dump", None)
    fields = dump(exclude_none=True) if callable(dump) else None
    return cast("Mapping[str, object]", fields) if isinstance(fields, Mapping) else None


def join_parts(content: object, path: str, *, kind: str = "type", joint: str = "\n") -> tuple[str, tuple[str, ...]]:
    """The content of a message as text; also returns the kinds of parts that are not text.

    An image, a recording or a file becomes its reference and caption, such as ``[image: https://...]``; inline data its
    type and size, such as ``[image: image/png, 34 kB]``. What has a name begins with it: ``[file: lease.pdf, application/pdf,
    3 kB]``. A part of any other kind, such as a call, its result or reasoning, says nothing.

    Args:
        content: a text, a part, a list of parts, or None for nothing. A part is a string or an object with a kind, or with
            one field named by its kind.
        path: path of the content, for errors.
        kind: the field with the kind.
        joint: separator of texts; other parts are on their own line.

    Raises:
        InvalidInput: it is none of these, or a text part has no text.
    """
    if content is None or isinstance(content, str):
        return content or "", ()
    if isinstance(content, (list, tuple)):
        parts = cast("Sequence[object]", content)
    elif mapping_of(content) is not None:
        parts = [content]
    else:
        raise InvalidInput(f"{path} must be a string or a list of parts, not {json_type(content)}.")
    texts: list[tuple[str, bool]] = []
    others: dict[str, None] = {}
    for number, item in enumerate(parts):
        part = _part(item, f"{path}[{number}]", kind)
        name = _kind(part, kind)
        if name in _TEXTS:
            texts.append((_words(part, _TEXTS[name], f"{path}[{number}]"), True))
        else:
            others[name] = None
            texts.append((_placeholder(name, part) if name in _MEDIA else "", False))
    return _joined(texts, joint), tuple(others)


def text_of_parts(parts: Iterable[object], *, kind: str = "type", joint: str = "\n") -> str:
    """What the content parts of a framework's message say: its texts, and images, recordings and files by reference.

    A part of any other kind, such as a call, reasoning or what only one provider knows, says nothing.

    Args:
        parts: strings, mappings, or objects with ``model_dump``, each with a kind, or with one field named by its kind. A
            file is an image, a recording or a video if its media type says so.
        kind: the field with the kind.
        joint: separator of texts; other parts are on their own line.

    Returns:
        The text, with references such as ``[image: https://...]``, or ``[image: image/png, 34 kB]`` for inline data, each
        with the name of the file, if it has one, and with the caption of its part.
    """
    texts: list[tuple[str, bool]] = []
    for item in parts:
        part = {kind: "text", "text": item} if isinstance(item, str) else mapping_of(item) or {}
        name = _kind(part, kind)
        if name in _TEXTS:
            texts.append((str(part.get(_TEXTS[name]) or ""), True))
        elif name in _MEDIA:
            texts.append((_placeholder(name, part), False))
    return _joined([(text, is_words) for text, is_words in texts if text], joint)


def _joined(texts: Iterable[tuple[str, bool]], joint: str) -> str:
    """Texts of parts as one; what is not said stands on its own line."""
    whole, broken = "", False
    for text, is_words in texts:
        if text or is_words:
            between = "\n" if broken or not is_words else joint
            whole, broken = (f"{whole}{between}{text}" if whole else text), not is_words
    return whole


def _part(item: object, path: str, kind: str) -> Mapping[str, object]:
    if isinstance(item, str):
        return {kind: "text", "text": item}
    part = mapping_of(item)
    if part is None:
        raise InvalidInput(f"{path} must be an object, not {json_type(item)}.")
    return part


def _kind(part: Mapping[str, object], kind: str) -> str:
    """The kind of a part: what it says, or the name of its one field."""
    if isinstance(name := part.get(kind), str):
        return name
    if part.get("thought") is True:
        return "thinking"
    if isinstance(part.get("text"), str):
        return "text"
    names = [name for name, value in part.items() if isinstance(value, Mapping)]
    return re.sub("([a-z])([A-Z])", r"\1_\2", names[0]).lower() if names else "part"


def _words(part: Mapping[str, object], field: str, path: str) -> str:
    text = part.get(field)
    if not isinstance(text, str):
        problem = "is missing" if text is None else f"must be a string, not {json_type(text)}"
        raise InvalidInput(f"{path}.{field} {problem}.")
    return text


def _placeholder(name: str, part: Mapping[str, object]) -> str:
    """The placeholder of an image, a recording or a file, with its caption."""
    inside = _mappings(part)
    values = [part, *inside, *(deeper for value in inside for deeper in _mappings(value))]
    reference = _reference(values)
    of_type = _MEDIA.get(_first(values, _TYPE).partition("/")[0], "file")
    what = of_type if _MEDIA[name] == "file" else _MEDIA[name]
    caption = _first(values, (*_CAPTION, _DESCRIPTION) if what == "image" else _CAPTION)
    placeholder = f"[{what}{f': {reference}' if reference else ''}]"
    return f"{placeholder} {caption}" if caption else placeholder


def _mappings(value: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [cast("Mapping[str, object]", item) for item in value.values() if isinstance(item, Mapping)]


def _reference(values: Sequence[Mapping[str, object]]) -> str:
    """What a file is called, and where it is; of inline data its type and size."""
    address, name = _first(values, _ADDRESS), _file_name(_first(values, _NAME))
    data = next((value[key] for value in values for key in _DATA if isinstance(value.get(key), (str, bytes))), None)
    if address.startswith("data:"):
        address, data = "", address
    if address:
        location, name = address, "" if name and address.endswith(name) else name
    elif isinstance(data, (str, bytes)):
        location = _data_summary(_first(values, _TYPE), data)
    else:
        location = "" if name else _first(values, _LOCATION)
    return ", ".join(filter(None, (name, location)))[:LONGEST]


def _file_name(name: str) -> str:
    """A name that fits into the brackets of a reference, on one line, without the folders of a path."""
    name = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    name = " ".join("".join(c if c.isprintable() and c not in "[]" else " " for c in name).split())
    cut = len(name) > NAME_START + NAME_END
    return f"{name[:NAME_START]}\u2026{name[-NAME_END:]}" if cut else name


def _first(values: Sequence[Mapping[str, object]], keys: Sequence[str]) -> str:
    """The first non-empty string under one of the keys."""
    texts = (value.get(key) for key in keys for value in values)
    return next((text for text in texts if isinstance(text, str) and text), "")


def _data_summary(media_type: str, data: str | bytes) -> str:
    """Type and size of inline data; strings are base64, or an address with it."""
    if isinstance(data, str) and data.startswith("data:"):
        head, _, data = data.removeprefix("data:").partition(",")
        media_type = head.partition(";")[0]
    size = len(data) if isinstance(data, bytes) else len(data) * 3 // 4
    return ", ".join(filter(None, (media_type[:LONGEST], f"{-(-size // 1000):,} kB")))


_FIELDS = tuple(field.name for field in dataclass_fields(Message))
NOT_TEXT = ("tool_calls", "function_call", "audio", "images")
"""Fields of a message for what is not text."""
_ENVELOPE = frozenset({
    "annotations", "cache_control", "container", "done", "done_reason", "index", "model", "phase",
    "prefix", "provider_specific_fields", "reasoning", "reasoning_content", "reasoning_details", "refusal", "status",
    "stop_details", "stop_reason", "stop_sequence", "thinking", "tool_call_id", "tool_name", "type", "usage",
})  # fmt: skip
"""Fields that clients keep with a message and that say nothing."""
_TIMES = ("sent_at", "created_at", "created")
"""Fields for the time of a message, the first present one is read: a datetime, ISO 8601, or seconds since 1970."""


def is_one_message(value: object) -> bool:
    """Whether a value is a message in some form, rather than several."""
    return isinstance(value, (Message, Mapping)) or hasattr(value, "model_dump")


def message_fields(value: object, path: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """The fields of a message with its content as text, and the names of what in it is not text.

    Takes the mappings, and the objects with ``model_dump``, of OpenAI's chat completions and responses, Anthropic,
    Gemini, Bedrock, Ollama and Mnemic. A call of a tool, or an item of another kind that says nothing, has no content.

    Args:
        value: the message.
        path: its path, for errors.

    Raises:
        InvalidInput: it is no message, or has a field that no message has.
    """
    message = mapping_of(value)
    if message is None:
        raise InvalidInput(f"{path} must be a message: an object with role and content, not {json_type(value)}.")
    if "role" not in message and (item := _response_item(message)):
        message = item
    content = "parts" if "parts" in message and "content" not in message else "content"
    known = {*_FIELDS, *NOT_TEXT, *_ENVELOPE, *_TIMES, content}
    if unknown := sorted(str(key) for key, item in message.items() if key not in known and item is not None):
        raise InvalidInput(
            f"{path}.{unknown[0]} is not known; a message has {', '.join(_FIELDS)}: other values go into metadata."
        )
    others = [name for name in NOT_TEXT if message.get(name)]
    if missing := [name for name in ("role", content) if name not in message and not (others and name == content)]:
        raise InvalidInput(f"{path}.{missing[0]} is missing.")
    if _is_result(message.get(content)):
        message = {**message, "role": "tool"}
    of_tool = str(message.get("role")).lower() in ("tool", "function")
    said = _output(message.get(content)) if of_tool else message.get(content)
    text, kinds = join_parts(said, f"{path}.{content}")
    fields = {name: message[name] for name in _FIELDS if name in message}
    fields["sent_at"] = next((_time(message[name], f"{path}.{name}") for name in _TIMES if message.get(name)), None)
    return {**fields, "content": text or _refusal_or_transcript(message)}, (*kinds, *others)


def _time(value: object, path: str) -> datetime:
    """A time, also as it is written in JSON."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return written_time(value, path)
    if not isinstance(value, datetime):
        raise InvalidInput(f"{path} must be a datetime or a string, not {json_type(value)}.")
    return value


_ITEMS_OF_ONE_WORD = ("reasoning", "compaction")


def _response_item(item: Mapping[str, object]) -> Mapping[str, object] | None:
    """An item of OpenAI's responses (a call, its output, what a client keeps) as a message; None for anything else."""
    kind = item.get("type")
    if (
        not isinstance(kind, str)
        or kind in (*_TEXTS, *_MEDIA)
        or not {"content", "parts", "text", "data"}.isdisjoint(item)
    ):
        return None
    if kind.endswith("_output"):
        return {"role": "tool", "content": item.get("output")}
    return {"role": "assistant", "content": [{"type": kind}]} if "_" in kind or kind in _ITEMS_OF_ONE_WORD else None


_RESULT = re.compile("(?:tool|function)[_-]?(?:result|response)$", re.IGNORECASE)
_RESULTS = ("output", "result", "content", "response")
_STREAMS = ("stdout", "stderr")
DEEPEST_OUTPUT = 8
"""Levels of results in each other."""


def _is_result(content: object) -> bool:
    """Whether a message only hands over what tools put out, as one of the user does in Anthropic's and Gemini's form."""
    parts = (
        [mapping_of(item) for item in cast("Sequence[object]", content)] if isinstance(content, (list, tuple)) else []
    )
    return bool(parts) and all(part is not None and _RESULT.search(_kind(part, "type")) for part in parts)


def _output(value: object, depth: int = DEEPEST_OUTPUT) -> object:
    """What a tool put out, as the content of its message: of a result, what is in it, and of other values, their JSON."""
    if value is None or isinstance(value, str) or not depth:
        return value if isinstance(value, str) else ""
    if isinstance(value, (list, tuple)):
        outputs = [_output(item, depth - 1) for item in cast("Sequence[object]", value)]
        return [part for one in outputs for part in (cast("list[object]", one) if isinstance(one, list) else [one])]
    part = mapping_of(value)
    if part is None:
        return _as_json(value)
    if any(isinstance(part.get(stream), str) for stream in _STREAMS):
        return "\n".join(text for stream in _STREAMS if isinstance(text := part.get(stream), str) and text)
    typed = isinstance(part.get("type"), str)
    if typed and "value" in part:
        return _output(part["value"], depth - 1)
    if _RESULT.search(_kind(part, "type")):
        results = (value[field] for value in (part, *_mappings(part)) for field in _RESULTS if field in value)
        return _output(next(results, None), depth - 1)
    return part if typed or (len(part) == 1 and _kind(part, "type") in (*_TEXTS, *_MEDIA)) else _as_json(part)


def _as_json(value: object) -> str:
    try:
        return json.dumps(jsonable(value), ensure_ascii=False, default=str)
    except RecursionError as error:
        raise InvalidInput("The output of a tool is nested too deeply, or within itself. Store its text.") from error


def _refusal_or_transcript(message: Mapping[str, object]) -> str:
    """What an assistant said in another field than the content."""
    audio = mapping_of(message.get("audio")) or {}
    return next((text for text in (message.get("refusal"), audio.get("transcript")) if isinstance(text, str)), "")


def role_of(role: str) -> str:
    """Mnemic's name of a role that another system may call something else; an unknown role stays as it is."""
    return ROLES.get(role.lower().replace("-", "_").replace(" ", "_"), role)
