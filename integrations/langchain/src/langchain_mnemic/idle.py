"""MnemicIdleConsolidation: idle time after a run is used to process and consolidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from mnemic import Memory
from mnemic.adapters import OpenRuns, ScopeSource, bound, checked_memory


class MnemicIdleConsolidation(BaseCallbackHandler):
    """Reports runs to ``memory.idle``, which processes and consolidates when nothing runs.

    Give it to anything that takes callbacks: ``chain.invoke(..., config={"callbacks": [MnemicIdleConsolidation(memory)]})``.
    Only the outermost run counts, whatever it is: an agent, a chain, a model, a tool, a retriever; what runs inside it is
    part of it. Its end, also by an error, starts the idle period. After that, new messages are processed and what is worth
    it is consolidated, on a background thread. One handler serves synchronous, asynchronous and streaming calls, and many at
    once.

    ``MnemicMiddleware`` does the same for its agent, which does not need this handler.

    Args:
        memory: whose ``idle`` trigger is armed; the length of the idle period is an argument of ``Memory``.
        scope: whose memory: a value, or a function of the ``metadata`` of the run's config, such as
            ``lambda metadata: {"user": metadata["user_id"]}``.

    Raises:
        ConfigurationError: ``memory`` is not a ``Memory``.
    """

    run_inline = True
    """Asynchronous callers call it directly, so that no end overtakes its start."""

    def __init__(self, memory: Memory, *, scope: ScopeSource = None) -> None:
        super().__init__()
        self._memory, self._scope, self._runs = checked_memory(memory), scope, OpenRuns()

    def _started(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **given: Any) -> None:
        if parent_run_id is None:
            metadata: Mapping[str, Any] = given.get("metadata") or {}
            self._runs.begin(run_id, bound(self._memory, self._scope, metadata).idle)

    def _ended(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._runs.end(run_id)

    on_chain_start = on_llm_start = on_chat_model_start = on_tool_start = on_retriever_start = _started
    on_chain_end = on_llm_end = on_tool_end = on_retriever_end = _ended
    on_chain_error = on_llm_error = on_tool_error = on_retriever_error = _ended
