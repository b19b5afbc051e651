"""Search by meaning."""

from mnemic.indexes.vector.choosing import discarded, index_from
from mnemic.indexes.vector.cosines import Cosines, HeldCosines
from mnemic.indexes.vector.exact import ExactIndex
from mnemic.indexes.vector.rows import DistantRows, HeldRows, RowVectors

__all__ = ["Cosines", "DistantRows", "ExactIndex", "HeldCosines", "HeldRows", "RowVectors", "discarded", "index_from"]
