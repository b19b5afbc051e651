"""Chroma as the vector index, in a server or in the folder of the memory. Made from the record, never the only copy."""

from mnemic.indexes.vector.chroma.index import Chroma, ChromaIndex, discarded

__all__ = ["Chroma", "ChromaIndex", "discarded"]
