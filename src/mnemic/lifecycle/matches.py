"""Which records match a description of what to forget: by rules on words and closeness, and by what a model says of them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mnemic.embedders.readers import REQUESTS
from mnemic.indexes.keyword import idf
from mnemic.indexes.vector.exact import compared
from mnemic.lifecycle.descriptions import ACTIONS, GENERIC, SUBSTITUTES, Exclusion, Request, requested
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.text.differences import of_the_speaker
from mnemic.text.english import bare_words, names, possessions
from mnemic.text.terms import content_terms, index_terms
from mnemic.types import Event, MemoryRecord, Message, Scope, Stored, searchable
from mnemic.types.records import is_trusted, last_transition
from mnemic.vectors import Floats, Rows, ascending, top

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
FIRST_PERSON = 50
"""Most memories of a language model that are read in the speaker's own words."""
READ, MOST_READ = 300, 50
"""Characters of records that the network reads with a request, and the most of them."""
AHEAD, MEANT_FROM, ALONE = 0.55, 2.0, 2.0
"""A record is meant if its log odds, and this share of what they are ahead of those of the best other record, reach the second;
the third is what a single record is ahead of."""
DOUBTED = 0.0
"""Log odds below which a record is not meant, unless everything about something is: the network knows no names. In between
rules decide. Chosen, as the others, on 384 requests by three authors of whom the network had read nothing."""

_CALLED = frozenset("is was called named dr mr mrs ms".split())


@dataclass(frozen=True, slots=True)
class Candidates:
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


def find(
    runtime: Runtime,
    scope: Scope,
    view: View,
    allowed: NDArray[np.bool_],
    request: Request,
    excluded: Sequence[Exclusion],
    *,
    whole: bool,
) -> Candidates:
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
    visible = as_shown(runtime, scope, whole_records)
    records = whole_records if whole else visible
    reread: dict[int, Floats] = {}
    if vector is not None:
        reread = _reread_vectors(runtime, request, records, whole_records, cosines)
    compared_texts = _Compared(
        runtime, view, rows, records, is_near, reread, [_terms_of(record, request) for record in records]
    )
    cosines = compared_texts.cosines(vector, cosines)
    close, share = compared_texts.close(cosines), compared_texts.share(weights)
    named = np.array([request.is_named_in(_with_owner(record, request)) for record in records], np.bool_)
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
    others |= request.of_speaker & _said_by_others(view, rows, scope.user)
    return Candidates(
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


def as_shown(runtime: Runtime, scope: Scope, records: Sequence[Stored]) -> list[Stored]:
    """Records, the messages without what was forgotten of them."""
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


def _said_by_others(view: View, rows: Rows, user: str) -> NDArray[np.bool_]:
    """Whether records are of another speaker than the user; of none, unless one of the speakers has the user's name."""
    codes = {name: code for name, code in view.columns.names.speaker.items() if name}
    own = [code for name, code in codes.items() if index_terms(name)[:1] == index_terms(user)[:1]]
    speakers = view.columns.speaker[rows]
    return (speakers > 0) & ~np.isin(speakers, own) & bool(own)


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


def _with_owner(record: Stored, request: Request) -> str:
    """What a record says, with its speaker before what the request calls theirs: "Lena's daughter", of Lena's "my daughter"."""
    speaker = record.value.name if isinstance(record.value, Message) else getattr(record.value, "speaker", None)
    if not speaker or request.names.isdisjoint(content_terms(speaker)):
        return record.value.content
    things = {*request.terms} - request.names
    owns = any(owner in ("my", "our") and named & things for owner, named, _ in possessions(record.value.content))
    return f"{speaker}: {record.value.content}" if owns else record.value.content


def _terms_of(record: Stored, request: Request) -> set[str]:
    """What a record says; whose words it is counts only where it has what the request calls theirs."""
    value = record.value
    labels = (
        (*value.tags, *value.keywords, value.category or "", value.summary or "")
        if isinstance(value, MemoryRecord)
        else ()
    )
    return {*content_terms(_with_owner(record, request)), *content_terms(" ".join(labels))}


def by_rules(request: Request, candidates: Candidates, alone: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
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


def passed_over(
    runtime: Runtime,
    scope: Scope,
    request: Request,
    candidates: Candidates,
    forgotten: Candidates,
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
        event = last_transition(_events(runtime, scope, forgotten.records[at]))
        if event is None:
            continue
        if event.operation == "archive" and (event.detail.get("everywhere") or forgotten.records[at].kind == "message"):
            by_words = words & (request.broad | (candidates.close >= BESIDE_WORDS * forgotten.close[at]))
            kept = ~by_words & (worth < beside[at])
            passed |= {i for i, begin in begins.items() if kept[i] and begin < event.sequence}
    return sorted(passed)


def _is_of_a_name(request: Request) -> bool:
    """Whether it means all that is said of somebody."""
    return bool(request.names) and (request.broad or request.names.issuperset(request.terms))


def _events(runtime: Runtime, scope: Scope, record: Stored) -> Sequence[Event]:
    return runtime.store.history(scope.user, record.id)


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


# By a model


def by_network(
    runtime: Runtime,
    scope: Scope,
    description: str,
    request: Request,
    candidates: Candidates,
    forgotten: Candidates | None,
) -> dict[int, bool]:
    """Whether the nearest short records are meant, by the network that reads them with the request.

    They are compared with what was forgotten before, too: to ask twice takes nothing that was kept the first time.
    """
    odds = _read_odds(runtime, scope, description, request, candidates)
    values = {*odds.values()}  # what is said twice counts once
    if forgotten is not None:
        values |= {*_read_odds(runtime, scope, description, request, forgotten).values()}
    *_, second, best = (-ALONE, -ALONE, *sorted(values))
    meant = {i: own + AHEAD * (own - (best if own < best else second)) >= MEANT_FROM for i, own in odds.items()}
    return {i: yes for i, yes in meant.items() if yes or (odds[i] < DOUBTED and not request.broad)}


def nearest_first(candidates: Candidates) -> list[int]:
    """Their indexes, the nearest first."""
    return np.argsort(-(candidates.close + WORDS * candidates.share), kind="stable").tolist()


def _read_odds(
    runtime: Runtime, scope: Scope, description: str, request: Request, candidates: Candidates
) -> dict[int, float]:
    """The log odds that the nearest short records are meant; none without the network."""
    texts = {i: _with_owner(candidates.shown[i], request) for i in nearest_first(candidates) if not candidates.asks[i]}
    near = [i for i, text in texts.items() if len(text) <= READ][:MOST_READ]
    pairs = [(of_the_speaker(description, scope.user), of_the_speaker(texts[i], scope.user)) for i in near]
    odds = REQUESTS.log_odds(pairs, runtime.indexer.embedder.id)
    return {} if odds is None else {i: own for i, own in zip(near, odds.tolist(), strict=True) if not math.isnan(own)}


def by_model(runtime: Runtime, description: str, candidates: Candidates, order: Sequence[int]) -> dict[int, bool]:
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


def unchanged(runtime: Runtime, scope: Scope, shown: Sequence[Stored], order: Sequence[int]) -> list[int]:
    """The order without what was erased or rewritten while the language model thought, by the records as it saw them."""
    current = runtime.store.knowledge.records(scope.user, [record.id for record in shown])
    texts = {
        id_: record.content for id_, record in {**current, **_remainders(runtime, scope, current.values())}.items()
    }
    return [i for i in order if texts.get(shown[i].id) == shown[i].value.content]
