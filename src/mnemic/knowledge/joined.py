"""Memories that say several things of which one has ended: they go on without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from mnemic.errors import Conflict
from mnemic.knowledge import episodes
from mnemic.knowledge.candidates import is_made, with_new_description
from mnemic.runtime.runtime import Runtime
from mnemic.text.sentences import sentences
from mnemic.text.values import now
from mnemic.types import Archive, Change, Episode, MemoryRecord, Message, Revise, Scope

KNOWN = "what it says beside what has ended is another memory, or nothing"


def left_of_others(
    runtime: Runtime, scope: Scope, ended: Sequence[MemoryRecord], longer: Sequence[MemoryRecord] = ()
) -> list[Change]:
    """Changes of the memories that say what ends beside other things.

    Args:
        runtime: the store and the embedder.
        scope: whose.
        ended: what ends.
        longer: memories that may say it too, beside those of the same messages.
    """
    gone = {sentence for one in ended for sentence in sentences(one.content)}
    derived = _derived(runtime, scope, {id_ for one in ended for id_ in one.source_ids})
    held = {one.id: one for one in (*derived, *longer)}
    for one in ended:
        held.pop(one.id, None)
    return _going_on(
        runtime, scope, [one for one in held.values() if not gone.issuperset(sentences(one.content))], gone
    )


def settle(runtime: Runtime, scope: Scope) -> None:
    """Let what was made of messages go on without what ended meanwhile, here or on another device."""
    messages = runtime.store.knowledge.with_outdated(scope.user)
    told = runtime.store.relations.holding(scope.user, messages)
    gone = {one for message, left in zip(messages, told, strict=True) for one in _left_out(message, left)}
    if not gone:
        return
    ids = [str(message.id) for message in messages]
    changes = _going_on(runtime, scope, [one for one in _derived(runtime, scope, ids) if is_made(one)], gone)
    changes += _retold(runtime, scope, ids, gone)
    try:
        runtime.store.apply(scope.user, changes, model=runtime.indexer.embedder.id)
    except Conflict:  # another process changed an episode: the next run sees it
        return


def _retold(runtime: Runtime, scope: Scope, messages: Sequence[str], gone: AbstractSet[str]) -> list[Change]:
    """The next versions of the episodes of messages that tell what is gone."""
    number = runtime.store.user(scope.user)
    assert number is not None
    held = runtime.store.fetch(number, runtime.store.relations.episodes_of(scope.user, messages)).values()
    outdated = [
        (one.value, left)
        for one in held
        if one.status != "archived"
        and isinstance(one.value, Episode)
        and any(sentence in one.value.content for sentence in gone)
        and (left := runtime.store.knowledge.messages_of(scope.user, one.value))
    ]
    return [*episodes.rewritten(runtime, scope.user, outdated)]


def _left_out(message: Message, left: Message) -> list[str]:
    held = " ".join(left.content.split())
    return [one for one in sentences(message.content) if " ".join(one.split()) not in held]


def _derived(runtime: Runtime, scope: Scope, messages: Iterable[str]) -> list[MemoryRecord]:
    """The memories derived from messages that hold."""
    made = runtime.store.relations.memories_of(scope.user, sorted(messages)).values()
    records = runtime.store.knowledge.records(scope.user, sorted({id_ for ids in made for id_ in ids}))
    return [one for one in records.values() if isinstance(one, MemoryRecord)]


def _going_on(runtime: Runtime, scope: Scope, records: Iterable[MemoryRecord], gone: AbstractSet[str]) -> list[Change]:
    """Changes of those memories that hold and have sentences that are gone."""
    left = [
        _without(one, gone)
        for one in records
        if one.expired_at is None and one.status != "archived" and not gone.isdisjoint(sentences(one.content))
    ]
    known = runtime.store.knowledge.duplicates(scope.user, left)
    return [
        Revise(record=one, indexing=index, left=True)
        if one.content and one.id not in known
        else Archive(id=one.id, reason=KNOWN)
        for one, index in zip(left, runtime.indexer.indexing(left, runtime.indexer.embedder), strict=True)
    ]


def _without(record: MemoryRecord, gone: AbstractSet[str]) -> MemoryRecord:
    """The next version of a memory, without some of its sentences."""
    left = " ".join(one for one in sentences(record.content) if one not in gone)
    return with_new_description(replace(record, content=left, version=record.version + 1, updated_at=now()), record)
