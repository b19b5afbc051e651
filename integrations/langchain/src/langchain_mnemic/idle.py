"""IdleConsolidation: the quiet time after a run is used to process and consolidate."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from langchain_mnemic.binding import checked
from mnemic import IdleTrigger, Memory, ScopeSource, bound

__all__ = ["IdleConsolidation"]


class IdleConsolidation(BaseCallbackHandler):
    """Tells ``memory.idle`` when something runs, so that it works when nothing does.

    Give it to anything that takes callbacks: ``chain.invoke(..., config={"callbacks": [IdleConsolidation(memory)]})``. Only
    the outermost run counts, whatever it is: an agent, a chain, a model, a tool, a retriever; what runs inside it is part of
    it. Its end, also by an error, begins the quiet time; once it is over, new messages are processed and what is worth it is
    consolidated, in a thread of its own. One handler serves synchronous, asynchronous and streaming calls, and many at once.

    ``MnemicMiddleware`` does the same for its own agent: there this handler is not needed.

    Args:
        memory: whose ``idle`` trigger is armed; how long is quiet is an argument of ``Memory``.
        scope: whose memory: a value, or a function of the ``metadata`` of the run's config, such as
            ``lambda metadata: {"user": metadata["user_id"]}``.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``.
    """

    run_inline = True
    """Asynchronous callers call it directly: a start must not be overtaken by its end."""

    def __init__(self, memory: Memory, *, scope: ScopeSource = None) -> None:
        super().__init__()
        self._memory, self._scope = checked(memory), scope
        self._roots: dict[UUID, IdleTrigger] = {}
        self._lock = threading.Lock()

    def _started(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **given: Any) -> None:
        if parent_run_id is not None:
            return
        metadata: Mapping[str, Any] = given.get("metadata") or {}
        trigger = bound(self._memory, self._scope, metadata).idle
        with self._lock:
            if run_id in self._roots:
                return
            self._roots[run_id] = trigger
        trigger.begin()

    def _ended(self, *_: Any, run_id: UUID, **__: Any) -> None:
        with self._lock:
            trigger = self._roots.pop(run_id, None)
        if trigger is not None:
            trigger.end()

    on_chain_start = on_llm_start = on_chat_model_start = on_tool_start = on_retriever_start = _started
    on_chain_end = on_llm_end = on_tool_end = on_retriever_end = _ended
    on_chain_error = on_llm_error = on_tool_error = on_retriever_error = _ended
