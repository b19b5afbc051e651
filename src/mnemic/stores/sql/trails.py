"""What two devices know of one record: its audit trail, the texts it had, and what else is compared.

Every device only appends to the trail of a record, so the trail is its causal history: a device that has all events of another
one has seen all that it did. Each event that wrote a text names that text by its time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mnemic.stores.schema import RECORDS
from mnemic.stores.sql import rows
from mnemic.text.values import LATEST, to_json
from mnemic.types import Kind
from mnemic.types.literals import TRANSITIONS

CREATING, WRITING = ("add", "remember", "episode"), ("add", "remember", "episode", "update", "enrich")
"""Operations that create a record, and all that write a text of it; an episode is always written whole."""
UNCHANGED = "unchanged"
"""In the detail of an update: the text is as it was."""
UNWATCHED = "('embed', 'erase')"
"""Operations of a device alone, which are no part of a trail."""


class TrailEvent(NamedTuple):
    """An event of a record: its time (microseconds since 1970), what was done, and the detail as JSON."""

    at: int
    operation: str
    detail: str

    @property
    def about(self) -> dict[str, Any]:
        """The detail."""
        return json.loads(self.detail)

    @property
    def writes(self) -> bool:
        """Whether it wrote a version."""
        return self.operation in WRITING

    @property
    def describes(self) -> bool:
        """Whether it wrote other fields than the text."""
        return self.operation == "enrich" or (self.operation == "update" and self.about.get("text") == UNCHANGED)


Emotions = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordState:
    """One record as a device knows it. References to other records are ids.

    Attributes:
        id: its id; ``kind``, ``project`` and ``session`` never change.
        trail: its events in order.
        texts: the text columns as JSON by the time of the event that wrote them; in an outline the version and the hash.
        tier: ``short_term`` or ``long_term``, also while it is archived.
        hash: of the current text, in hexadecimal; ``key`` and ``since`` are its key and the start of its validity.
        created_at, expired_at, invalid_at, delete_after: microseconds since 1970.
        trust: 0 to 1.
        emotion: of a message, which has no event.
        waits: whether a message is still to be processed; ``episode`` is that it belongs to.
        parents: the records it was made from.
        uses: their number, and the time of the last one.
        tasks: pending enrichment.
    """

    id: str
    kind: Kind
    project: str | None
    session: str | None
    trail: tuple[TrailEvent, ...]
    texts: tuple[tuple[int, str], ...]
    tier: str
    hash: str
    key: str | None
    since: int
    created_at: int
    expired_at: int | None
    invalid_at: int | None
    delete_after: int | None
    trust: float
    emotion: Emotions
    waits: int | None
    episode: str | None
    parents: frozenset[str]
    uses: tuple[int, int]
    tasks: frozenset[str]

    @property
    def began(self) -> int:
        """The time of its first event."""
        return self.trail[0].at

    @property
    def standing(self) -> str:
        """``live``, ``archived`` or ``quarantined``, by the last event that archived it or brought it back."""
        last = next((event for event in reversed(self.trail) if event.operation in TRANSITIONS), None)
        if last is None or last.operation in ("restore", "undo"):
            return "live"
        return "quarantined" if last.about.get("quarantine") else "archived"

    @property
    def holds(self) -> bool:
        """Whether it is a live memory that is believed."""
        return self.kind == "memory" and self.expired_at is None and self.standing == "live"

    @property
    def until(self) -> int:
        """The end of its validity (microseconds since 1970), ``LATEST`` for none."""
        return min(self.invalid_at or LATEST, self.delete_after or LATEST)


_SHARED = (
    "doc", "user_id", "id", "kind", "project", "session", "hash", "status", "tier_before", "version", "created_at", "trust",
    "expired_at", "invalid_at", "episode", "waits",
)  # fmt: skip
_FELT = ("valence", "arousal", "emotion_confidence")


def text_columns(kind: str) -> tuple[str, ...]:
    """The columns that are written with a text. The emotion of a message is estimated later."""
    return tuple(name for name in RECORDS.names if name not in _SHARED and (kind == "memory" or name not in _FELT))


def text_of(row: rows.Row, kind: str) -> str:
    """The text columns of a row as JSON: equal texts are equal JSON."""
    return to_json({name: row[name] for name in text_columns(kind) if row[name] is not None})


def content_and_title(text: str) -> tuple[str, str | None]:
    """The content and the title of a text."""
    fields = json.loads(text)
    return fields["content"], fields.get("title")


def current(text: str, kind: str, created_at: int) -> dict[str, Any]:
    """The fields of a state that follow from its current text."""
    fields = json.loads(text)
    content = fields["content"]
    spoken = f"{fields['speaker']}: {content}" if kind == "memory" and fields.get("speaker") else content
    digest = rows.message_hash(content) if kind == "message" else rows.content_hash(spoken)
    since = fields.get("valid_at", fields.get("said_at", created_at))
    return {"hash": digest.hex(), "key": fields.get("key"), "since": since, "delete_after": fields.get("delete_after")}


class Versions(NamedTuple):
    """The texts of a record, oldest first, and the number of the version that each event wrote, by its time."""

    texts: Sequence[str]
    numbers: Mapping[int, int]


def versions(trail: Sequence[TrailEvent], texts: Mapping[int, str]) -> Versions:
    """The versions of a record.

    A correction outranks the text it was made from, whatever was read from the same messages later on another device; an
    enrichment, and an update of other fields, stands with the statement that it describes. What two devices read alike is one
    version.
    """
    operations, stated = _operations(trail), statements(trail, texts)
    ordered, numbers = list[str](), dict[int, int]()
    ranks = {time: (stated[time], operations[time] not in CREATING, time) for time in texts}
    for time in sorted(ranks, key=ranks.__getitem__):
        text = content_and_title(texts[time])
        if operations[time] in CREATING and ordered and content_and_title(ordered[-1]) == text:
            ordered.pop()
        ordered.append(texts[time])
        numbers[time] = len(ordered)
    return Versions(ordered, numbers)


def statements(trail: Sequence[TrailEvent], texts: Mapping[int, str]) -> dict[int, int]:
    """By the time of each text that of the statement that it makes or describes; 0 for that of the creation."""
    operations = _operations(trail)
    return {time: _statement(time, operations, texts) for time in texts}


def _operations(trail: Sequence[TrailEvent]) -> dict[int, str]:
    """The operations that wrote a text, by time; an update of other fields is an enrichment."""
    return {event.at: "enrich" if event.describes else event.operation for event in trail if event.writes}


def _statement(time: int, operations: Mapping[int, str], texts: Mapping[int, str]) -> int:
    """The time of the statement that a text makes or describes; 0 for that of the creation."""
    if operations[time] != "enrich":
        return time if operations[time] == "update" else 0
    statement = content_and_title(texts[time])
    corrections = (other for other in texts if other < time and operations[other] == "update")
    return max((other for other in corrections if content_and_title(texts[other]) == statement), default=0)


def event_versions(trail: Sequence[TrailEvent], numbers: Mapping[int, int]) -> list[int]:
    """The version that each event of a trail belongs to."""
    versions, version = list[int](), 1
    for event in trail:
        version = max(version, numbers.get(event.at, 0)) if event.writes else version
        versions.append(numbers[event.at] if event.writes else version)
    return versions
