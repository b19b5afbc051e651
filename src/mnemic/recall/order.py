"""The order of like hits: what the question names decides, then the latest comes first.

A number, an identifier or a name in the question tells like things apart: ticket 4700 from ticket 4701. A hit that shares
the rest of the question but lacks its name never stands before a hit that has all it has and the name too, whatever the
signals and the other passes say.

Of the first hits on the same matter the latest comes first. One logistic regression on pairs of hits decides whether the
later one moves before an earlier one that is ranked ahead of it: by what the network of ``mnemic-minilm`` reads, whether the
later one updates what the earlier one says about the question; by how near the two are to each other; and by how far the
later one stands out: how much nearer it is to the question than the hits that are merely next. An earlier hit goes before a
later one that is near to it and updates nothing. No hit is removed: hits only change places. Of what
people say to each other, only words of one person change places, and less easily.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders.readers import UPDATES
from mnemic.indexes.catalog import KINDS
from mnemic.recall.candidates import HERE, AnalysedQuery, Pool
from mnemic.runtime.views import View
from mnemic.text.dates import without_dates
from mnemic.text.english import ASKS, WEEKDAYS, bare_words, names, qualified
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import Episode, MemoryRecord, Message, Query, Stored
from mnemic.vectors import DEFAULT_MODELS, Floats, Mask, Rows, dot, eased, top

WEIGHTS: Mapping[str, float] = MappingProxyType({"update": 0.67, "alike": 1.88, "prominence": 3.08, "bias": -2.64})
"""Weight of each feature in the log odds that the later of two hits goes first.

Fitted by ``benchmarks.quality.recency_fit`` on four families of templates, 254 stories of values that change and stay, alone
and amid other talk, facts about a person or a project of which some change, questions of BEAM, the observations written down
about five conversations of LoCoMo, 40 questions about eight conversations with an assistant, 270 about small memories, and
pairs of statements by authors whom the network has not read.
"""

AMONG_PEOPLE = 3.0
"""Log odds with which what a person tells others moves before an earlier statement of the same person: they tell each other of
many like things. Chosen on eight facts that change and on conversations of LoCoMo, whose order it must not spoil.
"""
CERTAIN, UNREAD = 5.0, -1.5
"""Log odds of an update that count as certain, and those of a pair that is not read."""

Updates = Callable[[Sequence[tuple[int, int]]], Floats]
"""Reads the log odds that the second of two hits updates what the first says about the question, for n pairs of them: (n,), nan
where it cannot."""
Reader = Callable[[Sequence[int]], Mapping[int, Stored]]
"""Reads records by doc."""

_QUESTION = re.compile(r"\s*(?:what|which|who|whose|where|when|how|am|is|are|do|does|has|have)\b", re.IGNORECASE)
LOOKED_AT = 8
"""First hits whose order may change."""
OUTSTANDING = 5
"""The hits nearest to the question that may stand out; the others looked at are the floor that they stand out of."""
ALIKE = 0.4
"""The least cosine of a statement with one that updates it."""
NO_UPDATE, MARGIN = -1.0, 0.1
"""Log odds below which a statement updates nothing, and the cosine by which it may be nearer to the question than the earlier
one that goes before it."""
_SMOOTHING = 0.05
SHORT, _READ, _SENTENCES = 250, 4_000, 40
"""Characters of a text that is read as a whole, characters of a longer one that are read, and sentences of these."""

_EARLIER = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|originally|at first|used to|did \w+ use to|back then|my (?:old|ex))\b"
    r"|\bbefore(?: that| then| now)?\W*$",
    re.IGNORECASE,
)
_WHETHER = re.compile(r"\s*(?:have|has|had|am|is|are|was|were|do|does|did|can|could|will|would)\b", re.IGNORECASE)
_THEN = re.compile(
    r"\b(?:did|was|were|had|been|ever|before|earlier|first|ago|yesterday|history|last (?:week|month|year|time)|"
    r"(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_IS = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|final|now|these days)\b|\bagain\W*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHits:
    """The first n hits of a question with T terms, best first: messages of people, and memories.

    Attributes:
        texts: the content of each hit.
        times: (n,) rank in time; of two hits of one moment the later row ranks higher.
        cosines: (n,) with the question; ``alike``: (n, n) with each other; both on the scale of the default embedder.
        has_terms: (n, T) whether a text has the terms of the question.
        people: (n,) the number of the speaker of a turn among several people, without an assistant; -1 for other hits.
        updates: reads pairs of them.
    """

    texts: Sequence[str]
    times: NDArray[np.int64]
    cosines: Floats
    alike: Floats
    has_terms: Mask
    people: NDArray[np.int64]
    updates: Updates


def asks(text: str) -> bool:
    """Whether a text is a question rather than keywords."""
    return "?" in text or _QUESTION.match(text) is not None


def asks_for_earlier(question: str) -> bool:
    """Whether a question asks for the value before the current one: "my former boss", "What was it before?".

    "Have I done this before?" asks for none.
    """
    if _WHETHER.match(question) or _IS.search(question):
        return False
    return _EARLIER.search(question) is not None


def asks_of_the_past(question: str, *, at_a_time: bool) -> bool:
    """Whether a question is about the past, unless it is asked as of a moment; "Who was my dentist again?" is not."""
    return not at_a_time and _THEN.search(question) is not None and _IS.search(question) is None


def latest_first(question: str, hits: FirstHits, *, at_a_time: bool = False) -> list[int]:
    """The order of the hits after each later one has moved before the first hit that it supersedes, and each earlier one before
    the first hit that leaves it as it was.

    Args:
        question: what is asked.
        hits: the first hits.
        at_a_time: the question is asked as of a moment, so that another one that it names does not matter. Otherwise a question
            about the past keeps the order, and of two values the earlier one goes first where it is asked for.
    """
    if asks_for_earlier(question):
        pairs = [(old, new) for old, new in _pairs(hits) if new < old]
        updated = [pair for pair, odds in zip(pairs, hits.updates(pairs).tolist(), strict=True) if odds > 0]
        return ordered(len(hits.texts), [(new, old) for old, new in updated])
    if asks_of_the_past(question, at_a_time=at_a_time):
        return list(range(len(hits.texts)))
    pairs = _superseding(hits, _ranked_ahead(hits))
    asked = _particulars(question)
    pairs = [pair for pair in pairs if not _of_another(asked, hits.texts[pair[0]], hits.texts[pair[1]])]
    return ordered(len(hits.texts), [*pairs, *((later, earlier) for earlier, later in _outlasting(hits))])


class _Particulars(NamedTuple):
    """What tells the thing a text is about from others of its sort.

    Words with a digit (4700, 14D, v2), weekdays, and pairs of terms of which the first qualifies the second (garage PIN).
    """

    numbers: frozenset[str]
    weekdays: frozenset[str]
    qualified: frozenset[tuple[str, str]]
    terms: frozenset[str]


def _particulars(text: str) -> _Particulars:
    words = bare_words(text)
    return _Particulars(
        frozenset(word for word in words if any(map(str.isdigit, word))),
        frozenset(day for word in words if (day := word.removesuffix("s")) in WEEKDAYS),
        qualified(text),
        frozenset(content_terms(text)),
    )


def _of_another(asked: _Particulars, old: str, new: str) -> bool:
    """Whether a statement has something else in place of what the question and the earlier statement share.

    That is another number, another weekday, or another qualifier of the same thing: the cellar PIN for the garage PIN.
    """
    a, b = _particulars(old), _particulars(new)
    exchanged = any(
        (shared := question & first) and not shared & later and bool(later - question - first)
        for question, first, later in zip(asked[:2], a[:2], b[:2], strict=True)
    )
    things = {thing for qualifier, thing in asked.qualified & a.qualified if qualifier not in b.terms}
    return exchanged or any(
        thing in things and qualifier not in asked.terms | a.terms for qualifier, thing in b.qualified
    )


def _outlasting(hits: FirstHits) -> list[tuple[int, int]]:
    """The pairs (earlier, later) of hits of which the earlier one moves before the later one.

    The later one is near to it and does not update it: it is of somebody else, supposed, planned, or an exception. It may
    resemble the question more, but has no word of it that the earlier one lacks.
    """
    pairs = [
        (old, new)
        for old, new in _pairs(hits)
        if new < old
        and hits.alike[old, new] >= ALIKE
        and hits.cosines[old] >= hits.cosines[new] - MARGIN
        and not (hits.has_terms[new] & ~hits.has_terms[old]).any()
    ]
    return [pair for pair, odds in zip(pairs, hits.updates(pairs).tolist(), strict=True) if odds < NO_UPDATE]


def _superseding(hits: FirstHits, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs (earlier, later) of hits those of which the later one moves before the earlier one."""
    sums = _weighted(_measured(hits, pairs))
    possible = sums + CERTAIN * WEIGHTS["update"] > 0
    pairs = [pair for pair, mark in zip(pairs, possible.tolist(), strict=True) if mark]
    sums = sums[possible] + _weighted(_read(hits, pairs))
    least = np.where(hits.people[[new for _, new in pairs]] >= 0, AMONG_PEOPLE, 0)
    return [pair for pair, mark in zip(pairs, (sums > least).tolist(), strict=True) if mark]


def _weighted(values: Mapping[str, Floats]) -> Floats:
    weights = np.array([WEIGHTS[name] for name in values], np.float32)
    return dot(np.stack([*values.values()], axis=1), weights)


def ordered(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """The order of ``count`` hits, given the pairs (earlier, later) of which the later one goes first."""
    later = np.zeros((count, count), np.bool_)
    for old, new in pairs:
        later[new, old] = True
    for middle in range(count):  # what goes before a later one goes before the earlier one as well
        later |= later[:, [middle]] & later[[middle]]
    order: list[int] = []
    for index in range(count):
        position = next((n for n, other in enumerate(order) if later[index, other]), len(order))
        order.insert(position, index)
    return order


def features(hits: FirstHits) -> tuple[list[tuple[int, int]], dict[str, Floats]]:
    """The pairs (earlier, later) of hits of which the earlier one is ranked ahead, and their features: by name, (pairs,)."""
    pairs = _ranked_ahead(hits)
    return pairs, _read(hits, pairs) | _measured(hits, pairs)


def _ranked_ahead(hits: FirstHits) -> list[tuple[int, int]]:
    return [(old, new) for old, new in _pairs(hits) if old < new]


def _pairs(hits: FirstHits) -> list[tuple[int, int]]:
    """The pairs (earlier, later) of hits with different texts; what people say to each other updates their own words alone."""
    indexes = range(len(hits.texts))
    return [
        (old, new)
        for old in indexes
        for new in indexes
        if hits.times[old] < hits.times[new]
        and hits.texts[old] != hits.texts[new]
        and hits.people[new] in (-1, hits.people[old])
    ]


def _measured(hits: FirstHits, pairs: Sequence[tuple[int, int]]) -> dict[str, Floats]:
    """The features for which no pair is read."""
    old, new = np.array(pairs, np.intp).reshape(-1, 2).T
    cosines = np.maximum(hits.cosines, 0)
    floor = _floor(cosines)
    prominence = (cosines[new] - floor) / (cosines.max(initial=0.0) - floor + _SMOOTHING)
    return {"alike": hits.alike[old, new], "prominence": prominence, "bias": np.ones(len(pairs), np.float32)}


def _read(hits: FirstHits, pairs: Sequence[tuple[int, int]]) -> dict[str, Floats]:
    return {"update": bounded(hits.updates(pairs))}


def _floor(cosines: Floats) -> np.float32:
    """The mean cosine of the hits that do not stand out; lower where there are fewer of them, 0 where there are none."""
    others = np.sort(cosines)[::-1][OUTSTANDING:]
    return np.float32(others.sum() / (LOOKED_AT - OUTSTANDING))


def by_recency(
    read: Reader,
    view: View,
    query: Query,
    pool: Pool,
    order: Rows,
    vectors: Floats,
) -> tuple[Rows, dict[int, list[int]]]:
    """The order with the latest hit on a matter before earlier ones, among the first hits; and what moved before each.

    Hits from assistants, episodes, and earlier questions keep their places, and so do those of another period than the
    question names, where there are hits of that one.

    Args:
        read: reads the record.
        view: the user's records.
        query: what is asked.
        pool: the candidates.
        order: positions in the pool, best first.
        vectors: (m, d) of the candidates, without their mean where the user's are compared without it.
    """
    ranks = np.arange(min(LOOKED_AT, len(order)))
    eligible = _statements(view, pool)
    ranks = ranks[eligible[order[ranks]]]
    if len(ranks) < 2 or not asks(query.text):  # keywords keep their order
        return order, {}
    first = order[ranks]
    hits = _first_hits(read, view, query, pool, first, vectors[first])
    if hits is None:
        return order, {}
    permutation = latest_first(query.text, hits, at_a_time=query.filters.at is not None)
    order = order.copy()
    order[ranks] = first[permutation]
    moved = {
        int(first[rank]): first[[later for later in permutation[:n] if later > rank]].tolist()
        for n, rank in enumerate(permutation)
    }
    return order, moved


def _statements(view: View, pool: Pool) -> Mask:
    """Which candidates may change places with each other."""
    within = pool.periods.within
    episodes = view.columns.kind[pool.rows] == KINDS["episode"]
    return ~(pool.agent | pool.echo | episodes) & (within == within.max())


def _first_hits(
    read: Reader,
    view: View,
    query: Query,
    pool: Pool,
    first: Rows,
    vectors: Floats,
) -> FirstHits | None:
    """Input of the model; None where a candidate was erased since the snapshot."""
    docs = view.columns.doc[pool.rows[first]].tolist()
    stored = read(docs)
    values = [stored[doc].value for doc in docs if doc in stored]
    records = [value for value in values if not isinstance(value, Episode)]
    if len(records) < len(docs):
        return None
    texts = [value.content for value in records]
    return FirstHits(
        texts=texts,
        times=np.argsort(np.lexsort((pool.rows[first], pool.times[first]))),
        cosines=_eased(pool.dense[first], _base(view)),
        alike=_alike(view, vectors),
        has_terms=pool.counts[first, HERE] > 0,
        people=np.where(_among_people(view, pool), view.columns.speaker[pool.rows], -1)[first],
        updates=update_odds(
            query.text,
            [_spoken(r, named=by) for r, by in zip(records, pool.speaker[first].tolist(), strict=True)],
            view.model,
        ),
    )


def latest_statements(
    texts: Sequence[str], times: NDArray[np.int64], alike: Floats, model: str | None, most: int
) -> list[int]:
    """The indexes of the first statements, each after the later ones that update it.

    A statement is taken for a question: a later one that answers it has a new value.

    Args:
        texts: (n,) statements, best first.
        times: (n,) their rank in time.
        alike: (n, n) their cosines, on the scale of the default embedder.
        model: id of their embedder.
        most: how many of the first are wanted; those that update them are added.
    """
    first = range(min(most, len(texts)))
    pairs = [(old, new) for old in first for new in _updates_of(old, texts, times, alike, model)]
    indexes = sorted({*first, *(new for _, new in pairs)})
    positions = {index: n for n, index in enumerate(indexes)}
    return [indexes[n] for n in ordered(len(indexes), [(positions[old], positions[new]) for old, new in pairs])]


def _updates_of(
    index: int, texts: Sequence[str], times: NDArray[np.int64], alike: Floats, model: str | None
) -> list[int]:
    """The later statements that update one."""
    near = np.argsort(-alike[index], kind="stable")
    near = near[(times[near] > times[index]) & (alike[index, near] >= ALIKE)][: LOOKED_AT - 1]
    if not len(near):
        return []
    first = [index, *near.tolist()]
    statements = [texts[n] for n in first]
    hits = FirstHits(
        texts=statements, times=times[first], cosines=alike[index, first], alike=alike[np.ix_(first, first)],
        has_terms=np.zeros((len(first), 0), np.bool_), people=np.full(len(first), -1),
        updates=update_odds("", statements, model),
    )  # fmt: skip
    pairs = [(0, n) for n in range(1, len(first))]
    return [first[new] for _, new in _superseding(hits, pairs)]


FOLLOWED, NEAREST = 2, 8
"""First hits of which distant updates are looked for, and the later statements nearest to each that are read."""
BY_CHANCE, ALONE = 0.25, -4.0
"""What a single later statement is ahead of: the cosine that the nearest of a few others has by chance, and the log odds with
which it is read to update one."""
DISTANT: Mapping[str, float] = MappingProxyType({"gap": 4.68, "update": 0.11, "ahead": 0.55, "bias": -1.57})
"""Weight of each feature in the log odds that a later statement updates a hit, plus the logarithm of 3: to miss an update
costs more than a line too many.

Fitted by ``benchmarks.quality.recency_fit`` on pairs of statements by authors whom the network has not read, each amid 4 to 300
other lines, and on statements of conversations with an assistant that nothing updates.
"""


def distant_updates(
    read: Reader, view: View, question: AnalysedQuery, allowed: Mask, pool: Pool, order: Rows
) -> dict[int, list[int]]:
    """The later statements that update one of the first hits and are not among them, by its row.

    "Kenji handed back his keys" shares nothing with "Who rents our room?", only with the answer that it updates. So the
    statements of the same speaker that are nearest to a first hit are compared with it.

    Args:
        read: reads the record.
        view: the user's records.
        question: the analysed query.
        allowed: (rows,) which records may be found.
        pool: the candidates.
        order: positions in the pool, best first.
    """
    c, query = view.columns, question.query
    at_a_time = query.filters.at is not None
    past = asks_for_earlier(query.text) or asks_of_the_past(query.text, at_a_time=at_a_time)
    if view.model not in DEFAULT_MODELS or past or not asks(query.text):
        return {}
    eligible = _statements(view, pool) & ~_among_people(view, pool)
    first = order[:LOOKED_AT]
    spoken = allowed & (c.kind == KINDS["message"]) & ~c.agents & ((c.traits & ASKS) == 0)
    spoken[pool.rows[first[eligible[first]]]] = False  # these ``by_recency`` reads
    updates: dict[int, list[int]] = {}
    for row in pool.rows[first[eligible[first]][:FOLLOWED]].tolist():
        later = spoken & (c.time > c.time[row])
        if c.kind[row] == KINDS["message"]:
            later &= c.speaker == c.speaker[row]
        if later.any() and (rows := _updates_among(read, view, question, row, later)):
            updates[row] = rows
    return updates


def _updates_among(read: Reader, view: View, question: AnalysedQuery, row: int, later: Mask) -> list[int]:
    """The rows of later statements that update the one of a row; none if one was erased since the snapshot."""
    c = view.columns
    cosines = view.vectors.cosines([view.vectors.of(np.array([row]))[0]])
    cosines.settle(later, NEAREST)
    near = top(cosines.values, later, NEAREST, above=-2.0)
    docs = c.doc[[row, *near.tolist()]].tolist()
    stored = read(docs)
    values = [stored[doc].value for doc in docs if doc in stored]
    records = [value for value in values if not isinstance(value, Episode)]
    if len(records) < len(docs) or not len(near):
        return []
    first, others = records[0], records[1:]
    alike = _eased(cosines.values[near], _base(view))
    named = question.speakers == [c.speaker[row]]
    texts = [_spoken(record, named=named) for record in records]
    updates = bounded(update_odds(question.query.text, texts, view.model)([(0, n) for n in range(1, len(texts))]))
    features = distant_features(alike, updates)
    likely = dot(features, np.array([*DISTANT.values()], np.float32)) > 0
    asked = _particulars(question.query.text)
    same = [not _of_another(asked, first.content, other.content) for other in others]
    return near[likely & np.array(same)].tolist()


def distant_features(alike: Floats, updates: Floats) -> Floats:
    """(n, 4) features of the later statements nearest to one, in the order of ``DISTANT``.

    Args:
        alike: (n,) their cosines with it, descending.
        updates: (n,) the log odds that they update it.
    """
    columns = (_ahead(alike, BY_CHANCE), updates, _ahead(updates, ALONE), np.ones(len(alike)))
    return np.stack(columns, axis=1).astype(np.float32)


def _ahead(values: Floats, alone: float) -> Floats:
    """(n,) how far each value is ahead of the best other one, of which there is at least one."""
    *_, second, best = sorted((alone, *values.tolist()))
    return np.array([value - (second if value == best else best) for value in values.tolist()], np.float32)


def likeness(view: View, rows: Rows) -> Floats:
    """(n, n) cosines of memories with each other, on the scale of the default embedder."""
    vectors, centre = view.vectors.of(rows), view.vectors.centre
    return _alike(view, vectors if centre is None else centre.apart(vectors))


def _spoken(record: Message | MemoryRecord, *, named: bool) -> str:
    """What the network reads of a record: the question names its speaker, or not. "Where does Zoe live?" is not of an "I"."""
    speaker = record.name if isinstance(record, Message) else record.speaker
    return f"{speaker}: {record.content}" if named and speaker else record.content


def update_odds(question: str, texts: Sequence[str], model: str | None) -> Updates:
    """Reads pairs of texts with a question, empty for whatever the earlier one says."""
    terms = {*content_terms(question)}
    later = [about(text, terms) for text in texts]
    earlier = [f"{question} {text}" if question else text for text in later]

    def read(pairs: Sequence[tuple[int, int]]) -> Floats:
        odds = UPDATES.log_odds([(earlier[old], later[new]) for old, new in pairs], model)
        return np.full(len(pairs), np.nan, np.float32) if odds is None else odds

    return read


def bounded(odds: Floats) -> Floats:
    """Log odds of updates as a feature."""
    return np.clip(np.nan_to_num(odds, nan=UNREAD), -CERTAIN, CERTAIN)


def about(text: str, terms: Collection[str]) -> str:
    """A text of at most ``SHORT`` characters; of a longer one the sentences around that with most of some terms."""
    if len(text) <= SHORT:
        return text
    parts = sentences(text[:_READ])[:_SENTENCES] or [text]
    shared = [len({*terms}.intersection(content_terms(part))) for part in parts]
    begin = end = shared.index(max(shared))
    room = SHORT - len(parts[begin])
    for number in sorted(range(len(parts)), key=lambda n: (abs(n - begin), -n)):  # the next one before the last one
        if number in (begin - 1, end + 1) and len(parts[number]) < room:
            begin, end, room = min(begin, number), max(end, number), room - len(parts[number]) - 1
    return " ".join(parts[begin : end + 1])[:SHORT]


def _alike(view: View, vectors: Floats) -> Floats:
    return _eased(dot(vectors, vectors.T), _base(view))


def _base(view: View) -> float:
    return view.base if view.vectors.centre is None else 0.0


def _eased(cosines: Floats, base: float) -> Floats:
    return eased(np.asarray(cosines, np.float64), base).astype(np.float32)


def _among_people(view: View, pool: Pool) -> Mask:
    """Which candidates are turns of a conversation among several people, without an assistant."""
    c = view.columns
    turns = ~pool.assisted & ~pool.agent & (c.kind[pool.rows] == KINDS["message"])
    return turns & ~c.one_person[c.group[pool.rows]]


# Names

FIRST = 100
"""First hits whose order may change."""


def naming_terms(text: str, terms: Sequence[str]) -> Mask:
    """(T,) which terms of a question name something: those with a digit, and those of proper names, but for dates."""
    name_terms = {term for name in names(text) for term in content_terms(name)}
    naming = [term in name_terms or any(map(str.isdigit, term)) for term in terms]
    if any(naming):
        undated = {*content_terms(without_dates(text))}
        naming = [mark and term in undated for term, mark in zip(terms, naming, strict=True)]
    return np.array(naming, np.bool_)


def named_first(text: str, terms: Sequence[str], pool: Pool, order: Rows) -> Rows:
    """The order with each hit behind those on a like thing that have all its terms of the question, and a name more.

    Args:
        text: the question.
        terms: its terms, as the pool counts them.
        pool: the candidates.
        order: positions in the pool, best first.
    """
    naming = naming_terms(text, terms)
    if not naming.any():
        return order
    first = order[:FIRST]
    has = pool.counts[first, HERE] > 0
    named_more = (has[:, None, naming] & ~has[None, :, naming]).any(axis=2)
    lacks = (has[None] & ~has[:, None]).any(axis=2)
    alike = has[:, ~naming].any(axis=1) | bool(naming.all())
    ahead: Mask = np.logical_and(named_more & ~lacks, alike)
    return np.concatenate([first[_behind(ahead)], order[FIRST:]])


def _behind(ahead: Mask) -> list[int]:
    """The indexes 0 to n - 1, each behind those that go ahead of it; otherwise in order.

    Args:
        ahead: (n, n) whether the first index goes before the second; without cycles.
    """
    remaining, order = list(range(len(ahead))), list[int]()
    waits = ahead.sum(axis=0)
    while remaining:
        index = next(index for index in remaining if not waits[index])
        remaining.remove(index)
        order.append(index)
        waits -= ahead[index]
    return order
