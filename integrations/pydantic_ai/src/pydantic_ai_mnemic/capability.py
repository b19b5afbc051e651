"""MnemicCapability: an agent recalls before it answers, and remembers what was said."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal

from pydantic_ai import CallToolsNode, FunctionToolset, ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import AgentNode, WrapRunHandler
from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from mnemic import (
    AsyncMemory,
    ConfigurationError,
    EmbedderError,
    Memory,
    ScopeSource,
    StoreError,
    bound,
    checked_options,
)
from pydantic_ai_mnemic.binding import face_of
from pydantic_ai_mnemic.messages import asked, before, evidence, id_prefix, question, unanswered, with_data
from pydantic_ai_mnemic.toolset import mnemic_toolset

__all__ = ["MnemicCapability"]

logger = logging.getLogger(__name__)


class MnemicCapability(AbstractCapability[Any]):
    """Long-term memory for an ``Agent``.

    In a run it recalls, once, what bears on the user's prompt, without what the message history shows anyway; every
    request of the run sees that text, fenced as data. After the run it stores what the user and the agent said, each
    message once, with or without a message history, and whatever history processors make of it. System prompts, tool
    calls, their results, reasoning, answers that a validator sent back, and structured output are not stored. A run that
    fails stores nothing; its prompt is stored when the conversation goes on from its messages.

    The session is the ``conversation_id`` unless the handle or the scope has one. A recall that fails is logged and the
    agent answers without it; a write that fails raises, and so does a scope that is not usable.

    Args:
        memory: where it is kept; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``RunContext``; names it leaves out are those of ``memory``.
        max_tokens: most tokens that recalled text may take; 0 recalls nothing.
        min_evidence: what is graded lower is not shown: ``weak`` shows nothing where nothing bears on the prompt, ``none``
            shows what is nearest anyway. The text states its grade.
        inject: where the model sees it: ``user``: at the head of the user's prompt, in the request only; or
            ``instructions``, where it has more authority than recalled text should have, and which pydantic-ai also keeps in
            the ``instructions`` of the run's requests.
        tools: offer ``remember``, ``recall`` and ``forget``.
        store: store what was said.
        idle: process and consolidate in quiet moments after runs.
        id: of the capability.
        options: further arguments of ``Memory.get_memory_context``.

    Raises:
        ConfigurationError: an argument is not understood.

    Example:
        >>> from pydantic_ai import Agent
        >>> memory = Memory(":memory:", embedder="hashing")
        >>> agent = Agent("test", capabilities=[MnemicCapability(memory, tools=False)])
        >>> _ = agent.run_sync("I moved to Lisbon.")
        >>> [message.content for message in memory.messages()]
        ['I moved to Lisbon.', 'success (no tool calls)']
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        scope: ScopeSource = None,
        max_tokens: int = 1000,
        min_evidence: Literal["strong", "weak", "none"] = "weak",
        inject: Literal["user", "instructions"] = "user",
        tools: bool = True,
        store: bool = True,
        idle: bool = True,
        id: str | None = None,
        **options: Any,
    ) -> None:
        if inject not in ("instructions", "user"):
            raise ConfigurationError(f'inject must be "user" or "instructions", not {inject!r:.40}.')
        self._recalls = max_tokens != 0
        own = {"max_tokens": max_tokens if self._recalls else 1, "min_evidence": min_evidence}
        self._options = checked_options(
            Memory.get_memory_context, options, own=own, reserved=("query", "exclude", "recent", "session")
        )
        self.id = id
        self._face = face_of(memory)
        self._scope, self._inject = scope, inject
        self._toolset = mnemic_toolset(self._face, scope=scope) if tools else None
        self._store, self._idle = store, idle
        self._handles: dict[str, AsyncMemory] = {}  # of the runs under way
        self._contexts: dict[str, str] = {}
        self._said: dict[str, list[ModelMessage]] = {}

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """A handle cannot be written into a spec."""
        return None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """``remember``, ``recall`` and ``forget``."""
        return self._toolset

    # Before the answer

    def get_instructions(self) -> Callable[[RunContext[Any]], Coroutine[Any, Any, str]] | None:
        """What is recalled; asked for at every request, recalled at the first."""
        return self._recalled if self._inject == "instructions" and self._recalls else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Show what is recalled at the head of the user's prompt, in this request only."""
        if self._inject == "user" and self._recalls and (context := await self._recalled(ctx)):
            request_context.messages = with_data(request_context.messages, context)
        return request_context

    async def _recalled(self, ctx: RunContext[Any]) -> str:
        if ctx.run_id is None:
            return await self._recall(ctx)
        if ctx.run_id not in self._contexts:
            self._contexts[ctx.run_id] = await self._recall(ctx)
        return self._contexts[ctx.run_id]

    async def _recall(self, ctx: RunContext[Any]) -> str:
        handle = self._here(ctx)
        query = question(ctx.prompt, ctx.messages)
        if not query:
            return ""
        # a history may come from another conversation, under whose name it was stored
        clean, sessions = (
            handle.trust.redacted,
            {handle.scope.session, *(message.conversation_id for message in ctx.messages)},
        )
        places = [id_prefix(replace(handle.scope, session=session)) for session in sessions]
        shown = [m.id for prefix in places for m in evidence(ctx.messages, prefix=prefix, clean=clean) if m.id]
        try:
            packed = await handle.get_memory_context(
                query, exclude=shown, recent=before(query, ctx.messages), **self._options
            )
        except (StoreError, EmbedderError):
            logger.warning("Recall failed; the agent goes on without memory.", exc_info=True)
            return ""
        return packed.to_prompt()

    def _here(self, ctx: RunContext[Any]) -> AsyncMemory:
        """The handle of this run: the user and project of the scope, the session of the conversation unless one is given."""
        if (known := self._handles.get(ctx.run_id or "")) is not None:
            return known
        handle = bound(self._face, self._scope, ctx)
        if handle.scope.session is not None or ctx.conversation_id is None:
            return handle
        return handle.scoped(session=ctx.conversation_id)

    # After the answer

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Quiet moments begin when no run is under way; what was recalled for a run is forgotten with it."""
        handle, run = self._here(ctx), ctx.run_id or ""
        if run:
            self._handles[run] = handle
        try:
            with handle.idle.run() if self._idle else nullcontext():
                return await handler()
        finally:
            self._handles.pop(run, None)
            self._contexts.pop(run, None)
            self._said.pop(run, None)

    async def before_node_run(self, ctx: RunContext[Any], *, node: AgentNode[Any]) -> AgentNode[Any]:
        """Note what is asked and answered, before a history processor trims it or adds what nobody said."""
        if self._store and ctx.run_id is not None:
            said = self._said.setdefault(ctx.run_id, [])
            waiting = [message for pending in ctx.pending_messages or () for message in pending.messages]
            queued = [message for message in waiting if isinstance(message, ModelRequest)]
            if isinstance(node, ModelRequestNode):
                said += [asked(node.request, ctx.prompt), *queued]
            elif isinstance(node, CallToolsNode) and node.model_response.run_id == ctx.run_id:
                said += [*queued, node.model_response]  # what sends it back comes right after it
        return node

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store what was said."""
        if not self._store:
            return result
        handle = self._here(ctx)
        said = self._said.get(ctx.run_id or "") or result.new_messages()  # a realtime session has no nodes
        last = [m for m in result.new_messages() if m is result.response]  # when streamed, no node follows it
        new_ones = [*unanswered(ctx.messages), *said, *last]
        found = evidence(new_ones, prefix=id_prefix(handle.scope), clean=handle.trust.redacted)
        if new := {message.id: message for message in found}:
            for receipt in (await handle.add([*new.values()])).rejected:
                logger.warning("Not remembered: %s: %s", receipt.id, receipt.reason)
        return result
