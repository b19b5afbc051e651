"""Reconciliation of a new memory with known ones, for ``remember`` and ``process``, and of known ones with what has ended.

A memory that says several things of which one has ended goes on without it. Memories that belong together are linked, by
rules of which precision comes first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from mnemic.emotion.estimate import with_emotion
from mnemic.errors import Conflict
from mnemic.knowledge import episodes
from mnemic.knowledge.candidates import Batch, Candidate, Neighbours, Snapshot, is_made, with_new_description
from mnemic.runtime.runtime import Runtime
from mnemic.stores.sql.changes import RESTATED_BY_TRUSTED
from mnemic.text.dates import of_one_time
from mnemic.text.differences import NEGATIONS, differs
from mnemic.text.frames import speaks_for_someone
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.text.values import aware, now
from mnemic.types import (
    AddMemory,
    Archive,
    Change,
    Episode,
    Indexing,
    Link,
    LinkType,
    MemoryRecord,
    MemoryType,
    Message,
    PutLink,
    Revise,
    Scope,
    Supersede,
)
from mnemic.types.records import is_trusted
from mnemic.vectors import Floats, dot

BASE, WORTH_RANGE = 0.2, 0.4
"""Salience of an event of no worth, and the range added by its worth."""
TYPE_BONUS: Mapping[MemoryType, float] = {"procedural": 0.25, "semantic": 0.1, "emotional": 0.1, "episodic": 0.0}
"""Salience added by type."""
NOVELTY_SHARE = 0.3
"""The share of salience lost without any novelty."""


class Resolution(NamedTuple):
    """Whether a new memory is known: the known memories that it restates, and its novelty.

    The novelty is the share that was not known (prediction error), 0 to 1.
    """

    restated: Sequence[MemoryRecord]
    novelty: float


def salience(worth: float, type: MemoryType, novelty: float = 1.0) -> float:
    """The initial importance of a memory, computed once.

    Args:
        worth: 0 to 1, the probability that a person would note it.
        type: rules stay useful longer than facts and feelings, and these longer than events.
        novelty: 0 to 1, the share that was not known.

    Returns:
        .14 to .85.
    """
    return round((BASE + WORTH_RANGE * worth + TYPE_BONUS[type]) * (1 - NOVELTY_SHARE * (1 - novelty)), 3)


def time_said(record: MemoryRecord) -> datetime:
    """When a memory was said; else since when it is true; else when it was stored."""
    return aware(record.said_at or record.valid_at or record.created_at, UTC)


def since(record: MemoryRecord) -> datetime:
    """Since when a memory is true; else when it was said or stored."""
    return aware(record.valid_at or record.said_at or record.created_at, UTC)


def reconcile(record: MemoryRecord, existing: Neighbours, *, threshold: float | None = None) -> Resolution:
    """Decide whether a new memory restates known ones.

    No wording ends a statement: both stay, and recall ranks the later one first. What a key ends, the store decides.

    Args:
        record: the new memory.
        existing: the nearest believed or ended memories, which may be about the same subject.
        threshold: least cosine of a restatement; None skips the check for restatements.
    """
    novelty = _novelty(record, existing)
    if record.key is not None or threshold is None:
        return Resolution([], novelty)
    near = [other for other, cosine in existing if cosine is None or cosine >= threshold]
    restated = [other for other in near if _is_restatement(record, other)]
    return Resolution(restated, min(novelty, 1 - threshold) if restated else novelty)


def _is_restatement(record: MemoryRecord, other: MemoryRecord) -> bool:
    ended = any(end is not None and end <= time_said(record) for end in (other.invalid_at, other.delete_after))
    if (ended or other.expired_at is not None) and time_said(other) != time_said(record):
        return False  # it had ended, and holds again
    day, other_day = (time_said(memory).toordinal() for memory in (record, other))
    return (
        record.speaker == other.speaker
        and differs(record.content, other.content) is None
        and of_one_time(record.content, day, other.content, other_day)
    )


def _novelty(record: MemoryRecord, existing: Neighbours) -> float:
    """The share of a memory that known ones do not cover: by cosine, or by words without vectors."""
    if cosines := [cosine for _, cosine in existing if cosine is not None]:
        return min(max(1 - max(cosines), 0.0), 1.0)
    terms = set(content_terms(record.content))
    shares = (len(terms & set(content_terms(other.content))) / len(terms) for other, _ in existing if terms)
    return 1 - max(shares, default=0.0)


@dataclass(slots=True)
class Reconciliation:
    """Changes and counts of a reconciled batch."""

    changes: list[Change] = field(default_factory=list[Change])
    counts: Counter[str] = field(default_factory=Counter[str])


def reconcile_batch(runtime: Runtime, batch: Batch, snapshot: Snapshot) -> Reconciliation:
    """Compare candidates with known memories one by one, and collect the changes to store."""
    result = Reconciliation(counts=Counter(known=batch.known))
    indexed = runtime.indexer.indexed(candidate.record for candidate in batch.new)
    expected = list(dict.fromkeys(candidate.predicted for candidate in batch.new if candidate.predicted))
    vectors = dict(zip(expected, runtime.indexer.documents(expected, runtime.indexer.embedder), strict=True))
    for candidate, (record, index) in zip(batch.new, indexed, strict=True):
        new = replace(candidate, record=with_emotion(record, index))
        if twin := snapshot.twin(new.record, batch.twins):
            if is_trusted(twin.trust) or not is_trusted(new.record.trust):
                result.counts["known"] += 1
                _confirm(runtime, new.record, [twin], snapshot, result)
                continue
            _supersede_untrusted([twin], snapshot, result)
        error = _prediction_error(new, index.vector, vectors.get(new.predicted))
        _decide(runtime, new, index, snapshot, result, error=error)
    return result


def _prediction_error(new: Candidate, vector: Floats | None, expected: Floats | None) -> float:
    """The prediction error of a candidate, 0 to 1: the share that was not expected; 1 without a prediction."""
    if not new.predicted:
        return 1.0
    cosine = None if vector is None or expected is None else float(dot(vector, expected))
    return _novelty(new.record, [(replace(new.record, content=new.predicted), cosine)])


def _decide(
    runtime: Runtime, new: Candidate, index: Indexing, snapshot: Snapshot, result: Reconciliation, *, error: float
) -> None:
    """Decide one candidate and its effect on known memories; ``error`` is that of its prediction."""
    settings, record = runtime.settings.processing, new.record
    nearest = snapshot.nearest(index.vector, settings.max_statements_for_prediction)
    threshold = settings.knowledge_dedup_threshold if settings.enable_knowledge_dedup else None
    restated, novelty = reconcile(record, nearest, threshold=threshold)
    if restated and is_trusted(record.trust) and not any(is_trusted(other.trust) for other in restated):
        _supersede_untrusted(restated, snapshot, result)
        ids = {other.id for other in restated}
        nearest = [(other, cosine) for other, cosine in nearest if other.id not in ids]
        restated, novelty = reconcile(record, nearest, threshold=threshold)
    if restated:
        result.counts["known"] += 1
        _confirm(runtime, record, restated, snapshot, result)
        return
    by_id = {other.id: other for other, _ in nearest}
    if not record.pinned:
        weight = salience(new.worth, record.type, min(novelty, error))
        record = replace(record, importance=weight, salience=weight)
    result.changes.append(AddMemory(record=record, indexing=index, enrich=runtime.llm is not None))
    result.counts["memories"] += 1
    snapshot.add(record, index.vector)
    outcome, judged_id = new.verdict or ("", "")
    if judged := by_id.get(judged_id):
        change = _verdict_change(record, judged, outcome)
        result.changes.append(change)
        result.counts["updated" if isinstance(change, Supersede) else "contradictions"] += 1
        if isinstance(change, Supersede):
            snapshot.mark_ended(change.id, now())
    proposed = [link for link in propose_links(record, nearest) if link.target != judged_id]
    result.changes += link_changes(record, proposed, by_id)


def _supersede_untrusted(others: Sequence[MemoryRecord], snapshot: Snapshot, result: Reconciliation) -> None:
    """Supersede untrusted memories that a trusted source restates."""
    for other in others:
        if other.expired_at is None:
            result.changes.append(Supersede(id=other.id, by=None, at=None, reason=RESTATED_BY_TRUSTED))
            snapshot.mark_ended(other.id, now())


def _confirm(
    runtime: Runtime, record: MemoryRecord, others: Sequence[MemoryRecord], snapshot: Snapshot, result: Reconciliation
) -> None:
    """Update a restated memory: said at the later time, true since the earlier one.

    Statements made in between then count as older.
    """
    for other in others:
        if is_trusted(other.trust) and not is_trusted(record.trust):
            continue  # an untrusted source cannot confirm a trusted one
        if other.expired_at is not None or time_said(other) >= time_said(record):
            continue
        if other.said_at is None and other.source_ids:
            continue  # ``said_at`` would be that of its sources, which do not say it
        began = other.valid_at or time_said(other)
        revised = replace(other, said_at=record.said_at, valid_at=began, version=other.version + 1, updated_at=now())
        ((_, index),) = runtime.indexer.indexed([revised])
        result.changes.append(Revise(record=revised, indexing=index))
        snapshot.revise(revised)


BY_MODEL = "the language model reads it so"


def _verdict_change(record: MemoryRecord, other: MemoryRecord, outcome: str) -> Supersede | PutLink:
    """The change of a language model's verdict: the one of the two that was said first ends when the other became true.

    Or when it was said again, if that was later. A less trusted memory never supersedes a more trusted one, and no verdict one
    with a key: the two are linked as contradicting.
    """
    old, new = (record, other) if time_said(record) < time_said(other) else (other, record)
    if outcome == "update" and new.trust >= old.trust and old.key is None:
        end = since(new) if since(new) > since(old) else time_said(new)
        return Supersede(id=old.id, by=new.id, at=end, reason=BY_MODEL)
    return PutLink(link=Link(source=record.id, target=other.id, type="contradicts", reason=BY_MODEL))


def link_changes(record: MemoryRecord, proposed: Sequence[Link], by_id: Mapping[str, MemoryRecord]) -> list[Change]:
    """Proposed links as changes: ``supersedes`` ends the target, unless it was said later, is trusted more or has a key.

    Only a language model proposes ``supersedes``; by rule, ``reconcile`` decides it.
    """
    changes: list[Change] = []
    for link in proposed:
        if link.type == "supersedes":
            other = by_id[link.target]
            if record.trust >= other.trust and time_said(record) >= time_said(other) and other.key is None:
                changes.append(Supersede(id=other.id, by=record.id, at=since(record), reason=link.reason))
        else:
            changes.append(PutLink(link=link))
    return changes


SAID_ELSEWHERE = "what it says beside what has ended is another memory, or nothing"


def left_of_others(runtime: Runtime, scope: Scope, memories: Sequence[MemoryRecord]) -> list[Change]:
    """Changes of the memories of the same messages that say beside other things what ends with these memories."""
    ids, ended = {m.id for m in memories}, {sentence for m in memories for sentence in sentences(m.content)}
    derived = derived_memories(runtime, scope, {id_ for m in memories for id_ in m.source_ids})
    others = [m for m in derived if m.id not in ids and not ended.issuperset(sentences(m.content))]
    return _revisions(runtime, scope, others, ended)


def settle(runtime: Runtime, scope: Scope) -> None:
    """Let what was made of messages go on without what ended or was forgotten meanwhile, here or on another device."""
    messages = runtime.store.knowledge.with_outdated(scope.user)
    shown = [
        replace(held, content="") if runtime.store.get(scope.user, str(held.id)).status == "archived" else held
        for held in runtime.store.relations.holding(scope.user, messages)
    ]
    ended = {sentence for pair in zip(messages, shown, strict=True) for sentence in _hidden_sentences(*pair)}
    if not ended:
        return
    ids = [str(message.id) for message in messages]
    made = [memory for memory in derived_memories(runtime, scope, ids) if is_made(memory)]
    changes = [*_revisions(runtime, scope, made, ended), *_episode_changes(runtime, scope, ids, ended)]
    try:
        runtime.store.apply(scope.user, changes)
    except Conflict:  # another process changed an episode: the next run sees it
        return


def _episode_changes(runtime: Runtime, scope: Scope, messages: Sequence[str], ended: AbstractSet[str]) -> list[Change]:
    """The next versions of the episodes of messages that tell what is gone."""
    user_id = runtime.store.user(scope.user)
    assert user_id is not None
    records = runtime.store.fetch(user_id, runtime.store.relations.episodes_of(scope.user, messages)).values()
    outdated = [
        (stored.value, remaining)
        for stored in records
        if stored.status != "archived"
        and isinstance(stored.value, Episode)
        and any(sentence in stored.value.content for sentence in ended)
        and (remaining := runtime.store.knowledge.messages_of(scope.user, stored.value))
    ]
    return [*episodes.rewritten(runtime, scope.user, outdated)]


def _hidden_sentences(message: Message, shown: Message) -> list[str]:
    shown_text = " ".join(shown.content.split())
    return [sentence for sentence in sentences(message.content) if " ".join(sentence.split()) not in shown_text]


def derived_memories(runtime: Runtime, scope: Scope, messages: Iterable[str]) -> list[MemoryRecord]:
    """The memories derived from messages."""
    ids_by_message = runtime.store.relations.memories_of(scope.user, sorted(messages)).values()
    return runtime.store.knowledge.memories(scope.user, sorted({id_ for ids in ids_by_message for id_ in ids}))


def _revisions(
    runtime: Runtime, scope: Scope, records: Iterable[MemoryRecord], ended: AbstractSet[str]
) -> list[Change]:
    """Changes of those memories that hold and have sentences that are gone."""
    remainders = [
        _without_sentences(record, ended)
        for record in records
        if record.expired_at is None and record.status != "archived" and not ended.isdisjoint(sentences(record.content))
    ]
    duplicates = runtime.store.knowledge.duplicates(scope.user, remainders)
    return [
        Revise(record=record, indexing=index, left=True)
        if record.content and record.id not in duplicates
        else Archive(id=record.id, reason=SAID_ELSEWHERE)
        for record, index in runtime.indexer.indexed(remainders)
    ]


def _without_sentences(record: MemoryRecord, ended: AbstractSet[str]) -> MemoryRecord:
    """The next version of a memory, without some of its sentences."""
    content = " ".join(sentence for sentence in sentences(record.content) if sentence not in ended)
    return with_new_description(replace(record, content=content, version=record.version + 1, updated_at=now()), record)


EXTENDS_FROM = 0.6
"""Least cosine of statements about the same subject; measured with the default embedder."""
RELATED_FROM = 0.35
"""Least cosine of a decision and its change, or of two opposite statements."""
SURELY_FROM = 0.5
"""Cosine from which a decision and a change need to share only one word beside a name."""
RESTATES_FROM = 0.75
"""Cosine above which two statements are restatements, even without a common name."""
LONGEST = 2_000
"""Characters compared of a memory."""
MOST = 5
"""Most links of one memory."""

_BASE: dict[LinkType, float] = {"contradicts": 0.6, "implements": 0.45, "references": 0.35, "extends": 0.3}
_DECISIONS = frozenset(("architecture_decision", "constraint"))
_CHANGE_VERBS = frozenset(
    """implemented added introduced fixed migrated moved switched replaced refactored configured enabled disabled built wrote
    created deployed shipped finished removed dropped upgraded installed merged""".split()
)
_GENERIC = frozenset(
    content_terms("decide decided use using must should need want run runs works live lives make choose")
)
_POLARITY_WORDS = frozenset(
    content_terms(" ".join(sorted(NEGATIONS)) + " likes love enjoy really still anymore longer")
)
"""Words that negate a statement, and their opposites; ignored when the rest is compared."""
_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_OPENING = re.compile(r"(?:the |our |a |an )?[`\"'(]*(?P<name>[\w./-]*\w)", re.IGNORECASE)
_AMOUNT = re.compile(
    r"((?:my|our|his|her|the|\w+['\u2019]s) [\w -]{2,40}) (?:is|are) \W?\d[\d.,]*[^\d.;:!?]{0,20}\.?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Side:
    """Features of one memory, in lower case."""

    record: MemoryRecord
    text: str
    terms: frozenset[str]
    names: frozenset[str]

    @property
    def about(self) -> str | None:
        """The file or code identifier at its beginning."""
        opening = _OPENING.match(self.text)
        name = opening["name"].casefold() if opening else ""
        files = {file.casefold() for file in self.record.related_files}
        return name if name in files or (self.record.category == "entity" and name in self.names) else None


@dataclass(frozen=True, slots=True)
class _Pair:
    """A new memory, an older one, their common names, and their cosine if known."""

    new: _Side
    old: _Side
    names: frozenset[str]
    cosine: float | None

    def near(self, least: float) -> bool:
        """Whether the cosine reaches ``least`` or is unknown."""
        return self.cosine is None or self.cosine >= least


def _side(record: MemoryRecord) -> _Side:
    text = record.content[:LONGEST]
    names = frozenset(name.casefold() for name in (*record.related_files, *record.related_entities))
    return _Side(record, text, frozenset(content_terms(text)), names)


def contradicts(first: MemoryRecord, second: MemoryRecord) -> bool:
    """Whether two lasting statements about the same time contradict each other.

    Either they differ only in a negation, or they give one amount two numbers ("The rent is 900 euros").
    """
    types = {first.type, second.type}
    if "emotional" in types or types == {"episodic"}:
        return False  # momentary statements may well be opposite
    for earlier, later in ((first, second), (second, first)):
        if earlier.invalid_at and later.valid_at and earlier.invalid_at <= later.valid_at:
            return False
    texts = first.content[:LONGEST].strip(), second.content[:LONGEST].strip()
    others = first.speaker and second.speaker and first.speaker != second.speaker
    if others and all(map(speaks_for_someone, texts)):
        return False  # each of themselves
    match differs(*texts):
        case "polarity":
            first_terms, second_terms = (frozenset(content_terms(text)) - _POLARITY_WORDS for text in texts)
            return bool(first_terms) and first_terms == second_terms
        case "number":
            amounts = [match[1].casefold() for text in texts if (match := _AMOUNT.fullmatch(text))]
            return len(amounts) == 2 and amounts[0] == amounts[1]
        case _:
            return False


def _implements(pair: _Pair) -> bool:
    """Whether the new memory reports a change that the older one decides or demands."""
    new, old = pair.new, pair.old
    if (
        not pair.names
        or old.record.category not in _DECISIONS
        or _CHANGE_VERBS.isdisjoint(new.text.lower().split()[:3])
    ):
        return False
    further = (new.terms & old.terms) - frozenset(content_terms(" ".join(pair.names))) - _GENERIC
    return len(further) >= (1 if pair.cosine and pair.cosine >= SURELY_FROM else 2) and pair.near(RELATED_FROM)


def _extends(pair: _Pair) -> bool:
    """Whether it repeats the older one about the same name without change, and adds at least two terms."""
    new, old = pair.new, pair.old
    if not pair.names or not old.names <= new.names or old.terms - new.terms - _GENERIC:
        return False
    added = len(new.terms - old.terms)
    return added >= 2 and pair.near(EXTENDS_FROM) and differs(new.text, old.text) not in {"polarity", "value", "role"}


def _references(pair: _Pair) -> bool:
    """Whether it names the file, identifier or URL that the older one is about, while being about something else."""
    if pair.cosine is not None and pair.cosine > RESTATES_FROM:
        return False  # a restatement
    about = pair.old.about
    if about and about in pair.new.names and pair.new.about != about:
        return True
    return not set(_URL.findall(pair.old.text)).isdisjoint(_URL.findall(pair.new.text))


def _kind(pair: _Pair) -> LinkType | None:
    """The first link type that applies."""
    if pair.near(RELATED_FROM) and contradicts(pair.new.record, pair.old.record):
        return "contradicts"
    new, old = pair.new.record, pair.old.record
    if (new.valid_at or new.created_at) >= (old.valid_at or old.created_at):
        if _implements(pair):
            return "implements"
        if _extends(pair):
            return "extends"
    return "references" if _references(pair) else None


def _propose(pair: _Pair, type: LinkType) -> Link:
    shared = sorted(pair.names) or sorted(pair.new.terms & pair.old.terms)
    parts = ["one denies the other"] if type == "contradicts" else []
    if shared:
        parts.append(f"shares {', '.join(name[:40] for name in shared[:3])}")
    if pair.cosine is not None:
        parts.append(f"cosine {pair.cosine:.2f}".replace("0.", ".", 1))
    support = 0.25 * max(pair.cosine or 0.0, 0.0) + 0.05 * min(len(pair.names), 4)
    return Link(
        source=pair.new.record.id,
        target=pair.old.record.id,
        type=type,
        strength=round(min(_BASE[type] + support, 1.0), 3),
        reason="; ".join(parts),
    )


def propose_links(record: MemoryRecord, others: Neighbours) -> list[Link]:
    """Propose links of a new memory to known ones.

    Only live memories at the same level count. Each gets at most one link, the first of these that applies.

    - ``contradicts``: they differ only in a negation, or give one amount two numbers; neither is momentary.
    - ``implements``: the record reports a change that the earlier memory decides or demands.
    - ``extends``: it is later, repeats the other about the same name, and adds two terms; cosine at least .6.
    - ``references``: it names the file, identifier or URL that the other is about, and is about something else.

    Args:
        record: the new memory, described.
        others: memories that may be related, described.

    Returns:
        At most ``MOST`` links, strongest first, ties by id. Only ``contradicts`` is symmetric.
    """
    new = _side(record)
    links: list[Link] = []
    for other, cosine in others:
        expired = other.status == "archived" or other.expired_at is not None
        if expired or other.id == record.id or other.project != record.project or other.content == record.content:
            continue
        old = _side(other)
        pair = _Pair(new, old, new.names & old.names, cosine)
        if kind := _kind(pair):
            links.append(_propose(pair, kind))
    return sorted(links, key=lambda link: (-link.strength, link.target))[:MOST]
