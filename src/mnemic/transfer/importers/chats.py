"""Exports of chat products: ChatGPT, Claude, Telegram and Slack.

Written after the published shapes of the exports; each text is kept verbatim, and what is no text is named in ``left_out``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from mnemic.ingest import role_of
from mnemic.transfer.importers.fields import (
    ACCOUNT,
    CLAUDE_MEMORY,
    Damage,
    Fields,
    array,
    fields_of,
    mapping,
    maybe_json,
    noted,
    objects,
    partition,
    read_each,
    read_one,
)
from mnemic.types import Message

TITLE = "title"


def _in_order(messages: Iterable[Message | Damage]) -> Iterator[Message | Damage]:
    """Messages whose times do not go back: an answer may carry an earlier clock than its question, and a question none."""
    messages = [*messages]
    last = next((message.sent_at for message in messages if isinstance(message, Message) and message.sent_at), None)
    for message in messages:
        if isinstance(message, Damage):
            yield message
            continue
        last = max(filter(None, (last, message.sent_at)), default=None)
        yield replace(message, sent_at=last)


def _with_files(text: str, names: Iterable[str]) -> str:
    """A text, and what was attached to it by name."""
    return "\n".join([*filter(None, [text]), *(f"[file: {name}]" for name in names)])


# ChatGPT


def chatgpt(data: object, session: str | None) -> Iterator[Message | Damage]:
    """``conversations.json`` of ChatGPT: of each tree of messages the branch that was shown last."""

    def read(conversation: Fields) -> Iterator[Message | Damage]:
        (current, name, id_, title), damaged = conversation.texts("current_node", "conversation_id", "id", "title")
        yield from damaged
        nodes = conversation.inside("mapping")
        shown = (_chatgpt_node(nodes, key, name or id_ or session, title) for key in _branch(nodes.values, current))
        yield from _in_order(message for messages in shown for message in messages)

    return read_each(data, read)


def other_branches(data: object) -> int:
    """The number of messages of ChatGPT that are in branches which were edited away."""
    count = 0
    for conversation in map(mapping, array(data) or [data]):
        nodes, current = Fields(mapping(conversation.get("mapping")), ""), conversation.get("current_node")
        shown = _branch(nodes.values, current)
        edited = [m for key in nodes.values.keys() - {*shown} for m in _chatgpt_node(nodes, key, None, None)]
        count += sum(isinstance(message, Message) and bool(message.content) for message in edited)
    return count


def _branch(nodes: Mapping[str, object], current: object) -> list[str]:
    """The keys of the nodes from the root to the current one; without a current one, along the last children.

    A node and its parent name each other, so that a damaged one does not end the branch.
    """
    parents: dict[str, str] = {}
    for key, node in nodes.items():
        parents |= {str(child): key for child in array(mapping(node).get("children"))}
    for key, node in nodes.items():
        parent = mapping(node).get("parent")
        parents |= {key: parent} if isinstance(parent, str) and parent else {}
    if not isinstance(current, str) or (current not in nodes and current not in parents):
        following = {parent: child for child, parent in parents.items()}
        root = next((key for key in nodes if key not in parents), None)
        current = [*_walk(root, following)][-1] if root else None
    return [key for key in _walk(current, parents) if key in nodes or key in parents][::-1]


def _walk(key: str | None, following: Mapping[str, str]) -> dict[str, None]:
    """What follows a key, in order, up to the end or a key that came before."""
    keys: dict[str, None] = {}
    while key is not None and key not in keys:
        keys[key] = None
        key = following.get(key)
    return keys


def _chatgpt_node(nodes: Fields, key: str, session: str | None, title: str | None) -> Iterator[Message | Damage]:
    """The message of a node; none where nothing was shown."""

    def read(node: Fields) -> Iterator[Message]:
        if node.values.get("message") is None and not node.values.get("parent"):
            return  # the root
        yield from _chatgpt_message(node.inside("message"), session, title)

    return read_one(nodes.values.get(key), read, f"{nodes.path}.{key}")


_CHATGPT_HIDDEN = ("user_editable_context", "model_editable_context", "thoughts", "reasoning_recap")


def _chatgpt_message(item: Fields, session: str | None, title: str | None) -> Iterator[Message]:
    """A message; none where nothing was shown."""
    role = item.inside("author").word("role")
    content = item.inside("content")
    kind = content.text("content_type", needed=False) or "text"
    if item.maybe("metadata").values.get("is_visually_hidden_from_conversation") or kind in _CHATGPT_HIDDEN:
        return
    text, left_out = _chatgpt_text(content, kind)
    files = (mapping(file).get("name") for file in array(item.maybe("metadata").values.get("attachments")))
    text = _with_files(text, (str(name) for name in files if name))
    if role == "assistant" and (item.text("recipient", needed=False) or "all") != "all":
        text, left_out = "", {"tool_calls"}  # what a tool was told, such as a note about the user
    elif role != "user":
        text, marks = _without_marks(text)
        left_out |= marks
    if not text and (not left_out or role == "system"):
        return
    yield Message(
        role=role_of(role), content=text, sent_at=item.moment("create_time"), id=item.text("id", needed=False),
        session=session, metadata=noted({TITLE: title}, left_out),
    )  # fmt: skip


_CHATGPT_PARTS = ("text", "multimodal_text")
"""Kinds of content that are a list of parts."""


def _chatgpt_text(content: Fields, kind: str) -> tuple[str, set[str]]:
    """The text of a content and the kinds of its other parts."""
    if "parts" not in content.values and kind not in _CHATGPT_PARTS:
        return content.text("text", needed=False) or "", set()
    parts = [*enumerate(content.listed("parts"))]
    texts = [part for _, part in parts if isinstance(part, str) and part]
    others = [fields_of(part, f"{content.path}.parts[{n}]").values for n, part in parts if not isinstance(part, str)]
    spoken = [str(part["text"]) for part in others if isinstance(part.get("text"), str)]
    kinds = {str(part.get("content_type", "part")) for part in others if not isinstance(part.get("text"), str)}
    return "\n".join([*texts, *spoken]), kinds


_MARK = re.compile("( ?)\ue200([a-z_]*)\ue202?([^\ue200\ue201]*)\ue201|[\ue200-\ue206]")
"""A mark that the app draws as something else: a citation, a map, a link, the name of a thing."""
_CITATION = re.compile("( ?)\u3010()[^\u3010\u3011\n]{0,80}\u2020()[^\u3010\u3011\n]{0,200}\u3011")
"""A citation in older exports."""


def _without_marks(text: str) -> tuple[str, set[str]]:
    """A text with the words that its marks show, and the kinds of marks that show none."""
    kinds: set[str] = set()

    def replacement(mark: re.Match[str]) -> str:
        space, kind, argument = mark.groups()
        if kind is None:
            return ""  # around words
        words = _mark_words(kind, argument.split("\ue202")[0])
        kinds.update(() if words else (kind or "mark",))
        return space + words if words else ""

    return _CITATION.sub(replacement, _MARK.sub(replacement, text)), kinds


def _mark_words(kind: str, argument: str) -> str:
    """The words that a mark shows: of a link its text, of a thing its name."""
    if kind in ("url", "link_title"):
        return argument
    if kind != "entity":
        return ""
    words = array(maybe_json(argument))
    return str(words[1]) if len(words) > 1 else argument


# Claude


def claude(data: object, session: str | None) -> Iterator[Message | Damage]:
    """``conversations.json`` of Claude; a file that was attached leaves its name. Its memory has no messages."""

    def read(conversation: Fields) -> Iterator[Message | Damage]:
        if not CLAUDE_MEMORY.isdisjoint(conversation.values):
            return
        (uuid, title), damaged = conversation.texts("uuid", "name")
        yield from damaged
        about = {TITLE: title, ACCOUNT: mapping(conversation.values.get("account")).get("uuid")}
        listed = conversation.listed("chat_messages")
        messages = read_each(
            listed, lambda item: [_claude_message(item, uuid or session, about)], f"{conversation.path}.chat_messages"
        )
        yield from _in_order(messages)

    return read_each(data, read)


def _claude_message(item: Fields, session: str | None, about: Mapping[str, object]) -> Message:
    text, kinds = item.said("content") if item.values.get("content") else (item.text("text") or "", ())
    files = [
        str(name)
        for field in ("attachments", "files")
        for file in (objects(item.values[field], f"{item.path}.{field}") if item.values.get(field) else ())
        if (name := file.values.get("file_name"))
    ]
    return Message(
        role=role_of(item.word("sender")), content=_with_files(text, files), sent_at=item.moment("created_at"),
        id=item.text("uuid", needed=False), session=session, metadata=noted(about, kinds),
    )  # fmt: skip


# Telegram


def telegram(data: object, session: str | None) -> Iterator[Message | Damage]:
    """``result.json`` of Telegram Desktop: one chat, or all of them."""
    chats = mapping(mapping(data).get("chats")).get("list")
    names = Counter(mapping(chat).get("name") for chat in array(chats))

    def read(chat: Fields) -> Iterator[Message | Damage]:
        (name,), damaged = chat.texts("name")
        yield from damaged
        id_ = chat.values.get("id")
        about = (id_, f"{name or session} {id_}" if names[name] > 1 else name or session)
        yield from read_each(
            chat.listed("messages"), lambda item: _telegram_message(item, *about), f"{chat.path}.messages"
        )

    return read_each(cast("object", chats) if isinstance(chats, list) else data, read)


_TELEGRAM_MEDIA = ("photo", "file", "location_information", "contact_information", "poll")


def _telegram_message(item: Fields, chat: object, session: str | None) -> Iterator[Message]:
    if item.word("type") != "message":
        return
    media = {name for name in _TELEGRAM_MEDIA if item.values.get(name)}
    sent_at = item.moment("date_unixtime") or item.moment("date")
    id_ = item.values.get("id")
    yield Message(
        role="user", content=_telegram_text(item), sent_at=sent_at, name=item.text("from", needed=False), session=session,
        id=None if chat is None or id_ is None else f"telegram:{chat}:{id_}", metadata=noted({}, media),
    )  # fmt: skip


def _telegram_text(item: Fields) -> str:
    """The text of a message: a string, or a list of strings and of objects such as links."""
    value = item.values.get("text")
    if not isinstance(value, list):
        return item.text("text") or ""
    parts = enumerate(cast("list[object]", value))
    return "".join(
        part if isinstance(part, str) else fields_of(part, f"{item.path}.text[{number}]").text("text") or ""
        for number, part in parts
    )


# Slack

_SLACK_MARK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def slack(data: object, session: str | None) -> Iterator[Message | Damage]:
    """The folder of an export of Slack (see ``sources.export_of``), or the messages of one of its days."""
    whole = mapping(data)
    channels = mapping(whole.get("channels")) or {session or "slack": data}
    users = {str(key): str(name) for key, name in mapping(whole.get("users")).items()}
    for channel, listed in channels.items():
        yield from read_each(listed, partial(_slack_message, channel=channel, users=users), channel)


_SLACK_SHOWN = ("files", "attachments", "blocks")
"""What a message may have instead of a text."""
_SLACK_SAID = (None, "thread_broadcast", "file_share", "me_message", "bot_message")


def _slack_message(item: Fields, *, channel: str, users: Mapping[str, str]) -> Iterator[Message]:
    kind, subtype = item.text("type", needed=False) or "message", item.text("subtype", needed=False)
    if kind != "message" or subtype not in _SLACK_SAID:
        return

    def plain(mark: re.Match[str]) -> str:
        sign, target, label = mark.groups()
        if sign == "@":
            return f"@{label or users.get(target, target)}"
        return f"{sign}{label or target}" if sign else f"{label} ({target})" if label else target

    text = _SLACK_MARK.sub(plain, item.text("text", needed=not any(map(item.values.get, _SLACK_SHOWN))) or "")
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    author = item.text("user", needed=False)
    named = item.maybe("user_profile").text("real_name", needed=False) or item.text("username", needed=False)
    name = named or users.get(author or "", author or "")
    files = [str(file["name"]) for file in map(mapping, array(item.values.get("files"))) if file.get("name")]
    bot = item.values.get("bot_id") or subtype == "bot_message"
    yield Message(
        role="assistant" if bot else "user", content=_with_files(text, files), sent_at=item.moment("ts"),
        id=f"slack:{channel}:{item.word('ts')}", session=channel, name=name or None,
    )  # fmt: skip


def slack_users(data: object) -> tuple[dict[str, str], list[Damage]]:
    """The names of ``users.json`` by id, and its damaged parts."""
    names, damaged = partition(read_each(data, _slack_user, "users.json"))
    return dict(names), damaged


def _slack_user(user: Fields) -> Iterator[tuple[str, str]]:
    profile, id_ = user.maybe("profile"), user.word("id")
    names = (profile.text("display_name", needed=False), profile.text("real_name", needed=False), user.text("name"))
    yield id_, next(filter(None, names), id_)
