"""Rows to values and back. The order of the columns is stated here once."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from mnemic.text.canonical import to_json
from mnemic.text.clock import from_micros, offset_minutes, to_micros
from mnemic.types import AddEpisode, AddMessage, Emotion, Episode, Indexing, MemoryRecord, Message

__all__ = [
    "EPISODE_COLUMNS",
    "MEMORY_COLUMNS",
    "MESSAGE_COLUMNS",
    "content_hash",
    "episode_from",
    "episode_row",
    "memory_from",
    "memory_row",
    "message_from",
    "message_row",
]

MESSAGE_COLUMNS = (
    "doc, user, id, session, project, content, hash, length, metadata, source, trust, utc_offset, created_at, role, "
    "name, sent_at, status, traits, told"
)
EPISODE_COLUMNS = (
    "doc, user, id, session, project, content, hash, length, metadata, source, trust, version, utc_offset, created_at, "
    "title, started_at, ended_at, status, traits, told"
)
MEMORY_COLUMNS = (
    "doc, user, id, session, project, content, hash, length, metadata, source, trust, version, utc_offset, created_at, "
    "delete_after, valence, arousal, emotion_confidence, type, category, status, importance, confidence, pinned, "
    "summary, context, keywords, tags, related_files, related_entities, valid_at, invalid_at, expired_at, updated_at, "
    "traits, told, said_at, salience, speaker, key"
)


def content_hash(content: str) -> bytes:
    """Identity of a statement: white space and Unicode composition do not count, everything else does."""
    canonical = " ".join(unicodedata.normalize("NFC", content).split())
    return hashlib.blake2b(canonical.encode(), digest_size=16).digest()


def message_hash(content: str) -> bytes:
    """Identity of a verbatim message: every byte counts."""
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _micros(value: datetime | None) -> int | None:
    return None if value is None else to_micros(value)


def _time(value: int | None, offset: int) -> datetime | None:
    return None if value is None else from_micros(value, offset)


def _told(indexing: Indexing) -> str | None:
    return to_json(indexing.told) if indexing.told else None


def message_row(change: AddMessage, doc: int, user: int, created_at: int) -> tuple[object, ...]:
    """The values of MESSAGE_COLUMNS."""
    m = change.message
    assert m.sent_at is not None
    return (
        doc, user, m.id, m.session, change.project, m.content, message_hash(m.content), change.indexing.length,
        to_json(dict(m.metadata)), m.source, m.trust, offset_minutes(m.sent_at), created_at, m.role, m.name,
        to_micros(m.sent_at), "short_term", change.indexing.traits, _told(change.indexing),
    )  # fmt: skip


def message_from(row: Sequence[Any]) -> Message:
    """A message from the values of MESSAGE_COLUMNS."""
    return Message(
        role=row[13], name=row[14], content=row[5], sent_at=from_micros(row[15], row[11]), id=row[2], session=row[3],
        metadata=cast("Mapping[str, Any]", json.loads(row[8])), source=row[9], trust=row[10],
    )  # fmt: skip


def episode_row(change: AddEpisode, doc: int, user: int) -> tuple[object, ...]:
    """The values of EPISODE_COLUMNS."""
    e = change.record
    return (
        doc, user, e.id, e.session, e.project, e.content, content_hash(e.content), change.indexing.length,
        to_json(dict(e.metadata)), e.source, e.trust, e.version, offset_minutes(e.started_at), to_micros(e.created_at),
        e.title, to_micros(e.started_at), to_micros(e.ended_at), e.status, change.indexing.traits,
        _told(change.indexing),
    )  # fmt: skip


def episode_from(row: Sequence[Any], message_ids: Sequence[str] = (), source_ids: Sequence[str] = ()) -> Episode:
    """An episode from the values of EPISODE_COLUMNS and its lineage."""
    offset = row[12]
    return Episode(
        id=row[2], session=row[3], project=row[4], content=row[5], metadata=json.loads(row[8]), source=row[9],
        trust=row[10], version=row[11], created_at=from_micros(row[13], offset), title=row[14],
        started_at=from_micros(row[15], offset), ended_at=from_micros(row[16], offset), status=row[17],
        message_ids=tuple(message_ids), source_ids=tuple(source_ids),
    )  # fmt: skip


def memory_row(record: MemoryRecord, doc: int, user: int, indexing: Indexing) -> tuple[object, ...]:
    """The values of MEMORY_COLUMNS."""
    r, e = record, record.emotion
    return (
        doc, user, r.id, r.session, r.project, r.content, content_hash(r.spoken), indexing.length,
        to_json(dict(r.metadata)), r.source, r.trust, r.version, offset_minutes(r.created_at),
        to_micros(r.created_at), _micros(r.delete_after), e.valence if e else None, e.arousal if e else None,
        e.confidence if e else None, r.type, r.category, r.status, r.importance, r.confidence, int(r.pinned),
        r.summary, r.context, to_json(r.keywords), to_json(r.tags), to_json(r.related_files),
        to_json(r.related_entities), _micros(r.valid_at), _micros(r.invalid_at), _micros(r.expired_at),
        to_micros(r.updated_at), indexing.traits, _told(indexing), _micros(r.said_at), r.salience, r.speaker, r.key,
    )  # fmt: skip


def memory_from(row: Sequence[Any], source_ids: Sequence[str] = ()) -> MemoryRecord:
    """A memory from the values of MEMORY_COLUMNS and its lineage."""
    offset = row[12]
    created, updated = from_micros(row[13], offset), from_micros(row[33], offset)
    emotion = None if row[15] is None else Emotion(valence=row[15], arousal=row[16], confidence=row[17])
    return MemoryRecord(
        id=row[2], session=row[3], project=row[4], content=row[5], metadata=json.loads(row[8]), source=row[9],
        trust=row[10], version=row[11], created_at=created, updated_at=updated, delete_after=_time(row[14], offset),
        emotion=emotion, type=row[18], category=row[19], status=row[20], importance=row[21], confidence=row[22],
        pinned=bool(row[23]), summary=row[24], context=row[25], keywords=tuple(json.loads(row[26])),
        tags=tuple(json.loads(row[27])), related_files=tuple(json.loads(row[28])),
        related_entities=tuple(json.loads(row[29])), valid_at=_time(row[30], offset), invalid_at=_time(row[31],
        offset), expired_at=_time(row[32], offset), said_at=_time(row[36], offset), salience=row[37],
        speaker=row[38], key=row[39], source_ids=tuple(source_ids),
    )  # fmt: skip
