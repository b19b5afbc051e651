"""Candidates for memories: what persons said that is worth one, and what a language model states beyond it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge.episodes import Told, least_trusted, title
from mnemic.knowledge.metadata import describe
from mnemic.knowledge.selection import Statement, statements, worth
from mnemic.knowledge.snapshot import Snapshot
from mnemic.runtime.consultant import Consultant, episode_batches
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import now
from mnemic.text.names import names
from mnemic.text.terms import content_terms
from mnemic.types import MemoryRecord, Message, Source

if TYPE_CHECKING:
    from mnemic.llm import extraction

__all__ = ["Batch", "Candidate", "candidates", "described", "redescribed"]

Vector = NDArray[np.float32]
Part = tuple[Sequence[Message], Told, Vector | None]
"""Messages to learn from, their episode, and the vector of the episode."""

COVERED = 0.3
"""Share of the words of a sentence that a statement made from it has where it says the same."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be stored.

    ``worth`` is the probability that a person would note it, ``verdict`` what the language model holds it to be, with the id
    it concerns; ``described`` says whether the model gave keywords with it.
    """

    record: MemoryRecord
    worth: float
    verdict: tuple[Literal["update", "contradiction"], str] | None = None
    described: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """The candidates of a step of processing.

    ``twins`` are the ids of believed memories with the same words; ``known`` counts candidates that an earlier run stored;
    ``unrefined`` are the places of the episodes that the language model left to the rules.
    """

    new: Sequence[Candidate]
    twins: Mapping[str, str]
    known: int
    unrefined: frozenset[int] = frozenset()


def candidates(runtime: Runtime, consultant: Consultant, user: str, episodes: Sequence[Part], known: Snapshot) -> Batch:
    """The candidates of episodes; those that an earlier run stored are left out.

    Args:
        runtime: the record and its settings.
        consultant: the language model, if there is one.
        user: whose they are.
        episodes: what to learn from.
        known: what is known.
    """
    said = [message for messages, *_ in episodes for message in messages]
    project = episodes[0][1].episode.project if episodes else None
    chosen = [Candidate(_chosen(statement, project), statement.worth) for statement in statements(said)]
    unrefined: frozenset[int] = frozenset()
    stated: list[Candidate] = []
    if consultant.available:
        stated, unrefined = _stated(runtime, consultant, episodes, known)
        chosen = [one for one in chosen if not any(_covers(other.record, one.record) for other in stated)]
    found: dict[tuple[str, datetime | None], Candidate] = {}
    for one in (*stated, *chosen):
        found.setdefault((one.record.spoken, one.record.said_at), one)
    twins = runtime.store.knowledge.duplicates(user, project, [spoken for spoken, _ in found])
    held = runtime.store.docs_of(user, [one.record.id for one in found.values()])
    new = [one for one in found.values() if one.record.id not in held]
    return Batch(new, twins, len(found) - len(new), unrefined)


def _covers(stated: MemoryRecord, chosen: MemoryRecord) -> bool:
    """Whether a statement of the language model says what a sentence says: its names and numbers, and some of its words."""
    if not set(chosen.source_ids) & set(stated.source_ids):
        return False
    said, terms = set(content_terms(stated.spoken)), set(content_terms(chosen.content))
    named = {term for name in names(chosen.content) for term in content_terms(name)}
    values = named | {term for term in terms if any(map(str.isdigit, term))}
    return values <= said and len(terms & said) >= COVERED * len(terms)


def _chosen(statement: Statement, project: str | None) -> MemoryRecord:
    return _record(
        project,
        statement.text,
        statement.message_ids,
        statement.said_at,
        statement.source,
        statement.trust,
        statement.speaker,
    )


def _record(
    project: str | None,
    text: str,
    message_ids: tuple[str, ...],
    said_at: datetime,
    source: Source,
    trust: float,
    speaker: str | None = None,
) -> MemoryRecord:
    """A memory made from messages; its salience is judged when it is known how new it is."""
    moment = now().astimezone(said_at.tzinfo)
    record = MemoryRecord(
        id=_id(project, text, message_ids), content=text, speaker=speaker, source_ids=message_ids, project=project,
        source=source, trust=trust, said_at=said_at, created_at=moment, updated_at=moment,
    )  # fmt: skip
    return described(record, typed=False)


def _id(project: str | None, text: str, sources: Sequence[str]) -> str:
    """The same statement from the same messages always has the same id, so that a repeated run stores nothing twice."""
    named = "\0".join((project or "", text, *sources))
    return f"mem_{hashlib.blake2b(named.encode(), digest_size=12).hexdigest()}"


# With a language model


def _stated(
    runtime: Runtime, consultant: Consultant, episodes: Sequence[Part], known: Snapshot
) -> tuple[list[Candidate], frozenset[int]]:
    """What the language model states of episodes beyond what it would have predicted, and the episodes it left to the rules."""
    places, parts = _by_trust(episodes)
    answers = _answers(runtime, consultant, parts, known)
    left = frozenset(place for place, answer in zip(places, answers, strict=True) if answer is None)
    return [one for answer in answers for one in answer or ()], left


def _by_trust(episodes: Sequence[Part]) -> tuple[list[int], list[Part]]:
    """Each episode in one part, or in two where it is trusted only in part: a model that reads both may mix them.

    Returns:
        For each part the place of its episode, and the parts.
    """
    found: list[tuple[int, Part]] = []
    for place, (messages, one, vector) in enumerate(episodes):
        for trusted in (True, False):
            part = [message for message in messages if is_trusted(message.trust) is trusted]
            if part or (trusted and not messages):
                found.append((place, (part, one, vector)))
    return [place for place, _ in found], [part for _, part in found]


def _title(messages: Sequence[Message], told: Told) -> str:
    """What a part of an episode is about; of its trusted part, by that part alone."""
    trusted = is_trusted(told.episode.trust) or not is_trusted(messages[0].trust)
    return told.episode.title if trusted else title(messages)


def _answers(
    runtime: Runtime, consultant: Consultant, parts: Sequence[Part], known: Snapshot
) -> list[list[Candidate] | None]:
    """What the language model states of each part; None where it gave no answer."""
    found: list[list[Candidate] | None] = [None] * len(parts)
    from mnemic.llm import extraction

    said = [messages[-extraction.MOST_MESSAGES :] for messages, *_ in parts]
    trusts = [is_trusted(messages[0].trust) if messages else None for messages in said]
    asked = [
        [places[i] for i in group]
        for places in ([p for p, trust in enumerate(trusts) if trust == trusted] for trusted in (True, False))
        for group in episode_batches([len(said[place]) for place in places], extraction.MOST_EPISODES)
    ]
    around = [_around(runtime, [parts[p] for p in group], known, trusts[group[0]] is True) for group in asked]
    answers = consultant.ask_all(
        [
            lambda g=group, k=records: extraction.task([(_title(said[p], parts[p][1]), said[p]) for p in g], k)
            for group, records in zip(asked, around, strict=True)
        ]
    )
    for group, records, answer in zip(asked, around, answers, strict=True):
        if answer is None:
            continue
        consultant.failed += len(answer.unread)
        for number, place in enumerate(group):
            if number not in answer.unread:
                own = [one for one in answer.statements if one.episode == number]
                found[place] = [_from_model(one, parts[place][1].episode.project, said[place], records) for one in own]
    return found


def _around(runtime: Runtime, parts: Sequence[Part], known: Snapshot, trusted: bool) -> list[MemoryRecord]:  # noqa: FBT001
    """What is known about episodes that are asked about together: of each the nearest first, each memory once."""
    from mnemic.llm import extraction

    near = [known.near(vector, runtime.settings.processing.max_statements_for_prediction)[0] for *_, vector in parts]
    ranked = (record for rank in zip_longest(*near) for record in rank if record is not None)
    held = {r.id: r for r in ranked if r.expired_at is None and (is_trusted(r.trust) or not trusted)}
    return list(held.values())[: extraction.MOST_KNOWN]


def _from_model(
    found: extraction.Statement, project: str | None, messages: Sequence[Message], known: Sequence[MemoryRecord]
) -> Candidate:
    """A statement of the language model as a candidate."""
    cited = [messages[place] for place in found.messages]
    source, trust = least_trusted(cited)
    said = cited[0].sent_at
    assert said is not None
    record = _record(project, found.text, tuple(str(m.id) for m in cited), said, source, trust)
    record = replace(
        record, type=found.type, confidence=found.confidence, keywords=found.keywords or record.keywords,
        tags=found.tags or record.tags, category=found.category or record.category,
    )  # fmt: skip
    verdict = None
    if found.change != "new" and found.known is not None:
        verdict = (found.change, known[found.known].id)
    return Candidate(record, worth(found.text), verdict, described=bool(found.keywords))


# Description


def described(record: MemoryRecord, *, typed: bool = True) -> MemoryRecord:
    """A memory with its summary, keywords, tags, category, files and entities, by rule; what is given stays.

    Args:
        record: the memory.
        typed: whether its type is given as well.
    """
    found = describe(record.content, type=record.type if typed else None)
    return replace(
        record, type=found.type, summary=record.summary or found.summary, keywords=record.keywords or found.keywords,
        tags=record.tags or found.tags, category=record.category or found.category,
        confidence=min(record.confidence, found.confidence),
        related_files=record.related_files or found.related_files,
        related_entities=record.related_entities or found.related_entities,
    )  # fmt: skip


_BLANK: dict[str, Any] = {
    "summary": None, "keywords": (), "tags": (), "category": None, "confidence": 1.0, "related_files": (),
    "related_entities": (),
}  # fmt: skip


def redescribed(record: MemoryRecord, held: MemoryRecord) -> MemoryRecord:
    """A memory with new words, without the description of those it had; what was given stays.

    A tag of a language model cannot be distinguished from a given one, and stays too.
    """
    ruled = described(replace(held, **_BLANK))
    made = {n for n in _BLANK if getattr(held, n) == getattr(ruled, n) == getattr(record, n)}
    blank = replace(record, **{n: none for n, none in _BLANK.items() if n in made | {"summary", "keywords"}})
    return described(blank) if held.summary or held.keywords else blank
