"""Assembles the context of a prompt from hits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mnemic.recall import context, hit_from
from mnemic.recall.context import Background, Frame, StyledPrompt
from mnemic.recall.context.packing import cannot_fit, preference_text, summary_of
from mnemic.recall.profile import asks_for_profile, memory_hits, most_important, preferences, profile
from mnemic.recall.search import GRADES, search
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import UNTRUSTED
from mnemic.text.terms import content_terms
from mnemic.types import (
    Episode,
    Evidence,
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

RELEVANCE_LIMITS = (0.005, 0.05)
"""Lowest relevance of a hit, and of the best one, that is worth its tokens: on LoCoMo, 89.1 instead of 90.7 % of the
evidence in contexts of 1,000 tokens, with 706 tokens on average.
"""
MIN_HITS, MAX_HITS = 20, 400
"""Fewest and most hits requested for a context."""
USUAL_TOKENS, SHORT_TOKENS = 16, 8
"""Tokens of a usual hit and of a short one; if the first estimate does not fill the budget, the second is used."""
PREFERENCE_SHARE = 0.1
"""Share of the budget that preferences may take."""
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
    preference gets its value first. All other preferences stand before the evidence, within a share of the budget.
    """
    standing: list[Hit] = []
    trusted = filters if filters.min_trust is not None else replace(filters, min_trust=UNTRUSTED)
    frame = Frame(max_tokens, runtime.count_tokens, runtime.fence)
    if query is None:
        result = SearchResult(_session_start(runtime, scope, trusted, max_tokens), "strong", 1.0)
    elif asks_for_profile(query.text):
        result = _profile(runtime, scope, trusted, max_tokens, query.min_evidence)
    else:
        result, standing = _with_preferences(runtime, scope, query, search(runtime, scope, query), frame)
        frame = replace(frame, preferences=tuple(preference_text(hit, frame) for hit in standing))
    if query is not None and result.hits:  # a grade of nothing would only take room
        frame = replace(frame, evidence=result.evidence)
    hits = result.hits if query is None else context.with_excerpts(result.hits, query.text, max_tokens)
    packed = context.pack(hits, frame)
    found = packed.context
    more = hits_for(max_tokens, SHORT_TOKENS)
    if query is not None and not found.truncated and query.k <= len(result.hits) + len(standing) and query.k < more:
        return build_context(runtime, scope, replace(query, k=more), filters=filters, max_tokens=max_tokens)
    original = {hit.id: hit for hit in result.hits}
    shown = (*(original[hit.id] for hit in found.hits), *standing)
    runtime.delivered.note(scope, [hit.id for hit in shown])
    background = _background(runtime, scope, found.hits)
    return replace(
        found, hits=shown, memories=(*found.memories, *map(summary_of, standing)), evidence=result.evidence,
        found=result, prompt=context.annotate(packed.lines, background, frame) if found.hits else "",
        render=StyledPrompt(packed.lines, background, frame),
    )  # fmt: skip


def _with_preferences(
    runtime: Runtime, scope: Scope, query: Query, result: SearchResult, frame: Frame
) -> tuple[SearchResult, list[Hit]]:
    """The result with preferences that the query names first, and the preferences that stand before the evidence."""
    held = preferences(runtime, scope, query.filters)
    if not held:
        return result, []
    current = _current(held, scope.project)
    named, others = _preferences_for(query, current)
    standing = memory_hits(_standing(others, frame))
    overridden = {record.id for record in held if record.project is None and record not in current}
    apart = overridden | {hit.id for hit in standing}
    found = _distinct((*memory_hits(named), *result.hits), query.filters)
    return replace(result, hits=tuple(hit for hit in found if hit.id not in apart)), standing


def _preferences_for(
    query: Query, preferences: Iterable[MemoryRecord]
) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    """The preferences whose key the query names, and the others."""
    query_words = set(content_terms(query.text))
    parts: tuple[list[MemoryRecord], list[MemoryRecord]] = [], []
    for record in preferences:
        terms = set(content_terms(str(record.metadata[KEY]).replace("_", " ").replace(".", " ")))
        parts[0 if terms and terms <= query_words else 1].append(record)
    return parts


def _current(preferences: Iterable[MemoryRecord], project: str | None) -> list[MemoryRecord]:
    """The preferences in force, the newest first: a project's replace the user's; those of other projects are left out."""
    own = [record for record in preferences if record.project in (project, None)]
    by_key: dict[str, MemoryRecord] = {}
    for record in sorted(own, key=lambda record: (record.project is None, -record.created_at.timestamp())):
        by_key.setdefault(record.metadata[KEY], record)
    return [*by_key.values()]


def _standing(preferences: Iterable[MemoryRecord], frame: Frame) -> list[MemoryRecord]:
    """The preferences that fit their share of the budget."""
    fitting, room = list[MemoryRecord](), frame.max_tokens * PREFERENCE_SHARE
    for record in preferences:
        cost = room + 1 if cannot_fit(record.content, frame) else frame.count(f"- {preference_text(record, frame)}\n")
        if cost <= room:
            fitting.append(record)
            room -= cost
    return fitting


def _profile(
    runtime: Runtime, scope: Scope, filters: RecordFilter, max_tokens: int, min_evidence: Evidence
) -> SearchResult:
    """The profile; without memories the start of a session, which is weak evidence at most."""
    found = profile(runtime, scope, filters, max(10, max_tokens // 20))
    if not found.hits and (hits := _session_start(runtime, scope, filters, max_tokens)):
        found = SearchResult(hits, "weak", 0.5)
    return found if GRADES.index(found.evidence) >= GRADES.index(min_evidence) else replace(found, hits=())


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
        found += memory_hits(preferences(runtime, scope, filters))
        found += memory_hits(most_important(runtime, scope, filters, most))
        recent = runtime.store.list_memories(scope.user, filters, order="newest", limit=RECENT, offset=0)
        found += memory_hits(recent)
    if "message" in filters.kinds:
        messages = runtime.store.list_messages(scope.user, filters, limit=most, newest=True)
        told = runtime.store.relations.without_forgotten(scope.user, messages, retracted=filters.known_at is None)
        found += [
            hit_from(Stored(kind="message", value=m, status="short_term", project=None), 0.0, {})
            for m in reversed([m if m.content else whole for m, whole in zip(told, messages, strict=True)])
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
