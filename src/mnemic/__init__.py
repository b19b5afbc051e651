"""Mnemic: long-term memory for LLM agents, from one folder, with no server, no key and no LLM.

Names are loaded when they are first used: importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic import errors
from mnemic.errors import *  # noqa: F403 - its __all__ is the list of them
from mnemic.services.lazy import lazy_names

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
    from mnemic.indexes.vector.chroma.index import Chroma
    from mnemic.lifecycle.idle import IdleTrigger
    from mnemic.lifecycle.links import Links
    from mnemic.lifecycle.preferences import Preferences
    from mnemic.lifecycle.sessions import Sessions
    from mnemic.llm import LanguageModel
    from mnemic.memory import Memory
    from mnemic.protocols import Embedder, Reranker, TokenCounter
    from mnemic.recall.context.packing import quoted
    from mnemic.recall.recipes import Recipe
    from mnemic.rerankers import CrossEncoderReranker, OnnxReranker
    from mnemic.runtime.projects import Project, project
    from mnemic.runtime.settings import Consolidator, Idle, Processing, RetentionPolicy, Settings
    from mnemic.secrets.policy import SecretPolicy, pieces
    from mnemic.text.values import new_session
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
        GivenContext,
        Graph,
        Hit,
        ImportReport,
        LanguageModelStats,
        Link,
        MemoryContext,
        MemoryRecord,
        Message,
        Mood,
        Procedure,
        ProcessReport,
        Purge,
        Question,
        RecalledHit,
        Receipt,
        Receipts,
        Scope,
        SearchFilters,
        SearchResult,
        SessionView,
        StageUsage,
        Stats,
        StoredVector,
        SyncConflict,
        SyncedSide,
        SyncReport,
        Unset,
        VerifyReport,
    )

_HOME = {
    "mnemic.admin": ("Admin",),
    "mnemic.aio": ("AsyncMemory",),
    "mnemic.adapters.binding": ("ScopeSource", "bound", "checked_options"),
    "mnemic.recall.context.packing": ("quoted",),
    "mnemic.embedders": (
        "CachedEmbedder",
        "HashingEmbedder",
        "OnnxEmbedder",
        "RemoteEmbedder",
        "SentenceTransformerEmbedder",
    ),
    "mnemic.lifecycle.idle": ("IdleTrigger",),
    "mnemic.lifecycle.links": ("Links",),
    "mnemic.lifecycle.preferences": ("Preferences",),
    "mnemic.lifecycle.sessions": ("Sessions",),
    "mnemic.runtime.settings": ("Consolidator", "Idle", "Processing", "RetentionPolicy", "Settings"),
    "mnemic.indexes.vector.chroma.index": ("Chroma",),
    "mnemic.llm": ("LanguageModel",),
    "mnemic.memory": ("Memory",),
    "mnemic.runtime.projects": ("Project", "project"),
    "mnemic.protocols": ("Embedder", "Reranker", "TokenCounter"),
    "mnemic.rerankers": ("CrossEncoderReranker", "OnnxReranker"),
    "mnemic.recall.recipes": ("Recipe",),
    "mnemic.secrets.policy": ("SecretPolicy", "pieces"),
    "mnemic.text.values": ("new_session",),
}
"""The names of each module, but for the value types, which are in ``mnemic.types``."""

__version__ = "0.1.0"

__all__ = [
    "UNSET",
    "Admin",
    "AsyncMemory",
    "CachedEmbedder",
    "Chroma",
    "ClusterSummary",
    "ConsolidationAdvice",
    "ConsolidationReport",
    "Consolidator",
    "CrossEncoderReranker",
    "Description",
    "Embedder",
    "Emotion",
    "Episode",
    "Erasure",
    "Event",
    "Filters",
    "GivenContext",
    "Graph",
    "HashingEmbedder",
    "Hit",
    "Idle",
    "IdleTrigger",
    "ImportReport",
    "LanguageModel",
    "LanguageModelStats",
    "Link",
    "Links",
    "Memory",
    "MemoryContext",
    "MemoryRecord",
    "Message",
    "Mood",
    "OnnxEmbedder",
    "OnnxReranker",
    "Preferences",
    "Procedure",
    "ProcessReport",
    "Processing",
    "Project",
    "Purge",
    "Question",
    "RecalledHit",
    "Receipt",
    "Receipts",
    "Recipe",
    "RemoteEmbedder",
    "Reranker",
    "RetentionPolicy",
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
    "StoredVector",
    "SyncConflict",
    "SyncReport",
    "SyncedSide",
    "TokenCounter",
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
__all__ += errors.__all__

__getattr__, _ = lazy_names(
    __name__,
    dict.fromkeys(__all__, "mnemic.types") | {name: module for module, names in _HOME.items() for name in names},
)


def __dir__() -> list[str]:
    return [*__all__]
