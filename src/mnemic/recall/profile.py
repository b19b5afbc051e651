"""The profile of a user: the answer to a question about the user as a whole, such as "What do you know about me?"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mnemic.recall.folding import hit_from
from mnemic.recall.search import allowed_rows
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import UNTRUSTED
from mnemic.stores.sql.importance import importances
from mnemic.text.clock import now, to_micros
from mnemic.text.grammar import bare_words, in_first_person
from mnemic.types import Hit, MemoryRecord, RecordFilter, Scope, SearchResult, Stored
from mnemic.types.literals import PREFERENCE, SESSION_SUMMARY

READ = 500
"""Most important memories that are looked through for statements about the user."""

_QUESTION = re.compile(
    r"^\W*(?:(?:what|who|tell|everything|anything|all|remind|summar\w+|describe|show).{0,40}\b(?:about me|know of me|i am|am i|"
    r"my (?:profile|settings|preferences))\b|about me|(?:my )?(?:profile|settings|preferences)|who am i)\W*$",
    re.IGNORECASE,
)


def asks_for_profile(question: str) -> bool:
    """Whether a question is about the user as a whole."""
    return _QUESTION.search(question) is not None


def memory_hits(records: Iterable[MemoryRecord]) -> list[Hit]:
    """Memories as hits, scored by importance."""
    return [
        hit_from(Stored(kind="memory", value=m, status=m.status, project=m.project), m.importance, {}) for m in records
    ]


def preferences(runtime: Runtime, scope: Scope, filters: RecordFilter) -> list[MemoryRecord]:
    """The memories that hold the keys and values of ``memory.preferences``."""
    if "memory" not in filters.kinds:
        return []
    trusted = replace(filters, kinds=("memory",), min_trust=max(filters.min_trust or 0.0, UNTRUSTED))
    return [*runtime.store.relations.with_key(scope.user, PREFERENCE, trusted)]


def profile(runtime: Runtime, scope: Scope, filters: RecordFilter, most: int) -> SearchResult:
    """The user's preferences, then statements about the user, then other memories, each by importance.

    The evidence is strong if there is one of the first two kinds, weak if there are only others, and none without memories.
    """
    if "memory" not in filters.kinds:
        return SearchResult()
    found = preferences(runtime, scope, filters)
    if filters.category is None:
        found += most_important(runtime, scope, replace(filters, category=("preference",)), most)
    found += most_important(runtime, scope, filters, max(READ, most))
    ranked = [(_rank(record, scope.user), -record.importance, record) for record in found]
    ranked.sort(key=lambda one: one[:2])
    hits = {hit.id: hit for hit in memory_hits(record for *_, record in ranked) if hit.id not in filters.exclude}
    if not hits:
        return SearchResult()
    about = any(rank <= _ABOUT for rank, _, record in ranked if record.id in hits)
    return SearchResult(tuple(hits.values())[:most], *(("strong", 1.0) if about else ("weak", 0.5)))


def most_important(
    runtime: Runtime, scope: Scope, filters: RecordFilter, most: int, *, skip: int = 0
) -> list[MemoryRecord]:
    """The most important memories, ranked in memory: the record is not read for those that are not chosen.

    Args:
        runtime: the runtime.
        scope: whose.
        filters: which.
        most: how many.
        skip: how many more important ones to leave out.
    """
    runtime.uses.settle(scope.user)
    view = runtime.views.of(scope.user)
    if view is None:
        return []
    c, held = view.columns, replace(filters.without_stored(), kinds=("memory",))
    rows = np.flatnonzero(allowed_rows(runtime, scope, held, view))
    worth = importances(c.salience[rows], c.boost[rows], c.last_use[rows], to_micros(now()))
    docs: list[int] = c.doc[rows[np.lexsort((-rows, -worth))]].tolist()
    found: list[int] = []
    start, size = 0, most + skip
    while len(found) < most + skip and start < len(docs):
        among = set(runtime.store.matching(view.user, filters, page := docs[start : start + size]))
        found += [doc for doc in page if doc in among]
        start, size = start + size, 4 * size
    chosen = found[skip : skip + most]
    stored = runtime.store.fetch(view.user, chosen)
    return [value for doc in chosen if doc in stored and isinstance(value := stored[doc].value, MemoryRecord)]


_KEY, _PREFERENCE, _ABOUT, _OTHER, _SUMMARY = range(5)


def _rank(record: MemoryRecord, user: str) -> int:
    """What a memory says of the user, most telling first."""
    if PREFERENCE in record.metadata:
        return _KEY
    if record.category == SESSION_SUMMARY:
        return _SUMMARY
    name, speaker = user.casefold(), record.speaker and record.speaker.casefold()
    own = speaker in (None, name)
    if own and record.category == "preference":
        return _PREFERENCE
    words = bare_words(record.content)
    about = name in words or "user" in words[:2] or (own and in_first_person(record.content, words))
    return _ABOUT if about else _OTHER
