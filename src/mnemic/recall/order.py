"""The order of like hits: what the question names decides, then the latest comes first.

A number, an identifier or a name in the question tells like things apart: ticket 4700 from ticket 4701. A hit that shares
the rest of the question but lacks its name never stands before a hit that has all it has and the name too, whatever the
signals and the other passes say.

Of the first hits on the same matter the latest comes first. One logistic regression on pairs of hits decides whether the
later one moves before an earlier one that is ranked ahead of it. A new value is told from another fact by how near the two
are to each other, and by how far the later one stands out: how much nearer it is to the question than the hits that are
merely next. A regression of its own, in ``updates.json``, distinguishes corrections, endings and changes from additions by the
vector and the phrases of the later one. The other features are the share of the question that both contain, the words they have
in common beside it, whether the later one has other numbers, is about another person or thing, tells of an event, or is
hypothetical or temporary, and whether it is far less likely to bear on the question. An earlier hit goes before a later one
that is near to it and updates nothing. No hit is removed: hits only change places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders.probe import TextProbe
from mnemic.indexes.catalog import KINDS
from mnemic.indexes.keyword import idf
from mnemic.recall.candidates import HERE, AnalysedQuery, Pool
from mnemic.runtime.views import View
from mnemic.text.dates import without_dates
from mnemic.text.english import ASKS, WEEKDAYS, bare_words, names, qualified
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms, index_terms
from mnemic.types import Episode, MemoryRecord, Message, Query, Stored
from mnemic.vectors import DEFAULT_MODELS, Floats, Mask, Rows, dot, eased, top

WEIGHTS: Mapping[str, float] = MappingProxyType({
    "alike": 5.32, "prominence": 3.41, "floor": -1.49, "shared": 1.85, "common": 1.14, "far": -0.06, "another": -0.84,
    "another_shared": -2.16, "numbers": 0.45, "update": 1.13, "event": 0.82, "passing": -1.36, "past": -1.8, "people":
    -5.87, "bias": -5.85,
})  # fmt: skip
"""Weight of each feature in the log odds that the later of two hits goes first.

Fitted by ``benchmarks.quality.recency_fit`` on four families of templates, 254 stories of values that change and stay,
alone and amid other talk, facts about a person or a project of which some change, 54 questions on updated values and
the other questions of BEAM, the questions of five conversations of LoCoMo, asked of the talk and of the observations
written down about it, 40 questions about eight conversations with an assistant, 270 about small memories, and 2,100 pairs of
statements by thirty authors.
"""

UPDATE = TextProbe("mnemic.recall", "updates.json")
"""The log odds that a text corrects, ends or changes what was said before.

Fitted by ``benchmarks.quality.recency_fit`` on 10,180 pairs of statements by thirty authors who knew no code, with the phrases
that at least seven of them wrote. The later one corrects, takes back, ends or changes the earlier one, or is of another thing,
supposed, temporary, planned, past or an addition.
"""

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
_LEAST = 0.005
"""The least relevance that counts."""
_SHORT, _READ, _SENTENCES = 200, 4_000, 40
"""Characters of a text that is read as a whole, characters of a longer one that are read, and sentences of these."""


def _stems(words: str) -> frozenset[str]:
    return frozenset(index_terms(words))


_PASSING = _stems(
    "if would could might may maybe perhaps wish want wanna think consider should hope tempted tonight tomorrow until till "
    "temporarily meanwhile"
)
_SELF = _stems("i i'm im ive my me mine we our us")
_KIN = _stems(
    "mom mum mother dad father sister brother friend wife husband partner son daughter cousin aunt uncle neighbour"
)
_EVENT = re.compile(  # "is called" and "are needed" tell of a state
    r"(?<!\bis )(?<!\bare )(?<!\bbe )\b\w+[^\We]ed\b|\b(?:left|became|went|put|took|got|gave|lost|quit|sold)\b",
    re.IGNORECASE,
)
_WAS = re.compile(
    r"\b(?:did|was|were|had|been|ever|before|previous(?:ly)?|earlier|first|originally|ago|yesterday|history|back then|"
    r"last (?:week|month|year|time)|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|final|now|these days)\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:who|whom|names?|called)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_OWNER = re.compile(r"([^\W\d_]+)['\u2019]s\s+(?=[a-z])|\b([^\W\d_]+s)['\u2019]\s")
_PRONOUNS = ("He", "She")
_SUBJECT = re.compile(r"^\W*([A-Z][\w-]+)(?:['\u2019]s)?\s+[a-z]")
_OWN = re.compile(r"^\W*(?:\w+\W+)?(?:[Mm]y|[Oo]ur)\s+(?:(?:old|new|best)\s+)?([a-z]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHits:
    """The first n hits of a question with T terms, best first: messages of people, and memories.

    Attributes:
        texts: the content of each hit.
        times: (n,) rank in time; of two hits of one moment the later row ranks higher.
        cosines: (n,) with the question; ``alike``: (n, n) with each other; both on the scale of the default embedder.
        terms: the terms of the question; ``has_terms``: (n, T) whether a text has them; ``idf``: (T,).
        people: (n,) true for a turn of a conversation among people, without an assistant.
        updates: (n,) log odds that what was said corrects, ends or changes what was said before, rather than adding to it.
        relevance: (n,) the probability that a hit is evidence; the same for all where it is not calibrated.
    """

    texts: Sequence[str]
    times: NDArray[np.int64]
    cosines: Floats
    alike: Floats
    terms: Sequence[str]
    has_terms: Mask
    idf: Floats
    people: Mask
    updates: Floats
    relevance: Floats


@dataclass(frozen=True, slots=True)
class _Reading:
    """Features of one text, read from the part that bears on the question."""

    part: str
    terms: frozenset[str]
    numbers: frozenset[str]
    begins: frozenset[str]
    event: bool
    passing: bool
    first_person: bool


def asks(text: str) -> bool:
    """Whether a text is a question rather than keywords."""
    return "?" in text or _QUESTION.match(text) is not None


def _asks_of_the_past(question: str, *, at_a_time: bool) -> bool:
    return not at_a_time and _WAS.search(question) is not None and _IS.search(question) is None


def latest_first(question: str, hits: FirstHits, *, at_a_time: bool = False) -> list[int]:
    """The order of the hits after each later one has moved before the first hit that it supersedes, and each earlier one before
    the first hit that leaves it as it was.

    Args:
        question: what is asked.
        hits: the first hits.
        at_a_time: the question is asked as of a moment, so that its past tense does not matter. Otherwise a question about the
            past keeps the order.
    """
    if _asks_of_the_past(question, at_a_time=at_a_time):
        return list(range(len(hits.texts)))
    pairs = _superseding(question, hits, at_a_time=at_a_time)
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
    return [
        (old, new)
        for old, new in _pairs(hits)
        if hits.updates[new] < NO_UPDATE
        and hits.alike[old, new] >= ALIKE
        and hits.cosines[old] >= hits.cosines[new] - MARGIN
        and not (hits.has_terms[new] & ~hits.has_terms[old]).any()
        and not hits.people[new]
    ]


def _superseding(question: str, hits: FirstHits, *, at_a_time: bool) -> list[tuple[int, int]]:
    """The pairs (earlier, later) of hits of which the later one moves before the earlier one."""
    pairs = _pairs(hits)
    measured = _measured(question, hits, pairs, at_a_time=at_a_time)
    sums = _weighted(measured)
    possible = sums + sum(max(WEIGHTS[name], 0) for name in _OF_WORDS) > 0
    pairs = [pair for pair, mark in zip(pairs, possible.tolist(), strict=True) if mark]
    if not pairs:  # their words are not read
        return []
    sums = sums[possible] + _weighted(_of_words(question, hits, pairs))
    return [pair for pair, sum_ in zip(pairs, sums.tolist(), strict=True) if sum_ > 0]


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


def features(
    question: str, hits: FirstHits, *, at_a_time: bool = False
) -> tuple[list[tuple[int, int]], dict[str, Floats]]:
    """The pairs (earlier, later) of hits with different texts, and their features: by name, shape (pairs,)."""
    pairs = _pairs(hits)
    return pairs, _measured(question, hits, pairs, at_a_time=at_a_time) | _of_words(question, hits, pairs)


def _pairs(hits: FirstHits) -> list[tuple[int, int]]:
    indexes = range(len(hits.texts))
    return [
        (old, new)
        for old in indexes
        for new in indexes
        if hits.times[old] < hits.times[new] and hits.texts[old] != hits.texts[new]
    ]


def _measured(
    question: str, hits: FirstHits, pairs: Sequence[tuple[int, int]], *, at_a_time: bool
) -> dict[str, Floats]:
    """The features for which no words are read."""
    old, new = np.array(pairs, np.intp).reshape(-1, 2).T
    past = _asks_of_the_past(question, at_a_time=at_a_time)  # always false but when weights are fitted
    cosines = np.maximum(hits.cosines, 0)
    floor = _floor(cosines)
    prominence = (cosines[new] - floor) / (cosines.max(initial=0.0) - floor + _SMOOTHING)
    return {
        "alike": hits.alike[old, new], "prominence": prominence, "floor": np.full(len(pairs), floor, np.float32),
        "shared": _shared(hits, pairs), "update": hits.updates[new], "past": np.full(len(pairs), past, np.float32),
        "people": hits.people[new].astype(np.float32), "bias": np.ones(len(pairs), np.float32),
    }  # fmt: skip


def _shared(hits: FirstHits, pairs: Sequence[tuple[int, int]]) -> Floats:
    old, new = np.array(pairs, np.intp).reshape(-1, 2).T
    return dot(hits.has_terms[old] & hits.has_terms[new], hits.idf / (hits.idf.sum() + np.float32(1e-9)))


_OF_WORDS = ("common", "numbers", "event", "another", "another_shared", "passing")
"""Features between 0 and 1 that words are read for; ``far``, whose weight is negative, makes a pair less likely."""


def _of_words(question: str, hits: FirstHits, pairs: Sequence[tuple[int, int]]) -> dict[str, Floats]:
    """The features of the words of each pair."""
    old, new = np.array(pairs, np.intp).reshape(-1, 2).T
    text, odds = _text_features(question, hits, pairs), _log_odds(hits.relevance)
    far = np.maximum(odds[old] - odds[new], 0) * (text["common"] == 0)
    another_shared = np.maximum(text["another"], text.pop("stranger")) * _shared(hits, pairs)
    return text | {"far": far, "another_shared": another_shared}


def _log_odds(probability: Floats) -> Floats:
    bounded = np.clip(probability, _LEAST, 1 - _LEAST)
    return np.log(bounded / (1 - bounded)).astype(np.float32)


def _floor(cosines: Floats) -> np.float32:
    """The mean cosine of the hits that do not stand out; lower where there are fewer of them, 0 where there are none."""
    others = np.sort(cosines)[::-1][OUTSTANDING:]
    return np.float32(others.sum() / (LOOKED_AT - OUTSTANDING))


_TEXT_FEATURES = ("common", "numbers", "event", "another", "stranger", "passing")


def _text_features(question: str, hits: FirstHits, pairs: Sequence[tuple[int, int]]) -> dict[str, Floats]:
    """Features of the words of each pair, by name, shape (pairs,)."""
    weights = dict(zip(hits.terms, hits.idf.tolist(), strict=True))
    question_terms = frozenset(content_terms(question))
    first_person, asks_who = not _SELF.isdisjoint(index_terms(question)), _WHO.search(question) is not None
    readings = [_reading_of(text, weights) for text in hits.texts]
    rows = np.zeros((len(pairs), len(_TEXT_FEATURES)), np.float32)
    for row, (old, new) in enumerate(pairs):
        a, b = readings[old], readings[new]
        mentioned = question_terms | a.terms
        extra_a, extra_b = a.terms - question_terms, b.terms - question_terms
        rows[row] = (
            len(extra_a & extra_b) / max(min(len(extra_a), len(extra_b)), 1),
            bool(a.numbers and b.numbers - a.numbers),
            b.event,
            _about_another(b.part, mentioned) or bool((b.begins & _KIN) - mentioned),
            (first_person and a.first_person and not b.first_person)
            or _another_subject(b.part, mentioned, asks_who=asks_who),
            b.passing,
        )
    return dict(zip(_TEXT_FEATURES, rows.T, strict=True))


def _reading_of(text: str, weights: dict[str, float]) -> _Reading:
    long = len(text) > _SHORT
    part = _part(text, weights) if long else text
    words, terms = index_terms(part), content_terms(part)
    word_set = frozenset(words)
    is_question = not long and text.rstrip().endswith("?")
    return _Reading(
        part=part,
        terms=frozenset(terms),
        numbers=frozenset(_NUMBER.findall(part)),
        begins=frozenset(words[:3]),
        event=_EVENT.search(part) is not None,
        passing=is_question or bool(word_set & _PASSING),
        first_person=bool(word_set & _SELF),
    )


def _part(text: str, weights: dict[str, float]) -> str:
    """The sentence that shares most terms with the question."""
    parts = sentences(text[:_READ])[:_SENTENCES] or [text]
    best = max(parts, key=lambda part: sum(weights.get(term, 0.0) for term in {*content_terms(part)}))
    return best[: 3 * _SHORT]


def _about_another(part: str, mentioned: frozenset[str]) -> bool:
    """Whether a sentence is about something of an owner not mentioned before: Ben's dentist, my boss."""
    owners = [singular or plural for singular, plural in _OWNER.findall(part)]
    if match := _OWN.match(part):
        owners.append(match[1])
    return any(terms and not mentioned & {*terms} for terms in map(content_terms, owners))


def _another_subject(part: str, mentioned: frozenset[str], *, asks_who: bool) -> bool:
    """Whether a sentence begins with he or she, or with a name not mentioned before and not asked for."""
    if (subject := _SUBJECT.match(part)) is None:
        return False
    terms = content_terms(subject[1])
    return not asks_who and not mentioned & {*terms} if terms else subject[1] in _PRONOUNS


def by_recency(
    read: Reader,
    view: View,
    query: Query,
    terms: Sequence[str],
    pool: Pool,
    order: Rows,
    vectors: Floats,
    relevance: Floats,
) -> tuple[Rows, dict[int, list[int]]]:
    """The order with the latest hit on a matter before earlier ones, among the first hits; and what moved before each.

    Hits from assistants, episodes, and earlier questions keep their places, and so do those of another period than the
    question names, where there are hits of that one.

    Args:
        read: reads the record.
        view: the user's records.
        query: what is asked.
        terms: its terms, as the pool counts them.
        pool: the candidates.
        order: positions in the pool, best first.
        vectors: (m, d) of the candidates, without their mean where the user's are compared without it.
        relevance: (m,) of the candidates, where it is calibrated.
    """
    ranks = np.arange(min(LOOKED_AT, len(order)))
    eligible = _statements(view, pool)
    ranks = ranks[eligible[order[ranks]]]
    if len(ranks) < 2 or not asks(query.text):  # keywords keep their order
        return order, {}
    first = order[ranks]
    hits = _first_hits(read, view, terms, pool, first, vectors[first], relevance[first])
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
    terms: Sequence[str],
    pool: Pool,
    first: Rows,
    vectors: Floats,
    relevance: Floats,
) -> FirstHits | None:
    """Input of the model; None where a candidate was erased since the snapshot."""
    docs = view.columns.doc[pool.rows[first]].tolist()
    stored = read(docs)
    values = [stored[doc].value for doc in docs if doc in stored]
    records = [value for value in values if not isinstance(value, Episode)]
    if len(records) < len(docs):
        return None
    return FirstHits(
        texts=[value.content for value in records],
        times=np.argsort(np.lexsort((pool.rows[first], pool.times[first]))),
        cosines=_eased(pool.dense[first], _base(view)),
        alike=_alike(view, vectors),
        terms=terms,
        has_terms=pool.counts[first, HERE] > 0,
        idf=pool.idf,
        people=_among_people(view, pool)[first],
        updates=_updates(records, vectors, view.model),
        relevance=relevance,
    )


def latest_statements(
    texts: Sequence[str], times: NDArray[np.int64], alike: Floats, updates: Floats, most: int
) -> list[int]:
    """The indexes of the first statements, each after the later ones that update it.

    A statement is read as a question: a later one that answers it has a new value.

    Args:
        texts: (n,) statements, best first.
        times: (n,) their rank in time.
        alike: (n, n) their cosines, on the scale of the default embedder.
        updates: (n,) as in ``FirstHits``.
        most: how many of the first are wanted; those that update them are added.
    """
    first = range(min(most, len(texts)))
    pairs = [(old, new) for old in first for new in _updates_of(old, texts, times, alike, updates)]
    indexes = sorted({*first, *(new for _, new in pairs)})
    positions = {index: n for n, index in enumerate(indexes)}
    return [indexes[n] for n in ordered(len(indexes), [(positions[old], positions[new]) for old, new in pairs])]


def _updates_of(
    index: int, texts: Sequence[str], times: NDArray[np.int64], alike: Floats, updates: Floats
) -> list[int]:
    """The later statements that update one."""
    near = np.argsort(-alike[index], kind="stable")
    near = near[(times[near] > times[index]) & (alike[index, near] >= ALIKE)][: LOOKED_AT - 1]
    if not len(near):
        return []
    first = [index, *near.tolist()]
    statements, terms = [texts[n] for n in first], tuple(dict.fromkeys(content_terms(texts[index])))
    has_terms = [[term in words for term in terms] for words in ({*content_terms(text)} for text in statements)]
    hits = FirstHits(
        texts=statements, times=times[first], cosines=alike[index, first], alike=alike[np.ix_(first, first)], terms=terms,
        has_terms=np.array(has_terms, np.bool_), idf=np.ones(len(terms), np.float32), people=np.zeros(len(first), np.bool_),
        updates=updates[first], relevance=np.ones(len(first), np.float32),
    )  # fmt: skip
    return [first[new] for old, new in _superseding(statements[0], hits, at_a_time=True) if old == 0]


FOLLOWED, NEAREST = 2, 8
"""First hits of which distant updates are looked for, and the later statements nearest to each that are read."""
BY_CHANCE = 0.25
"""Cosine that the nearest of a few other statements has by chance; one that is no nearer updates nothing."""
PLAIN = 80
"""Characters up to which the length of a statement tells nothing."""
DISTANT: Mapping[str, float] = MappingProxyType({
    "gap": 9.61, "update": 1.19, "rare": 0.33, "length": -3.88, "bias": -2.51,
})  # fmt: skip
"""Weight of each feature in the log odds that a later statement updates a hit, plus the logarithm of 3: to miss an update
costs more than a line too many.

Fitted by ``benchmarks.quality.recency_fit`` on 2,100 pairs of ``UPDATE``, each amid 4 to 300 other lines, and on
statements of conversations with an assistant that nothing updates.
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
    if view.model not in DEFAULT_MODELS or not asks(query.text) or _asks_of_the_past(query.text, at_a_time=at_a_time):
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
    near = top(cosines.values, later, NEAREST, above=BY_CHANCE)
    docs = c.doc[[row, *near.tolist()]].tolist()
    stored = read(docs)
    values = [stored[doc].value for doc in docs if doc in stored]
    records = [value for value in values if not isinstance(value, Episode)]
    if len(records) < len(docs) or not len(near):
        return []
    first, others = records[0], records[1:]
    alike = _eased(cosines.values[near], _base(view))
    terms = {*content_terms(first.content)}
    rare = [_rarity(view, question, terms & {*content_terms(other.content)}) for other in others]
    updates = _updates(others, view.vectors.of(near), view.model)
    features = distant_features(alike, updates, rare, [len(other.content) for other in others])
    likely = dot(features, np.array([*DISTANT.values()], np.float32)) > 0
    asked = _particulars(question.query.text)
    named = [not _of_another(asked, first.content, other.content) for other in others]
    return near[likely & np.array(named)].tolist()


def distant_features(alike: Floats, updates: Floats, rare: Sequence[float], lengths: Sequence[int]) -> Floats:
    """(n, 5) features of the later statements nearest to one, in the order of ``DISTANT``.

    Args:
        alike: (n,) their cosines with it, descending.
        updates: (n,) as in ``FirstHits``.
        rare: (n,) the highest inverse document frequency of a term that both have.
        lengths: (n,) in characters.
    """
    others_best = np.full(len(alike), alike[0])
    others_best[0] = alike[1] if len(alike) > 1 else BY_CHANCE
    length = np.log(np.maximum(np.array(lengths) / PLAIN, 1))
    columns = (alike - others_best, updates, np.array(rare), length, np.ones(len(alike)))
    return np.stack(columns, axis=1).astype(np.float32)


def _rarity(view: View, question: AnalysedQuery, terms: Iterable[str]) -> float:
    """The highest inverse document frequency of some terms; 0 for none."""
    size = question.corpus.size
    return max((idf(size, len(view.keyword.postings(view.columns, term)[0])) for term in terms), default=0.0)


def likeness(view: View, rows: Rows, records: Sequence[MemoryRecord]) -> tuple[Floats, Floats]:
    """Of memories, what ``latest_statements`` takes: (n, n) their cosines with each other, and (n,) their updates."""
    vectors, centre = view.vectors.of(rows), view.vectors.centre
    alike = _alike(view, vectors if centre is None else centre.apart(vectors))
    return alike, _updates(records, vectors, view.model)


def _updates(records: Sequence[Message | MemoryRecord], vectors: Floats, model: str | None) -> Floats:
    """(n,) as in ``FirstHits``; 0 for statements that were remembered: their words do not tell what they update."""
    spoken = [isinstance(record, Message) or record.said_at is not None for record in records]
    return UPDATE.log_odds([record.content for record in records], vectors, model) * np.array(spoken, np.float32)


def _alike(view: View, vectors: Floats) -> Floats:
    return _eased(dot(vectors, vectors.T), _base(view))


def _base(view: View) -> float:
    return view.base if view.vectors.centre is None else 0.0


def _eased(cosines: Floats, base: float) -> Floats:
    return eased(np.asarray(cosines, np.float64), base).astype(np.float32)


def _among_people(view: View, pool: Pool) -> Mask:
    """Which candidates are turns of a conversation among several people, without an assistant."""
    turns = ~pool.assisted & ~pool.agent & (view.columns.kind[pool.rows] == KINDS["message"])
    speakers = view.columns.speaker[pool.rows][turns]
    return turns & (len(np.unique(speakers[speakers > 0])) > 1)  # 0: without a name


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
