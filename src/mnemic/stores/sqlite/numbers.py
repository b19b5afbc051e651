"""The vectors of a record in one file, looked at one by one."""

from __future__ import annotations

import numpy as np

from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["unusable"]

NEAR = 0.1
"""How far from one the length of a vector may be; one without any direction is of a text without words."""


def unusable(db: SqliteConnection) -> list[int]:
    """Docs whose vector is no direction: not a number, or far too long or short."""
    found: list[int] = []
    for doc, blob in db.execute("SELECT doc, vector FROM vectors"):
        vector = np.frombuffer(blob[: len(blob) // 2 * 2], "<f2").astype(np.float64)
        length = float(np.sqrt((vector * vector).sum())) if np.isfinite(vector).all() else np.inf
        if length and abs(length - 1.0) > NEAR:
            found.append(int(doc))
    return found
