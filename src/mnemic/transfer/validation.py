"""Validation of the lines of an export: types of values, rules of the public methods, consistency with previous lines."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from mnemic.errors import InvalidInput
from mnemic.runtime.scopes import scope
from mnemic.safety.trust import least_trust
from mnemic.text.terms import clean
from mnemic.text.values import check_name, now, shown, to_micros
from mnemic.types import Emotion, Episode, Link, MemoryRecord, Message
from mnemic.validation import MAX_CONTENT, json_object

_SIGNED = {"valence", "arousal"}


def coerce(name: str, hint: Any, value: object) -> object:
    """Convert a JSON value to the type of its field; raises ValueError."""
    if get_origin(hint) in (Union, UnionType):
        if value is None:
            return None
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    match get_origin(hint) or hint, value:
        case (origin, str()) if origin is str or value in get_args(hint):
            return clean(value)
        case (origin, str()) if origin is datetime:
            return _moment(name, value)
        case (origin, bool()) if origin is bool:
            return value
        case (origin, _) if origin in (int, float):
            return _number(name, origin, value)
        case (origin, list()) if origin is tuple:
            return tuple(coerce(name, str, item) for item in cast("list[object]", value))
        case (origin, dict()) if origin is Emotion:
            return Emotion(**{part: _number(part, float, item) for part, item in cast("dict[str, Any]", value).items()})
        case (origin, dict()) if origin is Mapping:
            return cast("object", value)
        case _:
            raise ValueError(f"{name} is {shown(value, 60)}")


def _number(name: str, kind: Any, value: object) -> float:
    """A count, or a number in 0..1; emotions may be negative."""
    least, most = (0, 2**53) if kind is int else (-1 if name in _SIGNED else 0, 1)
    allowed = int if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= most:
        raise ValueError(f"{name} is {shown(value, 60)}")
    return kind(value)


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} is {shown(text, 60)}, which is not a time") from None
    if moment.utcoffset() is None:
        raise ValueError(f"{name} has no time zone")
    to_micros(moment)
    return moment


Record = Message | Episode | MemoryRecord

_NAMES = ("id", "role", "name", "speaker", "category")
_TEXTS = ("content", "title", "summary")
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
    """What memories that say the same have in common: level and content."""
    return value.project, value.session, value.speaker, " ".join(unicodedata.normalize("NFC", content).split())


def check_record(value: Record, project: str | None) -> None:
    """Check a record of a project.

    Raises:
        ValueError: no public method would have stored it.
    """
    try:
        scope("-", project, value.session)
        json_object("metadata", value.metadata)
        for name in _NAMES:
            if (text := getattr(value, name, None)) is not None:
                check_name(name, text)
    except InvalidInput as error:
        raise ValueError(str(error).removesuffix(".")) from error
    texts = [(name, getattr(value, name, None)) for name in _TEXTS]
    texts += [(name, word) for name in _WORDS for word in getattr(value, name, ())]
    for name, text in texts:
        if text is not None and len(text) > MAX_CONTENT:
            raise ValueError(f"{name} has {len(text):,} characters, more than {MAX_CONTENT:,}")
    if not isinstance(value, Episode) and not value.content.strip():
        raise ValueError("its content is empty")
    if isinstance(value, Message) and not value.role:
        raise ValueError("its role is empty")
    if isinstance(value, MemoryRecord) and value.status == "consolidating":
        raise ValueError("its status is that of a running consolidation")


def check(lines: Sequence[Line]) -> None:
    """Check what the store would reject later: duplicate ids, sources after their records, duplicate memories."""
    seen, live = dict[str, Line](), defaultdict[tuple[object, ...], set[str | None]](set)
    for line in lines:
        value = line.value
        if missing := sorted(_references(value) - seen.keys()):
            raise line_error(line.number, f"names {shown(missing[0], 60)}, which is not in the file before it")
        if isinstance(value, Link):
            if value.type == "supersedes" and getattr(seen[value.target].value, "expired_at", 0) is None:
                what = f"replaces {shown(value.target, 60)}, whose time has not ended (expired_at)"
                raise line_error(line.number, what)
            continue
        _check_next(line, value, seen)
        if isinstance(value, MemoryRecord) and _holds(value):
            keys = live[key_of(value, value.content)]
            if value.key in keys or (keys and None in {*keys, value.key}):
                raise line_error(line.number, "repeats the content of a previous memory")
            keys.add(value.key)
        seen[str(value.id)] = line


def _holds(value: MemoryRecord) -> bool:
    """Whether a memory holds now, so that no other one may say the same under its key."""
    if value.expired_at is not None or value.status == "archived":
        return False
    moment, ends = to_micros(now()), filter(None, (value.invalid_at, value.delete_after))
    return all(to_micros(end) > moment for end in ends) and (not value.valid_at or to_micros(value.valid_at) <= moment)


def _check_next(line: Line, value: Record, seen: Mapping[str, Line]) -> None:
    """Check a record against the previous lines, by id: it must not be trusted more than its sources."""
    if not value.id or value.id in seen:
        raise line_error(line.number, f"has the id {shown(value.id, 60)}, which is empty or taken")
    if value.trust is None or (isinstance(value, Message) and None in (value.sent_at, value.source)):
        raise line_error(line.number, "is a message without sent_at, source or trust")
    if value.trust > least_trust(cast("Record", seen[source].value).trust for source in _references(value)):
        raise line_error(line.number, "has a higher trust than its sources")
    if isinstance(value, Episode):
        _check_episode(line, value, [seen[id_] for id_ in value.message_ids])
    if not isinstance(value, Message) and len(line.extra["earlier"] or ()) != value.version - 1:
        raise line_error(line.number, f"is version {value.version} without those before")


def _check_episode(line: Line, episode: Episode, lines: Sequence[Line]) -> None:
    """Check that the messages of an episode have its project and, if it has one, its session."""
    messages = [(source, source.value) for source in lines if isinstance(source.value, Message)]
    if not messages or len(messages) < len(lines):
        raise line_error(line.number, "is an episode without messages, or with records of other kinds")
    project, session = episode.project, episode.session
    if any(line.extra["project"] != project or session not in (None, message.session) for line, message in messages):
        raise line_error(line.number, "is an episode of another project or conversation than its messages")


def _references(value: Record | Link) -> set[str]:
    """The ids that a record or link refers to."""
    if isinstance(value, Link):
        return {value.source, value.target}
    return {*source_ids(value), *(value.message_ids if isinstance(value, Episode) else ())}
