"""The read path: query to hits, and hits to a context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic import context, retrieval
from mnemic.errors import EmbedderUnavailable
from mnemic.flows.engine import Engine, View
from mnemic.indexes.vector import similarities
from mnemic.retrieval.pool import Pool
from mnemic.text import bm25
from mnemic.text.terms import clean, index_terms, query_terms
from mnemic.types import Filters, Hit, MemoryContext, MemoryRecord, Message, Query, Scope, SearchResult, Stored

__all__ = ["recall", "search"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float32]

NEIGHBOURS_OF = 50
"""How many of each search's best bring their neighbouring turns into the pool."""


def search(engine: Engine, scope: Scope, query: Query) -> SearchResult:
    """Rank the records a query may see.

    The order does not depend on ``k``: the pool is the same for every k up to its size, and a longer list goes on with
    the rest in the order of the two searches.
    """
    text = clean(query.text)
    view = engine.view(scope.user)
    if view is None or not text.strip():
        return SearchResult()
    if query.filters.reach == "auto":
        return _widening(engine, scope, query)
    return SearchResult(_ranked(engine, replace(query, text=text), view))


def _widening(engine: Engine, scope: Scope, query: Query) -> SearchResult:
    """Session, then project, then everything, until there are k hits; the narrower ones come first."""
    hits: dict[str, Hit] = {}
    for reach in ("session", "project", "user"):
        if (reach == "session" and scope.session is None) or (reach == "project" and scope.project is None):
            continue
        narrowed = replace(query, filters=replace(query.filters, reach=reach))
        for hit in search(engine, scope, narrowed):
            hits.setdefault(hit.id, hit)
        if len(hits) >= query.k:
            break
    return SearchResult(tuple(hits.values())[: query.k])


def _ranked(engine: Engine, query: Query, view: View) -> tuple[Hit, ...]:
    allowed = _allowed(engine, query.filters, view)
    vector = engine.embed_query(query.text, view)
    terms = query_terms(query.text)
    corpus = view.columns.corpus(query.filters.kinds)
    words = view.keyword.scores(view.columns, terms, corpus)
    meaning = None if vector is None else similarities(view.matrix, vector)
    if query.min_similarity is not None:
        if meaning is None:
            raise EmbedderUnavailable(
                "min_similarity compares vectors, and there are none: the embedder cannot be had at present. Search "
                "without it, or see the warning for how to get the embedder."
            )
        allowed &= meaning >= query.min_similarity
    rows = _candidates(view, words, meaning, allowed, query)
    if not len(rows):
        return ()
    pool = _pool(view, query, rows, terms, corpus, meaning)
    score, signals = retrieval.score(pool, query.recipe)
    order = np.lexsort((rows, -score))
    ranked = [
        (int(rows[i]), float(score[i]), {name: float(v[i]) for name, v in signals.items()})
        for i in order[: query.k * 2 + 20]
    ]
    return _hits(engine, view, query, ranked)


def _allowed(engine: Engine, filters: Filters, view: View) -> NDArray[np.bool_]:
    allowed = view.columns.mask(filters)
    if filters.tags is not None or filters.metadata:
        named = np.zeros(len(view.columns), np.bool_)
        named[view.columns.rows_of(sorted(engine.store.matching(view.user, filters)))] = True
        allowed &= named
    return allowed


def _candidates(view: View, words: Floats, meaning: Floats | None, allowed: NDArray[np.bool_], query: Query) -> Rows:
    """The best of both searches with the turns around the very best; ascending."""
    size = max(query.recipe.candidates, query.k)
    best = [retrieval.top(words, allowed, size, above=0.0)]  # no word in common: nothing speaks for a row
    if meaning is not None:
        best.append(retrieval.top(meaning, allowed, size, above=-2.0))
    c = view.columns
    near = retrieval.neighbours(
        np.concatenate([rows[:NEIGHBOURS_OF] for rows in best]), c.previous, c.following
    ).ravel()
    near = near[near >= 0]
    return np.unique(np.concatenate([*best, near[allowed[near]]]))


def _pool(
    view: View, query: Query, rows: Rows, terms: Sequence[str], corpus: NDArray[np.bool_], meaning: Floats | None
) -> Pool:
    """Everything the signals read, gathered in one pass over the postings of the query's terms."""
    c, size = view.columns, len(view.columns)
    around = retrieval.neighbours(rows, c.previous, c.following)
    at = np.where(around >= 0, around, size)  # one row past the end stands for "no turn" and stays zero
    counts = np.zeros((*at.shape, len(terms)), np.float32)
    session_counts = np.zeros((len(rows), len(terms)), np.float32)
    buffer = np.zeros(size + 1, np.float32)
    documents, idf = int(corpus.sum()), np.zeros(len(terms), np.float32)
    live = corpus & (c.group > 0)
    for t, term in enumerate(terms):
        found, occurrences = view.keyword.postings(c, term)
        inside = corpus[found]
        found, occurrences = found[inside], occurrences[inside]
        idf[t] = bm25.idf(documents, len(found))
        buffer[found] = occurrences
        counts[:, :, t] = buffer[at]
        buffer[found] = 0.0
        session_counts[:, t] = np.bincount(c.group[found], occurrences, minlength=c.groups)[c.group[rows]]
    lengths = np.append(c.length, np.float32(0.0))[at]
    session_lengths = np.bincount(c.group[live], c.length[live], minlength=c.groups).astype(np.float32)
    sessions = session_lengths[session_lengths > 0]
    return Pool(
        rows=rows,
        around=around,
        dense=np.zeros(at.shape, np.float32) if meaning is None else np.append(meaning, np.float32(0.0))[at],
        counts=counts,
        lengths=lengths,
        mean_length=float(c.length[corpus].mean()) if documents else 1.0,
        idf=idf,
        session_counts=session_counts,
        session_lengths=session_lengths[c.group[rows]],
        session_mean=float(sessions.mean()) if len(sessions) else 1.0,
        speaker=np.isin(c.speaker[rows], _speakers(view, query.text)),
        traits=c.traits[rows],
        times=c.time[rows],
        importance=c.importance[rows],
        status=c.status[rows],
        kind=c.kind[rows],
        near=_near(view, query.filters)[rows],
        query=query.text,
        now=query.now,
    )


def _near(view: View, filters: Filters) -> Floats:
    if filters.project is None:
        return np.zeros(len(view.columns), np.float32)
    return (view.columns.project == view.columns.names.get(("project", filters.project))).astype(np.float32)


def _speakers(view: View, text: str) -> list[int]:
    """Codes of the speakers whose name (or first name) the query mentions."""
    said = set(index_terms(text))
    found: list[int] = []
    for name, code in view.columns.names.of_kind("speaker"):
        words = index_terms(name)
        if words and words[0] in said:
            found.append(code)
    return found


def _hits(
    engine: Engine, view: View, query: Query, ranked: Sequence[tuple[int, float, dict[str, float]]]
) -> tuple[Hit, ...]:
    """The records behind the ranked rows, memories attached to the evidence that is already there."""
    docs = [int(view.columns.doc[row]) for row, *_ in ranked]
    stored = engine.store.fetch(view.user, docs)
    hits: dict[str, Hit] = {}
    for doc, (_, score, scores) in zip(docs, ranked, strict=True):
        if doc not in stored or len(hits) >= query.k:
            continue
        hit = _hit(stored[doc], score, scores)
        value = stored[doc].value
        carriers = (
            [hits[source] for source in value.source_ids if source in hits] if isinstance(value, MemoryRecord) else []
        )
        if carriers and len(carriers) == len(getattr(value, "source_ids", ())):
            hits[carriers[0].id] = replace(carriers[0], via=(*carriers[0].via, hit.id))
        else:
            hits[hit.id] = hit
    return tuple(hits.values())


def _hit(stored: Stored, score: float, scores: dict[str, float]) -> Hit:
    value = stored.value
    if isinstance(value, Message):
        assert value.id is not None
        return Hit(
            id=value.id, kind="message", text=value.content, score=score, scores=scores, message_ids=(value.id,),
            session=value.session, project=stored.project, role=value.role, speaker=value.name or value.role,
            sent_at=value.sent_at, status=stored.status, metadata=value.metadata,
        )  # fmt: skip
    return Hit(
        id=value.id, kind="memory", text=value.content, score=score, scores=scores, session=value.session,
        project=value.project, sent_at=value.created_at, valid_at=value.valid_at, status=value.status, type=value.type,
        importance=value.importance, summary=value.summary, tags=value.tags, metadata=value.metadata,
    )  # fmt: skip


def recall(engine: Engine, scope: Scope, query: Query | None, *, filters: Filters, max_tokens: int) -> MemoryContext:
    """What is found for a query, packed into a budget; without a query, what a new session should know."""
    hits = _start(engine, scope, filters, max_tokens) if query is None else search(engine, scope, query).hits
    return context.pack(hits, max_tokens=max_tokens, count=engine.count_tokens, fence=engine.fence)


def _start(engine: Engine, scope: Scope, filters: Filters, max_tokens: int) -> tuple[Hit, ...]:
    """The start of a session: memories by importance, then the latest messages."""
    most = max(10, max_tokens // 20)
    found: list[Hit] = []
    if "memory" in filters.kinds:
        memories = engine.store.list_memories(scope.user, filters, order="importance", limit=most, offset=0)
        found += [
            _hit(Stored(kind="memory", value=m, status=m.status, project=m.project), m.importance, {}) for m in memories
        ]
    if "message" in filters.kinds and filters.types is None and filters.tags is None:
        messages = engine.store.list_messages(scope.user, filters, limit=most, newest=True)
        found += [
            _hit(Stored(kind="message", value=m, status="short_term", project=None), 0.0, {})
            for m in reversed(messages)
        ]
    return tuple(found)
