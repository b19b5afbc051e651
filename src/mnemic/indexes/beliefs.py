"""What one user's memories say about time and origin: the few rows of a catalog that have two clocks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.types import CatalogDelta, Filters

__all__ = ["Beliefs"]

OWN = 2
"""Messages that a memory may be made of and speak of one alone: an answer, and the question it answers."""
FOREVER = np.iinfo(np.int64).max
Times = NDArray[np.int64]


def _no_times() -> Times:
    return np.empty(0, np.int64)


def _no_pairs() -> Times:
    return np.empty((2, 0), np.int64)


@dataclass(frozen=True, slots=True)
class Beliefs:
    """A snapshot, one entry per memory, ascending by doc. Times are microseconds since 1970, ``FOREVER`` for an open end.

    ``origins`` holds the docs each memory was made from, ``made`` the docs made from each, ``pairs`` both as (2, n) columns
    of memory and origin; ``successors`` holds the doc that took the place of one.
    """

    doc: Times = field(default_factory=_no_times)
    since: Times = field(default_factory=_no_times)
    until: Times = field(default_factory=_no_times)
    expired: Times = field(default_factory=_no_times)
    known: Times = field(default_factory=_no_times)
    begins: Times = field(default_factory=_no_times)
    origins: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    made: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    successors: Mapping[int, int] = field(default_factory=dict[int, int])
    pairs: Times = field(default_factory=_no_pairs)

    def __len__(self) -> int:
        return len(self.doc)

    def hidden(self, filters: Filters, now: int) -> Times:
        """Docs of the memories that are not true, or not believed, at the time that is asked about."""
        if filters.expired:
            return self.doc[:0]
        known = filters.known_at
        believing = FOREVER - 1 if known is None else known
        believed = self.expired > believing
        ended_later = believed & (self.expired < FOREVER)  # nobody knew of that end yet
        until = np.where(ended_later, FOREVER, self.until)
        if filters.at is None:
            today = now if known is None else known
            shown = believed & (until > today) & (self.begins <= today)
        else:
            shown = (self.since <= filters.at) & (filters.at < until) & (believed | (until < FOREVER))
        return self.doc[~(shown & (self.known <= believing))]

    def successor(self, doc: int, at: int | None, known_at: int | None = None) -> int | None:
        """The doc that says what holds instead of a replaced memory: the end of its chain, as far as the clocks reach."""
        found: int | None = None
        seen = {doc}
        while (following := self.successors.get(doc)) is not None and following not in seen:
            place = int(np.searchsorted(self.doc, following))
            if (at is not None and self.since[place] > at) or (known_at is not None and self.known[place] > known_at):
                break
            found = doc = following
            seen.add(doc)
        return found

    def superseding(self, doc: int, at: int | None, known_at: int | None = None) -> list[int]:
        """The docs that hold instead of a memory, or of all that was made of a message and says nothing of others.

        Empty where something of it still holds: a message that says two things is not replaced because one of them is.
        """
        own = [doc] if self._is_memory(doc) else [m for m in self.made.get(doc, ()) if len(self.origins[m]) <= OWN]
        holds = [self.successor(memory, at, known_at) for memory in own]
        return (
            list(dict.fromkeys(one for one in holds if one is not None and one not in own)) if None not in holds else []
        )

    def _is_memory(self, doc: int) -> bool:
        place = int(np.searchsorted(self.doc, doc))
        return place < len(self.doc) and int(self.doc[place]) == doc

    def after(self, delta: CatalogDelta) -> Beliefs:
        """The beliefs once the changes of a delta are taken in."""
        touched = {row[0] for row in delta.beliefs} | set(delta.touched)
        if not touched:
            return self
        kept = ~np.isin(self.doc, sorted(touched)) if len(self) else np.empty(0, np.bool_)
        columns = [column[kept] for column in (self.doc, self.since, self.until, self.expired, self.known, self.begins)]
        if delta.beliefs:
            columns = [np.append(old, new) for old, new in zip(columns, _columns(delta.beliefs), strict=True)]
        order = np.argsort(columns[0], kind="stable")
        doc, since, until, expired, known, begins = (column[order] for column in columns)
        successors = dict(self.successors)
        for one in touched:
            successors.pop(one, None)
        successors |= {row[0]: row[6] for row in delta.beliefs if row[6] is not None}
        origins = {row[0]: tuple(json.loads(row[5])) for row in delta.beliefs}
        changed = {one for one in touched if self.origins.get(one, ()) != origins.get(one, ())}
        beliefs = replace(
            self, doc=doc, since=since, until=until, expired=expired, known=known, begins=begins, successors=successors
        )
        return beliefs._descended(changed, origins) if changed else beliefs  # noqa: SLF001 - our own class

    def _descended(self, changed: Collection[int], now: Mapping[int, Sequence[int]]) -> Beliefs:
        """The same with other origins of some memories; what concerns none of them is not made anew."""
        origins, made = dict(self.origins), dict(self.made)
        for doc in sorted(changed):
            for parent in origins.pop(doc, ()):
                made[parent] = [child for child in made[parent] if child != doc]
                if not made[parent]:
                    del made[parent]
            if now.get(doc):
                origins[doc] = now[doc]
                for parent in now[doc]:
                    made[parent] = [*made.get(parent, ()), doc]
        fresh = [(doc, parent) for doc in sorted(changed) for parent in now.get(doc, ())]
        kept = ~np.isin(self.pairs[0], sorted(changed))
        pairs = np.hstack([self.pairs[:, kept], np.array(fresh, np.int64).reshape(-1, 2).T])
        return replace(self, origins=origins, made=made, pairs=pairs)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[Times]:
    def times(place: int, without: int = FOREVER) -> Times:
        return np.array([without if row[place] is None else row[place] for row in rows], np.int64)

    return [*(times(place) for place in range(5)), times(7, -FOREVER)]
