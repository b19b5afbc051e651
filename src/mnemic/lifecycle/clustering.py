"""Clusters of similar memories around the most important ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import InvalidInput
from mnemic.vectors import dot

LARGEST = 100
"""Most members of a cluster, and most conflicts; the rest is clustered in the next cycle."""
MARGIN = 0.1
"""How far a member's cosine to the seed may lie below the threshold, if it is near enough to the centroid."""
_BLOCK = 64
"""Seeds multiplied with all vectors at once; limits the product to 256 bytes per vector."""
_ROUNDING = 1e-6
"""Rounding difference of float32 products of the same vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """The result of clustering.

    Attributes:
        clusters: disjoint indices of members, the seed first, then in the order they joined.
        conflicts: pairs (member, excluded): near enough to join, but with different content. To be linked
            ``contradicts``, never merged.
        singles: seeds without a cluster, in order.
    """

    clusters: tuple[tuple[int, ...], ...] = ()
    conflicts: tuple[tuple[int, int], ...] = ()
    singles: tuple[int, ...] = ()


def _codes(levels: Sequence[Hashable] | NDArray[np.integer]) -> NDArray[np.int64]:
    """Levels as integers."""
    if isinstance(levels, np.ndarray):
        return levels.astype(np.int64, copy=False)
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(level, len(numbers)) for level in levels), np.int64, len(levels))


def _near(
    seeds: Sequence[int],
    vectors: NDArray[np.float32],
    codes: NDArray[np.int64],
    usable: NDArray[np.bool_],
    floor: float,
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each seed with the usable others of its level whose cosine reaches ``floor``, nearest first, ties by index."""
    for start in range(0, len(seeds), _BLOCK):
        block = list(seeds[start : start + _BLOCK])
        products: NDArray[np.float32] = dot(vectors[block], vectors.T)
        for row, seed in enumerate(block):
            near = np.flatnonzero(products[row] >= floor)
            near = near[usable[near] & (codes[near] == codes[seed]) & (near != seed)]
            yield seed, near[np.argsort(-products[row, near], kind="stable")]


def _grow_cluster(
    seed: int,
    near: NDArray[np.intp],
    vectors: NDArray[np.float32],
    threshold: float,
    conflicting: Callable[[int, int], bool],
) -> tuple[list[int], list[tuple[int, int]]]:
    """The members around a seed, and conflicts as (member, excluded)."""
    total: NDArray[np.float64] = vectors[seed].astype(np.float64)
    members, conflicts = [seed], list[tuple[int, int]]()
    for index in near.tolist():
        if len(members) >= LARGEST or len(conflicts) >= LARGEST:
            break
        norm = float(np.sqrt(np.vdot(total, total)))
        if norm == 0 or float(np.vdot(total, vectors[index])) / norm < threshold:
            continue
        against = next((member for member in members if conflicting(member, index)), None)
        if against is not None:
            conflicts.append((against, index))
            continue
        members.append(index)
        total += vectors[index]
    return members, conflicts


def _usable(seeds: Sequence[int], eligible: Sequence[int] | NDArray[np.integer], rows: int) -> NDArray[np.bool_]:
    """Mask of the rows that may be in a cluster.

    Raises:
        InvalidInput: an index is out of range.
    """
    indices = np.concatenate((np.asarray(seeds, dtype=np.intp), np.asarray(eligible, dtype=np.intp)))
    if indices.size and not (indices.min() >= 0 and indices.max() < rows):
        raise InvalidInput(f"seeds and eligible must be indices of the {rows} rows of vectors.")
    usable = np.zeros(rows, dtype=bool)
    usable[indices] = True
    return usable


def clusters(
    seeds: Sequence[int],
    vectors: NDArray[np.float32],
    levels: Sequence[Hashable] | NDArray[np.integer],
    eligible: Sequence[int] | NDArray[np.integer],
    *,
    similarity_threshold: float = 0.85,
    min_cluster_size: int = 2,
    conflicting: Callable[[int, int], bool],
    between: Callable[[], object] = bool,
) -> Clustering:
    """Cluster similar memories around seeds.

    Seeds are processed in order, except those in an earlier cluster. Their neighbours, nearest first, join when the
    cosine with the centroid (the normalised running mean of the members) reaches the threshold and no member conflicts.
    A cluster never crosses a level and has at most ``LARGEST`` members; it is closed after as many conflicts.

    Args:
        seeds: indices, the most important first.
        vectors: unit rows, shape (n, d), float32.
        levels: the level of each of the n memories.
        eligible: indices that may join; seeds always may.
        similarity_threshold: least cosine with the centroid, 0 to 1.
        min_cluster_size: least members, including the seed, at least 1.
        conflicting: whether two memories, by index, have different content.
        between: called between seeds, to yield to other work.

    Returns:
        The clusters, the conflicts, including those of clusters that are too small, and the remaining seeds.

    Raises:
        InvalidInput: shapes do not fit, an index or a setting is out of range.
    """
    if vectors.ndim != 2 or len(levels) != len(vectors):
        raise InvalidInput(f"levels must name one level for each row of vectors, {len(levels)} for {vectors.shape}.")
    if not 0 <= similarity_threshold <= 1 or min_cluster_size < 1:
        raise InvalidInput("similarity_threshold must lie between 0 and 1, min_cluster_size must be at least 1.")
    order = list(dict.fromkeys(int(seed) for seed in seeds))
    usable = _usable(order, eligible, len(vectors))
    free = usable.copy()
    threshold = similarity_threshold - _ROUNDING
    groups, conflicts, singles = list[tuple[int, ...]](), list[tuple[int, int]](), list[int]()
    for seed, near in _near(order, vectors, _codes(levels), usable, threshold - MARGIN):
        between()
        if not free[seed]:
            continue
        members, left_out = _grow_cluster(seed, near[free[near]], vectors, threshold, conflicting)
        conflicts += left_out
        if len(members) < min_cluster_size:
            singles.append(seed)
            continue
        groups.append(tuple(members))
        free[members] = False
    clustered = {index for members in groups for index in members}
    return Clustering(
        clusters=tuple(groups),
        conflicts=tuple(dict.fromkeys((min(pair), max(pair)) for pair in conflicts)),
        singles=tuple(seed for seed in singles if seed not in clustered),
    )
