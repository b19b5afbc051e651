"""Searching files for many texts at once: is anything left of what was erased?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mnemic.stores.sqlite.connection import Connection

__all__ = ["Wanted", "found_in", "held"]

KEY = 8
"""Bytes of a needle that are looked up; a needle has at least so many."""
FEW = 16
"""Needles that are looked for one after the other."""
BITS, MOST_BITS = 20, 26
SPARSE = 32
"""Places for each needle, so that few bytes which are none have to be looked at."""
ROWS = 1_000
"""Rows of a table that are searched at once."""
APART = b"\xff" * KEY
"""Between two values: no text has it, and what is found stands in one of them."""
_FACTORS = (np.uint32(2_654_435_761), np.uint32(2_246_822_519))


def found_in(parts: Iterable[bytes], needles: Sequence[bytes]) -> tuple[set[bytes], int]:
    """Those needles that occur in a file, given in parts, and how many bytes it has."""
    return Wanted(needles).found_in(parts)


class Wanted:
    """Needles to be looked for in one file after the other.

    Few are looked for one after the other; many at once, in a time that does not depend on their number.
    """

    def __init__(self, needles: Sequence[bytes]) -> None:
        self._wanted = {needle for needle in needles if len(needle) >= KEY}
        self._filed = _Needles(self._wanted) if len(self._wanted) > FEW else None
        self._longest = max(map(len, self._wanted), default=0)

    def found_in(self, parts: Iterable[bytes]) -> tuple[set[bytes], int]:
        """See ``found_in``."""
        found: set[bytes] = set()
        size, tail = 0, b""
        for part in parts:
            size += len(part)
            text = tail + part
            found |= self._among(text)
            tail = text[-self._longest :] if self._longest else b""
        return found, size

    def _among(self, text: bytes) -> set[bytes]:
        if self._filed is not None:
            return self._filed.among(text)
        return {needle for needle in self._wanted if needle in text}


class _Needles:
    """Many needles, filed by a few bytes of each: where they stand in it, and how long it is.

    So those that begin alike, such as numbered ids, are looked up at once.
    """

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._filed: dict[bytes, dict[tuple[int, int], set[bytes]]] = {}
        for needle in needles:
            start = _rarest(needle)
            alike = self._filed.setdefault(needle[start : start + KEY], {})
            alike.setdefault((start, len(needle)), set()).add(needle)
        self._bits = min(MOST_BITS, max(BITS, (len(self._filed) * SPARSE).bit_length()))
        self._marked = np.zeros(1 << self._bits, np.bool_)
        self._marked[_hashes(b"".join(self._filed), self._bits)[::KEY]] = True

    def among(self, text: bytes) -> set[bytes]:
        """Those that a text holds."""
        found: set[bytes] = set()
        for at in np.flatnonzero(self._marked[_hashes(text, self._bits)]).tolist():
            for (start, length), needles in self._filed.get(text[at : at + KEY], {}).items():
                if at >= start and (part := text[at - start : at - start + length]) in needles:
                    found.add(part)
        return found


def _rarest(needle: bytes) -> int:
    """Where to look it up: where its bytes differ most, for zeros and spaces are everywhere; late, where ids are random."""
    rarest = most = 0
    for start in range(len(needle) - KEY, -1, -1):
        if (different := len(set(needle[start : start + KEY]))) > most:
            rarest, most = start, different
            if most == KEY:
                break
    return rarest


def _hashes(text: bytes, bits: int) -> NDArray[np.uint32]:
    """A number of so many bits for each run of eight bytes."""
    values = np.frombuffer(text, np.uint8)
    if len(values) < KEY:
        return np.empty(0, np.uint32)
    wide = values.astype(np.uint32)
    words = wide[:-3] | wide[1:-2] << np.uint32(8) | wide[2:-1] << np.uint32(16) | wide[3:] << np.uint32(24)
    return (words[:-4] * _FACTORS[0] ^ words[4:] * _FACTORS[1]) >> np.uint32(32 - bits)


def held(db: Connection, needles: Sequence[bytes]) -> set[bytes]:
    """Those that a row which stays holds as well: a text that was said twice is found where it stays.

    The rows are read once, however many needles there are.
    """
    return found_in(_rows(db), needles)[0] if needles else set()


def _rows(db: Connection) -> Iterator[bytes]:
    """What the rows of all tables hold, so many at a time."""
    tables = db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'fulltext%' AND name != 'postings'"
    ).fetchall()
    for (table,) in tables:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
        values = ", ".join(f"CAST({name} AS BLOB)" for name in columns)
        rows = iter(db.execute(f"SELECT {values} FROM {table}"))
        while part := list(islice(rows, ROWS)):
            yield APART.join(value or b"" for row in part for value in row) + APART
