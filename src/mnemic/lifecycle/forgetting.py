"""Forgetting by description: records that clearly match a request are removed, similar ones are kept and named.

Rules decide by words and closeness; a language model, if there is one, decides about the nearest records. What it says is
meant goes. What it says is not meant stays, unless two signs agree that it is: all the words of the request and closeness,
or all the words or the name where everything about somebody is to go. A person who names a thing in its own words must be
able to rely on its going, whatever a model is led to say by the text of a record. Otherwise keeping is the safer error: a
kept record is named in the receipts and can be forgotten by its id, an erased one cannot be brought back.
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
from mnemic.errors import InvalidInput, TooManyHits
from mnemic.indexes.keyword import idf
from mnemic.indexes.vector.exact import compared
from mnemic.knowledge.candidates import omission, stated
from mnemic.lifecycle import revision
from mnemic.recall.context.packing import quoted
from mnemic.recall.results import hit_from
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.safety.trust import is_trusted
from mnemic.text.differences import CUT, of_the_speaker, says_something, values, without_sentences
from mnemic.text.english import bare_words, language_of, names, possessions
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.text.values import shown
from mnemic.types import (
    AddMemory,
    Archive,
    Change,
    MemoryRecord,
    Message,
    Receipt,
    Receipts,
    RecordFilter,
    Restore,
    Scope,
    Status,
    Stored,
    searchable,
)
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
MIXED, DENIED = "says something else as well", "not meant, according to the language model"
KEPT = "kept: "
"""What the reason of a receipt begins with where a description would not take the record."""
EVERYWHERE: tuple[Status, ...] = ("short_term", "consolidating", "long_term", "archived")

_ACTIONS = frozenset(content_terms("forget remove delete erase wipe drop scrub clear"))
_GENERIC = _ACTIONS | frozenset(
    content_terms(
        """keep memory know remember record note store save say tell mention
        mind thing stuff information info data detail everything anything bit whole fact please pls kindly todo alles
        \u00fcber tout"""
    )
)
"""Words of a request for the action, and empty ones."""
_ABOUT = frozenset(("sobre", "sur"))
"""Words that say nothing right after an empty one: "tout sur Léa", not "ce que j'ai dit sur Léa"."""
_BROAD = frozenset("everything anything all whole stuff things todo alles tout".split())
_FIRST = frozenset(
    """i me my mine myself we us our ours mein meine meinem meinen meiner meines unser unsere unserem unseren unserer
    unseres mi mis nuestro nuestra mon ma mes notre nos meu minha meus minhas nosso nossa mio mia miei mie nostro nostra mijn
    onze""".split()
)
"""Words for the speaker, some in other languages: whose it is says nothing of the matter."""
_ARTICLES = _FIRST | frozenset("the a an this that these those his her its their your".split())
_GOES_ON = frozenset("he she it they his her its this that these those".split())
_WORD = re.compile(r"[\w'\u2019+#-]+(?:(?<=\d)[.,:]\d+)*|[.,;:!?]")
_CLAUSE = re.compile(r"; |,? (?:and|but|while) (?=(?:I|my|we|our|they|their|the|[A-Z][\w'\u2019-]*) )")
"""Where another clause begins."""
_CALLED = frozenset("is was called named dr mr mrs ms".split())


# What is asked for


@dataclass(frozen=True, slots=True)
class _Request:
    """A parsed description.

    Attributes:
        text: its words without those around them: "my salary" of "please forget what I said about my salary".
        topic: from the first word that says what is meant: "salary".
        english: whether it is English, as far as can be told.
        terms: of the words that say what is meant.
        names: the terms of the names among them.
        of_speaker: whether it is the speaker's own.
        broad: whether all that bears on it is meant.
        bare: whether it is a word alone, as a name is.
        speaker: the name for which the speaker's own words stand.
    """

    text: str
    topic: str
    english: bool
    terms: tuple[str, ...]
    names: frozenset[str]
    of_speaker: bool
    broad: bool
    bare: bool
    speaker: str


def _request(description: str, speaker: str = "") -> _Request:
    language, words, sentence = language_of(description), list[str](), ""
    english = language is None
    if english:
        description = of_the_speaker(description, speaker)
    for sentence in sentences(description):
        runs = _runs(sentence)
        words = max(reversed(runs), key=lambda run: sum(map(_names_topic, run)))
        if any(map(_names_topic, words)):
            break
    while words and not _names_topic(words[0]) and not _is_first(words[0]):
        words = words[1:]
    begin = next((index for index, word in enumerate(words) if _names_topic(word)), 0)
    text, topic = " ".join(words), " ".join(words[begin:])
    terms = tuple(dict.fromkeys(content_terms(" ".join(word for word in words if not _is_first(word)))))
    capitalised = names(sentence) if language != "de" else ()  # in German a capital is no sign of a name
    return _Request(
        text=text if english else topic,
        topic=topic,
        english=english,
        terms=terms,
        names=frozenset(chain.from_iterable(map(content_terms, capitalised))).intersection(terms),
        of_speaker=english and any(map(_is_first, words)),
        broad=not _BROAD.isdisjoint(description.lower().split()),
        bare=english and words[-1:] == words[begin:] and _ARTICLES.isdisjoint(map(str.lower, words[:begin])),
        speaker=speaker,
    )


def _runs(sentence: str) -> list[list[str]]:
    """The words of a sentence between those that say nothing and its marks."""
    runs: list[list[str]] = [[]]
    for word in _WORD.findall(sentence):
        terms = content_terms(word)
        begins = len(runs) > 1 and not runs[-1]
        if not word[0].isalnum() or (terms and _GENERIC.issuperset(terms)) or (begins and word.lower() in _ABOUT):
            runs.append([])
        else:
            runs[-1].append(word)
    return runs


def _names_topic(word: str) -> bool:
    return not _is_first(word) and not _GENERIC.issuperset(content_terms(word))


def _is_first(word: str) -> bool:
    return re.split("['\u2019]", word.lower(), maxsplit=1)[0] in _FIRST


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
        asks: whether it is no more than a request to forget this, such as the one that is being carried out.
    """

    records: Sequence[Stored]
    shown: Sequence[Stored]
    close: Floats
    share: Floats
    eligible: NDArray[np.bool_]
    named: NDArray[np.bool_]
    asks: NDArray[np.bool_]


def _candidates(
    runtime: Runtime, scope: Scope, view: View, allowed: NDArray[np.bool_], request: _Request, *, whole: bool
) -> _Candidates:
    """The records that are near in meaning or share words, with how they bear on the request.

    ``whole``: messages are judged with what was forgotten of them.
    """
    size = int(allowed.sum())
    postings = {
        term: rows[allowed[rows]] for term in request.terms for rows in [view.keyword.postings(view.columns, term)[0]]
    }
    weights = {term: idf(size, max(1, len(rows))) for term, rows in postings.items()}
    total = sum(weights.values())
    worth = np.zeros(len(view.columns), np.float32)
    for term, rows in postings.items():
        worth[rows] += weights[term] / total
    vector = runtime.indexer.query(request.text, view.model, view.vectors.dimension)
    rows, cosines, is_near = _closest(view, allowed, worth, vector)
    stored = runtime.store.fetch(view.user, view.columns.doc[rows].tolist())
    is_stored = np.array([doc in stored for doc in view.columns.doc[rows].tolist()], np.bool_)
    rows, cosines, is_near = rows[is_stored], cosines[is_stored], is_near[is_stored]
    whole_records = [stored[doc] for doc in view.columns.doc[rows].tolist()]
    visible = _as_shown(runtime, scope, whole_records)
    records = whole_records if whole else visible
    usual = _usual_cosine([records[i].value.content for i in np.flatnonzero(is_near)], cosines[is_near])
    first_person: dict[int, Floats] = {}
    if request.english and vector is not None:
        first_person = _first_person_vectors(runtime, request.speaker, records, cosines)
    cosines = cosines if vector is None else _first_person_cosines(view, vector, cosines, first_person)
    close = np.clip((cosines - usual) / (1 - usual), 0, 1).astype(np.float32)
    terms_of_records = [_terms_of(record) for record in records]
    share = [sum(weights[term] for term in terms.intersection(weights)) for terms in terms_of_records]
    named = np.array([request.names <= terms for terms in terms_of_records], np.bool_)
    if request.bare and vector is not None:
        unlike = [i for i in np.flatnonzero(close >= MEANT).tolist() if not share[i]]
        named[unlike] &= ~_resembles_a_name(runtime, view, [records[i] for i in unlike], cosines[unlike], vector)
    asks = np.array([_only_asks(record, request) for record in records], np.bool_)
    return _Candidates(
        records=records,
        shown=visible,
        close=close,
        share=np.array(share, np.float32) / np.float32(total),
        named=named,
        eligible=named
        & ~asks
        & ~_about_another(runtime, view, rows, first_person, request)
        & ~_owned(records, request),
        asks=asks,
    )


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


def _only_asks(record: Stored, request: _Request) -> bool:
    terms = {*content_terms(of_the_speaker(record.value.content, request.speaker))}
    return not terms.isdisjoint(_ACTIONS) and terms - _GENERIC <= {*request.terms}


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


def _first_person_vectors(
    runtime: Runtime, speaker: str, records: Sequence[Stored], cosines: Floats
) -> dict[int, Floats]:
    """The vectors of the nearest memories that call the speaker "the user" or by name, as the speaker would say them."""
    texts: dict[int, str] = {}
    order: list[int] = np.argsort(-cosines, kind="stable").tolist()
    for index in order:
        value = records[index].value
        if isinstance(value, MemoryRecord):
            text = searchable(value)
            if (rephrased := of_the_speaker(text, speaker)) != text:
                texts[index] = rephrased
        if len(texts) == FIRST_PERSON:
            break
    vectors = runtime.indexer.documents([*texts.values()], runtime.indexer.embedder)
    return {index: vector for index, vector in zip(texts, vectors, strict=True) if vector is not None}


def _first_person_cosines(view: View, vector: Floats, cosines: Floats, first_person: Mapping[int, Floats]) -> Floats:
    """Cosines with a vector, of what is told of the speaker in the speaker's own words."""
    adjusted = cosines.copy()
    if first_person:
        adjusted[[*first_person]] = compared([vector], np.stack([*first_person.values()]), view.vectors.centre)
    return adjusted


def _about_another(
    runtime: Runtime, view: View, rows: Rows, first_person: Mapping[int, Floats], request: _Request
) -> NDArray[np.bool_]:
    """Whether records are nearer to the same thing of a relative than to the speaker's own: "my sister's religion"."""
    by_holder: list[Floats] = []
    for holder in ("my relative's", "my") if request.of_speaker else ():
        vector = runtime.indexer.query(f"{holder} {request.topic}", view.model, view.vectors.dimension)
        if vector is not None:
            cosines = view.vectors.cosines([vector])
            cosines.sharpen(rows)
            by_holder.append(_first_person_cosines(view, vector, cosines.values[rows], first_person))
    return by_holder[0] - by_holder[1] >= ANOTHERS if len(by_holder) > 1 else np.zeros(len(rows), np.bool_)


def _owned(records: Sequence[Stored], request: _Request) -> NDArray[np.bool_]:
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


def _matches(request: _Request, candidates: _Candidates, alone: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
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
    if request.names and (request.broad or request.names.issuperset(request.terms)):
        matching = certain = eligible  # whatever is said of them
    elif request.broad:
        matching |= _same_entity(request, candidates, matching & words)
    return matching, certain


def _same_entity(request: _Request, candidates: _Candidates, matching: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether records name who was asked for by another word: of "my ex Daniel" comes whatever names Daniel."""
    texts = [record.value.content for record in candidates.records]
    called = {
        term
        for i in np.flatnonzero(matching).tolist()
        for name in names(texts[i])
        if _introduces_name(name, texts[i], request.terms)
        for term in content_terms(name)
    }
    return np.array([not called.isdisjoint(content_terms(text)) for text in texts], np.bool_)


def _introduces_name(name: str, text: str, terms: Sequence[str]) -> bool:
    """Whether the words before a name say what it is the name of: "my ex", "our dog is called".

    A name before it is another one of a list, and somebody's boss is not the name of the boss.
    """
    before, _, after = text.partition(name)
    words = [word for word in re.findall(r"\w+", before) if word.lower() not in _CALLED]
    if not words or words[-1][0].isupper():
        return False
    owns = re.match("['\u2019]", after) and not before.rstrip().endswith(words[-1])
    return not owns and not set(content_terms(words[-1])).isdisjoint(terms)


# What a language model says of them


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


def described(runtime: Runtime, scope: Scope, description: object, *, archived: bool = False) -> Described:
    """What a description takes and what resembles it, without changing anything.

    Args:
        runtime: the record.
        scope: whose memory.
        description: what to forget, in words.
        archived: also what was forgotten or merged before.

    Raises:
        InvalidInput: the description is none, or says nothing in particular.
    """
    text = _checked_description(runtime, scope, description)
    request = _request(text, scope.user)
    if not request.terms:
        request = _request(text)  # of the speaker, by name
    if not request.terms:
        raise InvalidInput(
            f"{shown(description, 80)} describes nothing in particular; say what to forget, or give ids=."
        )
    view = runtime.views.of(scope.user)
    if view is None:
        return Described((), ())
    filters = RecordFilter(
        project=scope.project, session=scope.session, expired=True, status=EVERYWHERE if archived else None
    )
    candidates = _candidates(runtime, scope, view, view.columns.mask(filters), request, whole=archived)
    understood = (
        request.english or runtime.indexer.embedder.id not in DEFAULT_MODELS
    )  # these know the meaning of English only
    by_rule, certain = _matches(request, candidates, MEANT if understood else math.inf)
    records = candidates.records
    order: list[int] = np.argsort(-(candidates.close + WORDS * candidates.share), kind="stable").tolist()
    if runtime.llm is None:
        matching = [i for i in order if by_rule[i]]
    else:
        verdicts = _verdicts(runtime, text, candidates, order)
        order = _unchanged(runtime, scope, candidates.shown, order)
        matching = [i for i in order if certain[i] or verdicts.get(i, by_rule[i])]
    reasons = dict.fromkeys({i for i in order if by_rule[i]}.difference(matching), DENIED)
    reasons |= {i: MIXED for i in matching if _has_other_matter(records[i], request)}
    mixed = {_id(records[i]): records[i] for i in matching if reasons.get(i) == MIXED}
    parts = _parts(runtime, scope, mixed, request) if request.broad and not archived else _Parts()
    clear = {_id(records[i]): records[i] for i in matching if reasons.get(i) != MIXED}
    clear |= {id_: mixed[id_] for id_ in parts.whole}
    clear |= _emptied_messages(runtime, scope, clear, request)
    if clear or parts.forgotten:
        clear |= {_id(records[i]): records[i] for i in order if candidates.asks[i]}
    return Described(
        clear=_receipts(runtime, scope, clear),
        spared=_spared(candidates, order, reasons, {*clear, *parts.messages, *parts.mixed}),
        bearing=tuple(_id(records[i]) for i in matching),
        beside=tuple(_id(records[i]) for i in order if candidates.eligible[i] and i not in matching),
        parts=parts,
    )


def _checked_description(runtime: Runtime, scope: Scope, description: object) -> str:
    """A description: no list, and no id."""
    if not isinstance(description, str):
        raise InvalidInput(f"A description is a string, not {type(description).__name__}; ids are given as ids=[...].")
    text = validation.text("description", description)
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
    if not candidates.named[index]:
        return "does not name who is meant"
    return "similar, but not clearly meant" if candidates.eligible[index] else "about somebody else"


def _id(record: Stored) -> str:
    assert record.value.id is not None
    return record.value.id


def _quote(record: Stored) -> str:
    return quoted(hit_from(record), QUOTED)


def _has_other_matter(record: Stored, request: _Request) -> bool:
    """Whether a text has a sentence or clause on another matter.

    A clause that begins with a pronoun continues the one before. Without shared words, only a single clause is one matter.
    """
    text = record.value.content.replace(CUT, "\n\n")[:LONGEST]
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


def _parts(runtime: Runtime, scope: Scope, records: Mapping[str, Stored], request: _Request) -> _Parts:
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


def _sentences(text: str, request: _Request) -> tuple[list[str], list[str]]:
    """The sentences of a text that bear on a request, and the others; a pronoun at the beginning continues the one before."""
    groups: tuple[list[str], list[str]] = [], []
    continues = False
    for sentence in sentences(text.replace(CUT, "\n\n")):
        terms = {*content_terms(sentence)}
        bears = not request.names.isdisjoint(terms) if request.names else terms.issuperset(request.terms)
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
    runtime: Runtime, scope: Scope, clear: Mapping[str, Stored], request: _Request
) -> dict[str, Stored]:
    """Messages whose memories are all forgotten and that say nothing else: they are forgotten too."""
    sources = {
        id_ for record in clear.values() if isinstance(record.value, MemoryRecord) for id_ in record.value.source_ids
    }
    memories_of = runtime.store.relations.memories_of(scope.user, sorted(sources - clear.keys()))
    emptied = [id_ for id_, memories in sorted(memories_of.items()) if memories and clear.keys() >= {*memories}]
    messages = _as_shown(runtime, scope, [runtime.store.get(scope.user, id_) for id_ in emptied])
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
    selection = described(runtime, scope, description, archived=archived)
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
