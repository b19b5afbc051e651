"""A record under another key: encrypted, decrypted or encrypted again, in one step that a crash cannot divide."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from mnemic.errors import ConfigurationError, InvalidInput, StoreCorrupt
from mnemic.services.files import sync
from mnemic.stores.sqlite.cipher import Cipher
from mnemic.stores.sqlite.database import Database, SqliteConnection, open_connection

STEPS = 100_000
"""Steps of SQLite's machine between two progress reports."""


def rekey(database: Database, key: str | bytes | None, progress: Callable[[int, int], None]) -> None:
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
