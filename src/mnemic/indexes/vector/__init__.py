"""Search by meaning."""

from mnemic.indexes.vector.exact import ExactIndex, similarities

__all__ = ["ExactIndex", "similarities"]
