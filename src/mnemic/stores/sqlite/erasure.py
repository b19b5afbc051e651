"""The bytes of erased rows: out of the file, its full text and its log."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from mnemic.errors import StoreError
from mnemic.stores.sql import erasing
from mnemic.stores.sql.erasure import ErasedRows
from mnemic.stores.sqlite import scanning
from mnemic.stores.sqlite.connection import SqliteConnection
from mnemic.stores.sqlite.database import Database
from mnemic.types import Purge

__all__ = ["Erasure"]

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
                mark = db.execute("SELECT value FROM header WHERE key = ?", (erasing.MARK,)).fetchone()
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
            db.execute("DELETE FROM header WHERE key = ? AND value = ?", (erasing.MARK, mark[0]))
        with suppress(StoreError):
            self._db.checkpoint(0.0)

    def _search(self, folder: Path, needles: Sequence[bytes]) -> _Searched:
        """Look into every file for needles that are in no record that stays."""
        searched, wanted = _Searched(), scanning.Wanted(needles)
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
            for needle in scanning.held(db, list(searched.found)):
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
