"""Mnemic in LlamaIndex: a chat memory with recall, a block for ``Memory``, a retriever, tools, and an idle handler.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from llama_index.memory.mnemic.chat_memory import MnemicChatMemory
    from llama_index.memory.mnemic.idle import MnemicIdleConsolidation
    from llama_index.memory.mnemic.memory_block import MnemicMemoryBlock
    from llama_index.memory.mnemic.retriever import MnemicRetriever
    from llama_index.memory.mnemic.tool_spec import MnemicToolSpec

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "MnemicIdleConsolidation": ".idle",
        "MnemicChatMemory": ".chat_memory",
        "MnemicMemoryBlock": ".memory_block",
        "MnemicRetriever": ".retriever",
        "MnemicToolSpec": ".tool_spec",
    },
)

__version__ = "0.1.0"

__all__ = [
    "MnemicChatMemory", "MnemicIdleConsolidation", "MnemicMemoryBlock", "MnemicRetriever", "MnemicToolSpec", "__version__",
]  # fmt: skip
