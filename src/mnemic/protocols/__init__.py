"""What the parts ask of each other. Anything with these methods fits; nothing need be inherited."""

from typing import TYPE_CHECKING

from mnemic.protocols.feed import Changed, Entries, Entry, Mark, Model, RecordFeed, Turn
from mnemic.protocols.models import Embedder, InputKind, Reranker, TokenCounter
from mnemic.protocols.stores import KeywordIndex, Store, VectorIndex
from mnemic.protocols.work import ErasureWork, KnowledgeWork, LifecycleWork, RelationWork, VectorWork

if TYPE_CHECKING:
    from mnemic.protocols.models import Floats as Floats
    from mnemic.protocols.models import Vectors as Vectors

__all__ = [
    "Changed",
    "Embedder",
    "Entries",
    "Entry",
    "ErasureWork",
    "InputKind",
    "KeywordIndex",
    "KnowledgeWork",
    "LifecycleWork",
    "Mark",
    "Model",
    "RecordFeed",
    "RelationWork",
    "Reranker",
    "Store",
    "TokenCounter",
    "Turn",
    "VectorIndex",
    "VectorWork",
]
