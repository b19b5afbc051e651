"""MnemicMiddleware: an agent made with ``create_agent`` recalls before it answers, and remembers the conversation."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired, Unpack, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import (
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config
from langgraph.runtime import Runtime

from langchain_mnemic.messages import thread_message, with_answer_marked
from mnemic import (
    ConfigurationError,
    EmbedderError,
    Memory,
    Message,
    Scope,
    ScopeSource,
    StoreError,
    adapters,
)

logger = logging.getLogger(__name__)


class MnemicState(AgentState[Any]):
    """What each middleware keeps in the agent's state under its name; private, neither input nor output of the agent.

    ``mnemic_context`` is the recalled text of this run, ``mnemic_mark`` the messages that were handled, ``mnemic_said`` the
    keys of the messages that were new when the run began.
    """

    mnemic_context: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    mnemic_mark: NotRequired[Annotated[dict[str, adapters.Marks], PrivateStateAttr]]
    mnemic_said: NotRequired[Annotated[dict[str, list[str]], PrivateStateAttr]]


def _with_user_data(messages: Sequence[AnyMessage], context: str) -> list[AnyMessage]:
    """The messages with the context at the head of a copy of the last human one."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, HumanMessage):
            content = cast("str | list[str | dict[str, Any]]", message.content)
            text = isinstance(content, str)
            more = f"{context}\n\n{content}" if text else [{"type": "text", "text": context}, *content]
            return [*messages[:position], message.model_copy(update={"content": more}), *messages[position + 1 :]]
    return [HumanMessage(content=context), *messages]


def _with_system_data(message: SystemMessage | None, context: str) -> SystemMessage:
    """The system message with the context behind it; its own blocks stay first, so that their cache holds."""
    if message is None:
        return SystemMessage(content=context)
    content = cast("str | list[str | dict[str, Any]]", message.content)
    more = f"{content}\n\n{context}" if isinstance(content, str) else [*content, {"type": "text", "text": context}]
    return message.model_copy(update={"content": more})


def _answered(response: ModelResponse[Any]) -> ModelResponse[Any]:
    """The response; an answer in a schema that is a tool call is marked as the answer that it is."""
    marked = with_answer_marked(response.result, answered=response.structured_response is not None)
    return replace(response, result=marked)


def _thread_id(runtime: Runtime[Any]) -> str | None:
    """The thread of this run, with or without a checkpointer."""
    info = getattr(runtime, "execution_info", None)
    thread = getattr(info, "thread_id", None) or ensure_config().get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


class MnemicMiddleware(AgentMiddleware[MnemicState, Any, Any]):
    """Long-term memory for an agent made with ``create_agent``.

    Before a run it recalls, once, what bears on the user's last message, without what the thread shows anyway. Every
    model call of the run sees that text, fenced as data. What other middleware cuts from the thread is recalled as well;
    middleware that cuts only from the request, in ``wrap_model_call``, has to stand before this one in the list. The text
    is part of the request only, never of the thread, and is not stored again; until the run ends it is private state,
    which shows in streams of ``values`` and ``updates`` and in the run's checkpoints. The user's message is stored before
    the model is called for the first time, whatever becomes of the run, and the rest after it, each message once. Messages
    that the program or other middleware put in the user's role (marked ``lc_source``), system messages, tool calls,
    reasoning and the notices of LangChain's middleware for retries and limits are not stored. An answer in the schema of
    ``response_format`` is stored as JSON, also where LangChain has the model give it as a tool call.

    What counts as new: with a checkpointer, everything since the last run that was stored, and edited messages; their
    earlier text is no longer recalled in this thread. Without one, or the first time a thread is seen, the last turn of the
    user and what follows it: a client that sends the whole history each time does not store it each time, with ids or
    without. To bring in older conversations use ``memory.add``.

    An agent may have several, such as one for its user and one for a team, if they differ in ``name``.

    When memory fails: a recall that fails (``StoreError``, ``EmbedderError``) is logged, and the agent answers without
    it. A write before the model's call that fails is logged, and made again after the run. One that fails there raises,
    because a loss must be seen; with a checkpointer the next run of the thread makes up for it. Wrong arguments and an
    unusable scope always raise.

    Args:
        memory: where to recall from and to store into.
        scope: whose memory: a value, or a function of the ``Runtime``, such as
            ``lambda runtime: {"user": runtime.context.user_id}``. The session is the thread's id unless given here or
            bound to ``memory``.
        inject: ``"user"`` puts the recalled text at the head of a copy of the last human message; ``"system"`` behind
            the system prompt, where it has more authority than recalled text should have.
        store_tools: also store the results of tools.
        idle: arm ``memory.idle``: after an idle period new messages are processed and consolidated, on a background thread.
        **recall: what is recalled, and how it is ranked; see ``mnemic.adapters.RecallOptions``.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``, or another argument is not understood.
    """

    state_schema = MnemicState

    def __init__(
        self,
        memory: Memory,
        *,
        scope: ScopeSource = None,
        inject: Literal["user", "system"] = "user",
        store_tools: bool = False,
        idle: bool = True,
        **recall: Unpack[adapters.RecallOptions],
    ) -> None:
        super().__init__()
        self.tools = []
        if inject not in ("user", "system"):
            raise ConfigurationError(f'inject must be "user" or "system", not {inject!r:.40}.')
        self._recall = adapters.Recall(**recall)
        self._memory, self._scope = adapters.checked_memory(memory), scope
        self._inject, self._store_tools, self._idle = inject, store_tools, idle

    def _here(self, runtime: Runtime[Any]) -> Memory:
        """The handle of this run: the user and project of the scope, the session of the thread unless one is given."""
        return adapters.bound(self._memory, self._scope, runtime, session=_thread_id(runtime))

    def _thread(self, messages: Sequence[AnyMessage], scope: Scope) -> adapters.Thread:
        read = [thread_message(message, store_tools=self._store_tools) for message in messages]
        return adapters.Thread(read, scope=scope, clean=self._memory.admin.redacted)

    # Before the run

    def before_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's last message."""
        return self._begin(self._here(runtime), state)

    async def abefore_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's last message, off the event loop."""
        return await adapters.in_worker(self._begin, self._here(runtime), state)

    def _begin(self, memory: Memory, state: MnemicState) -> dict[str, Any]:
        thread, before = self._thread(state["messages"], memory.scope), self._marks(state)
        text, known = "", list[Message]()
        with adapters.recall_failures_logged():
            # of a thread with marks, the ids say what it shows
            known = [] if before is not None else self._known(memory, thread)
        marks = thread.first_marks(known, datetime.now(UTC) - adapters.AGAIN) if before is None else before
        with adapters.recall_failures_logged():
            shown = [*thread.shown_ids(before, known), *self._taken_back(memory, thread, marks)]
            text = self._recalled(memory, thread, shown)
        if self._idle:
            memory.idle.arm(memory.scope)
        new = [thread.keys[at] for at in thread.unmarked(marks) if thread.messages[at].stored]
        return self._kept(state, mnemic_context=text, mnemic_mark=marks, mnemic_said=new)

    def _known(self, memory: Memory, thread: adapters.Thread) -> list[Message]:
        """What the session holds, as far as a thread of this length can show it."""
        session = memory.scope.session
        last = memory.messages(session=session, limit=adapters.COMPARED + 2 * len(thread.messages))
        return [message for message in last if message.session == session]

    def _taken_back(self, memory: Memory, thread: adapters.Thread, marks: adapters.Marks) -> list[str]:
        """The ids of what the session holds after the last question, where its answer was taken back and it is asked again."""
        last = thread.last_question()
        if last is None or last in thread.unmarked(marks):
            return []
        if any(message.role == "assistant" and message.text.strip() for message in thread.messages[last:]):
            return []
        known = self._known(memory, thread)
        asked = [n for n, record in enumerate(known) if adapters.words_of(record) == thread.words[last]]
        return [str(record.id) for record in known[asked[-1] + 1 :]] if asked else []

    def _recalled(self, memory: Memory, thread: adapters.Thread, shown: Sequence[str]) -> str:
        question = thread.question()
        return self._recall.blocking_text(memory, question, recent=thread.recent(question), exclude=shown)

    # What is kept in the state

    def _own(self, state: MnemicState, key: str) -> Any:
        held = state.get(key)
        return cast("Mapping[str, Any]", held).get(self.name) if isinstance(held, Mapping) else None

    def _marks(self, state: MnemicState) -> adapters.Marks | None:
        """What was handled; None for a thread that is met for the first time."""
        return self._own(state, "mnemic_mark")

    def _kept(self, state: MnemicState, **values: Any) -> dict[str, Any]:
        """An update of the state that leaves what other middleware of this kind keeps there."""
        held = {key: state.get(key) for key in values}
        return {
            key: {**(cast("Mapping[str, Any]", old) if isinstance(old, Mapping) else {}), self.name: values[key]}
            for key, old in held.items()
        }

    # Each model call

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Store the user's message, and show the recalled text to the model."""
        memory = self._here(request.runtime)
        with adapters.run_of(memory, idle=self._idle):
            return _answered(handler(self._ask(memory, request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Store the user's message, and show the recalled text to the model, off the event loop."""
        memory = self._here(request.runtime)
        with adapters.run_of(memory, idle=self._idle):
            return _answered(await handler(await adapters.in_worker(self._ask, memory, request)))

    def _ask(self, memory: Memory, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Store what is unanswered; returns the request with the recalled text."""
        state = cast("MnemicState", request.state)
        thread = self._thread(state["messages"], memory.scope)
        try:
            if new := self._unanswered(thread, state):
                adapters.log_rejected(memory.add(new))
        except (StoreError, EmbedderError):
            logger.warning("Not stored before the model's call; it will be tried after the run.", exc_info=True)
        shown = self._thread(request.messages, memory.scope)
        return self._informed(request, self._context(memory, thread, shown, state))

    def _context(self, memory: Memory, thread: adapters.Thread, shown: adapters.Thread, state: MnemicState) -> str:
        """The recalled text of the run; recalled again where the request lacks what the thread showed when the run began."""
        marks = self._marks(state) or {}
        unedited = {key for key, digests in marks.items() if len(digests) == 1}
        if unedited.union(thread.keys) - {*shown.keys}:
            with adapters.recall_failures_logged():
                known = self._known(memory, shown)
                turn = thread.records(range(thread.last_turn(), len(thread.messages)))
                left_out = [*(str(record.id) for record in turn), *self._taken_back(memory, thread, marks)]
                return self._recalled(memory, thread, [*shown.shown_ids(marks, known), *left_out])
        return self._own(state, "mnemic_context") or ""

    def _unanswered(self, thread: adapters.Thread, state: MnemicState) -> list[Message]:
        """What is new at the first model call of a run, after other middleware has redacted it; nothing at the others."""
        said: list[str] = self._own(state, "mnemic_said") or []
        new = {thread.keys[at]: at for at in thread.unmarked(self._marks(state) or {}) if thread.messages[at].stored}
        if any(thread.messages[at].role == "assistant" and key not in said for key, at in new.items()):
            return []
        if lost := [key for key in said if key not in new]:
            logger.warning("Removed from the thread before they could be remembered: messages %s", lost)
        resent = thread.resent(self._marks(state) or {})
        return thread.records(at for at in new.values() if at not in resent)

    def _informed(self, request: ModelRequest[Any], context: str) -> ModelRequest[Any]:
        if not context:
            return request
        if self._inject == "system":
            return request.override(system_message=_with_system_data(request.system_message, context))
        return request.override(messages=_with_user_data(request.messages, context))

    # After the run

    def after_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store what is new since the last run; what the first model call stored is known by its ids."""
        return self._end(self._here(runtime), state)

    async def aafter_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store what is new since the last run, off the event loop."""
        return await adapters.in_worker(self._end, self._here(runtime), state)

    def _end(self, memory: Memory, state: MnemicState) -> dict[str, Any]:
        thread, marks = self._thread(state["messages"], memory.scope), self._marks(state) or {}
        resent = thread.resent(marks)
        if new := thread.records(at for at in thread.unmarked(marks) if at not in resent):
            adapters.log_rejected(memory.add(new))
        if self._idle:
            memory.idle.arm(memory.scope)
        return self._kept(state, mnemic_context="", mnemic_mark=thread.marks(marks), mnemic_said=[])
