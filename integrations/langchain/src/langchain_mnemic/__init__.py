"""Mnemic for LangChain: memory and tools for agents, LangGraph's store, a retriever, a history, and classic chains.

Names are loaded when they are first used; ``MnemicMemory`` alone needs ``langchain-classic``.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from mnemic.services.lazy import lazy_names

if TYPE_CHECKING:
    from langchain_mnemic.classic import MnemicMemory
    from langchain_mnemic.history import MnemicChatMessageHistory
    from langchain_mnemic.idle import MnemicIdleConsolidation
    from langchain_mnemic.middleware import MnemicMiddleware
    from langchain_mnemic.retriever import MnemicRetriever
    from langchain_mnemic.store import MnemicStore
    from langchain_mnemic.tools import mnemic_tools

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "MnemicIdleConsolidation": ".idle",
        "MnemicChatMessageHistory": ".history",
        "MnemicMemory": ".classic",
        "MnemicMiddleware": ".middleware",
        "MnemicRetriever": ".retriever",
        "MnemicStore": ".store",
        "mnemic_tools": ".tools",
    },
)

__version__ = "0.1.0"

__all__ = [
    "MnemicChatMessageHistory", "MnemicIdleConsolidation", "MnemicMiddleware", "MnemicRetriever", "MnemicStore", "__version__",
    "mnemic_tools",
]  # fmt: skip
if find_spec("langchain_classic") is not None:  # "import *" takes what there is; the name alone says what to install
    __all__ += ["MnemicMemory"]
