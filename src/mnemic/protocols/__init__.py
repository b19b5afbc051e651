"""Protocols between the components: any class with these methods fits, without inheritance."""

from typing import TYPE_CHECKING

from mnemic.protocols.feed import Changed, Entries, Entry, Lock, Mark, Model, RecordFeed
from mnemic.protocols.indexes import VectorIndex
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
    "Lock",
    "Mark",
    "Model",
    "RecordFeed",
    "Reranker",
    "TokenCounter",
    "VectorIndex",
]
