"""Purge of erased bytes from the file, its full text and its log, and a search that proves it."""

from __future__ import annotations

import json
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
from mnemic.stores.sql.changes import set_header
from mnemic.stores.sql.erasure import ErasedRows
from mnemic.stores.sqlite.cipher import is_encrypted
from mnemic.stores.sqlite.database import Connection, Database, SqliteConnection
from mnemic.text.values import to_json
from mnemic.types import Purge

LEFT = "left_in"
"""The header key of the files that may hold erased bytes: their state by path in the folder, as JSON."""
KEY = 8
"""Bytes of a needle that are hashed; the minimum length of a needle."""
FEW = 16
"""Up to this many needles are searched one by one."""
BITS, MOST_BITS = 20, 26
SPARSE = 32
"""Hash table slots per needle; more slots mean fewer false candidates."""
ROWS = 1_000
"""Rows of a table per search."""
APART = b"\xff" * KEY
"""A separator that no text contains, so that no match spans two values."""
_FACTORS = (np.uint32(2_654_435_761), np.uint32(2_246_822_519))


def found_in(parts: Iterable[bytes], needles: Sequence[bytes]) -> tuple[set[bytes], int]:
    """The needles that occur in a file given in parts, and its size in bytes."""
    return NeedleSearch(needles).found_in(parts)


class NeedleSearch:
    """A search for needles in several files.

    Few needles are searched one by one; many at once by hash, in a time independent of their number.
    """

    def __init__(self, needles: Sequence[bytes]) -> None:
        self._wanted = {needle for needle in needles if len(needle) >= KEY}
        self._longest = max(map(len, self._wanted), default=0)
        self._filed: dict[bytes, dict[tuple[int, int], set[bytes]]] = {}
        if len(self._wanted) > FEW:
            self._file()

    def _file(self) -> None:
        """Index the needles by their most distinctive ``KEY`` bytes; those that share them are looked up together."""
        for needle in self._wanted:
            start = _rarest(needle)
            alike = self._filed.setdefault(needle[start : start + KEY], {})
            alike.setdefault((start, len(needle)), set()).add(needle)
        self._bits = min(MOST_BITS, max(BITS, (len(self._filed) * SPARSE).bit_length()))
        self._marked = np.zeros(1 << self._bits, np.bool_)
        self._marked[_hashes(b"".join(self._filed), self._bits)[::KEY]] = True

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
        """The needles that a text contains."""
        if not self._filed:
            return {needle for needle in self._wanted if needle in text}
        found: set[bytes] = set()
        for at in np.flatnonzero(self._marked[_hashes(text, self._bits)]).tolist():
            for (start, length), needles in self._filed.get(text[at : at + KEY], {}).items():
                if at >= start and (part := text[at - start : at - start + length]) in needles:
                    found.add(part)
        return found


def _rarest(needle: bytes) -> int:
    """The offset of the ``KEY`` bytes with the most distinct values; the last one on ties, where ids are random."""
    rarest = most = 0
    for start in range(len(needle) - KEY, -1, -1):
        if (different := len(set(needle[start : start + KEY]))) > most:
            rarest, most = start, different
            if most == KEY:
                break
    return rarest


def _hashes(text: bytes, bits: int) -> NDArray[np.uint32]:
    """A hash of ``bits`` bits for each window of eight bytes."""
    values = np.frombuffer(text, np.uint8)
    if len(values) < KEY:
        return np.empty(0, np.uint32)
    wide = values.astype(np.uint32)
    words = wide[:-3] | wide[1:-2] << np.uint32(8) | wide[2:-1] << np.uint32(16) | wide[3:] << np.uint32(24)
    return (words[:-4] * _FACTORS[0] ^ words[4:] * _FACTORS[1]) >> np.uint32(32 - bits)


def still_stored(db: Connection, needles: Sequence[bytes]) -> set[bytes]:
    """The needles that remaining rows contain too, such as a text that was said twice. Reads every row once."""
    return found_in(_rows(db), needles)[0] if needles else set()


def _rows(db: Connection) -> Iterator[bytes]:
    """The values of all rows of all tables that hold text of their own, joined by ``APART``."""
    tables = db.execute(
        """SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'fulltext%'
        AND name NOT IN ('postings', 'questions', 'contexts')"""
    ).fetchall()
    for (table,) in tables:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
        values = ", ".join(f"CAST({name} AS BLOB)" for name in columns)
        rows = iter(db.execute(f"SELECT {values} FROM {table}"))
        while part := list(islice(rows, ROWS)):
            yield APART.join(value or b"" for row in part for value in row) + APART


IN_RAM = 256 * 1024 * 1024
"""Up to this size in bytes VACUUM uses memory; above it, a temporary file, but never for an encrypted record."""
CHUNK = 1 << 22
DATABASES = {".db", ".sqlite", ".sqlite3"}
"""Suffixes of SQLite files: other components may keep one in the folder."""


BLOCKED = "a reader still uses the old state: tried again when the record is opened or closed"


class Erasure(ErasedRows[Database]):
    """Erasure for an SQLite record."""

    def purge(self, needles: Sequence[bytes] = (), *, patience: float = 3.0) -> Purge:
        """Rewrite the full text and the file, truncate the log, then search all files for the needles.

        ``secure_delete`` is not enough: it overwrites deleted cells, but not the copy that stays in the gap of a page after
        SQLite moved a cell. FTS5 marks deleted terms and keeps them.
        """
        try:
            with self._db.exclusive() as db:
                mark = self._mark(db)
                self._rewrite(db)
            blocked = [] if self._db.checkpoint(patience) else [BLOCKED]
        except StoreError as error:
            return Purge(pending=f"{error} Tried again when the record is opened or closed.")
        path = self._db.path
        searched = self._search(path.parent, needles) if path and needles else _SearchReport()
        found, where = searched.found, {name for names in searched.found.values() for name in names}
        earlier = self._left_in({*where, *searched.unread}) if path else ""
        if not blocked and not (path and where.intersection((path.name, f"{path.name}-wal"))):
            self._finish(mark)
        left = [f"{len(found)} of {len(needles)} texts and vectors are still in {_listed(where)}"] if found else []
        left += [f"{_listed(searched.unread)} cannot be read, and was not searched"] if searched.unread else []
        return Purge(
            bytes_scanned=searched.size,
            needles=len(needles) if path else 0,
            found=len(found),
            pending="; ".join(filter(None, (*blocked, *left, earlier))),
        )

    def left(self) -> str:
        """By what the searches of earlier erasures found."""
        return "" if self._db.path is None else self._left_in(set())

    def _left_in(self, names: set[str]) -> str:
        """Note files that may hold erased bytes, and tell those noted earlier that have not changed since.

        The texts are gone, so that these files cannot be searched again.
        """
        assert self._db.path is not None
        with self._db.read() as db:
            row = db.execute("SELECT value FROM header WHERE key = ?", (LEFT,)).fetchone()
        before: dict[str, list[int]] = json.loads(row[0]) if row else {}
        folder = self._db.path.parent
        kept = {name: state for name, state in before.items() if _state(folder / name) == state}
        noted = kept | {name: state for name in names if (state := _state(folder / name)) is not None}
        if noted != before:
            with suppress(StoreError), self._db.write() as db:
                set_header(db, **{LEFT: to_json(noted)})
        earlier = kept.keys() - names
        return f"texts erased earlier may still be in {_listed(earlier)}: delete or replace it" if earlier else ""

    def _rewrite(self, db: SqliteConnection) -> None:
        db.execute("INSERT INTO fulltext(fulltext) VALUES('optimize')")
        large = db.pragma("page_count") * db.pragma("page_size") > IN_RAM and self._db.cipher is None
        if large:
            db.pragma("temp_store", 1)
        try:
            db.execute("VACUUM")
        finally:
            db.pragma("temp_store", 2)

    def _finish(self, mark: object) -> None:
        with suppress(StoreError):
            self._clear_mark(mark)
            self._db.checkpoint(0.0)

    def _search(self, folder: Path, needles: Sequence[bytes]) -> _SearchReport:
        """Search every file for needles that no remaining record contains."""
        searched, wanted = _SearchReport(), NeedleSearch(needles)
        for path in _files(folder, searched.unread):
            try:
                hits, size = wanted.found_in(self._parts(path))
            except (OSError, apsw.Error, StoreError):
                searched.unread.append(_relative(path, folder))
                continue
            for needle in hits:
                searched.found.setdefault(needle, []).append(_relative(path, folder))
            searched.size += size
        with self._db.read() as db, db:
            for needle in still_stored(db, list(searched.found)):
                del searched.found[needle]
        return searched

    def _parts(self, path: Path) -> Iterable[bytes]:
        """The bytes of a file in parts; those of an encrypted record as they are under its encryption.

        Raises:
            StoreError: the file is encrypted and not the record.
        """
        own = path == self._db.path
        if own and self._db.cipher is not None:
            with self._db.read() as db:
                return [db.serialize("main")]  # VACUUM had it in memory, too
        if not own and is_encrypted(path):
            raise StoreError(f"{path.name} is encrypted.")
        return _chunks(path, locked=own or path.suffix in DATABASES)


@dataclass(slots=True)
class _SearchReport:
    """The files that contain each needle, the bytes read, and the files that could not be read; by path in the folder."""

    found: dict[bytes, list[str]] = field(default_factory=dict[bytes, list[str]])
    size: int = 0
    unread: list[str] = field(default_factory=list[str])


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _state(path: Path) -> list[int] | None:
    """What changes with the content of a file; None if it is gone, empty if that cannot be told."""
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return []
    return [stat.st_mtime_ns, stat.st_size]


def _files(folder: Path, unread: list[str]) -> list[Path]:
    """All files except the -shm index, which holds no text. Unreadable folders are added to ``unread``."""
    found = [
        Path(place, name)
        for place, _, names in os.walk(
            folder, onerror=lambda error: unread.append(_relative(Path(error.filename), folder))
        )
        for name in names
        if not name.endswith("-shm")
    ]
    return sorted(path for path in found if os.path.isfile(path))  # noqa: PTH113 - Path.is_file raises in a closed folder


def _chunks(path: Path, *, locked: bool) -> Generator[bytes]:
    """The bytes of a file in parts.

    SQLite files are read through SQLite: closing an ordinary file handle would release the locks of this process on them.
    """
    if not locked:
        with suppress(FileNotFoundError), path.open("rb") as file:  # an index may be rebuilt at the same time
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
