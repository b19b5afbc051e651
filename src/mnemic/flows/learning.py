"""Predict-calibrate: of what was said, what was not known before becomes memories; what changed ends what it replaces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.extraction.facts import facts
from mnemic.extraction.halving import parts_of
from mnemic.extraction.resolving import Resolution, said_when
from mnemic.extraction.resolving import resolve as resolved
from mnemic.extraction.salience import salience
from mnemic.extraction.statements import Statement, statements
from mnemic.flows.consulting import Consultant, together
from mnemic.flows.engine import Engine
from mnemic.flows.feeling import felt
from mnemic.flows.known import Known, Neighbours
from mnemic.flows.telling import Told, least_trusted
from mnemic.knowledge.episodes import title
from mnemic.knowledge.links import Proposed, propose_links
from mnemic.knowledge.metadata import describe
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import now
from mnemic.types import (
    AddMemory,
    Change,
    Indexing,
    Link,
    MemoryRecord,
    Message,
    PutLink,
    Revise,
    Supersede,
)

if TYPE_CHECKING:
    from mnemic.llm import extracting

__all__ = [
    "Learned",
    "Resolved",
    "described_anew",
    "enriched",
    "learn",
    "linking_changes",
    "related_changes",
    "resolve",
    "rest_of",
    "slots_of",
]

Vector = NDArray[np.float32]
SOON = timedelta(microseconds=1)
ANOTHER = "it gives another value of the same thing"


@dataclass(frozen=True, slots=True)
class New:
    """A candidate for a memory.

    ``verdict`` is what the language model holds it to be, with the id it concerns; ``described`` says whether the model gave
    keywords with it.
    """

    record: MemoryRecord
    slots: tuple[str, ...]
    verdict: tuple[Literal["update", "contradiction"], str] | None = None
    described: bool = False


@dataclass(frozen=True, slots=True)
class Learned:
    """What a step of processing may come to know, before it is compared with what is known.

    ``twins`` are those known word for word, ``known`` counts what was processed before; ``unrefined`` are the places of the
    episodes that the language model left to the rules.
    """

    new: Sequence[New]
    twins: Mapping[str, str]
    known: int
    unrefined: frozenset[int] = frozenset()


@dataclass(slots=True)
class Resolved:
    """What becomes of the candidates, as changes and in numbers."""

    changes: list[Change] = field(default_factory=list[Change])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def count(self, name: str) -> None:
        """One more of these."""
        self.counts[name] = self.counts.get(name, 0) + 1


def slots_of(text: str) -> tuple[str, ...]:
    """What a statement speaks of: subject and attribute of each of its facts."""
    return tuple(dict.fromkeys(f"{fact.subject}\x1f{fact.attribute}" for fact in facts(text)))


def learn(
    engine: Engine,
    consultant: Consultant,
    user: str,
    told: Sequence[tuple[Sequence[Message], Told, Vector | None]],
    known: Known,
) -> Learned:
    """Take statements from episodes; those that were stored in an earlier run are left out.

    Args:
        engine: the record and its settings.
        consultant: the language model, if there is one.
        user: whose they are.
        told: for each episode the messages to learn from, the episode and its vector.
        known: what is known.
    """
    places, parts = _apart(told) if consultant.there else (list(range(len(told))), told)
    answers = _extracted(engine, consultant, parts, known)
    found: dict[tuple[str, datetime | None], New] = {}
    read = [(messages, one) for (messages, one, _), answer in zip(parts, answers, strict=True) if answer is None]
    fresh = _by_rule(read, engine.settings.statements_per_message) + [new for answer in answers for new in answer or ()]
    for new in fresh:
        found.setdefault((new.record.spoken, new.record.said_at), new)
    project = told[0][1].episode.project if told else None
    twins = engine.store.knowledge.twins(user, project, [spoken for spoken, _ in found])
    held = engine.store.docs_of(user, [new.record.id for new in found.values()])
    new = [new for new in found.values() if new.record.id not in held]
    left = frozenset(p for p, answer in zip(places, answers, strict=True) if answer is None and consultant.there)
    return Learned(new, twins, len(found) - len(new), left)


Part = tuple[Sequence[Message], Told, Vector | None]


def _apart(told: Sequence[Part]) -> tuple[list[int], list[Part]]:
    """What is trusted and what is not, in questions of their own: a model that reads both may mix them.

    Returns:
        For each question the place of its episode, and the questions.
    """
    found: list[tuple[int, Part]] = []
    for place, (messages, one, vector) in enumerate(told):
        for trusted in (True, False):
            part = [message for message in messages if is_trusted(message.trust) is trusted]
            if part or (trusted and not messages):
                found.append((place, (part, one, vector)))
    return [place for place, _ in found], [part for _, part in found]


def _by_rule(told: Sequence[tuple[Sequence[Message], Told]], rate: float) -> list[New]:
    """The statements of episodes that follow each other, the best of them all: one may have none of its own.

    Where episodes are shorter than the rate provides for, there may be as many statements as episodes.
    """
    said = [message for messages, _ in told for message in messages]
    if not said or not rate:
        return []
    most = min(max(rate, len(told) / len(said)), 1.0)
    records = (_record(statement, told[0][1]) for statement in statements(said, rate=most))
    return [New(record, slots_of(record.content)) for record in records]


def _title(messages: Sequence[Message], told: Told) -> str:
    """What a part of an episode is about; of its trusted part, by that part alone."""
    trusted = is_trusted(told.episode.trust) or not is_trusted(messages[0].trust)
    return told.episode.title if trusted else title(messages)


def _extracted(engine: Engine, consultant: Consultant, told: Sequence[Part], known: Known) -> list[list[New] | None]:
    """What the language model finds in each episode beyond what it would have predicted; None where it gave no answer."""
    found: list[list[New] | None] = [None] * len(told)
    if not consultant.there:
        return found
    from mnemic.llm import extracting

    said = [messages[-extracting.MOST_MESSAGES :] for messages, *_ in told]
    trusts = [is_trusted(messages[0].trust) if messages else None for messages in said]
    parts = [
        [places[i] for i in part]
        for places in ([p for p, trust in enumerate(trusts) if trust == trusted] for trusted in (True, False))
        for part in together([len(said[place]) for place in places], extracting.MOST_EPISODES)
    ]
    around = [
        _around(engine, [told[p] for p in part], known, trusts[part[0]] is True, extracting.MOST_KNOWN)
        for part in parts
    ]
    answers = consultant.ask_all(
        [
            lambda p=part, k=records: extracting.task([(_title(said[i], told[i][1]), said[i]) for i in p], k)
            for part, records in zip(parts, around, strict=True)
        ]
    )
    for part, records, answer in zip(parts, around, answers, strict=True):
        if answer is None:
            continue
        consultant.failed += len(answer.unread)
        for number, place in enumerate(part):
            if number not in answer.unread:
                own = [one for one in answer.statements if one.episode == number]
                found[place] = [_from_model(one, told[place][1], said[place], records) for one in own]
    return found


def _around(engine: Engine, told: Sequence[Part], known: Known, trusted: bool, most: int) -> list[MemoryRecord]:  # noqa: FBT001
    """What is known about episodes that are asked about together: of each the nearest first, each memory once."""
    near = known.near([vector for *_, vector in told], [()] * len(told), engine.settings.max_statements_for_prediction)
    ranked = (
        record for rank in zip_longest(*(records for records, _ in near)) for record in rank if record is not None
    )
    held = {r.id: r for r in ranked if r.expired_at is None and (is_trusted(r.trust) or not trusted)}
    return list(held.values())[:most]


def _from_model(
    found: extracting.Statement, told: Told, messages: Sequence[Message], known: Sequence[MemoryRecord]
) -> New:
    """A statement of the language model as a candidate."""
    cited = [messages[place] for place in found.messages]
    source, trust = least_trusted(cited)
    said = cited[0].sent_at
    assert said is not None
    statement = Statement(
        text=found.text, message_ids=tuple(str(m.id) for m in cited), said_at=said, valid_at=None, type=found.type,
        speaker="", weight=1.0, source=source, trust=trust,
    )  # fmt: skip
    ruled = _record(statement, told)
    record = replace(
        ruled, confidence=found.confidence, keywords=found.keywords or ruled.keywords, tags=found.tags or ruled.tags,
        category=found.category or ruled.category,
    )  # fmt: skip
    verdict = None
    if found.change != "new" and found.known is not None:
        verdict = (found.change, known[found.known].id)
    return New(record, slots_of(record.content), verdict, described=bool(found.keywords))


def _record(statement: Statement, told: Told) -> MemoryRecord:
    """A statement as a memory; its importance waits for how new it is."""
    moment = now().astimezone(statement.said_at.tzinfo)
    episode = told.episode
    record = MemoryRecord(
        id=_id(episode.project, statement.text, statement.message_ids), content=statement.text, type=statement.type,
        source_ids=statement.message_ids, project=episode.project, source=statement.source, trust=statement.trust,
        said_at=statement.said_at, valid_at=statement.valid_at, created_at=moment, updated_at=moment,
    )  # fmt: skip
    return enriched(record)


def _id(project: str | None, text: str, sources: Sequence[str]) -> str:
    """A name that the same statement from the same messages always has."""
    named = "\0".join((project or "", text, *sources))
    return f"mem_{hashlib.blake2b(named.encode(), digest_size=12).hexdigest()}"


def enriched(record: MemoryRecord) -> MemoryRecord:
    """A memory with its summary, keywords, tags, category, files and entities, by rule; what is given stays."""
    found = describe(record.content, type=record.type)
    return replace(
        record, summary=record.summary or found.summary, keywords=record.keywords or found.keywords,
        tags=record.tags or found.tags, category=record.category or found.category,
        confidence=min(record.confidence, found.confidence),
        related_files=record.related_files or found.related_files,
        related_entities=record.related_entities or found.related_entities,
    )  # fmt: skip


_UNDESCRIBED: dict[str, Any] = {
    "summary": None, "keywords": (), "tags": (), "category": None, "confidence": 1.0, "related_files": (),
    "related_entities": (),
}  # fmt: skip


def described_anew(record: MemoryRecord, held: MemoryRecord) -> MemoryRecord:
    """A memory whose words have changed, without what told of those it had; what was given stays.

    A tag of a language model cannot be told from a given one, and stays too.
    """
    ruled = enriched(replace(held, **_UNDESCRIBED))
    told = {n for n in _UNDESCRIBED if getattr(held, n) == getattr(ruled, n) == getattr(record, n)}
    blank = replace(record, **{n: none for n, none in _UNDESCRIBED.items() if n in told | {"summary", "keywords"}})
    return enriched(blank) if held.summary or held.keywords else blank


def resolve(engine: Engine, learned: Learned, known: Known) -> Resolved:
    """Compare candidates with what is known, one after the other, and decide what is stored and what ends."""
    found = Resolved(counts={"known": learned.known})
    indexing = engine.indexing([new.record for new in learned.new], engine.embedder)
    moods = felt([new.record.content for new in learned.new], [i.vector for i in indexing], engine.embedder.id)
    for new, index, mood in zip(learned.new, indexing, moods, strict=True):
        new = replace(new, record=replace(new.record, emotion=mood))  # noqa: PLW2901 - the same, with its mood
        if twin := known.twin(new.record.spoken, learned.twins):
            if is_trusted(twin.trust) or not is_trusted(new.record.trust):
                found.count("known")
                _said_again(engine, new.record, [twin], known, found)
                continue
            _give_way([twin], known, found)
        _decide(engine, new, replace(index, slots=new.slots), known, found)
    return found


def _resolution(engine: Engine, record: MemoryRecord, index: Indexing, near: Neighbours, base: float) -> Resolution:
    settings = engine.settings
    return resolved(
        record.content, record.said_at or record.created_at, index.vector, *near,
        dedup=settings.enable_knowledge_dedup, threshold=settings.knowledge_dedup_threshold, base=base,
        since=record.valid_at,
    )  # fmt: skip


def _doubted(record: MemoryRecord, resolution: Resolution, near: Neighbours) -> list[MemoryRecord]:
    """The untrusted memories that say already what somebody trusted says now: nobody's own fact is known only from them."""
    if resolution.outcome != "duplicate" or not is_trusted(record.trust):
        return []
    others = [other for other in near[0] if other.id in resolution.of]
    return [] if any(is_trusted(other.trust) for other in others) else others


def _without(near: Neighbours, ids: set[str]) -> Neighbours:
    records, matrix = near
    left = [place for place, record in enumerate(records) if record.id not in ids]
    return [records[place] for place in left], None if matrix is None else matrix[left]


def _give_way(others: Sequence[MemoryRecord], known: Known, found: Resolved) -> set[str]:
    """Untrusted memories end where somebody trusted says the same; returns their ids."""
    for other in others:
        if other.expired_at is None:
            found.changes.append(Supersede(id=other.id, by=None, at=None, reason="said by a source that is trusted"))
            known.end(other.id, now())
    return {other.id for other in others}


def _decide(engine: Engine, new: New, index: Indexing, known: Known, found: Resolved) -> None:
    """One candidate: what becomes of it, and of what it replaces."""
    settings, record = engine.settings, new.record
    (near,) = known.near([index.vector], [index.slots], settings.max_statements_for_prediction)
    resolution = _resolution(engine, record, index, near, known.base)
    if doubted := _doubted(record, resolution, near):
        near = _without(near, _give_way(doubted, known, found))
        resolution = _resolution(engine, record, index, near, known.base)
    if resolution.outcome == "duplicate":
        found.count("known")
        _said_again(engine, record, [other for other in near[0] if other.id in resolution.of], known, found)
        return
    if new.verdict is not None and resolution.outcome == "new" and new.verdict[1] in {r.id for r in near[0]}:
        outcome, other = new.verdict
        resolution = replace(resolution, outcome=outcome, of=(other,), reason="the language model reads it so")
    if not record.pinned:
        worth = salience(record.content, record.type, novelty=resolution.novelty, entities=record.related_entities)
        record = replace(record, importance=worth.total, salience=worth.total)
    found.changes.append(AddMemory(record=record, indexing=index, enrich=engine.llm is not None))
    found.count("memories")
    known.learn(record, index.vector, index.slots)
    by_id = {other.id: other for other in near[0]}
    for change in related_changes(record, resolution, by_id):
        found.changes.append(change)
        if isinstance(change, PutLink):
            found.count("contradictions")
        elif isinstance(change, Supersede):
            known.end(change.id, now())
            if change.id != record.id:
                found.count("updated")
                rest = rest_of(engine, by_id[change.id], record, index.slots)
                if rest is not None:
                    found.changes.append(rest)
                    known.learn(rest.record, rest.indexing.vector, rest.indexing.slots)
    found.changes += _links(record, index.vector, near, {*resolution.of}, known)


def _said_again(
    engine: Engine, record: MemoryRecord, others: Sequence[MemoryRecord], known: Known, found: Resolved
) -> None:
    """What is known was said once more: it was true until then at least, and what was said in between is older.

    Its time of saying moves to the later of the two; since when it is true stays.
    """
    for other in others:
        if is_trusted(other.trust) and not is_trusted(record.trust):
            continue  # what nobody vouches for makes nothing newer than it is
        if other.expired_at is not None or said_when(other) >= said_when(record):
            continue
        since = other.valid_at or said_when(other)
        later = replace(other, said_at=record.said_at, valid_at=since, version=other.version + 1, updated_at=now())
        (index,) = engine.indexing([later], engine.embedder)
        slots = slots_of(later.content)
        found.changes.append(Revise(record=later, indexing=replace(index, slots=slots), weighs=False))
        known.revise(later)


def related_changes(record: MemoryRecord, resolution: Resolution, known: Mapping[str, MemoryRecord]) -> list[Change]:
    """What a new memory means for those it concerns: an end for what it replaces, a link to what it contradicts.

    What is trusted less never ends what is trusted more: the two are linked as contradicting each other. The reason tells of
    the first of them, and may quote it: what is said of the others must not, or it would be left when that one is erased.
    """
    changes: list[Change] = []
    for number, other in enumerate(known[id_] for id_ in resolution.of):
        update, reason = resolution.outcome, ANOTHER if number else resolution.reason
        if update == "update" and record.trust >= other.trust:
            changes.append(Supersede(id=other.id, by=record.id, at=_ends(other, record), reason=reason))
        elif update == "outdated" and other.trust >= record.trust:
            changes.append(Supersede(id=record.id, by=other.id, at=_ends(record, other), reason=reason))
        elif update in ("update", "outdated", "contradiction"):
            link = Link(source=record.id, target=other.id, type="contradicts", reason=reason)
            changes.append(PutLink(link=link))
    since = _since(record)
    shorter = [id_ for id_ in resolution.shortens if known[id_].trust <= record.trust]
    changes += [Supersede(id=id_, by=record.id, at=since, reason=ANOTHER) for id_ in shorter]
    return changes


def _ends(record: MemoryRecord, follows: MemoryRecord) -> datetime:
    """When a memory ends that was told after the one that follows it: when that one began, or was said again."""
    return _since(follows) if _since(follows) > _since(record) else said_when(follows)


def _since(record: MemoryRecord) -> datetime:
    return record.valid_at or record.said_at or record.created_at


def rest_of(engine: Engine, old: MemoryRecord, new: MemoryRecord, replaced: Sequence[str]) -> AddMemory | None:
    """What a replaced memory says beside the matter that changed still holds: a memory of its own, if there is any."""
    kept: list[str] = []
    holds, parts = True, parts_of(old.content)
    for part, leans in parts:
        holds = (holds or not leans) and not _ends_part(new, replaced, replace(old, content=part))
        kept += [part] if holds else []
    rest = " ".join(kept)
    if len(kept) == len(parts) or not slots_of(rest):
        return None
    record = replace(
        old,
        id=_id(old.project, rest, (*old.source_ids, old.id)),
        content=rest,
        source_ids=old.source_ids or (old.id,),
        summary=None,
        keywords=(),
        version=1,
        expired_at=None,
        invalid_at=None,
        created_at=now(),
        updated_at=now(),
    )
    record = enriched(record)
    (index,) = engine.indexing([record], engine.embedder)
    return AddMemory(record=record, indexing=replace(index, slots=slots_of(rest)))


def _ends_part(new: MemoryRecord, replaced: Sequence[str], part: MemoryRecord) -> bool:
    """Whether a part of a memory is what a new one takes the place of."""
    if set(slots_of(part.content)) & set(replaced):
        return True
    return resolved(new.content, max(said_when(new), said_when(part) + SOON), None, [part], None).outcome == "update"


def _links(
    record: MemoryRecord, vector: Vector | None, near: Neighbours, related: set[str], known: Known
) -> list[Change]:
    """Links to memories that have to do with a new one; what it replaces by its own words ends."""
    proposed = [one for one in propose_links(record, vector, *near) if one.target not in related]
    changes = linking_changes(record, proposed, {other.id: other for other in near[0]})
    for change in changes:
        if isinstance(change, Supersede):
            known.end(change.id, now())
    return changes


def linking_changes(
    record: MemoryRecord, proposed: Sequence[Proposed], known: Mapping[str, MemoryRecord]
) -> list[Change]:
    """Proposed links as changes: what is said to be replaced ends, unless it was said later or is trusted more."""
    changes: list[Change] = []
    for one in proposed:
        other = known[one.target]
        if one.type == "supersedes":
            if record.trust >= other.trust and said_when(record) >= said_when(other):
                changes.append(Supersede(id=other.id, by=record.id, at=_since(record), reason=one.reason))
            continue
        link = Link(source=record.id, target=other.id, type=one.type, strength=one.strength, reason=one.reason)
        changes.append(PutLink(link=link))
    return changes
