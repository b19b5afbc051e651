"""BM25 for every keyword index, with the statistics of the searched user alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

K1 = 1.5
B = 0.75


def idf(documents: int, containing: int) -> float:
    """Inverse document frequency in Lucene's form, log(1 + (N - n + .5) / (n + .5)): never negative.

    Args:
        documents: number of documents N, those of the searched user.
        containing: number of them with the term, 0 to N.
    """
    import math

    return math.log(1.0 + (documents - containing + 0.5) / (containing + 0.5))


def saturation(counts: Floats, lengths: Floats, mean_length: float, *, k1: float = K1, b: float = B) -> Floats:
    """The factor of a term's idf for each document: tf (k1 + 1) / (tf + k1 (1 - b + b length / mean)).

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).

    Args:
        counts: occurrences of the term, one per document; shape (n,) or (n, terms) with ``lengths`` as (n, 1).
        lengths: document lengths in terms, the same shape or broadcastable.
        mean_length: mean length of the documents; 0 counts as 1.
        k1: saturation of repeated terms.
        b: strength of length normalisation, 0 to 1.

    Returns:
        Values in 0..k1+1.
    """
    return (counts * (k1 + 1.0) / (counts + k1 * (1.0 - b + b * lengths / (mean_length or 1.0)))).astype(
        "f4", copy=False
    )
