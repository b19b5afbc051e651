"""Search: query to hits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.emotion import estimate
from mnemic.errors import EmbedderError, EmbedderUnavailable, MnemicError, StoreError
from mnemic.indexes.catalog import STATUSES
from mnemic.indexes.vector.exact import Cosines, compared
from mnemic.protocols import Reranker
from mnemic.recall import evidence, recipes
from mnemic.recall.candidates import (
    TURNS,
    AnalysedQuery,
    Pool,
    analyse_query,
    blend_turns,
    build_pool,
    candidates,
    turn_weight,
    without_terms,
)
from mnemic.recall.context.packing import Frame
from mnemic.recall.context.styles import render_hits
from mnemic.recall.evidence import cap_at_weak, need, relevances
from mnemic.recall.graph import proximities
from mnemic.recall.order import by_recency, distant_updates, named_first
from mnemic.recall.query import MAX_TOKENS
from mnemic.recall.recipes import quality_unit
from mnemic.recall.results import (
    HitCollector,
    Provenance,
    Visibility,
    as_relevant,
    current_first,
    descending_scores,
    doubtful_last,
    hit_from,
    replies,
    visibility,
    with_successors,
)
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.text.differences import CUT
from mnemic.text.english import REPLY, bare_words, is_english, mostly_english
from mnemic.text.sentences import passages as passages_of
from mnemic.text.terms import analyse, clean, content_terms
from mnemic.text.values import now, to_micros
from mnemic.types import (
    Emotion,
    Hit,
    MemoryRecord,
    Message,
    Query,
    Record,
    RecordFilter,
    Scope,
    SearchResult,
    Stored,
    searchable,
)
from mnemic.types.records import is_trusted
from mnemic.vectors import DEFAULT_MODELS, Floats, Mask, Rows, ascending

GRADES = ("none", "weak", "strong")

PAGE = 1_000
"""Candidates of each search on further pages, when more hits are requested than the first pool holds."""

GRAPH_WEIGHT = 3.0
"""Weight of the graph signal with ``expand_links``, in recipes without one."""

READ_CHARS = 1_000
"""Characters read of a previous turn."""

EMBEDDED = 20
"""Messages with a forgotten sentence of which a search embeds what is shown."""
LONG_TERMS = 60
"""Fewest content terms of a text that may have passages."""
SEARCHED = 50
"""Long texts of a search whose passages are compared."""
EASE = 0.15
"""What the cosine of a passage loses to that of a whole text: of many, one is near by chance."""

RERANKED = 50
"""First hits that a reranker reads, whatever k is."""

DECIDES = 2.0
"""Times its weight that a given mood counts among answers that are equally good, so that it decides between them."""
MOOD_TURNS, MOOD_TURNS_READ = 5, 50
"""Turns of the user that make up the mood of a session, and turns of people among which they are looked for."""
IMPLICIT_WEIGHT = 0.2
"""Weight of a mood inferred from the query or the session, relative to one given by the caller."""

INTERJECTION = 8
"""Characters of a text in Latin letters that counts as English: "lol"."""
LANGUAGE_SAMPLE = 200
"""Latest messages of which the language is detected; the warning is not given twice."""

_LANGUAGE_SUBJECT = "The embedder does not know the language"
_LANGUAGE_ADVICE = (
    "most of the latest messages are not English, the only one that {model} knows. They are found by their words, and no "
    'result is graded strong. Open the memory with embedder="multilingual" and call memory.admin.reembed() once. This '
    "warning is given once per record."
)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Ranked candidates with their scores and signal values; ``passages``: the number of the nearest one, by row."""

    rows: Rows
    docs: NDArray[np.int64]
    vectors: Floats
    order: Rows
    scores: Floats
    signals: Mapping[str, Floats]
    parts: Mapping[str, Floats]
    relevance: Floats
    passages: Mapping[int, int] = field(default_factory=dict[int, int])

    def __len__(self) -> int:
        return len(self.order)

    def doc(self, rank: int) -> int:
        return int(self.docs[self.order[rank]])

    def vector(self, rank: int) -> Floats:
        return self.vectors[self.order[rank]]

    def hit(self, rank: int, stored: Stored) -> Hit:
        position = self.order[rank]
        signals = {name: float(value[position]) for name, value in self.signals.items()}
        parts = {name: float(value[position]) for name, value in self.parts.items() if value[position]}
        row = int(self.rows[position])
        score, relevance = float(self.scores[position]), float(self.relevance[position])
        hit = hit_from(stored, score, relevance=relevance, scores=signals, contributions=parts, sequence=row)
        return hit if row not in self.passages else replace(hit, passage=_passage(hit.text, self.passages[row]))


class _Reader:
    """Reads the records of a user for one search, each once."""

    def __init__(self, runtime: Runtime, view: View) -> None:
        self.view = view
        self._store = runtime.store
        self._records: dict[int, Stored] = {}

    def __call__(self, docs: Sequence[int]) -> dict[int, Stored]:
        """Records by doc; erased ones are left out."""
        if unread := [doc for doc in docs if doc not in self._records]:
            self._records |= self._store.fetch(self.view.user, unread)
        return {doc: self._records[doc] for doc in docs if doc in self._records}


@dataclass(frozen=True, slots=True)
class _EmbeddedQuery:
    """A query with its alternative wordings, the vectors of all, and its need of memory."""

    query: Query
    wordings: Sequence[str]
    vectors: Sequence[Floats]
    need: float


def search(runtime: Runtime, scope: Scope, query: Query) -> SearchResult:
    """Rank the visible records and grade the result.

    The order does not depend on ``k``: pools have the same size for every k, and longer lists continue with further
    pools.
    """
    with runtime.gate.search():
        result = _search(runtime, scope, query)
    return replace(result, render=partial(render_hits, Frame(MAX_TOKENS, runtime.count_tokens, runtime.fence)))


def _search(runtime: Runtime, scope: Scope, query: Query) -> SearchResult:
    text = clean(query.text)
    view = runtime.views.of(scope.user)
    if view is None or not text.strip():
        return SearchResult()
    query = replace(query, text=runtime.secrets.redacted(text)[0])
    if isinstance(query.mood, str) and query.mood != "session":
        query = replace(query, mood=mood_of(runtime, query.mood))
    embedded_query = _embed(runtime, query, view)
    result = (_widening_search if query.filters.reach == "auto" else _search_reach)(
        runtime, scope, embedded_query, view
    )
    texts = (query.text, *(hit.text for hit in result.hits[:1]))
    if runtime.indexer.embedder.id in DEFAULT_MODELS and not all(map(is_english, texts)):
        warn_of_other_languages(runtime, scope.user)
        graded = cap_at_weak(result.evidence, result.probability)
        result = replace(result, evidence=graded.evidence, probability=graded.probability)
    if GRADES.index(result.evidence) < GRADES.index(query.min_evidence):
        return replace(result, hits=())
    return replace(result, hits=descending_scores(result.hits, result.probability))


def _embed(runtime: Runtime, query: Query, view: View) -> _EmbeddedQuery:
    """The vectors of all wordings, the first blended with the previous turns; none without an embedder."""

    def embed(texts: Iterable[str]) -> list[Floats]:
        return [
            vector
            for text in texts
            if (vector := runtime.indexer.query(text, view.model, view.vectors.dimension)) is not None
        ]

    wordings = _other_wordings(runtime, query)
    vectors = embed((query.text, *wordings))
    memory_need = need(vectors[0], view.model) if vectors and _is_read_for_need(query.text, view.model) else 0.0
    share = turn_weight(len(content_terms(query.text))) if query.recent else 0.0
    if vectors and share and (before := embed(text[:READ_CHARS] for text in query.recent[-TURNS:] if text.strip())):
        vectors[0] = blend_turns(vectors[0], before, share)
    return _EmbeddedQuery(query, wordings, vectors, memory_need)


def _is_read_for_need(text: str, model: str | None) -> bool:
    """Whether the weights of ``need`` hold for a text: those of the default embedder, for English."""
    return model in DEFAULT_MODELS and ((text.isascii() and len(text) <= INTERJECTION) or is_english(text))


def _widening_search(runtime: Runtime, scope: Scope, embedded_query: _EmbeddedQuery, view: View) -> SearchResult:
    """Search session, then project, then user, until there are k hits; narrower levels come first, but for what has ended."""
    query = embedded_query.query
    hits: dict[str, Hit] = {}
    best = SearchResult()
    for reach in ("session", "project", "user"):
        if (reach == "session" and scope.session is None) or (reach == "project" and scope.project is None):
            continue
        narrowed = replace(query, filters=replace(query.filters, reach=reach))
        result = _search_reach(runtime, scope, replace(embedded_query, query=narrowed), view)
        best = max(best, result, key=lambda result: result.probability)
        for hit in result:
            hits.setdefault(hit.id, hit)
        if len(hits) >= query.k:
            break
    merged = tuple(hits.values())
    indexes = {hit.id: index for index, hit in enumerate(merged)}
    successors = {indexes[hit.id]: [indexes[id_] for id_ in hit.superseded_by if id_ in indexes] for hit in merged}
    order: list[int] = current_first(np.arange(len(merged)), successors).tolist()
    return replace(best, hits=tuple(merged[index] for index in order[: query.k]))


def _search_reach(runtime: Runtime, scope: Scope, embedded_query: _EmbeddedQuery, view: View) -> SearchResult:
    read = _Reader(runtime, view)
    query, vectors = embedded_query.query, embedded_query.vectors
    with runtime.gate.turn():
        allowed = allowed_rows(runtime, scope, query.filters, view)
        cosines = view.vectors.cosines(vectors) if vectors else None
        if cosines is not None:
            cosines.settle(allowed)
        passages = _nearest_passages(runtime, view, allowed, cosines, vectors)
        question = analyse_query(view, query, cosines, embedded_query.wordings, embedded_query.need)
    # Between the turns, because a model may take long: embedding what is left of messages, and reranking.
    question = _without_forgotten(runtime, scope.user, read, question, allowed, vectors)
    with runtime.gate.turn():
        similar = _similar_rows(view, question, allowed, passages, vectors)
        first_pool = _first_pool(runtime, scope, read, question, similar, passages)
        if first_pool is None or runtime.reranker is None:
            return SearchResult() if first_pool is None else _result(runtime, scope, embedded_query, read, first_pool)
    first_pool = replace(first_pool, first=_rerank(runtime.reranker, read, embedded_query.query.text, first_pool.first))
    with runtime.gate.turn():
        return _result(runtime, scope, embedded_query, read, first_pool)


_Passages = Mapping[int, tuple[int, float]]
"""By row the number of the nearest passage of a long text, and its cosine less ``EASE``."""


@dataclass(frozen=True, slots=True)
class _FirstPool:
    """The ranked first pool of a search, with what the result needs; ``later``: rows of distant updates, by row."""

    question: AnalysedQuery
    visible_records: Visibility
    provenance: Provenance
    pool: Pool
    first: _Ranked
    model: str | None
    later: Mapping[int, Sequence[int]]


def _similar_rows(
    view: View, question: AnalysedQuery, allowed: Mask, passages: _Passages, vectors: Sequence[Floats]
) -> Mask:
    """The allowed rows of which the cosine is at least ``min_similarity``."""
    least, cosines = question.query.min_similarity, question.cosines
    if least is None:
        return allowed
    if cosines is None:
        raise EmbedderUnavailable(
            "min_similarity compares vectors, and the embedder is unavailable. Search without it, or see the "
            "warning for how to get the embedder."
        )
    if view.vectors.centre is not None:
        cosines = view.vectors.cosines(vectors, plain=True)
        cosines.settle(allowed)
    similar = cosines.values >= least
    if view.vectors.centre is None:  # else the cosines of passages are of another scale
        similar[[row for row, (_, cosine) in passages.items() if cosine >= least]] = True
    return allowed & similar


def _first_pool(
    runtime: Runtime, scope: Scope, read: _Reader, question: AnalysedQuery, similar: Mask, passages: _Passages
) -> _FirstPool | None:
    view, query = read.view, question.query
    visible_records = visibility(view, similar)
    rows = candidates(view, question, visible_records.visible, query.recipe.candidates)
    provenance = visible_records.provenance(view, question, rows)
    long = [row for row in passages if visible_records.visible[row]]
    rows = ascending(len(view.columns), rows, provenance.rows(), long)
    if not len(rows):
        return None
    scale = query.recipe.weights.get("dense", 1.0)
    mood, weight = None, 0.0
    if query.mood is not None or query.recipe.quality:
        mood, weight = mood_and_weight(runtime, scope, query, scale, processed=len(view.columns.validity) > 0)
    question = replace(question, query=replace(query, emotion_weight=weight))
    boosted = dict(provenance.boosted)
    for row, (_, cosine) in passages.items():
        boosted[row] = max(boosted.get(row, -1.0), cosine)

    def ranked(rows: Rows, near: Mapping[int, float] | None = None) -> tuple[Pool, _Ranked]:
        moods = mood_proximities(runtime, view, query, rows, mood)
        pool = build_pool(view, question, rows, boosted=boosted, graph=near, mood=moods)
        return pool, _rank_pool(view, question, pool)

    # From the first hits links are followed, and later statements found: a pool is ranked before, and again with them.
    pool, first = ranked(rows)
    depth, seeds = query.expand_links or int("graph" in query.recipe.weights), pool.rows[first.order].tolist()
    near = proximities(runtime, view, visible_records, seeds, provenance.via, depth, query.now) if depth else {}
    later: Mapping[int, Sequence[int]] = {}
    if _by_recency(query) and question.cosines is not None:
        later = distant_updates(read, view, question, visible_records.visible, pool, first.order)
    if near or later:
        pool, first = ranked(ascending(len(view.columns), rows, list(near), *later.values()), near)
    model = runtime.indexer.embedder.id if question.cosines is not None else None
    first = replace(first, passages={row: number for row, (number, _) in passages.items()})
    return _FirstPool(question, visible_records, provenance, pool, first, model, later)


def _nearest_passages(
    runtime: Runtime, view: View, allowed: Mask, cosines: Cosines | None, wordings: Sequence[Floats]
) -> _Passages:
    """The nearest passage of each of the ``SEARCHED`` nearest long texts."""
    c = view.columns
    if cosines is None:
        return {}
    long = np.flatnonzero(allowed & (c.length >= LONG_TERMS))
    long = long[~np.isin(c.doc[long], [*c.abridged])]  # a passage may be of what has ended
    long = long[np.argsort(-cosines.values[long], kind="stable")][:SEARCHED]
    stored = runtime.store.embedding.passages_of(view.user, c.doc[long].tolist()) if len(long) else {}
    parts = {row: stored[doc] for row, doc in zip(long.tolist(), c.doc[long].tolist(), strict=True) if doc in stored}
    parts = {row: vectors for row, vectors in parts.items() if vectors.shape[1] == view.vectors.dimension}
    if not parts:
        return {}
    passage_cosines = compared(wordings, np.concatenate([*parts.values()]), view.vectors.centre)
    groups = np.split(passage_cosines, np.cumsum([len(vectors) for vectors in parts.values()])[:-1])
    return {row: (int(near.argmax()), float(near.max()) - EASE) for row, near in zip(parts, groups, strict=True)}


def _without_forgotten(
    runtime: Runtime, user: str, read: _Reader, question: AnalysedQuery, allowed: Mask, wordings: Sequence[Floats]
) -> AnalysedQuery:
    """The query without what messages have of it in forgotten sentences: their words, and their cosines.

    Of the ``EMBEDDED`` nearest messages the cosine becomes that of what is shown; that of another one counts if no word of
    the query is hidden. A sentence that has only ended still leads from the question to what took its place.
    """
    c, cosines = read.view.columns, question.cosines
    if not c.forgotten:
        return question
    filters = question.query.filters
    key = ("remainders", filters.at, filters.known_at, filters.expired)
    all_remainders = c.cached(key, lambda: _remainders(runtime, user, read, question.query))
    remainders = {row: r for row, r in all_remainders.items() if allowed[row]}
    if not remainders:
        return question
    hidden = {row: np.array([term in r.hidden for term in question.terms], np.bool_) for row, r in remainders.items()}
    if cosines is not None:
        cosines.sharpen(np.array([*remainders]))
        nearest = sorted(remainders, key=lambda row: -cosines.values[row])[:EMBEDDED]
        vectors = runtime.indexer.documents([remainders[row].text for row in nearest], runtime.indexer.keeping)
        for row, mask in hidden.items():
            cosines.values[row] *= not mask.any()
        embedded = {row: vector for row, vector in zip(nearest, vectors, strict=True) if vector is not None}
        if embedded:
            cosines.values[[*embedded]] = compared(wordings, np.stack([*embedded.values()]), read.view.vectors.centre)
    matched = {row: r.terms.intersection(question.terms) for row, r in remainders.items()}
    shares = {row: len(matched[row] - r.hidden) / max(len(matched[row]), 1) for row, r in remainders.items()}
    return without_terms(question, hidden, shares)


class _Remainder(NamedTuple):
    """What is left of a message without its forgotten sentences, the terms of all of it, and those that only these have."""

    text: str
    terms: frozenset[str]
    hidden: frozenset[str]


def _remainders(runtime: Runtime, user: str, read: _Reader, query: Query) -> dict[int, _Remainder]:
    """What is left of each message of which a sentence is forgotten, by row."""
    columns, remainders = read.view.columns, dict[int, _Remainder]()
    sources = columns.rows_of(sorted(columns.forgotten))
    live = columns.doc[sources[columns.status[sources] != STATUSES["archived"]]]
    docs = runtime.store.relations.with_forgotten(live.tolist())
    rows = columns.rows_of(docs)
    whole, shown = read(docs), _as_shown(runtime, user, read, query, docs)[0]
    for doc, row in zip(docs, rows.tolist(), strict=True):
        if doc in shown and shown[doc].value.content != whole[doc].value.content:
            text = searchable(shown[doc].value).replace(CUT, "")
            terms = frozenset(analyse(searchable(whole[doc].value))[0])
            remainders[row] = _Remainder(text, terms, terms - {*analyse(text)[0]})
    return remainders


def _passage(text: str, number: int) -> str | None:
    """A passage of a text by its number."""
    parts = passages_of(text)
    return text[slice(*parts[number])] if number < len(parts) else None


def _result(
    runtime: Runtime, scope: Scope, embedded_query: _EmbeddedQuery, read: _Reader, first_pool: _FirstPool
) -> SearchResult:
    query, view, question, model = embedded_query.query, read.view, first_pool.question, first_pool.model
    pool, first, visible = first_pool.pool, first_pool.first, first_pool.visible_records.visible
    searched = _searched(view, visible)
    pool = replace(pool, unanswered=_unanswered(read, pool, query.text))
    # Before the passes below, since grade and relevance are fitted on the order that the signals give.
    grade = evidence.grade(pool, first.order, model=model, searched=searched)
    successors, later = (
        {
            int(np.searchsorted(pool.rows, row)): np.searchsorted(pool.rows, [*others]).tolist()
            for row, others in by_row.items()
        }
        for by_row in (first_pool.provenance.successors, first_pool.later)
    )
    relevance = relevances(pool, first.order, model=model, searched=searched)
    relevance = as_relevant(as_relevant(relevance, later), successors)
    order = first.order
    if _by_recency(query):
        order, moved = by_recency(read, view, query, pool, order, first.vectors)
        relevance = as_relevant(relevance, moved)
    order = current_first(order, later)
    # After recency: a name in the question outweighs it. Only then what looks like evidence, which a name can move ahead too.
    order = named_first(query.text, question.terms, pool, order)
    if pool.query_traits & REPLY:  # "What did you recommend?" asks for the answer, and resembles the request for it
        order = current_first(order, replies(view, pool, query.text, question.terms))
    order = doubtful_last(order, evidence.doubtful(pool), relevance)
    order = current_first(order, successors)  # last: nothing puts what has ended first again
    left_out = 0
    if query.min_best:  # a context: the question itself, asked before, is no evidence
        left_out = int(np.count_nonzero(pool.unanswered[order]))
        order = order[~pool.unanswered[order]]
    first = replace(first, relevance=relevance, order=order)
    if least := _least_relevance(query, first, model):  # candidates past the first pool bear on nothing
        relevant = relevance[order] >= least
        left_out += int(np.count_nonzero(~relevant[: query.k]))
        pages: Iterable[_Ranked] = [replace(first, order=order[relevant])]
    else:
        pages = itertools.chain([first], _further_pages(view, question, visible, pool.rows))
    hits = _hits(runtime, scope.user, read, query, pages, first_pool.provenance)
    return SearchResult(hits, grade.evidence, grade.probability, left_out)


def _by_recency(query: Query) -> bool:
    """Whether later statements come first: a mood of the caller's decides otherwise."""
    return bool(query.recipe.quality) and not (isinstance(query.mood, Emotion) and query.emotion_weight)


def _searched(view: View, visible: Mask) -> int:
    """How many records may speak of the matter: pieces of documents do not dilute what was said."""
    return int(np.count_nonzero(visible & ~view.columns.documents)) or int(np.count_nonzero(visible))


def _least_relevance(query: Query, first: _Ranked, model: str | None) -> float:
    """The relevance below which there are no hits; the limits of contexts hold for the model and language they were measured
    with.
    """
    if not query.min_best:
        return query.min_relevance
    if model not in DEFAULT_MODELS or not is_english(query.text):
        return 0.0
    return query.min_relevance if first.relevance.max() >= query.min_best else math.inf


def _other_wordings(runtime: Runtime, query: Query) -> tuple[str, ...]:
    """Alternative wordings by the language model, with ``expand_query``."""
    if not query.expand_query or runtime.llm is None:
        return ()
    from mnemic.llm import expansion

    answer = Consultant(runtime).ask(lambda: expansion.task(query.text))
    return answer or ()


def _rank_pool(view: View, question: AnalysedQuery, pool: Pool) -> _Ranked:
    """Score and rank a pool."""
    query, rows = question.query, pool.rows
    recipe = query.recipe
    if query.expand_links and "graph" not in recipe.weights:
        recipe = replace(recipe, weights={**recipe.weights, "graph": GRAPH_WEIGHT})
    groups = view.columns.group[rows]
    if (weight := query.emotion_weight) and pool.mood.any():
        if isinstance(query.mood, Emotion):
            plain, _, _ = recipes.score(pool, recipe, groups)
            pool = replace(pool, mood=recipes.among_equals(pool.mood, plain, weight * quality_unit(recipe)))
            weight *= DECIDES
        recipe = replace(recipe, quality={**recipe.quality, "emotion": weight})
    scores, signals, parts = recipes.score(pool, recipe, groups)
    order = np.lexsort((rows, -scores))
    vectors, centre = view.vectors.of(rows), view.vectors.centre
    if centre is not None:
        vectors = centre.apart(vectors)
    relevance = np.zeros(len(rows), np.float32)
    return _Ranked(rows, view.columns.doc[rows], vectors, order, scores, signals, parts, relevance)


def _further_pages(view: View, question: AnalysedQuery, allowed: Mask, taken: Rows) -> Iterator[_Ranked]:
    """Candidates after the first pool, page by page, for large k.

    The page size does not depend on k, so a longer list begins with the shorter one.
    """
    allowed = allowed.copy()
    allowed[taken] = False
    while len(rows := candidates(view, question, allowed, PAGE)):
        yield _rank_pool(view, question, build_pool(view, question, rows))
        allowed[rows] = False


def allowed_rows(runtime: Runtime, scope: Scope, filters: RecordFilter, view: View) -> Mask:
    """Mask of the rows that match the filters."""
    allowed = view.columns.mask(filters)
    hidden = view.columns.validity.hidden(filters, to_micros(now()))
    allowed[view.columns.rows_of(hidden)] = False
    if filters.known_at is not None and filters.kinds != ("memory",):
        allowed[view.columns.rows_of(runtime.store.relations.stored_after(view.user, filters.known_at))] = False
    if filters.without_stored() != filters:
        named = np.zeros(len(view.columns), np.bool_)
        named[view.columns.rows_of(sorted(runtime.store.matching(view.user, filters)))] = True
        allowed &= named
    if filters.exclude:
        allowed[view.columns.rows_of(sorted(runtime.store.docs_of(scope.user, filters.exclude).values()))] = False
    return allowed


def _scores(reranker: Reranker, query: str, texts: Sequence[str]) -> Floats:
    """The scores of a reranker, (n,), checked.

    Raises:
        EmbedderError: it fails, or answers with anything else than a finite number for each text.
    """
    try:
        scores = np.asarray(reranker.scores(query, texts), np.float32)
    except MnemicError:
        raise
    except Exception as error:  # it may be somebody else's
        raise EmbedderError(
            f"The reranker failed: {type(error).__name__}: {error}. Search without it, or mend it."
        ) from error
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise EmbedderError(
            f"The reranker must give one finite number for each of the {len(texts)} texts, an array of shape ({len(texts)},), "
            f"and gave shape {scores.shape}{'' if np.isfinite(scores).all() else ' with numbers that are not finite'}."
        )
    return scores


def _rerank(reranker: Reranker, read: _Reader, text: str, ranked: _Ranked) -> _Ranked:
    """Reorder the first hits by the reranker; the others follow unchanged."""
    order = ranked.order
    first = order[:RERANKED]
    docs = [ranked.doc(rank) for rank in range(len(first))]
    stored = read(docs)
    texts = [searchable(stored[doc].value) if doc in stored else "" for doc in docs]
    scores = _scores(reranker, text, texts)
    values = np.full(len(order), scores.min(), np.float32)
    values[first] = scores
    reranked = first[np.argsort(-scores, kind="stable")]
    return replace(
        ranked, order=np.concatenate([reranked, order[RERANKED:]]), signals={**ranked.signals, "rerank": values}
    )


def _hits(
    runtime: Runtime, user: str, read: _Reader, query: Query, pages: Iterable[_Ranked], provenance: Provenance
) -> tuple[Hit, ...]:
    """The first k hits, with restatements folded and derived memories listed by their evidence.

    Each untrusted source is limited to its share, so that flooding a memory with text does not fill the result.
    """
    k, collector = query.k, HitCollector(query.untrusted_share)
    hits, holds = collector.hits, dict[int, bool | None]()
    for page in pages:
        start, before = 0, len(hits)
        while len(hits) < k and start < len(page):
            ranks = range(start, min(start + k - len(hits), len(page)))
            shown, shown_holds = _as_shown(runtime, user, read, query, [page.doc(rank) for rank in ranks])
            holds |= shown_holds
            for rank in ranks:
                if len(hits) < k and (stored := shown.get(page.doc(rank))):  # else erased since the snapshot
                    hit = page.hit(rank, stored)
                    source = None if is_trusted(hit.trust) else _source(runtime, user, stored.value)
                    collector.add(source, stored, hit, page.vector(rank), page.doc(rank))
            start = ranks.stop
        if len(hits) >= k or (collector.waiting and len(hits) == before):  # only surplus hits are left
            break
    first = dict(itertools.islice(hits.items(), k))
    linked = {hit.id: hit for hit in _with_derived(runtime, user, read.view, first, collector, provenance)}
    docs = {id_: collector.docs[id_][0] for id_ in first}
    holding = {id_: holds.get(doc) for id_, doc in docs.items()}
    return tuple(with_successors(runtime, read.view, linked, docs, query.filters, holding))


def _unanswered(read: _Reader, pool: Pool, query_text: str) -> Mask:
    """Mask of the candidates that are the query itself, word for word, without an answer."""
    positions = np.flatnonzero(pool.unanswered)
    docs = read.view.columns.doc[pool.rows[positions]].tolist()
    stored, words = read(docs), bare_words(query_text)
    mask = np.zeros(len(pool), np.bool_)
    mask[positions] = [
        doc in stored and isinstance(message := stored[doc].value, Message) and bare_words(message.content) == words
        for doc in docs
    ]
    return mask


def _as_shown(
    runtime: Runtime, user: str, read: _Reader, query: Query, docs: Sequence[int]
) -> tuple[Mapping[int, Stored], Mapping[int, bool | None]]:
    """Records by doc, messages as recall shows them; and whether something of these holds, as far as the store knows."""
    stored = read(docs)
    abridged = read.view.columns.abridged.intersection(stored)
    messages = {doc: m for doc in sorted(abridged) if isinstance(m := stored[doc].value, Message)}
    if not messages:
        return stored, {}
    shown = dict(
        zip(messages, runtime.store.relations.standing(user, [*messages.values()], query.filters), strict=True)
    )
    as_shown = {doc: replace(stored[doc], value=standing.message) for doc, standing in shown.items()}
    return stored | as_shown, {doc: standing.holds for doc, standing in shown.items()}


def _source(runtime: Runtime, user: str, value: Record) -> str:
    """The origin of an untrusted text: its tool or document, else its conversation, else its kind of source."""
    if isinstance(value, MemoryRecord) and value.source_ids:
        sources = runtime.store.knowledge.records(user, value.source_ids[:1])
        value = next((m for m in sources.values() if isinstance(m, Message)), value)
    if isinstance(value, Message) and value.name and value.source == "tool_external":
        return f"tool {value.name}"
    if isinstance(value, Message) and value.source == "document" and "document" in value.metadata:
        return f"document {value.metadata['document']}"
    return f"session {value.session}" if value.session else f"source {value.source}"


def _with_derived(
    runtime: Runtime, user: str, view: View, hits: Mapping[str, Hit], collector: HitCollector, provenance: Provenance
) -> Iterator[Hit]:
    """Hits with the ids of derived memories and episodes, including those of folded restatements."""
    made: dict[str, list[int]] = {}
    for id_ in hits if provenance.via else ():
        rows = view.columns.rows_of(collector.docs[id_]).tolist()
        made[id_] = [other for row in rows for other in provenance.via.get(row, ())]
    derived = {doc for docs in made.values() for doc in docs}
    runtime.uses.note(user, derived | {collector.docs[id_][0] for id_ in hits})
    episodes = {episode for id_ in hits if (episode := collector.episodes[id_])}
    ids = runtime.store.relations.ids(view.user, sorted(derived | episodes))
    for id_, hit in hits.items():
        via = [ids[doc] for doc in made.get(id_, ()) if doc in ids]
        episode = ids.get(collector.episodes[id_] or -1)
        if via or episode != hit.episode:  # most hits have none
            hit = replace(hit, via=tuple(dict.fromkeys((*hit.via, *via))), episode=episode)  # noqa: PLW2901
        yield hit


def mood_of(runtime: Runtime, text: str) -> Emotion:
    """The mood that words show."""
    embedder = runtime.indexer.embedder
    return estimate.emotions_of([text], runtime.indexer.documents([text], embedder), embedder.id)[0]


def mood_and_weight(
    runtime: Runtime, scope: Scope, query: Query, scale: float, *, processed: bool
) -> tuple[Emotion | None, float]:
    """The mood to rank by and its weight: the caller's, that of the session, else that of the query if it has affect.

    Args:
        runtime: gives access to the session.
        scope: user and session.
        query: the query.
        scale: weight of a cosine in the recipe, to which the weight of the mood is relative.
        processed: whether any record has an emotion to compare with.
    """
    if isinstance(query.mood, Emotion):
        return query.mood, query.emotion_weight * scale
    mood = session_mood(runtime, scope) if query.mood == "session" else None
    if mood is None and query.emotion_weight and processed:
        mood = estimate.emotion(query.text)
        mood = mood if estimate.has_affect(mood) else None
    return mood, 0.0 if mood is None else IMPLICIT_WEIGHT * query.emotion_weight * scale


def session_mood(runtime: Runtime, scope: Scope) -> Emotion | None:
    """Mean mood of the user's last turns in the session, weighted by confidence; None if they show none.

    Those of others count where no turn has the user's name, or none.
    """
    if scope.session is None:
        return None
    filters = RecordFilter(kinds=("message",), reach="user", in_session=scope.session, role="user")
    turns = runtime.store.list_messages(scope.user, filters, limit=MOOD_TURNS_READ, newest=True)
    own = [turn for turn in turns if turn.name is None or turn.name.casefold() == scope.user.casefold()]
    return estimate.mean(estimate.emotions([turn.content for turn in (own or turns)[-MOOD_TURNS:]]))


def mood_proximities(runtime: Runtime, view: View, query: Query, rows: Rows, mood: Emotion | None) -> dict[int, float]:
    """Similarity of rows to a mood, 0 to 1; empty without one.

    Emotions that are missing are computed for a mood that is given; else these records are left out.
    """
    if mood is None:
        return {}
    docs = dict(zip(view.columns.doc[rows].tolist(), rows.tolist(), strict=True))
    emotions = runtime.store.relations.emotions(view.user, [*docs])
    missing = [doc for doc in docs if doc not in emotions] if isinstance(query.mood, Emotion) else []
    if stored := runtime.store.fetch(view.user, missing) if missing else {}:
        stored_rows = view.columns.rows_of(sorted(stored))
        vectors = [*view.vectors.of(stored_rows)] if view.vectors.dimension else [None] * len(stored_rows)
        texts = [searchable(stored[doc].value) for doc in sorted(stored)]
        emotions |= dict(zip(sorted(stored), estimate.emotions_of(texts, vectors, view.model or ""), strict=True))
    return {docs[doc]: estimate.similarity(mood, emotion) for doc, emotion in emotions.items() if doc in docs}


def warn_of_other_languages(runtime: Runtime, user: str) -> None:
    """Warn, once per record, if most of what a user said lately is not English."""
    if runtime.notices.given(_LANGUAGE_SUBJECT):
        return
    latest = runtime.store.list_messages(user, RecordFilter(reach="user"), limit=LANGUAGE_SAMPLE, newest=True)
    if mostly_english([message.content for message in latest]):
        return
    try:
        given_before = not runtime.store.embedding.first_notice("language")
    except StoreError:  # a search goes on where nothing can be written
        given_before = False
    runtime.notices.warn(
        _LANGUAGE_SUBJECT, _LANGUAGE_ADVICE.format(model=runtime.indexer.embedder.id), given_before=given_before
    )
