"""Following the record: how a derived index takes everything in once, and from then on what changed.

At least once, and idempotent: how far the index is stands beside its contents and moves only after them. Killed between
the two, it takes the same records in again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mnemic.protocols import Entry, Mark, Model, RecordFeed

__all__ = ["Follower", "Shelf", "State"]

PAGE = 500
"""Records or events taken in at a time: an interruption waits for one page at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How far an index is.

    Attributes:
        model: whose vectors it holds.
        mark: the last event that it has taken in.
        filled: while it is filled for the first time, the last doc taken in; None once it holds the whole record.
        top: the highest doc that was ever taken in; those above it were never here.
    """

    model: Model
    mark: Mark
    filled: int | None
    top: int = 0


class Shelf(Protocol):
    """Where an index keeps its entries, and beside them its state. Every method may be repeated."""

    def state(self) -> State | None:
        """As it was noted last; None where nothing usable is kept."""
        ...

    def begin(self, state: State) -> None:
        """Start anew, with nothing: whatever was kept before is removed."""
        ...

    def put(self, entries: Sequence[Entry]) -> None:
        """Keep these, in the place of what was kept under their docs, in the tier each is in now."""
        ...

    def drop(self, docs: Sequence[int]) -> None:
        """Keep these no longer."""
        ...

    def erase(self, docs: Sequence[int]) -> bool:
        """Drop what was erased for good; False where only a new beginning leaves nothing of it behind."""
        ...

    def note(self, state: State) -> None:
        """Everything until here is kept."""
        ...


class Follower:
    """Takes a record into a shelf, one page at a time. Not thread-safe: one thread follows."""

    def __init__(self, feed: RecordFeed, shelf: Shelf) -> None:
        self._feed, self._shelf = feed, shelf
        self.state: State | None = None
        self.known = False

    def step(self) -> bool:
        """Take in the next page; False when there is nothing left to take in."""
        if not self.known:
            self.state, self.known = self._shelf.state(), True
        model, state = self._feed.model(), self.state
        if model is None:
            return False
        if state is None or state.model != model or not self._feed.holds(state.mark):
            self.begin()
            return True
        return self._fill(state) if state.filled is not None else self._follow(state)

    def begin(self) -> None:
        """Start anew: from the first record, and with what happens from now on."""
        model = self._feed.model()
        self.state, self.known = None, False
        if model is not None:
            state = State(model=model, mark=self._feed.last(), filled=0)
            self._shelf.begin(state)
            self.state, self.known = state, True

    def _note(self, state: State) -> bool:
        self._shelf.note(state)
        self.state = state
        return True

    def _fill(self, state: State) -> bool:
        docs = self._feed.docs(state.filled or 0, PAGE)
        if not docs:
            return self._note(replace(state, filled=None))
        found = self._feed.entries(docs)
        if found.model == state.model:  # otherwise the next step begins anew
            self._shelf.put(found.entries)
            self._note(replace(state, filled=docs[-1], top=max(state.top, docs[-1])))
        return True

    def _follow(self, state: State) -> bool:
        changed = self._feed.changes(state.mark.sequence, PAGE)
        if changed.until.sequence == state.mark.sequence:
            return False
        if changed.anew:
            self.begin()
            return True
        found = self._feed.entries(changed.docs)
        if found.model != state.model:
            return True
        if found.gone and not self._shelf.erase(found.gone):
            self.begin()
            return True
        if found.bare:
            self._shelf.drop(found.bare)
        if found.entries:
            self._shelf.put(found.entries)
        return self._note(replace(state, mark=changed.until, top=max(state.top, *changed.docs, 0)))
