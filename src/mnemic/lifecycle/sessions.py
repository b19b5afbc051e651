"""Sessions: the current conversation, and its summary when it ends."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from mnemic.errors import NotFound
from mnemic.knowledge import pipeline
from mnemic.knowledge.selection import SILENT_ROLES
from mnemic.lifecycle.preferences import Preferences
from mnemic.runtime.redaction import redact_errors
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import least_trust
from mnemic.text.clock import now
from mnemic.types import AddMemory, MemoryRecord, Message, Receipt, RecordFilter, Restore, Revise, Scope, SessionView
from mnemic.types.literals import SESSION_SUMMARY

__all__ = ["Sessions", "summarise", "summary_id"]

ATTEMPTS = 5
"""Attempts against concurrent changes of a session."""
FORGOTTEN = "its summary was forgotten: restore() brings it back"
TOPICS = 5
TOOL_ROLES = frozenset({"tool", "function"})
SUMMARY_IMPORTANCE = 0.4


@redact_errors
class Sessions:
    """The conversation of a handle, while it goes on and when it ends: ``memory.sessions``."""

    def __init__(self, runtime: Runtime, scope: Scope, zone: tzinfo) -> None:
        self._runtime, self._scope, self._zone = runtime, scope, zone

    def current(self) -> SessionView:
        """The current conversation of the handle: messages, tools, preferences, and ids that contexts delivered."""
        messages = _messages(self._runtime, self._scope)
        return SessionView(
            id=self._scope.session, messages=tuple(messages), tools=_tools(messages),
            preferences=dict(Preferences(self._runtime, self._scope, self._zone)),
            given=self._runtime.delivered.of(self._scope),
        )  # fmt: skip

    def end(self) -> Receipt | None:
        """Process the handle's conversation and keep a summary of it for a week; None for an empty conversation.

        ``get_memory_context()`` without a query shows the summary at the start of a new session. Ending a conversation
        again writes the next version of its summary.
        """
        pipeline.process(self._runtime, self._scope, self._zone, limit=None, progress=None)
        return summarise(self._runtime, self._scope, self._zone)


def _messages(runtime: Runtime, scope: Scope) -> list[Message]:
    if scope.session is None:
        return []
    filters = RecordFilter(kinds=("message",), reach="user", in_session=scope.session)
    return [*runtime.store.list_messages(scope.user, filters, limit=None, newest=False)]


def _tools(messages: Sequence[Message]) -> Mapping[str, int]:
    """Counts of tool messages by tool name."""
    return dict(Counter(m.name or "tool" for m in messages if m.role in TOOL_ROLES).most_common())


def summarise(runtime: Runtime, scope: Scope, zone: tzinfo) -> Receipt | None:
    """Store a summary of a session: topics, tools and message count."""
    runtime.delivered.forget(scope)
    receipt = _summarise_once(runtime, scope, zone)
    for _ in range(ATTEMPTS - 1):
        if receipt is None or receipt.outcome != "rejected" or receipt.reason == FORGOTTEN:
            break
        receipt = _summarise_once(runtime, scope, zone)
    return receipt


def _summarise_once(runtime: Runtime, scope: Scope, zone: tzinfo) -> Receipt | None:
    """One attempt; nothing is stored if the session changes meanwhile."""
    messages = _messages(runtime, scope)
    if not messages or scope.session is None:
        return None
    filters = RecordFilter(kinds=("episode",), reach="user", in_session=scope.session)
    episodes = runtime.store.knowledge.episodes(scope.user, filters, limit=None, newest=False)
    record = _record(runtime, scope, messages, [episode.title for episode in episodes], now().astimezone(zone))
    embedder = runtime.indexer.embedder
    held = runtime.store.knowledge.records(scope.user, [record.id]).get(record.id)
    if not isinstance(held, MemoryRecord):
        if runtime.store.knowledge.duplicates(scope.user, scope.project, [record.content]):  # two short ones of one day
            record = replace(record, content=f"{record.content} Name: {scope.session}.")
        (index,) = runtime.indexer.indexing([record], embedder)
        try:
            return runtime.store.apply(scope.user, [AddMemory(record=record, indexing=index)], model=embedder.id)[0]
        except NotFound:
            return Receipt(id=record.id, outcome="rejected", reason="the session changed meanwhile; end it again")
    if held.metadata.get("message_count") == len(messages) and held.content.startswith(record.content):
        return Receipt(id=held.id, outcome="duplicate", reason="nothing was said since")
    archived = held.status == "archived"
    if archived and held.delete_after is not None and held.delete_after > record.created_at:
        return Receipt(id=held.id, outcome="rejected", reason=FORGOTTEN)
    trust = min(record.trust, held.trust)  # its earlier sources are kept
    record = replace(record, version=held.version + 1, created_at=held.created_at, trust=trust)
    (index,) = runtime.indexer.indexing([record], embedder)
    back = [Restore(id=held.id)] if archived else []  # it had expired, and the conversation continued
    return runtime.store.apply(scope.user, [*back, Revise(record=record, indexing=index)], model=embedder.id)[-1]


def summary_id(scope: Scope) -> str:
    """The id of the summary of a session."""
    named = hashlib.blake2b(f"{scope.project or ''}\0{scope.session}".encode(), digest_size=12).hexdigest()
    return f"sum_{named}"


def _record(
    runtime: Runtime, scope: Scope, messages: Sequence[Message], topics: Sequence[str], moment: datetime
) -> MemoryRecord:
    times = [m.sent_at for m in messages if m.sent_at]
    sources = [m for m in messages if m.role not in SILENT_ROLES] or messages  # tools are only named
    tools = _tools(messages)
    began = min(times)
    day = f"{began.day} {began:%B} {began.year}"
    parts = [f"Session on {day}: {len(messages)} messages."]
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
