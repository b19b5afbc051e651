"""Copies of a record: an online backup, the record under another key, and the lines of an export under its key.

The first two are verified, and appear as a whole or not at all: a crash cannot divide the step to another key.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import closing
from glob import escape
from pathlib import Path
from typing import cast

import apsw

from mnemic.errors import ConfigurationError, InvalidInput, StoreCorrupt, StoreUnavailable, WrongKey
from mnemic.protocols import Progress
from mnemic.services.files import sync
from mnemic.services.processes import FileLock
from mnemic.stores.sqlite.cipher import Cipher, checked_key, cipher_for, head_of
from mnemic.stores.sqlite.database import Database, SqliteConnection, make_private, open_connection, translate

LOCK = "copying.lock"
"""A lock file in the folder of a copy until the copy is complete."""
PAGES = 1_000
"""Pages copied between two progress reports."""
STEPS = 100_000
"""Steps of SQLite's machine between two progress reports."""


def unfinished(folder: Path) -> bool:
    """Whether a folder is an incomplete copy."""
    return os.path.lexists(folder / LOCK)


def copy(database: Database, folder: Path, name: str, check: Callable[[Path], None], progress: Progress) -> None:
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
        raise InvalidInput(f"{folder} exists, and a backup overwrites nothing: name a new folder.")
    partial = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}.part")
    lock = FileLock(partial / LOCK)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidInput(
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
        raise StoreUnavailable(f"{folder} cannot be written: {error.strerror or error}. Name another place.") from error
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


def _copy_pages(database: Database, path: Path, progress: Progress) -> None:
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


def rekey(database: Database, key: str | bytes | None, progress: Progress) -> None:
    """Write a record to a new file under another key, and copy that over the old one; see ``Rewriting``.

    SQLite's ``PRAGMA rekey`` would change the file in place, and a crash would need the key of before and the salt of after.

    Args:
        database: the record; no other handle or process may have it open.
        key: a passphrase or 32 bytes; None for a plain file.
        progress: called with (pages done, total pages).

    Raises:
        ConfigurationError: the record is in RAM.
        InvalidInput: there is no key to remove.
        StoreError: the record is open elsewhere, damaged, or cannot be written; it stays under the old key.
    """
    if database.path is None:
        raise ConfigurationError("A record in RAM is never written, and so not encrypted.")
    if key is None and database.key is None:
        raise InvalidInput(f"{database.name} is not encrypted: there is no key to remove.")
    cipher = None if key is None else Cipher(key)

    def write(db: SqliteConnection, new: Path) -> None:
        pages, size = int(db.pragma("page_count")), int(db.pragma("page_size"))

        def step() -> bool:
            progress(min(new.stat().st_size // size, pages), pages)
            return False

        db.set_progress_handler(step, STEPS)
        db.execute("VACUUM INTO ?", (f"{new.as_uri()}?{'key=' if cipher is None else cipher.query}",))
        db.set_progress_handler(None)
        _check(new, cipher)
        sync(new)
        progress(pages, pages)

    database.rewrite(key, write)


def _check(file: Path, cipher: Cipher | None) -> None:
    """Read every page of a new file under its key."""
    with closing(open_connection(str(file), cipher)) as db:
        findings = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    if findings != ["ok"]:
        raise StoreCorrupt(f"The copy under the new key is damaged: {findings[0]}. The record stays under the old key.")


def write_lines(file: Path, cipher: Cipher, lines: Iterable[str]) -> None:
    """Write lines to an empty file.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        with closing(open_connection(str(file), cipher)) as db:
            db.pragma("journal_mode", "OFF")  # an unfinished file is thrown away
            db.execute("CREATE TABLE lines(number INTEGER PRIMARY KEY, line TEXT NOT NULL)")
            with db:
                for line in lines:
                    db.execute("INSERT INTO lines(line) VALUES(?)", (line,))
    except apsw.Error as error:
        raise translate(error, str(file)) from error


def read_lines(file: Path, key: str | bytes | None) -> list[str]:
    """The lines of an encrypted file.

    Raises:
        ConfigurationError: the key is not valid, or the SQLite of this installation cannot decrypt.
        WrongKey: the file has another key, or none is given.
        StoreError: it cannot be read.
    """
    try:
        with closing(open_connection(str(file), cipher_for(file, head_of(file), checked_key(key)))) as db:
            return [str(row[0]) for row in db.execute("SELECT line FROM lines ORDER BY number")]
    except apsw.NotADBError as error:
        raise WrongKey(f"The key does not open {file}. An export has the key that its record had then.") from error
    except apsw.Error as error:
        raise translate(error, str(file)) from error
