"""Searching files for many texts at once: is anything left of what was erased?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.stores.sqlite.connection import Connection

__all__ = ["found_in", "held"]

KEY = 8
"""Bytes from the middle of a needle that are looked up; a needle has at least so many."""
BITS = 20
_FACTORS = (np.uint32(2_654_435_761), np.uint32(2_246_822_519))


def found_in(parts: Iterable[bytes], needles: Sequence[bytes]) -> tuple[set[bytes], int]:
    """Those needles that occur in a file, given in parts, and how many bytes it has. Time does not depend on their number."""
    by_key: dict[bytes, list[tuple[int, bytes]]] = {}
    for needle in {n for n in needles if len(n) >= KEY}:
        middle = (len(needle) - KEY) // 2
        by_key.setdefault(needle[middle : middle + KEY], []).append((middle, needle))
    marked = np.zeros(1 << BITS, np.bool_)
    if by_key:
        marked[_hashes(np.frombuffer(b"".join(by_key), np.uint8))[::KEY]] = True
    longest = max((len(needle) for needle in needles), default=0)
    found: set[bytes] = set()
    size, tail = 0, b""
    for part in parts:
        size += len(part)
        text = tail + part
        for at in np.flatnonzero(marked[_hashes(np.frombuffer(text, np.uint8))]).tolist():
            for middle, needle in by_key.get(text[at : at + KEY], ()):
                if at >= middle and text.startswith(needle, at - middle):
                    found.add(needle)
        tail = text[-longest:]
    return found, size


def _hashes(values: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """A number of so many bits for each run of eight bytes."""
    if len(values) < KEY:
        return np.empty(0, np.uint32)
    wide = values.astype(np.uint32)
    words = wide[:-3] | wide[1:-2] << np.uint32(8) | wide[2:-1] << np.uint32(16) | wide[3:] << np.uint32(24)
    return (words[:-4] * _FACTORS[0] ^ words[4:] * _FACTORS[1]) >> np.uint32(32 - BITS)


def held(db: Connection, needle: bytes) -> bool:
    """Whether a row that stays holds the same: a text that was said twice is found where it stays."""
    tables = db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'fulltext%' AND name != 'postings'"
    ).fetchall()
    for (table,) in tables:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
        where = " OR ".join(f"instr(CAST({name} AS BLOB), ?1)" for name in columns)
        if db.execute(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1", (needle,)).fetchall():
            return True
    return False
