"""Mnemic: long-term memory for LLM agents, from one folder, with no server, no key and no LLM.

Names are loaded when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemic.adapters.binding import ScopeSource, bound, checked_options
    from mnemic.admin import Admin
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
        Conflict,
        EmbedderError,
        EmbedderUnavailable,
        EmbeddingMismatch,
        InvalidInput,
        LanguageModelError,
        LanguageModelUnavailable,
        MissingExtra,
        MnemicError,
        NotFound,
        SchemaTooNew,
        SchemaTooOld,
        StoreClosed,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreUnavailable,
        TooManyHits,
        UnknownArgument,
    )
    from mnemic.indexes.vector.chroma import Chroma
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.links import Links
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.lifecycle.sessions import Sessions
    from mnemic.lifecycle.trust import Trust
    from mnemic.llm import LanguageModel
    from mnemic.memory import Memory
    from mnemic.protocols import Embedder, Reranker, TokenCounter
    from mnemic.recall import Recipe
    from mnemic.recall.context import quoted
    from mnemic.rerankers import CrossEncoderReranker, OnnxReranker
    from mnemic.runtime.projects import Project, project
    from mnemic.runtime.scopes import new_session
    from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy, Settings
    from mnemic.safety.secrets import SecretPolicy, pieces
    from mnemic.types import (
        UNSET,
        ClusterSummary,
        ConsolidationAdvice,
        ConsolidationReport,
        Description,
        Emotion,
        Episode,
        Erasure,
        Event,
        Filters,
        Graph,
        Hit,
        LanguageModelStats,
        Link,
        MemoryContext,
        MemoryRecord,
        Message,
        Mood,
        ProcessReport,
        Purge,
        Question,
        Receipt,
        Receipts,
        Scope,
        SearchFilters,
        SearchResult,
        SessionView,
        StageUsage,
        Stats,
        StoredVector,
        Unset,
        VerifyReport,
    )

_HOME = {
    "mnemic.admin": ("Admin",),
    "mnemic.aio": ("AsyncMemory",),
    "mnemic.adapters.binding": ("ScopeSource", "bound", "checked_options"),
    "mnemic.recall.context": ("quoted",),
    "mnemic.embedders": (
        "CachedEmbedder",
        "HashingEmbedder",
        "OnnxEmbedder",
        "RemoteEmbedder",
        "SentenceTransformerEmbedder",
    ),
    "mnemic.errors": (
        "ConfigurationError",
        "Conflict",
        "EmbedderError",
        "EmbedderUnavailable",
        "EmbeddingMismatch",
        "InvalidInput",
        "LanguageModelError",
        "LanguageModelUnavailable",
        "MissingExtra",
        "MnemicError",
        "NotFound",
        "SchemaTooNew",
        "SchemaTooOld",
        "StoreClosed",
        "StoreCorrupt",
        "StoreError",
        "StoreFull",
        "StoreReadOnly",
        "StoreUnavailable",
        "TooManyHits",
        "UnknownArgument",
    ),
    "mnemic.lifecycle.idle": ("IdleTrigger",),
    "mnemic.lifecycle.links": ("Links",),
    "mnemic.lifecycle.preferences": ("Preferences",),
    "mnemic.lifecycle.sessions": ("Sessions",),
    "mnemic.lifecycle.trust": ("Trust",),
    "mnemic.runtime.settings": ("Consolidator", "Idle", "Processing", "RetentionPolicy", "Settings"),
    "mnemic.indexes.vector.chroma": ("Chroma",),
    "mnemic.llm": ("LanguageModel",),
    "mnemic.memory": ("Memory",),
    "mnemic.runtime.projects": ("Project", "project"),
    "mnemic.protocols": ("Embedder", "Reranker", "TokenCounter"),
    "mnemic.rerankers": ("CrossEncoderReranker", "OnnxReranker"),
    "mnemic.recall": ("Recipe",),
    "mnemic.safety.secrets": ("SecretPolicy", "pieces"),
    "mnemic.runtime.scopes": ("new_session",),
    "mnemic.types": (
        "UNSET",
        "ClusterSummary",
        "ConsolidationAdvice",
        "ConsolidationReport",
        "Description",
        "Emotion",
        "Episode",
        "Erasure",
        "Event",
        "Filters",
        "Graph",
        "Hit",
        "LanguageModelStats",
        "Link",
        "MemoryContext",
        "MemoryRecord",
        "Message",
        "Mood",
        "ProcessReport",
        "Purge",
        "Question",
        "Receipt",
        "Receipts",
        "Scope",
        "SearchFilters",
        "SearchResult",
        "SessionView",
        "StageUsage",
        "Stats",
        "StoredVector",
        "Unset",
        "VerifyReport",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "UNSET",
    "Admin",
    "AsyncMemory",
    "CachedEmbedder",
    "Chroma",
    "ClusterSummary",
    "ConfigurationError",
    "Conflict",
    "ConsolidationAdvice",
    "ConsolidationReport",
    "Consolidator",
    "CrossEncoderReranker",
    "Description",
    "Embedder",
    "EmbedderError",
    "EmbedderUnavailable",
    "EmbeddingMismatch",
    "Emotion",
    "Episode",
    "Erasure",
    "Event",
    "Filters",
    "Graph",
    "HashingEmbedder",
    "Hit",
    "Idle",
    "IdleTrigger",
    "InvalidInput",
    "LanguageModel",
    "LanguageModelError",
    "LanguageModelStats",
    "LanguageModelUnavailable",
    "Link",
    "Links",
    "Memory",
    "MemoryContext",
    "MemoryRecord",
    "Message",
    "MissingExtra",
    "MnemicError",
    "Mood",
    "NotFound",
    "OnnxEmbedder",
    "OnnxReranker",
    "Preferences",
    "ProcessReport",
    "Processing",
    "Project",
    "Purge",
    "Question",
    "Receipt",
    "Receipts",
    "Recipe",
    "RemoteEmbedder",
    "Reranker",
    "RetentionPolicy",
    "SchemaTooNew",
    "SchemaTooOld",
    "Scope",
    "ScopeSource",
    "SearchFilters",
    "SearchResult",
    "SecretPolicy",
    "SentenceTransformerEmbedder",
    "SessionView",
    "Sessions",
    "Settings",
    "StageUsage",
    "Stats",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "StoredVector",
    "TokenCounter",
    "TooManyHits",
    "Trust",
    "UnknownArgument",
    "Unset",
    "VerifyReport",
    "__version__",
    "bound",
    "checked_options",
    "new_session",
    "pieces",
    "project",
    "quoted",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mnemic' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
