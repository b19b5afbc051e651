"""Whether Chroma holds what the record holds: every doc once, in its tier, with its vector, and to be found by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mnemic.indexes.vector.chroma.shelf import APART, ChromaShelf, alike, has_direction
from mnemic.indexes.vector.following import State
from mnemic.protocols import Entry, RecordFeed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["compared"]

PAGE = 500
SAMPLE = 100
MISSED = 0.05
"""Share of a sample that an approximate search may miss."""


def compared(feed: RecordFeed, shelf: ChromaShelf, state: State) -> list[str]:
    """What differs, each kind in a sentence; what changed since the state was noted is left out.

    Raises:
        StoreUnavailable: Chroma cannot read its own entries.
    """
    late = _late(feed, state)
    wrong: dict[str, set[int]] = {}
    seen: dict[str, set[int]] = {"short_term": set(), "long_term": set()}
    samples: dict[str, list[Entry]] = {"short_term": [], "long_term": []}
    after = 0
    while docs := feed.docs(after, PAGE):
        after = docs[-1]
        entries = [entry for entry in feed.entries(docs).entries if entry.doc not in late]
        for tier, held in seen.items():
            own = [entry for entry in entries if entry.tier == tier]
            held |= {entry.doc for entry in own}
            if own:
                _compare(shelf, tier, own, wrong)
                samples[tier] += own[:: PAGE // 8]
    for tier, held in seen.items():
        wrong.setdefault("in Chroma, not in the record", set()).update(shelf.docs(tier) - held)
    late |= _late(feed, state)  # also what changed while this was read
    found = [_told(what, sorted(docs - late)) for what, docs in wrong.items() if docs - late]
    for tier, entries in samples.items():
        found += _unfound(shelf, tier, [entry.vector for entry in entries if entry.doc not in late])
    return found


def _compare(shelf: ChromaShelf, tier: str, entries: Sequence[Entry], wrong: dict[str, set[int]]) -> None:
    held = shelf.held(tier, [entry.doc for entry in entries])
    for entry in entries:
        if entry.doc not in held:
            wrong.setdefault("missing in Chroma", set()).add(entry.doc)
            continue
        user, vector = held[entry.doc]
        if user != entry.user:
            wrong.setdefault("filed under another user in Chroma", set()).add(entry.doc)
        elif not alike(vector, entry.vector):
            wrong.setdefault("another vector in Chroma than in the record", set()).add(entry.doc)


def _late(feed: RecordFeed, state: State) -> set[int]:
    """Docs that changed after the state was noted."""
    docs: set[int] = set()
    after = state.mark.sequence
    while (changed := feed.changes(after, PAGE)).until.sequence > after:
        docs.update(changed.docs)
        after = changed.until.sequence
    return docs


def _unfound(shelf: ChromaShelf, tier: str, vectors: Sequence[NDArray[np.float32]]) -> list[str]:
    """Entries that their own vector does not find: a damaged graph gives answers, but wrong ones."""
    sample = [vector for vector in vectors if has_direction(vector)]
    sample = sample[:: max(1, len(sample) // SAMPLE)]
    lost = int((shelf.finds(tier, np.stack(sample)) > APART).sum()) if sample else 0
    few = lost <= MISSED * len(sample)
    return [] if few else [f"Chroma does not find {lost} of {len(sample)} entries by their own vector"]


def _told(what: str, docs: Sequence[int]) -> str:
    shown = ", ".join(map(str, docs[:5])) + (" ..." if len(docs) > 5 else "")
    return f"{what}: {len(docs)} (number {shown})"
