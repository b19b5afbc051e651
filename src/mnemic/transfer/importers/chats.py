"""Exports of chat products: ChatGPT, Claude, Telegram and Slack.

Written after the published shapes of the exports; each text is kept verbatim, and what is no text is named in ``left_out``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast

from mnemic.ingest.messages import role_of
from mnemic.transfer.importers.fields import ACCOUNT, LEFT_OUT, Fields, mapping, objects
from mnemic.types import Message

TITLE = "title"


def _message(
    role: str,
    content: str,
    sent_at: datetime | None,
    left_out: Iterable[str],
    *,
    id: str | None,
    session: str | None,
    name: str | None = None,
    about: Mapping[str, object] | None = None,
) -> Message:
    metadata = {field: value for field, value in (about or {}).items() if value}
    left = sorted(left_out)
    return Message(
        role=role_of(role), content=content, name=name, sent_at=sent_at, id=id, session=session,
        metadata={**metadata, **({LEFT_OUT: left} if left else {})},
    )  # fmt: skip


def _in_order(messages: Iterable[Message]) -> Iterator[Message]:
    """Messages whose times do not go back: an answer may carry an earlier clock than its question."""
    last: datetime | None = None
    for message in messages:
        sent_at = message.sent_at
        last = sent_at if last is None or (sent_at is not None and sent_at > last) else last
        yield replace(message, sent_at=last)


# ChatGPT


def chatgpt(data: object, session: str | None) -> Iterable[Message]:
    """``conversations.json`` of ChatGPT: of each tree of messages the branch that was shown last."""
    for conversation in objects(data):
        name = conversation.text("conversation_id", needed=False) or conversation.text("id", needed=False) or session
        title = conversation.text("title", needed=False)
        shown = (_chatgpt_message(node, name, title) for node in _branch(conversation))
        yield from _in_order(message for message in shown if message)


def other_branches(data: object) -> int:
    """The number of messages of ChatGPT that are in branches which were edited away."""
    count = 0
    for conversation in objects(data):
        shown = {str(node.values.get("id")) for node in _branch(conversation)}
        nodes = conversation.inside("mapping")
        for key in nodes.values.keys() - shown:
            message = _chatgpt_message(nodes.inside(key), None, None)
            count += message is not None and bool(message.content)
    return count


def _branch(conversation: Fields) -> list[Fields]:
    """The nodes from the root to the current one; without a current one, along the last children."""
    nodes = conversation.inside("mapping")
    at = conversation.text("current_node", needed=False)
    found: list[Fields] = []
    seen: set[str] = set()
    while at and at in nodes.values and at not in seen:
        seen.add(at)
        found.append(nodes.inside(at))
        at = found[-1].text("parent", needed=False)
    if found:
        return found[::-1]
    at = next((key for key, node in nodes.values.items() if not mapping(node).get("parent")), None)
    while at and at in nodes.values and at not in seen:
        seen.add(at)
        found.append(nodes.inside(at))
        children = found[-1].values.get("children")
        at = str(cast("list[object]", children)[-1]) if isinstance(children, list) and children else None
    return found


_CHATGPT_HIDDEN = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")


def _chatgpt_message(node: Fields, session: str | None, title: str | None) -> Message | None:
    """The message of a node; None where nothing was shown."""
    if node.values.get("message") is None:
        return None
    message = node.inside("message")
    role = message.inside("author").word("role")
    content = message.inside("content")
    kind = content.text("content_type", needed=False) or "text"
    if message.maybe("metadata").values.get("is_visually_hidden_from_conversation") or kind in _CHATGPT_HIDDEN:
        return None
    text, left_out = _chatgpt_text(content)
    if role == "assistant" and (message.text("recipient", needed=False) or "all") != "all":
        text, left_out = "", {"tool_calls"}  # what a tool was told, such as a note about the user
    elif role != "user":
        text, marks = _without_marks(text)
        left_out |= marks
    if not text and (not left_out or role == "system"):
        return None
    return _message(
        role, text, message.moment("create_time"), left_out, id=message.text("id", needed=False),
        session=session, about={TITLE: title},
    )  # fmt: skip


def _chatgpt_text(content: Fields) -> tuple[str, set[str]]:
    """The text of a content and the kinds of its other parts."""
    parts = content.values.get("parts")
    if not isinstance(parts, list):
        return content.text("text", needed=False) or "", set()
    texts = [part for part in cast("list[object]", parts) if isinstance(part, str) and part]
    others = [mapping(part) for part in cast("list[object]", parts) if not isinstance(part, str)]
    spoken = [str(part["text"]) for part in others if isinstance(part.get("text"), str)]
    kinds = {str(part.get("content_type", "part")) for part in others if not isinstance(part.get("text"), str)}
    return "\n".join([*texts, *spoken]), kinds


_MARK = re.compile("( ?)\ue200([a-z_]*)\ue202?([^\ue200\ue201]*)\ue201|[\ue200-\ue206]")
"""A mark that the app draws as something else: a citation, a map, a link, the name of a thing."""


def _without_marks(text: str) -> tuple[str, set[str]]:
    """A text with the words that its marks show, and the kinds of marks that show none."""
    kinds: set[str] = set()

    def shown(mark: re.Match[str]) -> str:
        space, kind, told = mark.groups()
        if kind is None:
            return ""  # around words
        words = _label(kind, told.split("\ue202")[0])
        kinds.update(() if words else (kind or "mark",))
        return space + words if words else ""

    return _MARK.sub(shown, text), kinds


def _label(kind: str, told: str) -> str:
    """The words that a mark shows: of a link its text, of a thing its name."""
    if kind in ("url", "link_title"):
        return told
    if kind != "entity":
        return ""
    try:
        parts = cast("object", json.loads(told))
    except (ValueError, RecursionError):
        return told
    words = cast("list[object]", parts) if isinstance(parts, list) else []
    return str(words[1]) if len(words) > 1 else told


# Claude


def claude(data: object, session: str | None) -> Iterable[Message]:
    """``conversations.json`` of Claude; a file that was attached leaves its name."""
    for conversation in objects(data):
        name = conversation.text("uuid", needed=False) or session
        account = mapping(conversation.values.get("account")).get("uuid")
        about = {TITLE: conversation.text("name", needed=False), ACCOUNT: account}
        listed = objects(conversation.values.get("chat_messages"), f"{conversation.place}.chat_messages")
        yield from _in_order(_claude_message(item, name, about) for item in listed)


def _claude_message(item: Fields, session: str | None, about: Mapping[str, object]) -> Message:
    text, kinds = item.said("content") if item.values.get("content") else (item.text("text", needed=False) or "", ())
    files = [
        str(name)
        for field in ("attachments", "files")
        for file in (objects(item.values[field], f"{item.place}.{field}") if item.values.get(field) else ())
        if (name := file.values.get("file_name"))
    ]
    content = "\n".join([*([text] if text else []), *(f"[file: {name}]" for name in files)])
    return _message(
        item.word("sender"), content, item.moment("created_at"), kinds, id=item.text("uuid", needed=False),
        session=session, about=about,
    )  # fmt: skip


# Telegram


def telegram(data: object, session: str | None) -> Iterable[Message]:
    """``result.json`` of Telegram Desktop: one chat, or all of them."""
    whole = mapping(data)
    chats = mapping(whole.get("chats")).get("list")
    for chat in objects(cast("object", chats) if isinstance(chats, list) else data):
        name = chat.text("name", needed=False) or session
        listed = objects(chat.values.get("messages"), f"{chat.place}.messages")
        for item in listed:
            if item.values.get("type") == "message":
                yield _telegram_message(item, str(chat.values.get("id", "")), name)


_TELEGRAM_MEDIA = ("photo", "file", "location_information", "contact_information", "poll")


def _telegram_message(item: Fields, chat: str, session: str | None) -> Message:
    value = item.values.get("text")
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    text = "".join(part if isinstance(part, str) else str(mapping(part).get("text", "")) for part in parts if part)
    media = {name for name in _TELEGRAM_MEDIA if item.values.get(name)}
    sent_at = item.moment("date_unixtime") or item.moment("date")
    return _message(
        "user", text, sent_at, media, id=f"telegram:{chat}:{item.values.get('id')}", session=session,
        name=item.text("from", needed=False),
    )  # fmt: skip


# Slack

_SLACK_MARK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def slack(data: object, session: str | None) -> Iterable[Message]:
    """The folder of an export of Slack (see ``sources.export_of``), or the messages of one of its days."""
    whole = mapping(data)
    channels = mapping(whole.get("channels")) or {session or "slack": data}
    users = {str(key): str(name) for key, name in mapping(whole.get("users")).items()}
    for channel, listed in channels.items():
        for item in objects(listed, f"{channel}"):
            if item.values.get("type", "message") == "message" and item.values.get("subtype") in _SLACK_SAID:
                yield _slack_message(item, channel, users)


_SLACK_SAID = (None, "thread_broadcast", "file_share", "me_message", "bot_message")


def _slack_message(item: Fields, channel: str, users: Mapping[str, str]) -> Message:
    def plain(mark: re.Match[str]) -> str:
        sign, target, label = mark.groups()
        if sign == "@":
            return f"@{label or users.get(target, target)}"
        return f"{sign}{label or target}" if sign else f"{label} ({target})" if label else target

    text = _SLACK_MARK.sub(plain, item.text("text", needed=False) or "")
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    author = item.text("user", needed=False)
    named = item.maybe("user_profile").text("real_name", needed=False) or item.text("username", needed=False)
    name = named or users.get(author or "", author or "")
    files = [str(file["name"]) for file in map(mapping, _list(item.values.get("files"))) if file.get("name")]
    content = "\n".join([*([text] if text else []), *(f"[file: {file}]" for file in files)])
    stamp = item.word("ts")
    bot = item.values.get("bot_id") or item.values.get("subtype") == "bot_message"
    return _message(
        "assistant" if bot else "user", content, item.moment("ts"), (), id=f"slack:{channel}:{stamp}", session=channel,
        name=name or None,
    )  # fmt: skip


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def slack_users(data: object) -> dict[str, str]:
    """The names of ``users.json`` by id."""
    found: dict[str, str] = {}
    for user in objects(data, "users.json"):
        profile = user.maybe("profile")
        names = (profile.text("display_name", needed=False), profile.text("real_name", needed=False), user.text("name"))
        found[user.word("id")] = next(filter(None, names), user.word("id"))
    return found
