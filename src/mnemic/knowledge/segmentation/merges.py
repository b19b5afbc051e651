"""With which earlier episode a new one belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemic.errors import InvalidInput
from mnemic.vectors import dot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["MERGE_THRESHOLD", "most_similar"]

MERGE_THRESHOLD = 0.9


def most_similar(vector: Floats | None, candidates: Floats, threshold: float = MERGE_THRESHOLD) -> int | None:
    """The row of the candidate most similar to a new episode, if it is similar enough to merge with.

    Args:
        vector: the embedding of the new episode, shape (d,); None, zeros or NaN when it has none.
        candidates: those of recent episodes, shape (n, d); rows of zeros or NaN never match.
        threshold: the least cosine, -1 to 1.

    Returns:
        Of equals the first; None when no candidate reaches the threshold.

    Raises:
        InvalidInput: the shapes do not fit.
    """
    import numpy as np

    if vector is None or not len(candidates):
        return None
    if vector.ndim != 1 or candidates.ndim != 2 or candidates.shape[1] != len(vector):
        raise InvalidInput(
            f"An episode's vector of shape {vector.shape} does not compare with candidates of shape {candidates.shape}. Give "
            "(d,) and (n, d) of one embedding model."
        )
    if not np.isfinite(vector).all() or not vector.any():
        return None
    usable = np.logical_and(np.isfinite(candidates).all(axis=1), np.any(candidates != 0, axis=1))
    rows = np.where(usable[:, None], candidates, 0).astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * float(np.linalg.norm(vector))
    cosines = np.where(usable, dot(rows, vector.astype(np.float32)) / np.where(usable, norms, 1), -np.inf)
    best = int(cosines.argmax())
    return best if cosines[best] >= threshold - 1e-6 else None
