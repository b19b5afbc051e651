"""What the parts ask of each other. Anything with these methods fits; nothing need be inherited."""

from typing import TYPE_CHECKING

from mnemic.protocols.models import Embedder, InputKind, Reranker, TokenCounter
from mnemic.protocols.stores import KeywordIndex, Store
from mnemic.protocols.work import KnowledgeWork, LifecycleWork, RelationWork, VectorWork

if TYPE_CHECKING:
    from mnemic.protocols.models import Floats as Floats
    from mnemic.protocols.models import Vectors as Vectors

__all__ = [
    "Embedder",
    "InputKind",
    "KeywordIndex",
    "KnowledgeWork",
    "LifecycleWork",
    "RelationWork",
    "Reranker",
    "Store",
    "TokenCounter",
    "VectorWork",
]
