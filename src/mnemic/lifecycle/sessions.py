"""Sessions: the current conversation, and its summary when it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from itertools import pairwise

from mnemic.emotion.estimate import with_emotion
from mnemic.errors import NotFound
from mnemic.ingest import stable_id
from mnemic.knowledge import episodes, pipeline, segmentation
from mnemic.lifecycle.preferences import Preferences
from mnemic.recall.procedures import is_tool_name, tools_used
from mnemic.runtime.runtime import Runtime
from mnemic.text.english import is_small_talk
from mnemic.text.values import counted, now, to_micros
from mnemic.types import (
    AddMemory,
    Kind,
    MemoryRecord,
    Message,
    Receipt,
    RecordFilter,
    Restore,
    Revise,
    Scope,
    SessionView,
)
from mnemic.types.literals import SESSION_SUMMARY, SILENT_ROLES
from mnemic.types.records import least_trust
from mnemic.validation import redact_errors

ATTEMPTS = 5
"""Attempts against concurrent changes of a session."""
FORGOTTEN = "its summary was forgotten: restore() brings it back"
TOPICS = 5
READ = 400
"""Latest messages that topics are taken from if they are not processed yet."""
TOOL_ROLES = frozenset({"tool", "function"})
SUMMARY_IMPORTANCE = 0.4


@redact_errors
class Sessions:
    """The conversation of a handle, while it goes on and when it ends: ``memory.sessions``."""

    def __init__(self, runtime: Runtime, scope: Scope, zone: tzinfo) -> None:
        self._runtime, self._scope, self._zone = runtime, scope, zone

    def current(self) -> SessionView:
        """The handle's conversation so far: messages, tools, preferences, recalled ids.

        Without a session, ``id`` is None and there are no messages.
        """
        messages = _messages(self._runtime, self._scope)
        return SessionView(
            id=self._scope.session, messages=tuple(messages), tools=_tools(messages),
            preferences=dict(Preferences(self._runtime, self._scope, self._zone)),
            given=self._runtime.delivered.of(self._scope),
        )  # fmt: skip

    def end(self) -> Receipt | None:
        """Process the user's waiting messages, and summarize the handle's conversation.

        All waiting messages of the user are processed, also those of other
        conversations. The summary is kept for a week
        (``RetentionPolicy.session_summary_days``); ``get_memory_context()`` without a
        query shows it at the start of a new session. Ending a conversation again writes
        the next version of its summary.

        Returns:
            The receipt of the summary; None if the conversation is empty or the handle
            has no session.
        """
        pipeline.process(self._runtime, self._scope, self._zone, limit=None, progress=None)
        self._runtime.delivered.forget(self._scope)
        return self.summarize()

    def summarize(self) -> Receipt | None:
        """Keep a summary of the handle's conversation for a week, as ``end`` does, but without processing it.

        Its topics are the titles of its episodes, and sentences of the messages that are in none yet. When it has been
        processed, idle work and ``end`` write the next version.
        """
        return summarize(self._runtime, self._scope, self._zone)


def _session_filter(scope: Scope, kind: Kind) -> RecordFilter:
    return RecordFilter(kinds=(kind,), reach="project", project=scope.project, in_session=scope.session)


def _messages(runtime: Runtime, scope: Scope) -> list[Message]:
    if scope.session is None:
        return []
    return [*runtime.store.list_messages(scope.user, _session_filter(scope, "message"), limit=None, newest=False)]


def _tools(messages: Sequence[Message]) -> Mapping[str, int]:
    """How often each tool was used: its messages, and what answers note. What is no name of a tool is left out."""
    names = [name for m in messages if m.role in TOOL_ROLES and is_tool_name(name := m.name or "tool")]
    return dict(Counter(names + [use.name for m in messages for use in tools_used(m.metadata)]).most_common())


def summarize(runtime: Runtime, scope: Scope, zone: tzinfo) -> Receipt | None:
    """Store a summary of a session: topics, tools and message count."""
    receipt = _summarize_once(runtime, scope, zone)
    for _ in range(ATTEMPTS - 1):
        if receipt is None or receipt.outcome != "rejected" or receipt.reason == FORGOTTEN:
            break
        receipt = _summarize_once(runtime, scope, zone)
    return receipt


def summarize_quiet(runtime: Runtime, scope: Scope, zone: tzinfo, halted: Callable[[], bool] = lambda: False) -> None:
    """Summarize the user's sessions that fell quiet since their last summary, each once.

    A session is quiet after ``Idle.idle_seconds``. One that ended longer ago than a summary is kept is left alone, such
    as an imported one.
    """
    moment, settings = now(), runtime.settings
    since = moment - timedelta(days=settings.retention.session_summary_days)
    until = moment - timedelta(seconds=settings.idle.idle_seconds)
    rows = runtime.store.knowledge.sessions(scope.user, to_micros(since), to_micros(until))
    sessions = {Scope(user=scope.user, project=project, session=session): last for project, session, last in rows}
    summaries = runtime.store.knowledge.records(scope.user, [*map(summary_id, sessions)])
    for session, last in sessions.items():
        if halted():
            return
        summary = summaries.get(summary_id(session))
        if not isinstance(summary, MemoryRecord) or summary.said_at is None or to_micros(summary.said_at) < last:
            summarize(runtime, session, zone)


def _summarize_once(runtime: Runtime, scope: Scope, zone: tzinfo) -> Receipt | None:
    """One attempt; nothing is stored if the session changes meanwhile."""
    remaining = runtime.store.relations.without_forgotten(scope.user, _messages(runtime, scope))
    messages = [message for message in remaining if message.content]
    if not messages or scope.session is None:
        return None
    record = _record(runtime, scope, messages, _topics(runtime, scope, messages), now().astimezone(zone))
    existing = runtime.store.knowledge.records(scope.user, [record.id]).get(record.id)
    if not isinstance(existing, MemoryRecord):
        if runtime.store.knowledge.duplicates(scope.user, [record]):  # two short ones of one day
            name = scope.session if is_tool_name(scope.session) else record.id
            record = replace(record, content=f"{record.content} Name: {name}.")
        ((record, index),) = runtime.indexer.indexed([record])
        record = with_emotion(record, index)
        try:
            return runtime.store.apply(scope.user, [AddMemory(record=record, indexing=index)])[0]
        except NotFound:
            return Receipt(id=record.id, outcome="rejected", reason="the session changed meanwhile; end it again")
    if existing.metadata.get("message_count") == len(messages) and existing.content.startswith(record.content):
        return Receipt(id=existing.id, outcome="duplicate", reason="nothing was said since")
    archived = existing.status == "archived"
    if archived and existing.delete_after is not None and existing.delete_after > record.created_at:
        return Receipt(id=existing.id, outcome="rejected", reason=FORGOTTEN)
    trust = min(record.trust, existing.trust)  # its earlier sources are kept
    record = replace(record, version=existing.version + 1, created_at=existing.created_at, trust=trust)
    ((record, index),) = runtime.indexer.indexed([record])
    record = with_emotion(record, index)
    restores = [Restore(id=existing.id)] if archived else []  # it had expired, and the conversation continued
    return runtime.store.apply(scope.user, [*restores, Revise(record=record, indexing=index)])[-1]


def _topics(runtime: Runtime, scope: Scope, messages: Sequence[Message]) -> list[str]:
    """The titles of a session's episodes, then those of what is in none yet; none of small talk.

    Where something was superseded, the title is a new one.
    """
    stored = runtime.store.knowledge.episodes(scope.user, _session_filter(scope, "episode"), limit=None, newest=False)
    covered = {id_ for episode in stored for id_ in episode.message_ids}
    by_id = {m.id: m for m in messages}
    current = {m.id: m for m in runtime.store.relations.holding(scope.user, messages) if m.content}
    titles: list[str] = []
    for episode in stored:
        ids = [id_ for id_ in episode.message_ids if id_ in by_id]
        unchanged = all(current.get(id_) == by_id[id_] for id_ in ids)
        titles.append(episode.title if unchanged else episodes.title([current[id_] for id_ in ids if id_ in current]))
    rest = [m for m in [*current.values()][-READ:] if m.id not in covered and m.role not in SILENT_ROLES]
    if rest:
        starts = segmentation.boundaries(rest, None, time_gap=runtime.settings.processing.time_gap)
        titles += [episodes.title(rest[start:end]) for start, end in pairwise([*starts, len(rest)])]
    return [title for title in titles if title and not is_small_talk(title)]


def summary_id(scope: Scope) -> str:
    """The id of the summary of a session."""
    return stable_id("sum_", scope.project or "", str(scope.session))


def _record(
    runtime: Runtime, scope: Scope, messages: Sequence[Message], topics: Sequence[str], moment: datetime
) -> MemoryRecord:
    times = [m.sent_at for m in messages if m.sent_at]
    sources = [m for m in messages if m.role not in SILENT_ROLES] or messages  # tools are only named
    tools = _tools(messages)
    began = min(times)
    day = f"{began.day} {began:%B} {began.year}"
    parts = [f"Session on {day}: {counted({'message': len(messages)})}."]
    if topics:
        parts.append(f"Topics: {'; '.join(dict.fromkeys(topics[-TOPICS:]))}.")
    if tools:
        parts.append("Tools: " + ", ".join(f"{name} ({count})" for name, count in tools.items()) + ".")
    return MemoryRecord(
        id=summary_id(scope), content=" ".join(parts), type="episodic", category=SESSION_SUMMARY, importance=SUMMARY_IMPORTANCE,
        salience=SUMMARY_IMPORTANCE, tags=("session",), source_ids=tuple(str(m.id) for m in sources),
        metadata={"session": scope.session, "message_count": len(messages), "tools": dict(tools), "topics": list(topics)},
        project=scope.project, source="tool_internal", trust=least_trust(m.trust for m in sources),
        said_at=max(times), valid_at=began, created_at=moment, updated_at=moment,
        delete_after=moment + timedelta(days=runtime.settings.retention.session_summary_days),
    )  # fmt: skip
