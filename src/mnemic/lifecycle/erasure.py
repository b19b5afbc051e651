"""Erasure: removes records with everything derived from them, down to the bytes, and rewrites what remains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import cast

import numpy as np

from mnemic.embedders import CachedEmbedder
from mnemic.errors import Conflict, InvalidInput, StoreError
from mnemic.knowledge import episodes
from mnemic.lifecycle import revision
from mnemic.runtime.runtime import Runtime
from mnemic.services.telemetry import traced
from mnemic.text.differences import without_sentences
from mnemic.types import (
    Episode,
    Erase,
    EraseUser,
    Erasure,
    Lineage,
    MemoryRecord,
    Message,
    Purge,
    Receipt,
    Record,
    Revise,
    Scope,
)

NAMED = 10
"""Most messages that an error names."""
ATTEMPTS = 5
"""Attempts against concurrent writers."""
PATIENCE = 3.0
"""Seconds to wait for readers of the earlier state."""
SHORTEST = 12
"""Least bytes of a text that is searched for in the files afterwards; shorter ones are not specific."""
WINDOW = 48
"""Most bytes searched for per text."""
BATCH = 1_000
"""Records per read."""


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """Ids of records to erase and of episodes to rewrite, and memories whose earlier text is restored."""

    erased: frozenset[str]
    rewritten: frozenset[str]
    restored: Mapping[str, MemoryRecord]


def plan_erasure(family: Lineage, ids: Collection[str]) -> ErasurePlan:
    """Plan the erasure of some records of a family.

    Records derived from an erased one are erased too, except:

    - an episode that is not archived is rewritten from its other messages, if there are any;
    - a memory that absorbed others in a consolidation is kept; if its text was rewritten then, it gets back its earlier text,
      or is erased if that is unknown.

    Records derived from an episode or a memory whose text changes this way are erased as well.
    """
    erased = {id_ for id_ in ids if id_ in family.nodes}
    remade: set[str] = set()
    restored: dict[str, MemoryRecord] = {}
    earlier = {absorption.id: absorption.before for absorption in family.absorptions if absorption.before}
    while True:
        sizes = (len(erased), len(remade), len(restored))
        for node in family.nodes.values():
            if node.id in erased:
                continue
            changed = erased | remade | {*restored}
            affected = changed.intersection(node.sources)
            absorptions = [a for a in family.absorptions if a.id == node.id]
            tainted = any(a.reworded and not changed.isdisjoint(a.members) for a in absorptions)
            affected -= {edge for a in absorptions for edge in a.edges}
            if node.kind == "episode" and node.live and affected:
                remade.add(node.id)
            elif affected or (tainted and node.id not in earlier):
                erased.add(node.id)
            elif tainted:
                restored[node.id] = earlier[node.id]
        remade -= erased
        restored = {id_: record for id_, record in restored.items() if id_ not in erased}
        if sizes == (len(erased), len(remade), len(restored)):
            return ErasurePlan(frozenset(erased), frozenset(remade), restored)


@traced("mnemic.erase")
def erase(
    runtime: Runtime, scope: Scope, ids: Iterable[str], zone: tzinfo, *, spared: Sequence[Receipt] = ()
) -> Erasure:
    """Erase records of a user with everything derived from them, and messages that say nothing but what is erased.

    Raises:
        InvalidInput: a message says what a memory says, and more; nothing was erased.
        Conflict: other writers kept deriving records from them; nothing was erased.
    """
    named = list(dict.fromkeys(ids))
    named += _messages_to_erase(runtime, scope, named)
    erasure = erase_records(runtime, scope, named, zone)
    return replace(erasure, spared=tuple(receipt for receipt in spared if receipt.id not in erasure.ids))


def erase_records(runtime: Runtime, scope: Scope, named: Sequence[str], zone: tzinfo) -> Erasure:
    """Erase records of a user with everything derived from them, whatever other messages say.

    Raises:
        Conflict: other writers kept deriving records from them; nothing was erased.
    """
    with runtime.processing:
        for _ in range(ATTEMPTS):
            family = _family(runtime, scope, named)
            missing = tuple(id_ for id_ in named if id_ not in family.nodes)
            if len(missing) == len(named):
                return Erasure(missing=missing, purge=_pending_purge(runtime))
            plan, change = _plan(runtime, scope, family, named)
            records = runtime.store.knowledge.records(scope.user, change.ids)
            needles = _searchable(_needles(runtime, scope.user, records.values()))
            derived = [m for m in records.values() if isinstance(m, MemoryRecord) and m.id not in named]
            live = [memory for memory in derived if memory.status != "archived" and memory.expired_at is None]
            again = revision.said_again(runtime, scope, live, change.ids)
            try:
                counts = runtime.store.erasure.erase(scope.user, change)
            except Conflict:
                continue
            erased_kin = [family.nodes[id_] for id_ in plan.erased]
            break
        else:
            raise Conflict(
                "Other writers kept deriving records from these. Nothing was erased; try again when they are idle."
            )
        if again:
            runtime.store.apply(scope.user, again)
        remade = [episode.record.id for episode in change.remade] + list(plan.restored)
        remade += revision.rewrite_summaries(runtime, scope, erased_kin, zone)
    _drop_caches(runtime, scope.user)
    purge = _purge(runtime, needles)
    return Erasure(ids=change.ids, missing=missing, remade=tuple(remade), counts=counts, purge=purge)


def _messages_to_erase(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[str]:
    """The messages that say nothing but what memories say that are to be erased."""
    evidence = revision.evidence(runtime, scope, ids)
    messages = runtime.store.knowledge.records(scope.user, [id_ for id_ in evidence if id_ not in ids])
    texts = {id_: [memory.content for memory in memories] for id_, memories in evidence.items()}
    more = [id_ for id_, message in messages.items() if without_sentences(message.content, texts[id_])]
    if more:
        listed = ", ".join(map(repr, more[:NAMED]))
        raise InvalidInput(
            f"The same is said in messages that say more: {listed}. Nothing was erased. Erase these as well with "
            f"forget(ids=[..., {listed}], hard=True), or only keep it out of recall with forget(ids=[...])."
        )
    return [*messages]


def _family(runtime: Runtime, scope: Scope, named: Sequence[str]) -> Lineage:
    """Records with everything derived from them, and the summaries of the sessions of their messages."""
    family = runtime.store.erasure.lineage(scope.user, named)
    more = [id_ for id_ in revision.summary_scopes(family.nodes.values()) if id_ not in family.nodes]
    return runtime.store.erasure.lineage(scope.user, [*named, *more]) if more else family


def erase_user(runtime: Runtime, scope: Scope) -> Erasure:
    """Erase all records of a user, at every level, and the user's name."""
    user_id = runtime.store.user(scope.user)
    if user_id is None:
        return Erasure(purge=_pending_purge(runtime))
    with runtime.processing:
        needles = _needles_of_user(runtime, scope.user, user_id)
        counts = runtime.store.erasure.erase(scope.user, EraseUser())
    _drop_caches(runtime, scope.user)
    return Erasure(counts=counts, purge=_purge(runtime, needles))


def _purge(runtime: Runtime, needles: Sequence[bytes]) -> Purge:
    """Remove the bytes from the vector index, then from the files of the record."""
    remaining = (
        "" if runtime.erase_index() else "the vector index: the process that has it open removes it at its next look"
    )
    purge = runtime.store.erasure.purge(needles, patience=PATIENCE)
    return replace(purge, pending="; ".join(part for part in (purge.pending, remaining) if part))


def _pending_purge(runtime: Runtime) -> Purge:
    """What earlier erasures left, where there is nothing more to erase."""
    return finish(runtime) or Purge(pending=runtime.store.erasure.remains())


def finish(runtime: Runtime) -> Purge | None:
    """Finish an erasure whose bytes could not be removed at once; None if there is none."""
    try:
        if not runtime.store.erasure.unfinished():
            return None
    except StoreError:  # a damaged record is reported elsewhere
        return None
    return runtime.store.erasure.purge(patience=PATIENCE)


def _plan(runtime: Runtime, scope: Scope, family: Lineage, ids: Sequence[str]) -> tuple[ErasurePlan, Erase]:
    """The plan and its change, with rewritten episodes. An episode without remaining messages is erased as well."""
    knowledge = runtime.store.knowledge
    named = set(ids)
    while True:
        plan = plan_erasure(family, named)
        records = knowledge.records(scope.user, sorted(plan.rewritten))
        remaining: dict[str, list[Message]] = {}
        for id_, episode in records.items():
            if isinstance(episode, Episode):
                remaining[id_] = [m for m in knowledge.messages_of(scope.user, episode) if m.id not in plan.erased]
        empty = {id_ for id_ in plan.rewritten if not remaining.get(id_)}
        summaries = revision.summary_scopes(family.nodes[id_] for id_ in plan.erased)
        more = (empty | (summaries.keys() & family.nodes.keys())) - plan.erased
        if not more:
            break
        named |= more
    affected = [(records[id_], remaining[id_]) for id_ in sorted(plan.rewritten)]
    remade = episodes.rewritten(runtime, scope.user, affected, erased=plan.erased)
    earlier = runtime.indexer.indexed(plan.restored.values())
    restored = [Revise(record=record, indexing=index) for record, index in earlier]
    change = Erase(ids=tuple(sorted(plan.erased)), remade=tuple(remade), restored=tuple(restored))
    return plan, change


def _needles_of_user(runtime: Runtime, user: str, user_id: int) -> list[bytes]:
    """Byte samples of all records of a user, and of the name."""
    rows = runtime.store.catalog(user_id, after=0, event=-1, vectors=False).rows
    docs: list[int] = rows.doc.tolist() if rows else []
    samples = [_middle(user.encode())]
    for start in range(0, len(docs), BATCH):
        stored = runtime.store.fetch(user_id, docs[start : start + BATCH])
        samples += _needles(runtime, user, [item.value for item in stored.values()])
    return _searchable(samples)


def _needles(runtime: Runtime, user: str, records: Collection[Record]) -> list[bytes]:
    """Byte samples of texts and vectors, to search the files for after the erasure."""
    samples: list[bytes] = []
    for record in records:
        texts = [record.id, record.content, *_strings(record.metadata)]
        match record:
            case Message():
                texts.append(record.name)
            case Episode():
                texts.append(record.title)
            case MemoryRecord():
                texts += [record.speaker, record.summary, record.context, record.category]
                texts += [*record.tags, *record.keywords, *record.related_entities, *record.related_files]
        samples += [_middle(text.encode()) for text in texts if text]
    vectors = runtime.store.knowledge.vectors(user, [str(record.id) for record in records])
    rows = (row for entry in vectors.values() for row in (entry.text, *entry.passages))
    return [*samples, *(_middle(row.astype(np.float16).tobytes()) for row in rows)]


def _searchable(samples: Sequence[bytes]) -> list[bytes]:
    """Distinct samples that are long enough to be specific."""
    return [sample for sample in dict.fromkeys(samples) if len(sample) >= SHORTEST and any(sample)]


def _middle(value: bytes) -> bytes:
    start = max(0, (len(value) - WINDOW) // 2)
    return value[start : start + WINDOW]


def _strings(value: object) -> list[str]:
    """The texts within a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return [*mapping, *(text for item in mapping.values() for text in _strings(item))]
    if isinstance(value, (list, tuple)):
        return [text for item in cast("Sequence[object]", value) for text in _strings(item)]
    return []


def _drop_caches(runtime: Runtime, user: str) -> None:
    """Drop this process's caches of the user; other processes notice the change."""
    runtime.views.drop(user)
    if isinstance(runtime.indexer.embedder, CachedEmbedder):
        runtime.indexer.embedder.clear()
