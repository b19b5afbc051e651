"""Chroma as the vector index, in the folder of the memory or in a server. Derived from the record, never the only copy."""

from mnemic.indexes.vector.chroma.index import ChromaIndex
from mnemic.indexes.vector.chroma.place import discarded
from mnemic.indexes.vector.chroma.settings import Chroma

__all__ = ["Chroma", "ChromaIndex", "discarded"]
