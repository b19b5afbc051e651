"""What contexts have delivered in the conversations under way: working memory, of this process only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from mnemic.services.process import process_lock
from mnemic.types import Scope

__all__ = ["Delivered"]

SESSIONS, RECORDS = 256, 1_000
"""Conversations, and records of each, that are kept: the latest."""


class Delivered:
    """Ids of the records that were delivered, by conversation; thread-safe."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._ids: OrderedDict[Scope, OrderedDict[str, None]] = OrderedDict()

    def note(self, scope: Scope, ids: Iterable[str]) -> None:
        """Records were delivered; outside a conversation nothing is kept."""
        if scope.session is None:
            return
        with self._lock:
            held = self._ids.setdefault(scope, OrderedDict())
            self._ids.move_to_end(scope)
            for id_ in ids:
                held[id_] = None
            while len(held) > RECORDS:
                held.popitem(last=False)
            while len(self._ids) > SESSIONS:
                self._ids.popitem(last=False)

    def of(self, scope: Scope) -> tuple[str, ...]:
        """What was delivered in a conversation, the oldest first."""
        with self._lock:
            return tuple(self._ids.get(scope, ()))

    def forget(self, scope: Scope) -> None:
        """The conversation ended."""
        with self._lock:
            self._ids.pop(scope, None)
