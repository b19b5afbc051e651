"""``remember``: stores statements of a caller verbatim, superseding those they replace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

from mnemic import validation
from mnemic.emotion.estimate import with_emotion
from mnemic.errors import InvalidInput
from mnemic.ingest import check_record, new_id, storable, unstored, with_redactions
from mnemic.knowledge.candidates import is_made, part, sentence_about, stated
from mnemic.knowledge.metadata import category_of
from mnemic.knowledge.reconciliation import left_of_others, salience, since
from mnemic.knowledge.selection import is_question, worth
from mnemic.runtime.runtime import Runtime
from mnemic.stores.sql.changes import replacing
from mnemic.text.differences import CUT, says, without_sentences
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.text.values import now, shown
from mnemic.types import AddMemory, Change, Indexing, MemoryRecord, Message, Receipt, Scope, Source, Stored, Supersede
from mnemic.types.literals import AGENT
from mnemic.types.records import TRUST_OF_SOURCE, is_trusted, least_trust

REPLACED = "the caller says so"
UNCHANGED_FIELDS = tuple("tags metadata category summary context keywords related_files related_entities".split())
"""Fields of a known statement that a duplicate does not change."""


def _record(scope: Scope, content: str, options: Mapping[str, Any], zone: tzinfo) -> MemoryRecord:
    """A validated memory from the arguments of remember()."""
    moment = now().astimezone(zone)
    kind = validation.memory_type(options["type"])
    source = validation.source(options["source"])
    agent = validation.optional("agent", options.get("agent"))
    importance = options["importance"]
    return MemoryRecord(
        id=validation.optional("id", options["id"]) or new_id("mem_"),
        content=content,
        type=kind,
        category=validation.category(options["category"]),
        importance=0.5 if importance is None else validation.number("importance", importance),
        salience=0.5 if importance is None else validation.number("importance", importance),
        pinned=importance is not None,
        key=validation.key(options["key"]),
        tags=validation.words("tags", options["tags"]),
        metadata=validation.json_object("metadata", options["metadata"]) | ({AGENT: agent} if agent else {}),
        source_ids=validation.words("source_ids", options["source_ids"]),
        project=scope.project,
        session=scope.session if options["level"] == "session" else None,
        source=source,
        trust=TRUST_OF_SOURCE[source],
        valid_at=validation.moment("valid_at", options["valid_at"], zone),
        delete_after=validation.moment("delete_after", options.get("delete_after"), zone),
        created_at=moment,
        updated_at=moment,
        **validation.description(options["description"]),
    )


def correct(
    runtime: Runtime,
    scope: Scope,
    statement: str,
    wrong: Sequence[str],
    zone: tzinfo,
    *,
    matter: AbstractSet[str],
    held: MemoryRecord,
    source: Source,
) -> Receipt:
    """Store what is true in place of what is wrong, and of an earlier correction of that: the later one holds.

    ``matter``: the terms that tell which sentence of a message is wrong; ``held``: the memory whose level, key, tags and other
    fields it keeps, as an update does, but for a tag with a word that only the wrong statement has.
    """
    dropped_terms = {*content_terms(held.content)} - {*content_terms(statement)}
    tags = tuple(tag for tag in held.tags if dropped_terms.isdisjoint(content_terms(tag)))
    level, scope = held.session and "session", replace(scope, project=held.project, session=held.session)
    options: dict[str, Any] = dict.fromkeys(("valid_at", "id")) | {
        "level": level,
        "key": held.key, "category": held.category, "tags": tags, "metadata": held.metadata,
        "importance": held.importance if held.pinned else None,
        "delete_after": held.delete_after if held.delete_after and held.delete_after > now() else None,
        "replaces": wrong, "type": "semantic", "source_ids": (), "source": source, "description": {},
    }  # fmt: skip
    return remember(runtime, scope, statement, options, zone, matter=matter)


def remember(
    runtime: Runtime,
    scope: Scope,
    content: str,
    options: Mapping[str, Any],
    zone: tzinfo,
    *,
    matter: AbstractSet[str] | None = None,
) -> Receipt:
    """Store one statement, unless it is known at this level; ``matter`` is that of a correction."""
    text = validation.text("content", content, validation.MAX_CONTENT)
    if options["level"] not in (None, "session"):
        raise InvalidInput("level must be None (the project, else the user) or 'session'.")
    if options["level"] == "session" and scope.session is None:
        raise InvalidInput("level='session' needs a handle with a session: memory.scoped(session=...).")
    replaced = [runtime.store.get(scope.user, id_) for id_ in validation.words("replaces", options["replaces"])]
    checked = check_record(runtime.secrets, runtime.fence, _record(scope, text, options, zone))
    if not storable(checked):
        return unstored(checked)
    record: MemoryRecord = checked.record
    sources = [runtime.store.get(scope.user, source) for source in record.source_ids]
    if any(source.status == "archived" for source in sources) and (
        ids := set(runtime.store.lifecycle.quarantined(scope.user)) & set(record.source_ids)
    ):
        return Receipt(
            id=record.id, outcome="rejected", reason=f"{sorted(ids)} are in quarantine: admin.release() them first"
        )
    record = replace(record, trust=least_trust([record.trust, *(source.value.trust for source in sources)]))
    if said_at := _said_at(record.content, [source.value for source in sources]):
        record = replace(record, said_at=said_at, valid_at=record.valid_at or record.created_at)
    if any(is_trusted(other.value.trust) and not is_trusted(record.trust) for other in replaced):
        why = "an untrusted statement cannot replace a trusted one: remember it without replaces=, or from a trusted source"
        return Receipt(id=record.id, outcome="rejected", reason=why)
    terms = {*content_terms(record.content)} if matter is None else matter
    ended = [
        other.value if matter is None and isinstance(other.value, MemoryRecord)
        else statement_of(runtime, scope, other, terms, record.content)
        for other in replaced
    ]  # fmt: skip
    return with_redactions(store(runtime, scope, record, ended, with_successors=matter is not None), checked.kinds)


def _said_at(content: str, sources: Sequence[object]) -> datetime | None:
    """When the messages among the sources of a statement said it; None if it only follows from them."""
    messages = [source for source in sources if isinstance(source, Message)]
    if not says("\n\n".join(message.content for message in messages), content):
        return None
    return max(filter(None, (message.sent_at for message in messages)), default=None)


def statement_of(
    runtime: Runtime, scope: Scope, stored: Stored, terms: AbstractSet[str], statement: str
) -> MemoryRecord:
    """What a new statement takes the place of: what a memory or a message says of the matter.

    A message is evidence and never ends. What it says is that of the memories derived from it, or of its sentences, which
    becomes such a memory, that has most terms of the matter. Of a memory of several sentences it is one of them, too.

    Raises:
        InvalidInput: it is an episode.
    """
    value = stored.value
    if isinstance(value, MemoryRecord):
        return _part_about(value, terms, statement)
    if not isinstance(value, Message):
        raise InvalidInput(
            f"{shown(value.id)} is an episode, which is made from messages. Give the id of a memory or a message. "
            "Nothing was stored."
        )
    derived_ids = runtime.store.relations.memories_of(scope.user, [str(value.id)]).get(str(value.id), [])
    (remainder,) = runtime.store.relations.without_forgotten(scope.user, [value])
    derived = [
        _part_about(memory, terms, statement)
        for memory in runtime.store.knowledge.memories(scope.user, derived_ids)
        if memory.said_at and not _is_hidden(memory, value, remainder)
    ]
    sentence = sentence_about(remainder.content.replace(CUT, "\n\n").strip() or value.content, terms, statement)
    best = max(derived, key=lambda memory: _shared(memory.content, terms), default=None)
    if best is not None and _shared(best.content, terms) >= _shared(sentence, terms):
        return best
    return stated(value, sentence, stored.project)


def _is_hidden(record: MemoryRecord, message: Message, remainder: Message) -> bool:
    """Whether a memory is among what was forgotten of a message that says something else as well."""
    if record.status != "archived" or not remainder.content or remainder.content == message.content:
        return False
    return without_sentences(remainder.content, [record.content]) == remainder.content


def _shared(text: str, terms: AbstractSet[str]) -> int:
    return len(terms & {*content_terms(text)})


def _part_about(record: MemoryRecord, terms: AbstractSet[str], statement: str) -> MemoryRecord:
    """The sentence of a memory that a new statement takes the place of, as a memory of its own.

    The memory itself if processing did not make it of messages, if it has ended, is an answer with its question, or if the
    statement is as long.
    """
    parts = sentences(record.content)
    indivisible = not is_made(record) or record.expired_at or any(map(is_question, parts))
    if indivisible or len(parts) <= len(sentences(statement)):
        return record
    sentence = sentence_about(record.content, terms, statement)
    return part(record, sentence) if sentence in parts else record


def store(
    runtime: Runtime,
    scope: Scope,
    record: MemoryRecord,
    replaced: Sequence[MemoryRecord] = (),
    *,
    with_successors: bool = False,
) -> Receipt:
    """Store a memory and supersede those it replaces, and the earlier value of its key; it is described later.

    ``with_successors``: what has taken the place of those since ends too.
    """
    changes: list[Change] = [*_additions(runtime, [record])]
    if not runtime.store.docs_of(scope.user, [record.id]):  # else it is known or refused, and nothing else changes
        changes += _replacing(runtime, scope, record, replaced, with_successors=with_successors)
    receipt, *others = runtime.store.apply(scope.user, changes)
    ended = {
        change.id: (done.changed and done.reason) or REPLACED
        for change, done in zip(changes[1:], others, strict=True)
        if isinstance(change, Supersede) and (done.changed or receipt.outcome == "stored")
    }
    if receipt.outcome == "rejected" or not ended:
        return _duplicate_receipt(runtime, scope, record, receipt) if receipt.outcome == "duplicate" else receipt
    reason = "; ".join(filter(None, (receipt.reason if receipt.changed else "", replacing(ended))))
    return replace(receipt, outcome="superseded", reason=reason)


def store_all(runtime: Runtime, scope: Scope, records: Sequence[MemoryRecord]) -> list[Receipt]:
    """Store memories that replace none by their caller's word, in one transaction; they are described later."""
    receipts = runtime.store.apply(scope.user, _additions(runtime, records))
    return [
        _duplicate_receipt(runtime, scope, record, receipt) if receipt.outcome == "duplicate" else receipt
        for record, receipt in zip(records, receipts, strict=True)
    ]


def _additions(runtime: Runtime, records: Sequence[MemoryRecord]) -> list[AddMemory]:
    """The changes that store memories."""
    return [
        AddMemory(record=_estimated(record, index), indexing=index, enrich=True, settle=True)
        for record, index in runtime.indexer.indexed(records)
    ]


def _estimated(record: MemoryRecord, index: Indexing) -> MemoryRecord:
    """A memory with a salience, a category and an emotion, if its caller gave none."""
    if not record.pinned:
        weight = salience(worth(record.content), record.type)
        record = replace(record, salience=weight, importance=weight)
    if record.category is None:
        record = replace(record, category=category_of(record.content))
    return record if record.emotion is not None else with_emotion(record, index)


def _replacing(
    runtime: Runtime, scope: Scope, record: MemoryRecord, replaced: Sequence[MemoryRecord], *, with_successors: bool
) -> list[Change]:
    """Changes that end the memories which a caller says the new one replaces.

    What only a message said, or a memory beside other things, is stored before, and that memory goes on without it. Of several
    that say the same, each is stored after the last has ended: else it would be known already.
    """
    stored = runtime.store.docs_of(scope.user, [other.id for other in replaced])
    missing = [other for other in replaced if other.id not in stored]
    added = {o.id: AddMemory(record=o, indexing=index) for o, index in runtime.indexer.indexed(missing)}
    changes = left_of_others(runtime, scope, replaced)
    for other in sorted(replaced, key=lambda memory: memory.id in added):
        changes += [added[other.id]] if other.id in added else []
        ends = Supersede(id=other.id, by=record.id, at=since(record), reason=REPLACED, with_successors=with_successors)
        changes.append(ends)
    return changes


def _duplicate_receipt(runtime: Runtime, scope: Scope, record: MemoryRecord, receipt: Receipt) -> Receipt:
    """The receipt of a known statement, naming given fields that were not changed."""
    stored = runtime.store.get(scope.user, receipt.id).value
    assert isinstance(stored, MemoryRecord)
    fields = [name for name in UNCHANGED_FIELDS if (value := getattr(record, name)) and value != getattr(stored, name)]
    fields += ["importance"] if record.pinned and record.importance != stored.importance else []
    fields += ["delete_after"] if record.delete_after != stored.delete_after else []
    fields += ["valid_at"] if record.valid_at not in (None, stored.valid_at) and record.said_at is None else []
    if not fields:
        return receipt
    return replace(
        receipt, reason=f"{receipt.reason}; its {', '.join(fields)} stay as they were: update() changes them"
    )
