"""Candidate memories (sentences worth noting, statements of a language model) and the known ones they are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mnemic.indexes.catalog import FOREVER, KINDS, STATUSES
from mnemic.ingest import stable_id
from mnemic.knowledge.episodes import EpisodeDraft, least_trusted, title
from mnemic.knowledge.metadata import describe
from mnemic.knowledge.selection import Statement, judgements, statements, worth
from mnemic.runtime.consultant import Consultant, prompt_groups
from mnemic.runtime.runtime import Runtime
from mnemic.text.differences import has_exchanged, has_other_value
from mnemic.text.english import names
from mnemic.text.sentences import code_lines, sentences
from mnemic.text.terms import content_terms
from mnemic.text.values import now
from mnemic.types import MemoryRecord, Message
from mnemic.types.literals import AGENT
from mnemic.types.records import is_trusted
from mnemic.vectors import Floats, dot, eased, top

if TYPE_CHECKING:
    from mnemic.llm import extraction


Neighbours = Sequence[tuple[MemoryRecord, float | None]]
"""Memories and their cosines with another one, as the default embedder would give them; None without vectors."""

DIGITS = 3
"""Significant digits of a cosine, given the precision of stored vectors."""
MAX_ADDED = 512
"""Memories added before the snapshot is reloaded."""


class Snapshot:
    """The unarchived memories of one user at one level, including those about to be stored.

    Args:
        runtime: gives access to the store.
        user: the owner.
        project: their project, or None.

    Attributes:
        base: typical cosine of unrelated records.
    """

    base: float

    def __init__(self, runtime: Runtime, user: str, project: str | None) -> None:
        self._runtime, self._user, self._project = runtime, user, project
        self._records: dict[int, MemoryRecord] = {}
        self._load()

    def _load(self) -> None:
        """Load the stored state."""
        self._added: dict[str, tuple[MemoryRecord, Floats | None]] = {}
        self._ended: dict[str, datetime] = {}
        self._revised: dict[str, MemoryRecord] = {}
        self._view = view = self._runtime.views.of(self._user)
        self._live_rows = self._ended_rows = np.empty(0, np.bool_)
        self.base = 0.0 if view is None else view.base
        if view is None:
            return
        c = view.columns
        at_level = (c.kind == KINDS["memory"]) & (c.status != STATUSES["archived"])
        at_level &= (c.project == c.names.project.get(self._project)) & (c.session == c.names.session.get(None))
        ended = np.zeros(len(c), np.bool_)
        ended[c.rows_of(c.validity.doc[c.validity.expired < FOREVER])] = True
        self._live_rows, self._ended_rows = at_level & ~ended, at_level & ended

    def nearest(self, vector: Floats | None, most: int) -> Neighbours:
        """The nearest believed memories, nearest first, then as many ended ones.

        Stored memories and those about to be stored are treated alike, so that an interrupted run gives the same
        result. Without a vector: those added last.
        """
        if vector is None:
            return [(self._current(record), None) for record, _ in list(self._added.values())[-most:]]
        more = most + len(self._ended)  # some of the live rows have ended since
        by_id = {
            record.id: (self._current(record), round(cosine, DIGITS))
            for record, cosine in (
                *self._nearest_stored(vector, self._live_rows, more),
                *self._nearest_stored(vector, self._ended_rows, most),
                *self._cosines_of_added(vector),
            )
        }
        order = sorted(by_id.values(), key=lambda pair: (-pair[1], pair[0].id))
        live, ended = ([pair for pair in order if (pair[0].expired_at is None) is is_live] for is_live in (True, False))
        nearest = [*live[:most], *ended[:most]]
        cosines = eased(np.array([cosine for _, cosine in nearest], np.float64), self.base)
        return [(record, cosine) for (record, _), cosine in zip(nearest, cosines.tolist(), strict=True)]

    def _nearest_stored(self, vector: Floats, among: NDArray[np.bool_], most: int) -> list[tuple[MemoryRecord, float]]:
        view = self._view
        if view is None or view.vectors.dimension != len(vector) or not among.any():
            return []
        cosines = view.vectors.cosines([vector], plain=True)
        cosines.settle(among)
        rows = top(cosines.values, among, most, above=-1.0)
        docs = [int(doc) for doc in view.columns.doc[rows]]
        records = self._fetch(docs)
        return [
            (records[doc], float(cosines.values[row])) for doc, row in zip(docs, rows, strict=True) if doc in records
        ]

    def _cosines_of_added(self, vector: Floats) -> list[tuple[MemoryRecord, float]]:
        added = [(record, v) for record, v in self._added.values() if v is not None and len(v) == len(vector)]
        cosines: list[float] = dot(np.stack([v for _, v in added]), vector).tolist() if added else []
        return [(record, cosine) for (record, _), cosine in zip(added, cosines, strict=True)]

    def _fetch(self, docs: Sequence[int]) -> dict[int, MemoryRecord]:
        missing = [doc for doc in docs if doc not in self._records]
        if missing and self._view is not None:
            for doc, stored in self._runtime.store.fetch(self._view.user, missing).items():
                if isinstance(stored.value, MemoryRecord):
                    self._records[doc] = stored.value
        return {doc: self._records[doc] for doc in docs if doc in self._records}

    def _current(self, record: MemoryRecord) -> MemoryRecord:
        """The record with the changes decided since the snapshot."""
        record = self._revised.get(record.id, record)
        ended = self._ended.get(record.id)
        return record if ended is None else replace(record, expired_at=ended)

    def add(self, record: MemoryRecord, vector: Floats | None) -> None:
        """Add a memory that is about to be stored."""
        self._added[record.id] = (record, vector)

    def twin(self, new: MemoryRecord, twins: Mapping[str, str]) -> MemoryRecord | None:
        """The believed memory with the same words as a new one, with the changes since the snapshot.

        Args:
            new: the new memory.
            twins: ids of stored memories that say the same, by that of the new one.
        """
        for record, _ in self._added.values():
            if record.spoken == new.spoken and record.id not in self._ended:
                return record
        stored = twins.get(new.id)
        if stored is None or stored in self._ended:
            return None
        if stored in self._revised:
            return self._revised[stored]
        record = self._runtime.store.get(self._user, stored).value
        return record if isinstance(record, MemoryRecord) else None

    def revise(self, record: MemoryRecord) -> None:
        """Note the next version of a memory that is about to be stored."""
        if record.id in self._added:
            self._added[record.id] = (record, self._added[record.id][1])
        else:
            self._revised[record.id] = record

    def mark_ended(self, id: str, moment: datetime) -> None:
        """Note that a memory was superseded."""
        self._ended[id] = moment

    def commit(self) -> None:
        """The added memories are stored: reload the snapshot if there are many."""
        if len(self._added) > MAX_ADDED:
            self.reload()

    def reload(self) -> None:
        """Drop the added memories and load the stored state."""
        self._load()
        self._records.clear()


EpisodePart = tuple[Sequence[Message], EpisodeDraft, Floats | None]
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

    ``twins`` are ids of believed memories with the same words, by that of the candidate; ``known`` counts candidates that an
    earlier run stored; ``unrefined`` are positions of episodes that the language model left to the rules.
    """

    new: Sequence[Candidate]
    twins: Mapping[str, str]
    known: int
    unrefined: frozenset[int] = frozenset()


def candidates(
    runtime: Runtime, consultant: Consultant, user: str, episodes: Sequence[EpisodePart], snapshot: Snapshot
) -> Batch:
    """The candidates of episodes, except those that an earlier run stored.

    Args:
        runtime: the store and settings.
        consultant: the language model, if any.
        user: the owner.
        episodes: the episodes with their messages.
        snapshot: the known memories.
    """
    all_messages = [message for messages, *_ in episodes for message in messages]
    project = episodes[0][1].episode.project if episodes else None
    judged = statements(all_messages, partial(judgements, runtime.indexer))
    selected = [Candidate(_derived(project, statement), statement.worth) for statement in judged]
    unrefined: frozenset[int] = frozenset()
    from_model: list[Candidate] = []
    if consultant.available:
        from_model, unrefined = _model_candidates(runtime, consultant, episodes, snapshot)
        selected = [c for c in selected if not any(covers(other.record, c.record) for other in from_model)]
    distinct: dict[tuple[str, datetime | None], Candidate] = {}
    for candidate in (*from_model, *selected):
        distinct.setdefault((candidate.record.spoken, candidate.record.said_at), candidate)
    twins = runtime.store.knowledge.duplicates(user, [candidate.record for candidate in distinct.values()])
    stored = runtime.store.docs_of(user, [candidate.record.id for candidate in distinct.values()])
    agents = {str(message.id): message.metadata.get(AGENT) for message in all_messages}
    new = [_with_agent(candidate, agents) for candidate in distinct.values() if candidate.record.id not in stored]
    return Batch(new, twins, len(distinct) - len(new), unrefined)


def _with_agent(candidate: Candidate, agents: Mapping[str, object]) -> Candidate:
    """The candidate with the agent that all its messages belong to."""
    record = candidate.record
    owners = {agents.get(id_) for id_ in record.source_ids}
    if None in owners or len(owners) != 1:
        return candidate
    return replace(candidate, record=replace(record, metadata={**record.metadata, AGENT: owners.pop()}))


def covers(from_model: MemoryRecord, selected: MemoryRecord) -> bool:
    """Whether a statement of the model covers a sentence: its names, its numbers and some of its words."""
    if not set(selected.source_ids) & set(from_model.source_ids):
        return False
    stated, terms = set(content_terms(from_model.spoken)), set(content_terms(selected.content))
    named = {term for name in names(selected.content) for term in content_terms(name)}
    values = named | {term for term in terms if any(map(str.isdigit, term))}
    return values <= stated and len(terms & stated) >= MIN_COVERAGE * len(terms)


def sentence_about(text: str, terms: AbstractSet[str], statement: str) -> str:
    """The sentence of a text that a new statement corrects; all of it if no sentence is clearly meant.

    It is the only one that has all that is said to be wrong, or the one that says another value than the statement.

    Args:
        text: of one or several sentences.
        terms: of the matter, and of what is wrong of it.
        statement: the new statement.
    """
    parts = [part for sentence in sentences(text) for part in code_lines(sentence) or [sentence]]
    wrong = terms - {*content_terms(statement)}
    if len(matches := [sentence for sentence in parts if wrong and wrong <= {*content_terms(sentence)}]) == 1:
        return matches[0]
    alternatives = [s for s in parts if has_exchanged(s, statement) or has_other_value(s, statement)]
    return max(alternatives, key=lambda sentence: len(terms & {*content_terms(sentence)}), default=text)


def part(record: MemoryRecord, sentence: str) -> MemoryRecord:
    """One sentence of a memory, as a memory of its own."""
    id_ = _id(record.project, sentence, record.source_ids)
    return replace(record, id=id_, content=sentence, version=1, access_count=0)


def is_made(record: MemoryRecord) -> bool:
    """Whether a memory is as processing made it of messages."""
    return record.id == _id(record.project, record.content, record.source_ids)


def stated(message: Message, sentence: str, project: str | None) -> MemoryRecord:
    """What a message says in one sentence, as a memory derived from it."""
    return _record(project, sentence, [message])


def omission(message: Message, sentence: str, project: str | None) -> MemoryRecord:
    """The record of a sentence that is left out of a message. Processing may make a memory of it once it is shown again."""
    record = stated(message, sentence, project)
    return replace(record, id=_omission_id(record), status="archived")


def is_omission(record: MemoryRecord) -> bool:
    """Whether a record only tells that a sentence is left out of a message."""
    return record.id == _omission_id(record)


def _omission_id(record: MemoryRecord) -> str:
    return _id(record.project, record.content, ("", *record.source_ids))


def _derived(project: str | None, statement: Statement) -> MemoryRecord:
    """The memory of a statement. What may be another's is no rule or preference, whatever its frame asks for."""
    record = _record(project, statement.text, statement.cited)
    return replace(record, type="semantic", category=None, tags=()) if statement.framed else record


def _record(project: str | None, text: str, cited: Sequence[Message]) -> MemoryRecord:
    """A memory derived from messages, said in the last of them; its salience is set later, with its novelty."""
    ids, (source, trust), said_at = tuple(str(m.id) for m in cited), least_trusted(cited), cited[-1].sent_at
    assert said_at is not None
    moment = now().astimezone(said_at.tzinfo)
    record = MemoryRecord(
        id=_id(project, text, ids), content=text, speaker=cited[-1].name, source_ids=ids, project=project,
        source=source, trust=trust, said_at=said_at, created_at=moment, updated_at=moment,
    )  # fmt: skip
    return with_description(record, typed=False)


def _id(project: str | None, text: str, sources: Sequence[str]) -> str:
    """A deterministic id of a statement and its messages, so that a repeated run stores nothing twice."""
    return stable_id("mem_", project or "", text, *sources)


# With a language model


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages of an episode of one trust, for one prompt: a model that reads both together may mix them."""

    position: int
    messages: Sequence[Message]
    draft: EpisodeDraft
    vector: Floats | None
    trusted: bool

    @property
    def text(self) -> extraction.EpisodeText:
        """The title and the messages; the title of a mixed episode is not used for its trusted part."""
        episode = self.draft.episode
        return (episode.title if is_trusted(episode.trust) or not self.trusted else title(self.messages)), self.messages


def _model_candidates(
    runtime: Runtime, consultant: Consultant, episodes: Sequence[EpisodePart], snapshot: Snapshot
) -> tuple[list[Candidate], frozenset[int]]:
    """The model's statements beyond its prediction, and positions of episodes it left to the rules."""
    from mnemic.llm import extraction, narration

    parts = [
        _Part(position, said[-narration.MOST_MESSAGES :], draft, vector, trusted)
        for position, (messages, draft, vector) in enumerate(episodes)
        for trusted in (True, False)
        if (said := [message for message in messages if is_trusted(message.trust) is trusted])
    ]
    sizes = {number: len(part.messages) for number, part in enumerate(parts)}
    numbers = prompt_groups(dict(enumerate(p.trusted for p in parts)), narration.MOST_EPISODES, sizes)
    groups = [[parts[number] for number in group] for group in numbers]
    known = [_known_memories(runtime, group, snapshot) for group in groups]
    texts = [[part.text for part in group] for group in groups]
    predictions = _predictions(runtime, consultant, texts, known)
    prompts = zip(texts, known, predictions, strict=True)
    answers = consultant.ask_all([lambda p=prompt: extraction.task(*p) for prompt in prompts])
    stated, unread = list[Candidate](), set[int]()
    for group, records, expected, answer in zip(groups, known, predictions, answers, strict=True):
        consultant.failed += 0 if answer is None else len(answer.unread)
        for number, part in enumerate(group):
            if answer is None or number in answer.unread:
                unread.add(part.position)
                continue
            predicted, project = expected[number] if expected else "", part.draft.episode.project
            extracted = [statement for statement in answer.statements if statement.episode == number]
            stated += [_from_model(each, project, part.messages, records, predicted) for each in extracted]
    return stated, frozenset(unread)


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

    titles = [[title for title, _ in episodes] for episodes in texts]
    answers = consultant.ask_all([lambda p=pair: prediction.task(*p) for pair in zip(titles, known, strict=True)])
    return [answer or () for answer in answers]


def _known_memories(runtime: Runtime, parts: Sequence[_Part], snapshot: Snapshot) -> list[MemoryRecord]:
    """Known memories for the episodes of one prompt, interleaved by rank, each once; trusted ones for trusted episodes."""
    from mnemic.llm import extraction

    most, trusted = runtime.settings.processing.max_statements_for_prediction, parts[0].trusted
    ranked = zip_longest(*(snapshot.nearest(part.vector, most) for part in parts))
    records = {
        r.id: r
        for rank in ranked
        for r, _ in filter(None, rank)
        if r.expired_at is None and (is_trusted(r.trust) or not trusted)
    }
    return list(records.values())[: extraction.MOST_KNOWN]


def _from_model(
    statement: extraction.Statement, project: str | None, messages: Sequence[Message], known: Sequence[MemoryRecord],
    predicted: str,
) -> Candidate:  # fmt: skip
    """A statement of the language model as a candidate."""
    cited = [messages[index] for index in statement.messages]
    record = _record(project, statement.text, cited)
    record = replace(
        record, speaker=None, said_at=cited[0].sent_at, type=statement.type, confidence=statement.confidence,
        keywords=statement.keywords or record.keywords,
        tags=statement.tags or record.tags, category=statement.category or record.category,
    )  # fmt: skip
    verdict = None
    if statement.change != "new" and statement.known is not None:
        verdict = (statement.change, known[statement.known].id)
    return Candidate(record, worth(statement.text), verdict, bool(statement.keywords), predicted)


# Description


def with_description(record: MemoryRecord, *, typed: bool = True) -> MemoryRecord:
    """Fill in summary, keywords, tags, category, files and entities by rule; set fields are kept.

    Args:
        record: the memory.
        typed: whether its type is set too.
    """
    description = describe(record.content, type=record.type if typed else None)
    fields: dict[str, Any] = {name: getattr(record, name) or getattr(description, name) for name in _DESCRIBED}
    return replace(record, type=description.type, confidence=min(record.confidence, description.confidence), **fields)


_DESCRIBED = ("summary", "keywords", "tags", "category", "related_files", "related_entities")


_EMPTY_DESCRIPTION: dict[str, Any] = {
    "summary": None, "context": None, "keywords": (), "tags": (), "category": None, "confidence": 1.0, "related_files": (),
    "related_entities": (),
}  # fmt: skip


def ruled_fields(record: MemoryRecord) -> set[str]:
    """The fields of a description that are as the rules would set them."""
    ruled = with_description(replace(record, **_EMPTY_DESCRIPTION))
    return {name for name in _EMPTY_DESCRIPTION if getattr(record, name) == getattr(ruled, name)}


def with_new_description(record: MemoryRecord, previous: MemoryRecord) -> MemoryRecord:
    """Renew the description of a memory with new content; fields set by a caller are kept.

    Tags of a language model cannot be distinguished from those of a caller and are kept too.
    """
    stale = {n for n in ("summary", "context", "keywords") if getattr(record, n) == getattr(previous, n)}
    stale |= {n for n in ruled_fields(previous) if getattr(record, n) == getattr(previous, n)}
    blank = replace(record, **{n: none for n, none in _EMPTY_DESCRIPTION.items() if n in stale})
    return with_description(blank) if previous.summary or previous.keywords else blank
