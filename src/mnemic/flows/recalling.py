"""The read path: query to hits, and hits to a context."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from mnemic import context, retrieval
from mnemic.errors import EmbedderUnavailable
from mnemic.flows.engine import Engine, View
from mnemic.indexes.catalog import STATUSES, Columns
from mnemic.indexes.vector import similarities
from mnemic.retrieval import HERE, Pool
from mnemic.text import bm25, cues
from mnemic.text.clock import from_micros
from mnemic.text.dates import Period, may_name_a_date, named_periods
from mnemic.text.render import searchable
from mnemic.text.terms import clean, index_terms, query_terms
from mnemic.types import Filters, Hit, MemoryContext, MemoryRecord, Message, Query, Scope, SearchResult, Stored

__all__ = ["recall", "search"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float32]

GRADES = ("none", "weak", "strong")

PAGE = 1_000
"""Candidates of each search on further pages, for those who ask for more hits than the first pool holds."""

RERANKED = 50
"""How many of the first hits a reranker reads, whatever k is."""

NEIGHBOURS_OF = 50
"""How many of each search's best bring their neighbouring turns into the pool."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A query as the searches see it: its terms, the corpus that gives statistics, both scores of every row."""

    query: Query
    terms: Sequence[str]
    corpus: NDArray[np.bool_]
    words: Floats
    meaning: Floats | None
    speakers: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Candidates in order, each with its score and the values behind it."""

    docs: NDArray[np.int64]
    vectors: Floats
    order: Rows
    scores: Floats
    signals: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.order)

    def doc(self, place: int) -> int:
        return int(self.docs[self.order[place]])

    def vector(self, place: int) -> Floats:
        return self.vectors[self.order[place]]

    def values(self, place: int) -> tuple[float, dict[str, float]]:
        i = self.order[place]
        return float(self.scores[i]), {name: float(value[i]) for name, value in self.signals.items()}


def search(engine: Engine, scope: Scope, query: Query) -> SearchResult:
    """Rank the records a query may see, and grade the result.

    The order does not depend on ``k``: pools have the same size for every k, and a longer list goes on with further ones.
    """
    text = clean(query.text)
    view = engine.view(scope.user)
    if view is None or not text.strip():
        return SearchResult()
    query = replace(query, text=text)
    result = (
        _widening(engine, scope, query, view) if query.filters.reach == "auto" else _ranked(engine, scope, query, view)
    )
    if GRADES.index(result.evidence) < GRADES.index(query.min_evidence):
        return replace(result, hits=())
    return result


def _widening(engine: Engine, scope: Scope, query: Query, view: View) -> SearchResult:
    """Session, then project, then everything, until there are k hits; the narrower ones come first."""
    hits: dict[str, Hit] = {}
    best = SearchResult()
    for reach in ("session", "project", "user"):
        if (reach == "session" and scope.session is None) or (reach == "project" and scope.project is None):
            continue
        result = _ranked(engine, scope, replace(query, filters=replace(query.filters, reach=reach)), view)
        best = max(best, result, key=_probability)
        for hit in result:
            hits.setdefault(hit.id, hit)
        if len(hits) >= query.k:
            break
    return replace(best, hits=tuple(hits.values())[: query.k])


def _probability(result: SearchResult) -> float:
    return result.probability


def _ranked(engine: Engine, scope: Scope, query: Query, view: View) -> SearchResult:
    allowed = _allowed(engine, scope, query.filters, view)
    vector = engine.embed_query(query.text, view)
    corpus = view.columns.corpus(query.filters.kinds)
    speakers = _named_speakers(view, query.text)
    terms = _terms(view, query.text)
    words = view.keyword.scores(view.columns, terms, corpus)
    meaning = None if vector is None else similarities(view.matrix, vector)
    if query.min_similarity is not None:
        if meaning is None:
            raise EmbedderUnavailable(
                "min_similarity compares vectors, and there are none: the embedder cannot be had at present. Search "
                "without it, or see the warning for how to get the embedder."
            )
        allowed &= meaning >= query.min_similarity
    question = _Question(query, terms, corpus, words, meaning, speakers)
    rows = _candidates(view, question, allowed, query.recipe.candidates)
    if not len(rows):
        return SearchResult()
    pool = _pool(view, question, rows)
    first = _ranking(view, question, pool)
    if engine.reranker is not None:
        first = _reranked(engine, view, query.text, first)
    grade = retrieval.grade(pool, first.order, model=engine.embedder.id if meaning is not None else None)
    hits = _hits(engine, view, query.k, itertools.chain([first], _further(view, question, allowed, rows)))
    return SearchResult(hits, grade.evidence, grade.probability)


def _ranking(view: View, question: _Question, pool: Pool) -> _Ranked:
    """A pool in order."""
    query, rows = question.query, pool.rows
    scores, signals = retrieval.score(pool, query.recipe, view.columns.group[rows], quality=query.quality)
    order = np.lexsort((rows, -scores))
    return _Ranked(view.columns.doc[rows], view.matrix[rows], order, scores, signals)


def _further(view: View, question: _Question, allowed: NDArray[np.bool_], taken: Rows) -> Iterator[_Ranked]:
    """What comes after the first pool, page by page, for those who ask for hundreds of hits.

    Pages have one size whatever k is: so a longer list begins with the shorter one.
    """
    allowed[taken] = False
    while len(rows := _candidates(view, question, allowed, PAGE)):
        yield _ranking(view, question, _pool(view, question, rows))
        allowed[rows] = False


def _allowed(engine: Engine, scope: Scope, filters: Filters, view: View) -> NDArray[np.bool_]:
    allowed = view.columns.mask(filters)
    if filters.tags is not None or filters.metadata:
        named = np.zeros(len(view.columns), np.bool_)
        named[view.columns.rows_of(sorted(engine.store.matching(view.user, filters)))] = True
        allowed &= named
    if filters.exclude:
        allowed[view.columns.rows_of(sorted(engine.store.docs_of(scope.user, filters.exclude).values()))] = False
    return allowed


def _candidates(view: View, question: _Question, allowed: NDArray[np.bool_], size: int) -> Rows:
    """The best of both searches with the turns around the very best; ascending."""
    best = [retrieval.top(question.words, allowed, size, above=0.0)]  # no word in common: nothing speaks for a row
    if question.meaning is not None:
        best.append(retrieval.top(question.meaning, allowed, size, above=-2.0))
    c = view.columns
    leaders = np.concatenate([rows[:NEIGHBOURS_OF] for rows in best])
    near = retrieval.neighbours(leaders, c.previous, c.following)[:, HERE - 2 : HERE + 3].ravel()
    near = near[near >= 0]
    return np.unique(np.concatenate([*best, near[allowed[near]]]))


def _pool(view: View, question: _Question, rows: Rows) -> Pool:
    """Everything the signals read, gathered in one pass over the postings of the query's terms."""
    query, corpus, meaning, speakers = question.query, question.corpus, question.meaning, question.speakers
    c = view.columns
    around = retrieval.neighbours(rows, c.previous, c.following)
    at = np.where(around >= 0, around, len(c))  # one row past the end stands for "no turn" and stays zero
    asked = _asked_periods(c, query)
    counts, in_session, idf = _counted(view, question, rows, at)
    dense = np.zeros(len(c) + 1, np.float32) if meaning is None else np.append(meaning, np.float32(0.0))
    asks = (np.append(c.traits, np.int32(0))[at[:, HERE - 1]] & cues.ASKS) > 0
    return Pool(
        rows=rows,
        dense=dense[rows],
        dense_before=dense[at[:, HERE - 1]] * asks,
        dense_session=_best_of_session(c, dense, corpus)[rows],
        bm25=question.words[rows],
        counts=counts,
        lengths=np.append(c.length, np.float32(0.0))[at],
        in_session=in_session,
        idf=idf,
        mean_length=c.mean_length(corpus),
        speaker=c.speaker[rows] == speakers[0] if len(speakers) == 1 else np.zeros(len(rows), np.bool_),
        traits=c.traits[rows],
        asked_for=cues.asked_for(query.text),
        days=c.day[rows],
        told=[c.told.get(doc, ()) for doc in c.doc[rows].tolist()] if asked else (),
        asked=asked,
        words=c.length[rows],
        times=c.time[rows],
        now=query.now,
        importance=c.importance[rows],
        long_term=(c.status[rows] == STATUSES["long_term"]).astype(np.float32),
        near=_near(c, query.filters, rows),
    )


def _counted(view: View, question: _Question, rows: Rows, at: Rows) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Occurrences of each term in the turns around each candidate, whether its conversation has it, and its idf."""
    c, terms, corpus = view.columns, question.terms, question.corpus
    counts = np.zeros((*at.shape, len(terms)), np.float32)
    in_session = np.zeros((len(rows), len(terms)), np.bool_)
    idf = np.zeros(len(terms), np.float32)
    documents = int(corpus.sum())
    buffer = np.zeros(len(c) + 1, np.float32)
    for t, term in enumerate(terms):
        found, occurrences = view.keyword.postings(c, term)
        inside = corpus[found]
        found, occurrences = found[inside], occurrences[inside]
        idf[t] = bm25.idf(documents, len(found)) / bm25.idf(documents, 0)
        buffer[found] = occurrences
        counts[:, :, t] = buffer[at]
        buffer[found] = 0.0
        sessions = np.zeros(c.groups, np.bool_)
        sessions[c.group[found]] = True
        sessions[0] = False  # no conversation
        in_session[:, t] = sessions[c.group[rows]]
    return counts, in_session, idf


def _best_of_session(c: Columns, dense: Floats, corpus: NDArray[np.bool_]) -> Floats:
    """For every row the highest cosine of what is live in its conversation; its own where it belongs to none."""
    best = np.full(c.groups, -1.0, np.float32)
    np.maximum.at(best, c.group, np.where(corpus, dense[:-1], np.float32(-1.0)))
    return np.where(c.group > 0, best[c.group], dense[:-1])


def _asked_periods(c: Columns, query: Query) -> list[Period]:
    """The periods the query names, seen from when it is asked."""
    try:
        today = from_micros(query.now).astimezone(query.zone).toordinal()
    except OverflowError:  # the edges of the calendar have no neighbours
        today = from_micros(query.now).toordinal()
    said = named_periods(query.text, today, ())
    if said or not may_name_a_date(query.text):
        return said
    years = sorted({date.fromordinal(int(day)).year for day in np.unique(c.day)})
    return named_periods(query.text, 1, [years[0] - 1, *years])


def _near(c: Columns, filters: Filters, rows: Rows) -> Floats:
    if filters.project is None:
        return np.zeros(len(rows), np.float32)
    return (c.project[rows] == c.names.project.get(filters.project)).astype(np.float32)


def _named_speakers(view: View, text: str) -> list[int]:
    """Codes of the speakers whose name (or first name) the query mentions."""
    said = set(index_terms(text))
    return [
        code for name, code in view.columns.names.speaker.items() if (words := index_terms(name)) and words[0] in said
    ]


def _terms(view: View, text: str) -> tuple[str, ...]:
    """The terms of the query; speakers' names say who is meant, not what was said, and are left to their own signal."""
    terms = query_terms(text)
    names = {term for name, _ in view.columns.names.speaker.items() for term in index_terms(name)}
    return tuple(term for term in terms if term not in names) or terms


def _reranked(engine: Engine, view: View, text: str, ranked: _Ranked) -> _Ranked:
    """The first hits in the order of the reranker, the others behind them as they were."""
    assert engine.reranker is not None
    order = ranked.order
    first = order[:RERANKED]
    docs = [ranked.doc(place) for place in range(len(first))]
    stored = engine.store.fetch(view.user, docs)
    texts = [searchable(stored[doc].value) if doc in stored else "" for doc in docs]
    scores = engine.reranker.scores(text, texts)
    values = np.full(len(order), scores.min(), np.float32)
    values[first] = scores
    again = first[np.argsort(-scores, kind="stable")]
    return replace(
        ranked, order=np.concatenate([again, order[RERANKED:]]), signals={**ranked.signals, "rerank": values}
    )


def _hits(engine: Engine, view: View, k: int, pages: Iterable[_Ranked]) -> tuple[Hit, ...]:
    """The first k hits: restatements folded, memories attached to the evidence that is already among them."""
    taken = retrieval.Folded()
    for page in pages:
        place = 0
        while len(taken.hits) < k and place < len(page):
            places = range(place, min(place + k - len(taken.hits), len(page)))
            stored = engine.store.fetch(view.user, [page.doc(p) for p in places])
            for p in places:
                if found := stored.get(page.doc(p)):  # gone when it was erased since the snapshot
                    sources = found.value.source_ids if isinstance(found.value, MemoryRecord) else ()
                    taken.take(_hit(found, *page.values(p)), page.vector(p), sources)
            place = places.stop
        if len(taken.hits) >= k:
            break
    return tuple(taken.hits.values())


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
    if query is None:
        result = SearchResult(_start(engine, scope, filters, max_tokens), "strong", 1.0)
    else:
        result = search(engine, scope, query)
    packed = context.pack(result.hits, max_tokens=max_tokens, count=engine.count_tokens, fence=engine.fence)
    return replace(packed, evidence=result.evidence if packed.hits else "none")


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
    return tuple(hit for hit in found if hit.id not in filters.exclude)
