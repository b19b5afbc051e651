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


def found_in(chunks: Iterable[bytes], needles: Sequence[bytes]) -> tuple[set[bytes], int]:
    """The needles that occur in a file given in parts, and its size in bytes."""
    return NeedleSearch(needles).found_in(chunks)


class NeedleSearch:
    """A search for needles in several files.

    Few needles are searched one by one; many at once by hash, in a time independent of their number.
    """

    def __init__(self, needles: Sequence[bytes]) -> None:
        self._needles = {needle for needle in needles if len(needle) >= KEY}
        self._longest = max(map(len, self._needles), default=0)
        self._by_key: dict[bytes, dict[tuple[int, int], set[bytes]]] = {}
        if len(self._needles) > FEW:
            self._index()

    def _index(self) -> None:
        """Index the needles by their most distinctive ``KEY`` bytes; those that share them are looked up together."""
        for needle in self._needles:
            offset = _rarest(needle)
            by_position = self._by_key.setdefault(needle[offset : offset + KEY], {})
            by_position.setdefault((offset, len(needle)), set()).add(needle)
        self._bits = min(MOST_BITS, max(BITS, (len(self._by_key) * SPARSE).bit_length()))
        self._table = np.zeros(1 << self._bits, np.bool_)
        self._table[_hashes(b"".join(self._by_key), self._bits)[::KEY]] = True

    def found_in(self, chunks: Iterable[bytes]) -> tuple[set[bytes], int]:
        """See ``found_in``."""
        matches: set[bytes] = set()
        size, tail = 0, b""
        for chunk in chunks:
            size += len(chunk)
            window = tail + chunk
            matches |= self._matches_in(window)
            tail = window[-self._longest :] if self._longest else b""
        return matches, size

    def _matches_in(self, text: bytes) -> set[bytes]:
        """The needles that a text contains."""
        if not self._by_key:
            return {needle for needle in self._needles if needle in text}
        matches: set[bytes] = set()
        for position in np.flatnonzero(self._table[_hashes(text, self._bits)]).tolist():
            for (offset, length), needles in self._by_key.get(text[position : position + KEY], {}).items():
                begin = position - offset
                if begin >= 0 and (candidate := text[begin : begin + length]) in needles:
                    matches.add(candidate)
        return matches


def _rarest(needle: bytes) -> int:
    """The offset of the ``KEY`` bytes with the most distinct values; the last one on ties, where ids are random."""
    rarest = most = 0
    for start in range(len(needle) - KEY, -1, -1):
        if (distinct := len(set(needle[start : start + KEY]))) > most:
            rarest, most = start, distinct
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
        while page := list(islice(rows, ROWS)):
            yield APART.join(value or b"" for row in page for value in row) + APART


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
        report = self._search(path.parent, needles) if path and needles else _SearchReport()
        matches, names = report.matches, {name for names in report.matches.values() for name in names}
        earlier = self._note_remains({*names, *report.unread}) if path else ""
        if not blocked and not (path and names.intersection((path.name, f"{path.name}-wal"))):
            self._finish(mark)
        notes = (
            [f"{len(matches)} of {len(needles)} texts and vectors are still in {_name_list(names)}"] if matches else []
        )
        notes += [f"{_name_list(report.unread)} cannot be read, and was not searched"] if report.unread else []
        return Purge(
            bytes_scanned=report.size,
            needles=len(needles) if path else 0,
            found=len(matches),
            pending="; ".join(filter(None, (*blocked, *notes, earlier))),
        )

    def remains(self) -> str:
        """By what the searches of earlier erasures found."""
        return "" if self._db.path is None else self._note_remains(set())

    def _note_remains(self, names: set[str]) -> str:
        """Note files that may hold erased bytes, and tell those noted earlier that have not changed since.

        The texts are gone, so that these files cannot be searched again.
        """
        assert self._db.path is not None
        with self._db.read() as db:
            row = db.execute("SELECT value FROM header WHERE key = ?", (LEFT,)).fetchone()
        states: dict[str, list[int]] = json.loads(row[0]) if row else {}
        folder = self._db.path.parent
        unchanged = {name: state for name, state in states.items() if _state(folder / name) == state}
        current = unchanged | {name: state for name in names if (state := _state(folder / name)) is not None}
        if current != states:
            with suppress(StoreError), self._db.write() as db:
                set_header(db, **{LEFT: to_json(current)})
        older = unchanged.keys() - names
        return f"texts erased earlier may still be in {_name_list(older)}: delete or replace it" if older else ""

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
        report, search = _SearchReport(), NeedleSearch(needles)
        for path in _files(folder, report.unread):
            try:
                hits, size = search.found_in(self._parts(path))
            except (OSError, apsw.Error, StoreError):
                report.unread.append(_relative_name(path, folder))
                continue
            for needle in hits:
                report.matches.setdefault(needle, []).append(_relative_name(path, folder))
            report.size += size
        with self._db.read() as db, db:
            for needle in still_stored(db, list(report.matches)):
                del report.matches[needle]
        return report

    def _parts(self, path: Path) -> Iterable[bytes]:
        """The bytes of a file in parts; those of an encrypted record as they are under its encryption.

        Raises:
            StoreError: the file is encrypted and not the record.
        """
        is_record = path == self._db.path
        if is_record and self._db.cipher is not None:
            with self._db.read() as db:
                return [db.serialize("main")]  # VACUUM had it in memory, too
        if not is_record and is_encrypted(path):
            raise StoreError(f"{path.name} is encrypted.")
        return _chunks(path, locked=is_record or path.suffix in DATABASES)


@dataclass(slots=True)
class _SearchReport:
    """The files that contain each needle, the bytes read, and the files that could not be read; by path in the folder."""

    matches: dict[bytes, list[str]] = field(default_factory=dict[bytes, list[str]])
    size: int = 0
    unread: list[str] = field(default_factory=list[str])


def _relative_name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _name_list(names: Iterable[str]) -> str:
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
    paths = [
        Path(directory, name)
        for directory, _, names in os.walk(
            folder, onerror=lambda error: unread.append(_relative_name(Path(error.filename), folder))
        )
        for name in names
        if not name.endswith("-shm")
    ]
    return sorted(path for path in paths if os.path.isfile(path))  # noqa: PTH113 - Path.is_file raises in a closed folder


def _chunks(path: Path, *, locked: bool) -> Generator[bytes]:
    """The bytes of a file in parts.

    SQLite files are read through SQLite: closing an ordinary file handle would release the locks of this process on them.
    """
    if not locked:
        with suppress(FileNotFoundError), path.open("rb") as file:  # an index may be rebuilt at the same time
            while chunk := file.read(CHUNK):
                yield chunk
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
        for offset in range(0, size, CHUNK):
            yield file.xRead(min(CHUNK, size - offset), offset)
    finally:
        file.xClose()
