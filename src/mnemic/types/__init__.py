"""Value types: frozen, keyword-only dataclasses without behaviour.

No heavy imports: these classes are loaded by ``import mnemic``.
"""

# pyright: reportUnusedImport=false

from mnemic.types.changes import (
    AddEpisode,
    AddMemory,
    AddMessage,
    Archive,
    Change,
    Consolidate,
    DropLink,
    Erase,
    EraseUser,
    Indexing,
    KeepQuestions,
    MarkConsolidating,
    MarkProcessed,
    Promotion,
    PutLink,
    Quarantine,
    Release,
    Restore,
    Revise,
    SetEmotions,
    Supersede,
    Touch,
    Undo,
)
from mnemic.types.literals import UNSET, Evidence, Kind, LinkType, MemoryType, Outcome, Reach, Source, Status, Unset
from mnemic.types.records import (
    Candidates,
    CatalogDelta,
    CatalogRows,
    CatalogVectors,
    Coded,
    Description,
    Emotion,
    Episode,
    Event,
    Filters,
    Graph,
    Link,
    MemoryRecord,
    Message,
    Mood,
    Query,
    Question,
    RecordFilter,
    Scope,
    SearchFilters,
    Stored,
    StoredVector,
    Waiting,
    searchable,
)
from mnemic.types.reports import (
    Absorption,
    ClusterSummary,
    ConsolidationAdvice,
    ConsolidationReport,
    Erasure,
    LanguageModelStats,
    Lineage,
    LineageNode,
    ProcessReport,
    Purge,
    SessionView,
    StageUsage,
    Stats,
    VerifyReport,
)
from mnemic.types.results import Hit, MemoryContext, MemorySummary, Receipt, Receipts, SearchResult
