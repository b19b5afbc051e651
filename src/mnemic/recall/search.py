"""The read path: query to hits."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mnemic import recall
from mnemic.errors import EmbedderUnavailable
from mnemic.indexes.vector import Cosines
from mnemic.recall import Pool, hit_from
from mnemic.recall.candidates import Question, asked, candidates, pooled
from mnemic.recall.graph import nearby
from mnemic.recall.mood import moods, strength
from mnemic.recall.provenance import Behind, Standing, current_first, stand
from mnemic.recall.recency import by_recency
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.safety.trust import Turnstile, is_trusted
from mnemic.text.clock import now, to_micros
from mnemic.text.language import is_english
from mnemic.text.render import searchable
from mnemic.text.terms import clean, content_terms
from mnemic.types import Emotion, Episode, Filters, Hit, MemoryRecord, Message, Query, Scope, SearchResult, Stored
from mnemic.vectors import CALIBRATED_FOR

__all__ = ["search"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float32]

GRADES = ("none", "weak", "strong")

PAGE = 1_000
"""Candidates of each search on further pages, for those who ask for more hits than the first pool holds."""

LINKED = 3.0
"""Weight of nearness over links with ``expand_links``, in recipes that do not weigh it themselves."""

READ = 1_000
"""Characters of a hit by which its language is told, and of a turn before the query that are read."""

RERANKED = 50
"""How many of the first hits a reranker reads, whatever k is."""


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


@dataclass(frozen=True, slots=True)
class _Ask:
    """A query with what was waited for: its other wordings, and the vectors of all of them."""

    query: Query
    wordings: Sequence[str]
    vectors: Sequence[Floats]


def search(runtime: Runtime, scope: Scope, query: Query) -> SearchResult:
    """Rank the records a query may see, and grade the result.

    The order does not depend on ``k``: pools have the same size for every k, and a longer list goes on with further ones.
    """
    with runtime.gate.search():
        return _searched(runtime, scope, query)


def _searched(runtime: Runtime, scope: Scope, query: Query) -> SearchResult:
    text = clean(query.text)
    view = runtime.views.of(scope.user)
    if view is None or not text.strip():
        return SearchResult()
    query = replace(query, text=runtime.secrets.redacted(text)[0])
    wordings = _other_wordings(runtime, query)
    vectors = _vectors(runtime, query, wordings, view)
    ask = _Ask(query, wordings, vectors)
    result = (_widening if query.filters.reach == "auto" else _ranked)(runtime, scope, ask, view)
    if runtime.indexer.embedder.id == CALIBRATED_FOR and not _in_english(query, result):
        graded = recall.unsure(result.evidence, result.probability)
        result = replace(result, evidence=graded.evidence, probability=graded.probability)
    if GRADES.index(result.evidence) < GRADES.index(query.min_evidence):
        return replace(result, hits=())
    return replace(result, hits=recall.falling(result.hits, result.probability))


def _vectors(runtime: Runtime, query: Query, wordings: Sequence[str], view: View) -> list[Floats]:
    """The vectors of all wordings, the first with the turns before it; none where there is no embedder."""

    def embedded(texts: Iterable[str]) -> list[Floats]:
        return [
            vector
            for text in texts
            if (vector := runtime.indexer.query(text, view.model, view.vectors.dimension)) is not None
        ]

    vectors = embedded((query.text, *wordings))
    share = recall.share_of_turns(len(content_terms(query.text))) if query.recent else 0.0
    if (
        vectors
        and share
        and (before := embedded(text[:READ] for text in query.recent[-recall.TURNS :] if text.strip()))
    ):
        vectors[0] = recall.with_turns(vectors[0], before, share)
    return vectors


def _in_english(query: Query, result: SearchResult) -> bool:
    """Whether question and first hit are of the language that the default model was trained on."""
    return is_english(query.text) and all(is_english(hit.text[:READ]) for hit in result.hits[:1])


def _widening(runtime: Runtime, scope: Scope, ask: _Ask, view: View) -> SearchResult:
    """Session, then project, then everything, until there are k hits; the narrower ones come first."""
    query = ask.query
    hits: dict[str, Hit] = {}
    best = SearchResult()
    for reach in ("session", "project", "user"):
        if (reach == "session" and scope.session is None) or (reach == "project" and scope.project is None):
            continue
        narrowed = replace(query, filters=replace(query.filters, reach=reach))
        result = _ranked(runtime, scope, replace(ask, query=narrowed), view)
        best = max(best, result, key=_probability)
        for hit in result:
            hits.setdefault(hit.id, hit)
        if len(hits) >= query.k:
            break
    return replace(best, hits=tuple(hits.values())[: query.k])


def _probability(result: SearchResult) -> float:
    return result.probability


def _ranked(runtime: Runtime, scope: Scope, ask: _Ask, view: View) -> SearchResult:
    with runtime.gate.turn():
        found = _found(runtime, scope, ask, view)
        if found is None or runtime.reranker is None:
            return SearchResult() if found is None else _result(runtime, scope, ask, view, found)
    found = replace(found, first=_reranked(runtime, view, ask.query.text, found.first))
    with runtime.gate.turn():
        return _result(runtime, scope, ask, view, found)


@dataclass(frozen=True, slots=True)
class _Found:
    """The first pool of a search in order, and what its result needs."""

    allowed: NDArray[np.bool_]
    question: Question
    standing: Standing
    behind: Behind
    pool: Pool
    first: _Ranked
    model: str | None


def _found(runtime: Runtime, scope: Scope, ask: _Ask, view: View) -> _Found | None:
    query = ask.query
    allowed = _allowed(runtime, scope, query.filters, view)
    cosines = _cosines(view, ask.vectors, allowed)
    if query.min_similarity is not None:
        if cosines is None:
            raise EmbedderUnavailable(
                "min_similarity compares vectors, and there are none: the embedder cannot be had at present. Search "
                "without it, or see the warning for how to get the embedder."
            )
        if view.vectors.centre is not None:
            plain = view.vectors.cosines(ask.vectors, plain=True)
            plain.settle(allowed)
            allowed &= plain.values >= query.min_similarity
        else:
            allowed &= cosines.values >= query.min_similarity
    question = asked(view, query, cosines, ask.wordings)
    standing = stand(view, allowed)
    rows = candidates(view, question, standing.shown, query.recipe.candidates)
    behind = standing.behind(view, question, rows)
    rows = recall.ascending(len(view.columns), rows, behind.rows())
    if not len(rows):
        return None
    scale = query.recipe.weights.get("dense", 1.0)
    mood, weight = None, 0.0
    if query.quality:
        mood, weight = strength(runtime, scope, query, scale, processed=len(view.columns.beliefs) > 0)
    question = replace(question, query=replace(query, emotion_weight=weight))
    pool = pooled(view, question, rows, lifted=behind.lifted, mood=_felt(runtime, view, query, rows, mood))
    first = _ranking(view, question, pool)
    depth = query.expand_links or int("graph" in query.recipe.weights)
    if depth and (
        near := nearby(runtime, view, standing, pool.rows[first.order].tolist(), behind.via, depth, query.now)
    ):
        rows = recall.ascending(len(view.columns), rows, list(near))
        felt = _felt(runtime, view, query, rows, mood)
        pool = pooled(view, question, rows, lifted=behind.lifted, graph=near, mood=felt)
        first = _ranking(view, question, pool)
    model = runtime.indexer.embedder.id if cosines is not None else None
    return _Found(allowed, question, standing, behind, pool, first, model)


def _result(runtime: Runtime, scope: Scope, ask: _Ask, view: View, found: _Found) -> SearchResult:
    query, pool, first = ask.query, found.pool, found.first
    grade = recall.grade(pool, first.order, model=found.model, searched=int(np.count_nonzero(found.allowed)))
    first = replace(first, order=current_first(first.order, _positions(pool.rows, found.behind.instead)))
    if query.quality and query.recipe.quality and not isinstance(query.mood, Emotion):
        order = by_recency(runtime, view, query, found.question.terms, pool, first.order, first.vectors)
        first = replace(first, order=order)
    pages = itertools.chain([first], _further(view, found.question, found.standing.shown, pool.rows))
    hits = _hits(runtime, scope.user, view, query, pages, found.behind)
    return SearchResult(hits, grade.evidence, grade.probability)


def _felt(runtime: Runtime, view: View, query: Query, rows: Rows, mood: Emotion | None) -> dict[int, float]:
    """How near rows are to a mood; nothing when there is none to look for."""
    if mood is None:
        return {}
    near = moods(runtime, view, view.columns.doc[rows], mood, judge=isinstance(query.mood, Emotion))
    return {
        row: near[doc] for row, doc in zip(rows.tolist(), view.columns.doc[rows].tolist(), strict=True) if doc in near
    }


def _cosines(view: View, vectors: Sequence[Floats], allowed: NDArray[np.bool_]) -> Cosines | None:
    """The cosine of every row with a query, the highest where it has several wordings; None without vectors."""
    if not vectors:
        return None
    cosines = view.vectors.cosines(vectors)
    cosines.settle(allowed)
    return cosines


def _other_wordings(runtime: Runtime, query: Query) -> tuple[str, ...]:
    """What the language model would ask instead, where that is wanted."""
    if not query.expand_query or runtime.llm is None:
        return ()
    from mnemic.llm import expansion

    answer = Consultant(runtime).ask(lambda: expansion.task(query.text))
    return () if answer is None else answer.queries


def _positions(rows: Rows, instead: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Rows of the catalog as positions in a pool that holds them all."""

    def position(row: int) -> int:
        return int(np.searchsorted(rows, row))

    return {position(row): [position(other) for other in others] for row, others in instead.items()}


def _ranking(view: View, question: Question, pool: Pool) -> _Ranked:
    """A pool in order."""
    query, rows = question.query, pool.rows
    recipe = query.recipe
    if query.expand_links and "graph" not in recipe.weights:
        recipe = replace(recipe, weights={**recipe.weights, "graph": LINKED})
    if query.emotion_weight and pool.mood.any():
        recipe = replace(recipe, quality={**recipe.quality, "emotion": query.emotion_weight})
    scores, signals = recall.score(pool, recipe, view.columns.group[rows], quality=query.quality)
    order = np.lexsort((rows, -scores))
    vectors, centre = view.vectors.of(rows), view.vectors.centre
    if centre is not None:
        vectors = centre.apart(vectors)
    return _Ranked(view.columns.doc[rows], vectors, order, scores, signals)


def _further(view: View, question: Question, allowed: NDArray[np.bool_], taken: Rows) -> Iterator[_Ranked]:
    """What comes after the first pool, page by page, for those who ask for hundreds of hits.

    Pages have one size whatever k is: so a longer list begins with the shorter one.
    """
    allowed = allowed.copy()
    allowed[taken] = False
    while len(rows := candidates(view, question, allowed, PAGE)):
        yield _ranking(view, question, pooled(view, question, rows))
        allowed[rows] = False


def _allowed(runtime: Runtime, scope: Scope, filters: Filters, view: View) -> NDArray[np.bool_]:
    allowed = view.columns.mask(filters)
    hidden = view.columns.beliefs.hidden(filters, to_micros(now()))
    allowed[view.columns.rows_of(hidden)] = False
    if filters.known_at is not None:
        allowed[view.columns.rows_of(runtime.store.relations.stored_after(view.user, filters.known_at))] = False
    if filters.tags is not None or filters.metadata or filters.min_trust is not None:
        named = np.zeros(len(view.columns), np.bool_)
        named[view.columns.rows_of(sorted(runtime.store.matching(view.user, filters)))] = True
        allowed &= named
    if filters.exclude:
        allowed[view.columns.rows_of(sorted(runtime.store.docs_of(scope.user, filters.exclude).values()))] = False
    return allowed


def _reranked(runtime: Runtime, view: View, text: str, ranked: _Ranked) -> _Ranked:
    """The first hits in the order of the reranker, the others behind them as they were."""
    assert runtime.reranker is not None
    order = ranked.order
    first = order[:RERANKED]
    docs = [ranked.doc(place) for place in range(len(first))]
    stored = runtime.store.fetch(view.user, docs)
    texts = [searchable(stored[doc].value) if doc in stored else "" for doc in docs]
    scores = runtime.reranker.scores(text, texts)
    values = np.full(len(order), scores.min(), np.float32)
    values[first] = scores
    again = first[np.argsort(-scores, kind="stable")]
    return replace(
        ranked, order=np.concatenate([again, order[RERANKED:]]), signals={**ranked.signals, "rerank": values}
    )


@dataclass(slots=True)
class _Door:
    """Takes hits in, each untrusted source its share: those that come too early wait until the list has grown."""

    gate: Turnstile
    taken: recall.Folded = field(default_factory=recall.Folded)
    docs: dict[str, tuple[int, int | None]] = field(default_factory=dict[str, "tuple[int, int | None]"])
    carried: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    waiting: list[tuple[str | None, Stored, Hit, Floats, int]] = field(
        default_factory=list["tuple[str | None, Stored, Hit, Floats, int]"]
    )

    def take(self, source: str | None, stored: Stored, hit: Hit, vector: Floats, doc: int) -> None:
        """A hit, and then whoever may follow it."""
        if not self.gate.lets(source, len(self.taken.hits)):
            self.waiting.append((source, stored, hit, vector, doc))
            return
        sources = stored.value.source_ids if isinstance(stored.value, MemoryRecord) else ()
        if (carrier := self.taken.take(hit, vector, sources)) != hit.id:
            self.carried.setdefault(carrier, []).append(doc)
            return
        self.docs[hit.id] = doc, stored.episode
        self.gate.passed(source)
        for place, early in enumerate(self.waiting):
            if self.gate.lets(early[0], len(self.taken.hits)):
                del self.waiting[place]
                self.take(*early)
                return


def _hits(
    runtime: Runtime, user: str, view: View, query: Query, pages: Iterable[_Ranked], behind: Behind
) -> tuple[Hit, ...]:
    """The first k hits: restatements folded, memories named by the evidence that is among them.

    An untrusted source has its share of them and no more, however many of its texts are near: what fills a record to be
    found first takes few places.
    """
    k, door = query.k, _Door(Turnstile(share=query.untrusted_share))
    hits = door.taken.hits
    for page in pages:
        place, before = 0, len(hits)
        while len(hits) < k and place < len(page):
            places = range(place, min(place + k - len(hits), len(page)))
            stored = runtime.store.fetch(view.user, [page.doc(p) for p in places])
            for p in places:
                if len(hits) < k and (found := stored.get(page.doc(p))):  # gone when it was erased since the snapshot
                    hit = hit_from(found, *page.values(p))
                    source = None if is_trusted(hit.trust) else _source(runtime, user, found.value)
                    door.take(source, found, hit, page.vector(p), page.doc(p))
            place = places.stop
        if len(hits) >= k or (door.waiting and len(hits) == before):  # nothing but more of the same
            break
    first = dict(itertools.islice(hits.items(), k))
    docs = {id_: door.docs[id_] for id_ in first}
    return tuple(_named(runtime, user, view, first, docs, door.carried, behind))


def _source(runtime: Runtime, user: str, value: Message | Episode | MemoryRecord) -> str:
    """Whom an untrusted text comes from: the tool that gave it, else the conversation, else its kind of source."""
    if isinstance(value, MemoryRecord) and value.source_ids:
        sources = runtime.store.knowledge.records(user, value.source_ids[:1])
        value = next((m for m in sources.values() if isinstance(m, Message)), value)
    if isinstance(value, Message) and value.name and value.source == "tool_external":
        return f"tool {value.name}"
    return f"session {value.session}" if value.session else f"source {value.source}"


def _named(
    runtime: Runtime,
    user: str,
    view: View,
    hits: Mapping[str, Hit],
    docs: Mapping[str, tuple[int, int | None]],
    carried: Mapping[str, Sequence[int]],
    behind: Behind,
) -> Iterator[Hit]:
    """Hits with the ids of what stands behind them, and behind the restatements they carry."""
    used = {doc for doc, _ in docs.values()}
    own: dict[str, int] = {}
    made: dict[str, list[int]] = {}
    if behind.via or behind.replaced:
        for id_, (doc, _) in docs.items():
            rows = view.columns.rows_of([doc, *carried.get(id_, ())]).tolist()
            own[id_] = rows[0]
            made[id_] = [other for row in rows for other in behind.via.get(row, ())]
    wanted = {episode for _, episode in docs.values() if episode}
    for id_, row in own.items():
        wanted |= {*made[id_], *behind.replaced.get(row, ())}
        used |= {*made[id_]}
    runtime.uses.note(user, used)
    ids = runtime.store.relations.ids(view.user, sorted(wanted)) if wanted else {}
    for id_, hit in hits.items():
        row, episode = own.get(id_, -1), docs[id_][1]
        via = [ids[doc] for doc in made.get(id_, ()) if doc in ids]
        after = tuple(ids[doc] for doc in behind.replaced.get(row, ()) if doc in ids)
        of = ids.get(episode) if episode else None
        if via or after or of != hit.episode:  # mostly there is nothing behind a hit
            hit = replace(hit, via=tuple(dict.fromkeys((*hit.via, *via))), superseded_by=after, episode=of)  # noqa: PLW2901
        yield hit
