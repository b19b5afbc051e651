"""Mapping between rows and records."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from mnemic.stores.schema import RECORDS, Table, View
from mnemic.stores.sql.connection import Connection
from mnemic.text.canonical import to_json
from mnemic.text.clock import from_micros, offset_minutes, to_micros
from mnemic.types import AddEpisode, AddMessage, Emotion, Episode, Indexing, MemoryRecord, Message

__all__ = [
    "MESSAGE", "Row", "Standing", "content_hash", "counts_by_status", "episode_from", "episode_row", "memory_from",
    "memory_row", "message_from", "message_hash", "message_row", "public_status", "record_from", "select", "version_json",
    "version_row",
]  # fmt: skip

Row = Mapping[str, Any]


MESSAGE = (
    "doc", "id", "session", "project", "role", "speaker", "content", "said_at", "utc_offset", "metadata", "source", "trust",
)  # fmt: skip
"""The columns of a message: thousands are listed at once."""


def select(
    db: Connection, table: Table | View, rest: str, values: Sequence[object] = (), *, names: Sequence[str] = ()
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


def _index_columns(indexing: Indexing) -> dict[str, Any]:
    return {
        "length": indexing.length,
        "traits": indexing.traits,
        "told": to_json(indexing.periods) if indexing.periods else None,
    }


def message_row(change: AddMessage, doc: int, user: int, created_at: int) -> dict[str, Any]:
    """The row of a message."""
    m = change.message
    assert m.sent_at is not None
    return {
        "doc": doc, "user_id": user, "id": m.id, "session": m.session, "project": change.project,
        "content": m.content, "hash": message_hash(m.content), "metadata": to_json(dict(m.metadata)),
        "source": m.source, "trust": m.trust, "utc_offset": offset_minutes(m.sent_at), "created_at": created_at,
        "kind": "message", "role": m.role, "speaker": m.name, "said_at": to_micros(m.sent_at), "status": "short_term",
        "waits": 1,
        **_index_columns(change.indexing),
    }  # fmt: skip


def message_from(row: Row) -> Message:
    """The message of a row."""
    return Message(
        role=row["role"], name=row["speaker"], content=row["content"], id=row["id"], session=row["session"],
        sent_at=from_micros(row["said_at"], row["utc_offset"]), metadata=json.loads(row["metadata"]),
        source=row["source"], trust=row["trust"],
    )  # fmt: skip


def episode_row(change: AddEpisode, doc: int, user: int) -> dict[str, Any]:
    """The row of an episode."""
    e = change.record
    return {
        "doc": doc, "user_id": user, "id": e.id, "session": e.session, "project": e.project,
        "content": e.content, "hash": content_hash(e.content), "metadata": to_json(dict(e.metadata)),
        "source": e.source, "trust": e.trust, "version": e.version, "utc_offset": offset_minutes(e.started_at),
        "created_at": to_micros(e.created_at), "kind": "episode", "title": e.title, "said_at": to_micros(e.started_at),
        "ended_at": to_micros(e.ended_at), "status": e.status, **_index_columns(change.indexing),
    }  # fmt: skip


def episode_from(row: Row, message_ids: Sequence[str] = (), source_ids: Sequence[str] = ()) -> Episode:
    """The episode of a row, with its lineage."""
    offset = row["utc_offset"]
    return Episode(
        id=row["id"], session=row["session"], project=row["project"], content=row["content"],
        metadata=json.loads(row["metadata"]), source=row["source"], trust=row["trust"], version=row["version"],
        created_at=from_micros(row["created_at"], offset), title=row["title"],
        started_at=from_micros(row["said_at"], offset), ended_at=from_micros(row["ended_at"], offset),
        status=public_status(row["status"]), message_ids=tuple(message_ids), source_ids=tuple(source_ids),
    )  # fmt: skip


def memory_row(record: MemoryRecord, doc: int, user: int, indexing: Indexing) -> dict[str, Any]:
    """The row of a memory."""
    r, e = record, record.emotion
    return {
        "doc": doc, "user_id": user, "kind": "memory", "id": r.id, "session": r.session, "project": r.project,
        "content": r.content, "hash": content_hash(r.spoken), "metadata": to_json(dict(r.metadata)),
        "source": r.source, "trust": r.trust, "version": r.version, "utc_offset": offset_minutes(r.created_at),
        "created_at": to_micros(r.created_at), "updated_at": to_micros(r.updated_at),
        "delete_after": _micros(r.delete_after), "valence": e.valence if e else None,
        "arousal": e.arousal if e else None, "emotion_confidence": e.confidence if e else None, "type": r.type,
        "category": r.category, "key": r.key, "speaker": r.speaker, "status": r.status,
        "importance": r.importance if r.pinned else r.salience, "salience": r.salience, "confidence": r.confidence,
        "pinned": int(r.pinned),
        "summary": r.summary, "context": r.context, "keywords": to_json(r.keywords), "tags": to_json(r.tags),
        "related_files": to_json(r.related_files), "related_entities": to_json(r.related_entities),
        "said_at": _micros(r.said_at), "valid_at": _micros(r.valid_at), "invalid_at": _micros(r.invalid_at),
        "expired_at": _micros(r.expired_at), **_index_columns(indexing),
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
    emotion = (
        None
        if valence is None
        else Emotion(valence=valence, arousal=row["arousal"], confidence=row["emotion_confidence"])
    )
    return MemoryRecord(
        id=row["id"], session=row["session"], project=row["project"], content=row["content"],
        metadata=json.loads(row["metadata"]), source=row["source"], trust=row["trust"], version=row["version"],
        created_at=from_micros(row["created_at"], offset), updated_at=from_micros(row["updated_at"], offset),
        delete_after=_time(row["delete_after"], offset), emotion=emotion, type=row["type"],
        category=row["category"], key=row["key"], speaker=row["speaker"], status=public_status(row["status"]),
        importance=now.importance, salience=row["salience"], confidence=row["confidence"],
        pinned=bool(row["pinned"]), summary=row["summary"], context=row["context"],
        keywords=tuple(json.loads(row["keywords"])), tags=tuple(json.loads(row["tags"])),
        related_files=tuple(json.loads(row["related_files"])),
        related_entities=tuple(json.loads(row["related_entities"])), said_at=_time(row["said_at"], offset),
        valid_at=_time(row["valid_at"], offset), invalid_at=_time(row["invalid_at"], offset),
        expired_at=_time(row["expired_at"], offset), source_ids=tuple(source_ids), access_count=now.accesses,
        last_accessed_at=_time(now.last_at or None, offset), superseded_by=now.superseded_by,
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
