"""MnemicMemoryService: the memory service of a runner, for the framework's own memory tools and callbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from adk_mnemic.events import EVENTS, text_of, thread_messages
from adk_mnemic.scopes import Caller, as_named, caller_of, here
from mnemic import AsyncMemory, Hit, InvalidInput, Memory, Mood, ScopeSource
from mnemic.adapters import as_async, checked_filters, log_rejected, recall_failures_logged, sent_at, thread_of, tools
from mnemic.types.literals import Evidence


class MnemicMemoryService(BaseMemoryService):
    """The memory service of a ``Runner``: ``Runner(..., memory_service=MnemicMemoryService(memory))``.

    The framework's tools ``load_memory`` and ``preload_memory`` search it. It stores what the user and the agents said, under
    the ids of their events: a session that is added again, or was stored by ``MnemicPlugin``, is stored once. Instructions,
    tool calls, their results and reasoning are not stored.

    Args:
        memory: what to search and to store into; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``Caller``; names it leaves out are those of ``memory``. By default
            the ``user_id`` is the user and the ``app_name`` the project. The session is the ``session_id`` unless the handle
            or the scope has one.
        max_results: most results of a search, 1 to 10,000.
        min_evidence: a search that is graded lower finds nothing.
        filters: what may be found: fields of ``SearchFilters``, such as ``{"kinds": ["memory"]}``.
        mood: what to rank by beside relevance; see ``Memory.search``.
        emotion_weight: of the mood, 0 to 1.
        idle: arm ``memory.idle`` when something is stored: after an idle period new messages are processed and consolidated,
            on a background thread.

    Raises:
        ConfigurationError: an argument is not understood.

    Examples:
        >>> import asyncio
        >>> memory = Memory(":memory:", embedder="hashing")
        >>> service = MnemicMemoryService(memory)
        >>> _ = memory.scoped(user="ana", project="shop").remember("Ana lives in Lisbon.")
        >>> found = asyncio.run(service.search_memory(app_name="shop", user_id="ana", query="Where does Ana live?"))
        >>> found.memories[0].content.parts[0].text
        'Ana lives in Lisbon.'
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        scope: ScopeSource = as_named,
        max_results: int = 8,
        min_evidence: Literal["strong", "weak", "none"] = "weak",
        filters: Mapping[str, Any] | None = None,
        mood: Mood = None,
        emotion_weight: float = 0.3,
        idle: bool = True,
    ) -> None:
        self._search = tools.Search(max_results=max_results, mood=mood, emotion_weight=emotion_weight)
        own = ("k", "mood", "emotion_weight", "query")
        self._options = checked_filters(Memory.search, filters, reserved=own, min_evidence=min_evidence)
        self._face, self._scope, self._limit, self._idle = as_async(memory), scope, max_results, idle

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what is new in a session: what comes after the latest message that is stored.

        What is not stored before that one was erased, and stays so.
        """
        handle = here(self._face, self._scope, caller_of(session))
        records = thread_of(handle, thread_messages(session.events)).records()
        known = {message.id for message in await handle.messages(session=handle.scope.session)}
        last = max((at for at, record in enumerate(records) if record.id in known), default=-1)
        log_rejected(await handle.add(records[last + 1 :]))
        self._arm(handle)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store what some events say.

        Args:
            app_name: of the app.
            user_id: of the user.
            events: such as those of the last turn.
            session_id: of the session.
            custom_metadata: a JSON object that is kept with each message.
        """
        handle = here(self._face, self._scope, Caller(app_name, user_id, session_id))
        messages = thread_messages(events)
        if custom_metadata:
            messages = [replace(m, metadata={**custom_metadata, **m.metadata}) for m in messages]
        log_rejected(await handle.add(thread_of(handle, messages).records()))
        self._arm(handle)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember statements.

        Args:
            app_name: of the app.
            user_id: of the user.
            memories: one statement each. What has another author than ``user`` is kept as a model's inference.
            custom_metadata: a JSON object that is kept with each memory, beside its own.

        Raises:
            InvalidInput: one was not remembered; those before it were.
        """
        handle = here(self._face, self._scope, Caller(app_name, user_id))
        for entry in memories:
            receipt = await handle.remember(
                text_of(entry.content), id=entry.id, metadata={**(custom_metadata or {}), **entry.custom_metadata},
                source="direct_user" if entry.author in (None, "user") else "model_inference",
                valid_at=sent_at({"sent_at": entry.timestamp}),
            )  # fmt: skip
            if receipt.outcome == "rejected":
                raise InvalidInput(f"Not remembered: {receipt.reason}")
        self._arm(handle)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What bears on a query, best first; nothing if the record cannot be read, which is logged.

        Each memory has the ``evidence`` of the search in its ``custom_metadata``, and what superseded it. Called by a tool of
        a run that ``MnemicPlugin`` follows, it leaves out what the user says in that run.
        """
        handle = here(self._face, self._scope, Caller(app_name, user_id))
        found: list[MemoryEntry] = []
        if query.strip():
            with recall_failures_logged():
                thread = thread_of(handle, thread_messages(EVENTS.get()))
                evidence, hits = await self._search.find(handle, query, self._limit, thread=thread, **self._options)
                found = [_entry(hit, evidence) for hit in tools.shown(hits, query)]
        return SearchMemoryResponse(memories=found)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Take a memory or message out of every search; ``memory.restore`` brings it back, and adding it again does not.

        To erase it for good use ``memory.forget(ids=[...], hard=True)``.

        Raises:
            InvalidInput: no id is given.
        """
        if not memory_id:
            raise InvalidInput("memory_id must name what to delete. Nothing was deleted.")
        handle = here(self._face, self._scope, Caller(app_name, user_id))
        await handle.forget(ids=[memory_id], reason="deleted through the memory service")

    def _arm(self, handle: AsyncMemory) -> None:
        if self._idle:
            handle.idle.arm(handle.scope)


def _entry(hit: Hit, evidence: Evidence) -> MemoryEntry:
    """A hit as the framework's tools show it to a model: quoted, because its text is data."""
    shown = tools.fields(hit)
    more = {name: shown[name] for name in ("tags", "superseded_by") if name in shown}
    role = "model" if hit.role == "assistant" else "user"
    return MemoryEntry(
        id=hit.id, content=types.Content(role=role, parts=[types.Part(text=shown["text"])]), author=shown.get("speaker"),
        timestamp=shown.get("said"), custom_metadata={"evidence": evidence, **more},
    )  # fmt: skip
