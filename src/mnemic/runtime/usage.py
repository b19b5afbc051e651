"""Usage of records: the ids delivered in current conversations, and use counts."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from mnemic.errors import StoreError, StoreReadOnly
from mnemic.services.processes import process_lock, renew_in_child
from mnemic.text.values import now, to_micros
from mnemic.types import Scope, Touch

if TYPE_CHECKING:
    from mnemic.stores import Store

SESSIONS, RECORDS = 256, 1_000
"""Most recent conversations kept, and records of each."""


class Delivered:
    """Ids of delivered records by conversation; thread-safe."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._ids: OrderedDict[Scope, OrderedDict[str, None]] = OrderedDict()

    def note(self, scope: Scope, ids: Iterable[str]) -> None:
        """Note delivered records; ignored outside a conversation."""
        if scope.session is None:
            return
        with self._lock:
            held = self._ids.setdefault(scope, OrderedDict())
            self._ids.move_to_end(scope)
            held.update(dict.fromkeys(ids))
            while len(held) > RECORDS:
                held.popitem(last=False)
            while len(self._ids) > SESSIONS:
                self._ids.popitem(last=False)

    def of(self, scope: Scope) -> tuple[str, ...]:
        """The ids delivered in a conversation, oldest first."""
        with self._lock:
            return tuple(self._ids.get(scope, ()))

    def forget(self, scope: Scope) -> None:
        """Drop a conversation that ended."""
        with self._lock:
            self._ids.pop(scope, None)


MAX_BUFFERED = 4_096
"""Counts buffered in memory before they are written."""


_UNCOUNTED: ContextVar[bool] = ContextVar("uncounted", default=False)


@contextmanager
def uncounted() -> Generator[None]:
    """Within the block what is found counts as no use: somebody looks at the memory, and no answer is made of it."""
    before = _UNCOUNTED.set(True)
    try:
        yield
    finally:
        _UNCOUNTED.reset(before)


def is_counted() -> bool:
    """Whether what is found now counts as a use."""
    return not _UNCOUNTED.get()


class Uses:
    """Buffered use counts by user and doc; thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = process_lock()
        self._counts: Counter[tuple[str, int]] = Counter()
        renew_in_child(self, Uses._renew)

    def _renew(self) -> None:
        """Start from zero in a forked child: the parent writes its own counts."""
        self._counts = Counter()

    def note(self, user: str, docs: Iterable[int]) -> None:
        """Count one use of each record."""
        if not is_counted():
            return
        with self._lock:
            self._counts.update((user, doc) for doc in docs)
            full = len(self._counts) > MAX_BUFFERED
        if full:
            self.save()

    def save(self, user: str | None = None) -> None:
        """Write the buffered counts of one user or of all; a read-only record drops them.

        Raises:
            StoreError: the record cannot be written; the counts stay buffered.
        """
        with self._lock:
            counts = {key: count for key, count in self._counts.items() if user in (None, key[0])}
            self._counts = Counter({key: count for key, count in self._counts.items() if key not in counts})
        moment = to_micros(now())
        for owner in dict.fromkeys(owner for owner, _ in counts):
            own = {doc: count for (name, doc), count in counts.items() if name == owner}
            try:
                with suppress(StoreReadOnly):
                    self._store.apply(owner, [Touch(uses=own, at=moment)])
            except StoreError:
                with self._lock:
                    self._counts.update({(owner, doc): count for doc, count in own.items()})
                raise

    def settle(self, user: str) -> None:
        """Write the buffered counts of a user before they are read, if the record can be written."""
        with suppress(StoreError):
            self.save(user)
