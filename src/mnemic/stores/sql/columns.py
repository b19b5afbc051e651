"""Query results as NumPy columns, page by page: 100,000 rows never exist as tuples at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.stores.sql.connection import Cursor
from mnemic.types import CatalogRows, CatalogVectors, Coded
from mnemic.vectors import unpacked

__all__ = ["catalog_columns", "vector_matrix"]

PAGE = 500
"""Rows per page; a page fits in the processor cache."""

_NUMBERS: dict[str, Any] = {
    "doc": np.int64, "time": np.int64, "length": np.float32, "importance": np.float32, "traits": np.int32,
    "moment": np.int64, "offset": np.int64,
}  # fmt: skip
_ORDER = (
    "doc", "kind", "status", "session", "project", "time", "label", "speaker", "length", "importance", "traits", "moment",
    "offset", "told",
)  # fmt: skip


def catalog_columns(cursors: Iterable[Cursor]) -> CatalogRows | None:
    """Catalog rows, ascending by doc; None if there are none. The queries must select the columns in the order used here."""
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in _ORDER[:-1]}
    codes: dict[str, dict[str | None, int]] = {name: {} for name in _ORDER[:-1] if name not in _NUMBERS}
    stored_periods: dict[int, str] = {}
    for page in _pages(cursors):
        *values, periods = zip(*page, strict=True)
        for name, column in zip(columns, values, strict=True):
            if (code := codes.get(name)) is not None:
                for word in dict.fromkeys(column):
                    code.setdefault(word, len(code))
                column = list(map(code.__getitem__, column))  # noqa: PLW2901 - values become codes
            columns[name].append(np.array(column, _NUMBERS.get(name, np.int32)))
        if any(periods):
            stored_periods.update((doc, text) for doc, text in zip(values[0], periods, strict=True) if text)
    if not columns["doc"]:
        return None
    whole = {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in columns.items()}
    if (whole["doc"][1:] < whole["doc"][:-1]).any():
        order = np.argsort(whole["doc"], kind="stable")
        whole = {name: column[order] for name, column in whole.items()}
    coded: dict[str, Any] = {name: Coded(tuple(code), whole.pop(name)) for name, code in codes.items()}
    return CatalogRows(**whole, **coded, stored_periods=stored_periods)


def vector_matrix(cursors: Iterable[Cursor], most: int) -> CatalogVectors | None:
    """Vectors selected as (doc, float16 bytes), ascending by doc; None if there are none. ``unpacked`` handles invalid ones.

    Args:
        cursors: the query results.
        most: the expected maximum number of vectors.

    Raises:
        ValueError: the vectors differ in length.
    """
    docs, values, size = np.empty(most, np.int64), np.empty((0, 0), np.float32), 0
    for page in _pages(cursors):
        numbers, blobs = zip(*page, strict=True)
        fresh = unpacked(b"".join(blobs), len(blobs))
        end = size + len(page)
        if not size:
            values = np.empty((max(most, end), fresh.shape[1]), np.float32)
        if end > len(docs) or end > len(values):
            docs = np.resize(docs, max(end, 2 * size))
            values = np.concatenate([values[:size], np.empty((len(docs) - size, values.shape[1]), np.float32)])
        docs[size:end], values[size:end] = numbers, fresh
        size = end
    if not size:
        return None
    docs, values = docs[:size], values[:size]
    if (docs[1:] < docs[:-1]).any():
        order = np.argsort(docs, kind="stable")
        docs, values = docs[order], values[order]
    return CatalogVectors(docs, values)


def _pages(cursors: Iterable[Cursor]) -> Iterator[list[tuple[Any, ...]]]:
    for cursor in cursors:
        rows = iter(cursor)
        while page := list(islice(rows, PAGE)):
            yield page
