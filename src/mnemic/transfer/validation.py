"""Validation of the lines of an export: the rules of the public methods, and consistency with previous lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.ingest.fields import MAX_CONTENT, MAX_ID, json_object
from mnemic.runtime.scopes import scope
from mnemic.safety.trust import least_trust
from mnemic.text.values import shown
from mnemic.types import Episode, Link, MemoryRecord, Message

__all__ = ["Line", "Record", "check", "check_record", "key_of", "line_error", "source_ids"]

Record = Message | Episode | MemoryRecord

_SHORT = ("id", "role", "name", "speaker")
_LONG = ("content", "title", "summary", "category")
_WORDS = ("tags", "keywords", "related_entities")


@dataclass(frozen=True, slots=True)
class Line:
    """One parsed line: its value, its additional fields, and its number in the file."""

    number: int
    kind: str
    value: Record | Link
    extra: Mapping[str, Any]


def line_error(number: int, what: str) -> InvalidInput:
    """The error for an invalid line."""
    return InvalidInput(f"Line {number} {what}. Nothing was stored.")


def source_ids(value: Record) -> tuple[str, ...]:
    """The sources of a record; none for a message."""
    return () if isinstance(value, Message) else value.source_ids


def key_of(value: MemoryRecord, content: str) -> tuple[object, ...]:
    """The unique key of a live memory: its level and content."""
    return value.project, value.session, value.speaker, " ".join(unicodedata.normalize("NFC", content).split())


def check_record(value: Record, project: str | None) -> None:
    """Check a record of a project.

    Raises:
        ValueError: no public method would have stored it.
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
        raise ValueError("its status is that of a running consolidation")


def check(lines: Sequence[Line]) -> None:
    """Check what the store would reject later: duplicate ids, sources after their records, duplicate memories."""
    seen = _Seen()
    for line in lines:
        if missing := sorted(_references(line.value) - seen.trusts.keys()):
            raise line_error(line.number, f"names {shown(missing[0], 60)}, which is not in the file before it")
        match line.value:
            case Link() as link:
                if link.type == "supersedes" and link.target in seen.believed:
                    raise line_error(
                        line.number, f"replaces {shown(link.target, 60)}, whose time has not ended (expired_at)"
                    )
            case value:
                if not value.id or value.id in seen.trusts:
                    raise line_error(line.number, f"has the id {shown(value.id, 60)}, which is empty or taken")
                seen.trusts[value.id] = _checked_trust(line, value, seen.trusts)
                _check_next(line, value, seen)


@dataclass(frozen=True, slots=True)
class _Seen:
    """State of the previous lines: trust and levels by id, unexpired memories, and keys of live ones."""

    trusts: dict[str, float] = field(default_factory=dict[str, float])
    levels: dict[str, tuple[object, object]] = field(default_factory=dict[str, tuple[object, object]])
    believed: set[str] = field(default_factory=set[str])
    live: set[tuple[object, ...]] = field(default_factory=set[tuple[object, ...]])


def _check_next(line: Line, value: Record, seen: _Seen) -> None:
    """Check a record against the previous lines, and add it to the state."""
    if isinstance(value, Message):
        seen.levels[str(value.id)] = (line.extra["project"], value.session)
        return
    if isinstance(value, Episode):
        _check_episode(line, value, seen.levels)
    if len(line.extra["earlier"] or ()) != value.version - 1:
        raise line_error(line.number, f"is version {value.version} without those before")
    if isinstance(value, MemoryRecord) and value.expired_at is None:
        seen.believed.add(value.id)
        if value.status != "archived":
            if (key := key_of(value, value.content)) in seen.live:
                raise line_error(line.number, "repeats the content of a previous memory")
            seen.live.add(key)


def _check_episode(line: Line, episode: Episode, levels: Mapping[str, tuple[object, object]]) -> None:
    """Check that the messages of an episode have its project and, if it has one, its session."""
    of = [levels.get(id_) for id_ in episode.message_ids]
    if not of or None in of:
        raise line_error(line.number, "is an episode without messages, or with records of other kinds")
    project, session = episode.project, episode.session
    if any(level and (level[0] != project or session not in (None, level[1])) for level in of):
        raise line_error(line.number, "is an episode of another project or conversation than its messages")


def _checked_trust(line: Line, value: Record, known: Mapping[str, float]) -> float:
    """The trust of a record; it must not exceed that of its sources."""
    if value.trust is None or (isinstance(value, Message) and None in (value.sent_at, value.source)):
        raise line_error(line.number, "is a message without sent_at, source or trust")
    if value.trust > least_trust(known[source] for source in _references(value)):
        raise line_error(line.number, "has a higher trust than its sources")
    return value.trust


def _references(value: Record | Link) -> set[str]:
    """The ids that a record or link refers to."""
    if isinstance(value, Link):
        return {value.source, value.target}
    return {*source_ids(value), *(value.message_ids if isinstance(value, Episode) else ())}
