"""The data of ``mnemic stats --plot``: tiers over time, and emotions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from mnemic.runtime.runtime import Runtime
from mnemic.types import Emotion, Event, Kind, RecordFilter, Scope, Status

__all__ = ["Picture", "picture", "tiers"]

BEGINS: Mapping[str, Status] = {"remember": "short_term"}
LEAVES: Mapping[str, Status] = {"promote": "long_term", "absorb": "archived", "archive": "archived"}
RETURNS = frozenset(("restore", "undo"))

Tiers = list[tuple[datetime, Mapping[Status, int]]]


@dataclass(frozen=True, slots=True)
class Picture:
    """The data of a plot.

    Attributes:
        tiers: the number of memories by tier at each change.
        moods: the known emotions of messages and memories.
    """

    tiers: Tiers
    moods: Mapping[Kind, list[Emotion]]


def tiers(events: Iterable[Event]) -> Tiers:
    """The tiers over time, from the audit trail of all memories, oldest first.

    A restored memory (``restore`` or ``undo``) returns to its previous tier.
    """
    history: dict[str, list[Status]] = {}
    counts: Counter[Status] = Counter()
    found: Tiers = []
    for event in events:
        before = history.setdefault(event.id, [])
        was = before[-1] if before else None
        if event.operation in BEGINS and was is None:
            before.append(BEGINS[event.operation])
        elif event.operation in LEAVES and was not in (None, LEAVES[event.operation]):
            before.append(LEAVES[event.operation])
        elif event.operation in RETURNS and len(before) > 1:
            before.pop()
        if not before or before[-1] == was:
            continue
        counts[before[-1]] += 1
        if was is not None:
            counts[was] -= 1
        if found and found[-1][0] == event.at:
            found.pop()
        found.append((event.at, dict(counts)))
    return found


def picture(runtime: Runtime, scope: Scope) -> Picture:
    """The tiers of a user's memories over time, and the emotions of messages and memories."""
    events = runtime.store.lifecycle.log(scope.user, kinds=("memory",), limit=None)
    moods: dict[Kind, list[Emotion]] = {}
    everything = RecordFilter(kinds=("message",), reach="user")
    said = runtime.store.list_messages(scope.user, everything, limit=None, newest=False)
    number = runtime.store.user(scope.user)
    docs = runtime.store.docs_of(scope.user, [str(m.id) for m in said], kind="message")
    moods["message"] = [] if number is None else [*runtime.store.relations.emotions(number, [*docs.values()]).values()]
    filters = RecordFilter(kinds=("memory",), reach="user")
    held = runtime.store.list_memories(scope.user, filters, order="oldest", limit=None, offset=0)
    moods["memory"] = [record.emotion for record in held if record.emotion is not None]
    return Picture(tiers(reversed(events)), moods)
