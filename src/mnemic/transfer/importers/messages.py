"""Lists of messages in the formats of Mnemic, LangChain and LlamaIndex, and the conversations of the LoCoMo data set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import cast

from mnemic.ingest import NOT_TEXT, message_fields, role_of
from mnemic.text.english import MONTHS
from mnemic.transfer.importers.fields import (
    CHAT_STORE_KEY,
    Damage,
    Fields,
    array,
    fields_of,
    mapping,
    may_name_user,
    names_in,
    noted,
    read_each,
    read_one,
)
from mnemic.types import Message

_TYPES = ("human", "ai", "system", "tool", "function", "chat")


def plain(data: object, session: str | None) -> Iterator[Message | Damage]:
    """Messages as chat APIs and their clients hold them; a file says nothing of trust."""
    return read_each(data, lambda item: [_plain_message(item, session)])


def _plain_message(item: Fields, session: str | None) -> Message:
    unnamed = {name: value for name, value in item.values.items() if not may_name_user(name, value)}
    values, left_out = message_fields(unnamed, item.path)
    if claims := [name for name in ("source", "trust") if name in values]:
        raise item.fault(claims[0], "is not read from a file: its role says where a message comes from")
    sent_at = cast("datetime | None", values.pop("sent_at"))
    fields = Fields({**values, **names_in(item.values)}, item.path)
    session = fields.text("session", needed=False) or session
    message = _message(fields, fields.word("role"), fields.text("content") or "", sent_at, left_out, session)
    return replace(message, metadata={**fields.maybe("metadata").values, **message.metadata})


def _message(
    named: Fields, role: str, content: str, sent_at: datetime | None, left_out: Sequence[str], session: str | None
) -> Message:
    """A message with the id and the name of an object, and in its metadata what may name its user."""
    return Message(
        role=role_of(role), content=content, name=named.text("name", needed=False), sent_at=sent_at,
        id=named.text("id", needed=False), session=session, metadata=noted(names_in(named.values), left_out),
    )  # fmt: skip


def langchain(data: object, session: str | None) -> Iterator[Message | Damage]:
    """Output of ``messages_to_dict`` or ``dumpd`` of LangChain."""
    return read_each(data, lambda item: [_langchain_message(item, session)])


def _langchain_message(item: Fields, session: str | None) -> Message:
    body = item.inside("kwargs" if "lc" in item.values else "data")
    kind = _langchain_type(item)
    content, parts = body.said("content", joint="")
    tools = ["tool_calls"] if body.values.get("tool_calls") else []
    role = body.word("role") if kind == "chat" else kind
    extra = body.maybe("additional_kwargs")
    named = Fields({**names_in(extra.values), **body.values}, body.path)
    return _message(named, role, content, extra.moment("sent_at"), [*parts, *tools], session)


def _langchain_type(item: Fields) -> str:
    """``human``, ``ai`` ...: from the type field, or the class name of a constructor."""
    path = array(item.values.get("id"))
    word = str(path[-1]) if "lc" in item.values and path else item.word("type")
    kind = re.sub(r"(Message)?(Chunk)?$", "", word).lower()
    if kind not in _TYPES:
        raise item.fault("id" if path else "type", f"is {word!r:.60}, which is not a message of a conversation")
    return kind


def llama_index(data: object, session: str | None) -> Iterator[Message | Damage]:
    """Dumped ``ChatMessage`` objects of LlamaIndex, or a stored ``SimpleChatStore`` with a session per key."""
    if "store" in mapping(data):
        store = fields_of(mapping(data)["store"], "store")
        for key in store.values:
            named = {CHAT_STORE_KEY: key} if len(store.values) > 1 else {}
            read = partial(_llama_message, session=key, named=named)
            yield from read_each(store.values[key], read, f"store[{key!r:.60}]")
    else:
        yield from read_each(data, partial(_llama_message, session=session, named={}))


def _llama_message(item: Fields, session: str | None, named: Mapping[str, str]) -> Iterator[Message]:
    blocks = "blocks" if "blocks" in item.values else "content"
    content, parts = item.said(blocks, kind="block_type" if blocks == "blocks" else "type")
    extra = item.maybe("additional_kwargs")
    role = item.word("role")
    left_out = [*parts, *(name for name in NOT_TEXT if extra.values.get(name))]
    message = _message(extra, role, content, extra.moment("sent_at"), left_out, session)
    yield replace(message, metadata={**message.metadata, **named})


# LoCoMo

TURN_STEP = timedelta(seconds=1)
"""LoCoMo dates sessions, not turns: turns are one second apart to keep their order."""

_SESSION_TIME = re.compile(r"(\d{1,2}):(\d{2})\s*([ap]m)\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE)


def locomo(data: object, session: str | None) -> Iterator[Message | Damage]:
    """One conversation, or a list of them."""

    def read(item: Fields) -> Iterator[Message | Damage]:
        if "conversation" in item.values:
            return _conversation(item.inside("conversation"), item.word("sample_id"))
        return _conversation(item, item.text("sample_id", needed=False) or session or "locomo")

    return read_each(data, read)


def _conversation(talk: Fields, sample: str) -> Iterator[Message | Damage]:
    roles = {talk.word("speaker_a"): "user", talk.word("speaker_b"): "assistant"}
    suffixes = (key.removeprefix("session_") for key in talk.values if key.startswith("session_"))
    numbers = sorted(int(end) for end in suffixes if end.isdecimal())
    for number in numbers:
        read = partial(_session, f"session_{number}", sample=sample, roles=roles)
        yield from read_one(talk.values, read, talk.path)


def _session(field: str, talk: Fields, *, sample: str, roles: Mapping[str, str]) -> Iterator[Message | Damage]:
    began = _session_time(talk, f"{field}_date_time")
    for position, turn in enumerate(talk.listed(field)):
        sent_at = began + position * TURN_STEP
        read = partial(_turn, sample=sample, session=f"{sample}:{field}", sent_at=sent_at, roles=roles)
        yield from read_one(turn, read, f"{talk.path}.{field}[{position}]")


def _turn(turn: Fields, *, sample: str, session: str, sent_at: datetime, roles: Mapping[str, str]) -> Iterator[Message]:
    speaker = turn.word("speaker")
    if speaker not in roles:
        raise turn.fault("speaker", f"is {speaker!r:.60}, neither speaker_a nor speaker_b")
    caption = turn.text("blip_caption", needed=False)
    image = f" [shares an image: {caption}]" if caption else ""
    yield Message(
        role=roles[speaker], content=f"{turn.text('text')}{image}".lstrip(), name=speaker, sent_at=sent_at,
        id=f"{sample}:{turn.word('dia_id')}", session=session,
    )  # fmt: skip


def _session_time(talk: Fields, field: str) -> datetime:
    """A naive time such as ``1:56 pm on 8 May, 2023``, parsed independently of the locale."""
    text = talk.word(field)
    match = _SESSION_TIME.fullmatch(text.strip())
    hour, minute, half, day, month, year = match.groups() if match else ("",) * 6
    try:
        return datetime(  # noqa: DTZ001 - the file has no zone; that of the handle applies
            int(year),
            MONTHS.index(month.lower()) + 1,
            int(day),
            int(hour) % 12 + 12 * (half.lower() == "pm"),
            int(minute),
        )
    except ValueError as error:
        raise talk.fault(field, f'is {text!r:.60}, not a time such as "1:56 pm on 8 May, 2023"') from error
