"""MnemicMiddleware: an agent made with ``create_agent`` recalls before it answers, and remembers what was said."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NotRequired, TypeVar, cast

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

from langchain_mnemic.binding import checked
from langchain_mnemic.messages import (
    evidence,
    id_prefix,
    is_notice,
    is_recalled,
    key_of,
    record_id,
    record_ids,
    said_by,
    said_in,
    text_of,
    typed_by_user,
)
from langchain_mnemic.thread import Marks, dealt_with, last_turn, marked, repeated, unmarked
from mnemic import (
    AsyncMemory,
    ConfigurationError,
    EmbedderError,
    Memory,
    MemoryContext,
    Message,
    Receipts,
    Scope,
    ScopeSource,
    StoreError,
    bound,
    checked_options,
)

__all__ = ["MnemicMiddleware", "MnemicState"]

logger = logging.getLogger(__name__)

Handle = TypeVar("Handle", Memory, AsyncMemory)

MAX_QUESTION = 8_000
RECENT = 4
"""Turns before the user's last words that say what these are about."""
LOOKED_THROUGH = 200
"""How many of a session's messages are compared with a thread that comes without marks, beside twice its length."""
AGAIN = timedelta(minutes=10)
"""A request without ids that is made again this soon, before it was answered, is the same request."""


class MnemicState(AgentState[Any]):
    """What each middleware keeps in the agent's state by its name; none of it is part of the agent's input or output.

    ``mnemic_context`` is what was recalled for this run, ``mnemic_mark`` the messages already dealt with (earlier versions
    kept the last of them as a list or a string), ``mnemic_said`` the messages that were new when this run began.
    """

    mnemic_context: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    mnemic_mark: NotRequired[Annotated[dict[str, Marks] | list[str] | str, PrivateStateAttr]]
    mnemic_said: NotRequired[Annotated[dict[str, list[str]], PrivateStateAttr]]


def _question(messages: Sequence[AnyMessage]) -> str:
    """The last words of the user; of a very long text its beginning and its end."""
    text = next((text_of(message) for message in reversed(messages) if typed_by_user(message)), "").strip()
    return text if len(text) <= MAX_QUESTION else f"{text[: MAX_QUESTION // 2]}\n{text[-MAX_QUESTION // 2 :]}"


def _before(messages: Sequence[AnyMessage]) -> list[str]:
    """What was said in the last turns before the user's last words."""
    last = next((at for at in range(len(messages) - 1, -1, -1) if typed_by_user(messages[at])), 0)
    said = [text_of(m) for m in messages[:last] if typed_by_user(m) or isinstance(m, AIMessage)]
    return [text for text in said if text.strip()][-RECENT:]


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
        self._ids += [id_ for hit in context.hits for id_ in (hit.id, *hit.via)]

    def shown(self, more: Sequence[str]) -> list[str]:
        return [*dict.fromkeys([*more, *self._ids])]

    def __str__(self) -> str:
        return "\n\n".join(filter(None, self._texts))


def _of_session(messages: Sequence[Message], scope: Scope) -> list[Message]:
    """Without those of other sessions, which are listed too where there is none."""
    return [message for message in messages if message.session == scope.session]


def _report(receipts: Receipts) -> None:
    for receipt in receipts.rejected:
        logger.warning("Not remembered: %s: %s", receipt.id, receipt.reason)


class MnemicMiddleware(AgentMiddleware[MnemicState, Any, Any]):
    """Long-term memory for ``create_agent``.

    Before a run it recalls, once, what bears on the user's last message, without what the thread shows anyway. Every
    model call of the run sees that text, fenced as data. It is part of the request only, never of the thread, and so is
    never taken in again; until the run ends it is private state, which shows in streams of ``values`` and ``updates``
    and in the run's checkpoints. What the user said it stores before the model is called for the first time, whatever
    becomes of the run, and the rest after it, each message once. Messages that the program or other middleware put in the
    user's role (marked ``lc_source``), system messages, tool calls, reasoning and the notices of LangChain's middleware
    for retries and limits are not stored.

    What counts as new: with a checkpointer, everything since the last run that was stored, and messages that have other
    words now; those they had are no longer recalled in this thread. Without one, or the first time a thread is seen, the
    last turn of the user and what follows it: a client that sends the whole history each time does not store it each
    time, with ids or without. To bring in older conversations use ``memory.add``.

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
        max_tokens: most tokens that recalled text may take.
        min_evidence: what is graded lower is not shown: ``"weak"`` shows nothing where nothing bears on the question,
            ``"none"`` shows what is nearest anyway. The text states its grade.
        recall_kwargs: further arguments of ``Memory.get_memory_context``.
        inject: ``"user"`` puts the recalled text at the head of a copy of the last human message; ``"system"`` behind
            the system prompt, where it has more authority than recalled text should have.
        store_tools: also store the results of tools.
        start_tokens: most tokens that the beginning of a thread may take to say what a new session should know: important
            memories and the latest messages, whatever was asked. 0: nothing.
        idle: arm ``memory.idle``: after a quiet time new messages are processed and consolidated, in a thread of its own.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``, or another argument is not understood.
    """

    state_schema = MnemicState

    def __init__(
        self,
        memory: Memory,
        *,
        scope: ScopeSource = None,
        max_tokens: int = 1000,
        min_evidence: Literal["strong", "weak", "none"] = "weak",
        recall_kwargs: Mapping[str, Any] | None = None,
        inject: Literal["user", "system"] = "user",
        store_tools: bool = False,
        start_tokens: int = 0,
        idle: bool = True,
    ) -> None:
        super().__init__()
        self.tools = []
        own = {"max_tokens": max_tokens, "min_evidence": min_evidence}
        self._options = checked_options(
            Memory.get_memory_context,
            recall_kwargs or {},
            own=own,
            reserved=("query", "exclude", "recent"),
            what="recall_kwargs",
        )
        if start_tokens != 0:
            checked_options(Memory.get_memory_context, {}, own={"max_tokens": start_tokens}, what="start_tokens")
        if inject not in ("user", "system"):
            raise ConfigurationError(f'inject must be "user" or "system", not {inject!r:.40}.')
        self._memory, self._face, self._scope = checked(memory), AsyncMemory.over(memory), scope
        self._inject, self._store_tools, self._start, self._idle = inject, store_tools, start_tokens, idle

    # Before the run

    def before_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's last message."""
        handle = self._here(self._memory, runtime)
        texts, known = _Texts(), list[Message]()
        try:
            known = _of_session(handle.messages(**self._looked_through(state, handle.scope)), handle.scope)
            shown = self._shown(state, handle.scope, known)
            for asked in self._asked(state):
                texts.add(handle.get_memory_context(exclude=texts.shown(shown), **asked))
        except (StoreError, EmbedderError):
            logger.warning("Recall failed; the agent goes on without memory.", exc_info=True)
        self._arm(handle)
        return self._begin(state, handle.scope, str(texts), known)

    async def abefore_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's last message, off the event loop."""
        handle = self._here(self._face, runtime)
        texts, known = _Texts(), list[Message]()
        try:
            known = _of_session(await handle.messages(**self._looked_through(state, handle.scope)), handle.scope)
            shown = self._shown(state, handle.scope, known)
            for asked in self._asked(state):
                texts.add(await handle.get_memory_context(exclude=texts.shown(shown), **asked))
        except (StoreError, EmbedderError):
            logger.warning("Recall failed; the agent goes on without memory.", exc_info=True)
        self._arm(handle)
        return self._begin(state, handle.scope, str(texts), known)

    def _here(self, memory: Handle, runtime: Runtime[Any]) -> Handle:
        """The handle of this run: the user and project of the scope, the session of the thread unless one is given."""
        handle = bound(memory, self._scope, runtime)
        thread = _thread(runtime) if handle.scope.session is None else None
        return handle if thread is None else handle.scoped(session=thread)

    def _asked(self, state: MnemicState) -> list[dict[str, Any]]:
        """What is asked of the memory before a run: at the beginning of a thread what is worth knowing anyway."""
        messages, asked = state["messages"], list[dict[str, Any]]()
        new = self._marks(state) is None and not any(isinstance(m, AIMessage) for m in messages)
        if self._start and new:
            asked.append({**self._options, "max_tokens": self._start})
        if question := _question(messages):
            asked.append({**self._options, "query": question, "recent": _before(messages)})
        return asked

    def _arm(self, handle: Memory | AsyncMemory) -> None:
        """The quiet time begins anew."""
        if self._idle:
            handle.idle.arm()

    def _busy(self, runtime: Runtime[Any]) -> AbstractContextManager[None]:
        """A model call must not be disturbed, however long it takes or however it ends."""
        return self._here(self._memory, runtime).idle.run() if self._idle else nullcontext()

    def _looked_through(self, state: MnemicState, scope: Scope) -> dict[str, Any]:
        """The messages of the session to compare a thread with: of one that has marks, the ids tell what it shows."""
        limit = LOOKED_THROUGH + 2 * len(state["messages"]) if self._marks(state) is None else 0
        return {"session": scope.session, "limit": limit}

    def _shown(self, state: MnemicState, scope: Scope, known: Sequence[Message]) -> list[str]:
        """The ids of what the model sees of the thread anyway, in these words or in those that replaced them."""
        prefix, marks, clean = id_prefix(scope), self._marks(state) or {}, self._memory.trust.redacted
        spoken = [(i, m) for i, m in enumerate(state["messages"]) if self._stores(m)]
        ids = [id_ for i, m in spoken for id_ in record_ids(m, prefix=prefix, position=i, clean=clean)]
        keys, words = [key_of(m, i, clean) for i, m in spoken], {said_by(m, clean) for _, m in spoken}
        ids += [record_id(prefix, key, digest) for key in keys for digest in marks.get(key, [])]
        ids += [record_id(prefix, key, digest) for key, digests in marks.items() for digest in digests[1:]]
        places = {f"{prefix}:{key}" for key in keys}
        return ids + [r.id for r in known if r.id and (said_in(r) in words or r.id.rpartition(":")[0] in places)]

    def _begin(self, state: MnemicState, scope: Scope, context: str, known: Sequence[Message]) -> dict[str, Any]:
        messages, marks, clean = state["messages"], self._marks(state), self._memory.trust.redacted
        if marks is None:
            start, own = last_turn(messages), f"{id_prefix(scope)}:"
            records = [record for record in known if (record.id or "").startswith(own)]
            again = repeated(messages, start, records, datetime.now(UTC) - AGAIN, clean)
            marks = marked([*[*enumerate(messages)][:start], *again], {}, clean)
        said = [key_of(message, i, clean) for i, message in unmarked(messages, marks, clean) if self._stores(message)]
        return self._kept(state, mnemic_context=context, mnemic_mark=marks, mnemic_said=said)

    # What is kept in the state

    def _own(self, state: MnemicState, key: str) -> Any:
        held = state.get(key)
        return cast("Mapping[str, Any]", held).get(self.name) if isinstance(held, Mapping) else None

    def _marks(self, state: MnemicState) -> Marks | None:
        """What was dealt with; None for a thread that is met for the first time."""
        held = state.get("mnemic_mark")
        if isinstance(held, (str, list)):
            return dealt_with(state["messages"], held, self._memory.trust.redacted)
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
        """Store what the user said, and show the recalled text to the model."""
        with self._busy(request.runtime):
            handle = self._here(self._memory, request.runtime)
            try:
                if new := self._unanswered(request, handle.scope):
                    _report(handle.add(new))
            except (StoreError, EmbedderError):
                logger.warning("Not stored before the model's call; it will be tried after the run.", exc_info=True)
            return handler(self._informed(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Store what the user said, and show the recalled text to the model."""
        with self._busy(request.runtime):
            handle = self._here(self._face, request.runtime)
            try:
                if new := self._unanswered(request, handle.scope):
                    _report(await handle.add(new))
            except (StoreError, EmbedderError):
                logger.warning("Not stored before the model's call; it will be tried after the run.", exc_info=True)
            return await handler(self._informed(request))

    def _unanswered(self, request: ModelRequest[Any], scope: Scope) -> list[Message]:
        """What is new at the first model call of a run; nothing at the others.

        Not before that: what middleware redacts, it redacts in front of the model.
        """
        state = cast("MnemicState", request.state)
        said: list[str] = self._own(state, "mnemic_said") or []
        clean = self._memory.trust.redacted
        messages = unmarked(state["messages"], self._marks(state) or {}, clean)
        new = {key_of(message, i, clean): message for i, message in messages if self._stores(message)}
        if any(isinstance(message, AIMessage) and key not in said for key, message in new.items()):
            return []
        if lost := [key for key in said if key not in new]:
            logger.warning("Removed from the thread before they could be remembered: messages %s", lost)
        return self._new(state, scope)

    def _informed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        context = self._own(cast("MnemicState", request.state), "mnemic_context")
        if not context:
            return request
        if self._inject == "system":
            return request.override(system_message=_with_system_data(request.system_message, context))
        return request.override(messages=_with_user_data(request.messages, context))

    # After the run

    def after_agent(self, state: MnemicState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store what was said since the last run; what the first model call stored is known by its ids."""
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
        prefix, clean = id_prefix(scope), self._memory.trust.redacted
        return [
            record
            for i, message in unmarked(state["messages"], self._marks(state) or {}, clean)
            if self._stores(message)
            for record in evidence(message, prefix=prefix, position=i, clean=clean)
        ]

    def _stores(self, message: AnyMessage) -> bool:
        spoken = typed_by_user(message) or (isinstance(message, AIMessage) and not is_notice(message))
        return spoken or (self._store_tools and isinstance(message, ToolMessage) and not is_recalled(message))

    def _end(self, state: MnemicState) -> dict[str, Any]:
        messages = state["messages"]
        marks = marked(enumerate(messages), self._marks(state) or {}, self._memory.trust.redacted)
        return self._kept(state, mnemic_context="", mnemic_mark=marks, mnemic_said=[])
