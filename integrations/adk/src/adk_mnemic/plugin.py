"""MnemicPlugin: the agents of an app recall before they answer, and remember the conversation."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Unpack

from google.adk.agents import InvocationContext
from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.tools import BaseTool, ToolContext
from google.adk.tools.agent_tool import AgentTool

from adk_mnemic.events import EVENTS, shown, text_of, thread_messages, with_data
from adk_mnemic.scopes import as_named, caller_of, here
from mnemic import AsyncMemory, Memory, ScopeSource
from mnemic.adapters import (
    Recall,
    RecallOptions,
    as_async,
    last_of_session,
    recall_failures_logged,
    run_of,
    store_new,
    thread_of,
)

_INSIDE_A_TOOL: ContextVar[bool] = ContextVar("inside_a_tool", default=False)
"""Whether a run is that of an agent that another agent calls as a tool: nobody says what it is asked."""


@dataclass(slots=True)
class _Run:
    """A run under way.

    Attributes:
        handle: bound to its user, project and session.
        end: ends it for the idle trigger.
        text: what was recalled; None before the first request.
        stored: ids of what was stored: what is erased during a run stays erased.
    """

    handle: AsyncMemory
    end: ExitStack
    text: str | None = None
    stored: set[str | None] = field(default_factory=set[str | None])


class MnemicPlugin(BasePlugin):
    """Long-term memory for an ``App``: ``App(..., plugins=[MnemicPlugin(memory)])``.

    In a run it recalls, once, what bears on the user's message, without what the request shows anyway; every request of
    the run sees that text, fenced as data. It stores the messages of the user and the agents, each message once. A run that
    fails, or whose events are no longer read, keeps what the user said: the message is stored before a model is asked.
    Instructions, tool calls, their results and reasoning are not stored, and neither is what an agent is asked that another
    agent calls as a tool (``AgentTool``).

    A recall that fails is logged and the agent answers without it; a write that fails raises, and so does a scope that is not
    usable: the framework makes each a ``RuntimeError`` with the error as its ``__cause__``.

    Args:
        memory: where to recall from and to store into; blocking calls run on worker threads.
        scope: whose memory: a value, or a function of the ``Caller``; names it leaves out are those of ``memory``. By default
            the ``user_id`` is the user and the ``app_name`` the project. The session is the ``session_id`` unless the handle
            or the scope has one.
        store: store the messages.
        idle: process and consolidate in idle periods after runs.
        name: of the plugin; an app has one of each name.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: an argument is not understood.
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        scope: ScopeSource = as_named,
        store: bool = True,
        idle: bool = True,
        name: str = "mnemic",
        **recall: Unpack[RecallOptions],
    ) -> None:
        super().__init__(name)
        self._recall = Recall(**recall)
        self._face, self._scope = as_async(memory), scope
        self._store, self._idle = store, idle
        self._runs: dict[str, _Run] = {}  # under way, by invocation

    # Before the answer

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """A run begins: no idle work until it ends. Store the user's message, which the session has by now."""
        if _INSIDE_A_TOOL.get():
            return
        handle, end = here(self._face, self._scope, caller_of(invocation_context.session)), ExitStack()
        end.enter_context(run_of(handle, idle=self._idle))
        # no callback is called for a run that is cancelled: it ends with its context
        weakref.finalize(invocation_context, end.close).atexit = False
        self._runs[invocation_context.invocation_id] = run = _Run(handle, end)
        end.callback(self._ended, invocation_context.invocation_id, run)
        await self._keep(run, invocation_context.session.events, invocation_context.invocation_id)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Store what was said so far, and show the recalled text at the head of the user's message, in this request only."""
        run = self._runs.get(callback_context.invocation_id)
        if run is None:
            return
        events, question = callback_context.session.events, text_of(callback_context.user_content).strip()
        await self._keep(run, events, callback_context.invocation_id)
        if run.text is None:
            run.text = await self._text(run.handle, events, question, llm_request)
        if run.text:
            llm_request.contents = with_data(llm_request.contents, run.text, question)

    async def _text(self, handle: AsyncMemory, events: Sequence[Event], question: str, request: LlmRequest) -> str:
        visible = thread_of(handle, shown(thread_messages(events), request.contents))
        with recall_failures_logged():
            seen = visible.shown_ids(known=await last_of_session(handle))
            return await self._recall.text(handle, question, exclude=seen, recent=visible.recent(question))
        return ""

    # A tool is called

    async def before_tool_callback(self, *, tool: BaseTool, tool_context: ToolContext, **_: Any) -> None:
        """Tell a memory service what is said; what an agent is asked by another agent is not the user's."""
        EVENTS.set(tool_context.session.events)
        if isinstance(tool, AgentTool):
            _INSIDE_A_TOOL.set(True)

    async def after_tool_callback(self, *, tool: BaseTool, **_: Any) -> None:
        """The tool has answered."""
        _left(tool)

    async def on_tool_error_callback(self, *, tool: BaseTool, **_: Any) -> None:
        """The tool failed."""
        _left(tool)

    # After the answer

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Store what the agents said; the run is over."""
        await self._over(invocation_context)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, **_: Any) -> None:
        """Store what was said before the run failed; the run is over."""
        await self._over(invocation_context)

    async def _over(self, context: InvocationContext) -> None:
        if (run := self._runs.get(context.invocation_id)) is not None:
            with run.end:
                await self._keep(run, context.session.events, context.invocation_id)

    def _ended(self, invocation: str, run: _Run) -> None:
        """A run is over; one that was cancelled ends late, maybe after the same invocation was resumed."""
        if self._runs.get(invocation) is run:
            del self._runs[invocation]

    async def _keep(self, run: _Run, events: Sequence[Event], invocation: str) -> None:
        """Store what the events of a run say, unless it stored it before."""
        if not self._store:
            return
        own = thread_messages(event for event in events if event.invocation_id == invocation)
        await store_new(run.handle, thread_of(run.handle, own), run.stored)


def _left(tool: BaseTool) -> None:
    EVENTS.set(())
    if isinstance(tool, AgentTool):
        _INSIDE_A_TOOL.set(False)
