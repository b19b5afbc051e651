"""Mnemic for LangChain: memory for agents, a retriever, a chat history, and the memory of classic chains.

Names are loaded when they are first used; ``MnemicMemory`` alone needs ``langchain-classic``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_mnemic.classic import MnemicMemory
    from langchain_mnemic.history import MnemicChatMessageHistory
    from langchain_mnemic.middleware import MnemicMiddleware
    from langchain_mnemic.retriever import MnemicRetriever

_MODULE_OF = {
    "MnemicChatMessageHistory": "langchain_mnemic.history",
    "MnemicMemory": "langchain_mnemic.classic",
    "MnemicMiddleware": "langchain_mnemic.middleware",
    "MnemicRetriever": "langchain_mnemic.retriever",
}

__version__ = "0.1.0"

__all__ = ["MnemicChatMessageHistory", "MnemicMemory", "MnemicMiddleware", "MnemicRetriever", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'langchain_mnemic' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
