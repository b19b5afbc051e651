"""Whole records: backup, restore, repair, encryption, and migration to another store.

A migration copies all users with all versions, events and vectors, row by row. Each user is one transaction in the target,
which ends when all rows were copied and compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError, InvalidInput, StoreUnavailable
from mnemic.paths import IN_MEMORY, is_address, path_of
from mnemic.protocols import Progress
from mnemic.runtime.factory import check_encryptable, check_location, location_of, open_store
from mnemic.runtime.indexer import unwrap_store
from mnemic.runtime.runtime import Runtime
from mnemic.stores import SqliteStore, postgres_store
from mnemic.stores.sql.transfer import Transfer
from mnemic.types import VerifyReport

if TYPE_CHECKING:
    from mnemic.stores import Store


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
    return store.backup(path_of(folder), progress=progress or _no_progress, check=check)


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
    source = path_of(folder)
    if not SqliteStore.at(source):
        raise InvalidInput(f"There is no backup in {source}. Name a folder written by mnemic backup.")
    with closing(SqliteStore(source, key=key)) as store:
        return store.backup(path_of(to), progress=progress or _no_progress)


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


def _no_progress(_done: int, _total: int) -> None:
    return


# Migration


@dataclass(frozen=True, slots=True)
class MovedUser:
    """A migrated user: numbers of records and events, a hash over all rows, and whether it was in the target before."""

    user: str
    records: int
    events: int
    digest: str
    before: bool


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The result of a migration: the users, and the ``verify`` report of each store."""

    source: str
    target: str
    users: tuple[MovedUser, ...]
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether ``verify`` has no findings in either store; the rows were compared before."""
        return not self.findings

    @property
    def digest(self) -> str:
        """A hash over all users."""
        lines = sorted(f"{moved.user}\n{moved.digest}\n" for moved in self.users)
        return hashlib.blake2b("".join(lines).encode(), digest_size=16).hexdigest()


def migrate(
    source: str | Path,
    target: str | Path,
    progress: Progress | None = None,
    *,
    source_key: str | bytes | None = None,
    target_key: str | bytes | None = None,
) -> MigrationReport:
    """Copy every user of a record to another store. The source is not changed.

    The source must not be written to in the meantime; such writes are detected. An interrupted migration can be run again:
    users that are in the target must be equal there, and the others are copied.

    Args:
        source: a folder or ``postgresql://...``.
        target: another folder or ``postgresql://...``; created if missing.
        progress: called with (done, total).
        source_key: the key of an encrypted source.
        target_key: the key that encrypts the target, a folder.

    Raises:
        ConfigurationError: a location is not a store, or cannot be encrypted.
        WrongKey: a folder is encrypted under another key, or not at all.
        InvalidInput: the source does not exist, or both are the same.
        EmbeddingMismatch: the target holds vectors of another model.
        Conflict: the target has other memories of one of the users, or the source was written to in the meantime.
        StoreError: a store cannot be read or written.
    """
    with opened(source, source_key, make=False) as left, opened(target, target_key, make=True) as right:
        if is_same(left, right):
            raise InvalidInput("Source and target are the same. Name another target.")
        users = _move_all(left.transfer, right.transfer, progress)
        right.transfer.copy_tombstones(left.transfer)
        findings = [f"{store.location}: {finding}" for store in (left, right) for finding in store.verify().findings]
        return MigrationReport(left.location, right.location, tuple(users), tuple(findings))


def is_same(left: Store, right: Store) -> bool:
    """Whether both are one record; a copy in another place is another record."""
    locations = [
        store.location if is_address(store.location) else Path(store.location).resolve() for store in (left, right)
    ]
    return left.fence == right.fence and locations[0] == locations[1]


@contextmanager
def opened(location: str | Path, key: str | bytes | None, *, make: bool) -> Generator[Store]:
    """The store of a folder or an address; ``make`` creates a missing one.

    Raises:
        ConfigurationError: it is neither, or it cannot be encrypted and there is a key.
        WrongKey: it is encrypted under another key, or not at all.
        InvalidInput: there is none.
        StoreError: it cannot be opened.
    """
    check_location(location)
    if str(location) == IN_MEMORY:
        raise ConfigurationError(f"{IN_MEMORY} is a memory in RAM. Give a folder or postgresql://...")
    is_there = make or (
        postgres_store().at(str(location))[1] if is_address(location) else SqliteStore.at(path_of(location))
    )
    if not is_there:
        raise InvalidInput(f"There is no memory in {location}. Name an existing one.")
    store, _ = open_store(location, "FULL", "exact", key)
    with closing(store):
        yield store


def _move_all(source: Transfer, target: Transfer, progress: Progress | None) -> list[MovedUser]:
    """Copy every user; those that are in the target are compared before anything is written."""
    extents = {name: source.extent(name) for name in source.users()}
    total, done = 2 * sum(extent.size for extent in extents.values()), 0  # read on both sides

    def step(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(min(done, total), total)

    before = {name: target.extent(name).size > 0 for name in extents}
    digests = {name: target.copy(name, source, step) for name in sorted(extents, key=lambda name: not before[name])}
    return [
        MovedUser(name, extent.records, extent.events, digests[name], before[name]) for name, extent in extents.items()
    ]
