"""The profile of a user: the answer to a question about the user as a whole, such as "What do you know about me?"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from mnemic.recall.folding import hit_from
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import UNTRUSTED
from mnemic.text.persons import bare_words, in_first_person
from mnemic.types import Hit, MemoryRecord, RecordFilter, Scope, SearchResult, Stored
from mnemic.types.literals import PREFERENCE, SESSION_SUMMARY

__all__ = ["asks_for_profile", "memory_hits", "preferences", "profile"]

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
        found += _by_importance(runtime, scope, replace(filters, category="preference"), most)
    found += _by_importance(runtime, scope, filters, max(READ, most))
    ranked = [(_rank(record, scope.user), -record.importance, record) for record in found]
    ranked.sort(key=lambda one: one[:2])
    hits = {hit.id: hit for hit in memory_hits(record for *_, record in ranked) if hit.id not in filters.exclude}
    if not hits:
        return SearchResult()
    about = any(rank <= _ABOUT for rank, _, record in ranked if record.id in hits)
    return SearchResult(tuple(hits.values())[:most], *(("strong", 1.0) if about else ("weak", 0.5)))


def _by_importance(runtime: Runtime, scope: Scope, filters: RecordFilter, most: int) -> list[MemoryRecord]:
    return [*runtime.store.list_memories(scope.user, filters, order="importance", limit=most, offset=0)]


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
