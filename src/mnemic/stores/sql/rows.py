"""Mapping between rows and records or arrays, and the importance of a memory: what it is worth now, worked out on reading.

Importance comes from salience, use and emotion: ``kept = salience x (1 - .3 x (1 - recency))`` and
``total = kept + (1 - kept) x (.5 x frequency + .2 x arousal)``. Disuse takes at most three tenths of the salience, use and
emotion add at most seven tenths of the distance to 1. Recency is halved by every 30 days since the last use, in whole
days, so that repeated reading gives the same number. A pinned importance is the number that was given.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.stores.schema import RECORDS, Table
from mnemic.stores.sql.connection import Connection, Cursor
from mnemic.text.values import from_micros, offset_minutes, to_json, to_micros
from mnemic.types import (
    AddEpisode,
    AddMessage,
    CatalogRows,
    CatalogVectors,
    Coded,
    Emotion,
    Episode,
    Indexing,
    Kind,
    MemoryRecord,
    Message,
    Record,
)
from mnemic.vectors import unpacked

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


def group_values(pairs: Iterable[tuple[Any, ...]]) -> dict[Any, list[Any]]:
    """Values by key, from pairs of key and value."""
    values: dict[Any, list[Any]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def content_hash(content: str) -> bytes:
    """Hash of a statement in canonical form."""
    return hashlib.blake2b(canonical(content).encode(), digest_size=16).digest()


def canonical(content: str) -> str:
    """A statement with normal white space and composed characters: two that are equal so are one."""
    return " ".join(unicodedata.normalize("NFC", content).split())


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


def tier_of(row: Row) -> Literal["short_term", "long_term"]:
    """The tier of a record; an archived one keeps the tier it had."""
    tier = row["tier_before"] if public_status(row["status"]) == "archived" else row["status"]
    return "long_term" if tier == "long_term" else "short_term"


def counts_by_status(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts by public status."""
    totals: Counter[str] = Counter()
    for status, count in counts:
        totals[public_status(status)] += count
    return dict(totals)


_PLAIN = ("project", "version", "type", "category", "key", "speaker", "salience", "confidence", "summary", "context")
_TIMES = ("created_at", "updated_at", "delete_after", "said_at", "valid_at", "invalid_at", "expired_at")
_LISTS = ("keywords", "tags", "related_files", "related_entities")
"""The fields of a memory that are columns of the same name: as they are, as microseconds since 1970, as JSON."""


def _shared_columns(
    record: Record, kind: Kind, doc: int, user_id: int, moment: datetime, indexing: Indexing
) -> dict[str, Any]:
    """The columns that are filled alike for every kind; ``moment`` gives the time zone."""
    return {
        "doc": doc, "user_id": user_id, "kind": kind, "id": record.id, "session": record.session, "content": record.content,
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


def message_row(change: AddMessage, doc: int, user_id: int, created_at: int) -> dict[str, Any]:
    """The row of a message."""
    m = change.message
    assert m.sent_at is not None
    return _shared_columns(m, "message", doc, user_id, m.sent_at, change.indexing) | {
        "project": change.project, "hash": message_hash(m.content), "created_at": created_at, "role": m.role,
        "speaker": m.name, "said_at": to_micros(m.sent_at), "status": "short_term", "waits": 1,
    }  # fmt: skip


def message_from(row: Row) -> Message:
    """The message of a row."""
    sent_at = from_micros(row["said_at"], row["utc_offset"])
    return Message(role=_text(row, "role"), name=row["speaker"], sent_at=sent_at, **_shared_fields(row))


def episode_row(change: AddEpisode, doc: int, user_id: int) -> dict[str, Any]:
    """The row of an episode."""
    e = change.record
    return _shared_columns(e, "episode", doc, user_id, e.started_at, change.indexing) | {
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


def memory_row(record: MemoryRecord, doc: int, user_id: int, indexing: Indexing) -> dict[str, Any]:
    """The row of a memory."""
    e = record.emotion
    return {
        **_shared_columns(record, "memory", doc, user_id, record.valid_at or record.said_at or record.created_at, indexing),
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


def record_from(row: Row, sources: Sequence[tuple[str, str]] = (), standing: Standing | None = None) -> Record:
    """The record of a row; ``sources`` is its lineage, as kinds and ids."""
    if row["kind"] == "message":
        return message_from(row)
    if row["kind"] == "memory":
        return memory_from(row, [id_ for _, id_ in sources], standing)
    messages = [id_ for kind, id_ in sources if kind == "message"]
    return episode_from(row, messages, [id_ for kind, id_ in sources if kind == "episode"])


# Importance

HALF_LIFE_DAYS = 30
"""Days without use in which recency is halved."""
DECAY_SHARE = 0.3
"""Share of the salience that decays with disuse."""
FREQUENCY_SHARE, AROUSAL_SHARE = 0.5, 0.2
"""Most that frequent use and strong emotion add, as a share of the distance to 1."""
MOST_BOOST = FREQUENCY_SHARE + AROUSAL_SHARE
SATURATION = 50
"""Uses that count as frequency 1, on a logarithmic scale."""
DAY = 86_400_000_000
"""In microseconds."""
MAX_DAYS = 10_000
"""Longer disuse makes no difference."""
UNUSED = 2**62
"""The last use of a record that does not decay."""

_RATE = math.log(2) / HALF_LIFE_DAYS
USED = "(SELECT doc AS used_doc, count AS uses, last_at FROM access)"
"""To be joined to memories or records: the uses that the next expressions read, NULL for none."""
SALIENCE = "CASE WHEN pinned = 1 THEN importance ELSE salience END"
"""The worth without decay and boost, NULL for what is no memory."""
LAST_USE = f"""CASE WHEN pinned = 0 THEN CASE WHEN last_at > created_at THEN last_at ELSE created_at END
    ELSE {UNUSED} END"""
"""The last use, or creation, in microseconds since 1970."""
BOOST = f"""CASE WHEN pinned = 0 THEN
    {FREQUENCY_SHARE} * CASE WHEN uses >= {SATURATION} THEN 1
        WHEN uses > 0 THEN ln(CAST(1 + uses AS DOUBLE PRECISION)) / {math.log1p(SATURATION)} ELSE 0 END
    + {AROUSAL_SHARE} * CASE WHEN arousal > 0 THEN arousal * emotion_confidence ELSE 0 END ELSE 0 END"""
"""The share of the distance to 1 that use and emotion add."""
_SQL = f"""(SELECT kept + (1 - kept) * boost FROM
    (SELECT worth * (1 - {DECAY_SHARE} * (1 - exp(-CAST({_RATE} AS DOUBLE PRECISION) *
            CASE WHEN moment <= last_use THEN 0 WHEN moment - last_use > {MAX_DAYS * DAY} THEN {MAX_DAYS}
            ELSE (moment - last_use) / {DAY} END))) AS kept, boost
        FROM (SELECT {SALIENCE} AS worth, {LAST_USE} AS last_use, {BOOST} AS boost, CAST({{now}} AS BIGINT) AS moment
            FROM (SELECT max(count) AS uses, max(last_at) AS last_at FROM access WHERE access.doc = {{table}}.doc)
                AS used) AS parts) AS total)"""


def importance_sql(table: str, now: str = "?") -> str:
    """The expression for the current importance of a row, NULL for what is no memory.

    Args:
        table: name or alias of ``records`` or ``memories`` in the query.
        now: the parameter to which the time is bound, in microseconds since 1970.
    """
    return _SQL.format(table=table, now=now)


def importances(
    salience: NDArray[np.floating], boost: NDArray[np.floating], last_use: NDArray[np.int64], now: int
) -> NDArray[np.float64]:
    """The current importance of records from columns of ``SALIENCE``, ``BOOST`` and ``LAST_USE``.

    Args:
        salience: (n,) 0 to 1.
        boost: (n,) 0 to .7.
        last_use: (n,) microseconds since 1970; later than ``now`` counts as now.
        now: likewise.

    Returns:
        (n,) 0 to 1.
    """
    days = np.clip((now - last_use) // DAY, 0, MAX_DAYS)
    retained = salience.astype(np.float64) * (1 - DECAY_SHARE * (1 - np.exp(-_RATE * days)))
    return retained + (1 - retained) * boost


# Arrays of rows, for searching

PAGE = 500
"""Rows per page; a page fits in the processor cache."""

_NUMBERS: dict[str, Any] = {
    "doc": np.int64, "time": np.int64, "length": np.float32, "traits": np.int32,
    "salience": np.float32, "boost": np.float32, "last_use": np.int64, "moment": np.int64, "offset": np.int64,
}  # fmt: skip
CATALOG = {
    "doc": "doc", "kind": "kind", "status": "status",
    "session": "session", "project": "project", "time": "coalesce(said_at, created_at)",
    "label": "CASE kind WHEN 'message' THEN role WHEN 'episode' THEN 'episode' ELSE type END", "speaker": "speaker",
    "length": "length", "traits": "traits",
    "salience": f"coalesce({SALIENCE}, 0.5)", "boost": BOOST, "last_use": LAST_USE,
    "moment": "coalesce(valid_at, said_at, created_at)", "offset": "utc_offset",
}  # fmt: skip
"""The columns of the catalog and the expressions that select them."""


def catalog_columns(cursors: Iterable[Cursor]) -> CatalogRows | None:
    """Catalog rows, ascending by doc; None if there are none. The queries select ``CATALOG`` and ``told``."""
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in CATALOG}
    codes: dict[str, dict[str | None, int]] = {name: {} for name in CATALOG if name not in _NUMBERS}
    periods: dict[int, str] = {}
    for page in _pages(cursors):
        *values, mentioned = zip(*page, strict=True)
        for name, column in zip(columns, values, strict=True):
            if (code := codes.get(name)) is not None:
                for word in dict.fromkeys(column):
                    code.setdefault(word, len(code))
                column = list(map(code.__getitem__, column))  # noqa: PLW2901 - values become codes
            columns[name].append(np.array(column, _NUMBERS.get(name, np.int32)))
        if any(mentioned):
            periods.update((doc, text) for doc, text in zip(values[0], mentioned, strict=True) if text)
    if not columns["doc"]:
        return None
    whole = {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in columns.items()}
    if (whole["doc"][1:] < whole["doc"][:-1]).any():
        order = np.argsort(whole["doc"], kind="stable")
        whole = {name: column[order] for name, column in whole.items()}
    coded: dict[str, Any] = {name: Coded(tuple(code), whole.pop(name)) for name, code in codes.items()}
    return CatalogRows(**whole, **coded, periods=periods)


def vector_matrix(cursors: Iterable[Cursor], most: int) -> CatalogVectors | None:
    """Vectors selected as (doc, float16 bytes), ascending by doc; None if there are none. ``unpacked`` handles invalid ones.

    Args:
        cursors: the query results.
        most: the expected maximum number of vectors.

    Raises:
        ValueError: the vectors differ in length.
    """
    docs, values, size = np.empty(most, np.int64), np.empty((0, 0), np.float32), 0
    for page in _pages(cursors):
        numbers, blobs = zip(*page, strict=True)
        vectors = unpacked(b"".join(blobs), len(blobs))
        end = size + len(page)
        if not size:
            values = np.empty((max(most, end), vectors.shape[1]), np.float32)
        if end > len(docs) or end > len(values):
            docs = np.resize(docs, max(end, 2 * size))
            values = np.concatenate([values[:size], np.empty((len(docs) - size, values.shape[1]), np.float32)])
        docs[size:end], values[size:end] = numbers, vectors
        size = end
    if not size:
        return None
    docs, values = docs[:size], values[:size]
    if (docs[1:] < docs[:-1]).any():
        order = np.argsort(docs, kind="stable")
        docs, values = docs[order], values[order]
    return CatalogVectors(docs, values)


def _pages(cursors: Iterable[Cursor]) -> Iterator[list[tuple[Any, ...]]]:
    for cursor in cursors:
        iterator = iter(cursor)
        while page := list(islice(iterator, PAGE)):
            yield page
