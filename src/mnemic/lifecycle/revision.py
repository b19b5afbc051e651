"""Rewrites episodes and summaries after what they were made of was erased, forgotten, superseded or restored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import tzinfo

from mnemic.errors import Conflict
from mnemic.knowledge import episodes
from mnemic.knowledge.candidates import is_omission
from mnemic.lifecycle import sessions
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import says, without_sentences
from mnemic.text.sentences import sentences
from mnemic.types import (
    Archive,
    Change,
    Episode,
    LineageNode,
    MemoryRecord,
    Message,
    Receipt,
    Restore,
    Scope,
    Stored,
)
from mnemic.types.literals import SESSION_SUMMARY

ATTEMPTS = 5
"""Attempts against concurrent changes of an episode."""
EMPTY = "what it was made of was forgotten"
SILENT = "what it says was forgotten"
APART = "a sentence of it was forgotten"
SHOWN = "it is shown where it was said"


def update_derived(runtime: Runtime, scope: Scope, ids: Sequence[str], zone: tzinfo) -> list[Receipt]:
    """Update what goes with records that were forgotten, superseded or restored; returns the receipts of their messages.

    A message goes with the memories that say all it says, and comes back with one of them; of another, recall leaves out
    what they say. A memory is archived with any of its messages and restored with the last of them. Episodes and session
    summaries are rewritten from the remaining messages; without any they are archived until one is restored.

    Raises:
        Conflict: other writers kept changing the same episodes, which were not rewritten.
    """
    sources, receipts = _sources(runtime, scope, ids)
    _rewrite(runtime, scope, [*ids, *sources], zone)
    _put_together(runtime, scope, ids)
    return receipts


def shown_again(runtime: Runtime, scope: Scope, id: str) -> None:
    """A sentence that is left out of a message no longer is no memory: another message may have the same one."""
    record = runtime.store.get(scope.user, id).value
    if isinstance(record, MemoryRecord) and is_omission(record):
        runtime.store.apply(scope.user, [Archive(id=id, reason=SHOWN)])


def _put_together(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> None:
    """Undo what forgetting sentences made of messages that show them again.

    Such a sentence is no memory, and a memory that was taken apart comes back in place of what else it says.
    """
    restored = runtime.store.knowledge.records(scope.user, [*ids]).values()
    sources = {
        id_
        for one in restored
        if isinstance(one, MemoryRecord) and (_is_live(one) or is_omission(one))
        for id_ in one.source_ids
    }
    sources |= {str(one.id) for one in restored if isinstance(one, Message)}
    for id_, made in runtime.store.relations.memories_of(scope.user, sorted(sources)).items():
        records = runtime.store.knowledge.records(scope.user, made).values()
        own = [one for one in records if isinstance(one, MemoryRecord)]
        changes: list[Change] = [Archive(id=one.id, reason=SHOWN) for one in own if is_omission(one) and _is_live(one)]
        if changes:
            runtime.store.apply(scope.user, changes)
        apart = [one for one in own if not _is_live(one) and _archived_as(runtime, scope, one.id, APART)]
        message = runtime.store.get(scope.user, id_).value if apart else None
        if isinstance(message, Message):
            (told,) = runtime.store.relations.without_forgotten(scope.user, [message])
            whole = [one for one in apart if says(told.content, one.content)]
            runtime.store.apply(
                scope.user, [change for one in whole for change in _rejoining(runtime, scope, one, own)]
            )


def _rejoining(runtime: Runtime, scope: Scope, whole: MemoryRecord, others: Sequence[MemoryRecord]) -> list[Change]:
    """Changes that bring back a memory which was taken apart, in place of the sentences that became memories then."""
    moment = runtime.store.history(scope.user, whole.id)[-1].at
    said = sentences(whole.content)
    return [
        *(
            Archive(id=one.id, reason=SHOWN)
            for one in others
            if one.content in said
            and _is_live(one)
            and one.version == 1
            and one.expired_at is None
            and any(event.at == moment for event in runtime.store.history(scope.user, one.id))
        ),
        Restore(id=whole.id),
    ]


def _is_live(record: MemoryRecord) -> bool:
    return record.status != "archived"


def evidence(runtime: Runtime, scope: Scope, ids: Iterable[str]) -> dict[str, list[MemoryRecord]]:
    """The messages that memories were taken from and that say what they say, with these memories."""
    found: dict[str, list[MemoryRecord]] = {}
    memories = [r for r in runtime.store.knowledge.records(scope.user, [*ids]).values() if isinstance(r, MemoryRecord)]
    sources = sorted({id_ for memory in memories for id_ in memory.source_ids})
    for id_, message in runtime.store.knowledge.records(scope.user, sources).items():
        own = [memory for memory in memories if id_ in memory.source_ids]
        if (
            isinstance(message, Message)
            and without_sentences(message.content, [m.content for m in own]) != message.content
        ):
            found[id_] = own
    return found


def _sources(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> tuple[list[str], list[Receipt]]:
    """Archive the messages that say nothing but what was forgotten, restore those that say something again.

    Returns:
        The ids of all messages that say what the memories say, and a receipt for each that was changed.
    """
    found = evidence(runtime, scope, ids)
    changes: list[Change] = []
    for id_ in found:
        stored = runtime.store.get(scope.user, id_)
        assert isinstance(stored.value, Message)
        (told,) = runtime.store.relations.without_forgotten(scope.user, [stored.value])
        if stored.status != "archived" and not told.content:
            changes.append(Archive(id=id_, reason=SILENT))
        elif stored.status == "archived" and told.content and _archived_as(runtime, scope, id_, SILENT):
            changes.append(Restore(id=id_))
    done = runtime.store.apply(scope.user, changes) if changes else ()
    why = "it says the same and nothing else"
    return [*found], [
        replace(receipt, reason=f"{why}: {', '.join(m.id for m in found[receipt.id])}") for receipt in done
    ]


def _rewrite(runtime: Runtime, scope: Scope, ids: Sequence[str], zone: tzinfo) -> None:
    """Rewrite what was derived from messages."""
    number, docs = runtime.store.user(scope.user), runtime.store.docs_of(scope.user, ids, kind="message")
    if number is None or not docs:
        return
    messages = runtime.store.fetch(number, list(docs.values())).values()
    if changes := _memories(runtime, scope, ids):
        runtime.store.apply(scope.user, changes)
    for _ in range(ATTEMPTS):
        # every episode that contains them, because a parent of a merged one may have been restored by hand
        episodes = runtime.store.fetch(number, runtime.store.relations.episodes_of(scope.user, ids))
        changes = [change for held in episodes.values() for change in _changes(runtime, scope, held)]
        try:
            receipts = runtime.store.apply(scope.user, changes, model=runtime.indexer.embedder.id) if changes else ()
        except Conflict:
            continue
        if all(receipt.changed for receipt in receipts):
            break
    else:
        raise Conflict(
            "The records are changed, but other writers kept changing the episodes that contain them, which were not "
            "rewritten. Call this again when the writers are idle."
        )
    _summaries(runtime, scope, messages, zone)


def update_superseded(runtime: Runtime, scope: Scope, by: str, zone: tzinfo) -> None:
    """Update what goes with the records that a memory superseded."""
    before = runtime.store.relations.predecessors(scope.user, [by]).get(by, ())
    update_derived(runtime, scope, [record.id for record in before], zone)


def _summaries(runtime: Runtime, scope: Scope, messages: Iterable[Stored], zone: tzinfo) -> None:
    """Rewrite the summaries of the sessions of messages."""
    for project, session in {(m.project, m.value.session) for m in messages if isinstance(m.value, Message)}:
        _summarise_again(runtime, Scope(user=scope.user, project=project, session=session), zone)


def _memories(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[Change]:
    """Changes of the memories derived from messages."""
    made = runtime.store.relations.memories_of(scope.user, ids)
    silent = {id_ for id_ in made if _is_silent(runtime, scope, id_)}
    records = runtime.store.knowledge.records(scope.user, sorted({id_ for own in made.values() for id_ in own}))
    changes: list[Change] = []
    for id_, record in records.items():
        assert isinstance(record, MemoryRecord)
        archived = record.status == "archived"
        if any(runtime.store.get(scope.user, source).status == "archived" for source in record.source_ids):
            changes += [] if archived else [Archive(id=id_, reason=EMPTY)]
        elif archived and (silent.intersection(record.source_ids) or _archived_as(runtime, scope, id_, EMPTY)):
            changes.append(Restore(id=id_))
    return changes


def _is_silent(runtime: Runtime, scope: Scope, id: str) -> bool:
    """Whether a live message says nothing but what was forgotten: it was restored by hand, and so is what it says."""
    stored = runtime.store.get(scope.user, id)
    if stored.status == "archived" or not isinstance(stored.value, Message):
        return False
    return not runtime.store.relations.without_forgotten(scope.user, [stored.value])[0].content


def _summarise_again(runtime: Runtime, place: Scope, zone: tzinfo) -> None:
    """Rewrite the summary of a session, if there is one, from the remaining messages; archive it without any."""
    id_ = sessions.summary_id(place)
    held = runtime.store.knowledge.records(place.user, [id_]).get(id_)
    if not isinstance(held, MemoryRecord):
        return
    if held.status == "archived":
        if not _archived_as(runtime, place, id_, EMPTY):
            return  # forgotten, or its time is over
        runtime.store.apply(place.user, [Restore(id=id_)])
    if sessions.summarise(runtime, place, zone) is None and held.status != "archived":
        runtime.store.apply(place.user, [Archive(id=id_, reason=EMPTY)])


def _changes(runtime: Runtime, scope: Scope, stored: Stored) -> list[Change]:
    """Changes of an episode."""
    held, live = stored.value, stored.status != "archived"
    assert isinstance(held, Episode)
    remaining = runtime.store.knowledge.messages_of(scope.user, held)
    if not remaining:
        return [Archive(id=held.id, reason=EMPTY)] if live else []
    if not (live or _archived_as(runtime, scope, held.id, EMPTY)):
        return []
    (change,) = episodes.rewritten(runtime, scope.user, [(held, remaining)])
    if live and (change.record.title, change.record.content) == (held.title, held.content):
        return []
    return [*([] if live else [Restore(id=held.id)]), change]


def _archived_as(runtime: Runtime, scope: Scope, id_: str, reason: str) -> bool:
    """Whether a record was archived for a reason of this module."""
    last = runtime.store.history(scope.user, id_)[-1]
    return last.operation == "archive" and last.detail.get("reason") == reason


def summary_scopes(kin_records: Iterable[LineageNode]) -> dict[str, Scope]:
    """Ids of the session summaries of messages, and their scopes.

    Summaries name tools without citing their messages, so lineage alone does not find them.
    """
    places = {(kin.project, kin.session) for kin in kin_records if kin.kind == "message" and kin.session is not None}
    scopes = [Scope(user="", project=project, session=session) for project, session in places]
    return {sessions.summary_id(scope): scope for scope in scopes}


def rewrite_summaries(runtime: Runtime, scope: Scope, kin_records: Sequence[LineageNode], zone: tzinfo) -> list[str]:
    """Rewrite the session summaries among some records; returns the ids of those that changed."""
    live = {kin.id for kin in kin_records if kin.category == SESSION_SUMMARY and kin.kind == "memory" and kin.live}
    places = summary_scopes(kin_records)
    for kin in kin_records:
        if kin.id in live and kin.id not in places and (names := _sessions(runtime, scope, kin)):
            places[kin.id] = Scope(user="", project=kin.project, session=names[0])
    found: list[str] = []
    for id_ in sorted(live & set(places)):
        receipt = sessions.summarise(runtime, replace(places[id_], user=scope.user), zone)
        found += [receipt.id] if receipt and receipt.changed else []
    return found


def _sessions(runtime: Runtime, scope: Scope, kin: LineageNode) -> list[str]:
    """The sessions of a summary's remaining messages."""
    records = runtime.store.knowledge.records(scope.user, kin.sources).values()
    return sorted({record.session for record in records if isinstance(record, Message) and record.session})
