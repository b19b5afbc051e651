"""Search by meaning."""

from mnemic.indexes.vector.centre import Centre, centre_of, sample_size
from mnemic.indexes.vector.choice import discarded, index_from
from mnemic.indexes.vector.cosines import Cosines, HeldCosines
from mnemic.indexes.vector.exact import ExactIndex
from mnemic.indexes.vector.rows import DistantRows, HeldRows, RowVectors

__all__ = [
    "Centre",
    "Cosines",
    "DistantRows",
    "ExactIndex",
    "HeldCosines",
    "HeldRows",
    "RowVectors",
    "centre_of",
    "discarded",
    "index_from",
    "sample_size",
]
