"""AsyncMemory: the asynchronous API, each method one call on a worker thread.

SQLite and the embedder are synchronous and must not block the event loop. The threads have their own limiter, so that
memory never takes anyio's threads from the rest of a program.
"""

from __future__ import annotations

from datetime import tzinfo
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Never

from mnemic.memory import Memory
from mnemic.protocols import Embedder, Reranker, TokenCounter, VectorIndex
from mnemic.runtime.projects import Project
from mnemic.services.threads import OnWorkers, Workers, on_worker
from mnemic.types import UNSET, Scope, Unset
from mnemic.validation import MethodHints, with_call_hints

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from mnemic.aio_parts import AsyncAdmin, AsyncLinks, AsyncSessions
    from mnemic.indexes.vector.chroma.index import Chroma
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.llm import LanguageModel
    from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy
    from mnemic.secrets.policy import SecretAction, SecretPolicy
    from mnemic.stores.sql.connection import Durability


class AsyncMemory(OnWorkers, MethodHints):
    """Long-term memory for asynchronous code; see ``Memory``, whose arguments, methods and promises are the same.

    The constructor runs on the calling thread and takes a few milliseconds, and so do
    ``preferences`` and ``idle``. All other methods run on worker threads, as do
    ``progress`` functions. A cancelled call returns at once, while its thread finishes
    the work; ``close`` waits for it, at most a minute. Use it with ``async with``.
    """

    _wrapped: Memory

    @with_call_hints
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
        key: str | bytes | None = None,
    ) -> None:
        memory = Memory(
            location, user=user, project=project, session=session, timezone=timezone, embedder=embedder,
            tokenizer=tokenizer, reranker=reranker, llm=llm, processing=processing, consolidator=consolidator,
            idle=idle, retention=retention, secrets=secrets, vectors=vectors, durability=durability, key=key,
        )  # fmt: skip
        super().__init__(memory, Workers())

    @classmethod
    def over(cls, memory: Memory) -> AsyncMemory:
        """An asynchronous handle on an open ``Memory``; closing either closes both."""
        return cls._over(memory, Workers())

    @classmethod
    def _over(cls, memory: Memory, workers: Workers) -> AsyncMemory:
        handle = cls.__new__(cls)
        OnWorkers.__init__(handle, memory, workers)
        return handle

    @property
    def scope(self) -> Scope:
        """The user, project and session this handle is bound to."""
        return self._wrapped.scope

    @property
    def idle(self) -> IdleTrigger:
        """See ``Memory.idle``."""
        return self._wrapped.idle

    @property
    def preferences(self) -> Preferences:
        """See ``Memory.preferences``; reads and writes run on the calling thread."""
        return self._wrapped.preferences

    @property
    def links(self) -> AsyncLinks:
        """See ``Memory.links``."""
        from mnemic.aio_parts import AsyncLinks

        return AsyncLinks(self._wrapped.links, self._workers)

    @property
    def sessions(self) -> AsyncSessions:
        """See ``Memory.sessions``."""
        from mnemic.aio_parts import AsyncSessions

        return AsyncSessions(self._wrapped.sessions, self._workers)

    @property
    def admin(self) -> AsyncAdmin:
        """See ``Memory.admin``."""
        from mnemic.aio_parts import AsyncAdmin

        return AsyncAdmin(self._wrapped.admin, self._workers)

    @with_call_hints
    def scoped(
        self,
        *,
        user: str | Unset = UNSET,
        project: str | Project | Unset | None = UNSET,
        session: str | Unset | None = UNSET,
    ) -> AsyncMemory:
        """See ``Memory.scoped``."""
        return self._over(self._wrapped.scoped(user=user, project=project, session=session), self._workers)

    add = on_worker(Memory.add)
    add_exchange = on_worker(Memory.add_exchange)
    remember = on_worker(Memory.remember)
    update = on_worker(Memory.update)
    correct = on_worker(Memory.correct)
    forget = on_worker(Memory.forget)
    restore = on_worker(Memory.restore)
    search = on_worker(Memory.search)
    get_memory_context = on_worker(Memory.get_memory_context)
    procedures = on_worker(Memory.procedures)
    list = on_worker(Memory.list)
    messages = on_worker(Memory.messages)
    episodes = on_worker(Memory.episodes)
    get = on_worker(Memory.get)
    history = on_worker(Memory.history)
    process = on_worker(Memory.process)
    should_consolidate = on_worker(Memory.should_consolidate)
    consolidate = on_worker(Memory.consolidate)
    undo = on_worker(Memory.undo)
    stats = on_worker(Memory.stats)

    close = on_worker(Memory.close, settled=True)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __copy__(self) -> AsyncMemory:
        return self.scoped()

    def __deepcopy__(self, memo: object) -> AsyncMemory:  # frameworks copy what they are given: the record stays one
        return self.scoped()

    def __reduce__(self) -> Never:
        return self._wrapped.__reduce__()

    def __repr__(self) -> str:
        return f"Async{self._wrapped!r}"
