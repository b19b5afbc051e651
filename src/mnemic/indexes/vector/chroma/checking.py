"""Whether Chroma holds what the record holds: every doc once, in its tier, with its vector, and to be found by it."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.indexes.vector.chroma.shelf import ChromaShelf, alike, has_direction
from mnemic.indexes.vector.following import State
from mnemic.protocols import Entry, RecordFeed

__all__ = ["compared"]

PAGE = 500
SAMPLE, OF_A_PAGE = 100, 50
"""Entries that are searched for by their own vector, and of each page; of a small record all."""
MISSED, FEW = 0.05, 2
"""Share of a sample, or number, that an approximate search may miss; these are linked anew, more are a damaged graph."""


def compared(feed: RecordFeed, shelf: ChromaShelf, state: State) -> list[str]:
    """What differs, each kind in a sentence; what changed since the state was noted is left out.

    Raises:
        StoreUnavailable: Chroma cannot read its own entries.
    """
    late = _late(feed, state)
    if late is None:
        return []
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
                samples[tier] += own[:: max(1, len(own) // OF_A_PAGE)]
    for tier, held in seen.items():
        wrong.setdefault("in Chroma, not in the record", set()).update(shelf.docs(tier) - held)
    later = _late(feed, state)  # also what changed while this was read
    if later is None:
        return []
    late |= later
    found = [_told(what, sorted(docs - late)) for what, docs in wrong.items() if docs - late]
    for tier, entries in samples.items():
        found += _unfound(shelf, tier, [entry for entry in entries if entry.doc not in late])
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


def _late(feed: RecordFeed, state: State) -> set[int] | None:
    """Docs that changed after the state was noted; None where that is every vector."""
    docs: set[int] = set()
    after = state.mark.sequence
    while (changed := feed.changes(after, PAGE)).until.sequence > after:
        if changed.anew:
            return None
        docs.update(changed.docs)
        after = changed.until.sequence
    return docs


def _unfound(shelf: ChromaShelf, tier: str, entries: Sequence[Entry]) -> list[str]:
    """Entries that their own vector does not find: a damaged graph gives answers, but wrong ones."""
    sample = [entry for entry in entries if has_direction(entry.vector)]
    sample = sample[:: max(1, len(sample) // SAMPLE)]
    lost = shelf.unfound(tier, sample)
    if len(lost) <= max(FEW, MISSED * len(sample)):
        shelf.link_anew(tier, lost)
        return []
    return [f"Chroma does not find {len(lost)} of {len(sample)} entries by their own vector"]


def _told(what: str, docs: Sequence[int]) -> str:
    shown = ", ".join(map(str, docs[:5])) + (" ..." if len(docs) > 5 else "")
    return f"{what}: {len(docs)} (number {shown})"
