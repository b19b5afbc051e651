"""Backup, restore, repair and encryption of a whole record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from mnemic.errors import ConfigurationError, InvalidInput, StoreUnavailable
from mnemic.runtime.factory import check_encryptable, location_of
from mnemic.runtime.redaction import unwrap_store
from mnemic.runtime.runtime import Runtime
from mnemic.stores import SqliteStore
from mnemic.transfer.migrate import opened
from mnemic.types import VerifyReport

Progress = Callable[[int, int], None]


def backup(
    runtime: Runtime, folder: str | Path, progress: Progress | None = None, *, check: bool = True
) -> VerifyReport:
    """Copy the record of a runtime with all users while it is in use.

    Raises:
        ConfigurationError: the record is not in a folder.
        InvalidInput: the target is not empty.
        StoreCorrupt: the copy is damaged; it is deleted.
    """
    store = unwrap_store(runtime.store)
    if not isinstance(store, SqliteStore):
        raise ConfigurationError("This record is on a server: back it up with the tools of the server (pg_dump).")
    return store.backup(_folder(folder), progress=progress or _no_progress, check=check)


def rekey(runtime: Runtime, key: str | bytes | None, progress: Progress | None = None) -> None:
    """Encrypt the record of a runtime, change its key, or with None decrypt it.

    Raises:
        ConfigurationError: the record or its vector index cannot be encrypted.
        InvalidInput: there is no key to remove.
        StoreError: the record is open elsewhere or cannot be written; it stays under the old key.
    """
    store = unwrap_store(runtime.store)
    check_encryptable(location_of(runtime), indexed=runtime.updater is not None)
    assert isinstance(store, SqliteStore)
    if key is not None and not runtime.discard_index():
        raise StoreUnavailable(
            "Another process uses the Chroma index of this folder. Nothing was changed; close it first."
        )
    store.rekey(key, progress=progress or _no_progress)


def restore_backup(
    folder: str | Path, to: str | Path, progress: Progress | None = None, *, key: str | bytes | None = None
) -> VerifyReport:
    """Verify a backup and copy it to a new folder; ``key`` is that of the backup, and then of the copy.

    Raises:
        InvalidInput: there is no backup in the folder, or the target is not empty.
        StoreCorrupt: the backup is damaged; nothing was copied.
    """
    source = _folder(folder)
    if not SqliteStore.at(source):
        raise InvalidInput(f"There is no backup in {source}. Name a folder written by mnemic backup.")
    with closing(SqliteStore(source, key=key)) as store:
        return store.backup(_folder(to), progress=progress or _no_progress)


def mend(location: str | Path, target: Path | None, *, key: str | bytes | None = None) -> tuple[str, ...]:
    """Back up the record of a folder, then repair what is safe; returns a line for each repair.

    A server has no ``target``: only derived data is changed, in one transaction.
    """
    with opened(location, key, make=False) as store:
        report = store.verify()
        if report.ok:
            return ("nothing to repair",)
        if isinstance(store, SqliteStore) and target is not None:
            if not report.checks and not all("fts5" in finding or "fulltext" in finding for finding in report.findings):
                return ("nothing: the file is damaged. Restore a backup",)
            store.backup(target, progress=_no_progress, check=False)
        return store.repair() or ("nothing can be repaired safely",)


def _folder(value: str | Path) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput("A backup is a folder: pass its path.")
    return Path(value).expanduser()


def _no_progress(_done: int, _total: int) -> None:
    return
