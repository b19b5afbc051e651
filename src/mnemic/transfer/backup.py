"""Backups: a copy of the whole record in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError, InvalidInput, MissingExtra
from mnemic.runtime.redaction import unwrap_store
from mnemic.runtime.runtime import Runtime
from mnemic.stores import SqliteStore
from mnemic.types import VerifyReport

if TYPE_CHECKING:
    from mnemic.stores.postgres import PostgresStore

__all__ = ["backup", "mend", "mend_server", "on_server", "restore_backup"]

Progress = Callable[[int, int], None]


def backup(
    runtime: Runtime, folder: str | Path, progress: Progress | None = None, *, check: bool = True
) -> VerifyReport:
    """Copy the record of a runtime, all users of it, while it is in use.

    Raises:
        ConfigurationError: the record is not one file.
        InvalidInput: there is something at that place.
        StoreCorrupt: the copy does not verify; it is not kept.
    """
    store = unwrap_store(runtime.store)
    if not isinstance(store, SqliteStore):
        raise ConfigurationError("This record is kept by a server: back it up with the tools of the server (pg_dump).")
    return store.backup(_folder(folder), progress=progress or _quietly, check=check)


def restore_backup(folder: str | Path, to: str | Path, progress: Progress | None = None) -> VerifyReport:
    """Copy a backup to the place of a memory that does not exist, after checking it.

    Raises:
        InvalidInput: there is no backup in the folder, or something at the other place.
        StoreCorrupt: the backup does not verify; nothing was copied.
    """
    place = _folder(folder)
    if not SqliteStore.at(place):
        raise InvalidInput(f"There is no backup in {place}. Name the folder that mnemic backup made.")
    store = SqliteStore(place)
    try:
        return store.backup(_folder(to), progress=progress or _quietly)
    finally:
        store.close()


def mend(folder: Path, beside: Path) -> tuple[str, ...]:
    """Put right what is safe in the record of a folder, after a backup of it as it is; what was done, in words."""
    store = SqliteStore(folder)
    try:
        report = store.verify()
        if report.ok:
            return ("nothing had to be",)
        if not report.checks and not all("fts5" in finding or "fulltext" in finding for finding in report.findings):
            return ("nothing: the file itself is damaged. Restore a backup",)
        store.backup(beside, progress=_quietly, check=False)
        return store.mend() or ("nothing that is safe to fix",)
    finally:
        store.close()


def on_server(url: str) -> tuple[str, bool]:
    """The name of a record on a server, which tells no password, and whether it is there.

    Raises:
        MissingExtra: what speaks to the server is not installed.
        StoreError: it cannot be reached.
    """
    return _server_store().at(url)


def mend_server(url: str) -> tuple[str, ...]:
    """Put right what is safe in the record of a server, in one transaction; what was done, in words.

    There is no backup of it here: what is touched is made from the rest of the record.
    """
    store = _server_store()(url)
    try:
        return ("nothing had to be",) if store.verify().ok else store.mend() or ("nothing that is safe to fix",)
    finally:
        store.close()


def _server_store() -> type[PostgresStore]:
    try:
        from mnemic.stores.postgres import PostgresStore
    except ImportError as error:
        raise MissingExtra("A memory in PostgreSQL", "postgres") from error
    return PostgresStore


def _folder(value: str | Path) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput("A backup is a folder: give its path.")
    return Path(value).expanduser()


def _quietly(_done: int, _total: int) -> None:
    return
