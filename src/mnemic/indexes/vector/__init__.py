"""Vector search: exact, and by Chroma."""

from mnemic.indexes.vector.choice import discard, index_from
from mnemic.indexes.vector.exact import (
    Centre,
    Cosines,
    ExactIndex,
    IndexedRows,
    MatrixCosines,
    MatrixRows,
    RowVectors,
    centre_of,
    sample_size,
)

__all__ = [
    "Centre",
    "Cosines",
    "ExactIndex",
    "IndexedRows",
    "MatrixCosines",
    "MatrixRows",
    "RowVectors",
    "centre_of",
    "discard",
    "index_from",
    "sample_size",
]
