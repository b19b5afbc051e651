"""What tells of messages, told again of those that are left: some were erased, forgotten, or came back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import tzinfo

from mnemic.errors import Conflict
from mnemic.knowledge import episodes
from mnemic.lifecycle import sessions
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.types import AddEpisode, Archive, Change, Episode, Kin, MemoryRecord, Message, Restore, Scope, Stored
from mnemic.types.literals import SESSION_SUMMARY

__all__ = ["follow", "summaries", "summarised", "told_again"]

ATTEMPTS = 5
"""Readings of an episode that grows meanwhile, before giving up."""
EMPTY = "what it was made of was forgotten"


def follow(runtime: Runtime, scope: Scope, ids: Sequence[str], zone: tzinfo) -> None:
    """Carry on with what was made of messages, after some were forgotten or came back.

    A memory goes with any of its messages and comes back with the last of them. Episodes and summaries of sessions are made
    again of the messages that are left; one of which nothing is left is archived until something of it comes back.

    Raises:
        Conflict: others kept changing the same episodes; these still tell what they told.
    """
    number, docs = runtime.store.user(scope.user), runtime.store.docs_of(scope.user, ids, kind="message")
    if number is None or not docs:
        return
    messages = runtime.store.fetch(number, list(docs.values())).values()
    if changes := _memories(runtime, scope, ids):
        runtime.store.apply(scope.user, changes)
    for _ in range(ATTEMPTS):
        # a part of a merged episode may have been restored by hand: every one that tells of them, not the latest alone
        episodes = runtime.store.fetch(number, runtime.store.relations.told_by(scope.user, ids))
        changes = [change for held in episodes.values() for change in _changes(runtime, scope, held)]
        try:
            receipts = runtime.store.apply(scope.user, changes, model=runtime.indexer.embedder.id) if changes else ()
        except Conflict:
            continue
        if all(receipt.changed for receipt in receipts):
            break
    else:
        raise Conflict(
            "What was named is changed, but others kept changing the episodes that tell of it, and these still do. Call this "
            "again in a quiet moment."
        )
    for project, session in {(m.project, m.value.session) for m in messages if isinstance(m.value, Message)}:
        _summarise_again(runtime, Scope(user=scope.user, project=project, session=session), zone)


def _memories(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[Change]:
    """What becomes of the memories that were made of messages."""
    made = runtime.store.relations.made_of(scope.user, ids)
    records = runtime.store.knowledge.records(scope.user, sorted({id_ for own in made.values() for id_ in own}))
    changes: list[Change] = []
    for id_, record in records.items():
        assert isinstance(record, MemoryRecord)
        archived = any(runtime.store.get(scope.user, source).status == "archived" for source in record.source_ids)
        if archived and record.status != "archived":
            changes.append(Archive(id=id_, reason=EMPTY))
        elif not archived and record.status == "archived" and _emptied(runtime, scope, id_):
            changes.append(Restore(id=id_))
    return changes


def _summarise_again(runtime: Runtime, place: Scope, zone: tzinfo) -> None:
    """The summary of a session, if it has one, of the messages that are left; of none it is archived until one comes back."""
    id_ = sessions.summary_id(place)
    held = runtime.store.knowledge.records(place.user, [id_]).get(id_)
    if not isinstance(held, MemoryRecord):
        return
    if held.status == "archived" and _emptied(runtime, place, id_):
        runtime.store.apply(place.user, [Restore(id=id_)])
    if sessions.summarise(runtime, place, zone) is None and held.status != "archived":
        runtime.store.apply(place.user, [Archive(id=id_, reason=EMPTY)])


def _changes(runtime: Runtime, scope: Scope, stored: Stored) -> list[Change]:
    """What becomes of an episode."""
    held, live = stored.value, stored.status != "archived"
    assert isinstance(held, Episode)
    left = runtime.store.knowledge.messages_of(scope.user, held)
    if not left:
        return [Archive(id=held.id, reason=EMPTY)] if live else []
    if not (live or _emptied(runtime, scope, held.id)):
        return []
    (change,) = told_again(runtime, scope.user, [(held, left)])
    if live and (change.record.title, change.record.content) == (held.title, held.content):
        return []
    return [*([] if live else [Restore(id=held.id)]), change]


def _emptied(runtime: Runtime, scope: Scope, id_: str) -> bool:
    """Whether something is archived because nothing was left of what it tells."""
    last = runtime.store.history(scope.user, id_)[-1]
    return last.operation == "archive" and last.detail.get("reason") == EMPTY


def told_again(
    runtime: Runtime, user: str, left: Sequence[tuple[object, Sequence[Message]]], *, gone: Collection[str] = ()
) -> list[AddEpisode]:
    """The next versions of episodes, told of the messages that are left of each.

    What is forgotten and not ``gone`` for good may come back: it stays a source, and none is more trusted than its sources.
    """
    consultant, against = Consultant(runtime), episodes.background(runtime, user)
    changes: list[AddEpisode] = []
    for held, messages in left:
        assert isinstance(held, Episode)
        (told,) = episodes.draft_episodes(consultant, [messages], (held.project, held.session), against=against)
        record = replace(told.episode, id=held.id, version=held.version + 1, created_at=held.created_at)
        still = tuple(id_ for id_ in held.message_ids if id_ not in gone)
        if len(still) > len(messages) or held.source_ids:
            record = replace(record, message_ids=still, source=held.source, trust=held.trust)
        (index,) = runtime.indexer.indexing([record], runtime.indexer.embedder)
        changes.append(AddEpisode(record=record, indexing=index, refine=told.unrefined))
    return changes


def summaries(told_of: Iterable[Kin]) -> dict[str, Scope]:
    """The ids that summaries of the sessions of messages have, and these sessions.

    A summary tells the names of tools without being made of what they answered.
    """
    places = {(kin.project, kin.session) for kin in told_of if kin.kind == "message" and kin.session is not None}
    scopes = [Scope(user="", project=project, session=session) for project, session in places]
    return {sessions.summary_id(scope): scope for scope in scopes}


def summarised(runtime: Runtime, scope: Scope, told_of: Sequence[Kin], zone: tzinfo) -> list[str]:
    """Summaries of sessions among what told of something, told again of what is left."""
    live = {kin.id for kin in told_of if kin.category == SESSION_SUMMARY and kin.kind == "memory" and kin.live}
    places = summaries(told_of)
    for kin in told_of:
        if kin.id in live and kin.id not in places and (names := _sessions(runtime, scope, kin)):
            places[kin.id] = Scope(user="", project=kin.project, session=names[0])
    found: list[str] = []
    for id_ in sorted(live & set(places)):
        receipt = sessions.summarise(runtime, replace(places[id_], user=scope.user), zone)
        found += [receipt.id] if receipt and receipt.changed else []
    return found


def _sessions(runtime: Runtime, scope: Scope, kin: Kin) -> list[str]:
    """The session that a summary was made of, by the messages of it that are left."""
    records = runtime.store.knowledge.records(scope.user, kin.sources).values()
    return sorted({record.session for record in records if isinstance(record, Message) and record.session})
