"""How often records were handed out: counted in RAM, and written down in batches, off the read path."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from mnemic.errors import StoreReadOnly
from mnemic.protocols import Store
from mnemic.services.forks import renewed
from mnemic.services.process import process_lock
from mnemic.text.clock import now, to_micros
from mnemic.types import Touch

__all__ = ["Uses"]

MAX_USES = 4_096
"""Uses counted in RAM before they are written down."""


class Uses:
    """Counts of uses by user and doc; thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = process_lock()
        self._counts: dict[tuple[str, int], int] = {}
        renewed(self, Uses._renew)

    def _renew(self) -> None:
        """Start from zero in a forked child: what the parent counted it writes down itself."""
        self._counts = {}

    def note(self, user: str, docs: Iterable[int]) -> None:
        """Count records that were found and handed out."""
        with self._lock:
            for doc in docs:
                self._counts[user, doc] = self._counts.get((user, doc), 0) + 1
            full = len(self._counts) > MAX_USES
        if full:
            self.save()

    def save(self) -> None:
        """Write down the uses counted so far; a record that cannot be written forgets them."""
        with self._lock:
            counts, self._counts = self._counts, {}
        moment = to_micros(now())
        for user in dict.fromkeys(user for user, _ in counts):
            own = {doc: count for (owner, doc), count in counts.items() if owner == user}
            with suppress(StoreReadOnly):
                self._store.apply(user, [Touch(uses=own, at=moment)])
