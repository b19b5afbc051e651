"""MnemicContextProvider: an agent recalls before it answers, and remembers the conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

from agent_framework import (
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ContextProvider,
    HistoryProvider,
    Message,
    ResponseStream,
    SessionContext,
    SupportsAgentRun,
)

from agent_framework_mnemic.messages import INPUT, thread_messages
from agent_framework_mnemic.tools import mnemic_tools
from mnemic import AsyncMemory, Memory, ScopeSource
from mnemic import Message as Record
from mnemic.adapters import (
    AGAIN,
    Recall,
    RecallOptions,
    Thread,
    as_async,
    bound,
    last_of_session,
    log_rejected,
    recall_failures_logged,
    run_of,
    thread_of,
)


class MnemicContextProvider(ContextProvider):
    """Long-term memory for an ``Agent``.

    Before a run it recalls, once, what bears on the user's prompt, without what the history shows anyway, and adds it as a
    message of its own with the user's authority, fenced as data; history providers do not keep that message. Put it
    behind the history provider in ``context_providers``, so that the text stands right before the prompt. It stores
    what the user says before the model is asked and the answer after the run, each message once. A run that fails, or
    whose stream is left, keeps what the user said. Instructions, tool calls, their results, reasoning and the messages
    of other providers are not stored.

    The session is the id of the ``AgentSession`` unless the handle or the scope has one. A recall that fails is logged
    and the agent answers without it; a write that fails raises, and so does a scope that is not usable.

    Args:
        memory: where to recall from and to store into; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``AgentSession``, such as
            ``lambda session: {"user": session.state["user"]}``; names it leaves out are those of ``memory``.
        tools: offer ``remember``, ``recall``, ``correct`` and ``forget``.
        store: store the messages.
        idle: process and consolidate in idle periods after runs.
        source_id: of the provider; several on one agent need different ones.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: an argument is not understood.

    Examples:
        >>> provider = MnemicContextProvider(Memory(":memory:", embedder="hashing"), source_id="team")
        >>> provider.source_id
        'team'
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        scope: ScopeSource = None,
        tools: bool = True,
        store: bool = True,
        idle: bool = True,
        source_id: str = "mnemic",
        **recall: Unpack[RecallOptions],
    ) -> None:
        super().__init__(source_id)
        self._recall = Recall(**recall)
        self._face, self._scope = as_async(memory), scope
        self._tools = mnemic_tools(self._face, scope=scope, **self._recall.ranked) if tools else []
        self._store, self._idle = store, idle

    # Before the answer

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, **_: Any
    ) -> None:
        """Store what the user says, and recall for it."""
        handle = bound(self._face, self._scope, session, session=context.session_id)
        context.metadata[self.source_id] = handle  # the answer goes where the prompt went
        context.extend_tools(self.source_id, self._tools)
        if self._idle:
            handle.idle.arm(handle.scope)  # for an agent that calls its model without middleware
            context.extend_middleware(self.source_id, _Busy(handle))
        history = await self._history(agent, session, context)
        said = [*history, *context.input_messages]
        INPUT.set(said)
        thread = thread_of(handle, thread_messages(said))
        known = await _known(handle)
        new = thread.records(_said(thread, len(thread_messages(history)), known))
        if self._store and new:
            log_rejected(await handle.add(new))
        shown = thread.shown_ids(known=known)
        if context.service_session_id:  # the service shows the session to the model, and nothing of it to providers
            shown += [message.id for message in known if message.id]
        question = thread.question()
        with recall_failures_logged():
            text = await self._recall.text(handle, question, exclude=shown, recent=thread.recent(question))
            if text:
                context.extend_messages(self, [Message("user", [text])])

    async def _history(
        self, agent: SupportsAgentRun, session: AgentSession, context: SessionContext
    ) -> Sequence[Message]:
        """What the history providers show; those behind this provider, or loaded at each call, have yet to be asked."""
        found: list[Message] = []
        for provider in getattr(agent, "context_providers", ()):
            if not isinstance(provider, HistoryProvider) or not provider.load_messages:
                continue
            messages = context.context_messages.get(provider.source_id)
            if messages is None:
                state = session.state.get(provider.source_id)
                messages = await provider.get_messages(context.session_id, state=state)
            found += messages
        return found

    # After the answer

    async def after_run(self, *, context: SessionContext, **_: Any) -> None:
        """Store what the agent answered."""
        handle: AsyncMemory = context.metadata[self.source_id]
        INPUT.set(())
        answers = thread_of(handle, thread_messages(context.response.messages if context.response else ()))
        if self._store and (new := answers.records()):
            log_rejected(await handle.add(new))
        if self._idle:
            handle.idle.arm(handle.scope)


class _Busy(ChatMiddleware):
    """No idle work while the model is called. A provider is not told that a run failed; each call of the model is seen."""

    def __init__(self, handle: AsyncMemory) -> None:
        self._handle = handle

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Hold off idle work; in a stream only while a part is awaited, because nobody is told that a stream is left."""
        with run_of(self._handle, idle=True):
            await call_next()
        if isinstance(context.result, ResponseStream):
            context.result = context.result.with_pull_context_manager(lambda: run_of(self._handle, idle=True))


async def _known(handle: AsyncMemory) -> Sequence[Record]:
    """The last messages of the session."""
    with recall_failures_logged():
        return await last_of_session(handle)
    return ()


def _said(thread: Thread, start: int, known: Sequence[Record]) -> list[int]:
    """The places of what the user says in this run.

    A program that keeps the history itself gives all of it again: what stands before the last answer was said earlier.
    """
    start = max(start, thread.last_turn())
    again = thread.repeated(thread.last_turn(), known, datetime.now(UTC) - AGAIN)
    places = range(start, len(thread.messages))
    return [at for at in places if thread.messages[at].role == "user" and at not in again]
