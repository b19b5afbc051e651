"""The bytes of erased rows: out of the file, its full text and its log."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
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
        found, scanned = self._search(needles)
        if not found:
            self._done(mark)
        where = ", ".join(sorted({name for names in found.values() for name in names}))
        left = f"{len(found)} of {len(needles)} texts and vectors are still in {where}" if found else ""
        return Purge(bytes_scanned=scanned, needles=len(needles), found=len(found), pending=left)

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

    def _search(self, needles: Sequence[bytes]) -> tuple[dict[bytes, list[str]], int]:
        """The files that each needle is in, if it is not in a record that stays; and how many bytes were read."""
        found: dict[bytes, list[str]] = {}
        if self._db.path is None or not needles:
            return found, 0
        scanned = 0
        for path in _files(self._db.path.parent):
            locked = path == self._db.path or path.suffix in DATABASES
            hits, size = scanning.found_in(_chunks(path, locked=locked), needles)
            for needle in hits:
                found.setdefault(needle, []).append(path.name)
            scanned += size
        with self._db.read() as db, db:
            return {needle: names for needle, names in found.items() if not scanning.held(db, needle)}, scanned


def _files(folder: Path) -> list[Path]:
    """What may hold text: the index of the log only has numbers of pages."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith("-shm")]


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
