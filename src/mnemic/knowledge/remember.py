"""``remember``: stores statements of a caller verbatim, superseding those they replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.ingest import fields
from mnemic.ingest.add import storable, unstored
from mnemic.ingest.fields import new_id
from mnemic.knowledge.metadata import category_of
from mnemic.knowledge.reconciliation import RESTATED_BY_TRUSTED, reconcile, resolution_changes, salience
from mnemic.knowledge.selection import worth
from mnemic.knowledge.snapshot import Neighbours, Snapshot
from mnemic.recall.mood import with_emotion
from mnemic.runtime.redaction import check_record, with_redactions
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import TRUST_OF_SOURCE, is_trusted, least_trust
from mnemic.text.clock import now
from mnemic.text.values import shown
from mnemic.types import AddMemory, Change, Indexing, MemoryRecord, Receipt, Scope, Supersede
from mnemic.types.literals import AGENT

__all__ = ["remember", "store"]

UNCHANGED_FIELDS = (
    "tags",
    "metadata",
    "category",
    "summary",
    "context",
    "keywords",
    "related_files",
    "related_entities",
)
"""Fields of a known statement that a duplicate does not change."""


def _record(scope: Scope, content: str, options: Mapping[str, Any], zone: tzinfo) -> MemoryRecord:
    """A validated memory from the arguments of remember()."""
    moment = now().astimezone(zone)
    kind = options["type"]
    if kind not in fields.TYPES:
        raise InvalidInput(f"type must be one of {list(fields.TYPES)}, not {shown(kind)}.")
    source = fields.source(options["source"])
    agent = fields.optional("agent", options.get("agent"))
    importance = options["importance"]
    return MemoryRecord(
        id=fields.optional("id", options["id"]) or new_id("mem_"),
        content=content,
        type=kind,
        category=fields.optional("category", options["category"]),
        importance=0.5 if importance is None else fields.fraction("importance", importance),
        salience=0.5 if importance is None else fields.fraction("importance", importance),
        pinned=importance is not None,
        key=fields.key(options["key"]),
        tags=fields.words("tags", options["tags"]),
        metadata=fields.json_object("metadata", options["metadata"]) | ({AGENT: agent} if agent else {}),
        source_ids=fields.words("source_ids", options["source_ids"]),
        project=scope.project,
        session=scope.session if options["level"] == "session" else None,
        source=source,
        trust=TRUST_OF_SOURCE[source],
        valid_at=fields.moment("valid_at", options["valid_at"], zone),
        delete_after=fields.moment("delete_after", options.get("delete_after"), zone),
        created_at=moment,
        updated_at=moment,
        **fields.description(options["description"]),
    )


def remember(runtime: Runtime, scope: Scope, content: str, options: Mapping[str, Any], zone: tzinfo) -> Receipt:
    """Store one statement, unless it is known at this level."""
    text = fields.text("content", content, limit=fields.MAX_CONTENT)
    if options["level"] not in (None, "session"):
        raise InvalidInput("level must be None (the project, else the user) or 'session'.")
    if options["level"] == "session" and scope.session is None:
        raise InvalidInput("level='session' needs a handle with a session: memory.scoped(session=...).")
    one = check_record(runtime.secrets, runtime.fence, _record(scope, text, options, zone))
    if not storable(one):
        return unstored(one)
    record: MemoryRecord = one.record
    sources = [runtime.store.get(scope.user, source) for source in record.source_ids]
    if any(source.status == "archived" for source in sources) and (
        held := set(runtime.store.lifecycle.quarantined(scope.user)) & set(record.source_ids)
    ):
        return Receipt(
            id=record.id, outcome="rejected", reason=f"{sorted(held)} are in quarantine: admin.release() them first"
        )
    record = replace(record, trust=least_trust([record.trust, *(source.value.trust for source in sources)]))
    return with_redactions(store(runtime, scope, record), one.kinds)


def store(runtime: Runtime, scope: Scope, record: MemoryRecord) -> Receipt:
    """Store a memory and supersede those it replaces; it is described later."""
    embedder = runtime.indexer.embedder
    (index,) = runtime.indexer.indexing([record], embedder)
    if not record.pinned:
        weight = salience(worth(record.content), record.type)
        record = replace(record, salience=weight, importance=weight)
    if record.category is None:
        record = replace(record, category=category_of(record.content))
    if record.emotion is None:
        record = with_emotion(record, index.vector, embedder.id)
    nearest = _neighbours(runtime, scope, record, index)
    resolution = reconcile(record, *nearest)
    changes: list[Change] = [AddMemory(record=record, indexing=index, enrich=True)]
    changes += resolution_changes(record, resolution, {other.id: other for other in nearest[0]})
    twins = runtime.store.knowledge.duplicates(scope.user, record.project, [record.spoken], session=record.session)
    ending, why = _replaceable_twin(runtime, scope, record, twins)
    if ending:
        changes = [c for c in changes if not (isinstance(c, Supersede) and c.id == ending)]
        changes.append(Supersede(id=ending, by=record.id, at=None, reason=why))
        changes.insert(0, Supersede(id=ending, by=None, at=None, reason=why))
    elif twins or runtime.store.docs_of(scope.user, [record.id]):
        changes = changes[:1]  # known or refused: the receipt says so, and nothing else changes
    receipt = runtime.store.apply(scope.user, changes, model=embedder.id)[1 if ending else 0]
    if receipt.outcome == "duplicate":
        return _duplicate_receipt(runtime, scope, record, receipt)
    ended = [c.id for c in changes if isinstance(c, Supersede) and c.by == record.id]
    return _superseded_receipt(receipt, ended, resolution.reason if resolution.of else why) if ended else receipt


def _neighbours(runtime: Runtime, scope: Scope, record: MemoryRecord, index: Indexing) -> Neighbours:
    """The memories at the same level with the same key, or the nearest."""
    if record.key is not None:
        return runtime.store.knowledge.with_key(scope.user, record.key, record.project, record.session), None
    known = Snapshot(runtime, scope.user, record.project, record.session)
    return known.nearest(index.vector, runtime.settings.processing.max_statements_for_prediction)


def _replaceable_twin(
    runtime: Runtime, scope: Scope, record: MemoryRecord, twins: Mapping[str, str]
) -> tuple[str, str]:
    """The id of the memory with the same words that the new one supersedes, and why; both empty if none."""
    twin = twins.get(record.spoken)
    if twin is None or runtime.store.docs_of(scope.user, [record.id]):
        return "", ""
    held = runtime.store.get(scope.user, twin).value
    assert isinstance(held, MemoryRecord)
    if is_trusted(record.trust) and not is_trusted(held.trust):
        return twin, RESTATED_BY_TRUSTED
    if record.key not in (None, held.key) and record.trust >= held.trust:
        return twin, f"it has the key {record.key} now"
    return "", ""


def _duplicate_receipt(runtime: Runtime, scope: Scope, record: MemoryRecord, receipt: Receipt) -> Receipt:
    """The receipt of a known statement, naming given fields that were not changed."""
    held = runtime.store.get(scope.user, receipt.id).value
    assert isinstance(held, MemoryRecord)
    given = [name for name in UNCHANGED_FIELDS if (value := getattr(record, name)) and value != getattr(held, name)]
    given += ["importance"] if record.pinned and record.importance != held.importance else []
    if not given:
        return receipt
    return replace(receipt, reason=f"{receipt.reason}; its {', '.join(given)} stay as they were: update() changes them")


def _superseded_receipt(receipt: Receipt, ended: list[str], why: str) -> Receipt:
    if receipt.outcome != "stored":
        return receipt
    return replace(receipt, outcome="superseded", reason=f"takes the place of {', '.join(map(repr, ended))}: {why}")
