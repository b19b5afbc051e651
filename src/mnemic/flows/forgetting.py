"""Forgetting by description: what clearly is meant goes, what only resembles it stays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from mnemic.context import quoted
from mnemic.errors import InvalidInput
from mnemic.extraction.halving import goes_on
from mnemic.flows import asking
from mnemic.flows.engine import Engine
from mnemic.flows.recalling import search
from mnemic.flows.retelling import follow
from mnemic.text.sentences import sentences
from mnemic.text.showing import shown
from mnemic.text.terms import content_terms
from mnemic.types import Archive, Hit, MemoryRecord, Message, Receipt, Receipts, Scope, Status

__all__ = ["Described", "described", "forget_described"]

LOOKED_AT = 50
ALL_WORDS, MOST_WORDS, SOME_WORDS = 1.0, 0.6, 0.34
NEARER, NEAREST = 0.7, 0.8
EVERYWHERE: tuple[Status, ...] = ("short_term", "consolidating", "long_term", "archived")
LONGEST = 20_000
"""Characters of a text that are looked through for other matters."""
OWN_WORDS = 2
"""Words a clause must have to be about something."""
_CLAUSE = re.compile(
    r"[;,]? (?:and|but|also|by the way,?) (?=(?:I|my|we|our)\b)|[;,] and (?=(?:[A-Z]|they\b|their\b))|; |"
    r",? (?:and|but|while|whereas) (?=(?:(?:the|a|an|their|his|her|its|[A-Z]\w*) ?)?(?:[\w'\u2019-]+ ){0,4}?"
    r"(?:is|are|was|were|has|have|had|will|can|does|did|\w{2,}(?<!s)s|\w{3,}ed|went|got|took|made|kept|left|met) )"
)
"""Where another clause begins; rather one too many, because what goes may be gone for good."""
_OF_THEIRS = re.compile(r"their\b", re.IGNORECASE)
"""In a memory, which is in the third person, what is somebody's own."""
TOLD = 120
"""Characters of it that are told."""
SPARED = 10
"""What resembles a description and stays is told of so many at most."""


@dataclass(frozen=True, slots=True)
class Described:
    """Ids of what a description clearly means, and ``rejected`` receipts for what merely resembles it."""

    clear: tuple[str, ...]
    spared: tuple[Receipt, ...]


# Words of a request that say what kind of thing is meant, or nothing at all.
_GENERIC = frozenset(
    content_terms(
        """forget remove delete erase memory memories thing things information data detail details everything anything note
        notes know known remember stuff fact facts please stored saved said told mention"""
    )
)
_PREFERENCE = frozenset(
    content_terms("preference preferences prefer preferred setting settings favourite favorite like likes")
)


def forget_described(engine: Engine, scope: Scope, description: object, zone: tzinfo, reason: str) -> Receipts:
    """Archive the memories and messages that a description clearly means.

    Returns:
        One receipt for each that was removed, and ``rejected`` ones for what resembles it and was spared.
    """
    meant = described(engine, scope, description, zone)
    why = reason or f"forgotten as {shown(asking.identifier(description), 200)}"
    removed = [Archive(id=id_, reason=why) for id_ in meant.clear]
    done = engine.store.apply(scope.user, removed) if removed else ()
    follow(engine, scope, meant.clear, zone)
    return Receipts((*done, *meant.spared))


def described(engine: Engine, scope: Scope, description: object, zone: tzinfo, *, archived: bool = False) -> Described:
    """The memories and messages that a description clearly means, and what resembles it.

    Args:
        engine: the record.
        scope: whose memory.
        description: what to forget, in words.
        zone: for times in the description.
        archived: also what was forgotten or merged before.
    """
    text = _checked(engine, scope, description)
    wanted = [term for term in dict.fromkeys(content_terms(text)) if term not in _GENERIC]
    if not wanted:
        raise InvalidInput(f"{shown(text, 80)} describes nothing in particular; say what to forget, or give ids=.")
    preference = bool(set(wanted) & _PREFERENCE)
    topic = [term for term in wanted if term not in _PREFERENCE] or wanted
    status: tuple[Status, ...] | None = EVERYWHERE if archived else None
    filters = asking.filters(
        scope, zone, kinds=("message", "memory"), reach="project+global", expired=True, status=status
    )
    query = asking.query(text, k=LOOKED_AT, filters=filters, zone=zone, recipe="facts", now=None, emotion_weight=0.0)
    found = _with_memories(engine, scope, search(engine, scope, query).hits)
    clear: list[str] = []
    spared: list[Receipt] = []
    for hit, record in found:
        match = _match(hit, record, topic, preference=preference)
        if match == "clear" and not _tells_more(record, topic):
            clear.append(hit.id)
        elif match and len(spared) < SPARED:
            why = "says something else as well" if match == "clear" else "resembles it"
            spared.append(Receipt(id=hit.id, outcome="rejected", reason=f"{why}, and was kept: {quoted(hit, TOLD)}"))
    clear += _left_bare(engine, scope, {hit.id: record for hit, record in found}, set(clear), topic)
    gone = set(clear)
    return Described(tuple(clear), tuple(receipt for receipt in spared if receipt.id not in gone))


def _checked(engine: Engine, scope: Scope, description: object) -> str:
    """A description: no list, and no id."""
    if not isinstance(description, str):
        raise InvalidInput(f"A description is a string, not {type(description).__name__}; ids are given as ids=[...].")
    text = asking.identifier(description)
    if engine.store.knowledge.records(scope.user, [text]):
        raise InvalidInput(
            f"{shown(text, 80)} is the id of a record, not a description: forget(ids=[{shown(text, 80)}])."
        )
    return text


def _tells_more(record: Message | MemoryRecord, topic: Sequence[str]) -> bool:
    """Whether a text has a sentence, or a clause with a subject of its own, that has nothing to do with the topic.

    One that begins with a pronoun goes on about what was said before.
    """
    meant, more = False, False
    for clause in (c for part in sentences(record.content[:LONGEST]) for c in _CLAUSE.split(part)):
        terms = content_terms(clause)
        if set(terms) & set(topic):
            meant = True
        elif len(terms) >= OWN_WORDS and not _goes_on(record, clause.strip()):
            more = True
    return meant and more  # where no words but tags and keywords are meant, the whole is


def _goes_on(record: Message | MemoryRecord, clause: str) -> bool:
    own = isinstance(record, MemoryRecord) and _OF_THEIRS.match(clause)
    return not own and goes_on(clause)


def _left_bare(
    engine: Engine, scope: Scope, records: Mapping[str, Message | MemoryRecord], clear: set[str], topic: Sequence[str]
) -> list[str]:
    """Messages that told nothing but what is forgotten: every memory made of them goes, so they go too."""
    sources = {
        id_ for memory in clear if isinstance(record := records[memory], MemoryRecord) for id_ in record.source_ids
    }
    made = engine.store.relations.made_of(scope.user, sorted(sources - clear))
    bare = [id_ for id_, memories in sorted(made.items()) if memories and set(memories) <= clear]
    told = engine.store.knowledge.records(scope.user, bare)
    return [id_ for id_ in bare if isinstance(one := told.get(id_), Message) and not _tells_more(one, topic)]


def _with_memories(engine: Engine, scope: Scope, hits: Sequence[Hit]) -> list[tuple[Hit, Message | MemoryRecord]]:
    """Hits and the memories made of them, each with its record."""
    from mnemic.retrieval import hit_from
    from mnemic.types import Stored

    ids = list(dict.fromkeys(id_ for hit in hits for id_ in (hit.id, *hit.via, *hit.similar)))
    records = engine.store.knowledge.records(scope.user, ids)
    by_id = {hit.id: hit for hit in hits}
    found: list[tuple[Hit, Message | MemoryRecord]] = []
    for id_ in ids:
        record = records.get(id_)
        if isinstance(record, MemoryRecord):
            stored = Stored(kind="memory", value=record, status=record.status, project=record.project)
            found.append((by_id.get(id_) or hit_from(stored, 0.0, {}), record))
        elif isinstance(record, Message):
            stored = Stored(kind="message", value=record, status="short_term", project=None)
            found.append((by_id.get(id_) or hit_from(stored, 0.0, {}), record))
    return found


def _match(hit: Hit, record: Message | MemoryRecord, topic: Sequence[str], *, preference: bool) -> str:
    """``clear``, ``near`` or nothing: by the share of the topic's words, and by meaning where words are few."""
    said = {*content_terms(record.content)}
    if isinstance(record, MemoryRecord):
        said |= {
            *content_terms(" ".join((*record.tags, *record.keywords, record.category or "", record.summary or "")))
        }
        prefers = record.category == "preference" or bool(said & _PREFERENCE)
    else:
        prefers = bool(said & _PREFERENCE)
    share = sum(term in said for term in topic) / len(topic)
    dense = hit.scores.get("dense", 0.0)
    words = share >= ALL_WORDS or (
        share >= MOST_WORDS and dense >= NEAREST
    )  # the word that is missing tells them apart
    if words and (prefers or not preference):
        return "clear"
    return "near" if words or share >= SOME_WORDS or dense >= NEARER else ""
