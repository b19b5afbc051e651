"""Parsing the transcript of a coding agent: JSON lines, many of which are not messages.

Supported are the transcripts of Claude Code and Codex, and plain lines of {"role", "content"}. Messages of people and the
model are kept; tool calls and results, thinking, side conversations, and text inserted by the agent are not.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections import Counter
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
_NAME = (
    r"(?:system-reminder|user-prompt-submit-hook|(?:task|bash|subagent)[-_]notification|teammate-message|skill|"
    r"local-command-[a-z]+|command-(?:name|message|args|contents)|bash-(?:input|stdout|stderr)|environment_context|"
    r"user_(?:instructions|shell_command)|turn_aborted|ide_[a-z_]+)"
)
_TAG = re.compile(
    rf"(?P<indent>^[^\S\n]*)?<(?:/(?P<closing>{_NAME})|(?P<opening>{_NAME})(?:\s(?:\"[^\"]*\"|[^\"<>])*)?)>",
    re.MULTILINE,
)
"""A tag of a block that an agent inserts. People mark parts of their prompts in the same way, so it is known by its name."""
_AFTER_BLOCK = re.compile(r"\s*(?:(?:Read the output file to retrieve the|Full transcript available at:)[^\n]*\s*)?")
_MENTIONED = re.compile(r"\Z|[^\S\n]|[]),.;:!?`'\"]")
"""What follows a tag that is a word of a sentence; behind another one that nothing closes, its paragraph was inserted."""
_PARAGRAPH_END = re.compile(r"\n\s*\n\s*|\Z")
_APPENDED = ("system-reminder", "user-prompt-submit-hook")
"""Blocks that may also stand between the lines of the user, and follow the last word."""
_SURROUNDINGS, _REQUEST = "# Context from my IDE setup:", "\n## My request for Codex:"
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
    parts = _texts(body)
    if role == "user":
        parts = [typed for part in parts if not (typed := _typed(part)).startswith(_NOT_SAID)]
    text = "\n".join(filter(None, parts)).strip()
    if not text:
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


def _typed(text: str) -> str:
    """The text typed by the user: without blocks inserted by the agent, but with the words after a command.

    A block was inserted if it begins the text, or if it begins a line and ends the text; a reminder, if it begins a line. It
    reaches up to the last closing tag of its name, and to the end of the text if fewer of these are closed than opened: what
    it holds may contain such tags. One that nothing closes reaches to the end of its paragraph.
    """
    if text.startswith(_SURROUNDINGS):
        text = text.rpartition(_REQUEST)[2] if _REQUEST in text else ""
    for name in _APPENDED:
        text = _without_lines(text, name)
    text = text.strip()
    tags = [*_TAG.finditer(text)]
    start, words = _after_blocks(text, tags)
    begun = [tag for tag in reversed(tags) if tag["opening"] and tag.start() >= start]
    first = {tag["opening"]: tag.start() for tag in begun if tag["opening"] in _APPENDED}
    first |= {tag["opening"]: tag.start() for tag in begun if tag["indent"] is not None}
    closings, end = {tag.end(): tag["closing"] for tag in tags}, len(text)
    while start <= first.get(closings.get(end) or "", -1) < end:
        end = first[closings[end]]
        while end > start and text[end - 1].isspace():
            end -= 1
    return "\n".join(filter(None, (*words, text[start:end].strip())))


def _without_lines(text: str, name: str) -> str:
    """A text without what blocks of a name hold, from the first that begins a line to the last closing tag."""
    opening, closing = re.search(rf"^[^\S\n]*<{name}>", text, re.MULTILINE), f"</{name}>"
    if opening is None:
        return text
    end = text.rfind(closing)
    if end < opening.end():
        if _MENTIONED.match(text, opening.end()):
            return text
        return text[: opening.start()] + text[_paragraph_end(text, opening.end()) :]
    whole = text.count(f"<{name}>", opening.start(), end) <= text.count(closing)
    return text[: opening.start()] + (text[end + len(closing) :] if whole else "")


def _paragraph_end(text: str, start: int) -> int:
    match = _PARAGRAPH_END.search(text, start)
    return match.end() if match else len(text)


def _after_blocks(text: str, tags: Sequence[re.Match[str]]) -> tuple[int, list[str]]:
    """Where a text goes on behind the blocks that it begins with, and the words after a command in these."""
    last = {tag["closing"]: tag for tag in tags if tag["closing"]}
    closed = Counter(tag["closing"] for tag in tags)
    opened = Counter(name for tag in tags if (name := tag["opening"]) in last and tag.end() <= last[name].start())
    openings, start, words = {tag.start() + len(tag["indent"] or ""): tag for tag in tags}, 0, list[str]()
    while (tag := openings.get(start)) and (name := tag["opening"]):
        if not opened[name] or tag.end() > last[name].start():
            if _MENTIONED.match(text, tag.end()):
                return start, words
            start = _paragraph_end(text, tag.end())
            continue
        if opened[name] > closed[name]:
            return len(text), words
        if name == "command-args":
            words.append(text[tag.end() : last[name].start()].strip())
        after = _AFTER_BLOCK.match(text, last[name].end())
        start = after.end() if after else len(text)
    return start, words


def _body(line: Fields, type_: str | None) -> Fields:
    """The object of a line that has its role and content: one inside it, or the line."""
    if type_ == "response_item":
        return line.inside("payload")
    return next((line.inside(field) for field in ("message", "payload") if line.values.get(field) is not None), line)


def _texts(body: Fields) -> list[str]:
    """The text parts."""
    content = body.values.get("content")
    if not isinstance(content, list):
        return [body.text("content", needed=not body.values.get("tool_calls")) or ""]
    parts = objects(cast("list[object]", content), f"{body.path}.content")
    return [part.text("text") or "" for part in parts if part.word("type") in _TEXT_PARTS]
