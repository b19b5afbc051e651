"""The bytes of erased rows: out of the file, its full text and its log; then a search for what must be gone."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from mnemic.errors import StoreError
from mnemic.stores.sql.erasure import MARK, ErasedRows
from mnemic.stores.sqlite.connection import Connection, SqliteConnection
from mnemic.stores.sqlite.database import Database
from mnemic.types import Purge

__all__ = ["Erasure", "Wanted", "found_in", "held"]

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


IN_RAM = 256 * 1024 * 1024
"""Bytes up to which a file is rewritten in memory; a larger one beside it, in the system's folder for such files."""
CHUNK = 1 << 22
DATABASES = {".db", ".sqlite", ".sqlite3"}
"""How files of SQLite are called: others may keep one beside the record."""


class Erasure(ErasedRows[Database]):
    """Erasing for a record in one file."""

    def purge(self, needles: Sequence[bytes] = (), *, patience: float = 3.0) -> Purge:
        """Rewrite the full text and the file, and empty the log; then search for what must be gone.

        Deleting alone is not enough: SQLite overwrites deleted cells, but when it had moved a cell to another page before, the
        copy that stayed in the gap of the old page is not a deleted cell. Full text marks terms as dead and keeps them.
        """
        try:
            with self._db.whole() as db:
                mark = db.execute("SELECT value FROM header WHERE key = ?", (MARK,)).fetchone()
                self._rewrite(db)
            if not self._db.checkpoint(patience):
                return Purge(
                    pending="a reader still sees the state before: finished when the record is opened or closed"
                )
        except StoreError as error:
            return Purge(pending=f"{error} Tried again when the record is opened or closed.")
        if self._db.path is None or not needles:
            self._done(mark)
            return Purge()
        searched = self._search(self._db.path.parent, needles)
        found = searched.found
        if not found:
            self._done(mark)
        where = ", ".join(sorted({name for names in found.values() for name in names}))
        left = [f"{len(found)} of {len(needles)} texts and vectors are still in {where}"] if found else []
        left += [f"{', '.join(searched.unread)} cannot be read, and was not searched"] if searched.unread else []
        return Purge(bytes_scanned=searched.size, needles=len(needles), found=len(found), pending="; ".join(left))

    def _rewrite(self, db: SqliteConnection) -> None:
        db.execute("INSERT INTO fulltext(fulltext) VALUES('optimize')")
        large = db.pragma("page_count") * db.pragma("page_size") > IN_RAM
        if large:
            db.pragma("temp_store", 1)
        try:
            db.execute("VACUUM")
        finally:
            db.pragma("temp_store", 2)

    def _done(self, mark: tuple[object] | None) -> None:
        """Nothing is left of what was erased when this purge began; somebody may have erased more meanwhile."""
        if mark is None:
            return
        with suppress(StoreError), self._db.write() as db:
            db.execute("DELETE FROM header WHERE key = ? AND value = ?", (MARK, mark[0]))
        with suppress(StoreError):
            self._db.checkpoint(0.0)

    def _search(self, folder: Path, needles: Sequence[bytes]) -> _Searched:
        """Look into every file for needles that are in no record that stays."""
        searched, wanted = _Searched(), Wanted(needles)
        for path in _files(folder, searched.unread):
            locked = path == self._db.path or path.suffix in DATABASES
            try:
                hits, size = wanted.found_in(_chunks(path, locked=locked))
            except (OSError, apsw.Error):
                searched.unread.append(path.name)
                continue
            for needle in hits:
                searched.found.setdefault(needle, []).append(path.name)
            searched.size += size
        with self._db.read() as db, db:
            for needle in held(db, list(searched.found)):
                del searched.found[needle]
        return searched


@dataclass(slots=True)
class _Searched:
    """The files that each needle is in, how many bytes were read, and what could not be."""

    found: dict[bytes, list[str]] = field(default_factory=dict[bytes, list[str]])
    size: int = 0
    unread: list[str] = field(default_factory=list[str])


def _files(folder: Path, unread: list[str]) -> list[Path]:
    """What may hold text: the index of the log only has numbers of pages. Folders that cannot be listed are noted."""
    found = [
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=lambda error: unread.append(Path(error.filename).name))
        for name in names
        if not name.endswith("-shm")
    ]
    return sorted(path for path in found if os.path.isfile(path))  # noqa: PTH113 - Path.is_file raises in a closed folder


def _chunks(path: Path, *, locked: bool) -> Generator[bytes]:
    """The bytes of a file in parts.

    A file of SQLite, the record's or that of another part beside it, is read by SQLite's own means: opening and closing it
    by others would release the locks that this process holds on it.
    """
    if not locked:
        with suppress(FileNotFoundError), path.open("rb") as file:  # an index may be made anew meanwhile
            while part := file.read(CHUNK):
                yield part
        return
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
    try:
        file = apsw.VFSFile("", str(path), [flags, 0])
    except apsw.CantOpenError:
        if path.exists():
            raise
        return
    try:
        size = file.xFileSize()
        for at in range(0, size, CHUNK):
            yield file.xRead(min(CHUNK, size - at), at)
    finally:
        file.xClose()
