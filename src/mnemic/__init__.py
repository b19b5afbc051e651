"""Mnemic: long-term memory for LLM agents, from one folder, with no server, no key and no LLM.

Names are loaded when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.aio import AsyncMemory
    from mnemic.embedders import (
        CachedEmbedder,
        HashingEmbedder,
        OnnxEmbedder,
        RemoteEmbedder,
        SentenceTransformerEmbedder,
    )
    from mnemic.errors import (
        ConfigurationError,
        EmbedderError,
        EmbedderUnavailable,
        EmbeddingMismatch,
        InvalidInput,
        MissingExtra,
        MnemicError,
        NotFound,
        SchemaTooNew,
        StoreClosed,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreUnavailable,
    )
    from mnemic.memory import Memory
    from mnemic.protocols import Embedder, Reranker, TokenCounter
    from mnemic.rerankers import CrossEncoderReranker
    from mnemic.retrieval import Recipe
    from mnemic.types import (
        Emotion,
        Event,
        Hit,
        MemoryContext,
        MemoryRecord,
        Message,
        Receipt,
        Receipts,
        Scope,
        SearchResult,
        Stats,
        VerifyReport,
    )

_HOME = {
    "mnemic.aio": ("AsyncMemory",),
    "mnemic.embedders": (
        "CachedEmbedder",
        "HashingEmbedder",
        "OnnxEmbedder",
        "RemoteEmbedder",
        "SentenceTransformerEmbedder",
    ),
    "mnemic.errors": (
        "ConfigurationError",
        "EmbedderError",
        "EmbedderUnavailable",
        "EmbeddingMismatch",
        "InvalidInput",
        "MissingExtra",
        "MnemicError",
        "NotFound",
        "SchemaTooNew",
        "StoreClosed",
        "StoreCorrupt",
        "StoreError",
        "StoreFull",
        "StoreReadOnly",
        "StoreUnavailable",
    ),
    "mnemic.memory": ("Memory",),
    "mnemic.protocols": ("Embedder", "Reranker", "TokenCounter"),
    "mnemic.rerankers": ("CrossEncoderReranker",),
    "mnemic.retrieval": ("Recipe",),
    "mnemic.types": (
        "Emotion",
        "Event",
        "Hit",
        "MemoryContext",
        "MemoryRecord",
        "Message",
        "Receipt",
        "Receipts",
        "Scope",
        "SearchResult",
        "Stats",
        "VerifyReport",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "CachedEmbedder",
    "ConfigurationError",
    "CrossEncoderReranker",
    "Embedder",
    "EmbedderError",
    "EmbedderUnavailable",
    "EmbeddingMismatch",
    "Emotion",
    "Event",
    "HashingEmbedder",
    "Hit",
    "InvalidInput",
    "Memory",
    "MemoryContext",
    "MemoryRecord",
    "Message",
    "MissingExtra",
    "MnemicError",
    "NotFound",
    "OnnxEmbedder",
    "Receipt",
    "Receipts",
    "Recipe",
    "RemoteEmbedder",
    "Reranker",
    "SchemaTooNew",
    "Scope",
    "SearchResult",
    "SentenceTransformerEmbedder",
    "Stats",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "TokenCounter",
    "VerifyReport",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mnemic' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
