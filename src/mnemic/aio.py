"""AsyncMemory: the asynchronous API, each method one call on a worker thread.

SQLite and the embedder are synchronous and must not block the event loop. The threads have their own limiter, so that
memory never takes anyio's threads from the rest of a program.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Never, TypeVar, Unpack, overload

from mnemic.memory import Memory
from mnemic.protocols import Embedder, Reranker, TokenCounter, VectorIndex
from mnemic.runtime.projects import Project
from mnemic.services.call_hints import method_hint, with_call_hints
from mnemic.services.threads import Limits, ThreadCall
from mnemic.types import (
    UNSET,
    ConsolidationAdvice,
    ConsolidationReport,
    Description,
    Emotion,
    Episode,
    Erasure,
    Event,
    Evidence,
    Filters,
    Graph,
    Kind,
    LinkType,
    MemoryContext,
    MemoryRecord,
    MemoryType,
    Message,
    Mood,
    ProcessReport,
    Question,
    Receipt,
    Receipts,
    Scope,
    SearchFilters,
    SearchResult,
    SessionView,
    Source,
    Stats,
    StoredVector,
    Unset,
    VerifyReport,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from mnemic.admin import Admin
    from mnemic.indexes.vector.chroma import Chroma
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.links import Links
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.lifecycle.sessions import Sessions
    from mnemic.lifecycle.trust import Trust
    from mnemic.llm import LanguageModel
    from mnemic.recall import Recipe
    from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy, Settings
    from mnemic.safety.secrets import SecretAction, SecretPolicy
    from mnemic.stores.sql.connection import Durability

__all__ = ["AsyncAdmin", "AsyncLinks", "AsyncMemory", "AsyncSessions", "AsyncTrust"]

T = TypeVar("T")


class _Part:
    """One of the parts of ``Memory`` with its methods on worker threads."""

    _part: Any

    def __init__(self, part: object, call: Callable[..., Any]) -> None:
        self._part, self._call = part, call


@with_call_hints
class AsyncLinks(_Part):
    """See ``Links``."""

    _part: Links

    async def add(
        self, source: str, target: str, type: LinkType, *, strength: float = 1.0, reason: str = ""
    ) -> Receipt:
        """See ``Links.add``."""
        return await self._call(self._part.add, source, target, type, strength=strength, reason=reason)

    async def remove(self, source: str, target: str, type: LinkType | None = None) -> Receipt:
        """See ``Links.remove``."""
        return await self._call(self._part.remove, source, target, type)

    async def graph(self, id: str, *, depth: int = 2, types: Sequence[LinkType] | None = None) -> Graph:
        """See ``Links.graph``."""
        return await self._call(self._part.graph, id, depth=depth, types=types)


@with_call_hints
class AsyncSessions(_Part):
    """See ``Sessions``."""

    _part: Sessions

    async def current(self) -> SessionView:
        """See ``Sessions.current``."""
        return await self._call(self._part.current)

    async def end(self) -> Receipt | None:
        """See ``Sessions.end``."""
        return await self._call(self._part.end)

    async def summarise(self) -> Receipt | None:
        """See ``Sessions.summarise``."""
        return await self._call(self._part.summarise)


@with_call_hints
class AsyncTrust(_Part):
    """See ``Trust``."""

    _part: Trust

    async def quarantine(
        self,
        ids: Iterable[str] | None = None,
        *,
        source: str | None = None,
        session: str | None = None,
        reason: str = "",
    ) -> Receipts:
        """See ``Trust.quarantine``."""
        return await self._call(self._part.quarantine, ids, source=source, session=session, reason=reason)

    async def release(self, ids: Iterable[str]) -> Receipts:
        """See ``Trust.release``."""
        return await self._call(self._part.release, ids)

    def redacted(self, text: str) -> str:
        """See ``Trust.redacted``; it does no I/O."""
        return self._part.redacted(text)

    def without_recalled(self, text: str) -> str:
        """See ``Trust.without_recalled``; it does no I/O."""
        return self._part.without_recalled(text)


@with_call_hints
class AsyncAdmin(_Part):
    """See ``Admin``."""

    _part: Admin

    @property
    def settings(self) -> Settings:
        """See ``Admin.settings``."""
        return self._part.settings

    async def emotion(self, text: str) -> Emotion:
        """See ``Admin.emotion``."""
        return await self._call(self._part.emotion, text)

    async def verify(self, *, deep: bool = True) -> VerifyReport:
        """See ``Admin.verify``."""
        return await self._call(self._part.verify, deep=deep)

    async def flush(self, *, process: bool = True) -> int:
        """See ``Admin.flush``."""
        return await self._call(self._part.flush, process=process)

    async def log(
        self,
        *,
        kinds: Sequence[Kind] = ("message", "episode", "memory"),
        operations: Sequence[str] | None = None,
        before: int | None = None,
        limit: int | None = 100,
    ) -> builtins.list[Event]:
        """See ``Admin.log``."""
        return await self._call(self._part.log, kinds=kinds, operations=operations, before=before, limit=limit)

    async def questions(self) -> builtins.list[Question]:
        """See ``Admin.questions``."""
        return await self._call(self._part.questions)

    async def reembed(
        self, embedder: str | Embedder | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """See ``Admin.reembed``."""
        return await self._call(self._part.reembed, embedder, progress=progress)

    async def backup(self, folder: str | Path, *, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
        """See ``Admin.backup``."""
        return await self._call(self._part.backup, folder, progress=progress)

    async def export(self, file: str | Path | IO[str], *, vectors: bool = False) -> dict[str, int]:
        """See ``Admin.export``."""
        return await self._call(self._part.export, file, vectors=vectors)

    async def import_from(
        self, file: str | Path | IO[str], *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, int]:
        """See ``Admin.import_from``; ``progress`` is called on a worker thread."""
        return await self._call(self._part.import_from, file, progress=progress)

    async def vector(self, id: str) -> StoredVector | None:
        """See ``Admin.vector``."""
        return await self._call(self._part.vector, id)

    async def retire(self) -> int:
        """See ``Admin.retire``."""
        return await self._call(self._part.retire)

    async def erase_user(self) -> Erasure:
        """See ``Admin.erase_user``."""
        return await self._call(self._part.erase_user)


@with_call_hints
class AsyncMemory:
    """Long-term memory for asynchronous code; see ``Memory``, whose arguments, methods and promises are the same.

    The constructor takes a few milliseconds on the caller's thread; everything else runs on worker threads. A cancelled
    call returns at once, and its thread finishes the work.
    """

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        user: str = "default",
        project: str | Project | None = None,
        session: str | None = None,
        timezone: str | tzinfo | None = None,
        embedder: str | Embedder | None = None,
        tokenizer: str | TokenCounter | None = None,
        reranker: str | PathLike[str] | Reranker | None = None,
        llm: str | Model | LanguageModel | None = None,
        processing: Processing | None = None,
        consolidator: Consolidator | None = None,
        idle: Idle | None = None,
        retention: RetentionPolicy | None = None,
        secrets: SecretPolicy | SecretAction = "redact",
        vectors: str | Chroma | VectorIndex | object = None,
        durability: Durability = "FULL",
    ) -> None:
        self._memory = Memory(
            location, user=user, project=project, session=session, timezone=timezone, embedder=embedder,
            tokenizer=tokenizer, reranker=reranker, llm=llm, processing=processing, consolidator=consolidator,
            idle=idle, retention=retention, secrets=secrets, vectors=vectors, durability=durability,
        )  # fmt: skip
        self._limits = Limits()

    @classmethod
    def over(cls, memory: Memory) -> AsyncMemory:
        """An asynchronous handle over an open ``Memory``."""
        face = cls.__new__(cls)
        face._memory, face._limits = memory, Limits()  # noqa: SLF001 - our own class
        return face

    if not TYPE_CHECKING:  # a type checker is to find a wrong name by itself

        def __getattr__(self, name: str) -> Never:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}.{method_hint(type(self), name)}", name=name, obj=self
            )

    async def _run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        import anyio.to_thread

        limit = self._limits.current()
        work = ThreadCall(partial(function, *args, **kwargs), limit)
        try:
            return await anyio.to_thread.run_sync(work, limiter=limit.threads, abandon_on_cancel=True)
        finally:
            work.abandon()

    @property
    def scope(self) -> Scope:
        """The user, project and session this handle is bound to."""
        return self._memory.scope

    @property
    def location(self) -> str:
        """See ``Memory.location``."""
        return self._memory.location

    @property
    def idle(self) -> IdleTrigger:
        """See ``Memory.idle``."""
        return self._memory.idle

    def scoped(
        self,
        *,
        user: str | Unset = UNSET,
        project: str | Project | Unset | None = UNSET,
        session: str | Unset | None = UNSET,
    ) -> AsyncMemory:
        """See ``Memory.scoped``."""
        other = AsyncMemory.over(self._memory.scoped(user=user, project=project, session=session))
        other._limits = self._limits  # noqa: SLF001 - our own class
        return other

    @property
    def links(self) -> AsyncLinks:
        """See ``Memory.links``."""
        return AsyncLinks(self._memory.links, self._run)

    @property
    def sessions(self) -> AsyncSessions:
        """See ``Memory.sessions``."""
        return AsyncSessions(self._memory.sessions, self._run)

    @property
    def trust(self) -> AsyncTrust:
        """See ``Memory.trust``."""
        return AsyncTrust(self._memory.trust, self._run)

    @property
    def admin(self) -> AsyncAdmin:
        """See ``Memory.admin``."""
        return AsyncAdmin(self._memory.admin, self._run)

    async def add(
        self,
        messages: str | Message | Mapping[str, Any] | Iterable[Message | Mapping[str, Any]],
        *,
        session: str | None = None,
        role: str = "user",
        name: str | None = None,
        sent_at: datetime | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent: str | None = None,
    ) -> Receipts:
        """See ``Memory.add``."""
        return await self._run(
            self._memory.add,
            messages,
            session=session,
            role=role,
            name=name,
            sent_at=sent_at,
            id=id,
            metadata=metadata,
            agent=agent,
        )

    async def add_exchange(
        self,
        user: str,
        assistant: str,
        *,
        sent_at: datetime | None = None,
        session: str | None = None,
        agent: str | None = None,
        cited: Iterable[str] = (),
    ) -> Receipts:
        """See ``Memory.add_exchange``."""
        return await self._run(
            self._memory.add_exchange, user, assistant, sent_at=sent_at, session=session, agent=agent, cited=cited
        )

    async def remember(
        self,
        content: str,
        *,
        key: str | None = None,
        type: MemoryType = "semantic",
        category: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        source_ids: Sequence[str] = (),
        valid_at: datetime | None = None,
        delete_after: datetime | None = None,
        source: Source = "direct_user",
        level: Literal["session"] | None = None,
        agent: str | None = None,
        id: str | None = None,
        **description: Unpack[Description],
    ) -> Receipt:
        """See ``Memory.remember``."""
        return await self._run(
            self._memory.remember, content, key=key, type=type, category=category, tags=tags, metadata=metadata,
            importance=importance, source_ids=source_ids, valid_at=valid_at,
            delete_after=delete_after, source=source, level=level, agent=agent, id=id, **description,
        )  # fmt: skip

    async def update(
        self,
        id: str,
        *,
        content: str | Unset = UNSET,
        type: MemoryType | Unset = UNSET,
        category: str | Unset | None = UNSET,
        tags: Sequence[str] | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        importance: float | Unset | None = UNSET,
        valid_at: datetime | Unset | None = UNSET,
        invalid_at: datetime | Unset | None = UNSET,
        delete_after: datetime | Unset | None = UNSET,
        source: Source | Unset = UNSET,
        **description: Unpack[Description],
    ) -> Receipt:
        """See ``Memory.update``."""
        return await self._run(
            self._memory.update, id, content=content, type=type, category=category, tags=tags, metadata=metadata,
            importance=importance, valid_at=valid_at, invalid_at=invalid_at, delete_after=delete_after, source=source,
            **description,
        )  # fmt: skip

    @overload
    async def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: Literal[False] = False,
        dry_run: bool = False, reason: str = "",
    ) -> Receipts: ...  # fmt: skip
    @overload
    async def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: Literal[True],
        dry_run: Literal[False] = False, reason: str = "",
    ) -> Erasure: ...  # fmt: skip
    @overload
    async def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: bool = False,
        dry_run: Literal[True], reason: str = "",
    ) -> Receipts: ...  # fmt: skip
    async def forget(
        self, description: str | None = None, *, ids: Iterable[str] | None = None, hard: bool = False,
        dry_run: bool = False, reason: str = "",
    ) -> Receipts | Erasure:  # fmt: skip
        """See ``Memory.forget``."""
        return await self._run(self._memory.forget, description, ids=ids, hard=hard, dry_run=dry_run, reason=reason)

    async def restore(self, *ids: str) -> Receipts:
        """See ``Memory.restore``."""
        return await self._run(self._memory.restore, *ids)

    @property
    def preferences(self) -> Preferences:
        """See ``Memory.preferences``; reads and writes run on the calling thread."""
        return self._memory.preferences

    async def process(
        self, *, limit: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> ProcessReport:
        """See ``Memory.process``; ``progress`` is called on a worker thread."""
        return await self._run(self._memory.process, limit=limit, progress=progress)

    async def should_consolidate(self) -> ConsolidationAdvice:
        """See ``Memory.should_consolidate``."""
        return await self._run(self._memory.should_consolidate)

    async def consolidate(
        self,
        *,
        ids: Iterable[str] | None = None,
        importance_threshold: float | None = None,
        similarity_threshold: float | None = None,
        min_age_hours: float | None = None,
        dry_run: bool = False,
    ) -> ConsolidationReport:
        """See ``Memory.consolidate``."""
        return await self._run(
            self._memory.consolidate, ids=ids, importance_threshold=importance_threshold,
            similarity_threshold=similarity_threshold, min_age_hours=min_age_hours, dry_run=dry_run,
        )  # fmt: skip

    async def undo(self, consolidation_id: str) -> Receipt:
        """See ``Memory.undo``."""
        return await self._run(self._memory.undo, consolidation_id)

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        recipe: str | Recipe = "conversation",
        recent: Sequence[str] = (),
        now: datetime | None = None,
        mood: Mood = None,
        emotion_weight: float = 0.3,
        min_evidence: Evidence = "none",
        expand_links: int = 0,
        expand_query: bool = False,
        **filters: Unpack[SearchFilters],
    ) -> SearchResult:
        """See ``Memory.search``."""
        return await self._run(
            self._memory.search, query, k=k, recipe=recipe, recent=recent, now=now, mood=mood,
            emotion_weight=emotion_weight, min_evidence=min_evidence, expand_links=expand_links,
            expand_query=expand_query, **filters,
        )  # fmt: skip

    async def get_memory_context(
        self,
        query: str | None = None,
        *,
        max_tokens: int = 2000,
        recipe: str | Recipe = "conversation",
        recent: Sequence[str] = (),
        now: datetime | None = None,
        mood: Mood = None,
        emotion_weight: float = 0.3,
        min_evidence: Evidence = "none",
        **filters: Unpack[SearchFilters],
    ) -> MemoryContext:
        """See ``Memory.get_memory_context``."""
        return await self._run(
            self._memory.get_memory_context, query, max_tokens=max_tokens, recipe=recipe, recent=recent, now=now,
            mood=mood, emotion_weight=emotion_weight, min_evidence=min_evidence, **filters,
        )  # fmt: skip

    async def list(
        self,
        *,
        order: Literal["newest", "oldest", "importance"] = "newest",
        limit: int | None = 100,
        offset: int = 0,
        **filters: Unpack[Filters],
    ) -> builtins.list[MemoryRecord]:
        """See ``Memory.list``."""
        return await self._run(self._memory.list, order=order, limit=limit, offset=offset, **filters)

    async def messages(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> builtins.list[Message]:
        """See ``Memory.messages``."""
        return await self._run(self._memory.messages, limit=limit, **filters)

    async def episodes(self, *, limit: int | None = None, **filters: Unpack[Filters]) -> builtins.list[Episode]:
        """See ``Memory.episodes``."""
        return await self._run(self._memory.episodes, limit=limit, **filters)

    async def get(self, id: str) -> Message | Episode | MemoryRecord:
        """See ``Memory.get``."""
        return await self._run(self._memory.get, id)

    async def history(self, id: str) -> builtins.list[Event]:
        """See ``Memory.history``."""
        return await self._run(self._memory.history, id)

    async def stats(self) -> Stats:
        """See ``Memory.stats``."""
        return await self._run(self._memory.stats)

    async def close(self) -> None:
        """See ``Memory.close``."""
        return await self._run(self._memory.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self, kind: builtins.type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __copy__(self) -> AsyncMemory:
        return self.scoped()

    def __deepcopy__(self, memo: object) -> AsyncMemory:  # frameworks copy what they are given: the record stays one
        return self.scoped()

    def __reduce__(self) -> Never:
        return self._memory.__reduce__()

    def __repr__(self) -> str:
        return f"Async{self._memory!r}"
