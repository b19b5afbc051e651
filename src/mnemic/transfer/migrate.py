"""Migration of a record to another store: all users with all versions, events and vectors, row by row.

Each user is one transaction in the target, which ends when all rows were copied and compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.paths import is_address, path_of
from mnemic.runtime.factory import IN_MEMORY, check_location, open_store
from mnemic.stores import SqliteStore
from mnemic.stores.sql.transfer import Transfer

if TYPE_CHECKING:
    from mnemic.stores import Store

Progress = Callable[[int, int], None]


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
    if not (make or is_address(location) or SqliteStore.at(path_of(location))):
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
