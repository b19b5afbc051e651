"""Migration of a record to another store: all users with all versions, events and vectors, row by row.

Each page is one transaction in the target, which also stores the progress: after a crash the migration resumes. A user is
visible in the target only when all rows were copied and compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mnemic.errors import ConfigurationError, Conflict, EmbeddingMismatch, InvalidInput
from mnemic.paths import is_address
from mnemic.runtime.factory import IN_MEMORY, check_encryptable
from mnemic.stores import SqliteStore, postgres_store
from mnemic.stores.sql.transfer import STAGES, Extent, State, Transfer

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


class _ProgressCounter:
    """Progress in rows: each is copied once, and read twice for the comparison."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, 3 * total, progress

    def __call__(self, count: int) -> None:
        self._done += count
        if self._progress:
            self._progress(min(self._done, self._total), self._total)


def migrate(
    source: str | Path,
    target: str | Path,
    progress: Progress | None = None,
    *,
    source_key: str | bytes | None = None,
    target_key: str | bytes | None = None,
) -> MigrationReport:
    """Copy every user of a record to another store. The source is not changed.

    The source must not be written to in the meantime; such writes are detected. An interrupted migration resumes when called
    again, and users that exist in the target must be equal there.

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
    if str(source) == str(target):
        raise InvalidInput("Source and target are the same. Name another target.")
    with opened(source, source_key, make=False) as left, opened(target, target_key, make=True) as right:
        if is_same(left, right):
            raise InvalidInput("Source and target are the same. Name another target.")
        users = _move_all(left.transfer, right.transfer, progress)
        right.transfer.add_tombstones(left.transfer.tombstones())
        findings = [f"{store.location}: {finding}" for store in (left, right) for finding in store.verify().findings]
        return MigrationReport(left.location, right.location, tuple(users), tuple(findings))


def is_same(left: Store, right: Store) -> bool:
    """Whether both are one record; a copy in another place is another record."""
    places = [
        store.location if is_address(store.location) else Path(store.location).resolve() for store in (left, right)
    ]
    return left.transfer.origin == right.transfer.origin and places[0] == places[1]


@contextmanager
def opened(location: str | Path, key: str | bytes | None, *, make: bool) -> Generator[Store]:
    """The store of a folder or an address; ``make`` creates a missing one.

    Raises:
        ConfigurationError: it is neither, or it cannot be encrypted and there is a key.
        WrongKey: it is encrypted under another key, or not at all.
        InvalidInput: there is none.
        StoreError: it cannot be opened.
    """
    text = str(location)
    if key is not None:
        check_encryptable(location, indexed=False)
    if is_address(text):
        with closing(postgres_store()(text)) as store:
            yield store
        return
    if not text or text == IN_MEMORY or "://" in text:
        kind = "a memory in RAM" if text == IN_MEMORY else "no place of a record"
        raise ConfigurationError(f"{text.partition('://')[0]!r} is {kind}. Give a folder or postgresql://...")
    if not make and not SqliteStore.at(Path(text).expanduser()):
        raise InvalidInput(f"There is no memory in {text}. Name an existing one.")
    with closing(SqliteStore(text, key=key)) as store:
        yield store


def _move_all(source: Transfer, target: Transfer, progress: Progress | None) -> list[MovedUser]:
    if source.model and target.model and source.model != target.model:
        raise EmbeddingMismatch(target.model, source.model)
    extents = {name: extent for name in source.users() if (extent := source.extent(name))}
    step = _ProgressCounter(sum(extent.size for extent in extents.values()), progress)
    there = {name: _compare(source, target, name, step) for name in extents if target.extent(name)}
    return [
        there.get(name) or _copy(source, target, name, extent, step) for name, extent in extents.items()
    ]  # existing users are compared before anything is written


def _compare(source: Transfer, target: Transfer, name: str, step: Callable[[int], None]) -> MovedUser:
    """Compare a user that exists in both stores.

    Raises:
        Conflict: the rows differ.
    """
    digest, extent = source.digest(name, step), target.extent(name)
    if extent is None or digest != target.digest(name, step):
        raise Conflict(
            f"The target has other memories of the user {name!r} (or both were used since they were migrated). Nothing of this "
            "user was changed; migrate to an empty store, or erase the user there first."
        )
    step(extent.size)
    return MovedUser(name, extent.records, extent.events, digest, before=True)


def _copy(source: Transfer, target: Transfer, name: str, extent: Extent, step: Callable[[int], None]) -> MovedUser:
    """Copy a user, and compare the rows.

    Raises:
        Conflict: the source was written to in the meantime.
    """
    state, model = target.begin(name, source.origin, extent), source.model
    step(state.done)
    while state.stage is not None:
        page = source.page(name, state.stage, state.after)
        after = _next_state(state, page.last, page.size)
        target.put(name, state, page, after, model)
        state = after
        step(page.size)
    digest = source.digest(name, step)
    if source.extent(name) != extent or digest != target.digest(name, step, unfinished=True):
        target.discard(name)
        raise Conflict(
            f"The user {name!r} was changed in the source during the migration. Nothing of this user was stored in the target. "
            "Stop all writers of the source, and migrate again: completed users are kept."
        )
    target.finish(name)
    return MovedUser(name, extent.records, extent.events, digest, before=False)


def _next_state(state: State, last: int, size: int) -> State:
    if last != state.after:
        return replace(state, after=last, done=state.done + size)
    later = STAGES[STAGES.index(state.stage) + 1 :] if state.stage else ()
    return replace(state, stage=later[0] if later else None, after=0)
