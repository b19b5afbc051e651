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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from itertools import chain

import numpy as np

from mnemic import validation
from mnemic.errors import InvalidInput, TooManyHits
from mnemic.knowledge.candidates import omission, stated
from mnemic.lifecycle import matches, revision
from mnemic.lifecycle.descriptions import Description, Request, divided, requested
from mnemic.recall.context.packing import quoted
from mnemic.recall.results import hit_from
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import CUT, says_something, values, without_sentences
from mnemic.text.english import bare_words
from mnemic.text.frames import speaks_for_someone
from mnemic.text.markup import is_blank
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
    Stored,
)
from mnemic.types.literals import EVERYWHERE, KEPT
from mnemic.vectors import DEFAULT_MODELS

HARD = 5
"""Most records that a description alone may erase."""
NEAR, NEAR_WORDS = 0.12, 0.34
"""Closeness, or share of the words, from which a kept record is named."""
SPARED = 10
"""Most kept records that are named."""
QUOTED = 120
"""Characters of a record that its receipt quotes."""
LONGEST = 20_000
"""Characters of a text that are searched for other matters."""
OWN_WORDS, CLAUSE_WORDS = 2, 3
"""Fewest content words of a clause on a matter of its own within a sentence, and fewest words."""
EXCEPTED = "nearer to what is excepted"
MIXED, DENIED = "says something else as well", "not meant, as far as can be told"

_GOES_ON = frozenset("he she it they his her its this that these those".split())
_CLAUSE = re.compile(r"; |,? (?:and|but|while) (?=(?:I|my|we|our|they|their|the|[A-Z][\w'\u2019-]*) )")
"""Where another clause begins."""


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
    find = partial(matches.find, runtime, scope, view)
    candidates = find(view.columns.mask(filters), request, description.excluded, whole=archived)
    # the default models know the meaning of English only
    understood = request.english or runtime.indexer.embedder.id not in DEFAULT_MODELS
    by_rule, certain = matches.by_rules(request, candidates, matches.MEANT if understood else math.inf)
    records = candidates.records
    forgotten, gone = None, view.columns.mask(replace(filters, status=("archived",)))
    if gone.any() and not archived:
        forgotten = find(gone, request, (), whole=True)
        meant: list[int] = np.flatnonzero(by_rule).tolist()
        by_rule[matches.passed_over(runtime, scope, request, candidates, forgotten, meant)] = False
    order = matches.nearest_first(candidates)
    if runtime.llm is None:
        verdicts: dict[int, bool] = {}
        if forgets and request.english:
            verdicts = matches.by_network(runtime, scope, description.meant, request, candidates, forgotten)
        certain[[i for i, meant in verdicts.items() if not meant]] = False  # no text can persuade this network
    else:
        verdicts = matches.by_model(runtime, description.text, candidates, order)
        order = matches.unchanged(runtime, scope, candidates.shown, order)
    matching = [i for i in order if certain[i] or (verdicts.get(i, by_rule[i]) and candidates.eligible[i])]
    reasons = dict.fromkeys({i for i in order if by_rule[i]}.difference(matching), DENIED)
    reasons |= {i: MIXED for i in matching if _has_other_matter(records[i], request)}
    mixed = {records[i].id: records[i] for i in matching if reasons.get(i) == MIXED}
    parts = _parts(runtime, scope, mixed, request) if request.broad and not archived else _Parts()
    clear = {records[i].id: records[i] for i in matching if reasons.get(i) != MIXED}
    clear |= {id_: mixed[id_] for id_ in parts.whole}
    excepted = {records[i].id for i in order if candidates.excepted[i]}
    emptied = _emptied_messages(runtime, scope, clear, request, whole=archived)
    clear |= {id_: record for id_, record in emptied.items() if id_ not in excepted}
    if clear or parts.forgotten:
        clear |= {records[i].id: records[i] for i in order if candidates.asks[i]}
    return Described(
        clear=_receipts(runtime, scope, clear),
        spared=_spared(candidates, order, reasons, {*clear, *parts.messages, *parts.mixed}),
        bearing=tuple(records[i].id for i in matching),
        beside=tuple(records[i].id for i in order if candidates.eligible[i] and i not in matching),
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
    candidates: matches.Candidates, order: Sequence[int], reasons: Mapping[int, str], taken: Collection[str]
) -> tuple[Receipt, ...]:
    """Receipts for what is kept: first what only the language model speaks against, then by nearness."""
    near = [
        index
        for index in sorted(order, key=lambda index: reasons.get(index) != DENIED)
        if candidates.records[index].id not in taken
        and (index in reasons or candidates.close[index] >= NEAR or candidates.share[index] >= NEAR_WORDS)
    ]
    return tuple(
        Receipt(
            id=candidates.records[index].id,
            outcome="rejected",
            reason=f"{KEPT}{reasons.get(index) or _why_not(candidates, index)}: {_quote(candidates.shown[index])}",
        )
        for index in near[:SPARED]
    )


def _why_not(candidates: matches.Candidates, index: int) -> str:
    if candidates.excepted[index]:
        return EXCEPTED
    if not candidates.named[index]:
        return "does not name who is meant"
    return "similar, but not clearly meant" if candidates.eligible[index] else "about somebody else"


def _quote(record: Stored) -> str:
    return quoted(hit_from(record), QUOTED)


def _has_other_matter(record: Stored, request: Request) -> bool:
    """Whether a text has a sentence or clause on another matter.

    A clause that begins with a pronoun continues the one before. Without shared words, only a single clause is one matter.
    Where a sentence has all words of the request, one that lacks some is of another matter, and so is one of nobody's own
    beside the speaker's own.
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
    meant = [sentence for sentence in whole if topic <= {*content_terms(sentence)}]
    own = [sentence for sentence in meant if request.of_speaker and speaks_for_someone(sentence)]
    others += sum(bool(meant) and sentence not in (own or meant) and not _goes_on(sentence) for sentence in whole)
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
    messages = messages if whole else matches.as_shown(runtime, scope, messages)
    return {record.id: record for record in messages if not _has_other_matter(record, request)}


def _receipts(runtime: Runtime, scope: Scope, clear: Mapping[str, Stored]) -> tuple[Receipt, ...]:
    """A receipt for each record that goes: what it says, and what it had taken the place of."""
    replaced = runtime.store.relations.predecessors(scope.user, [*clear])
    receipts: list[Receipt] = []
    for id_, record in zip(clear, matches.as_shown(runtime, scope, [*clear.values()]), strict=True):
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
        (left,) = matches.as_shown(runtime, scope, [runtime.store.get(scope.user, id_)])
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
        (left,) = matches.as_shown(runtime, scope, [runtime.store.get(scope.user, str(reply.id))])
        text = left.value.content
        if values(text) or not {*content_terms(text)}.isdisjoint(content_terms(message.content)):
            reason = f"{KEPT}replies to it: {_quote(left)}"
            replies.append(Receipt(id=left.id, outcome="rejected", reason=reason))
    return replies


def previewed(runtime: Runtime, scope: Scope, description: object, *, archived: bool = False) -> Receipts:
    """The receipts that forgetting by this description would have now."""
    selection = _to_forget(runtime, scope, description, archived=archived)
    emptied = () if archived else revision.emptied(runtime, scope, [receipt.id for receipt in selection.clear])
    return _all_receipts(selection, selection.clear, emptied)


def _all_receipts(selection: Described, removed: Sequence[Receipt], emptied: Sequence[Receipt]) -> Receipts:
    """One receipt for each record: of what is removed, of the messages that go along, and of what stays."""
    emptied_ids, removed_ids = ({receipt.id for receipt in receipts} for receipts in (emptied, removed))
    spared = (receipt for receipt in selection.spared if receipt.id not in emptied_ids)
    parts = (_part_receipt(part) for part in selection.parts.forgotten if part.id not in removed_ids)
    return Receipts((*removed, *parts, *emptied, *spared))


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
    applied = runtime.store.apply(scope.user, changes) if changes else ()
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
    added = [AddMemory(record=record, indexing=index) for record, index in runtime.indexer.indexed(records)]
    changes: list[Change] = [Archive(id=id_, reason=revision.APART) for id_ in parts.mixed]
    changes += [
        Restore(id=memory.id)
        for memory in runtime.store.knowledge.memories(user, [part.id for part in parts.remaining])
        if memory.status == "archived"
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
