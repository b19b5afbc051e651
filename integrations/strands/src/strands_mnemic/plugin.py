"""MnemicPlugin: an agent recalls before it answers, and remembers the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Unpack
from weakref import WeakKeyDictionary, WeakSet

from strands import Agent
from strands.hooks import AfterInvocationEvent, AfterModelCallEvent, BeforeInvocationEvent, HookOrder, MessageAddedEvent
from strands.plugins import Plugin
from strands.types.agent import LocalAgent
from strands.types.content import Message
from strands.vended_plugins.context_injector import ContextInjector, InjectionContext

from mnemic import AsyncMemory, Memory, ScopeSource
from mnemic.adapters import (
    Recall,
    RecallOptions,
    as_async,
    bound,
    last_of_session,
    recall_failures_logged,
    run_of,
    store_new,
    thread_of,
)
from strands_mnemic.messages import has_results, thread_messages
from strands_mnemic.tools import mnemic_tools


@dataclass
class _Run:
    """An invocation under way.

    Attributes:
        handle: bound to its user and session.
        of_program: whether a hook of the program asked for it and not the user.
        open: until the end no idle work.
        asked: whether the model was asked; what stands in the user's role from then on is the program's.
        answered: whether the model's last call gave an answer that was not added yet.
        context: the recalled text; None before the first call of the model.
        messages: what was said in it, and which tools ran.
        stored: ids of what was stored of it: what is erased during a run stays erased.
    """

    handle: AsyncMemory
    of_program: bool
    open: ExitStack = field(default_factory=ExitStack)
    asked: bool = False
    answered: bool = False
    context: str | None = None
    messages: list[Message] = field(default_factory=list[Message])
    stored: set[str | None] = field(default_factory=set[str | None])


class MnemicPlugin(Plugin):
    """Long-term memory for an ``Agent``.

    In an invocation it recalls, once, what bears on the user's prompt, without what the conversation shows anyway; every
    call of the model sees that text behind the last message, fenced as data, and the agent's messages do not keep it. It
    stores what the user says before the model is asked and the answers as they come, each message once. An invocation
    that fails or is cancelled, or whose stream is left, keeps what the user said. System prompts, tool calls, their
    results, reasoning, answers that a hook had the model give again, and what Strands or a hook says in the role of the
    user or the model, such as that the call was cancelled, are not stored.

    The session is the ``session_id`` of the agent unless the handle or the scope has one. A recall that fails is logged
    and the agent answers without it; a write that fails raises, and so does a scope that is not usable.

    Args:
        memory: where to recall from and to store into; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``invocation_state``, such as
            ``lambda state: {"user": state["user"]}``; names it leaves out are those of ``memory``.
        tools: offer ``remember``, ``recall``, ``correct`` and ``forget``.
        store: store the messages.
        idle: process and consolidate in idle periods after invocations.
        name: of the plugin; several on one agent need different ones.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: an argument is not understood.

    Examples:
        >>> MnemicPlugin(Memory(":memory:", embedder="hashing"), name="team").name
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
        name: str = "mnemic",
        **recall: Unpack[RecallOptions],
    ) -> None:
        self._name = name
        super().__init__()
        self._recall = Recall(**recall)
        self._face, self._scope = as_async(memory), scope
        self._made = mnemic_tools(self._face, scope=scope, **self._recall.ranked) if tools else []
        self._store, self._idle = store, idle
        self._runs: WeakKeyDictionary[LocalAgent, _Run] = WeakKeyDictionary()
        self._resumed: WeakSet[LocalAgent] = WeakSet()

    @property
    def name(self) -> str:
        """Of the plugin."""
        return self._name

    def init_agent(self, agent: Agent) -> None:
        """Follow the invocations of an agent, and give it the tools."""
        agent.add_hook(self._begin, BeforeInvocationEvent)
        agent.add_hook(self._note_answer, AfterModelCallEvent)
        agent.add_hook(self._keep, MessageAddedEvent)
        agent.add_hook(self._end, AfterInvocationEvent, order=HookOrder.SDK_LAST)  # it sees what other hooks asked for
        ContextInjector(self._recalled, name=f"{self.name}-recall", trigger="everyTurn").init_agent(agent)
        for tool in self._made:
            agent.tool_registry.register_tool(tool)

    def _begin(self, event: BeforeInvocationEvent) -> None:
        """No idle work from here on."""
        self._end_run(event.agent)  # of an invocation that another hook prevented
        handle = bound(self._face, self._scope, event.invocation_state, session=event.agent.session_id)
        run = self._runs[event.agent] = _Run(handle, of_program=event.agent in self._resumed)
        run.open.enter_context(run_of(handle, idle=self._idle))

    def _note_answer(self, event: AfterModelCallEvent) -> None:
        """Note whether the model answered. For a call that is cancelled Strands puts words of its own into the model's role."""
        if (run := self._runs.get(event.agent)) is not None:
            run.answered = event.stop_response is not None and event.stop_response.stop_reason != "cancelled"

    async def _keep(self, event: MessageAddedEvent) -> None:
        """Store what the user and the agent say. Messages that are added between invocations are the program's."""
        run, message = self._runs.get(event.agent), event.message
        if run is None or not self._store:
            return
        if message["role"] == "assistant":
            answered, run.answered = run.answered, False
            if not answered:
                return
        elif not has_results(message) and (run.asked or run.of_program):
            return
        run.messages.append(message)
        await store_new(run.handle, thread_of(run.handle, thread_messages(run.messages)), run.stored)

    async def _recalled(self, call: InjectionContext) -> str:
        """The text that Strands puts behind the last message in the user's role, in this call of the model only."""
        if (run := self._runs.get(call.agent)) is None:
            return ""
        run.asked = True
        if run.context is None:
            run.context = await self._text(run.handle, call.messages)
        return run.context

    async def _text(self, handle: AsyncMemory, messages: Sequence[Message]) -> str:
        thread = thread_of(handle, thread_messages(messages))
        question = thread.question()
        with recall_failures_logged():
            shown, recent = thread.shown_ids(known=await last_of_session(handle)), thread.recent(question)
            return await self._recall.text(handle, question, exclude=shown, recent=recent)
        return ""

    def _end(self, event: AfterInvocationEvent) -> None:
        """Start the idle period, however the invocation ended."""
        self._end_run(event.agent)
        (self._resumed.discard if event.resume is None else self._resumed.add)(event.agent)

    def _end_run(self, agent: LocalAgent) -> None:
        if (run := self._runs.pop(agent, None)) is not None:
            run.open.close()
