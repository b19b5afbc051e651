"""MnemicIdleConsolidation: idle time after a run is used to process and consolidate."""

from __future__ import annotations

from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_validator
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from pydantic import SkipValidation

from mnemic import IdleTrigger, Memory, Scope
from mnemic.adapters import OpenRuns, bind, checked_memory

_PAIRED = ("LLMChat", "LLMCompletion", "LLMPredict", "LLMStructuredPredict", "Query", "Retrieval")
"""Steps whose start is always followed by an end or an error in the same span."""

_BROKEN = ("ExceptionEvent", "SpanDropEvent")


class MnemicIdleConsolidation(BaseEventHandler):
    """Reports events to ``memory.idle``, which processes and consolidates when nothing runs.

    Add it to the dispatcher once: ``get_dispatcher().add_event_handler(MnemicIdleConsolidation(memory=memory))``. Every
    event of LlamaIndex restarts the idle period, and none starts while a model is called, a query is answered or a retriever
    searches. After it, new messages are processed and what is worth it is consolidated, on a background thread.

    ``MnemicChatMemory`` and ``MnemicMemoryBlock`` do the same for their engines and agents, which do not need this handler.

    Args:
        memory: whose ``idle`` trigger is armed; the length of the idle period is an argument of ``Memory``.
        scope: whose memory; names it leaves out are those of ``memory``.

    Raises:
        ConfigurationError: ``memory`` is not an open ``Memory``.
    """

    memory: Memory = Field(exclude=True, repr=False)
    scope: SkipValidation[Scope | dict[str, str] | None] = None

    _trigger: IdleTrigger = PrivateAttr()
    _runs: OpenRuns = PrivateAttr(default_factory=OpenRuns)

    @field_validator("memory", mode="before")
    @classmethod
    def _usable(cls, value: object) -> Memory:
        return checked_memory(value)

    def model_post_init(self, context: Any, /) -> None:
        """Find the trigger."""
        super().model_post_init(context)
        self._trigger = bind(self.memory, self.scope).memory.idle

    @classmethod
    def class_name(cls) -> str:
        """The name in serialized form."""
        return "MnemicIdleConsolidation"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Note that something began, went on, or ended."""
        name, span = type(event).__name__, event.span_id or ""
        step = name.removesuffix("StartEvent")
        if step != name and step in _PAIRED and span:
            self._runs.begin((span, step), self._trigger)
            return
        ended = (
            [key for key in self._runs.keys if key[0] == span]
            if name in _BROKEN
            else [(span, name.removesuffix("EndEvent"))]
        )
        for key in ended:
            self._runs.end(key)
        self._trigger.arm()
