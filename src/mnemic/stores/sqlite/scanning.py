"""Searching files for many texts at once: is anything left of what was erased?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.stores.sqlite.connection import Connection

__all__ = ["found_in", "held"]

KEY = 8
"""Bytes of a needle that are looked up; a needle has at least so many."""
FEW = 16
"""Needles that are looked for one after the other."""
BITS = 20
_FACTORS = (np.uint32(2_654_435_761), np.uint32(2_246_822_519))


def found_in(parts: Iterable[bytes], needles: Sequence[bytes]) -> tuple[set[bytes], int]:
    """Those needles that occur in a file, given in parts, and how many bytes it has.

    Few are looked for one after the other; many at once, in a time that does not depend on their number.
    """
    wanted = {needle for needle in needles if len(needle) >= KEY}
    filed = _Needles(wanted) if len(wanted) > FEW else None
    longest = max(map(len, wanted), default=0)
    found: set[bytes] = set()
    size, tail = 0, b""
    for part in parts:
        size += len(part)
        text = tail + part
        found |= {needle for needle in wanted if needle in text} if filed is None else filed.among(text)
        tail = text[-longest:] if longest else b""
    return found, size


class _Needles:
    """Many needles, filed by a few bytes of each."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._filed: dict[bytes, list[tuple[int, bytes]]] = {}
        for needle in needles:
            start = _rarest(needle)
            self._filed.setdefault(needle[start : start + KEY], []).append((start, needle))
        self._marked = np.zeros(1 << BITS, np.bool_)
        self._marked[_hashes(np.frombuffer(b"".join(self._filed), np.uint8))[::KEY]] = True

    def among(self, text: bytes) -> set[bytes]:
        """Those that a text holds."""
        found: set[bytes] = set()
        for at in np.flatnonzero(self._marked[_hashes(np.frombuffer(text, np.uint8))]).tolist():
            for start, needle in self._filed.get(text[at : at + KEY], ()):
                if at >= start and text.startswith(needle, at - start):
                    found.add(needle)
        return found


def _rarest(needle: bytes) -> int:
    """Where to look it up: where its bytes differ most, for zeros and spaces are everywhere; late, where ids are random."""
    return max(range(len(needle) - KEY + 1), key=lambda start: (len(set(needle[start : start + KEY])), start))


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
