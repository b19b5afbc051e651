"""Items of a run as entries of a thread, and stored ones back. Pure: no memory is read or written here."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from mnemic import Message, pieces
from mnemic.adapters import Clean, ThreadMessage, text_of_parts

KEPT = "openai_agents"
"""The key of a stored message's metadata that holds what the SDK needs to get its item again."""

MAX_CONTENT = 1_000_000
"""Characters of one record."""

Item: TypeAlias = dict[str, Any]
"""A ``TResponseInputItem``: one of many typed dictionaries, which servers extend."""


def _parts(item: Mapping[str, Any]) -> list[Item]:
    content = item.get("content")
    return [part for part in cast("list[Any]", content) if isinstance(part, dict)] if isinstance(content, list) else []


def text_of(item: Mapping[str, Any]) -> str:
    """The text of a message, media by reference. Models split one sentence over parts, people do not."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return text_of_parts(_parts(item), joint="" if item.get("role") == "assistant" else "\n")


def is_evidence(item: Mapping[str, Any]) -> bool:
    """Whether somebody said it: a message of the user or the agent with text."""
    said = item.get("type", "message") == "message" and item.get("role") in ("user", "assistant")
    return said and bool(text_of(item).strip())


def thread_message(item: Mapping[str, Any], *, key: str | None = None) -> ThreadMessage:
    """An item as a message of a thread, without what is needed to restore it."""
    kind = str(item.get("type", "message"))
    if is_evidence(item):
        return ThreadMessage(role=str(item["role"]), text=text_of(item), key=key)
    if kind.endswith(("_call", "_call_output")):
        name, call = item.get("name"), item.get("call_id") or item.get("id")
        said = item.get("output") if kind.endswith("_output") else item.get("arguments")
        return ThreadMessage(
            role="tool", text=f"[{kind}] {said}" if isinstance(said, str) else f"[{kind}]", key=key, stored=False,
            name=str(name) if name else None, call=str(call) if call else None,
        )  # fmt: skip
    return ThreadMessage(role="system", text=f"[{kind}] {text_of(item)}".strip(), key=key, stored=False)


def entry(item: Mapping[str, Any], clean: Clean, answers: Sequence[str] = ()) -> ThreadMessage:
    """An item as a new entry of a history, from which ``restored`` makes an equal one, secrets aside.

    An item has no id by which it is known: adding it twice stores it twice, as in the sessions of the SDK.

    Args:
        item: as the SDK has it.
        clean: ``Memory.admin.redacted``.
        answers: the names of the messages of the same turn that are forgotten by now; see ``answered``.
    """
    message, held = thread_message(item, key=uuid.uuid4().hex), _redacted(item, clean)
    (text, *cut), place = pieces(message.text, clean, MAX_CONTENT), _place(held)
    if place is not None and not cut and _at(held, place) == message.text:
        _put(held, place, None)  # the record holds it: it is kept, and redacted, once
    else:
        place = None
    return ThreadMessage(
        role=message.role, text=text, key=message.key, stored=message.stored, name=message.name, call=message.call,
        metadata={KEPT: {"item": held, "text": place, **({"answers": [*answers]} if answers else {})}},
    )  # fmt: skip


def is_kept(message: Message) -> bool:
    """Whether a stored message is an item that is not evidence: it is archived from the start, and still in the history."""
    kept = message.metadata.get(KEPT)
    return isinstance(kept, Mapping) and "item" in kept and message.role in ("tool", "system")


def answered(message: Message) -> list[str]:
    """The names (``name_of``) of the messages that a stored item answers and that were forgotten before it was added.

    They stay in the history: calls without the request for them are none that a model takes.
    """
    kept = message.metadata.get(KEPT)
    return [*cast("Mapping[str, Any]", kept).get("answers", ())] if isinstance(kept, Mapping) else []


def restored(message: Message) -> Item | None:
    """The item of a stored message; one from elsewhere is made by its role, and None if it has none that a model takes."""
    kept = message.metadata.get(KEPT)
    if isinstance(kept, Mapping) and "item" in kept:
        held = cast("Mapping[str, Any]", kept)
        item = copy.deepcopy(dict(held["item"]))
        if held["text"]:
            _put(item, held["text"], message.content)
        return item
    return {"role": message.role, "content": message.content} if message.role in ("user", "assistant") else None


def _redacted(item: Mapping[str, Any], clean: Clean) -> Item:
    """A copy of an item; if a secret spans its parts, with their text as one redacted part."""
    held, parts = copy.deepcopy(dict(item)), _parts(item)
    words = [part for part in parts if isinstance(part.get("text"), str)]
    if len(words) > 1 and clean(text := text_of({**item, "content": words})) != text:
        held["content"] = [{**words[0], "text": clean(text)}, *(part for part in parts if part not in words)]
    if isinstance(arguments := held.get("arguments"), str):
        held["arguments"] = _redacted_json(arguments, clean)
    return held


def _redacted_json(text: str, clean: Clean) -> str:
    """A JSON text that stays one: a number that is a secret becomes a text."""
    cleaned = clean(text)
    if cleaned == text or not _is_json(text) or _is_json(cleaned):
        return cleaned
    return clean(json.dumps(_with_texts(json.loads(text)), ensure_ascii=False))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _with_texts(value: object) -> object:
    """A JSON value with its numbers as texts."""
    if isinstance(value, dict):
        return {key: _with_texts(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_with_texts(item) for item in cast("list[object]", value)]
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _place(item: Item) -> list[str | int] | None:
    """Where the text of a message is, if it is in one place."""
    if isinstance(item.get("content"), str):
        return ["content"]
    texts = [at for at, part in enumerate(_parts(item)) if isinstance(part.get("text"), str)]
    return ["content", texts[0], "text"] if len(texts) == 1 else None


def _at(item: Item, place: Sequence[str | int]) -> object:
    found: Any = item
    for key in place:
        found = found[key]
    return found


def _put(item: Item, place: Sequence[str | int], text: str | None) -> None:
    cast("dict[str | int, Any]", _at(item, place[:-1]))[place[-1]] = text


def whole(items: Sequence[Item]) -> list[Item]:
    """The items that a model takes: a result whose call is missing is left out, and reasoning whose answer is."""
    calls = {item.get(name) for item in items if str(item.get("type")).endswith("_call") for name in ("call_id", "id")}
    found: list[Item] = []
    for item in reversed(items):
        kind = str(item.get("type"))
        lost = kind.endswith("_call_output") and (item.get("call_id") or item.get("id")) not in calls
        left = kind == "reasoning" and (not found or found[-1].get("role") == "user")
        if not lost and not left:
            found.append(item)
    return found[::-1]


def with_data(items: Sequence[Item], context: str) -> list[Item]:
    """The items with the context at the head of a copy of the user's last message."""
    at = next((at for at in range(len(items) - 1, -1, -1) if items[at].get("role") == "user"), None)
    if at is None:
        return [*items]
    content = items[at].get("content")
    text = isinstance(content, str)
    more = f"{context}\n\n{content}" if text else [{"type": "input_text", "text": context}, *_parts(items[at])]
    return [*items[:at], {**items[at], "content": more}, *items[at + 1 :]]
