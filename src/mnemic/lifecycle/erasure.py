"""Erasing: what was made of something goes with it, what stays is told again without it, and no byte is left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import cast

import numpy as np

from mnemic.embedders import CachedEmbedder
from mnemic.errors import Conflict, StoreError
from mnemic.lifecycle import revision
from mnemic.runtime.runtime import Runtime
from mnemic.types import (
    Absorption,
    Episode,
    Erase,
    EraseUser,
    Erasure,
    Lineage,
    MemoryRecord,
    Message,
    Purge,
    Receipt,
    Revise,
    Scope,
)

__all__ = ["decide", "erase", "erase_user", "finish"]

ATTEMPTS = 5
"""Readings of a record that others write to, before giving up."""
PATIENCE = 3.0
"""Seconds to wait for readers that still see the state before."""
SHORTEST = 12
"""Bytes of a text that is searched for in the files afterwards: shorter ones are anybody's."""
WINDOW = 48
"""Bytes of it that are compared."""
BATCH = 1_000
"""Records that are read at once."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What goes, which episodes are told again and which memories get back the text they had; all by id."""

    gone: frozenset[str]
    remade: frozenset[str]
    restored: Mapping[str, MemoryRecord]


def decide(family: Lineage, ids: Collection[str]) -> Decision:
    """What becomes of a family when some of it goes for good.

    What was made of something that goes, goes with it, but:

    - an episode that is not archived is told again from its other messages, if there are any;
    - a memory that a consolidation made stand for others is not made of them, unless its text was made anew then: it gets
      back the text it had, or goes too where that cannot be had.

    What was made of an episode or a memory whose text changes this way goes as well.
    """
    gone = {id_ for id_ in ids if id_ in family.nodes}
    remade: set[str] = set()
    restored: dict[str, MemoryRecord] = {}
    heads = {absorption.id: absorption for absorption in family.absorptions if absorption.before}
    while True:
        before = (len(gone), len(remade), len(restored))
        for kin in family.nodes.values():
            if kin.id in gone:
                continue
            changed = gone | remade | {*restored}
            told_of = changed.intersection(kin.sources)
            absorbed = [a for a in family.absorptions if a.id == kin.id]
            tainted = any(a.reworded and not changed.isdisjoint(a.members) for a in absorbed)
            told_of -= {edge for a in absorbed for edge in a.edges}
            if kin.kind == "episode" and kin.live and told_of:
                remade.add(kin.id)
            elif told_of or (tainted and kin.id not in heads):
                gone.add(kin.id)
            elif tainted:
                restored[kin.id] = _before(heads[kin.id])
        remade -= gone
        restored = {id_: record for id_, record in restored.items() if id_ not in gone}
        if before == (len(gone), len(remade), len(restored)):
            return Decision(frozenset(gone), frozenset(remade), restored)


def _before(absorption: Absorption) -> MemoryRecord:
    assert absorption.before is not None
    return absorption.before


def erase(
    runtime: Runtime, scope: Scope, ids: Iterable[str], zone: tzinfo, *, spared: Sequence[Receipt] = ()
) -> Erasure:
    """Remove records of a user for good, with all that was made from them.

    Raises:
        Conflict: others kept making something of the same records; nothing was erased.
    """
    named = list(dict.fromkeys(ids))
    with runtime.processing:
        for _ in range(ATTEMPTS):
            family = _family(runtime, scope, named)
            missing = tuple(id_ for id_ in named if id_ not in family.nodes)
            if len(missing) == len(named):
                return Erasure(missing=missing, spared=tuple(spared))
            decision, change = _planned(runtime, scope, family, named)
            records = runtime.store.knowledge.records(scope.user, change.ids)
            needles = _searchable(_needles(runtime, scope.user, records.values()))
            try:
                counts = runtime.store.erasure.erase(scope.user, change, model=runtime.indexer.embedder.id)
            except Conflict:
                continue
            told = [family.nodes[id_] for id_ in decision.gone]
            break
        else:
            raise Conflict(
                "Others kept making something of the same records. Nothing was erased; try in a quiet moment."
            )
        remade = [episode.record.id for episode in change.remade] + list(decision.restored)
        remade += revision.summarised(runtime, scope, told, zone)
    _forget_in_ram(runtime, scope.user)
    purge = _purged(runtime, needles)
    return Erasure(
        ids=change.ids, missing=missing, remade=tuple(remade), spared=tuple(spared), counts=counts, purge=purge
    )


def _family(runtime: Runtime, scope: Scope, named: Sequence[str]) -> Lineage:
    """Records with all that was made from them, and the summaries of sessions that messages among them were said in."""
    family = runtime.store.erasure.lineage(scope.user, named)
    more = [id_ for id_ in revision.summaries(family.nodes.values()) if id_ not in family.nodes]
    return runtime.store.erasure.lineage(scope.user, [*named, *more]) if more else family


def erase_user(runtime: Runtime, scope: Scope) -> Erasure:
    """Remove everything that a user has, at every level, and the user's name."""
    number = runtime.store.user(scope.user)
    if number is None:
        return Erasure()
    with runtime.processing:
        needles = _needles_of_user(runtime, scope.user, number)
        counts = runtime.store.erasure.erase(scope.user, EraseUser())
    _forget_in_ram(runtime, scope.user)
    return Erasure(counts=counts, purge=_purged(runtime, needles))


def _purged(runtime: Runtime, needles: Sequence[bytes]) -> Purge:
    """Remove the bytes: from an index over the vectors first, which is then made anew from what is left."""
    left = "" if runtime.erase_index() else "the vector index: the process that has it open removes it at its next look"
    purge = runtime.store.erasure.purge(needles, patience=PATIENCE)
    return replace(purge, pending="; ".join(part for part in (purge.pending, left) if part))


def finish(runtime: Runtime, *, patience: float = PATIENCE) -> Purge | None:
    """Go on with an erasure whose bytes could not be removed at once; None when there is none."""
    try:
        if not runtime.store.erasure.unfinished():
            return None
    except StoreError:  # a record that cannot be read has its own way of saying so
        return None
    return runtime.store.erasure.purge(patience=patience)


def _planned(runtime: Runtime, scope: Scope, family: Lineage, ids: Sequence[str]) -> tuple[Decision, Erase]:
    """What is decided, as a change: episodes are told again here. Where nothing is left of one, it goes as well."""
    knowledge = runtime.store.knowledge
    named = set(ids)
    while True:
        decision = decide(family, named)
        records = knowledge.records(scope.user, sorted(decision.remade))
        left: dict[str, list[Message]] = {}
        for id_, episode in records.items():
            if isinstance(episode, Episode):
                left[id_] = [m for m in knowledge.messages_of(scope.user, episode) if m.id not in decision.gone]
        empty = {id_ for id_ in decision.remade if not left.get(id_)}
        told = revision.summaries(family.nodes[id_] for id_ in decision.gone)
        more = (empty | (told.keys() & family.nodes.keys())) - decision.gone
        if not more:
            break
        named |= more
    told_of = [(records[id_], left[id_]) for id_ in sorted(decision.remade)]
    remade = revision.told_again(runtime, scope.user, told_of, gone=decision.gone)
    held = list(decision.restored.values())
    restored = [
        Revise(record=record, indexing=index)
        for record, index in zip(held, runtime.indexer.indexing(held, runtime.indexer.embedder), strict=True)
    ]
    change = Erase(ids=tuple(sorted(decision.gone)), remade=tuple(remade), restored=tuple(restored))
    return decision, change


def _needles_of_user(runtime: Runtime, user: str, number: int) -> list[bytes]:
    """Parts of all that a user has, and the name."""
    rows = runtime.store.catalog(number, after=0, event=-1, vectors=False).rows
    docs: list[int] = rows.doc.tolist() if rows else []
    found = [_middle(user.encode())]
    for start in range(0, len(docs), BATCH):
        stored = runtime.store.fetch(number, docs[start : start + BATCH])
        found += _needles(runtime, user, [item.value for item in stored.values()])
    return _searchable(found)


def _needles(runtime: Runtime, user: str, records: Collection[Message | Episode | MemoryRecord]) -> list[bytes]:
    """Parts of the texts and vectors of records, to be searched for when they are gone."""
    found: list[bytes] = []
    for record in records:
        texts = [record.id or "", record.content, *_strings(record.metadata)]
        if isinstance(record, Message):
            texts.append(record.name or "")
        if isinstance(record, Episode):
            texts.append(record.title)
        if isinstance(record, MemoryRecord):
            texts += [
                record.speaker or "",
                record.summary or "",
                record.context or "",
                record.category or "",
                *record.tags,
                *record.keywords,
            ]
            texts += [*record.related_entities, *record.related_files]
        found += [_middle(text.encode()) for text in texts]
    vectors = runtime.store.knowledge.vectors(user, [str(record.id) for record in records])
    return [*found, *(_middle(vector.astype(np.float16).tobytes()) for vector in vectors.values())]


def _searchable(found: Sequence[bytes]) -> list[bytes]:
    """Each once, without those that are anybody's."""
    return [needle for needle in dict.fromkeys(found) if len(needle) >= SHORTEST and any(needle)]


def _middle(value: bytes) -> bytes:
    start = max(0, (len(value) - WINDOW) // 2)
    return value[start : start + WINDOW]


def _strings(value: object) -> list[str]:
    """The texts within a JSON value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        held = cast("Mapping[str, object]", value)
        return [*held, *(text for item in held.values() for text in _strings(item))]
    if isinstance(value, (list, tuple)):
        return [text for item in cast("Sequence[object]", value) for text in _strings(item)]
    return []


def _forget_in_ram(runtime: Runtime, user: str) -> None:
    """What this process holds of the user begins anew; other processes follow the record."""
    runtime.views.drop(user)
    if isinstance(runtime.indexer.embedder, CachedEmbedder):
        runtime.indexer.embedder.clear()
