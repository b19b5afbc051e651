"""IdleConsolidation: the quiet time after a run is used to process and consolidate."""

from __future__ import annotations

import threading
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_validator
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent

from llama_index.memory.mnemic._binding import given_memory
from mnemic import IdleTrigger, Memory

__all__ = ["IdleConsolidation"]

_PAIRED = ("LLMChat", "LLMCompletion", "LLMPredict", "LLMStructuredPredict", "Query", "Retrieval")
"""Steps whose start is always followed by an end or an error in the same span."""

_BROKEN = ("ExceptionEvent", "SpanDropEvent")


class IdleConsolidation(BaseEventHandler):
    """Tells ``memory.idle`` what goes on, so that it works when nothing does.

    Add it to the dispatcher once: ``get_dispatcher().add_event_handler(IdleConsolidation(memory=memory))``. Every event of
    LlamaIndex begins the quiet time anew, and none begins while a model is called, a query is answered or a retriever
    searches. Once it is quiet, new messages are processed and what is worth it is consolidated, in a thread of its own.

    ``MnemicChatMemory`` and ``MnemicMemoryBlock`` do the same for what they are part of: there it is not needed.

    Args:
        memory: whose ``idle`` trigger is armed; how long is quiet is an argument of ``Memory``.
        user: whose memory; ``None``: the handle's user.

    Raises:
        ConfigurationError: ``memory`` is no open ``Memory``.
    """

    memory: Memory = Field(exclude=True, repr=False)
    user: str | None = None

    _trigger: IdleTrigger = PrivateAttr()
    _open: set[tuple[str, str]] = PrivateAttr(default_factory=set[tuple[str, str]])
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @field_validator("memory", mode="before")
    @classmethod
    def _usable(cls, value: object) -> object:
        return given_memory(value, folder=False)

    def model_post_init(self, context: Any, /) -> None:
        """Find the trigger."""
        super().model_post_init(context)
        self._trigger = (self.memory if self.user is None else self.memory.scoped(user=self.user)).idle

    @classmethod
    def class_name(cls) -> str:
        """The name in serialised form."""
        return "IdleConsolidation"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Note that something began, went on, or ended."""
        name, span = type(event).__name__, event.span_id or ""
        step = name.removesuffix("StartEvent")
        if step != name and step in _PAIRED and span:
            self._begin((span, step))
        elif name in _BROKEN:
            self._end([key for key in self._known() if key[0] == span])
        else:
            self._end([(span, name.removesuffix("EndEvent"))])

    def _known(self) -> list[tuple[str, str]]:
        with self._lock:
            return [*self._open]

    def _begin(self, key: tuple[str, str]) -> None:
        with self._lock:
            if key in self._open:
                return
            self._open.add(key)
        self._trigger.begin()

    def _end(self, keys: list[tuple[str, str]]) -> None:
        for key in keys:
            with self._lock:
                known = key in self._open
                self._open.discard(key)
            if known:
                self._trigger.end()
        self._trigger.arm()
