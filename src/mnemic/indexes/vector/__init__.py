"""Search by meaning."""

from mnemic.indexes.vector.cosines import Cosines
from mnemic.indexes.vector.exact import ExactIndex

__all__ = ["Cosines", "ExactIndex"]
