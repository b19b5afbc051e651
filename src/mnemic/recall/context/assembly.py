"""Assembles the context of a prompt from hits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from mnemic.recall import context, hit_from
from mnemic.recall.context import Background
from mnemic.recall.search import allowed_rows, search
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import UNTRUSTED
from mnemic.stores.sql.importance import importances
from mnemic.text.clock import now, to_micros
from mnemic.text.terms import content_terms
from mnemic.types import (
    Episode,
    Hit,
    MemoryContext,
    MemoryRecord,
    Message,
    Query,
    RecordFilter,
    Scope,
    SearchResult,
    Stored,
)
from mnemic.types.literals import PREFERENCE as KEY

__all__ = ["build_context", "hits_for"]

MIN_HITS, MAX_HITS = 20, 400
"""Fewest and most hits requested for a context."""
USUAL_TOKENS, SHORT_TOKENS = 16, 8
"""Tokens of a usual hit and of a short one; if the first estimate does not fill the budget, the second is used."""
RECENT = 10
"""Newest memories at the start of a session, session summaries among them."""


def hits_for(max_tokens: int, tokens: int = USUAL_TOKENS) -> int:
    """Hits that fill a budget."""
    return max(MIN_HITS, min(MAX_HITS, max_tokens // tokens))


def build_context(
    runtime: Runtime, scope: Scope, query: Query | None, *, filters: RecordFilter, max_tokens: int
) -> MemoryContext:
    """Search results packed into a budget; without a query, the start of a session.

    A query about the user in general ("what do you know about me?") gets a profile; one that names the key of a
    preference gets its value first.
    """
    trusted = filters if filters.min_trust is not None else replace(filters, min_trust=UNTRUSTED)
    if query is None:
        result = SearchResult(_session_start(runtime, scope, trusted, max_tokens), "strong", 1.0)
    elif _PROFILE_QUERY.search(query.text):
        result = SearchResult(_profile(runtime, scope, trusted, max_tokens), "strong", 1.0)
    else:
        result = _with_preferences(runtime, scope, query, search(runtime, scope, query))
    hits = result.hits if query is None else context.with_excerpts(result.hits, query.text, max_tokens)
    grade = None if query is None else result.evidence  # no query, no grade
    packed = context.pack(hits, max_tokens=max_tokens, count=runtime.count_tokens, fence=runtime.fence, evidence=grade)
    found = packed.context
    more = hits_for(max_tokens, SHORT_TOKENS)
    if query is not None and not found.truncated and query.k <= len(result.hits) and query.k < more:
        return build_context(runtime, scope, replace(query, k=more), filters=filters, max_tokens=max_tokens)
    runtime.delivered.note(scope, [hit.id for hit in found.hits])
    if not found.hits:
        return found
    prompt = context.annotate(
        packed.lines, _background(runtime, scope, found.hits), max_tokens=max_tokens, count=runtime.count_tokens,
        fence=runtime.fence, evidence=grade,
    )  # fmt: skip
    original = {hit.id: hit for hit in result.hits}
    return replace(found, hits=tuple(original[hit.id] for hit in found.hits), evidence=result.evidence, prompt=prompt)


_PROFILE_QUERY = re.compile(
    r"^\W*(?:(?:what|who|tell|everything|anything|all|remind|summar\w+|describe|show).{0,40}\b(?:about me|know of me|i am|am i|"
    r"my profile)\b|about me|my profile|profile|who am i)\W*$",
    re.IGNORECASE,
)


def _memory_hits(records: Iterable[MemoryRecord]) -> list[Hit]:
    return [
        hit_from(Stored(kind="memory", value=m, status=m.status, project=m.project), m.importance, {}) for m in records
    ]


def _preferences(runtime: Runtime, scope: Scope, filters: RecordFilter) -> list[MemoryRecord]:
    if "memory" not in filters.kinds:
        return []
    return runtime.store.relations.with_key(
        scope.user, KEY, replace(filters, kinds=("memory",), min_trust=max(filters.min_trust or 0.0, UNTRUSTED))
    )


def _with_preferences(runtime: Runtime, scope: Scope, query: Query, result: SearchResult) -> SearchResult:
    """Put preferences whose key the query names first."""
    query_words = set(content_terms(query.text))
    named = [
        record
        for record in _preferences(runtime, scope, query.filters) if query_words
        and (terms := set(content_terms(str(record.metadata[KEY]).replace("_", " ").replace(".", " "))))
        and terms <= query_words
    ]  # fmt: skip
    if not named:
        return result
    first = {hit.id: hit for hit in _memory_hits(named)}
    return replace(result, hits=(*first.values(), *(hit for hit in result.hits if hit.id not in first)))


def _profile(runtime: Runtime, scope: Scope, filters: RecordFilter, max_tokens: int) -> tuple[Hit, ...]:
    """The profile of the user: preferences, then memories by importance."""
    found = _memory_hits(_preferences(runtime, scope, filters))
    most = max(10, max_tokens // 20)
    found += _memory_hits(_most_important(runtime, scope, filters, most))
    return _distinct(found, filters) or _session_start(runtime, scope, filters, max_tokens)


def _most_important(runtime: Runtime, scope: Scope, filters: RecordFilter, most: int) -> Sequence[MemoryRecord]:
    """The most important memories, ranked in memory: the record is not read for those that are not chosen."""
    runtime.uses.settle(scope.user)
    view = runtime.views.of(scope.user)
    if view is None:
        return []
    c, held = view.columns, replace(filters.without_stored(), kinds=("memory",))
    rows = np.flatnonzero(allowed_rows(runtime, scope, held, view))
    worth = importances(c.salience[rows], c.boost[rows], c.last_use[rows], to_micros(now()))
    docs: list[int] = c.doc[rows[np.lexsort((-rows, -worth))]].tolist()
    found: list[MemoryRecord] = []
    for start in range(0, len(docs), most):
        page = docs[start : start + most]
        stored = runtime.store.fetch(view.user, runtime.store.matching(view.user, filters, page))
        found += [value for doc in page if doc in stored and isinstance(value := stored[doc].value, MemoryRecord)]
        if len(found) >= most:
            break
    return found[:most]


def _distinct(hits: Iterable[Hit], filters: RecordFilter) -> tuple[Hit, ...]:
    return tuple({hit.id: hit for hit in hits if hit.id not in filters.exclude}.values())


def _background(runtime: Runtime, scope: Scope, hits: Sequence[Hit]) -> Background:
    """The episodes and memories that the hits refer to."""
    memories = {id_ for hit in hits for id_ in hit.superseded_by} | {hit.id for hit in hits if hit.kind == "memory"}
    wanted = memories | {hit.episode for hit in hits if hit.episode}
    if not wanted:
        return Background()
    found = runtime.store.knowledge.records(scope.user, sorted(wanted)).values()
    live = [record for record in found if not isinstance(record, Message) and record.status != "archived"]
    return Background(
        {record.id: record for record in live if isinstance(record, Episode)},
        {record.id: record for record in live if isinstance(record, MemoryRecord)},
        runtime.store.relations.predecessors(scope.user, sorted(memories)),
    )


def _session_start(runtime: Runtime, scope: Scope, filters: RecordFilter, max_tokens: int) -> tuple[Hit, ...]:
    """The start of a session: preferences, memories by importance, recent session summaries, the latest messages."""
    most = max(10, max_tokens // 20)
    found: list[Hit] = []
    if "memory" in filters.kinds:
        found += _memory_hits(_preferences(runtime, scope, filters))
        found += _memory_hits(_most_important(runtime, scope, filters, most))
        recent = runtime.store.list_memories(scope.user, filters, order="newest", limit=RECENT, offset=0)
        found += _memory_hits(recent)
    if "message" in filters.kinds:
        messages = runtime.store.list_messages(scope.user, filters, limit=most, newest=True)
        found += [
            hit_from(Stored(kind="message", value=m, status="short_term", project=None), 0.0, {})
            for m in reversed(messages)
        ]
        found = _mark_superseded(runtime, scope, found, filters)
    return _distinct(found, filters)


def _mark_superseded(runtime: Runtime, scope: Scope, hits: Sequence[Hit], filters: RecordFilter) -> list[Hit]:
    """Set ``superseded_by`` on messages whose content a later memory superseded."""
    message_ids = [hit.id for hit in hits if hit.kind == "message"]
    view = runtime.views.of(scope.user) if message_ids else None
    if view is None or not view.columns.validity.successors:
        return list(hits)
    validity = view.columns.validity
    docs = runtime.store.docs_of(scope.user, message_ids)
    later = {id_: validity.superseding(doc, filters.at, filters.known_at) for id_, doc in docs.items()}
    ids = runtime.store.relations.ids(view.user, sorted({doc for docs in later.values() for doc in docs}))
    named = {id_: tuple(ids[doc] for doc in docs if doc in ids) for id_, docs in later.items()}
    return [replace(hit, superseded_by=named[hit.id]) if named.get(hit.id) else hit for hit in hits]
