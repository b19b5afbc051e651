"""The collections of a record in Chroma, ``short_term_memory`` and ``long_term_memory``: contents, search, comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from mnemic.indexes.vector.chroma.connection import translated_errors
from mnemic.protocols import Entry, Model, Page, Position, RecordFeed
from mnemic.text.values import to_json
from mnemic.types import Episode, MemoryRecord, Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Metadata: TypeAlias = dict[str, str | int | float | bool | None]

TIERS = {"short_term": "short_term_memory", "long_term": "long_term_memory"}
COSINE: dict[str, Any] = {"hnsw": {"space": "cosine"}}
PAGE = 500
"""Entries per page."""
ROUNDING = 2e-3
"""Tolerance between a component of a unit vector in Chroma and in the record, which is rounded to float16."""
SPARE = 1.2
"""Factor on k when results of other users are discarded: the share of a user varies locally."""
RESULT_COST = 10
"""The cost of one more result, in rows scanned by a metadata filter (measured at 100,000 rows)."""
ATTEMPTS = 3
"""How often an unreachable entry is written again; once was enough in 32 of 32 cases."""
SUMMARY = 200
"""Most characters of the summary of a memory that has none: the beginning of its content."""
SAMPLE = 100
"""Entries that ``differences`` searches by their own vector; in a large record one per page."""
MISSED, FEW = 0.05, 2
"""Share, or number, of the sample that an approximate search may miss; more means a damaged graph."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collections:
    """The collections of a record at one position. One thread writes; any may search.

    Attributes:
        tiers: chromadb's collections by tier.
        position: their position in the feed.
        sizes: the number of vectors by user in the record; counted once the collections hold the whole record.
    """

    tiers: Mapping[str, Any]
    position: Position
    sizes: Mapping[int, int]

    @property
    def complete(self) -> bool:
        """Whether they hold the whole record up to their mark."""
        return self.position.filled is None

    def write(self, feed: RecordFeed, page: Page) -> Collections:
        """Write a page, then its position; returns the collections at it.

        An entry is written to the collection of its tier, then deleted from the other one.
        """
        for tier, collection in self.tiers.items():
            _put(collection, [entry for entry in page.entries if entry.tier == tier])
        for tier, collection in self.tiers.items():
            moved = [e.doc for e in page.entries if e.tier != tier and e.stored.kind == "memory"]
            _delete(collection, [*moved, *page.removed])
        self.tiers["short_term"].modify(metadata=_position_metadata(feed, page.position))
        return _collections_at(self.tiers, feed, page.position)

    def nearest(self, user: int, query: NDArray[np.float32], k: int, most: int) -> list[int]:
        """The docs nearest to a unit vector, best first; docs of other users may be among them.

        Chroma has no index on metadata: a filter scans every row, and is slowest if most rows match. For a user with a large
        share of the rows it is faster to request more results and discard those of others.

        Args:
            user: the number of a user.
            query: shape (dimension,).
            k: the minimum number of results, if there are as many.
            most: the maximum number of results that Chroma returns.

        Raises:
            ChromaUnavailable: the search failed.
        """
        rows = sum(self.sizes.values())
        share = self.sizes.get(user, 0) / max(rows, 1)
        most = max(min(rows, most), 1)
        wide = math.ceil(SPARE * k / share) if 0 < share < 1 else k
        is_unfiltered = share == 1 or (share > 0 and wide <= most and wide * RESULT_COST < rows)
        results: list[tuple[float, int]] = []
        with translated_errors("Searching Chroma"):
            for collection in self.tiers.values():
                answer = collection.query(
                    query_embeddings=query[None],
                    n_results=min(wide if is_unfiltered else k, most),
                    where=None if is_unfiltered else {"user": user},
                    include=["distances"],
                )
                results += zip(answer["distances"][0], map(int, answer["ids"][0]), strict=True)
        return [doc for _, doc in sorted(results)]


def open_collections(client: Any, feed: RecordFeed) -> Collections | None:
    """The collections of a record; None if there are none that can be used."""
    from chromadb.errors import NotFoundError

    try:
        tiers = {
            tier: client.get_collection(f"{name}-{feed.name}", embedding_function=None) for tier, name in TIERS.items()
        }
    except NotFoundError:
        return None
    try:
        model, sequence, moment, filled = json.loads(tiers["short_term"].metadata["mnemic_position"])
        position = Position(Model(*model), sequence, moment, filled)
    except (KeyError, TypeError, ValueError):
        return None
    return _collections_at(tiers, feed, position)


def create_collections(client: Any, feed: RecordFeed, position: Position) -> Collections:
    """Create empty collections, in place of those that there are."""
    from chromadb.errors import NotFoundError

    tiers: dict[str, Any] = {}
    for tier in ("long_term", "short_term"):  # the one with the position comes last
        name, metadata = f"{TIERS[tier]}-{feed.name}", _position_metadata(feed, position)
        with suppress(NotFoundError):
            client.delete_collection(name)
        tiers[tier] = client.create_collection(name, configuration=COSINE, metadata=metadata, embedding_function=None)
    return _collections_at(tiers, feed, position)


def _collections_at(tiers: Mapping[str, Any], feed: RecordFeed, position: Position) -> Collections:
    return Collections(tiers=tiers, position=position, sizes=feed.sizes() if position.filled is None else {})


def _position_metadata(feed: RecordFeed, position: Position) -> dict[str, str]:
    return {"mnemic_record": feed.name, "mnemic_position": json.dumps(position)}


# Entries


def _put(collection: Any, entries: Sequence[Entry]) -> None:
    """Upsert entries with a new text or vector; of the others update the metadata only, which is ten times cheaper."""
    texts = _texts(collection, entries)
    changed = [entry for entry in entries if texts.get(entry.doc) != entry.stored.value.content]
    _send(collection.update, [entry for entry in entries if texts.get(entry.doc) == entry.stored.value.content])
    _send(collection.upsert, changed, contents=True)
    _link(collection, changed)


def _texts(collection: Any, entries: Sequence[Entry]) -> dict[int, str | None]:
    """The texts by doc of the entries that Chroma has; None for one with another user or vector."""
    if not entries:
        return {}
    answer = collection.get([str(entry.doc) for entry in entries], include=["embeddings", "documents", "metadatas"])
    stored = zip(answer["ids"], answer["documents"], answer["embeddings"], answer["metadatas"], strict=True)
    by_doc = {entry.doc: entry for entry in entries}
    return {
        int(id_): text if values["user"] == entry.user and _same_vector(vector, entry.vector) else None
        for id_, text, vector, values in stored
        if (entry := by_doc[int(id_)])
    }


def _send(send: Callable[..., object], entries: Sequence[Entry], *, contents: bool = False, whole: bool = True) -> None:
    """Send metadata or all contents; if Chroma rejects a value, send that entry with its user and vector only."""
    import numpy as np
    from chromadb.errors import InvalidArgumentError

    if not entries:
        return
    values: dict[str, Any] = {
        "ids": [str(entry.doc) for entry in entries],
        "metadatas": [metadata_of(entry) if whole else {"user": entry.user} for entry in entries],
    }
    if contents:
        values["embeddings"] = np.stack([entry.vector for entry in entries])
        values["documents"] = [entry.stored.value.content if whole else "" for entry in entries]
    try:
        send(**values)
    except (TypeError, ValueError, InvalidArgumentError):
        if not whole:
            raise
        for entry in entries:
            _send(send, [entry], contents=contents, whole=len(entries) > 1)


def _delete(collection: Any, docs: Sequence[int]) -> None:
    if docs and (ids := collection.get([str(doc) for doc in docs], include=[])["ids"]):
        collection.delete(ids)


def _link(collection: Any, entries: Sequence[Entry]) -> int:
    """Write unreachable entries again, and return their number: Chroma's graph sometimes has no link to a new entry.

    Chroma's issue 7758; seen with 1.5.9, in one of eight small collections for a text unlike all others. Linking one entry may
    unlink another, so all are checked again.
    """
    unreached = unreachable(collection, entries)
    count = len(unreached)
    for _ in range(ATTEMPTS):
        for entry in unreached:
            collection.update(ids=[str(entry.doc)], embeddings=entry.vector[None])
        unreached = unreachable(collection, entries) if unreached else ()
    return count


def unreachable(collection: Any, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Entries that a search for their own vector does not find; zero vectors (texts without words) are skipped."""
    import numpy as np

    entries = [entry for entry in entries if entry.vector.any()]
    if not entries:
        return ()
    vectors = np.stack([entry.vector for entry in entries])
    distances = collection.query(query_embeddings=vectors, n_results=10, include=["distances"])["distances"]
    return [entry for entry, row in zip(entries, distances, strict=True) if min(row, default=2.0) > ROUNDING]


def _same_vector(stored: NDArray[np.float32], vector: NDArray[np.float32]) -> bool:
    """Whether a vector in Chroma equals that of the record, up to length and rounding."""
    import numpy as np

    units = [v / max(float(np.linalg.norm(v)), 1e-9) for v in (stored, vector)]
    return len(stored) == len(vector) and bool(np.abs(units[0] - units[1]).max() <= ROUNDING)


# Comparison


def differences(feed: RecordFeed, collections: Collections) -> list[str]:
    """Differences from the record, one line per kind; changes after the position are ignored."""
    missing, changed = set[int](), set[int]()
    extra = sum(collection.count() for collection in collections.tiers.values())
    searched = lost = 0
    step, position = max(1, extra // SAMPLE), collections.position._replace(filled=0)
    while (page := feed.page(position, PAGE)) and page.position != position:
        position = page.position
        if position.filled is None:  # all records were read: changes
            changed |= {*page.removed, *(entry.doc for entry in page.entries)}
            continue
        for tier, collection in collections.tiers.items():
            entries = [entry for entry in page.entries if entry.tier == tier]
            texts = _texts(collection, entries)
            extra -= len(texts)
            missing |= {entry.doc for entry in entries if texts.get(entry.doc) is None}
            sample = [entry for entry in entries if entry.doc not in missing][::step]
            searched, lost = searched + len(sample), lost + _link(collection, sample)
    missing -= changed
    findings = {
        f"missing or different in Chroma: {len(missing)} (such as number {min(missing, default=0)})": missing,
        f"in Chroma, not in the record: {extra}": extra and not changed,
        f"Chroma does not find {lost} of {searched} entries by their own vector": lost > max(FEW, MISSED * searched),
    }
    return [sentence for sentence, applies in findings.items() if applies and page is not None]


# Metadata


def metadata_of(entry: Entry) -> Metadata:
    """The metadata of a record as flat values for other Chroma tools; None means no such key.

    ``user`` is the number of the user in the record: names are not sent.
    """
    record = entry.stored.value
    stored = entry.stored
    values: Metadata = {
        "id": record.id, "user": entry.user, "kind": stored.kind, "status": stored.status, "session": record.session,
        "project": stored.project, "source": record.source, "trust": record.trust,
        "metadata_json": to_json(record.metadata),
    }  # fmt: skip
    match record:
        case Message():
            return values | {"role": record.role, "name": record.name, "created_at": _moment(record.sent_at)}
        case Episode():
            return values | {
                "summary": record.title, "created_at": _moment(record.started_at), "version": record.version,
            }  # fmt: skip
        case MemoryRecord():
            return values | _metadata_of_memory(record)


def _metadata_of_memory(record: MemoryRecord) -> Metadata:
    mood = record.emotion
    return {
        "summary": record.summary or " ".join(record.content.split())[:SUMMARY],
        "memory_type": record.type, "category": record.category, "importance_score": record.importance,
        "tags": json.dumps(record.tags, ensure_ascii=False),
        "keywords": json.dumps(record.keywords, ensure_ascii=False), "version": record.version,
        "emotional_context": None if mood is None else to_json({**asdict(mood), "quadrant": mood.quadrant}),
        "quadrant": None if mood is None else mood.quadrant,
        "created_at": _moment(record.created_at), "expired_at": _moment(record.expired_at),
    }  # fmt: skip


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
