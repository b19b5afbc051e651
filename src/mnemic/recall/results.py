"""Results: records as hits, restatements folded into one, derived memories with their evidence, successors first.

The verbatim message is the hit and lists the memories derived from it: a derived memory is a hit itself only where its
evidence may not be shown. Superseded records rank after their successors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import ASSISTANTS
from mnemic.recall.candidates import HERE, AnalysedQuery, Pool, requests
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.text.differences import restates
from mnemic.text.english import ASKED_OF_REPLY
from mnemic.text.terms import content_terms
from mnemic.types import Episode, Hit, Message, RecordFilter, Stored
from mnemic.vectors import Floats, Mask, Rows, appended, ascending, dot, top

DECREMENT = 1 - 1e-6
"""Factor between consecutive scores, so that sorting by score keeps the order."""


def hit_from(stored: Stored, score: float = 0.0, **found: Any) -> Hit:
    """A record as a hit, with the fields that a search found."""
    value, own = stored.value, dict[str, Any]()
    if isinstance(value, Message):
        own = {
            "message_ids": (stored.id,), "role": value.role, "speaker": value.name or value.role, "sent_at": value.sent_at,
            "source": value.source or "direct_user", "trust": 1.0 if value.trust is None else value.trust,
        }  # fmt: skip
    elif isinstance(value, Episode):
        own = {"sent_at": value.started_at, "summary": value.title, "episode": value.id}
    else:
        own = {"sent_at": value.said_at or value.created_at} | {name: getattr(value, name) for name in _OF_MEMORIES}
    if not isinstance(value, Message):
        own |= {"source": value.source, "trust": value.trust}
    return Hit(
        id=stored.id, kind=stored.kind, text=value.content, session=value.session, project=stored.project,
        status=stored.status, metadata=value.metadata, score=score, **own, **found,
    )  # fmt: skip


_OF_MEMORIES = ("valid_at", "invalid_at", "type", "importance", "summary", "tags", "speaker")
"""Fields that a hit has as its memory has them."""


def with_successors(
    runtime: Runtime,
    view: View,
    hits: Mapping[str, Hit],
    docs: Mapping[str, int],
    filters: RecordFilter,
    holds: Mapping[str, bool | None],
) -> list[Hit]:
    """Hits with the ids of what superseded them, or marked as ended where that is erased.

    Args:
        runtime: gives access to the ids.
        view: the user's records.
        hits: the hits by id.
        docs: the doc of each.
        filters: as of when.
        holds: whether something of a text holds, as far as it tells: then it is superseded by nothing.
    """
    validity, marked = view.columns.validity, list[Hit]()
    known = validity.any_expired
    later = {id_: validity.superseding(doc, filters.at, filters.known_at) if known else [] for id_, doc in docs.items()}
    ids = runtime.store.relations.ids(view.user, sorted({doc for new in later.values() for doc in new}), archived=True)
    for id_, hit in hits.items():
        successors = tuple(ids[doc] for doc in later.get(id_, ()) if doc in ids)
        if holds.get(id_):
            successors = ()
        elif not successors and (
            holds.get(id_) is False
            or (known and id_ in docs and validity.ended(docs[id_], filters.at, filters.known_at))
        ):
            hit = replace(hit, ended=True)  # noqa: PLW2901
        marked.append(replace(hit, superseded_by=successors) if successors else hit)
    return marked


def descending_scores(hits: Sequence[Hit], probability: float) -> tuple[Hit, ...]:
    """Hits in the same order, with descending scores of 0 to 1.

    A score is the probability that the result holds the answer, times the hit's share of the best sum of signals, and
    always less than the score before it: an outdated hit that was ranked lower must not return to the top.
    """
    best = max((hit.score for hit in hits), default=0.0)
    score, scored = probability, list[Hit]()
    for hit in hits:
        share = hit.score / best if best > 0 else 1.0
        score = max(0.0, min(score * DECREMENT, probability * share))
        scored.append(replace(hit, score=score))
    return tuple(scored)


LONGEST = 1_000
"""Characters; longer texts are never folded, because embedders truncate them."""

SAME = 0.9
"""Least cosine of restatements; ``text.restates`` decides."""


@dataclass(slots=True)
class HitCollector:
    """Collects hits in order of rank, folds restatements, and limits each untrusted source to its share.

    A restatement of a hit by the same speaker is listed in its ``similar``, and as evidence (``message_ids``) when the words
    are the same. Each untrusted source may have its share of ten hits at once, and one more whenever the list has grown
    enough, so that a longer list begins with the shorter one: surplus hits wait.

    Attributes:
        share: largest share of one source, 0 to 1; 1 is no limit.
        hits: the hits by id; ``docs``: the doc of each, then those of what is folded into it; ``episodes``: of their episodes.
    """

    share: float
    hits: dict[str, Hit] = field(default_factory=dict[str, Hit])
    docs: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    episodes: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    waiting: list[_Entry] = field(default_factory=list["_Entry"])
    _admitted: Counter[str] = field(default_factory=Counter[str])
    _vectors: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))

    def add(self, source: str | None, stored: Stored, hit: Hit, vector: Floats, doc: int) -> None:
        """Add a hit or fold it into another one, then add a waiting one that its source's share now allows."""
        if not self._admits(source):
            self.waiting.append((source, stored, hit, vector, doc))
            return
        if (leader := self._restated_by(hit, vector)) is not None:
            self.hits[leader.id] = _folded(leader, hit)
            self.docs[leader.id].append(doc)
            return
        self._vectors = appended(self._vectors, len(self.hits), vector)
        self.hits[hit.id], self.docs[hit.id], self.episodes[hit.id] = hit, [doc], stored.episode
        self._admitted.update([source] if source else [])
        for index, entry in enumerate(self.waiting):
            if self._admits(entry[0]):
                del self.waiting[index]
                self.add(*entry)
                return

    def _admits(self, source: str | None) -> bool:
        """Whether a hit of a source may follow; the source of trusted hits is None."""
        most = max(round(self.share * 10), int(self.share * (len(self.hits) + 1)))
        return source is None or self.share >= 1.0 or self._admitted[source] < most

    def _restated_by(self, hit: Hit, vector: Floats) -> Hit | None:
        """The best hit that says the same."""
        close = np.flatnonzero(dot(self._vectors[: len(self.hits)], vector) >= SAME) if self.hits else ()
        leaders = list(self.hits.values()) if len(close) else []
        return next((leaders[i] for i in close if _restates(leaders[i], hit)), None)


_Entry = tuple[str | None, Stored, Hit, Floats, int]


def _folded(leader: Hit, hit: Hit) -> Hit:
    """A hit with a restatement of it."""
    evidence = (
        (*leader.message_ids, *hit.message_ids) if leader.text.split() == hit.text.split() else leader.message_ids
    )
    times = tuple(sorted(filter(None, (*(leader.said_at or (leader.sent_at,)), hit.sent_at))))
    return replace(leader, similar=(*leader.similar, hit.id), message_ids=evidence, said_at=times)


def _restates(leader: Hit, hit: Hit) -> bool:
    """Whether a hit adds nothing but its time: the same speaker says the same.

    Vectors cannot distinguish "I owe you" from "you owe me", nor read the truncated part of a text, so the words
    decide.
    """
    if (leader.kind, leader.speaker) != (hit.kind, hit.speaker) or max(len(leader.text), len(hit.text)) > LONGEST:
        return False
    return restates(leader.text, hit.text)


DERIVED = 50
"""Best derived memories whose evidence joins the pool."""
MIN_RELEVANCE = 0.25
"""Lowest cosine of a memory that is relevant to a query."""
RELEVANCE_MARGIN = 0.1
"""A message nearer to the query than its memory by this margin is relevant for something else that it says."""
BOOST = 0.5
"""How far the cosine of evidence is raised towards that of a nearer derived memory; half is best on LoCoMo."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of the rows of a pool.

    Attributes:
        via: docs of the relevant memories derived from a row.
        boosted: raised cosines of rows with a nearer derived memory.
        successors: rows that show what holds instead of a row.
    """

    via: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    boosted: Mapping[int, float] = field(default_factory=dict[int, float])
    successors: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])

    def rows(self) -> list[int]:
        """Rows that must be in the pool."""
        return list({*self.via, *(row for rows in self.successors.values() for row in rows)})


@dataclass(frozen=True, slots=True)
class Visibility:
    """The rows a search may return: ``visible`` ones as hits; ``represented`` ones, derived memories, by their
    evidence.
    """

    visible: Mask
    represented: Mask

    def provenance(self, view: View, question: AnalysedQuery, rows: Rows) -> Provenance:
        """The provenance of the rows of a pool."""
        via, boosted = self._derived_memories(view, question)
        return Provenance(via, boosted, self._successors(view, question, ascending(len(view.columns), rows, list(via))))

    def _derived_memories(self, view: View, question: AnalysedQuery) -> tuple[dict[int, list[int]], dict[int, float]]:
        """The nearest derived memories by the row of their evidence, and the raised cosines of these rows."""
        via: dict[int, list[int]] = {}
        boosted: dict[int, float] = {}
        if question.cosines is None or not self.represented.any():
            return via, boosted
        meaning = question.cosines.values
        best = top(meaning, self.represented, DERIVED, above=MIN_RELEVANCE)
        evidence = self._evidence(view, best)
        visible = [parent for parents in evidence.values() for parent in parents]
        question.cosines.sharpen(np.array([*best.tolist(), *visible], np.intp))
        for row in best.tolist():
            for parent in evidence.get(row, ()):
                via.setdefault(parent, []).append(int(view.columns.doc[row]))
                nearer = BOOST * float(meaning[row]) + (1 - BOOST) * float(meaning[parent])
                boosted[parent] = max(boosted.get(parent, -1.0), nearer)
        return via, boosted

    def _evidence(self, view: View, rows: Rows) -> dict[int, list[int]]:
        """The visible evidence rows of derived memories."""
        child, parent = view.columns.derived()
        pairs = np.flatnonzero(np.isin(child, rows) & self.visible[parent])
        evidence: dict[int, list[int]] = {}
        for pair in pairs.tolist():
            evidence.setdefault(int(child[pair]), []).append(int(parent[pair]))
        return evidence

    def _successors(self, view: View, question: AnalysedQuery, rows: Rows) -> dict[int, list[int]]:
        """For superseded rows: the rows that show what superseded them."""
        validity, columns, filters = view.columns.validity, view.columns, question.query.filters
        successors: dict[int, list[int]] = {}
        if not validity.successors:
            return successors
        for row, doc in zip(rows.tolist(), columns.doc[rows].tolist(), strict=True):
            docs = [doc, *validity.saying(doc)]
            if validity.successors.keys().isdisjoint(docs):
                continue
            memory = self._most_relevant(view, question, docs)
            successor = None if memory is None else validity.successor(memory, filters.at, filters.known_at)
            if memory is None or successor is None or not self._is_relevant(view, question, row, memory):
                continue
            for successor_row in columns.rows_of([successor]).tolist():
                successors[row] = [other for other in self.evidence_rows(view, successor_row) if other != row]
        return successors

    def evidence_rows(self, view: View, row: int) -> list[int]:
        """The rows that show a record: its own row if visible, else its evidence."""
        return [row] if self.visible[row] else self._evidence(view, np.array([row])).get(row, [])

    def _is_relevant(self, view: View, question: AnalysedQuery, row: int, doc: int) -> bool:
        """Whether the query is about this memory, rather than about something else in its message."""
        memory_rows = view.columns.rows_of([doc])
        if question.cosines is None or not len(memory_rows) or int(memory_rows[0]) == row:
            return True
        question.cosines.sharpen(np.array([row, memory_rows[0]], np.intp))
        row_cosine, memory_cosine = question.cosines.values[[row, memory_rows[0]]].tolist()
        return memory_cosine >= min(MIN_RELEVANCE, row_cosine - RELEVANCE_MARGIN)

    def _most_relevant(self, view: View, question: AnalysedQuery, docs: Sequence[int]) -> int | None:
        """The memory most relevant to the query, of a record and the memories derived from it."""
        columns = view.columns
        memories = [doc for doc in docs if doc in columns.validity.origins or doc in columns.validity.successors]
        if len(memories) < 2 or question.cosines is None:
            return memories[0] if memories else None
        rows = columns.rows_of(sorted(memories))
        question.cosines.sharpen(rows)
        return int(columns.doc[rows[int(np.argmax(question.cosines.values[rows]))]]) if len(rows) else None


def visibility(view: View, allowed: Mask) -> Visibility:
    """Split the allowed rows into hits of their own and memories represented by their evidence."""
    child, parent = view.columns.derived()
    represented = np.zeros(len(view.columns), np.bool_)
    represented[child[allowed[parent]]] = True
    named = np.zeros(len(view.columns), np.bool_)  # a memory derived from a represented one has no hit to list it
    named[child[allowed[parent] & ~represented[parent]]] = True
    represented &= allowed & named
    return Visibility(allowed & ~represented, represented)


def doubtful_last(order: Rows, doubtful: NDArray[np.bool_], relevance: Floats) -> Rows:
    """The order with each doubtful hit after every other one that is more relevant.

    Args:
        order: positions in the pool, best first.
        doubtful: (m,) mask of the pool.
        relevance: (m,) of the pool.
    """
    ranks, values, behind = np.arange(len(order), dtype=np.float64), relevance[order], doubtful[order]
    for rank in np.flatnonzero(behind).tolist():
        above = np.flatnonzero(~behind & (values > values[rank]))
        ranks[rank] = max(rank, above[-1] + 0.5) if len(above) else rank
    return order[np.argsort(ranks, kind="stable")]


def current_first(order: Rows, successors: Mapping[int, Iterable[int]]) -> Rows:
    """Move successors right before what they superseded, or replies before requests; everything else keeps its place.

    Args:
        order: positions in a pool, best first.
        successors: positions of the successors of superseded positions.
    """
    if not successors:
        return order
    ordered: dict[int, None] = {}
    for position in order.tolist():
        _append_after_successors(position, successors, ordered, set())
    return np.array(list(ordered), np.intp)


def replies(view: View, pool: Pool, question: str, terms: Sequence[str]) -> dict[int, list[int]]:
    """The positions of an assistant's answers by those of the requests that they follow, or of its offers.

    One of the two has a word of the question besides the verb: of "Which film did you recommend?" not only "recommend".

    Args:
        view: the user's records.
        pool: the candidates.
        question: what is asked.
        terms: its terms, as the pool counts them.
    """
    c, positions = view.columns, {row: position for position, row in enumerate(pool.rows.tolist())}
    asked = requests(c, pool.rows)
    answers = c.has_role(ASSISTANTS)[pool.rows] & ~c.agents[c.padded("previous")[pool.rows]]
    verbs = {term for verb in ASKED_OF_REPLY.findall(question) for term in content_terms(verb)}
    others = np.array([term not in verbs for term in terms], np.bool_)
    on_subject: Mask = np.logical_or((pool.counts[:, HERE][:, others] > 0).any(axis=1), not others.any())
    return {
        positions[row]: [position]
        for position, row in enumerate(asked.tolist())
        if row in positions and answers[position] and (on_subject[position] or on_subject[positions[row]])
    }


def as_relevant(relevance: Floats, successors: Mapping[int, Sequence[int]]) -> Floats:
    """The relevances, where a successor bears on the query at least as much as what it superseded.

    Otherwise a limit could keep what is outdated and leave out what holds.

    Args:
        relevance: (m,) of the positions in a pool, 0 to 1.
        successors: positions of the successors of superseded positions.
    """
    raised = relevance.copy()
    for position, later in successors.items():
        raised[later] = np.maximum(raised[later], relevance[position])
    return raised


def _append_after_successors(
    position: int, successors: Mapping[int, Iterable[int]], ordered: dict[int, None], open_: set[int]
) -> None:
    """Append a position after its successors; ``open_`` guards against cycles."""
    if position in ordered or position in open_:
        return
    open_.add(position)
    for other in successors.get(position, ()):
        _append_after_successors(other, successors, ordered, open_)
    ordered.setdefault(position, None)
