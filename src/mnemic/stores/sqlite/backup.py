"""A copy of a record while it is in use: consistent, checked, and there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, cast

import apsw

from mnemic import errors
from mnemic.services.processes import FileLock
from mnemic.stores.sqlite.database import Database, translate

if TYPE_CHECKING:
    from mnemic.stores.sqlite.connection import SqliteConnection

__all__ = ["copy", "unfinished"]

LOCK = "copying.lock"
"""A file in the folder of a copy, until the copy is finished."""
PAGES = 1_000
"""Pages copied between two looks at the progress."""


def unfinished(folder: Path) -> bool:
    """Whether a folder is that of a copy that is being made, or was when its process was killed."""
    return os.path.lexists(folder / LOCK)


def copy(
    database: Database, folder: Path, name: str, check: Callable[[Path], None], progress: Callable[[int, int], None]
) -> None:
    """Copy a record into a new folder.

    Args:
        database: the record.
        folder: where to; it must not exist, or be empty.
        name: of the file in it.
        check: looks at the finished copy, and raises where it is not one.
        progress: called with (pages done, pages in all).

    Raises:
        InvalidInput: there is something at that place.
        StoreFull, StoreUnavailable: the copy cannot be written.
    """
    folder = folder.absolute() if folder.name else folder.resolve()
    if not folder.name:
        raise errors.InvalidInput(f"{folder} is there already, and this overwrites nothing: name a new folder.")
    beside = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    ours = FileLock(beside / LOCK)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise errors.InvalidInput(
                f"{folder} is there already, and this overwrites nothing: name a new folder, or move that one away first."
            )
        _clear(folder)
        beside.mkdir(mode=0o700, parents=True)
        ours.take()
        (beside / ".gitignore").write_text("*\n")
        os.close(os.open(beside / name, os.O_CREAT | os.O_RDWR, 0o600))
        _pages(database, beside / name, progress)
        check(beside)
        _on_disk(beside / name)
        (beside / LOCK).unlink(missing_ok=True)
        beside.rename(folder)
        _on_disk(folder.parent)
    except OSError as error:
        raise errors.StoreUnavailable(
            f"{folder} cannot be written: {error.strerror or error}. Name another place."
        ) from error
    finally:
        ours.release()
        shutil.rmtree(beside, ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove what copies to the same place left that were killed: each holds a record, or a part of it."""
    for left in folder.parent.glob(f"{escape(folder.name)}.*.part"):
        lock = FileLock(left / LOCK)
        if left.is_dir() and lock.take():
            shutil.rmtree(left, ignore_errors=True)
            lock.release()


def _pages(database: Database, path: Path, progress: Callable[[int, int], None]) -> None:
    try:
        target = apsw.Connection(str(path))
    except apsw.Error as error:
        raise translate(error, str(path)) from error
    try:
        with database.read() as source, source:
            source.execute("SELECT count(*) FROM header").fetchall()  # from here on it sees one state, whoever writes
            _step(target, source, path, progress)
    finally:
        target.close()


def _step(target: apsw.Connection, source: SqliteConnection, path: Path, progress: Callable[[int, int], None]) -> None:
    try:
        with target.backup("main", cast("apsw.Connection", source), "main") as copying:
            while not copying.done:
                copying.step(PAGES)
                progress(copying.page_count - copying.remaining, copying.page_count)
    except apsw.Error as error:
        raise translate(error, str(path)) from error


def _on_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
