"""Mnemic in LlamaIndex: a chat memory with recall, a block for ``Memory``, a retriever, tools, and an idle handler.

Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llama_index.memory.mnemic.chat_memory import MnemicChatMemory
    from llama_index.memory.mnemic.idle import MnemicIdleConsolidation
    from llama_index.memory.mnemic.memory_block import MnemicMemoryBlock
    from llama_index.memory.mnemic.retriever import MnemicRetriever
    from llama_index.memory.mnemic.tool_spec import MnemicToolSpec

_MODULE_OF = {
    "MnemicIdleConsolidation": "idle",
    "MnemicChatMemory": "chat_memory",
    "MnemicMemoryBlock": "memory_block",
    "MnemicRetriever": "retriever",
    "MnemicToolSpec": "tool_spec",
}

__version__ = "0.1.0"

__all__ = [
    "MnemicChatMemory", "MnemicIdleConsolidation", "MnemicMemoryBlock", "MnemicRetriever", "MnemicToolSpec", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
