"""What a line of an export must be: what the calls that store a record would take, beside what comes before it."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.ingest.fields import MAX_CONTENT, MAX_ID, json_object
from mnemic.runtime.scopes import scope
from mnemic.safety.trust import least_trust
from mnemic.text.display import shown
from mnemic.types import Episode, Link, MemoryRecord, Message

__all__ = ["Line", "Record", "check", "key_of", "source_ids", "vetted", "wrong"]

Record = Message | Episode | MemoryRecord

_SHORT = ("id", "role", "name", "speaker")
_LONG = ("content", "title", "summary", "category")
_WORDS = ("tags", "keywords", "related_entities")


@dataclass(frozen=True, slots=True)
class Line:
    """One line that was read: its value, what is told beside it, and its place in the file."""

    number: int
    kind: str
    value: Record | Link
    beside: Mapping[str, Any]


def wrong(number: int, what: str) -> InvalidInput:
    """What is said of a line that cannot be taken."""
    return InvalidInput(f"Line {number} {what}. Nothing was stored.")


def source_ids(value: Record) -> tuple[str, ...]:
    """The memories and episodes that a record was made from."""
    return () if isinstance(value, Message) else value.source_ids


def key_of(value: MemoryRecord, content: str) -> tuple[object, ...]:
    """What no two live memories may have in common: a level, and what is said at it."""
    return value.project, value.session, value.speaker, " ".join(unicodedata.normalize("NFC", content).split())


def vetted(value: Record, project: str | None) -> None:
    """Look at a record of a project.

    Raises:
        ValueError: no call would have stored it.
    """
    try:
        scope("-", project, value.session)
        json_object("metadata", value.metadata)
    except InvalidInput as error:
        raise ValueError(str(error).removesuffix(".")) from error
    texts = [
        (name, getattr(value, name, None), MAX_ID if name in _SHORT else MAX_CONTENT) for name in (*_SHORT, *_LONG)
    ]
    texts += [(name, word, MAX_CONTENT) for name in _WORDS for word in getattr(value, name, ())]
    for name, text, limit in texts:
        if text is not None and len(text) > limit:
            raise ValueError(f"{name} has {len(text):,} characters, more than {limit:,}")
    if not isinstance(value, Episode) and not value.content.strip():
        raise ValueError("its content is empty")
    if isinstance(value, Message) and not value.role:
        raise ValueError("its role is empty")
    if isinstance(value, MemoryRecord) and value.status == "consolidating":
        raise ValueError("its status is that of a consolidation that is under way")


def check(lines: Sequence[Line]) -> None:
    """What the record would refuse half-way: names that are not unique, sources that do not come first, twins."""
    seen = _Seen()
    for line in lines:
        if missing := sorted(_named(line.value) - seen.trusts.keys()):
            raise wrong(line.number, f"names {shown(missing[0], 60)}, which is not in the file before it")
        match line.value:
            case Link() as link:
                if link.type == "supersedes" and link.target in seen.believed:
                    raise wrong(
                        line.number, f"replaces {shown(link.target, 60)}, whose time has not ended (expired_at)"
                    )
            case value:
                if not value.id or value.id in seen.trusts:
                    raise wrong(line.number, f"has the id {shown(value.id, 60)}, which is empty or taken")
                seen.trusts[value.id] = _trust(line, value, seen.trusts)
                _made(line, value, seen)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the lines before have told: trust and levels by id, what is believed, and what live memories say where."""

    trusts: dict[str, float] = field(default_factory=dict[str, float])
    levels: dict[str, tuple[object, object]] = field(default_factory=dict[str, tuple[object, object]])
    believed: set[str] = field(default_factory=set[str])
    live: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])


def _made(line: Line, value: Record, seen: _Seen) -> None:
    """A record beside those before it."""
    if isinstance(value, Message):
        seen.levels[str(value.id)] = (line.beside["project"], value.session)
        return
    if isinstance(value, Episode):
        _tells(line, value, seen.levels)
    if len(line.beside["earlier"] or ()) != value.version - 1:
        raise wrong(line.number, f"is version {value.version} without those before")
    if isinstance(value, MemoryRecord) and value.expired_at is None:
        seen.believed.add(value.id)
        if value.status != "archived":
            if (key := key_of(value, value.content)) in seen.live:
                raise wrong(line.number, "says what a memory before it says")
            seen.live.add(key)


def _tells(line: Line, episode: Episode, levels: Mapping[str, tuple[object, object]]) -> None:
    """An episode tells of messages, all of its project and, where it has one, of its conversation."""
    of = [levels.get(id_) for id_ in episode.message_ids]
    if not of or None in of:
        raise wrong(line.number, "is an episode that names no message, or something else than messages")
    project, session = episode.project, episode.session
    if any(level and (level[0] != project or session not in (None, level[1])) for level in of):
        raise wrong(line.number, "is an episode of another project or conversation than its messages")


def _trust(line: Line, value: Record, known: Mapping[str, float]) -> float:
    """The trust of a record, which is that of what it was made from or less."""
    if value.trust is None or (isinstance(value, Message) and None in (value.sent_at, value.source)):
        raise wrong(line.number, "is a message without sent_at, source or trust")
    if value.trust > least_trust(known[source] for source in _named(value)):
        raise wrong(line.number, "is trusted more than what it was made from")
    return value.trust


def _named(value: Record | Link) -> set[str]:
    """The records that another one needs."""
    if isinstance(value, Link):
        return {value.source, value.target}
    return {*source_ids(value), *(value.message_ids if isinstance(value, Episode) else ())}
