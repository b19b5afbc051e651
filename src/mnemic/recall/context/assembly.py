"""Assembles the context of a prompt from hits, or from the profile for a question about the user as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from mnemic.recall.context import packing
from mnemic.recall.context.packing import Background, Frame
from mnemic.recall.context.styles import StyledPrompt
from mnemic.recall.order import latest_statements, likeness
from mnemic.recall.results import hit_from, with_successors
from mnemic.recall.search import GRADES, allowed_rows, search
from mnemic.runtime.runtime import Runtime, is_counted
from mnemic.stores.sql.rows import importances
from mnemic.text.english import bare_words, in_first_person
from mnemic.text.terms import content_terms
from mnemic.text.values import now, to_micros
from mnemic.types import (
    Episode,
    Evidence,
    Hit,
    MemoryContext,
    MemoryRecord,
    Message,
    Procedure,
    Query,
    RecordFilter,
    Scope,
    SearchResult,
    Stored,
)
from mnemic.types.literals import PREFERENCE, SESSION_SUMMARY, UNTRUSTED

T = TypeVar("T")

READ = 500
"""Most important memories that are looked through for statements about the user."""

_QUESTION = re.compile(
    r"^\W*(?:(?:please|can you|could you|(?:tell|show|remind)(?: me)?|list|describe|summari[sz]e|what|which|who|are|is|do|did|"
    r"have|has|you|we|everything|anything|something|all|that|and|knows?|learn(?:ed|t)?|remember(?:ed)?|said|stored?|now|already)"
    r"\W+)*(?:about (?:me|myself)|of (?:me|myself)|i am|am i|me|(?:my )?(?:profile|settings|preferences))"
    r"(?:\W+(?:so far|already|now|currently))?\W*$",
    re.IGNORECASE,
)


def asks_for_profile(question: str) -> bool:
    """Whether a question is about the user as a whole."""
    return _QUESTION.search(question) is not None


def memory_hits(records: Iterable[MemoryRecord]) -> list[Hit]:
    """Memories as hits, scored by importance."""
    return [hit_from(Stored(kind="memory", value=m, status=m.status, project=m.project), m.importance) for m in records]


def preferences(runtime: Runtime, scope: Scope, filters: RecordFilter) -> list[MemoryRecord]:
    """The memories that hold the keys and values of ``memory.preferences``."""
    if "memory" not in filters.kinds:
        return []
    trusted = replace(filters, kinds=("memory",), min_trust=max(filters.min_trust or 0.0, UNTRUSTED))
    return [*runtime.store.relations.with_key(scope.user, PREFERENCE, trusted)]


def profile(runtime: Runtime, scope: Scope, filters: RecordFilter, most: int) -> SearchResult:
    """The user's preferences, then statements about the user, then other memories, each by importance.

    A memory that a later one updates ranks after it.

    The evidence is strong if there is one of the first two kinds, weak if there are only others, and none without memories.
    """
    if "memory" not in filters.kinds:
        return SearchResult()
    candidates = preferences(runtime, scope, filters)
    if filters.category is None:
        candidates += most_important(runtime, scope, replace(filters, category=("preference",)), most)
    candidates += most_important(runtime, scope, filters, max(READ, most))
    ranked = [(_rank(record, scope.user), -record.importance, record) for record in candidates]
    ranked.sort(key=lambda entry: entry[:2])
    left_out = {*filters.exclude, *_overridden(candidates, scope)}
    records = {record.id: record for *_, record in ranked if record.id not in left_out}
    if not records:
        return SearchResult()
    about = any(rank <= _ABOUT for rank, _, record in ranked if record.id in records)
    hits = memory_hits(_latest_first(runtime, scope, [*records.values()], most))[:most]
    return SearchResult(tuple(hits), *(("strong", 1.0) if about else ("weak", 0.5)))


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
    c, memory_filters = view.columns, replace(filters.without_stored(), kinds=("memory",))
    rows = np.flatnonzero(allowed_rows(runtime, scope, memory_filters, view))
    worth = importances(c.salience[rows], c.boost[rows], c.last_use[rows], to_micros(now()))
    docs: list[int] = c.doc[rows[np.lexsort((-rows, -worth))]].tolist()
    selected: list[int] = []
    start, size = 0, most + skip
    while len(selected) < most + skip and start < len(docs):
        matches = set(runtime.store.matching(view.user, filters, page := docs[start : start + size]))
        selected += [doc for doc in page if doc in matches]
        start, size = start + size, 4 * size
    chosen = selected[skip : skip + most]
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
    by_user = speaker in (None, name)
    if by_user and record.category == "preference":
        return _PREFERENCE
    words = bare_words(record.content)
    about = name in words or "user" in words[:2] or (by_user and in_first_person(record.content, words))
    return _ABOUT if about else _OTHER


RELEVANCE_LIMITS = (0.005, 0.05)
"""Lowest relevance of a hit, and of the best one, that is worth its tokens: on LoCoMo, 89.7 instead of 90.7 % of the
evidence in contexts of 1,000 tokens, with 755 tokens on average.
"""
MIN_HITS, MAX_HITS = 20, 400
"""Fewest and most hits requested for a context."""
USUAL_TOKENS, SHORT_TOKENS = 16, 8
"""Tokens of a usual hit and of a short one; if the first estimate does not fill the budget, the second is used."""
PREFERENCE_SHARE = 0.1
"""Share of the budget that preferences may take."""
PROCEDURE_SHARE = 0.2
"""Share of the budget that procedures may take."""
LATEST_SHARE = 1 / 3
"""Share of the budget that the latest messages may take at the start of a session, whatever else is known."""
RECENT = 10
"""Newest memories at the start of a session, session summaries among them."""


def hits_for(max_tokens: int, tokens: int = USUAL_TOKENS) -> int:
    """Hits that fill a budget."""
    return max(MIN_HITS, min(MAX_HITS, max_tokens // tokens))


def build_context(
    runtime: Runtime,
    scope: Scope,
    query: Query | None,
    *,
    filters: RecordFilter,
    max_tokens: int,
    procedures: Sequence[Procedure] = (),
) -> MemoryContext:
    """Search results packed into a budget; without a query, the start of a session.

    A query about the user in general ("what do you know about me?") gets a profile; one that names the key of a
    preference gets its value first. All other preferences stand before the evidence, and so do ``procedures``, each within a
    share of the budget.
    """
    preference_hits: list[Hit] = []
    trusted = filters if filters.min_trust is not None else replace(filters, min_trust=UNTRUSTED)
    frame = Frame(max_tokens, runtime.count_tokens, runtime.fence)
    if query is None:
        start = _session_start(runtime, scope, trusted, frame)
        result = SearchResult(start, "strong", 1.0) if start else SearchResult()
    elif asks_for_profile(query.text):
        result = _profile(runtime, scope, trusted, frame, query.min_evidence)
    else:
        result, preference_hits = _with_preferences(runtime, scope, query, search(runtime, scope, query), frame)
        frame = replace(frame, preferences=tuple(packing.preference_text(hit, frame) for hit in preference_hits))
    texts = [packing.procedure_text(procedure, frame) for procedure in procedures]
    frame = replace(frame, procedures=tuple(_fitting(texts, texts, frame, PROCEDURE_SHARE)))
    if query is not None and result.hits:  # a grade of nothing would only take room
        frame = replace(frame, evidence=result.evidence)
    frame = frame.reduced()
    preference_hits = preference_hits[: len(frame.preferences)]
    hits = packing.with_excerpts(result.hits, "" if query is None else query.text, frame)
    packed = packing.pack(hits, frame)
    draft = packed.context
    count, more = len(result.hits) + len(preference_hits), hits_for(max_tokens, SHORT_TOKENS)
    if query is not None and not draft.truncated and query.k <= count and query.k < more:
        return build_context(
            runtime, scope, replace(query, k=more), filters=filters, max_tokens=max_tokens, procedures=procedures
        )
    original = {hit.id: hit for hit in result.hits}
    shown = (*(original[hit.id] for hit in draft.hits), *preference_hits)
    if is_counted():
        runtime.delivered.note(scope, [hit.id for hit in shown])
    background = _background(runtime, scope, draft.hits, filters.known_at)
    prompt = packing.annotate(packed.lines, background, frame) if draft.hits else ""
    cut = any(hit.text != original[hit.id].text for hit in draft.hits)
    return replace(
        draft, truncated=draft.truncated or cut, hits=shown, found=result,
        memories=(*draft.memories, *map(packing.summary_of, preference_hits)), evidence=result.evidence,
        left_out=result.left_out + len(result.hits) - len(draft.hits), prompt=prompt,
        render=StyledPrompt(packed.lines, background, frame),
    )  # fmt: skip


def _with_preferences(
    runtime: Runtime, scope: Scope, query: Query, result: SearchResult, frame: Frame
) -> tuple[SearchResult, list[Hit]]:
    """The result with preferences that the query names first, and the preferences that stand before the evidence."""
    stored = preferences(runtime, scope, query.filters)
    if not stored:
        return result, []
    current = _current(stored, scope.project)
    named, others = _preferences_for(query, current)
    texts = [packing.preference_text(record, frame) for record in others]
    preference_hits = memory_hits(_fitting(others, texts, frame, PREFERENCE_SHARE))
    excluded = _overridden(stored, scope) | {hit.id for hit in preference_hits}
    hits = _distinct((*memory_hits(named), *result.hits), query.filters)
    return replace(result, hits=tuple(hit for hit in hits if hit.id not in excluded)), preference_hits


def _preferences_for(
    query: Query, preferences: Iterable[MemoryRecord]
) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    """The preferences whose key the query names, and the others."""
    query_words = set(content_terms(query.text))
    parts: tuple[list[MemoryRecord], list[MemoryRecord]] = [], []
    for record in preferences:
        terms = set(content_terms(str(record.metadata[PREFERENCE]).replace("_", " ").replace(".", " ")))
        parts[0 if terms and terms <= query_words else 1].append(record)
    return parts


def _current(preferences: Iterable[MemoryRecord], project: str | None) -> list[MemoryRecord]:
    """The preferences in force, the newest first: a project's replace the user's; those of other projects are left out."""
    in_scope = [record for record in preferences if record.project in (project, None)]
    by_key: dict[str, MemoryRecord] = {}
    for record in sorted(in_scope, key=lambda record: (record.project is None, -record.created_at.timestamp())):
        by_key.setdefault(record.metadata[PREFERENCE], record)
    return [*by_key.values()]


def _overridden(records: Iterable[MemoryRecord], scope: Scope) -> set[str]:
    """The ids of the preferences that are not in force: the user's where the project has its own, and other projects'."""
    stored = [record for record in records if PREFERENCE in record.metadata]
    return {record.id for record in stored} - {record.id for record in _current(stored, scope.project)}


def _fitting(items: Iterable[T], texts: Iterable[str], frame: Frame, share: float) -> list[T]:
    """The items whose texts, as lines, fit a share of the budget."""
    fitting, room = list[T](), frame.max_tokens * share
    for item, text in zip(items, texts, strict=True):
        cost = room + 1 if packing.cannot_fit(text, frame) else frame.count(f"- {text}\n")
        if cost <= room:
            fitting.append(item)
            room -= cost
    return fitting


def _profile(
    runtime: Runtime, scope: Scope, filters: RecordFilter, frame: Frame, min_evidence: Evidence
) -> SearchResult:
    """The profile; without memories the start of a session, which is weak evidence at most."""
    result = profile(runtime, scope, filters, max(10, frame.max_tokens // 20))
    if not result.hits and (hits := _session_start(runtime, scope, filters, frame)):
        result = SearchResult(hits, "weak", 0.5)
    return result if GRADES.index(result.evidence) >= GRADES.index(min_evidence) else replace(result, hits=())


def _distinct(hits: Iterable[Hit], filters: RecordFilter) -> tuple[Hit, ...]:
    return tuple({hit.id: hit for hit in hits if hit.id not in filters.exclude}.values())


def _background(runtime: Runtime, scope: Scope, hits: Sequence[Hit], known_at: int | None) -> Background:
    """The episodes and memories that the hits refer to, without ends that became known later."""
    memories = {id_ for hit in hits for id_ in hit.superseded_by} | {hit.id for hit in hits if hit.kind == "memory"}
    ids = memories | {hit.episode for hit in hits if hit.episode}
    if not ids:
        return Background()
    records = runtime.store.knowledge.records(scope.user, sorted(ids)).values()
    live = [record for record in records if not isinstance(record, Message) and record.status != "archived"]
    return Background(
        {record.id: record for record in live if isinstance(record, Episode)},
        {record.id: _as_known(record, known_at) for record in live if isinstance(record, MemoryRecord)},
        runtime.store.relations.predecessors(scope.user, sorted(memories)),
    )


def _as_known(record: MemoryRecord, known_at: int | None) -> MemoryRecord:
    """A memory without its end, if that became known later."""
    if known_at is None or record.expired_at is None or to_micros(record.expired_at) <= known_at:
        return record
    return replace(record, invalid_at=None, expired_at=None)


def _session_start(runtime: Runtime, scope: Scope, filters: RecordFilter, frame: Frame) -> tuple[Hit, ...]:
    """The start of a session: what persons said last within its share, preferences, memories, the other messages.

    Memories come by importance, then the newest ones, then session summaries, which repeat what was said. Messages of the same
    words stand once.
    """
    most = max(10, frame.max_tokens // 20)
    memories, messages = list[Hit](), list[Hit]()
    if "memory" in filters.kinds:
        important = most_important(runtime, scope, filters, max(READ, most))
        recent = runtime.store.list_memories(scope.user, filters, order="newest", limit=RECENT, offset=0)
        first = {record.id: record for record in (*important[:most], *recent)}
        rest = [record for record in important if record.id not in first]
        stored = preferences(runtime, scope, filters)
        memories = memory_hits(stored)
        chosen = _latest_first(runtime, scope, [*first.values(), *rest], len(first))
        memories += memory_hits(sorted(chosen, key=lambda record: record.category == SESSION_SUMMARY))
        overridden = _overridden(stored, scope)
        memories = [hit for hit in memories if hit.id not in overridden]
    if "message" in filters.kinds:
        messages = _without_repetitions(_latest_messages(runtime, scope, filters, most))
    latest = [hit for hit in messages if hit.role != "assistant"] or messages
    share = replace(frame, max_tokens=max(1, int(frame.max_tokens * LATEST_SHARE)))
    lines = [packing.line_of(hit, frame.fence) for hit in packing.with_excerpts(latest, "", share)]
    return _distinct((*_fitting(latest, lines, frame, LATEST_SHARE), *memories, *messages), filters)


def _without_repetitions(hits: Sequence[Hit]) -> list[Hit]:
    """Hits without those whose speaker says the same in one before."""
    by_text: dict[tuple[str | None, str], Hit] = {}
    for hit in hits:
        by_text.setdefault((hit.speaker, " ".join(hit.text.casefold().split())), hit)
    return [*by_text.values()]


def _latest_first(runtime: Runtime, scope: Scope, records: Sequence[MemoryRecord], most: int) -> list[MemoryRecord]:
    """The first memories, each after the later ones that update it."""
    docs = runtime.store.docs_of(scope.user, [record.id for record in records])
    view = runtime.views.of(scope.user)
    if view is None or not view.vectors.dimension:
        return [*records[:most]]
    rows = view.columns.rows_of([docs[record.id] for record in records if record.id in docs])
    if len(rows) < len(records):  # one was erased meanwhile
        return [*records[:most]]
    times = np.argsort(np.lexsort((rows, view.columns.time[rows])))
    texts = [record.content for record in records]
    order = latest_statements(texts, times, likeness(view, rows), view.model, most)
    return [records[index] for index in order]


def _latest_messages(runtime: Runtime, scope: Scope, filters: RecordFilter, most: int) -> list[Hit]:
    """The latest messages, newest first, without what was forgotten of them or has ended."""
    messages = runtime.store.list_messages(scope.user, filters, limit=most, newest=True)
    standings = runtime.store.relations.standing(scope.user, messages, filters)
    stored = [Stored(kind="message", value=s.message, status="short_term", project=None) for s in standings]
    hits = [hit_from(message, sequence=n) for n, message in enumerate(stored)]
    holds = {hit.id: standing.holds for hit, standing in zip(hits, standings, strict=True)}
    newest = {hit.id: hit for hit in reversed(hits)}
    view = runtime.views.of(scope.user)
    if view is None or not newest:
        return []
    return with_successors(runtime, view, newest, runtime.store.docs_of(scope.user, [*newest]), filters, holds)
