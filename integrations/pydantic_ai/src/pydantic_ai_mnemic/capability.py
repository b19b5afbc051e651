"""MnemicCapability: an agent recalls before it answers, and remembers the conversation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack

from pydantic_ai import CallToolsNode, FunctionToolset, ModelRequestNode, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import AgentNode, WrapRunHandler
from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from mnemic import AsyncMemory, ConfigurationError, Memory, ScopeSource
from mnemic.adapters import (
    COMPARED,
    Recall,
    RecallOptions,
    Thread,
    as_async,
    bound,
    last_of_session,
    recall_failures_logged,
    run_of,
    store_new,
)
from pydantic_ai_mnemic.messages import asked, text_of, thread_messages, unanswered, with_data
from pydantic_ai_mnemic.toolset import mnemic_toolset


class MnemicCapability(AbstractCapability[Any]):
    """Long-term memory for an ``Agent``.

    In a run it recalls, once, what bears on the user's prompt, without what the message history shows anyway; every
    request of the run sees that text, fenced as data. It stores the messages of the user and the agent, each message once,
    with or without a message history, and whatever history processors make of it. A run that fails, or whose stream is
    left, keeps what the user said: a prompt is stored before the model is asked. One that is sent again within ten minutes,
    because it got no answer, is stored once. System prompts, tool calls, their results, reasoning, answers that a validator
    sent back, and structured output are not stored.

    The session is the ``conversation_id`` unless the handle or the scope has one. A recall that fails is logged and the
    agent answers without it; a write that fails raises, and so does a scope that is not usable.

    Args:
        memory: where to recall from and to store into; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``RunContext``; names it leaves out are those of ``memory``.
        inject: where the model sees it: ``user``: at the head of the user's prompt, in the request only; or
            ``instructions``, where it has more authority than recalled text should have, and which pydantic-ai also keeps in
            the ``instructions`` of the run's requests.
        tools: offer ``remember``, ``recall``, ``correct`` and ``forget``.
        store: store the messages.
        idle: process and consolidate in idle periods after runs.
        id: of the capability.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: an argument is not understood.

    Examples:
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
        inject: Literal["user", "instructions"] = "user",
        tools: bool = True,
        store: bool = True,
        idle: bool = True,
        id: str | None = None,
        **recall: Unpack[RecallOptions],
    ) -> None:
        if inject not in ("instructions", "user"):
            raise ConfigurationError(f'inject must be "user" or "instructions", not {inject!r:.40}.')
        self._recall = Recall(**recall)
        self.id = id
        self._face = as_async(memory)
        self._scope, self._inject = scope, inject
        self._toolset = None
        if tools:
            self._toolset = mnemic_toolset(self._face, scope=scope, **self._recall.ranked)
        self._store, self._idle = store, idle
        self._handles: dict[str, AsyncMemory] = {}  # of the runs under way
        self._contexts: dict[str, str] = {}
        self._messages: dict[str, list[ModelMessage]] = {}
        self._stored: dict[str, set[str | None]] = {}  # ids of what each stored
        self._answered: deque[str | None] = deque(maxlen=COMPARED)  # ids of what runs stored that gave an answer

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """A handle cannot be written into a spec."""
        return None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """``remember``, ``recall``, ``correct`` and ``forget``."""
        return self._toolset

    # Before the answer

    def get_instructions(self) -> Callable[[RunContext[Any]], Coroutine[Any, Any, str]] | None:
        """The recalled text; called at every request, recalled at the first."""
        return self._recalled if self._inject == "instructions" else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Show the recalled text at the head of the user's prompt, in this request only."""
        if self._inject == "user" and (context := await self._recalled(ctx)):
            request_context.messages = with_data(request_context.messages, context)
        return request_context

    async def _recalled(self, ctx: RunContext[Any]) -> str:
        if ctx.run_id is None:
            return await self._text(ctx)
        if ctx.run_id not in self._contexts:
            self._contexts[ctx.run_id] = await self._text(ctx)
        return self._contexts[ctx.run_id]

    async def _text(self, ctx: RunContext[Any]) -> str:
        handle = self._here(ctx)
        thread = self._thread(handle, ctx.messages)
        question = text_of(ctx.prompt).strip() or thread.question()
        messages = [*ctx.messages, *self._messages.get(ctx.run_id or "", ())]
        # a history may come from another conversation, under whose name it was stored
        others: dict[str, list[ModelMessage]] = {}
        for message in ctx.messages:
            if message.conversation_id not in (None, handle.scope.session):
                others.setdefault(message.conversation_id, []).append(message)
        with recall_failures_logged():
            known = await last_of_session(handle)
            threads = [self._thread(handle, said, session) for session, said in ((None, messages), *others.items())]
            shown = [id_ for one in threads for id_ in one.shown_ids(known=known)]
            return await self._recall.text(handle, question, exclude=shown, recent=thread.recent(question))
        return ""

    def _thread(self, handle: AsyncMemory, messages: Sequence[ModelMessage], session: str | None = None) -> Thread:
        scope = replace(handle.scope, session=session or handle.scope.session)
        return Thread(thread_messages(messages), scope=scope, clean=handle.admin.redacted)

    def _here(self, ctx: RunContext[Any]) -> AsyncMemory:
        """The handle of this run: the user and project of the scope, the session of the conversation unless one is given."""
        if (known := self._handles.get(ctx.run_id or "")) is not None:
            return known
        return bound(self._face, self._scope, ctx, session=ctx.conversation_id)

    # After the answer

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """No idle work while a run is under way; its recalled text is dropped with it."""
        handle, run = self._here(ctx), ctx.run_id or ""
        if run:
            self._handles[run] = handle
        try:
            with run_of(handle, idle=self._idle):
                return await handler()
        finally:
            self._handles.pop(run, None)
            self._contexts.pop(run, None)
            self._messages.pop(run, None)
            self._stored.pop(run, None)

    async def before_node_run(self, ctx: RunContext[Any], *, node: AgentNode[Any]) -> AgentNode[Any]:
        """Note the prompts and answers before a history processor trims them or adds others; store what was said so far."""
        if self._store and ctx.run_id is not None:
            messages = self._messages.setdefault(ctx.run_id, [*unanswered(ctx.messages)])
            waiting = [message for pending in ctx.pending_messages or () for message in pending.messages]
            queued = [message for message in waiting if isinstance(message, ModelRequest)]
            if isinstance(node, ModelRequestNode):
                messages += [asked(node.request, ctx.prompt), *queued]
                await self._keep(ctx, messages)
            elif isinstance(node, CallToolsNode) and node.model_response.run_id == ctx.run_id:
                messages += [*queued, node.model_response]  # a request that refuses it comes right after it
        return node

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store what the user and the agent said."""
        if not self._store:
            return result
        new = result.new_messages()
        # a realtime session has no nodes, and no node follows an answer that is streamed
        messages = self._messages.get(ctx.run_id or "") or [*unanswered(ctx.messages), *new]
        streamed = [message for message in new if message is result.response and message not in messages]
        await self._keep(ctx, [*messages, *streamed])
        self._answered += self._stored.get(ctx.run_id or "", ())
        return result

    async def _keep(self, ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> None:
        """Store what some messages say, unless this run stored it before."""
        handle = self._here(ctx)
        stored = self._stored.setdefault(ctx.run_id or "", set())
        await store_new(handle, self._thread(handle, messages), stored, self._answered)
