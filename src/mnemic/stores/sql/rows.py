"""Mapping between rows and records."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from mnemic.stores.schema import RECORDS, Table
from mnemic.stores.sql.connection import Connection
from mnemic.text.values import from_micros, offset_minutes, to_json, to_micros
from mnemic.types import AddEpisode, AddMessage, Emotion, Episode, Indexing, Kind, MemoryRecord, Message

Row = Mapping[str, Any]


MESSAGE = (
    "doc", "id", "session", "project", "role", "speaker", "content", "said_at", "utc_offset", "metadata", "source", "trust",
)  # fmt: skip
"""The columns of a message: thousands are listed at once."""


def select(
    db: Connection, table: Table, rest: str, values: Sequence[object] = (), *, names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Rows of a table or view as dicts; ``rest`` is the SQL after FROM, ``names`` selects columns (default: all)."""
    names = names or table.names
    sql = f"SELECT {', '.join(names)} FROM {table.name} {rest}"
    return [dict(zip(names, row, strict=True)) for row in db.execute(sql, values)]


def content_hash(content: str) -> bytes:
    """Hash of a statement, after normalising white space and Unicode composition."""
    canonical = " ".join(unicodedata.normalize("NFC", content).split())
    return hashlib.blake2b(canonical.encode(), digest_size=16).digest()


def message_hash(content: str) -> bytes:
    """Hash of a message, byte for byte."""
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _micros(value: datetime | None) -> int | None:
    return None if value is None else to_micros(value)


def _time(value: int | None, offset: int) -> datetime | None:
    return None if value is None else from_micros(value, offset)


def version_json(row: Row) -> str:
    """A row as JSON for ``versions``."""
    return to_json({name: value for name, value in row.items() if value is not None and name != "hash"})


def version_row(text: str) -> Row:
    """The row stored in ``versions``."""
    return dict.fromkeys(RECORDS.names) | json.loads(text)


def public_status(status: str) -> Any:
    """The status in the public API, where quarantined records are archived."""
    return "archived" if status == "quarantined" else status


def counts_by_status(found: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts by public status."""
    counts: Counter[str] = Counter()
    for status, count in found:
        counts[public_status(status)] += count
    return dict(counts)


_PLAIN = ("project", "version", "type", "category", "key", "speaker", "salience", "confidence", "summary", "context")
_TIMES = ("created_at", "updated_at", "delete_after", "said_at", "valid_at", "invalid_at", "expired_at")
_LISTS = ("keywords", "tags", "related_files", "related_entities")
"""The fields of a memory that are columns of the same name: as they are, as microseconds since 1970, as JSON."""


def _shared_columns(
    record: Message | Episode | MemoryRecord, kind: Kind, doc: int, user: int, moment: datetime, indexing: Indexing
) -> dict[str, Any]:
    """The columns that are filled alike for every kind; ``moment`` gives the time zone."""
    return {
        "doc": doc, "user_id": user, "kind": kind, "id": record.id, "session": record.session, "content": record.content,
        "metadata": to_json(dict(record.metadata)), "source": record.source, "trust": record.trust,
        "utc_offset": offset_minutes(moment), "length": indexing.length, "traits": indexing.traits,
        "told": to_json(indexing.periods) if indexing.periods else None,
    }  # fmt: skip


def _text(row: Row, column: str) -> str:
    """The text of a column.

    Raises:
        TypeError: the file is damaged; SQLite keeps any type in any column.
    """
    if not isinstance(row[column], str):
        raise TypeError(f"{column} is {type(row[column]).__name__}, not text")
    return row[column]


def _shared_fields(row: Row) -> dict[str, Any]:
    """The fields that are read alike for every kind."""
    return {
        "id": row["id"], "session": row["session"], "content": _text(row, "content"), "metadata": json.loads(row["metadata"]),
        "source": row["source"], "trust": row["trust"],
    }  # fmt: skip


def message_row(change: AddMessage, doc: int, user: int, created_at: int) -> dict[str, Any]:
    """The row of a message."""
    m = change.message
    assert m.sent_at is not None
    return _shared_columns(m, "message", doc, user, m.sent_at, change.indexing) | {
        "project": change.project, "hash": message_hash(m.content), "created_at": created_at, "role": m.role,
        "speaker": m.name, "said_at": to_micros(m.sent_at), "status": "short_term", "waits": 1,
    }  # fmt: skip


def message_from(row: Row) -> Message:
    """The message of a row."""
    sent_at = from_micros(row["said_at"], row["utc_offset"])
    return Message(role=_text(row, "role"), name=row["speaker"], sent_at=sent_at, **_shared_fields(row))


def episode_row(change: AddEpisode, doc: int, user: int) -> dict[str, Any]:
    """The row of an episode."""
    e = change.record
    return _shared_columns(e, "episode", doc, user, e.started_at, change.indexing) | {
        "project": e.project, "hash": content_hash(e.content), "version": e.version, "status": e.status, "title": e.title,
        "created_at": to_micros(e.created_at), "said_at": to_micros(e.started_at), "ended_at": to_micros(e.ended_at),
    }  # fmt: skip


def episode_from(row: Row, message_ids: Sequence[str] = (), source_ids: Sequence[str] = ()) -> Episode:
    """The episode of a row, with its lineage."""
    offset = row["utc_offset"]
    return Episode(
        project=row["project"], version=row["version"], created_at=from_micros(row["created_at"], offset),
        title=row["title"], started_at=from_micros(row["said_at"], offset), status=public_status(row["status"]),
        ended_at=from_micros(row["ended_at"], offset), message_ids=tuple(message_ids), source_ids=tuple(source_ids),
        **_shared_fields(row),
    )  # fmt: skip


def memory_row(record: MemoryRecord, doc: int, user: int, indexing: Indexing) -> dict[str, Any]:
    """The row of a memory."""
    e = record.emotion
    return {
        **_shared_columns(record, "memory", doc, user, record.created_at, indexing),
        **{name: getattr(record, name) for name in _PLAIN},
        **{name: _micros(getattr(record, name)) for name in _TIMES},
        **{name: to_json(getattr(record, name)) for name in _LISTS},
        "hash": content_hash(record.spoken), "status": record.status, "pinned": int(record.pinned),
        "importance": record.importance if record.pinned else record.salience, "valence": e.valence if e else None,
        "arousal": e.arousal if e else None, "emotion_confidence": e.confidence if e else None,
    }  # fmt: skip


class Standing(NamedTuple):
    """What a memory is worth now: its uses, the time of the last one, its importance, and what superseded it.

    ``last_at`` is in microseconds since 1970, 0 for never.
    """

    accesses: int
    last_at: int
    importance: float
    superseded_by: tuple[str, ...]


def memory_from(row: Row, source_ids: Sequence[str] = (), standing: Standing | None = None) -> MemoryRecord:
    """The memory of a row, with its lineage and its standing; without one it is as it was when it was stored."""
    offset, valence = row["utc_offset"], row["valence"]
    now = standing or Standing(0, 0, row["importance"], ())
    emotion = None
    if valence is not None:
        emotion = Emotion(valence=valence, arousal=row["arousal"], confidence=row["emotion_confidence"])
    fields = {name: row[name] for name in _PLAIN}
    fields |= {name: _time(row[name], offset) for name in _TIMES}
    fields |= {name: tuple(json.loads(row[name])) for name in _LISTS}
    return MemoryRecord(
        status=public_status(row["status"]), pinned=bool(row["pinned"]), emotion=emotion, source_ids=tuple(source_ids),
        importance=now.importance, access_count=now.accesses, last_accessed_at=_time(now.last_at or None, offset),
        superseded_by=now.superseded_by, **_shared_fields(row), **fields,
    )  # fmt: skip


def record_from(
    row: Row, sources: Sequence[tuple[str, str]] = (), standing: Standing | None = None
) -> Message | Episode | MemoryRecord:
    """The record of a row; ``sources`` is its lineage, as kinds and ids."""
    if row["kind"] == "message":
        return message_from(row)
    if row["kind"] == "memory":
        return memory_from(row, [id_ for _, id_ in sources], standing)
    messages = [id_ for kind, id_ in sources if kind == "message"]
    return episode_from(row, messages, [id_ for kind, id_ in sources if kind == "episode"])
