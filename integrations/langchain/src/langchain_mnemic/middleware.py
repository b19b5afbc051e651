"""MnemicMiddleware: an agent made with ``create_agent`` recalls before it answers, and remembers what was said."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, Literal, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import (
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables.config import ensure_config
from langgraph.runtime import Runtime

from langchain_mnemic.binding import Handle, ScopeSource, bound, unknown_options
from langchain_mnemic.messages import evidence, id_prefix, key_of, record_ids, text_of, typed_by_user
from mnemic import (
    AsyncMemory,
    ConfigurationError,
    EmbedderError,
    Memory,
    MemoryContext,
    Message,
    Receipts,
    Scope,
    StoreError,
)

__all__ = ["MnemicMiddleware", "MnemicState"]

logger = logging.getLogger(__name__)

MAX_QUESTION = 8_000
MARKS = 8
"""How many of the last messages dealt with are kept in mind: of those, some may leave the thread."""


class MnemicState(AgentState[Any]):
    """What the middleware keeps in the agent's state; none of it is part of the agent's input or output.

    ``mnemic_context`` is what was recalled for this run, ``mnemic_mark`` the last messages already dealt with (empty:
    none yet; earlier versions kept one of them as a string), ``mnemic_said`` the messages of the user that this run must
    not lose.
    """

    mnemic_context: NotRequired[Annotated[str, PrivateStateAttr]]
    mnemic_mark: NotRequired[Annotated[list[str] | str, PrivateStateAttr]]
    mnemic_said: NotRequired[Annotated[list[str], PrivateStateAttr]]


def _question(messages: Sequence[AnyMessage]) -> str:
    """The last words of the user; of a very long text its beginning and its end."""
    text = next((text_of(message) for message in reversed(messages) if typed_by_user(message)), "").strip()
    return text if len(text) <= MAX_QUESTION else f"{text[: MAX_QUESTION // 2]}\n{text[-MAX_QUESTION // 2 :]}"


def _marks(state: MnemicState) -> list[str]:
    """The last messages that were dealt with, oldest first."""
    marks = state.get("mnemic_mark") or []
    return [marks] if isinstance(marks, str) else [*marks]


def _marked(messages: Sequence[AnyMessage]) -> list[str]:
    """The marks of messages that were dealt with."""
    first = max(0, len(messages) - MARKS)
    return [key_of(message, first + i) for i, message in enumerate(messages[first:])]


def _unanswered(messages: Sequence[AnyMessage]) -> int:
    """Where a conversation that is met for the first time begins to be new: after the last answer it already has."""
    return next((i + 1 for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], AIMessage)), 0)


def _behind(messages: Sequence[AnyMessage], marks: Sequence[str]) -> int | None:
    """The position after the newest marked message; None when all of them are gone from the thread."""
    places = range(len(messages) - 1, -1, -1)
    return next((i + 1 for i in places if key_of(messages[i], i) in marks), None)


def _start(state: MnemicState) -> int:
    """Where the thread begins to be new, before a run."""
    messages, marks = state["messages"], _marks(state)
    if marks and (start := _behind(messages, marks)) is not None:
        return start
    if state.get("mnemic_mark") is not None and not marks:
        return 0
    left = {*state.get("mnemic_said", [])}  # of a run that failed
    unsaid = (i for i, message in enumerate(messages) if key_of(message, i) in left)
    return min(next(unsaid, len(messages)), _unanswered(messages))


def _with_user_data(messages: Sequence[AnyMessage], context: str) -> list[AnyMessage]:
    """The messages with the context at the head of a copy of the last human one."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, HumanMessage):
            content = cast("str | list[str | dict[str, Any]]", message.content)
            more = (
                f"{context}\n\n{content}" if isinstance(content, str) else [{"type": "text", "text": context}, *content]
            )
            changed = message.model_copy(update={"content": more})
            return [*messages[:position], changed, *messages[position + 1 :]]
    return [HumanMessage(content=context), *messages]


def _with_system_data(message: SystemMessage | None, context: str) -> SystemMessage:
    """The system message with the context behind it; its own blocks stay first, so that their cache holds."""
    if message is None:
        return SystemMessage(content=context)
    content = cast("str | list[str | dict[str, Any]]", message.content)
    more = f"{content}\n\n{context}" if isinstance(content, str) else [*content, {"type": "text", "text": context}]
    return message.model_copy(update={"content": more})


def _thread(runtime: Runtime[Any]) -> str | None:
    """The thread this run belongs to, with or without a checkpointer."""
    info = getattr(runtime, "execution_info", None)
    thread = getattr(info, "thread_id", None) or ensure_config().get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


class _Texts:
    """The texts for one run, and what they hold."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._ids: list[str] = []

    def add(self, context: MemoryContext) -> None:
        self._texts.append(context.to_prompt())
        self._ids += [hit.id for hit in context.hits] + [memory.id for memory in context.memories]

    def shown(self, more: Sequence[str]) -> list[str]:
        return [*dict.fromkeys([*more, *self._ids])]

    def __str__(self) -> str:
        return "\n\n".join(filter(None, self._texts))


def _report(receipts: Receipts) -> None:
    for receipt in receipts.rejected:
        logger.warning("Not remembered: %s: %s", receipt.id, receipt.reason)


class MnemicMiddleware(AgentMiddleware[MnemicState, Any, Any]):
    """Long-term memory for ``create_agent``.

    Before a run it recalls, once, what bears on the user's last message, without what the thread shows anyway. Every
    model call of the run sees that text, fenced as data. It is part of the request only, never of the thread, and so is
    never taken in again; until the run ends it is private state, which shows in streams of ``values`` and ``updates``
    and in the run's checkpoints. After the run it stores what the user and the agent said, each message once. Messages
    that the program or other middleware put in the user's role (marked ``lc_source``), system messages, tool calls and
    reasoning are not stored.

    What counts as new: with a checkpointer, everything since the last run that was stored. Without one, or the first
    time a thread is seen, what follows the last answer in the input: a client that sends the whole history each time
    does not store it each time. To bring in older conversations use ``memory.add``.

    When memory fails: a recall that fails (``StoreError``, ``EmbedderError``) is logged, and the agent answers without
    it. A write that fails raises, because a loss must be seen; with a checkpointer the next run of the thread makes
    up for it. Wrong arguments and an unusable scope always raise.

    Args:
        memory: where to recall from and to store into.
        scope: whose memory: a value, or a function of the ``Runtime``, such as
            ``lambda runtime: {"user": runtime.context.user_id}``. The session is the thread's id unless given here or
            bound to ``memory``.
        max_tokens: most tokens that recalled text may take.
        recall_kwargs: further arguments of ``Memory.get_memory_context``.
        inject: ``"user"`` puts the recalled text at the head of a copy of the last human message; ``"system"`` behind
            the system prompt, where it has more authority than recalled text should have.
        store_tools: also store the results of tools.
        start_tokens: most tokens that the beginning of a thread may take to say what a new session should know: important
            memories and the latest messages, whatever was asked. 0: nothing.
        idle: arm ``memory.idle``: after a quiet time new messages are processed and consolidated, in a thread of its own.

    Raises:
        ConfigurationError: ``inject`` or ``recall_kwargs`` is not understood.
    """

    state_schema = MnemicState

    def __init__(
        self,
        memory: Memory,
        *,
        scope: ScopeSource = None,
        max_tokens: int = 1000,
        recall_kwargs: Mapping[str, Any] | None = None,
        inject: Literal["user", "system"] = "user",
        store_tools: bool = False,
        start_tokens: int = 0,
        idle: bool = True,
    ) -> None:
        super().__init__()
        self.tools = []
        options: dict[str, Any] = {**(recall_kwargs or {})}
        if wrong := unknown_options(Memory.get_memory_context, options, reserved=("query", "max_tokens", "exclude")):
            raise ConfigurationError(f"recall_kwargs: {wrong}")
        if inject not in ("user", "system"):
            raise ConfigurationError(f'inject must be "user" or "system", not {inject!r:.40}.')
        self._memory, self._face, self._scope = memory, AsyncMemory.over(memory), scope
        self._options: dict[str, Any] = {**options, "max_tokens": max_tokens}
        self._inject, self._store_tools, self._start, self._idle = inject, store_tools, start_tokens, idle

    # Before the run

    def before_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's last message."""
        handle = self._here(self._memory, runtime)
        texts, shown = _Texts(), self._shown(state, handle.scope)
        try:
            for asked in self._asked(state):
                texts.add(handle.get_memory_context(exclude=texts.shown(shown), **asked))
        except (StoreError, EmbedderError):
            logger.warning("Recall failed; the agent goes on without memory.", exc_info=True)
        self._arm(handle)
        return self._begin(state, str(texts))

    async def abefore_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's last message, off the event loop."""
        handle = self._here(self._face, runtime)
        texts, shown = _Texts(), self._shown(state, handle.scope)
        try:
            for asked in self._asked(state):
                texts.add(await handle.get_memory_context(exclude=texts.shown(shown), **asked))
        except (StoreError, EmbedderError):
            logger.warning("Recall failed; the agent goes on without memory.", exc_info=True)
        self._arm(handle)
        return self._begin(state, str(texts))

    def _here(self, memory: Handle, runtime: Runtime[Any]) -> Handle:
        """The handle of this run: the user and project of the scope, the session of the thread unless one is given."""
        handle = bound(memory, self._scope, runtime)
        thread = _thread(runtime) if handle.scope.session is None else None
        return handle if thread is None else handle.scoped(session=thread)

    def _asked(self, state: MnemicState) -> list[dict[str, Any]]:
        """What is asked of the memory before a run: at the beginning of a thread what is worth knowing anyway."""
        messages, asked = state["messages"], list[dict[str, Any]]()
        new = state.get("mnemic_mark") is None and not any(isinstance(m, AIMessage) for m in messages)
        if self._start and new:
            asked.append({**self._options, "max_tokens": self._start})
        if question := _question(messages):
            asked.append({**self._options, "query": question})
        return asked

    def _arm(self, handle: Memory | AsyncMemory) -> None:
        """The quiet time begins anew."""
        if self._idle:
            handle.idle.arm()

    def _busy(self, runtime: Runtime[Any]) -> AbstractContextManager[None]:
        """A model call must not be disturbed, however long it takes or however it ends."""
        return self._here(self._memory, runtime).idle.run() if self._idle else nullcontext()

    def _shown(self, state: MnemicState, scope: Scope) -> list[str]:
        """The ids of what the model sees of the thread anyway."""
        prefix, messages = id_prefix(scope), enumerate(state["messages"])
        return [id_ for i, m in messages if self._stores(m) for id_ in record_ids(m, prefix=prefix, position=i)]

    @staticmethod
    def _begin(state: MnemicState, context: str) -> dict[str, Any]:
        messages, start = state["messages"], _start(state)
        said = [key_of(message, i) for i, message in enumerate(messages) if i >= start and typed_by_user(message)]
        return {"mnemic_context": context, "mnemic_mark": _marked(messages[:start]), "mnemic_said": said}

    # Each model call

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the recalled text to the model."""
        with self._busy(request.runtime):
            return handler(self._informed(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Show the recalled text to the model."""
        with self._busy(request.runtime):
            return await handler(self._informed(request))

    def _informed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        context = cast("MnemicState", request.state).get("mnemic_context")
        if not context:
            return request
        if self._inject == "system":
            return request.override(system_message=_with_system_data(request.system_message, context))
        return request.override(messages=_with_user_data(request.messages, context))

    # After the run

    def after_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store what was said since the last run."""
        handle = self._here(self._memory, runtime)
        if new := self._new(state, handle.scope):
            _report(handle.add(new))
        self._arm(handle)
        return self._end(state)

    async def aafter_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store what was said since the last run, off the event loop."""
        handle = self._here(self._face, runtime)
        if new := self._new(state, handle.scope):
            _report(await handle.add(new))
        self._arm(handle)
        return self._end(state)

    def _new(self, state: MnemicState, scope: Scope) -> list[Message]:
        messages = state["messages"]
        start = _behind(messages, _marks(state)) or 0  # a run may sum up and remove what came before it
        new = [*enumerate(messages)][start:]
        left = {key_of(message, i) for i, message in new}
        if lost := [key for key in state.get("mnemic_said", []) if key not in left]:
            logger.warning("Removed from the thread before they could be remembered: messages %s", lost)
        prefix = id_prefix(scope)
        return [
            record
            for i, message in new
            if self._stores(message)
            for record in evidence(message, prefix=prefix, position=i)
        ]

    def _stores(self, message: AnyMessage) -> bool:
        spoken = typed_by_user(message) or isinstance(message, AIMessage)
        return spoken or (self._store_tools and isinstance(message, ToolMessage))

    @staticmethod
    def _end(state: MnemicState) -> dict[str, Any]:
        return {"mnemic_context": "", "mnemic_mark": _marked(state["messages"]), "mnemic_said": []}
