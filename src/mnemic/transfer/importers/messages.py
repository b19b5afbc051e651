"""Lists of messages in the formats of Mnemic, LangChain and LlamaIndex."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from mnemic.ingest import NOT_TEXT, message_fields, role_of
from mnemic.transfer.importers.fields import (
    CHAT_STORE_KEY,
    LEFT_OUT,
    Damage,
    Fields,
    array,
    fields_of,
    mapping,
    may_name_user,
    names_in,
    read_each,
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
    fields = Fields({**values, **names_in(item.values)}, item.path)
    sent_at = fields.moment("sent_at") or item.moment("created_at") or item.moment("created")
    message = _message(fields, fields.word("role"), fields.text("content") or "", sent_at, left_out)
    message_session = fields.text("session", needed=False) or session
    return replace(message, session=message_session, metadata={**fields.maybe("metadata").values, **message.metadata})


def _message(
    named: Fields,
    role: str,
    content: str,
    sent_at: datetime | None,
    left_out: Sequence[str],
    session: str | None = None,
) -> Message:
    """A message with the name and the id of an object; in its metadata its user and the parts that are not imported."""
    return Message(
        role=role_of(role), content=content, name=named.text("name", needed=False), sent_at=sent_at,
        id=named.text("id", needed=False), session=session,
        metadata={**names_in(named.values), **({LEFT_OUT: [*left_out]} if left_out else {})},
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
