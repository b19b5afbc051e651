"""Records as other Chroma tools read them: the text as document, flat metadata."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from mnemic.protocols import Entry
from mnemic.text.canonical import to_json
from mnemic.types import Emotion, Episode, MemoryRecord, Message

__all__ = ["Metadata", "document_of", "metadata_of"]

Metadata = dict[str, str | int | float | bool | None]


def document_of(entry: Entry) -> str:
    """The text of a record as it was written."""
    return entry.stored.value.content


def metadata_of(entry: Entry) -> Metadata:
    """What is known of a record, as flat values; what is not known is None, which Chroma takes as: no such key.

    ``user`` is the number of the user in the record: names stay there.
    """
    record = entry.stored.value
    values: dict[str, Any] = {
        "id": record.id,
        "user": entry.user,
        "kind": entry.stored.kind,
        "status": entry.stored.status,
        "session": record.session,
        "project": entry.stored.project,
        "source": record.source,
        "trust": record.trust,
        "metadata_json": to_json(record.metadata),
    }
    match record:
        case Message():
            values |= {"role": record.role, "name": record.name, "created_at": _moment(record.sent_at)}
        case Episode():
            values |= {"summary": record.title, "created_at": _moment(record.started_at), "version": record.version}
        case MemoryRecord():
            values |= _of_memory(record)
    return values


def _of_memory(record: MemoryRecord) -> dict[str, Any]:
    return {
        "summary": record.summary,
        "memory_type": record.type,
        "category": record.category,
        "importance_score": record.importance,
        "tags": json.dumps(record.tags, ensure_ascii=False),
        "keywords": json.dumps(record.keywords, ensure_ascii=False),
        "emotional_context": None if record.emotion is None else _feeling(record.emotion),
        "created_at": _moment(record.created_at),
        "expired_at": _moment(record.expired_at),
        "version": record.version,
    }


def _feeling(emotion: Emotion) -> str:
    return to_json({"valence": emotion.valence, "arousal": emotion.arousal, "confidence": emotion.confidence})


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
