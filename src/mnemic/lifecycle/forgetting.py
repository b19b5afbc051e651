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
from collections.abc import Collection, Mapping, Sequence
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
from mnemic.lifecycle.revision import APART, update_derived
from mnemic.recall.context import quoted
from mnemic.recall.results import hit_from
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.runtime.views import View
from mnemic.safety.trust import is_trusted
from mnemic.text.differences import of_the_speaker, says_something
from mnemic.text.english import is_english, names
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
TOLD = 50
"""Most memories of a language model that are read in the speaker's own words."""
QUOTED = 120
"""Characters of a record that its receipt quotes."""
LONGEST = 20_000
"""Characters of a text that are searched for other matters."""
OWN_WORDS, CLAUSE_WORDS = 2, 3
"""Fewest content words of a clause on a matter of its own within a sentence, and fewest words."""
MIXED, DENIED = "says something else as well", "is not meant according to the language model"
EVERYWHERE: tuple[Status, ...] = ("short_term", "consolidating", "long_term", "archived")

_ACTIONS = frozenset(content_terms("forget remove delete erase wipe drop scrub clear"))
_GENERIC = _ACTIONS | frozenset(
    content_terms(
        """keep memory know remember record note store save say tell mention
        mind thing stuff information info data detail everything anything bit whole fact please pls kindly todo sobre alles
        \u00fcber tout"""
    )
)
"""Words of a request for the action, and empty ones."""
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
        own: whether it is the speaker's own.
        broad: whether all that bears on it is meant.
        bare: whether it is a word alone, as a name is.
        speaker: the name for which the speaker's own words stand.
    """

    text: str
    topic: str
    english: bool
    terms: tuple[str, ...]
    names: frozenset[str]
    own: bool
    broad: bool
    bare: bool
    speaker: str


def _request(description: str, speaker: str = "") -> _Request:
    english, words, sentence = is_english(description), list[str](), ""
    if english:
        description = of_the_speaker(description, speaker)
    for sentence in sentences(description):
        runs = _runs(sentence)
        words = max(reversed(runs), key=lambda run: sum(map(_names_topic, run)))
        if any(map(_names_topic, words)):
            break
    while words and not _names_topic(words[0]) and not _is_first(words[0]):
        words = words[1:]
    begin = next((at for at, word in enumerate(words) if _names_topic(word)), 0)
    text, topic = " ".join(words), " ".join(words[begin:])
    terms = tuple(dict.fromkeys(content_terms(" ".join(word for word in words if not _is_first(word)))))
    named = names(sentence) if english else ()  # elsewhere a capital is no sign of a name
    return _Request(
        text=text if english else topic,
        topic=topic,
        english=english,
        terms=terms,
        names=frozenset(chain.from_iterable(map(content_terms, named))).intersection(terms),
        own=english and any(map(_is_first, words)),
        broad=not _BROAD.isdisjoint(description.lower().split()),
        bare=english and words[-1:] == words[begin:] and _ARTICLES.isdisjoint(map(str.lower, words[:begin])),
        speaker=speaker,
    )


def _runs(sentence: str) -> list[list[str]]:
    """The words of a sentence between those that say nothing and its marks."""
    runs: list[list[str]] = [[]]
    for word in _WORD.findall(sentence):
        terms = content_terms(word)
        if not word[0].isalnum() or (terms and _GENERIC.issuperset(terms)):
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
        records: in the order of the rows.
        close: how much nearer to the request than what is usual among the nearest, 0 to 1.
        share: of the idf of the request's terms that the record has, 0 to 1.
        own: whether it may be meant: it has the names that are asked for, and tells of nobody else.
        named: whether it has the names.
        asks: whether it is no more than a request to forget this, such as the one that is being carried out.
    """

    records: Sequence[Stored]
    close: Floats
    share: Floats
    own: NDArray[np.bool_]
    named: NDArray[np.bool_]
    asks: NDArray[np.bool_]


def _candidates(runtime: Runtime, view: View, allowed: NDArray[np.bool_], request: _Request) -> _Candidates:
    """The records that are near in meaning or share words, with how they bear on the request."""
    size = int(allowed.sum())
    having = {
        term: rows[allowed[rows]] for term in request.terms for rows in [view.keyword.postings(view.columns, term)[0]]
    }
    weights = {term: idf(size, max(1, len(rows))) for term, rows in having.items()}
    total = sum(weights.values())
    worth = np.zeros(len(view.columns), np.float32)
    for term, rows in having.items():
        worth[rows] += weights[term] / total
    vector = runtime.indexer.query(request.text, view.model, view.vectors.dimension)
    rows, cosines, compared_with = _closest(view, allowed, worth, vector)
    stored = runtime.store.fetch(view.user, view.columns.doc[rows].tolist())
    held = np.array([doc in stored for doc in view.columns.doc[rows].tolist()], np.bool_)
    rows, cosines, compared_with = rows[held], cosines[held], compared_with[held]
    records = [stored[doc] for doc in view.columns.doc[rows].tolist()]
    usual = _usual([records[at].value.content for at in np.flatnonzero(compared_with)], cosines[compared_with])
    told = _told(runtime, request.speaker, records, cosines) if request.english and vector is not None else {}
    cosines = cosines if vector is None else _as_told(view, vector, cosines, told)
    close = np.clip((cosines - usual) / (1 - usual), 0, 1).astype(np.float32)
    said = [_terms_of(record) for record in records]
    share = [sum(weights[term] for term in terms.intersection(weights)) for terms in said]
    named = np.array([request.names <= terms for terms in said], np.bool_)
    if request.bare and vector is not None:
        unlike = [at for at in np.flatnonzero(close >= MEANT).tolist() if not share[at]]
        named[unlike] &= ~_resembles_a_name(runtime, view, [records[at] for at in unlike], cosines[unlike], vector)
    asks = np.array([_only_asks(record, request) for record in records], np.bool_)
    return _Candidates(
        records=records,
        close=close,
        share=np.array(share, np.float32) / np.float32(total),
        named=named,
        own=named & ~asks & ~_about_another(runtime, view, rows, told, request),
        asks=asks,
    )


def _resembles_a_name(
    runtime: Runtime, view: View, records: Sequence[Stored], cosines: Floats, vector: Floats
) -> NDArray[np.bool_]:
    """Whether it is a name in records that is near to a vector: "Johanna" is like "Anna", and is somebody else."""
    named = [" ".join(names(record.value.content)) for record in records]
    vectors = runtime.indexer.documents(named, runtime.indexer.embedder)
    alone = np.array([
        compared([vector], one[None], view.vectors.centre)[0] if text and one is not None else -1.0
        for text, one in zip(named, vectors, strict=True)
    ])  # fmt: skip
    return alone >= BY_NAME * cosines


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


def _usual(texts: Sequence[str], cosines: Floats) -> float:
    """What is usual among texts: the middle cosine of these, and of four that have nothing to do with a request.

    The first few records of a user are not measured by each other alone, and a message and the memory of it count once.
    """
    each = dict(zip(reversed(texts), reversed(cosines.tolist()), strict=True))
    return min(float(np.median([*each.values(), 0.0, 0.0, 0.0, 0.0])), 0.99)


def _told(runtime: Runtime, speaker: str, records: Sequence[Stored], cosines: Floats) -> dict[int, Floats]:
    """The vectors of the nearest memories that call the speaker "the user" or by name, as the speaker would say them."""
    texts: dict[int, str] = {}
    order: list[int] = np.argsort(-cosines, kind="stable").tolist()
    for at in order:
        value = records[at].value
        if isinstance(value, MemoryRecord) and (own := of_the_speaker(text := searchable(value), speaker)) != text:
            texts[at] = own
        if len(texts) == TOLD:
            break
    vectors = runtime.indexer.documents([*texts.values()], runtime.indexer.embedder)
    return {at: vector for at, vector in zip(texts, vectors, strict=True) if vector is not None}


def _as_told(view: View, vector: Floats, cosines: Floats, told: Mapping[int, Floats]) -> Floats:
    """Cosines with a vector, of what is told of the speaker in the speaker's own words."""
    found = cosines.copy()
    if told:
        found[[*told]] = compared([vector], np.stack([*told.values()]), view.vectors.centre)
    return found


def _about_another(
    runtime: Runtime, view: View, rows: Rows, told: Mapping[int, Floats], request: _Request
) -> NDArray[np.bool_]:
    """Whether records are nearer to the same thing of a relative than to the speaker's own: "my sister's religion"."""
    found: list[Floats] = []
    for holder in ("my relative's", "my") if request.own else ():
        vector = runtime.indexer.query(f"{holder} {request.topic}", view.model, view.vectors.dimension)
        if vector is not None:
            cosines = view.vectors.cosines([vector])
            cosines.sharpen(rows)
            found.append(_as_told(view, vector, cosines.values[rows], told))
    return found[0] - found[1] >= ANOTHERS if len(found) > 1 else np.zeros(len(rows), np.bool_)


def _terms_of(record: Stored) -> set[str]:
    """What a record says; whose words it is does not count."""
    value = record.value
    beside = (
        (*value.tags, *value.keywords, value.category or "", value.summary or "")
        if isinstance(value, MemoryRecord)
        else ()
    )
    return {*content_terms(value.content), *content_terms(" ".join(beside))}


def _bearing(request: _Request, found: _Candidates, alone: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether records clearly match a request, by all of its words or by meaning relative to the best match; and by both.

    ``alone`` is the closeness needed without shared words.
    """
    if not found.own.any():
        return found.own, found.own
    worth = found.close + WORDS * found.share
    words = found.share >= ALL - 1e-6
    needed = np.where(found.share > 0, PARTLY, alone)
    beside = BROAD if request.broad else BESIDE
    by_meaning = (found.close >= needed) & (worth >= beside * worth[found.own].max())
    by_words = words & (request.broad | (found.close >= BESIDE_WORDS * found.close[found.own].max()))
    bears = found.own & (by_meaning | by_words)
    certain = found.own & by_words & (by_meaning | request.broad)
    if request.names and (request.broad or request.names.issuperset(request.terms)):
        bears = certain = found.own  # whatever is said of them
    elif request.broad:
        bears |= _same_entity(request, found, bears & words)
    return bears, certain


def _same_entity(request: _Request, found: _Candidates, bears: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether records name who was asked for by another word: of "my ex Daniel" comes whatever names Daniel."""
    called = {
        term
        for at in np.flatnonzero(bears).tolist()
        for name in names(found.records[at].value.content)
        if _introduces_name(name, found.records[at].value.content, request.terms)
        for term in content_terms(name)
    }
    return np.array([not called.isdisjoint(content_terms(record.value.content)) for record in found.records], np.bool_)


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


def _verdicts(runtime: Runtime, description: str, found: _Candidates, order: Sequence[int]) -> dict[int, bool]:
    """Whether the nearest records are meant, as far as the language model says.

    What is trusted and what is not is asked about apart, so that the text of a document sways no verdict on what the user
    said. What was forgotten before is told to no model.
    """
    from mnemic.llm import forgetting

    consultant = Consultant(runtime)
    live = [at for at in order if found.records[at].status != "archived"]
    verdicts: dict[int, bool] = {}
    for trusted in (True, False):
        near = [at for at in live if is_trusted(found.records[at].value.trust) is trusted][: forgetting.MOST_CANDIDATES]
        texts = [found.records[at].value for at in near]
        if texts and (answer := consultant.ask(lambda texts=texts: forgetting.task(description, texts))):
            verdicts |= {at: meant for at, meant in zip(near, answer, strict=True) if meant is not None}
    return verdicts


def _unchanged(runtime: Runtime, scope: Scope, found: _Candidates, order: Sequence[int]) -> list[int]:
    """The order without what was erased or rewritten while the language model thought."""
    now = runtime.store.knowledge.records(scope.user, [_id(record) for record in found.records])
    texts = {id_: record.content for id_, record in now.items()}
    return [at for at in order if texts.get(_id(found.records[at])) == found.records[at].value.content]


# What goes


@dataclass(frozen=True, slots=True)
class _Parts:
    """The sentences of messages of which not all is forgotten, as memories derived from them.

    Attributes:
        gone: those that are forgotten.
        kept: those that a memory has beside one that is forgotten.
        mixed: the ids of such memories, which are replaced.
        messages: the ids of the messages.
        whole: the ids of messages and of other memories without a sentence that stays.
    """

    gone: tuple[MemoryRecord, ...] = ()
    kept: tuple[MemoryRecord, ...] = ()
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
    text = _checked(runtime, scope, description)
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
    found = _candidates(runtime, view, view.columns.mask(filters), request)
    told = (
        request.english or runtime.indexer.embedder.id not in DEFAULT_MODELS
    )  # these know the meaning of English only
    by_rule, certain = _bearing(request, found, MEANT if told else math.inf)
    order: list[int] = np.argsort(-(found.close + WORDS * found.share), kind="stable").tolist()
    if runtime.llm is None:
        bears = [at for at in order if by_rule[at]]
    else:
        verdicts = _verdicts(runtime, text, found, order)
        order = _unchanged(runtime, scope, found, order)
        bears = [at for at in order if certain[at] or verdicts.get(at, by_rule[at])]
    kept = dict.fromkeys({at for at in order if by_rule[at]}.difference(bears), DENIED)
    kept |= {at: MIXED for at in bears if _has_other_matter(found.records[at], request)}
    both = {_id(found.records[at]): found.records[at] for at in bears if kept.get(at) == MIXED}
    parts = _parts(runtime, scope, both, request) if request.broad and not archived else _Parts()
    clear = {_id(found.records[at]): found.records[at] for at in bears if kept.get(at) != MIXED}
    clear |= {id_: both[id_] for id_ in parts.whole}
    clear |= _emptied_messages(runtime, scope, clear, request)
    if clear or parts.gone:
        clear |= {_id(found.records[at]): found.records[at] for at in order if found.asks[at]}
    return Described(
        clear=_taken(runtime, scope, clear),
        spared=_spared(found, order, kept, {*clear, *parts.messages, *parts.mixed}),
        bearing=tuple(_id(found.records[at]) for at in bears),
        beside=tuple(_id(found.records[at]) for at in order if found.own[at] and at not in bears),
        parts=parts,
    )


def _checked(runtime: Runtime, scope: Scope, description: object) -> str:
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
    found: _Candidates, order: Sequence[int], kept: Mapping[int, str], taken: Collection[str]
) -> tuple[Receipt, ...]:
    """Receipts for what is kept: first what only the language model speaks against, then by nearness."""
    near = [
        at
        for at in sorted(order, key=lambda at: kept.get(at) != DENIED)
        if _id(found.records[at]) not in taken
        and (at in kept or found.close[at] >= NEAR or found.share[at] >= NEAR_WORDS)
    ]
    return tuple(
        Receipt(
            id=_id(found.records[at]),
            outcome="rejected",
            reason=f"{kept.get(at) or _why_not(found, at)}, and was kept: {_quote(found.records[at])}",
        )
        for at in near[:SPARED]
    )


def _why_not(found: _Candidates, at: int) -> str:
    if not found.named[at]:
        return "does not name who is meant"
    return "resembles it" if found.own[at] else "tells of somebody else"


def _id(record: Stored) -> str:
    assert record.value.id is not None
    return record.value.id


def _quote(record: Stored) -> str:
    return quoted(hit_from(record), QUOTED)


def _has_other_matter(record: Stored, request: _Request) -> bool:
    """Whether a text has a sentence or clause on another matter.

    A clause that begins with a pronoun continues the one before. Without shared words, only a single clause is one matter.
    """
    text = record.value.content[:LONGEST]
    clauses = [(clause, {*content_terms(clause)}) for clause in _clauses(text)]
    whole = {sentence for sentence in sentences(text) if says_something(sentence)}
    said = set[str]().union(*(terms for _, terms in clauses))
    topic = {*request.terms} - request.names
    topic = topic if topic & said else {*request.terms}
    meant = sum(not topic.isdisjoint(terms) for _, terms in clauses)
    others = sum(
        topic.isdisjoint(terms)
        and (len(terms) >= OWN_WORDS or clause in whole)
        and clause.split(maxsplit=1)[0].lower() not in _GOES_ON
        for clause, terms in clauses
    )
    return others > (0 if meant else 1)


def _parts(runtime: Runtime, scope: Scope, both: Mapping[str, Stored], request: _Request) -> _Parts:
    """The sentences of messages that bear on a request, where another one stays; memories that have both are taken apart."""
    gone: dict[str, list[MemoryRecord]] = {}
    for id_, record in both.items():
        if isinstance(record.value, Message):
            about, others = _sentences(record.value.content, request)
            if says_something("\n\n".join(others)):
                made = [stated(record.value, one, record.project) for one in about]
                known = runtime.store.docs_of(scope.user, [one.id for one in made])
                gone[id_] = [
                    one if one.id in known else omission(record.value, one.content, record.project) for one in made
                ]
    kept: list[MemoryRecord] = []
    mixed: list[str] = []
    for id_, record in both.items():
        source = next(iter(getattr(record.value, "source_ids", ())), "")
        if source in gone and isinstance(message := both[source].value, Message):
            mixed.append(id_)
            kept += [stated(message, one, record.project) for one in _sentences(record.value.content, request)[1]]
    whole = [
        id_
        for id_, record in both.items()
        if id_ not in gone
        and id_ not in mixed
        and not says_something("\n\n".join(_sentences(record.value.content, request)[1]))
    ]
    return _Parts(tuple(chain.from_iterable(gone.values())), tuple(kept), tuple(mixed), tuple(gone), tuple(whole))


def _sentences(text: str, request: _Request) -> tuple[list[str], list[str]]:
    """The sentences of a text that bear on a request, and the others; a pronoun at the beginning continues the one before."""
    found: tuple[list[str], list[str]] = [], []
    goes = False
    for sentence in sentences(text):
        terms = {*content_terms(sentence)}
        bears = not request.names.isdisjoint(terms) if request.names else terms.issuperset(request.terms)
        goes = bears or (goes and sentence.split(maxsplit=1)[0].lower() in _GOES_ON)
        found[0 if goes else 1].append(sentence)
    return found


def _clauses(text: str) -> list[str]:
    found: list[str] = []
    for sentence in sentences(text):
        parts = _CLAUSE.split(sentence)
        found += parts if all(len(part.split()) >= CLAUSE_WORDS for part in parts) else [sentence]
    return found


def _emptied_messages(
    runtime: Runtime, scope: Scope, clear: Mapping[str, Stored], request: _Request
) -> dict[str, Stored]:
    """Messages whose memories are all forgotten and that say nothing else: they are forgotten too."""
    sources = {
        id_ for record in clear.values() if isinstance(record.value, MemoryRecord) for id_ in record.value.source_ids
    }
    made = runtime.store.relations.memories_of(scope.user, sorted(sources - clear.keys()))
    bare = [id_ for id_, memories in sorted(made.items()) if memories and clear.keys() >= {*memories}]
    said = {id_: runtime.store.get(scope.user, id_) for id_ in bare}
    return {id_: record for id_, record in said.items() if not _has_other_matter(record, request)}


def _taken(runtime: Runtime, scope: Scope, clear: Mapping[str, Stored]) -> tuple[Receipt, ...]:
    """A receipt for each record that goes: what it says, and what it had taken the place of."""
    replaced = runtime.store.relations.predecessors(scope.user, [*clear])
    receipts: list[Receipt] = []
    for id_, record in clear.items():
        ended = [repr(old.id) for old in replaced.get(id_, ()) if old.expired_at and old.id not in clear]
        after = f"; it had taken the place of {', '.join(ended)}: restore() makes that hold again" if ended else ""
        receipts.append(Receipt(id=id_, outcome="forgotten", reason=_quote(record) + after))
    return tuple(receipts)


def previewed(runtime: Runtime, scope: Scope, description: object, *, archived: bool = False) -> Receipts:
    """The receipts that forgetting by this description would have now."""
    meant = described(runtime, scope, description, archived=archived)
    return Receipts((*meant.clear, *map(_hidden, meant.parts.gone), *meant.spared))


def _hidden(part: MemoryRecord) -> Receipt:
    """The receipt of a sentence of a message that says something else as well."""
    reason = f"of {part.source_ids[0]!r}, which stays without it: {shown(part.content, QUOTED)}"
    return Receipt(id=part.id, outcome="forgotten", reason=reason)


def forget_described(runtime: Runtime, scope: Scope, description: object, zone: tzinfo, reason: str) -> Receipts:
    """Archive the memories and messages that clearly bear on a description.

    Returns:
        One receipt for each that was removed, and ``rejected`` ones for what resembles it and was spared.
    """
    meant = described(runtime, scope, description)
    why = reason or f"forgotten as {shown(description, 200)}"
    removed = [Archive(id=receipt.id, reason=why, everywhere=True) for receipt in meant.clear]
    changes = [*removed, *_taking_apart(runtime, scope.user, meant.parts, why)]
    done = runtime.store.apply(scope.user, changes, model=runtime.indexer.embedder.id) if changes else ()
    along = update_derived(runtime, scope, [*(c.id for c in removed), *(one.id for one in meant.parts.gone)], zone)
    receipts = [
        replace(one, reason=receipt.reason) if one.outcome == "forgotten" else one
        for one, receipt in zip(done, meant.clear, strict=False)
    ]
    return Receipts((*receipts, *map(_hidden, meant.parts.gone), *along, *meant.spared))


def _taking_apart(runtime: Runtime, user: str, parts: _Parts, why: str) -> list[Change]:
    """Changes that leave sentences out of messages; what a message says beside them becomes a memory of its own."""
    records = (*(replace(one, status="archived") for one in parts.gone), *parts.kept)
    held = runtime.store.knowledge.records(user, [one.id for one in parts.kept])
    added = [
        AddMemory(record=one, indexing=indexing)
        for one, indexing in zip(records, runtime.indexer.indexing(records, runtime.indexer.embedder), strict=True)
    ]
    changes: list[Change] = [Archive(id=id_, reason=APART) for id_ in parts.mixed]
    changes += [
        Restore(id=id_) for id_, one in held.items() if isinstance(one, MemoryRecord) and one.status == "archived"
    ]
    changes += added[: len(parts.gone)]
    changes += [Archive(id=one.id, reason=why, everywhere=True) for one in parts.gone]
    return [*changes, *added[len(parts.gone) :]]


def to_erase(runtime: Runtime, scope: Scope, description: object) -> Described:
    """What a description takes for good, what was forgotten before included.

    Raises:
        TooManyHits: it takes more than ``HARD`` records; nothing was erased.
    """
    meant = described(runtime, scope, description, archived=True)
    if len(meant.clear) > HARD:
        raise TooManyHits(
            f"{shown(description, 80)} takes {len(meant.clear)} records, and at most {HARD} are "
            "erased for good by a description. Nothing was erased. See them with dry_run=True and give those that "
            "are meant as ids=[...]."
        )
    return meant
