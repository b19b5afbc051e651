"""Parsing the transcript of a coding agent: JSON lines, many of which are not messages.

Supported are the transcripts of Claude Code and Codex, and plain lines of {"role", "content"}. Messages of people and the
model are kept; tool calls and results, thinking, side conversations, and text inserted by the agent are not.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

from mnemic.errors import InvalidInput
from mnemic.transfer.importers.fields import Damage, Fields, array, mapping, maybe_json, objects, read_one
from mnemic.types import Message
from mnemic.validation import MAX_CONTENT

LONGEST_LINE = 4 * 1024 * 1024
"""Bytes; longer lines contain images or whole files, and are skipped."""

_ROLES = ("user", "assistant")
_TURNS = (*_ROLES, "message", "response_item")
"""Types of a line that is a turn of the conversation; a line without a type is one as well."""
_ASIDE = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_TEXT_PARTS = ("text", "input_text", "output_text")
_BLOCK = re.compile(
    r"<(?P<tag>system-reminder|user-prompt-submit-hook|task-notification|bash-notification|teammate-message|"
    r"local-command-stdout|local-command-stderr|local-command-caveat|command-name|command-message|command-args|"
    r"bash-input|bash-stdout|bash-stderr|environment_context|user_instructions|user_shell_command|turn_aborted|subagent_notification|ide_opened_file|ide_selection)"
    r"""(?:\s(?:"[^"]*"|[^"<>])*)?>"""
    r"(?P<body>(?:[^<]|<(?!/?(?P=tag)[\s>]))*)</(?P=tag)>"
    r"(?:\s*(?:Read the output file to retrieve the|Full transcript available at:)[^\n]*)?"
)
_APPENDED = ("system-reminder", "user-prompt-submit-hook")
_NOT_SAID = (
    "[Request interrupted by user", "Caveat: The messages below",
    "This session is being continued from a previous conversation", "# AGENTS.md instructions for ",
)  # fmt: skip


def messages(path: Path, session: str) -> Iterator[Message]:
    """The messages of a transcript, in order. Invalid lines, such as incomplete ones, are skipped.

    Ids are those of the transcript; missing ones are derived from session, line and text, so that they are stable.

    Raises:
        InvalidInput: the file cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is not a file.")
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                values = mapping(maybe_json(line) if len(line) <= LONGEST_LINE else None)
                with suppress(InvalidInput):
                    yield from _messages(Fields(values, f"line {number}"), number, session)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def turns(data: object, session: str | None) -> Iterator[Message | Damage]:
    """The messages of a transcript that was parsed, each in the session that its line names."""
    for number, line in enumerate(array(data, [data])):
        yield from read_one(line, partial(_turn, number=number + 1, session=session), f"[{number}]")


def _turn(line: Fields, *, number: int, session: str | None) -> Sequence[Message]:
    turn = [*_messages(line, number, line.text("sessionId", needed=False) or session or "transcript")]
    if turn:
        _ = line.moment("timestamp")  # refuses one that is none
    return turn


def _messages(line: Fields, number: int, session: str) -> Iterator[Message]:
    """The message of a line; a long one becomes several.

    Raises:
        InvalidInput: a field of it is missing or malformed.
    """
    if any(line.values.get(mark) is True for mark in _ASIDE) or line.values.get("toolUseResult") is not None:
        return
    type_ = line.text("type", needed=False)
    if type_ not in (None, *_TURNS):
        return
    body = _body(line, type_)
    kind = body.text("type", needed=False)
    role = body.text("role", needed=kind == "message" and type_ not in _ROLES) or type_
    types = (type_ or role, kind or role)
    if role not in _ROLES or any(name not in _TURNS or (name in _ROLES and name != role) for name in types):
        return
    text = _text(body)
    text = (_strip_agent_blocks(text) if role == "user" else text).strip()
    if not text or (role == "user" and text.startswith(_NOT_SAID)):
        return
    own_ids = (line.values.get("uuid"), body.values.get("id"), line.values.get("id"))
    own_id = next((value for value in own_ids if isinstance(value, str) and value), None)
    source = json.dumps([session, number, role, text]).encode()
    name, sent_at = own_id or f"line_{hashlib.blake2b(source, digest_size=12).hexdigest()}", None
    with suppress(InvalidInput):  # a turn without a valid time is one
        sent_at = line.moment("timestamp")
    for start in range(0, len(text), MAX_CONTENT):
        piece, more = text[start : start + MAX_CONTENT], f"+{start // MAX_CONTENT}" if start else ""
        if piece.strip():
            yield Message(role=str(role), content=piece, sent_at=sent_at, session=session, id=name + more)


def _strip_agent_blocks(text: str) -> str:
    """The text typed by the user: without blocks inserted by the agent, but with the words after a command.

    A block was inserted if it begins a line, or if it ends the text and is of an appended kind. Within a line, or if it is
    not closed, it is part of the user's text.
    """
    blocks = [*_BLOCK.finditer(text)]
    end = len(text)
    for block in reversed(blocks):
        if block["tag"] not in _APPENDED or text[block.end() : end].strip():
            break
        end = block.start()
    parts: list[str] = []
    position, words = 0, False  # whether the line has text before the block
    for block in blocks:
        before = text[position : block.start()]
        _, line_break, rest = before.rpartition("\n")
        words = bool(rest.strip()) or (words and not line_break)
        quoted = words and block.start() < end
        arguments = block["body"] if block["tag"] == "command-args" else ""
        parts += [before, block[0] if quoted else arguments]
        position = block.end()
    return "".join([*parts, text[position:]])


def _body(line: Fields, type_: str | None) -> Fields:
    """The object of a line that has its role and content: one inside it, or the line."""
    if type_ == "response_item":
        return line.inside("payload")
    return next((line.inside(field) for field in ("message", "payload") if line.values.get(field) is not None), line)


def _text(body: Fields) -> str:
    """The text parts, joined."""
    content = body.values.get("content")
    if not isinstance(content, list):
        return body.text("content", needed=not body.values.get("tool_calls")) or ""
    parts = objects(cast("list[object]", content), f"{body.path}.content")
    return "\n".join(part.text("text") or "" for part in parts if part.word("type") in _TEXT_PARTS)
