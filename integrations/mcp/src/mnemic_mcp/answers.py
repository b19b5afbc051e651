"""The answers of the server as JSON. Every text that leaves the server passes ``plain``, the words of a record ``marked``."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias, cast

from mnemic import Episode, Hit, Link, MemoryContext, MemoryRecord, Message, Project, Stats, quoted
from mnemic.adapters.tools import Sourced, quoted_id, quoted_text, quoted_word
from mnemic.recall.context.packing import quoted_speaker
from mnemic.text.markup import speaker_label

Json: TypeAlias = dict[str, Any]
Scale: TypeAlias = Callable[[float], float]
"""From an importance of 0 to 1 to that of a profile."""

ALL_TEXT = 40_000
"""Characters of all texts of one answer: clients refuse answers that are much longer."""
SHORTEST = 400
CATEGORIES = 20
"""Most categories that are counted, the most frequent ones."""

_OURS = frozenset({"kind", "type", "status", "source"})
"""Fields of a record with words of ours."""
_IDS = frozenset({"id", "message_ids", "source_ids", "replaced_by", "superseded_by"})
"""Fields of a record that clients hand back unchanged."""
_TEXTS = frozenset({"content", "text", "title", "summary", "context", "reason", "description"})
_WORD = re.compile(r"[\w-]+")


class _Rendered(str):
    """The text of a context: the library has quoted, marked and fenced it."""

    __slots__ = ()


def rendered(context: MemoryContext) -> str:
    """The text of a context."""
    return _Rendered(context.to_prompt())


def plain(value: object) -> Any:
    """A value as JSON with every text in it quoted."""
    return _json(value, lambda text, _: str(text) if isinstance(text, _Rendered) else quoted(text))


def marked(value: object, of: Sourced, name: str = "") -> Any:
    """A value of a record as JSON, with every text in it quoted and, where the record is not trusted, marked as such."""
    return _json(value, partial(_mark, of), name)


def as_text(value: object) -> str:
    """A value as the text of an answer."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json(value: object, text: Callable[[str, str], str], name: str = "") -> Any:
    if isinstance(value, str):
        return text(value, name)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {text(key, ""): _json(item, text, name or key) for key, item in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json(item, text, name) for item in cast("Sequence[object]", value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _json({f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.repr}, text, name)
    return text(str(value), name)


def _mark(of: Sourced, text: str, name: str) -> str:
    """A text of a record under a name."""
    if name in _OURS:
        return quoted(text)
    if name in _IDS:
        return quoted_id(text, of)
    return quoted_text(text, of) if name in _TEXTS else quoted_word(text, of)


def share(count: int) -> int:
    """Characters that each of so many texts may have."""
    return max(SHORTEST, ALL_TEXT // max(count, 1))


def hit_line(hit: Hit, shown: str, scale: Scale) -> Json:
    """A hit as a line of an answer, with what is shown of its text; ``cut`` says that there is more."""
    line = _line(
        hit, hit.kind, hit.text, shown, date=hit.valid_at or hit.sent_at, type=hit.type,
        importance=None if hit.importance is None else scale(hit.importance), tags=hit.tags,
        replaced_by=hit.superseded_by,
    )  # fmt: skip
    speaker = quoted_speaker(hit)
    return {**line, "speaker": speaker} if speaker else line


def record_line(of: MemoryRecord, most: int, scale: Scale) -> Json:
    """A memory as a line of an answer, with the beginning of a longer text."""
    shown = of.content if len(of.content) <= most else f"{of.content[:most].rstrip()}\u2026"
    return _line(
        of, "memory", of.content, shown, date=of.said_at or of.created_at, type=of.type, importance=scale(of.importance),
        tags=of.tags,
    )  # fmt: skip


def whole(record: Message | Episode | MemoryRecord) -> Json:
    """A record with all its fields."""
    shown = record
    if isinstance(record, Message) and record.name:
        shown = dataclasses.replace(record, name=speaker_label(record))
    elif isinstance(record, MemoryRecord) and record.speaker:
        shown = dataclasses.replace(record, speaker=speaker_label(record))
    return marked(shown, record)


def _line(of: Hit | MemoryRecord, kind: str, text: str, shown: str, **more: object) -> Json:
    said = {name: value for name, value in more.items() if value not in (None, (), "")}
    return marked({"id": of.id, "kind": kind, "text": shown, **said, **({} if shown == text else {"cut": True})}, of)


def project_line(project: Project) -> Json:
    """Name and description of a project: files say so, whoever wrote them, and it is not the user's word."""
    files = Hit(id="", kind="memory", text="", score=0.0, source="document", trust=0.0)
    said = {"name": project.name, "description": project.description}
    return marked({name: text for name, text in said.items() if text}, files)


def counts(stats: Stats) -> Json:
    """Counts without the location, which concerns no client. A category of several words could pass for a sentence."""
    words = [(name, count) for name, count in stats.categories.items() if _WORD.fullmatch(name)]
    counted = {f.name: getattr(stats, f.name) for f in dataclasses.fields(stats) if f.name != "location"}
    return counted | {
        "categories": dict(words[:CATEGORIES]), "preferences": stats.preferences, "summaries": stats.summaries,
    }  # fmt: skip


def edge(link: Link, known: Mapping[str, MemoryRecord]) -> Json:
    """A link; its reason may quote both ends, and is no more to be trusted than either of them."""
    ends = [known[end] for end in (link.source, link.target) if end in known]
    source, target = quoted_id(link.source), quoted_id(link.target)
    values = {"source": source, "target": target, "type": link.type, "strength": link.strength}
    reason = (
        marked(link.reason, min(ends, key=lambda end: end.trust), "reason") if ends and link.reason else link.reason
    )
    return {**values, "reason": reason}
