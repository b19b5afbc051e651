"""Online backup: a consistent, verified copy that appears as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import closing
from glob import escape
from pathlib import Path
from typing import cast

import apsw

from mnemic import errors
from mnemic.services.files import sync
from mnemic.services.processes import FileLock
from mnemic.stores.sqlite.database import Database, make_private, open_connection, translate

LOCK = "copying.lock"
"""A lock file in the folder of a copy until the copy is complete."""
PAGES = 1_000
"""Pages copied between two progress reports."""


def unfinished(folder: Path) -> bool:
    """Whether a folder is an incomplete copy."""
    return os.path.lexists(folder / LOCK)


def copy(
    database: Database, folder: Path, name: str, check: Callable[[Path], None], progress: Callable[[int, int], None]
) -> None:
    """Copy a record into a new folder.

    Args:
        database: the record.
        folder: the target; it must not exist, or be empty.
        name: the name of the file in it.
        check: verifies the finished copy; raises if it is damaged.
        progress: called with (pages done, total pages).

    Raises:
        InvalidInput: the target is not empty.
        StoreFull, StoreUnavailable: the copy cannot be written.
    """
    folder = folder.absolute() if folder.name else folder.resolve()
    if not folder.name:
        raise errors.InvalidInput(f"{folder} exists, and a backup overwrites nothing: name a new folder.")
    partial = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    lock = FileLock(partial / LOCK)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise errors.InvalidInput(
                f"{folder} exists, and a backup overwrites nothing: name a new folder, or move that one away first."
            )
        _remove_leftovers(folder)
        partial.mkdir(mode=0o700, parents=True)
        lock.acquire()
        (partial / ".gitignore").write_text("*\n")
        make_private(partial / name)
        _copy_pages(database, partial / name, progress)
        check(partial)
        sync(partial / name)
        (partial / LOCK).unlink(missing_ok=True)
        partial.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise errors.StoreUnavailable(
            f"{folder} cannot be written: {error.strerror or error}. Name another place."
        ) from error
    finally:
        lock.release()
        shutil.rmtree(partial, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove incomplete copies that killed backups to the same place left: each holds a part of the record."""
    for leftover in folder.parent.glob(f"{escape(folder.name)}.*.part"):
        lock = FileLock(leftover / LOCK)
        if leftover.is_dir() and lock.acquire():
            shutil.rmtree(leftover, ignore_errors=True)
            lock.release()


def _copy_pages(database: Database, path: Path, progress: Callable[[int, int], None]) -> None:
    with database.read() as source, source:
        source.execute("SELECT count(*) FROM header").fetchall()  # begins the snapshot
        try:
            with (
                closing(cast("apsw.Connection", open_connection(str(path), database.cipher))) as target,
                target.backup("main", cast("apsw.Connection", source), "main") as copying,
            ):
                while not copying.done:
                    copying.step(PAGES)
                    progress(copying.page_count - copying.remaining, copying.page_count)
        except apsw.Error as error:
            raise translate(error, str(path)) from error
