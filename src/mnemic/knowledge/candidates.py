"""Candidate memories: sentences worth noting, and statements of a language model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.knowledge.episodes import EpisodeDraft, least_trusted, title
from mnemic.knowledge.metadata import describe
from mnemic.knowledge.selection import Statement, statements, worth
from mnemic.knowledge.snapshot import Snapshot
from mnemic.runtime.consultant import Consultant, episode_batches
from mnemic.runtime.runtime import Runtime
from mnemic.safety.trust import is_trusted
from mnemic.text.clock import now
from mnemic.text.names import names
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import MemoryRecord, Message, Source
from mnemic.types.literals import AGENT

if TYPE_CHECKING:
    from mnemic.llm import extraction

Vector = NDArray[np.float32]
EpisodePart = tuple[Sequence[Message], EpisodeDraft, Vector | None]
"""Messages, their episode, and the vector of the episode."""

MIN_COVERAGE = 0.3
"""Least share of a sentence's words in a statement that covers it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that may be stored.

    ``worth`` is the probability that a person would note it, ``verdict`` the language model's judgement with the id it
    concerns; ``has_description`` tells whether the model gave keywords; ``predicted`` is what it expected of the episode
    before it read it.
    """

    record: MemoryRecord
    worth: float
    verdict: tuple[Literal["update", "contradiction"], str] | None = None
    has_description: bool = False
    predicted: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The candidates of one processing step.

    ``twins`` are ids of believed memories with the same words; ``known`` counts candidates that an earlier run stored;
    ``unrefined`` are positions of episodes that the language model left to the rules.
    """

    new: Sequence[Candidate]
    twins: Mapping[str, str]
    known: int
    unrefined: frozenset[int] = frozenset()


def candidates(
    runtime: Runtime, consultant: Consultant, user: str, episodes: Sequence[EpisodePart], known: Snapshot
) -> Batch:
    """The candidates of episodes, except those that an earlier run stored.

    Args:
        runtime: the store and settings.
        consultant: the language model, if any.
        user: the owner.
        episodes: the episodes with their messages.
        known: the known memories.
    """
    said = [message for messages, *_ in episodes for message in messages]
    project = episodes[0][1].episode.project if episodes else None
    selected = [Candidate(_from_statement(statement, project), statement.worth) for statement in statements(said)]
    unrefined: frozenset[int] = frozenset()
    from_model: list[Candidate] = []
    if consultant.available:
        from_model, unrefined = _model_candidates(runtime, consultant, episodes, known)
        selected = [one for one in selected if not any(_covers(other.record, one.record) for other in from_model)]
    found: dict[tuple[str, datetime | None], Candidate] = {}
    for one in (*from_model, *selected):
        found.setdefault((one.record.spoken, one.record.said_at), one)
    twins = runtime.store.knowledge.duplicates(user, project, [spoken for spoken, _ in found])
    held = runtime.store.docs_of(user, [one.record.id for one in found.values()])
    agents = {str(message.id): message.metadata.get(AGENT) for message in said}
    new = [_of_agent(one, agents) for one in found.values() if one.record.id not in held]
    return Batch(new, twins, len(found) - len(new), unrefined)


def _of_agent(one: Candidate, agents: Mapping[str, object]) -> Candidate:
    """The candidate with the agent that all its messages belong to."""
    named = {agents.get(id_) for id_ in one.record.source_ids}
    if None in named or len(named) != 1:
        return one
    return replace(one, record=replace(one.record, metadata={**one.record.metadata, AGENT: named.pop()}))


def _covers(from_model: MemoryRecord, selected: MemoryRecord) -> bool:
    """Whether a statement of the model covers a sentence: its names, its numbers and some of its words."""
    if not set(selected.source_ids) & set(from_model.source_ids):
        return False
    stated, terms = set(content_terms(from_model.spoken)), set(content_terms(selected.content))
    named = {term for name in names(selected.content) for term in content_terms(name)}
    values = named | {term for term in terms if any(map(str.isdigit, term))}
    return values <= stated and len(terms & stated) >= MIN_COVERAGE * len(terms)


def _from_statement(statement: Statement, project: str | None) -> MemoryRecord:
    return _record(
        project,
        statement.text,
        statement.message_ids,
        statement.said_at,
        statement.source,
        statement.trust,
        statement.speaker,
    )


def sentence_about(text: str, subject: str) -> str:
    """The sentence of a text that shares most terms with another text; the first of several."""
    terms = set(content_terms(subject))
    return max(sentences(text) or [text], key=lambda one: len(terms & set(content_terms(one))))


def stated(message: Message, sentence: str, project: str | None) -> MemoryRecord:
    """What a message says in one sentence, as a memory derived from it."""
    assert message.id is not None
    assert message.sent_at is not None
    trust = 1.0 if message.trust is None else message.trust
    source = message.source or "direct_user"
    return _record(project, sentence, (message.id,), message.sent_at, source, trust, message.name)


def _record(
    project: str | None,
    text: str,
    message_ids: tuple[str, ...],
    said_at: datetime,
    source: Source,
    trust: float,
    speaker: str | None = None,
) -> MemoryRecord:
    """A memory derived from messages; its salience is set later, with its novelty."""
    moment = now().astimezone(said_at.tzinfo)
    record = MemoryRecord(
        id=_id(project, text, message_ids), content=text, speaker=speaker, source_ids=message_ids, project=project,
        source=source, trust=trust, said_at=said_at, created_at=moment, updated_at=moment,
    )  # fmt: skip
    return with_description(record, typed=False)


def _id(project: str | None, text: str, sources: Sequence[str]) -> str:
    """A deterministic id of a statement and its messages, so that a repeated run stores nothing twice."""
    named = "\0".join((project or "", text, *sources))
    return f"mem_{hashlib.blake2b(named.encode(), digest_size=12).hexdigest()}"


# With a language model


def _model_candidates(
    runtime: Runtime, consultant: Consultant, episodes: Sequence[EpisodePart], known: Snapshot
) -> tuple[list[Candidate], frozenset[int]]:
    """The model's statements beyond its prediction, and positions of episodes it left to the rules."""
    places, parts = _by_trust(episodes)
    answers = _extract(runtime, consultant, parts, known)
    left = frozenset(place for place, answer in zip(places, answers, strict=True) if answer is None)
    return [one for answer in answers for one in answer or ()], left


def _by_trust(episodes: Sequence[EpisodePart]) -> tuple[list[int], list[EpisodePart]]:
    """Split episodes by trust: a model that reads trusted and untrusted messages together may mix them.

    Returns:
        For each part the position of its episode, and the parts.
    """
    found: list[tuple[int, EpisodePart]] = []
    for place, (messages, one, vector) in enumerate(episodes):
        for trusted in (True, False):
            part = [message for message in messages if is_trusted(message.trust) is trusted]
            if part or (trusted and not messages):
                found.append((place, (part, one, vector)))
    return [place for place, _ in found], [part for _, part in found]


def _title(messages: Sequence[Message], draft: EpisodeDraft) -> str:
    """The title of a part; the title of a mixed episode is not used for its trusted part."""
    trusted = is_trusted(draft.episode.trust) or not is_trusted(messages[0].trust)
    return draft.episode.title if trusted else title(messages)


def _extract(
    runtime: Runtime, consultant: Consultant, parts: Sequence[EpisodePart], known: Snapshot
) -> list[list[Candidate] | None]:
    """The model's statements for each part; None without an answer."""
    found: list[list[Candidate] | None] = [None] * len(parts)
    from mnemic.llm import extraction, narration

    said = [messages[-narration.MOST_MESSAGES :] for messages, *_ in parts]
    trusts = [is_trusted(messages[0].trust) if messages else None for messages in said]
    prompt_groups = [
        [places[i] for i in group]
        for places in ([p for p, trust in enumerate(trusts) if trust == trusted] for trusted in (True, False))
        for group in episode_batches([len(said[place]) for place in places], narration.MOST_EPISODES)
    ]
    known_records = [
        _known_memories(runtime, [parts[p] for p in group], known, trusted=trusts[group[0]] is True)
        for group in prompt_groups
    ]
    texts = [[(_title(said[p], parts[p][1]), said[p]) for p in group] for group in prompt_groups]
    predictions = _predictions(runtime, consultant, texts, known_records)
    answers = consultant.ask_all(
        [
            lambda t=episodes, k=records, e=expected: extraction.task(t, k, e)
            for episodes, records, expected in zip(texts, known_records, predictions, strict=True)
        ]
    )
    for group, records, expected, answer in zip(prompt_groups, known_records, predictions, answers, strict=True):
        if answer is None:
            continue
        consultant.failed += len(answer.unread)
        for number, place in enumerate(group):
            if number not in answer.unread:
                own = [one for one in answer.statements if one.episode == number]
                made = [_from_model(one, parts[place][1].episode.project, said[place], records) for one in own]
                found[place] = [replace(one, predicted=expected[number]) for one in made] if expected else made
    return found


def _predictions(
    runtime: Runtime,
    consultant: Consultant,
    texts: Sequence[Sequence[extraction.EpisodeText]],
    known: Sequence[Sequence[MemoryRecord]],
) -> list[tuple[str, ...]]:
    """What the model expects of the episodes of each prompt, before it reads them; empty unless it is asked to."""
    if not runtime.settings.processing.predict_first:
        return [()] * len(texts)
    from mnemic.llm import prediction

    answers = consultant.ask_all(
        [
            lambda t=[title for title, _ in episodes], k=records: prediction.task(t, k)
            for episodes, records in zip(texts, known, strict=True)
        ]
    )
    return [() if answer is None else answer.texts for answer in answers]


def _known_memories(
    runtime: Runtime, parts: Sequence[EpisodePart], known: Snapshot, *, trusted: bool
) -> list[MemoryRecord]:
    """Known memories for the episodes of one prompt, interleaved by rank, each once."""
    from mnemic.llm import extraction

    nearest = [
        known.nearest(vector, runtime.settings.processing.max_statements_for_prediction)[0] for *_, vector in parts
    ]
    ranked = (record for rank in zip_longest(*nearest) for record in rank if record is not None)
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
    return Candidate(record, worth(found.text), verdict, has_description=bool(found.keywords))


# Description


def with_description(record: MemoryRecord, *, typed: bool = True) -> MemoryRecord:
    """Fill in summary, keywords, tags, category, files and entities by rule; set fields are kept.

    Args:
        record: the memory.
        typed: whether its type is set too.
    """
    found = describe(record.content, type=record.type if typed else None)
    return replace(
        record, type=found.type, summary=record.summary or found.summary, keywords=record.keywords or found.keywords,
        tags=record.tags or found.tags, category=record.category or found.category,
        confidence=min(record.confidence, found.confidence),
        related_files=record.related_files or found.related_files,
        related_entities=record.related_entities or found.related_entities,
    )  # fmt: skip


_EMPTY_DESCRIPTION: dict[str, Any] = {
    "summary": None, "context": None, "keywords": (), "tags": (), "category": None, "confidence": 1.0, "related_files": (),
    "related_entities": (),
}  # fmt: skip


def ruled_fields(record: MemoryRecord) -> set[str]:
    """The fields of a description that are as the rules would set them."""
    ruled = with_description(replace(record, **_EMPTY_DESCRIPTION))
    return {name for name in _EMPTY_DESCRIPTION if getattr(record, name) == getattr(ruled, name)}


def with_new_description(record: MemoryRecord, held: MemoryRecord) -> MemoryRecord:
    """Renew the description of a memory with new content; fields set by a caller are kept.

    Tags of a language model cannot be distinguished from those of a caller and are kept too.
    """
    stale = {n for n in ("summary", "context", "keywords") if getattr(record, n) == getattr(held, n)}
    stale |= {n for n in ruled_fields(held) if getattr(record, n) == getattr(held, n)}
    blank = replace(record, **{n: none for n, none in _EMPTY_DESCRIPTION.items() if n in stale})
    return with_description(blank) if held.summary or held.keywords else blank
