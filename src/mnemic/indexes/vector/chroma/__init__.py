"""Chroma as the vector index, on a server or embedded. It is derived from the record, never the only copy."""

from mnemic.indexes.vector.chroma.index import Chroma, ChromaIndex, discard

__all__ = ["Chroma", "ChromaIndex", "discard"]
