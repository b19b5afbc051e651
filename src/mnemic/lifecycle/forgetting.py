"""Forgetting by description: records that clearly match a request are removed, similar ones are kept and named.

Rules decide by words and closeness; a model decides about the nearest records: a language model, if there is one, else the
network of ``mnemic-minilm`` that reads request and record together. What it says is meant goes. What a language model says
is not meant stays, unless two signs agree that it is: all the words of the request and closeness, or all the words or the
name where everything about somebody is to go. A person who names a thing in its own words must be able to rely on its going,
whatever a model is led to say by the text of a record. Otherwise keeping is the safer error: a kept record is named in the
receipts and can be forgotten by its id, an erased one cannot be brought back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mnemic import validation
from mnemic.embedders.readers import REQUESTS
from mnemic.errors import InvalidInput, TooManyHits
from mnemic.indexes.keyword import idf
from mnemic.indexes.vector.exact import compared
from mnemic.knowledge.candidates import omission, stated
from mnemic.lifecycle import revision
from mnemic.lifecycle.descriptions import (
    ACTIONS,
    GENERIC,
    SUBSTITUTES,
    Description,
    Exclusion,
    Request,
    divided,
    requested,
)
from mnemic.recall.context.packing import quoted
from mnemic.recall.results import hit_from
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.text.differences import CUT, of_the_speaker, says_something, values, without_sentences
from mnemic.text.english import bare_words, names, possessions
from mnemic.text.markup import is_blank
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.text.values import shown
from mnemic.types import (
    AddMemory,
    Archive,
    Change,
    Event,
    MemoryRecord,
    Message,
    Receipt,
    Receipts,
    RecordFilter,
    Restore,
    Scope,
    Stored,
    searchable,
)
from mnemic.types.literals import EVERYWHERE, KEPT
from mnemic.types.records import is_trusted
from mnemic.vectors import DEFAULT_MODELS, Floats, Rows, ascending, top

HARD = 5
"""Most records that a description alone may erase."""
NEAREST, SHARING = 200, 1_000
"""Candidates by cosine, and by shared words."""
ALL, MEANT, PARTLY = 1.0, 0.3, 0.5
"""Share of words that counts as all; the closeness needed without shared words, and with some: the missing word often
distinguishes two matters."""
WORDS = 0.1
"""Weight of the share of words relative to closeness."""
BESIDE, BESIDE_WORDS = 0.92, 0.65
"""The share of the best record's score that others need; with all the words, the share of its closeness."""
BROAD = 0.65
"""``BESIDE`` of a request for everything about something; what has all its words goes however near it is."""
ANOTHERS = 0.12
"""Cosine margin for a relative's thing over the user's own from which a record is about somebody else."""
BY_NAME = 0.8
"""Share of a record's cosine that its names alone have where it is near for these only."""
NEAR, NEAR_WORDS = 0.12, 0.34
"""Closeness, or share of the words, from which a kept record is named."""
SPARED = 10
"""Most kept records that are named."""
FIRST_PERSON = 50
"""Most memories of a language model that are read in the speaker's own words."""
QUOTED = 120
"""Characters of a record that its receipt quotes."""
LONGEST = 20_000
"""Characters of a text that are searched for other matters."""
OWN_WORDS, CLAUSE_WORDS = 2, 3
"""Fewest content words of a clause on a matter of its own within a sentence, and fewest words."""
READ, MOST_READ = 300, 50
"""Characters of records that the network reads with a request, and the most of them."""
AHEAD, MEANT_FROM, ALONE = 0.55, 2.0, 2.0
"""A record is meant if its log odds, and this share of what they are ahead of those of the best other record, reach the second;
the third is what a single record is ahead of."""
DOUBTED = 0.0
"""Log odds below which a record is not meant, unless everything about something is: the network knows no names. In between
rules decide. Chosen, as the others, on 384 requests by three authors of whom the network had read nothing."""
EXCEPTED = "nearer to what is excepted"
MIXED, DENIED = "says something else as well", "not meant, according to the model"

_GOES_ON = frozenset("he she it they his her its this that these those".split())
_CLAUSE = re.compile(r"; |,? (?:and|but|while) (?=(?:I|my|we|our|they|their|the|[A-Z][\w'\u2019-]*) )")
"""Where another clause begins."""
_CALLED = frozenset("is was called named dr mr mrs ms".split())


# How records bear on it


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Records beside a request, one entry for each.

    Attributes:
        records: in the order of the rows, as they are judged.
        shown: the same, without what was forgotten of messages.
        close: how much nearer to the request than what is usual among the nearest, 0 to 1.
        share: of the idf of the request's terms that the record has, 0 to 1.
        eligible: whether it may be meant: it has the names that are asked for, and tells of nobody else.
        named: whether it has the names.
        excepted: whether it is nearer to what the request excepts, or has all of its words.
        asks: whether it is no more than a request to forget this, such as the one that is being carried out.
    """

    records: Sequence[Stored]
    shown: Sequence[Stored]
    close: Floats
    share: Floats
    eligible: NDArray[np.bool_]
    named: NDArray[np.bool_]
    excepted: NDArray[np.bool_]
    asks: NDArray[np.bool_]


def _candidates(
    runtime: Runtime,
    scope: Scope,
    view: View,
    allowed: NDArray[np.bool_],
    request: Request,
    excluded: Sequence[Exclusion],
    *,
    whole: bool,
) -> _Candidates:
    """The records that are near in meaning or share words, with how they bear on the request.

    ``whole``: messages are judged with what was forgotten of them.
    """
    weights, worth = _weights(view, allowed, request.terms)
    vector = runtime.indexer.query(request.text, view.model, view.vectors.dimension)
    rows, cosines, is_near = _closest(view, allowed, worth, vector)
    stored = runtime.store.fetch(view.user, view.columns.doc[rows].tolist())
    is_stored = np.array([doc in stored for doc in view.columns.doc[rows].tolist()], np.bool_)
    rows, cosines, is_near = rows[is_stored], cosines[is_stored], is_near[is_stored]
    whole_records = [stored[doc] for doc in view.columns.doc[rows].tolist()]
    visible = _as_shown(runtime, scope, whole_records)
    records = whole_records if whole else visible
    reread: dict[int, Floats] = {}
    if vector is not None:
        reread = _reread_vectors(runtime, request, records, whole_records, cosines)
    compared_texts = _Compared(runtime, view, rows, records, is_near, reread, [_terms_of(record) for record in records])
    cosines = compared_texts.cosines(vector, cosines)
    close, share = compared_texts.close(cosines), compared_texts.share(weights)
    named = np.array([request.is_named_in(record.value.content) for record in records], np.bool_)
    if numbers := _numbers(request.text):
        named &= np.array([not (said := _numbers(r.value.content)) or bool(numbers & said) for r in records], np.bool_)
    if request.bare and vector is not None:
        unlike = [i for i in np.flatnonzero(close >= MEANT).tolist() if not share[i]]
        named[unlike] &= ~_resembles_a_name(runtime, view, [records[i] for i in unlike], cosines[unlike], vector)
    asks = np.array([_only_asks(record, request) for record in records], np.bool_)
    excepted = np.zeros(len(records), np.bool_)
    worth = (close + WORDS * share).astype(np.float32)
    for exclusion in excluded:
        excepted |= _excepted(compared_texts, allowed, exclusion, request, worth)
    others = _about_another(runtime, view, rows, reread, request) | _owned(records, request)
    return _Candidates(
        records=records,
        shown=visible,
        close=close,
        share=share,
        named=named,
        excepted=excepted,
        eligible=named & ~asks & ~others & ~excepted,
        asks=asks,
    )


def _weights(view: View, allowed: NDArray[np.bool_], terms: Sequence[str]) -> tuple[dict[str, float], Floats]:
    """What each term is worth among the records allowed, as a share of all, and what each row has of them."""
    size = int(allowed.sum())
    postings = {term: rows[allowed[rows]] for term in terms for rows in [view.keyword.postings(view.columns, term)[0]]}
    values = {term: idf(size, max(1, len(rows))) for term, rows in postings.items()}
    total = sum(values.values())
    weights = {term: value / total for term, value in values.items()}
    worth = np.zeros(len(view.columns), np.float32)
    for term, rows in postings.items():
        worth[rows] += weights[term]
    return weights, worth


@dataclass(frozen=True, slots=True)
class _Compared:
    """Records as they are compared with descriptions.

    Attributes:
        runtime: the record.
        view: where their vectors are.
        rows: their rows there.
        records: as they are judged.
        is_near: whether they tell what is usual.
        reread: the vectors of those that read otherwise than they were embedded, by index.
        terms: the terms of each.
    """

    runtime: Runtime
    view: View
    rows: Rows
    records: Sequence[Stored]
    is_near: NDArray[np.bool_]
    reread: Mapping[int, Floats]
    terms: Sequence[set[str]]

    def cosines(self, vector: Floats | None, cosines: Floats) -> Floats:
        """The cosines with a vector, by those of the records as they were embedded."""
        return cosines if vector is None else _reread_cosines(self.view, vector, cosines, self.reread)

    def close(self, cosines: Floats) -> Floats:
        """How much nearer they are than what is usual, 0 to 1."""
        near: list[int] = np.flatnonzero(self.is_near).tolist()
        usual = _usual_cosine([self.records[i].value.content for i in near], cosines[near])
        return np.clip((cosines - usual) / (1 - usual), 0, 1).astype(np.float32)

    def share(self, weights: Mapping[str, float]) -> Floats:
        """What they have of the terms, by weight, 0 to 1."""
        shares = [sum(weights[term] for term in terms.intersection(weights)) for terms in self.terms]
        return np.array(shares, np.float32)


def _excepted(
    texts: _Compared, allowed: NDArray[np.bool_], exclusion: Exclusion, request: Request, worth: Floats
) -> NDArray[np.bool_]:
    """Whether records have all the words of an exception that are not of the request too, or its name, or are nearer to it.

    A record that says the exception itself is not excepted by it: "I eat everything except fish".
    """
    excluded = requested(exclusion.text, request.speaker)
    view, terms = texts.view, tuple(term for term in excluded.terms if term not in SUBSTITUTES)
    if not terms:
        return np.zeros(len(texts.rows), np.bool_)
    share = texts.share(_weights(view, allowed, terms)[0])
    vector = texts.runtime.indexer.query(excluded.text, view.model, view.vectors.dimension)
    cosines = np.zeros(len(texts.rows), np.float32)
    if vector is not None:
        all_cosines = view.vectors.cosines([vector])
        all_cosines.sharpen(texts.rows)
        cosines = texts.cosines(vector, all_cosines.values[texts.rows])
    nearness = texts.close(cosines) + WORDS * share
    own = {*terms}.difference(request.terms)
    says = [exclusion.clause.lower() in record.value.content.lower() for record in texts.records]
    has_words = np.array([bool(own) and own <= terms_said for terms_said in texts.terms], np.bool_)
    has_words |= _same_entity(own, texts.records, has_words)
    return (has_words | ((nearness > 0) & (nearness >= worth))) & ~np.array(says, np.bool_)


def _remainders(runtime: Runtime, scope: Scope, values: Iterable[object]) -> dict[str | None, Message]:
    """The messages among some records without what was forgotten of them, by id; none of which nothing is left."""
    messages = [value for value in values if isinstance(value, Message)]
    return {m.id: m for m in runtime.store.relations.without_forgotten(scope.user, messages) if m.content}


def _as_shown(runtime: Runtime, scope: Scope, records: Sequence[Stored]) -> list[Stored]:
    remainders = _remainders(runtime, scope, (record.value for record in records))
    return [replace(record, value=remainders.get(record.value.id, record.value)) for record in records]


def _resembles_a_name(
    runtime: Runtime, view: View, records: Sequence[Stored], cosines: Floats, vector: Floats
) -> NDArray[np.bool_]:
    """Whether it is a name in records that is near to a vector: "Johanna" is like "Anna", and is somebody else."""
    texts = [" ".join(names(record.value.content)) for record in records]
    vectors = runtime.indexer.documents(texts, runtime.indexer.embedder)
    name_cosines = np.array([
        compared([vector], name[None], view.vectors.centre)[0] if text and name is not None else -1.0
        for text, name in zip(texts, vectors, strict=True)
    ])  # fmt: skip
    return name_cosines >= BY_NAME * cosines


def _numbers(text: str) -> frozenset[str]:
    """The numbers in a text: a record with others is of another thing, as one with another name is."""
    return frozenset(word for word in bare_words(text) if any(map(str.isdigit, word)))


def _only_asks(record: Stored, request: Request) -> bool:
    terms = {*content_terms(of_the_speaker(record.value.content, request.speaker))}
    return not terms.isdisjoint(ACTIONS) and terms - GENERIC <= request.asked.union(request.terms)


def _closest(
    view: View, allowed: NDArray[np.bool_], worth: Floats, vector: Floats | None
) -> tuple[Rows, Floats, NDArray[np.bool_]]:
    """Rows that share words with a request or are near to its vector, with their cosines.

    Also whether they are of the nearest, and without all the words: these tell what is usual.
    """
    rows = top(worth, allowed, SHARING, above=0.0)
    if vector is None:
        rows = ascending(len(view.columns), rows)
        return rows, np.zeros(len(rows), np.float32), np.zeros(len(rows), np.bool_)
    cosines = view.vectors.cosines([vector])
    cosines.settle(allowed)
    near = top(cosines.values, allowed, NEAREST, above=-2.0)
    rows = ascending(len(view.columns), rows, near)
    cosines.sharpen(rows)
    return rows, cosines.values[rows], np.isin(rows, near) & (worth[rows] < ALL - 1e-6)


def _usual_cosine(texts: Sequence[str], cosines: Floats) -> float:
    """What is usual among texts: the middle cosine of these, and of four that have nothing to do with a request.

    The first few records of a user are not measured by each other alone, and a message and the memory of it count once.
    """
    by_text = dict(zip(reversed(texts), reversed(cosines.tolist()), strict=True))
    return min(float(np.median([*by_text.values(), 0.0, 0.0, 0.0, 0.0])), 0.99)


def _reread_vectors(
    runtime: Runtime, request: Request, records: Sequence[Stored], whole: Sequence[Stored], cosines: Floats
) -> dict[int, Floats]:
    """The vectors of records that read otherwise than they were embedded.

    These are messages without what was forgotten of them, and the nearest memories that call the speaker "the user" or by
    name, as the speaker would say them.
    """
    texts: dict[int, str] = {
        i: record.value.content
        for i, (record, before) in enumerate(zip(records, whole, strict=True))
        if record.value.content != before.value.content
    }
    most = len(texts) + FIRST_PERSON * request.english
    order: list[int] = np.argsort(-cosines, kind="stable").tolist()
    for index in order:
        if len(texts) >= most:
            break
        value = records[index].value
        if isinstance(value, MemoryRecord):
            text = searchable(value)
            if (rephrased := of_the_speaker(text, request.speaker)) != text:
                texts[index] = rephrased
    vectors = runtime.indexer.documents([*texts.values()], runtime.indexer.embedder)
    return {index: vector for index, vector in zip(texts, vectors, strict=True) if vector is not None}


def _reread_cosines(view: View, vector: Floats, cosines: Floats, reread: Mapping[int, Floats]) -> Floats:
    """Cosines with a vector, those of some records by other vectors."""
    adjusted = cosines.copy()
    if reread:
        adjusted[[*reread]] = compared([vector], np.stack([*reread.values()]), view.vectors.centre)
    return adjusted


def _about_another(
    runtime: Runtime, view: View, rows: Rows, reread: Mapping[int, Floats], request: Request
) -> NDArray[np.bool_]:
    """Whether records are nearer to the same thing of a relative than to the speaker's own: "my sister's religion"."""
    by_holder: list[Floats] = []
    for holder in ("my relative's", "my") if request.of_speaker else ():
        vector = runtime.indexer.query(f"{holder} {request.topic}", view.model, view.vectors.dimension)
        if vector is not None:
            cosines = view.vectors.cosines([vector])
            cosines.sharpen(rows)
            by_holder.append(_reread_cosines(view, vector, cosines.values[rows], reread))
    return by_holder[0] - by_holder[1] >= ANOTHERS if len(by_holder) > 1 else np.zeros(len(rows), np.bool_)


def _owned(records: Sequence[Stored], request: Request) -> NDArray[np.bool_]:
    """Whether what is the speaker's own in a request is only somebody else's in records: "Petra's locker number"."""
    if not request.of_speaker:
        return np.zeros(len(records), np.bool_)
    terms = frozenset(request.terms)
    owners = [
        {
            owner
            for owner, things, _ in possessions(of_the_speaker(record.value.content, request.speaker))
            if things & terms and terms.isdisjoint(content_terms(owner))
        }
        for record in records
    ]
    return np.array([bool(own) and own.isdisjoint(("my", "our")) for own in owners], np.bool_)


def _terms_of(record: Stored) -> set[str]:
    """What a record says; whose words it is does not count."""
    value = record.value
    labels = (
        (*value.tags, *value.keywords, value.category or "", value.summary or "")
        if isinstance(value, MemoryRecord)
        else ()
    )
    return {*content_terms(value.content), *content_terms(" ".join(labels))}


def _matches(request: Request, candidates: _Candidates, alone: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether records clearly match a request, by all of its words or by meaning relative to the best match; and by both.

    ``alone`` is the closeness needed without shared words.
    """
    close, share, eligible = candidates.close, candidates.share, candidates.eligible
    if not eligible.any():
        return eligible, eligible
    worth = close + WORDS * share
    words = share >= ALL - 1e-6
    beside = BROAD if request.broad else BESIDE
    by_meaning = (close >= np.where(share > 0, PARTLY, alone)) & (worth >= beside * worth[eligible].max())
    by_words = words & (request.broad | (close >= BESIDE_WORDS * close[eligible].max()))
    matching = eligible & (by_meaning | by_words)
    certain = eligible & by_words & (by_meaning | request.broad)
    if _is_of_a_name(request):
        matching = certain = eligible  # whatever is said of them
    elif request.broad:
        matching |= _same_entity(request.terms, candidates.records, matching & words)
    return matching, certain


def _passed_over(
    runtime: Runtime,
    scope: Scope,
    request: Request,
    candidates: _Candidates,
    forgotten: _Candidates,
    matching: Sequence[int],
) -> list[int]:
    """Those of some records that were there, and were kept, when something nearer to the request was forgotten.

    Else to ask twice would take what the first time was kept, as nothing nearer is left.
    """
    if not matching or _is_of_a_name(request):
        return []
    worth, words = candidates.close + WORDS * candidates.share, candidates.share >= ALL - 1e-6
    beside = forgotten.eligible * (forgotten.close + WORDS * forgotten.share) * (BROAD if request.broad else BESIDE)
    passed = set[int]()
    begins: dict[int, int] = {i: _events(runtime, scope, candidates.records[i])[0].sequence for i in matching}
    order: list[int] = np.flatnonzero(beside > worth[[*matching]].min()).tolist()
    for at in order:
        event = _events(runtime, scope, forgotten.records[at])[-1]
        if event.operation == "archive" and (event.detail.get("everywhere") or forgotten.records[at].kind == "message"):
            by_words = words & (request.broad | (candidates.close >= BESIDE_WORDS * forgotten.close[at]))
            kept = ~by_words & (worth < beside[at])
            passed |= {i for i, begin in begins.items() if kept[i] and begin < event.sequence}
    return sorted(passed)


def _is_of_a_name(request: Request) -> bool:
    """Whether it means all that is said of somebody."""
    return bool(request.names) and (request.broad or request.names.issuperset(request.terms))


def _events(runtime: Runtime, scope: Scope, record: Stored) -> Sequence[Event]:
    return runtime.store.history(scope.user, _id(record))


def _same_entity(asked: Collection[str], records: Sequence[Stored], matching: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether records name who was asked for by another word: of "my ex Daniel" comes whatever names Daniel."""
    texts = [record.value.content for record in records]
    called = {
        term
        for i in np.flatnonzero(matching).tolist()
        for name in names(texts[i])
        if _introduces_name(name, texts[i], asked)
        for term in content_terms(name)
    }
    return np.array([not called.isdisjoint(content_terms(text)) for text in texts], np.bool_)


def _introduces_name(name: str, text: str, terms: Collection[str]) -> bool:
    """Whether the words before a name say what it is the name of: "my ex", "our dog is called".

    A name before it is another one of a list, and somebody's boss is not the name of the boss.
    """
    before, _, after = text.partition(name)
    words = [word for word in re.findall(r"\w+", before) if word.lower() not in _CALLED]
    if not words or words[-1][0].isupper():
        return False
    owns = re.match("['\u2019]", after) and not before.rstrip().endswith(words[-1])
    return not owns and not set(content_terms(words[-1])).isdisjoint(terms)


# What a model says of them


def _read_verdicts(
    runtime: Runtime,
    scope: Scope,
    description: str,
    request: Request,
    candidates: _Candidates,
    forgotten: _Candidates | None,
) -> dict[int, bool]:
    """Whether the nearest short records are meant, by the network that reads them with the request.

    They are compared with what was forgotten before, too: to ask twice takes nothing that was kept the first time.
    """
    odds = _read_odds(runtime, scope, description, candidates)
    values = {*odds.values()}  # what is said twice counts once
    if forgotten is not None:
        values |= {*_read_odds(runtime, scope, description, forgotten).values()}
    *_, second, best = (-ALONE, -ALONE, *sorted(values))
    meant = {i: own + AHEAD * (own - (best if own < best else second)) >= MEANT_FROM for i, own in odds.items()}
    return {i: yes for i, yes in meant.items() if yes or (odds[i] < DOUBTED and not request.broad)}


def _nearest_first(candidates: _Candidates) -> list[int]:
    return np.argsort(-(candidates.close + WORDS * candidates.share), kind="stable").tolist()


def _read_odds(runtime: Runtime, scope: Scope, description: str, candidates: _Candidates) -> dict[int, float]:
    """The log odds that the nearest short records are meant; none without the network."""
    texts = {i: candidates.shown[i].value.content for i in _nearest_first(candidates) if not candidates.asks[i]}
    near = [i for i, text in texts.items() if len(text) <= READ][:MOST_READ]
    pairs = [(of_the_speaker(description, scope.user), of_the_speaker(texts[i], scope.user)) for i in near]
    odds = REQUESTS.log_odds(pairs, runtime.indexer.embedder.id)
    return {} if odds is None else {i: own for i, own in zip(near, odds.tolist(), strict=True) if not math.isnan(own)}


def _verdicts(runtime: Runtime, description: str, candidates: _Candidates, order: Sequence[int]) -> dict[int, bool]:
    """Whether the nearest records are meant, as far as the language model says.

    What is trusted and what is not is asked about apart, so that the text of a document sways no verdict on what the user
    said. What was forgotten before is told to no model.
    """
    from mnemic.llm import forgetting

    consultant = Consultant(runtime)
    records = candidates.records
    live = [i for i in order if records[i].status != "archived"]
    verdicts: dict[int, bool] = {}
    for trusted in (True, False):
        near = [i for i in live if is_trusted(records[i].value.trust) is trusted][: forgetting.MOST_CANDIDATES]
        texts = [candidates.shown[i].value for i in near]
        if texts and (answers := consultant.ask(lambda texts=texts: forgetting.task(description, texts))):
            verdicts |= {i: verdict for i, verdict in zip(near, answers, strict=True) if verdict is not None}
    return verdicts


def _unchanged(runtime: Runtime, scope: Scope, shown: Sequence[Stored], order: Sequence[int]) -> list[int]:
    """The order without what was erased or rewritten while the language model thought, by the records as it saw them."""
    current = runtime.store.knowledge.records(scope.user, [_id(record) for record in shown])
    texts = {
        id_: record.content for id_, record in {**current, **_remainders(runtime, scope, current.values())}.items()
    }
    return [i for i in order if texts.get(_id(shown[i])) == shown[i].value.content]


# What goes


@dataclass(frozen=True, slots=True)
class _Parts:
    """The sentences of messages of which not all is forgotten, as memories derived from them.

    Attributes:
        forgotten: those that are forgotten.
        remaining: those that a memory has beside one that is forgotten.
        mixed: the ids of such memories, which are replaced.
        messages: the ids of the messages.
        whole: the ids of messages and of other memories without a sentence that stays.
    """

    forgotten: tuple[MemoryRecord, ...] = ()
    remaining: tuple[MemoryRecord, ...] = ()
    mixed: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Described:
    """What a description takes.

    Attributes:
        clear: receipts of what clearly bears on it and says nothing else.
        spared: ``rejected`` receipts of what resembles it and stays.
        bearing: ids of all that clearly bears on it, whatever else it says, nearest first.
        beside: ids of what else may be meant, nearest first.
        parts: what messages that say something else as well say of it, as memories derived from them, and what they say
            beside it where a memory has both.
    """

    clear: tuple[Receipt, ...]
    spared: tuple[Receipt, ...]
    bearing: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    parts: _Parts = field(default_factory=_Parts)


def described(
    runtime: Runtime, scope: Scope, description: Description, *, archived: bool = False, forgets: bool = True
) -> Described:
    """What a description takes and what resembles it, without changing anything.

    Args:
        runtime: the record.
        scope: whose memory.
        description: what to forget, in words, divided.
        archived: also what was forgotten or merged before.
        forgets: it is a request to forget; the network has learnt from no others.

    Raises:
        InvalidInput: the description is none, or says nothing in particular.
    """
    request = _checked_request(description, scope.user)
    view = runtime.views.of(scope.user)
    if view is None:
        return Described((), ())
    filters = RecordFilter(
        project=scope.project, session=scope.session, expired=True, status=EVERYWHERE if archived else None
    )
    candidates = _candidates(
        runtime, scope, view, view.columns.mask(filters), request, description.excluded, whole=archived
    )
    understood = (
        request.english or runtime.indexer.embedder.id not in DEFAULT_MODELS
    )  # these know the meaning of English only
    by_rule, certain = _matches(request, candidates, MEANT if understood else math.inf)
    records = candidates.records
    forgotten, gone = None, view.columns.mask(replace(filters, status=("archived",)))
    if gone.any() and not archived:
        forgotten = _candidates(runtime, scope, view, gone, request, (), whole=True)
        by_rule[_passed_over(runtime, scope, request, candidates, forgotten, np.flatnonzero(by_rule).tolist())] = False
    order = _nearest_first(candidates)
    if runtime.llm is None:
        reads = forgets and request.english
        verdicts = _read_verdicts(runtime, scope, description.meant, request, candidates, forgotten) if reads else {}
        certain[[i for i, meant in verdicts.items() if not meant]] = False  # no text can persuade this network
    else:
        verdicts = _verdicts(runtime, description.text, candidates, order)
        order = _unchanged(runtime, scope, candidates.shown, order)
    matching = [i for i in order if certain[i] or (verdicts.get(i, by_rule[i]) and candidates.eligible[i])]
    reasons = dict.fromkeys({i for i in order if by_rule[i]}.difference(matching), DENIED)
    reasons |= {i: MIXED for i in matching if _has_other_matter(records[i], request)}
    mixed = {_id(records[i]): records[i] for i in matching if reasons.get(i) == MIXED}
    parts = _parts(runtime, scope, mixed, request) if request.broad and not archived else _Parts()
    clear = {_id(records[i]): records[i] for i in matching if reasons.get(i) != MIXED}
    clear |= {id_: mixed[id_] for id_ in parts.whole}
    excepted = {_id(records[i]) for i in order if candidates.excepted[i]}
    emptied = _emptied_messages(runtime, scope, clear, request, whole=archived)
    clear |= {id_: record for id_, record in emptied.items() if id_ not in excepted}
    if clear or parts.forgotten:
        clear |= {_id(records[i]): records[i] for i in order if candidates.asks[i]}
    return Described(
        clear=_receipts(runtime, scope, clear),
        spared=_spared(candidates, order, reasons, {*clear, *parts.messages, *parts.mixed}),
        bearing=tuple(_id(records[i]) for i in matching),
        beside=tuple(_id(records[i]) for i in order if candidates.eligible[i] and i not in matching),
        parts=parts,
    )


def _checked_request(description: Description, speaker: str) -> Request:
    """What a description means.

    Raises:
        InvalidInput: that is nothing, or nothing in particular.
    """
    if not description.meant:
        raise InvalidInput(
            f"{shown(description.text, 80)} asks that something is kept, and nothing was forgotten; say what is meant, "
            "or give its id."
        )
    request = requested(description.meant, speaker)
    if not request.terms:
        request = requested(description.meant)  # of the speaker, by name
    if not request.terms:
        raise InvalidInput(
            f"{shown(description.text, 80)} describes nothing in particular; say what is meant, or give its id."
        )
    return replace(request, asked=frozenset(content_terms(description.text)))


def _checked_description(runtime: Runtime, scope: Scope, description: object) -> str:
    """A description: no list, and no id."""
    if not isinstance(description, str):
        raise InvalidInput(f"A description is a string, not {type(description).__name__}; ids are given as ids=[...].")
    text = validation.text("description", description)
    if is_blank(text):
        raise InvalidInput("The description is empty. Nothing was forgotten; say what is meant, or give ids=[...].")
    if runtime.store.knowledge.records(scope.user, [text]):
        raise InvalidInput(
            f"{shown(text, 80)} is the id of a record, not a description: forget(ids=[{shown(text, 80)}])."
        )
    return text


def _spared(
    candidates: _Candidates, order: Sequence[int], reasons: Mapping[int, str], taken: Collection[str]
) -> tuple[Receipt, ...]:
    """Receipts for what is kept: first what only the language model speaks against, then by nearness."""
    near = [
        index
        for index in sorted(order, key=lambda index: reasons.get(index) != DENIED)
        if _id(candidates.records[index]) not in taken
        and (index in reasons or candidates.close[index] >= NEAR or candidates.share[index] >= NEAR_WORDS)
    ]
    return tuple(
        Receipt(
            id=_id(candidates.records[index]),
            outcome="rejected",
            reason=f"{KEPT}{reasons.get(index) or _why_not(candidates, index)}: {_quote(candidates.shown[index])}",
        )
        for index in near[:SPARED]
    )


def _why_not(candidates: _Candidates, index: int) -> str:
    if candidates.excepted[index]:
        return EXCEPTED
    if not candidates.named[index]:
        return "does not name who is meant"
    return "similar, but not clearly meant" if candidates.eligible[index] else "about somebody else"


def _id(record: Stored) -> str:
    assert record.value.id is not None
    return record.value.id


def _quote(record: Stored) -> str:
    return quoted(hit_from(record), QUOTED)


def _has_other_matter(record: Stored, request: Request) -> bool:
    """Whether a text has a sentence or clause on another matter.

    A clause that begins with a pronoun continues the one before. Without shared words, only a single clause is one matter.
    """
    named = record.value.metadata.get("path")  # a file of Claude's memory begins with its path
    text = record.value.content.removeprefix(f"{named}\n").replace(CUT, "\n\n")[:LONGEST]
    clauses = [(clause, {*content_terms(clause)}) for clause in _clauses(text)]
    whole = {sentence for sentence in sentences(text) if says_something(sentence)}
    terms_said = set[str]().union(*(terms for _, terms in clauses))
    topic = {*request.terms} - request.names
    topic = topic if topic & terms_said else {*request.terms}
    count = sum(not topic.isdisjoint(terms) for _, terms in clauses)
    others = sum(
        topic.isdisjoint(terms) and (len(terms) >= OWN_WORDS or clause in whole) and not (index and _goes_on(clause))
        for index, (clause, terms) in enumerate(clauses)
    )
    return others > (0 if count else 1)


def _goes_on(clause: str) -> bool:
    """Whether a sentence or clause begins with a pronoun, contracted or not, and so tells of what the one before does."""
    return not _GOES_ON.isdisjoint(bare_words(clause)[:1])


def _parts(runtime: Runtime, scope: Scope, records: Mapping[str, Stored], request: Request) -> _Parts:
    """The sentences of messages that bear on a request, where another one stays; memories that have both are taken apart."""
    forgotten: dict[str, list[MemoryRecord]] = {}
    for id_, record in records.items():
        if isinstance(record.value, Message):
            about, others = _sentences(record.value.content, request)
            if says_something("\n\n".join(others)):
                parts = [stated(record.value, sentence, record.project) for sentence in about]
                existing = runtime.store.docs_of(scope.user, [part.id for part in parts])
                forgotten[id_] = [
                    part if part.id in existing else omission(record.value, part.content, record.project)
                    for part in parts
                ]
    remaining: list[MemoryRecord] = []
    mixed: list[str] = []
    for id_, record in records.items():
        source = next(iter(getattr(record.value, "source_ids", ())), "")
        if source in forgotten and isinstance(message := records[source].value, Message):
            mixed.append(id_)
            others = _sentences(record.value.content, request)[1]
            remaining += [stated(message, sentence, record.project) for sentence in others]
    whole = [
        id_
        for id_, record in records.items()
        if id_ not in forgotten
        and id_ not in mixed
        and not says_something("\n\n".join(_sentences(record.value.content, request)[1]))
    ]
    parts = tuple(chain.from_iterable(forgotten.values()))
    return _Parts(parts, tuple(remaining), tuple(mixed), tuple(forgotten), tuple(whole))


def _sentences(text: str, request: Request) -> tuple[list[str], list[str]]:
    """The sentences of a text that bear on a request, and the others; a pronoun at the beginning continues the one before."""
    groups: tuple[list[str], list[str]] = [], []
    continues = False
    for sentence in sentences(text.replace(CUT, "\n\n")):
        bears = bool(request.names_in(sentence)) if request.written else {*request.terms} <= {*content_terms(sentence)}
        continues = bears or (continues and _goes_on(sentence))
        groups[0 if continues else 1].append(sentence)
    return groups


def _clauses(text: str) -> list[str]:
    clauses: list[str] = []
    for sentence in sentences(text):
        parts = _CLAUSE.split(sentence)
        clauses += parts if all(len(part.split()) >= CLAUSE_WORDS for part in parts) else [sentence]
    return clauses


def _emptied_messages(
    runtime: Runtime, scope: Scope, clear: Mapping[str, Stored], request: Request, *, whole: bool
) -> dict[str, Stored]:
    """Messages whose memories are all forgotten and that say nothing else: they are forgotten too."""
    sources = {
        id_ for record in clear.values() if isinstance(record.value, MemoryRecord) for id_ in record.value.source_ids
    }
    memories_of = runtime.store.relations.memories_of(scope.user, sorted(sources - clear.keys()))
    emptied = [id_ for id_, memories in sorted(memories_of.items()) if memories and clear.keys() >= {*memories}]
    messages = [runtime.store.get(scope.user, id_) for id_ in emptied]
    messages = messages if whole else _as_shown(runtime, scope, messages)
    return {_id(record): record for record in messages if not _has_other_matter(record, request)}


def _receipts(runtime: Runtime, scope: Scope, clear: Mapping[str, Stored]) -> tuple[Receipt, ...]:
    """A receipt for each record that goes: what it says, and what it had taken the place of."""
    replaced = runtime.store.relations.predecessors(scope.user, [*clear])
    receipts: list[Receipt] = []
    for id_, record in zip(clear, _as_shown(runtime, scope, [*clear.values()]), strict=True):
        ended = [repr(old.id) for old in replaced.get(id_, ()) if old.expired_at and old.id not in clear]
        after = f"; it had taken the place of {', '.join(ended)}: restore() makes that hold again" if ended else ""
        receipts.append(Receipt(id=id_, outcome="forgotten", reason=_quote(record) + after))
    return tuple(receipts)


def _to_forget(runtime: Runtime, scope: Scope, description: object, *, archived: bool = False) -> Described:
    """What a description takes, and of what stays first the replies to it, then what resembles it, as it will be shown."""
    text = _checked_description(runtime, scope, description)
    selection = described(runtime, scope, divided(text), archived=archived)
    clear = runtime.store.knowledge.records(scope.user, [receipt.id for receipt in selection.clear])
    sentences_gone: dict[str, list[str]] = {}
    for record in clear.values():
        if isinstance(record, MemoryRecord):
            for id_ in record.source_ids:
                sentences_gone.setdefault(id_, []).append(record.content)
    derived = runtime.store.relations.memories_of(scope.user, sorted(clear))
    affected = {*clear, *selection.parts.messages, *sentences_gone}
    replies = _replies(runtime, scope, affected)
    spared = {receipt.id: receipt for receipt in (*replies, *selection.spared)}
    for id_ in chain.from_iterable(derived.values()):  # these go with their messages
        spared.pop(id_, None)
    for id_ in sentences_gone.keys() & spared.keys():
        (left,) = _as_shown(runtime, scope, [runtime.store.get(scope.user, id_)])
        if rest := without_sentences(left.value.content, sentences_gone[id_]):
            quotation = _quote(replace(left, value=replace(left.value, content=rest)))
            spared[id_] = replace(spared[id_], reason=f"{KEPT}{MIXED}: {quotation}")
    return replace(selection, spared=(*spared.values(),)[:SPARED])


def _replies(runtime: Runtime, scope: Scope, ids: Collection[str]) -> list[Receipt]:
    """Receipts of the replies to messages of which something goes, that stay and have a value, or a word, of these."""
    replies: list[Receipt] = []
    for message in runtime.store.knowledge.records(scope.user, sorted(ids)).values():
        reply = revision.counterpart(runtime, scope, message) if isinstance(message, Message) else None
        if reply is None or reply.role != "assistant" or reply.id in ids:
            continue
        (left,) = _as_shown(runtime, scope, [runtime.store.get(scope.user, str(reply.id))])
        text = left.value.content
        if values(text) or not {*content_terms(text)}.isdisjoint(content_terms(message.content)):
            reason = f"{KEPT}replies to it: {_quote(left)}"
            replies.append(Receipt(id=_id(left), outcome="rejected", reason=reason))
    return replies


def previewed(runtime: Runtime, scope: Scope, description: object, *, archived: bool = False) -> Receipts:
    """The receipts that forgetting by this description would have now."""
    selection = _to_forget(runtime, scope, description, archived=archived)
    emptied = () if archived else revision.emptied(runtime, scope, [receipt.id for receipt in selection.clear])
    return _all_receipts(selection, selection.clear, emptied)


def _all_receipts(selection: Described, removed: Sequence[Receipt], emptied: Sequence[Receipt]) -> Receipts:
    """One receipt for each record: of what is removed, of the messages that go along, and of what stays."""
    emptied_ids = {receipt.id for receipt in emptied}
    spared = (receipt for receipt in selection.spared if receipt.id not in emptied_ids)
    return Receipts((*removed, *map(_part_receipt, selection.parts.forgotten), *emptied, *spared))


def _part_receipt(part: MemoryRecord) -> Receipt:
    """The receipt of a sentence of a message that says something else as well."""
    reason = f"part of {part.source_ids[0]!r}, which is kept without it: {shown(part.content, QUOTED)}"
    return Receipt(id=part.id, outcome="forgotten", reason=reason)


def forget_described(runtime: Runtime, scope: Scope, description: object, zone: tzinfo, reason: str) -> Receipts:
    """Archive the memories and messages that clearly bear on a description.

    Returns:
        One receipt for each that was removed, and ``rejected`` ones for what resembles it and was spared.
    """
    selection = _to_forget(runtime, scope, description)
    why = reason or f"forgotten as {shown(description, 200)}"
    removed = [Archive(id=receipt.id, reason=why, everywhere=True) for receipt in selection.clear]
    changes = [*removed, *_part_changes(runtime, scope.user, selection.parts, why)]
    applied = runtime.store.apply(scope.user, changes, model=runtime.indexer.embedder.id) if changes else ()
    emptied = revision.update_derived(
        runtime, scope, [change.id for change in (*removed, *selection.parts.forgotten)], zone
    )
    receipts = [
        replace(receipt, reason=match.reason) if receipt.outcome == "forgotten" else receipt
        for receipt, match in zip(applied, selection.clear, strict=False)
    ]
    return _all_receipts(selection, receipts, emptied)


def _part_changes(runtime: Runtime, user: str, parts: _Parts, why: str) -> list[Change]:
    """Changes that leave sentences out of messages; what a message says beside them becomes a memory of its own."""
    records = (*(replace(part, status="archived") for part in parts.forgotten), *parts.remaining)
    existing = runtime.store.knowledge.records(user, [part.id for part in parts.remaining])
    added = [
        AddMemory(record=record, indexing=indexing)
        for record, indexing in zip(records, runtime.indexer.indexing(records, runtime.indexer.embedder), strict=True)
    ]
    changes: list[Change] = [Archive(id=id_, reason=revision.APART) for id_ in parts.mixed]
    changes += [
        Restore(id=id_)
        for id_, record in existing.items()
        if isinstance(record, MemoryRecord) and record.status == "archived"
    ]
    changes += added[: len(parts.forgotten)]
    changes += [Archive(id=part.id, reason=why, everywhere=True) for part in parts.forgotten]
    return [*changes, *added[len(parts.forgotten) :]]


def to_erase(runtime: Runtime, scope: Scope, description: object) -> Described:
    """What a description takes for good, what was forgotten before included.

    Raises:
        TooManyHits: it takes more than ``HARD`` records; nothing was erased.
    """
    selection = _to_forget(runtime, scope, description, archived=True)
    if len(selection.clear) > HARD:
        raise TooManyHits(
            f"{shown(description, 80)} takes {len(selection.clear)} records, and at most {HARD} are "
            "erased for good by a description. Nothing was erased. See them with dry_run=True and give those that "
            "are meant as ids=[...]."
        )
    return selection
