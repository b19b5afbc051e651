"""What the parts ask of each other. Anything with these methods fits; nothing need be inherited."""

from typing import TYPE_CHECKING

from mnemic.protocols.feed import Changed, Entries, Entry, Mark, Model, RecordFeed, Turn
from mnemic.protocols.indexes import KeywordIndex, VectorIndex
from mnemic.protocols.models import Embedder, InputKind, Reranker, TokenCounter

if TYPE_CHECKING:
    from mnemic.protocols.models import Floats as Floats
    from mnemic.protocols.models import Vectors as Vectors

__all__ = [
    "Changed",
    "Embedder",
    "Entries",
    "Entry",
    "InputKind",
    "KeywordIndex",
    "Mark",
    "Model",
    "RecordFeed",
    "Reranker",
    "TokenCounter",
    "Turn",
    "VectorIndex",
]
