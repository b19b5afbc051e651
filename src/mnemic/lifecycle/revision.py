"""Rewrites episodes and summaries after what they were made of was erased, forgotten, superseded or restored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import pairwise

from mnemic.errors import Conflict
from mnemic.knowledge import episodes
from mnemic.knowledge.candidates import is_made, is_omission, stated
from mnemic.lifecycle import sessions
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import says, without_sentences
from mnemic.text.sentences import sentences
from mnemic.text.values import to_micros
from mnemic.types import (
    AddMemory,
    Archive,
    Change,
    Episode,
    LineageNode,
    MemoryRecord,
    Message,
    Receipt,
    RecordFilter,
    Restore,
    Scope,
    Stored,
)
from mnemic.types.literals import SESSION_SUMMARY
from mnemic.types.records import last_transition

ATTEMPTS = 5
"""Attempts against concurrent changes of an episode."""
ADJACENT = 10
"""Messages read from the time of one on, or up to it, to find the one beside it."""
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
    sources, receipts = _update_messages(runtime, scope, ids)
    _rewrite(runtime, scope, [*ids, *sources, *_cited(runtime, scope, ids)], zone)
    _rejoin(runtime, scope, ids)
    return receipts


def _cited(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> set[str]:
    """What some memories were made of: a language model may have told them in other words, in episodes as well."""
    return {id_ for memory in runtime.store.knowledge.memories(scope.user, ids) for id_ in memory.source_ids}


def archive_omission(runtime: Runtime, scope: Scope, id: str) -> None:
    """Archive a restored record that only tells that a sentence is left out of a message: it is shown there again."""
    record = runtime.store.get(scope.user, id).value
    if isinstance(record, MemoryRecord) and is_omission(record):
        runtime.store.apply(scope.user, [Archive(id=id, reason=SHOWN)])


def _rejoin(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> None:
    """Undo what forgetting sentences made of messages that show them again.

    Such a sentence is no memory, and a memory that was taken apart comes back in place of its parts.
    """
    restored = runtime.store.knowledge.records(scope.user, [*ids]).values()
    sources = {
        id_
        for record in restored
        if isinstance(record, MemoryRecord) and (_is_live(record) or is_omission(record))
        for id_ in record.source_ids
    }
    sources |= {str(record.id) for record in restored if isinstance(record, Message)}
    for id_, derived_ids in runtime.store.relations.memories_of(scope.user, sorted(sources)).items():
        derived = runtime.store.knowledge.memories(scope.user, derived_ids)
        omissions = [memory.id for memory in derived if is_omission(memory) and _is_live(memory)]
        if omissions:
            runtime.store.apply(scope.user, [Archive(id=omission_id, reason=SHOWN) for omission_id in omissions])
        divided = [m for m in derived if not _is_live(m) and _archived_as(runtime, scope, m.id, APART)]
        message = runtime.store.get(scope.user, id_).value if divided else None
        if isinstance(message, Message):
            (remaining,) = runtime.store.relations.without_forgotten(scope.user, [message])
            whole = [memory for memory in divided if says(remaining.content, memory.content)]
            changes = [change for memory in whole for change in _rejoin_changes(runtime, scope, memory, derived)]
            runtime.store.apply(scope.user, changes)


def _rejoin_changes(
    runtime: Runtime, scope: Scope, whole: MemoryRecord, derived: Sequence[MemoryRecord]
) -> list[Change]:
    """Changes that bring back a memory which was taken apart, in place of the sentences that became memories then."""
    divided = last_transition(runtime.store.history(scope.user, whole.id))
    parts = sentences(whole.content)
    return [
        *(
            Archive(id=memory.id, reason=SHOWN)
            for memory in derived
            if memory.content in parts
            and _is_live(memory)
            and memory.version == 1
            and memory.expired_at is None
            and any(
                divided is not None and event.at == divided.at for event in runtime.store.history(scope.user, memory.id)
            )
        ),
        Restore(id=whole.id),
    ]


def _is_live(record: MemoryRecord) -> bool:
    return record.status != "archived"


def evidence(runtime: Runtime, scope: Scope, ids: Iterable[str]) -> dict[str, list[MemoryRecord]]:
    """The messages that memories were taken from and that say what they say, with these memories."""
    by_message: dict[str, list[MemoryRecord]] = {}
    memories = runtime.store.knowledge.memories(scope.user, ids)
    sources = sorted({id_ for memory in memories for id_ in memory.source_ids})
    for id_, message in runtime.store.knowledge.records(scope.user, sources).items():
        derived = [memory for memory in memories if id_ in memory.source_ids]
        if (
            isinstance(message, Message)
            and without_sentences(message.content, [m.content for m in derived]) != message.content
        ):
            by_message[id_] = derived
    return by_message


def counterpart(runtime: Runtime, scope: Scope, message: Message) -> Message | None:
    """The assistant's reply to a message, or the user's message that a reply follows."""
    assert message.sent_at is not None
    is_reply, moment = message.role == "assistant", to_micros(message.sent_at)
    beside = RecordFilter(
        kinds=("message",),
        reach="project",
        project=runtime.store.get(scope.user, str(message.id)).project,
        in_session=message.session,
        since=None if is_reply else moment,
        until=moment + 1 if is_reply else None,
    )
    messages = runtime.store.list_messages(scope.user, beside, limit=ADJACENT, newest=is_reply)
    pairs = [(b, a) if is_reply else (a, b) for a, b in pairwise(messages)]
    other = next((other for one, other in pairs if one.id == message.id), None)
    role = "user" if is_reply else "assistant"
    return other if other and other.role == role and other.session == message.session else None


def _update_messages(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> tuple[list[str], list[Receipt]]:
    """Archive the messages that say nothing but what was forgotten, restore those that say something again.

    Returns:
        The ids of all messages that say what the memories say, and a receipt for each that was changed.
    """
    by_message = evidence(runtime, scope, ids)
    changes: list[Change] = []
    for id_ in by_message:
        stored = runtime.store.get(scope.user, id_)
        assert isinstance(stored.value, Message)
        (remaining,) = runtime.store.relations.without_forgotten(scope.user, [stored.value])
        if stored.status != "archived" and not remaining.content:
            changes.append(Archive(id=id_, reason=SILENT))
        elif stored.status == "archived" and remaining.content and _archived_as(runtime, scope, id_, SILENT):
            changes.append(Restore(id=id_))
    applied = runtime.store.apply(scope.user, changes) if changes else ()
    return [*by_message], [replace(receipt, reason=_same(by_message[receipt.id])) for receipt in applied]


def _same(memories: Sequence[MemoryRecord]) -> str:
    return f"it says the same and nothing else: {', '.join(memory.id for memory in memories)}"


def emptied(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[Receipt]:
    """Receipts of the other messages that would go with records, were they forgotten now."""
    by_message = evidence(runtime, scope, ids)
    stored = [runtime.store.get(scope.user, id_) for id_ in by_message.keys() - {*ids}]
    live = [record.value for record in stored if record.status != "archived" and isinstance(record.value, Message)]
    remainders = {
        str(m.id): without_sentences(m.content, [memory.content for memory in by_message[str(m.id)]])
        for m in runtime.store.relations.without_forgotten(scope.user, live)
    }
    return [
        Receipt(id=id_, outcome="forgotten", reason=_same(memories))
        for id_, memories in by_message.items()
        if remainders.get(id_) == ""
    ]


def _rewrite(runtime: Runtime, scope: Scope, ids: Sequence[str], zone: tzinfo) -> None:
    """Rewrite what was derived from messages."""
    user_id, docs = runtime.store.user(scope.user), runtime.store.docs_of(scope.user, ids, kind="message")
    if user_id is None or not docs:
        return
    if changes := _memory_changes(runtime, scope, ids):
        runtime.store.apply(scope.user, changes)
    for _ in range(ATTEMPTS):
        # every episode that contains them, because a parent of a merged one may have been restored by hand
        stored = runtime.store.fetch(user_id, runtime.store.relations.episodes_of(scope.user, ids))
        changes = [change for episode in stored.values() for change in _episode_changes(runtime, scope, episode)]
        try:
            receipts = runtime.store.apply(scope.user, changes) if changes else ()
        except Conflict:
            continue
        if all(receipt.changed for receipt in receipts):
            break
    else:
        raise Conflict(
            "The records are changed, but other writers kept changing the episodes that contain them, which were not "
            "rewritten. Call this again when the writers are idle."
        )
    update_summaries(runtime, scope, ids, zone)


def update_superseded(runtime: Runtime, scope: Scope, by: str, zone: tzinfo) -> None:
    """Update what goes with the records that a memory superseded."""
    before = runtime.store.relations.predecessors(scope.user, [by]).get(by, ())
    update_derived(runtime, scope, [record.id for record in before], zone)


def update_summaries(runtime: Runtime, scope: Scope, ids: Sequence[str], zone: tzinfo) -> None:
    """Rewrite the summaries of the sessions of messages, which name tools without citing their messages."""
    user_id, docs = runtime.store.user(scope.user), runtime.store.docs_of(scope.user, ids, kind="message")
    if user_id is None or not docs:
        return
    messages = runtime.store.fetch(user_id, [*docs.values()]).values()
    for project, session in {(m.project, m.value.session) for m in messages if isinstance(m.value, Message)}:
        _update_summary(runtime, Scope(user=scope.user, project=project, session=session), zone)


def _memory_changes(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[Change]:
    """Changes of the memories derived from messages."""
    by_message = runtime.store.relations.memories_of(scope.user, ids)
    silent = {id_ for id_ in by_message if _is_silent(runtime, scope, id_)}
    derived = sorted({id_ for ids in by_message.values() for id_ in ids})
    changes, lost = list[Change](), list[MemoryRecord]()
    for record in runtime.store.knowledge.memories(scope.user, derived):
        archived = record.status == "archived"
        if any(runtime.store.get(scope.user, source).status == "archived" for source in record.source_ids):
            changes += [] if archived else [Archive(id=record.id, reason=EMPTY)]
            lost += [] if archived or record.expired_at else [record]
        elif archived and (silent.intersection(record.source_ids) or _archived_as(runtime, scope, record.id, EMPTY)):
            changes.append(Restore(id=record.id))
    return [*changes, *said_again(runtime, scope, lost, by_message)]


_OF_MESSAGE = ("id", "source_ids", "speaker", "source", "trust", "valid_at", "created_at", "updated_at")
"""Fields of a memory that its message gives it."""


def said_again(runtime: Runtime, scope: Scope, memories: Iterable[MemoryRecord], gone: Collection[str]) -> list[Change]:
    """Changes that keep what a later message says as well, as a memory of that message.

    A sentence that is said again makes no second memory: the first one takes the later time.

    Args:
        runtime: the record.
        scope: its user.
        memories: those that go.
        gone: the messages that go.
    """
    records: list[MemoryRecord] = []
    for memory in filter(is_made, memories):
        assert memory.said_at is not None
        moment = to_micros(memory.said_at)
        then = RecordFilter(kinds=("message",), reach="project", project=memory.project, since=moment, until=moment + 1)
        for message in runtime.store.list_messages(scope.user, then, limit=ADJACENT, newest=False):
            if message.id not in (*gone, *memory.source_ids) and says(message.content, memory.content):
                again = stated(message, memory.content, memory.project)
                own = {name: getattr(again, name) for name in _OF_MESSAGE}
                records.append(replace(memory, version=1, status="short_term", access_count=0, **own))
                break
    return [AddMemory(record=record, indexing=index) for record, index in runtime.indexer.indexed(records)]


def _is_silent(runtime: Runtime, scope: Scope, id: str) -> bool:
    """Whether a live message says nothing but what was forgotten: it was restored by hand, and so is what it says."""
    stored = runtime.store.get(scope.user, id)
    if stored.status == "archived" or not isinstance(stored.value, Message):
        return False
    return not runtime.store.relations.without_forgotten(scope.user, [stored.value])[0].content


def _update_summary(runtime: Runtime, session: Scope, zone: tzinfo) -> None:
    """Rewrite the summary of a session, if there is one, from the remaining messages; archive it without any."""
    id_ = sessions.summary_id(session)
    summary = runtime.store.knowledge.records(session.user, [id_]).get(id_)
    if not isinstance(summary, MemoryRecord):
        return
    if summary.status == "archived":
        if not _archived_as(runtime, session, id_, EMPTY):
            return  # forgotten, or its time is over
        runtime.store.apply(session.user, [Restore(id=id_)])
    if sessions.summarize(runtime, session, zone) is None and summary.status != "archived":
        runtime.store.apply(session.user, [Archive(id=id_, reason=EMPTY)])


def _episode_changes(runtime: Runtime, scope: Scope, stored: Stored) -> list[Change]:
    """Changes of an episode."""
    episode, live = stored.value, stored.status != "archived"
    assert isinstance(episode, Episode)
    remaining = runtime.store.knowledge.messages_of(scope.user, episode)
    if not remaining:
        return [Archive(id=episode.id, reason=EMPTY)] if live else []
    if not (live or _archived_as(runtime, scope, episode.id, EMPTY)):
        return []
    (change,) = episodes.rewritten(runtime, scope.user, [(episode, remaining)])
    if live and (change.record.title, change.record.content) == (episode.title, episode.content):
        return []
    return [*([] if live else [Restore(id=episode.id)]), change]


def _archived_as(runtime: Runtime, scope: Scope, id_: str, reason: str) -> bool:
    """Whether a record was archived for a reason of this module."""
    last = last_transition(runtime.store.history(scope.user, id_))
    return last is not None and last.operation == "archive" and last.detail.get("reason") == reason


def summary_scopes(nodes: Iterable[LineageNode]) -> dict[str, Scope]:
    """Ids of the session summaries of messages, and their scopes.

    Summaries name tools without citing their messages, so lineage alone does not find them.
    """
    levels = {(node.project, node.session) for node in nodes if node.kind == "message" and node.session is not None}
    scopes = [Scope(user="", project=project, session=session) for project, session in levels]
    return {sessions.summary_id(scope): scope for scope in scopes}


def rewrite_summaries(runtime: Runtime, scope: Scope, nodes: Sequence[LineageNode], zone: tzinfo) -> list[str]:
    """Rewrite the session summaries among some records; returns the ids of those that changed."""
    live = {node.id for node in nodes if node.category == SESSION_SUMMARY and node.kind == "memory" and node.live}
    scopes = summary_scopes(nodes)
    for node in nodes:
        if node.id in live and node.id not in scopes and (names := _sessions(runtime, scope, node)):
            scopes[node.id] = Scope(user="", project=node.project, session=names[0])
    changed: list[str] = []
    for id_ in sorted(live & set(scopes)):
        receipt = sessions.summarize(runtime, replace(scopes[id_], user=scope.user), zone)
        changed += [receipt.id] if receipt and receipt.changed else []
    return changed


def _sessions(runtime: Runtime, scope: Scope, node: LineageNode) -> list[str]:
    """The sessions of a summary's remaining messages."""
    records = runtime.store.knowledge.records(scope.user, node.sources).values()
    return sorted({record.session for record in records if isinstance(record, Message) and record.session})
