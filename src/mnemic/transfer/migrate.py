"""Moving a record to another place, rows as they are: every user with all versions, events and vectors.

Page by page, each one transaction of the place to move to, which also keeps how far it is: killed anywhere, it goes on where
it was. Nobody can ask for a user there before all of it is there and its rows are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mnemic.errors import ConfigurationError, Conflict, EmbeddingMismatch, InvalidInput, MissingExtra
from mnemic.runtime.factory import IN_MEMORY, POSTGRES
from mnemic.stores import SqliteStore
from mnemic.stores.sql.transfer import STAGES, Extent, State, Transfer

if TYPE_CHECKING:
    from mnemic.stores.postgres import PostgresStore

    Store: TypeAlias = SqliteStore | PostgresStore

__all__ = ["Moved", "Moves", "migrate"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """A user who is at both places: how many records and events, a hash over all rows, and whether it was there before."""

    user: str
    records: int
    events: int
    digest: str
    before: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """What is at both places now, and what ``verify`` found at each."""

    source: str
    target: str
    users: tuple[Moved, ...]
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether both places verify; the rows were compared before."""
        return not self.findings

    @property
    def digest(self) -> str:
        """One hash over all users."""
        lines = sorted(f"{moved.user}\n{moved.digest}\n" for moved in self.users)
        return hashlib.blake2b("".join(lines).encode(), digest_size=16).hexdigest()


class _Steps:
    """Rows done of all rows: each is copied once, and read twice for the comparison."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, 3 * total, progress

    def __call__(self, count: int) -> None:
        self._done += count
        if self._progress:
            self._progress(min(self._done, self._total), self._total)


def migrate(source: str | Path, target: str | Path, progress: Progress | None = None) -> Moves:
    """Move every user of a record to another place. The source stays as it is.

    Nobody may write to the source meanwhile; who does is noticed. What was interrupted goes on when called again, and users
    that are at the target already must be the same there.

    Args:
        source: a folder or ``postgresql://...``.
        target: the same, at another place; made when missing.
        progress: called with (done, total).

    Raises:
        ConfigurationError: a place is none that keeps memories.
        InvalidInput: there is nothing at the source, or both are the same.
        EmbeddingMismatch: the target holds vectors of another model.
        Conflict: the target has other memories of one of the users, or the source was written to meanwhile.
        StoreError: a place cannot be read or written.
    """
    if str(source) == str(target):
        raise InvalidInput("Both places are the same. Name another one to move to.")
    with _opened(source, make=False) as left, _opened(target, make=True) as right:
        if left.transfer.origin == right.transfer.origin and _file(left) == _file(right):
            raise InvalidInput("Both places are the same. Name another one to move to.")
        users = _moved(left.transfer, right.transfer, progress)
        findings = [f"{store.location}: {finding}" for store in (left, right) for finding in store.verify().findings]
        return Moves(left.location, right.location, tuple(users), tuple(findings))


def _file(store: Store) -> str:
    """Where a record is, by one name however it was given."""
    return store.location if store.location.startswith(POSTGRES) else str(Path(store.location).resolve())


@contextmanager
def _opened(location: str | Path, *, make: bool) -> Generator[Store]:
    text = str(location)
    if text.startswith(POSTGRES):
        try:
            from mnemic.stores.postgres import PostgresStore
        except ImportError as error:
            raise MissingExtra("A memory in PostgreSQL", "postgres") from error
        with closing(PostgresStore(text)) as store:
            yield store
        return
    if not text or text == IN_MEMORY or "://" in text:
        kind = "a memory in RAM" if text == IN_MEMORY else "no kind of store that can be moved"
        raise ConfigurationError(f"{text.partition('://')[0]!r} is {kind}. Give a folder or postgresql://...")
    if not make and not SqliteStore.at(Path(text).expanduser()):
        raise InvalidInput(f"There is no memory in {text}. Name the folder of one.")
    with closing(SqliteStore(text)) as store:
        yield store


def _moved(source: Transfer, target: Transfer, progress: Progress | None) -> list[Moved]:
    _same_model(source, target)
    extents = {name: extent for name in source.users() if (extent := source.extent(name))}
    step = _Steps(sum(extent.size for extent in extents.values()), progress)
    there = {name: _already(source, target, name, step) for name in extents if target.extent(name)}
    return [
        there.get(name) or _carried(source, target, name, extent, step) for name, extent in extents.items()
    ]  # those who are there were compared before anything was written


def _same_model(source: Transfer, target: Transfer) -> None:
    wanted, held = source.model, target.model
    if wanted and held and wanted != held:
        raise EmbeddingMismatch(held, wanted)


def _already(source: Transfer, target: Transfer, name: str, step: Callable[[int], None]) -> Moved:
    """A user that both places have.

    Raises:
        Conflict: they are not the same.
    """
    digest, extent = source.digest(name, step), target.extent(name)
    if extent is None or digest != target.digest(name, step):
        raise Conflict(
            f"The place to move to has other memories of the user {name!r} (or both were used since they were moved). "
            "Nothing of this user was changed; move to an empty place, or erase the user there first."
        )
    step(extent.size)
    return Moved(name, extent.records, extent.events, digest, before=True)


def _carried(source: Transfer, target: Transfer, name: str, extent: Extent, step: Callable[[int], None]) -> Moved:
    """A user moved, and compared.

    Raises:
        Conflict: the source was written to meanwhile.
    """
    state, model = target.begin(name, source.origin, extent), source.model
    step(state.done)
    while state.stage is not None:
        page = source.page(name, state.stage, state.after)
        after = _after(state, page.last, page.size)
        target.put(name, state, page, after, model)
        state = after
        step(page.size)
    digest = source.digest(name, step)
    if source.extent(name) != extent or digest != target.digest(name, step, unfinished=True):
        target.discard(name)
        raise Conflict(
            f"The user {name!r} was used at the source while it was moved. Nothing of this user was kept at the other place. "
            "Stop what works with the source, and migrate again: users that are done stay done."
        )
    target.finish(name)
    return Moved(name, extent.records, extent.events, digest, before=False)


def _after(state: State, last: int, size: int) -> State:
    if last != state.after:
        return replace(state, after=last, done=state.done + size)
    following: Sequence[str] = [*STAGES[1:]]
    number = STAGES.index(state.stage) if state.stage else len(following)
    return replace(state, stage=STAGES[number + 1] if number < len(following) else None, after=0)
