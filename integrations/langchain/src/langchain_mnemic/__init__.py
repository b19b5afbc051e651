"""Mnemic for LangChain: memory and tools for agents, LangGraph's store, a retriever, a history, and classic chains.

Names are loaded when they are first used; ``MnemicMemory`` alone needs ``langchain-classic``.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_mnemic.classic import MnemicMemory
    from langchain_mnemic.history import MnemicChatMessageHistory
    from langchain_mnemic.idle import MnemicIdleConsolidation
    from langchain_mnemic.middleware import MnemicMiddleware
    from langchain_mnemic.retriever import MnemicRetriever
    from langchain_mnemic.store import MnemicStore
    from langchain_mnemic.tools import mnemic_tools

_MODULE_OF = {
    "MnemicIdleConsolidation": "langchain_mnemic.idle",
    "MnemicChatMessageHistory": "langchain_mnemic.history",
    "MnemicMemory": "langchain_mnemic.classic",
    "MnemicMiddleware": "langchain_mnemic.middleware",
    "MnemicRetriever": "langchain_mnemic.retriever",
    "MnemicStore": "langchain_mnemic.store",
    "mnemic_tools": "langchain_mnemic.tools",
}

__version__ = "0.1.0"

__all__ = [
    "MnemicChatMessageHistory", "MnemicIdleConsolidation", "MnemicMiddleware", "MnemicRetriever", "MnemicStore", "__version__",
    "mnemic_tools",
]  # fmt: skip
if find_spec("langchain_classic") is not None:  # "import *" takes what there is; the name alone says what to install
    __all__ += ["MnemicMemory"]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'langchain_mnemic' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_MODULE_OF, *globals()})
