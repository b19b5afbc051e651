"""Search by meaning."""

from mnemic.indexes.vector.choice import discarded, index_from
from mnemic.indexes.vector.exact import (
    Centre,
    Cosines,
    DistantRows,
    ExactIndex,
    HeldCosines,
    HeldRows,
    RowVectors,
    centre_of,
    sample_size,
)

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
