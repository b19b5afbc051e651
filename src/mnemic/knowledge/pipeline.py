"""The processing pipeline: waiting messages become episodes, and new statements in them memories, described and linked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mnemic.emotion.estimate import emotions_of
from mnemic.errors import Conflict, NotFound
from mnemic.knowledge import episodes, segmentation
from mnemic.knowledge.candidates import (
    Neighbours,
    Snapshot,
    candidates,
    covers,
    is_made,
    ruled_fields,
    with_description,
)
from mnemic.knowledge.reconciliation import (
    derived_memories,
    link_changes,
    propose_links,
    reconcile_batch,
    settle,
    time_said,
)
from mnemic.protocols import Progress
from mnemic.runtime.consultant import Consultant, prompt_groups
from mnemic.runtime.runtime import Runtime
from mnemic.services.telemetry import traced
from mnemic.text.differences import says
from mnemic.text.values import now
from mnemic.types import (
    AddEpisode,
    Archive,
    Change,
    Episode,
    Indexing,
    Level,
    Link,
    MarkProcessed,
    MemoryRecord,
    Message,
    ProcessReport,
    Revise,
    Scope,
    SetEmotions,
    Waiting,
)
from mnemic.types.literals import SILENT_ROLES
from mnemic.types.records import is_trusted

if TYPE_CHECKING:
    from mnemic.llm import enrichment
    from mnemic.llm.narration import Narrative


STEP = 200
"""Messages of one conversation processed per step; the result is stored in one transaction."""
CONTEXT_MESSAGES = 20
"""Messages of the last episode used to decide whether it continues."""
ANSWERS = 16
"""Long answers embedded at once; a run that starts waits for no more."""
MOST_REFINED = 200
"""Most episodes refined in one call."""
RECENT = 5
"""Recent episodes that a new one may be merged with."""
RESTATED = "the language model states it in other words"
BATCH = 60
"""Memories enriched in one transaction."""
NEAREST = 10
"""Nearest memories considered for links."""
CANDIDATES, MIN_COSINE = 4, 0.6
"""Most candidates shown to a language model, and their least cosine."""


@dataclass
class _Run:
    """State of one call of ``process``."""

    runtime: Runtime
    scope: Scope
    zone: tzinfo
    total: int
    answers: int
    progress: Progress | None
    consultant: Consultant
    counts: Counter[str] = field(default_factory=Counter[str])
    snapshots: dict[str | None, Snapshot] = field(default_factory=dict[str | None, Snapshot])
    described_ids: set[str] = field(default_factory=set[str])
    _background: Mapping[str, int] | None = None

    @property
    def background(self) -> Mapping[str, int]:
        if self._background is None:
            self._background = episodes.background(self.runtime, self.scope.user)
        return self._background

    def report(self, answers: int = 0) -> None:
        """Report the messages that are done, and the long answers."""
        if self.progress:
            done = min(self.counts["messages"], self.total)
            self.progress(done + answers, self.total + self.answers)

    def snapshot_of(self, project: str | None) -> Snapshot:
        if project not in self.snapshots:
            self.snapshots[project] = Snapshot(self.runtime, self.scope.user, project)
        return self.snapshots[project]


@traced("mnemic.process")
def process(
    runtime: Runtime,
    scope: Scope,
    zone: tzinfo,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    halted: Callable[[], bool] = lambda: False,
) -> ProcessReport:
    """Process waiting messages by conversation; one call at a time per record and process.

    Messages stored meanwhile wait for the next call, so that this one always ends.
    """
    began = time.monotonic()
    with runtime.processing:
        knowledge = runtime.store.knowledge
        total = sum(count for *_, count in knowledge.conversations(scope.user))
        consultant = Consultant(runtime)
        most = total if limit is None else min(total, limit)
        unread = runtime.store.embedding.without_passages(scope.user)[:limit]
        run = _Run(runtime, scope, zone, most, len(unread), progress, consultant)
        unrefined = knowledge.unrefined(scope.user, MOST_REFINED) if consultant.available else []
        _steps(run, halted)
        if not halted():
            _refine(run, unrefined)
            settle(runtime, scope)
        run.counts.update(enriched=_enrich_pending(run, limit, halted))
        _embed_answers(run, unread, halted)
    waiting = sum(count for *_, count in runtime.store.knowledge.conversations(scope.user))
    seconds = time.monotonic() - began
    return ProcessReport(**run.counts, fallbacks=consultant.failed, waiting=waiting, seconds=seconds)


def _steps(run: _Run, halted: Callable[[], bool]) -> None:
    """Process step by step, always the conversation that has waited longest, so that a resumed run keeps the order.

    The waiting conversations are queried again only when they may have changed: the query scans all waiting messages.
    """
    done: set[Level] = set()
    levels: list[Level] = []
    while (remaining := run.total - run.counts["messages"]) > 0 and not halted():
        if not levels:
            waiting = run.runtime.store.knowledge.conversations(run.scope.user)
            levels = [(project, session) for project, session, _ in reversed(waiting) if (project, session) not in done]
        if not levels:
            return
        level = levels.pop()
        more = _step(run, level, min(STEP, max(remaining, segmentation.LONGEST)))
        if more is None:
            done.add(level)
        elif more:  # others may have waited longer than its remaining messages
            levels = []


def _step(run: _Run, level: Level, size: int) -> bool | None:
    """Process the next messages of a conversation; whether there may be more, None if none could be processed."""
    knowledge, since = run.runtime.store.knowledge, _last_event(run)
    batch = knowledge.waiting(run.scope.user, level, size)
    if not batch:
        return None
    spoken = [w for w in batch if w.message.role not in SILENT_ROLES and w.message.content]
    previous, opening = _open_episode(run, level, spoken)
    groups = episodes.segment(run.runtime, run.consultant, [w.message for w in spoken], _matrix(spoken))
    if len(batch) == size and len(groups) > 1:
        groups = groups[:-1]  # the last episode may be incomplete: it waits for the next step
    taken = [[spoken[position] for position in group.positions] for group in groups]
    records = [group.record for group in groups]
    if records and opening:
        records[0] = None  # it continues an episode, which is rewritten as a whole
    last = max((w.doc for group in taken for w in group), default=-1)
    try:
        silent = _silent(batch, spoken, taken, last)
        _store(run, level, taken, records, previous if opening else None, silent, since)
    except (Conflict, NotFound):  # another process took them, or they were forgotten or corrected meanwhile
        run.snapshots.clear()
        return None
    return len(batch) == size


def _last_event(run: _Run) -> int:
    """The newest event of the user; what is read after it and stored must not have been forgotten in between."""
    user_id = run.runtime.store.user(run.scope.user)
    return 0 if user_id is None else run.runtime.store.last_event(user_id)


def _silent(
    batch: Sequence[Waiting], spoken: Sequence[Waiting], taken: Sequence[Sequence[Waiting]], last: int
) -> list[str]:
    """Ids of the messages of this step that belong to no episode."""
    docs = {w.doc for w in spoken}
    complete = sum(len(group) for group in taken) == len(spoken)
    return [str(w.message.id) for w in batch if w.doc not in docs and (complete or w.doc < last)]


def _matrix(waiting: Sequence[Waiting]) -> NDArray[np.float32] | None:
    """The vectors of messages, rows of NaN where one is missing; None without any."""
    widths = {len(w.vector) for w in waiting if w.vector is not None}
    if len(widths) != 1:
        return None
    blank = np.full(widths.pop(), np.nan, np.float32)
    return np.stack([blank if w.vector is None else w.vector for w in waiting])


def _open_episode(run: _Run, level: Level, spoken: Sequence[Waiting]) -> tuple[Episode | None, bool]:
    """The last episode of the conversation, and whether the new messages continue it."""
    knowledge, user = run.runtime.store.knowledge, run.scope.user
    for previous in knowledge.latest(user, level, 1) if spoken else ():
        context = knowledge.messages_of(user, previous)[-CONTEXT_MESSAGES:]
        if len(previous.message_ids) >= segmentation.LONGEST:
            return previous, False
        vectors = knowledge.vectors(user, [str(m.id) for m in context])
        seen = [
            Waiting(doc=-1, message=m, project=level[0], vector=vectors[m.id].text if m.id in vectors else None)
            for m in context
        ]
        seen.append(spoken[0])
        gap = run.runtime.settings.processing.time_gap
        begins = segmentation.begins_episode([w.message for w in seen], _matrix(seen), time_gap=gap)
        return previous, not begins
    return None, False


def _store(
    run: _Run,
    level: Level,
    groups: Sequence[Sequence[Waiting]],
    records: Sequence[Narrative | None],
    previous: Episode | None,
    silent: Sequence[str],
    since: int,
) -> None:
    """Derive episodes and memories from groups of messages, read at an event, and store them, all or nothing."""
    runtime, user, project = run.runtime, run.scope.user, level[0]
    messages = [[w.message for w in group] for group in groups]
    continued = runtime.store.knowledge.messages_of(user, previous) if previous and messages else []
    complete = [[*continued, *messages[0]], *messages[1:]] if messages else []
    drafts = episodes.draft_episodes(run.consultant, complete, level, records, against=run.background)
    if previous and drafts:
        drafts[0] = replace(drafts[0], episode=_next_version(previous, drafts[0].episode))
    snapshot = run.snapshot_of(project)
    indexed = runtime.indexer.indexed(draft.episode for draft in drafts)
    vectors = [index.vector for _, index in indexed]
    batch = candidates(runtime, run.consultant, user, list(zip(messages, drafts, vectors, strict=True)), snapshot)
    result = reconcile_batch(runtime, batch, snapshot)
    run.described_ids |= {new.record.id for new in batch.new if new.has_description}
    changes: list[Change] = []
    merged_ids = {draft.episode.id for draft in drafts}  # continued episodes differ from their stored versions
    for position, (draft, (episode, index)) in enumerate(zip(drafts, indexed, strict=True)):
        refine = draft.unrefined or position in batch.unrefined
        added = AddEpisode(record=episode, indexing=index, refine=refine, since=since)
        changes += _merge_changes(run, added, merged_ids)
    changes += result.changes
    spoken = [w for group in groups for w in group]
    moods = emotions_of([w.message.content for w in spoken], [w.vector for w in spoken], runtime.indexer.embedder.id)
    changes.append(SetEmotions(emotions={str(w.message.id): mood for w, mood in zip(spoken, moods, strict=True)}))
    if silent:
        changes.append(MarkProcessed(ids=tuple(silent)))
    try:
        receipts = runtime.store.apply(user, changes)
    except BaseException:
        snapshot.reload()
        raise
    if any(receipt.outcome in ("duplicate", "rejected") for receipt in receipts):
        snapshot.reload()  # some memories were not stored under their own id
    snapshot.commit()
    done = sum(map(len, groups)) + len(silent)
    run.counts.update(result.counts, messages=done, episodes=len(drafts))
    run.report()


def _next_version(previous: Episode, draft: Episode) -> Episode:
    """The next version of an episode."""
    kept: dict[str, Any] = {name: getattr(previous, name) for name in ("id", "source_ids", "created_at")}
    return replace(draft, version=previous.version + 1, **kept)


def _embed_answers(run: _Run, docs: Sequence[int], halted: Callable[[], bool]) -> None:
    """Embed the passages of an assistant's long answers, which would have made adding them slow."""
    embedding, indexer = run.runtime.store.embedding, run.runtime.indexer
    for start in range(0, len(docs), ANSWERS):
        if halted():
            return
        embedder, texts = indexer.embedder, embedding.texts(docs[start : start + ANSWERS])
        passages = zip(texts, indexer.passages([text.body for *_, text in texts], embedder), strict=True)
        embedded = [(text, vectors) for text, vectors in passages if vectors is not None]
        embedding.put_passages([text for text, _ in embedded], [vectors for _, vectors in embedded], embedder.id)
        run.report(min(start + ANSWERS, len(docs)))


def _refine(run: _Run, unrefined: Sequence[Episode]) -> None:
    """Redo episodes that an earlier run left to the rules, if the language model answers now."""
    knowledge, user = run.runtime.store.knowledge, run.scope.user
    current = {episode.id: episode for episode in knowledge.unrefined(user, MOST_REFINED)} if unrefined else {}
    for episode in (current[before.id] for before in unrefined if before.id in current):
        since, messages = _last_event(run), knowledge.messages_of(user, episode)
        if not messages:  # all that they say has ended, until it is restored
            continue
        level = (episode.project, episode.session)
        (draft,) = episodes.draft_episodes(run.consultant, [messages], level, against=run.background)
        draft = replace(draft, episode=_next_version(episode, draft.episode))
        snapshot = run.snapshot_of(episode.project)
        ((_, index),) = run.runtime.indexer.indexed([draft.episode])
        batch = candidates(run.runtime, run.consultant, user, [(messages, draft, index.vector)], snapshot)
        if draft.unrefined or batch.unrefined:
            continue
        result = reconcile_batch(run.runtime, batch, snapshot)
        run.described_ids |= {new.record.id for new in batch.new if new.has_description}
        restated = [
            Archive(id=id_, reason=RESTATED) for id_ in _restated(run, messages, [new.record for new in batch.new])
        ]
        changes = [AddEpisode(record=draft.episode, indexing=index, since=since), *result.changes, *restated]
        try:
            run.runtime.store.apply(user, changes)
        except (Conflict, NotFound):  # changed, forgotten or erased meanwhile; if it exists, the next run refines it
            snapshot.reload()
            continue
        snapshot.commit()
        run.counts.update(result.counts)


def _restated(run: _Run, messages: Sequence[Message], stated: Sequence[MemoryRecord]) -> list[str]:
    """Ids of the sentences kept as memories by the rules that statements of the language model cover."""
    said = "\n\n".join(message.content for message in messages)
    by_model = [record for record in stated if not says(said, record.content)]
    return [
        record.id
        for record in derived_memories(run.runtime, run.scope, [str(message.id) for message in messages])
        if record.status != "archived"
        and is_made(record)
        and says(said, record.content)
        and any(covers(other, record) for other in by_model)
    ]


def _merge_changes(run: _Run, change: AddEpisode, merged_ids: set[str]) -> list[Change]:
    """Add an episode, merged with a recent similar one if there is one: both are then archived as its parents.

    ``merged_ids`` are episodes already merged in this step.
    """
    runtime, settings = run.runtime, run.runtime.settings.processing
    vector, episode = change.indexing.vector, change.record
    if not settings.enable_episode_merging or vector is None or episode.version > 1:
        return [change]
    knowledge = runtime.store.knowledge
    recent = [
        e for e in knowledge.recent(run.scope.user, episode.project, RECENT) if e.id not in {episode.id, *merged_ids}
    ]
    vectors = knowledge.vectors(run.scope.user, [e.id for e in recent])
    comparable = [e for e in recent if e.id in vectors and len(vectors[e.id].text) == len(vector)]
    if not comparable:
        return [change]
    matrix = np.stack([vectors[e.id].text for e in comparable])
    nearest = segmentation.most_similar(vector, matrix, settings.merge_similarity_threshold)
    if nearest is None:
        return [change]
    parent = comparable[nearest]
    merged_ids.add(parent.id)
    messages = [*knowledge.messages_of(run.scope.user, parent)]
    messages += [m for m in knowledge.messages_of(run.scope.user, episode) if m.id not in parent.message_ids]
    merged = episodes.merge_episodes(run.consultant, parent, episode, messages, run.background)
    ((_, indexing),) = runtime.indexer.indexed([merged.episode])
    refine = change.refine or merged.unrefined
    return [
        change, AddEpisode(record=merged.episode, indexing=indexing, refine=refine), Archive(id=parent.id, reason="merged"),
        Archive(id=episode.id, reason="merged"),
    ]  # fmt: skip


def _enrich_pending(run: _Run, limit: int | None, halted: Callable[[], bool]) -> int:
    """Enrich waiting memories, at most ``limit``; returns the number enriched.

    Those that the language model described during extraction are only linked. Memories stored meanwhile wait for the next
    call, so that this one always ends.
    """
    knowledge, user = run.runtime.store.knowledge, run.scope.user
    done = 0
    waiting = knowledge.pending(user, "enrich")[:limit]
    for start in range(0, len(waiting), BATCH):
        if halted():
            break
        records = knowledge.memories(user, waiting[start : start + BATCH])
        batch = [record for record in records if record.status != "archived"]
        try:
            done += _enrich(run, batch)
        except (Conflict, NotFound):  # one was erased meanwhile: the batch waits for the next call
            continue
    return done


def _enrich(run: _Run, batch: Sequence[MemoryRecord]) -> int:
    """Enrich a batch; returns the number of memories improved."""
    runtime, moment = run.runtime, now().astimezone(run.zone)
    undescribed = [record for record in batch if record.id not in run.described_ids]
    described = dict(zip((r.id for r in undescribed), _describe_batch(run.consultant, undescribed), strict=True))
    pairs = [described.get(record.id, (record, True)) for record in batch]
    indexed = runtime.indexer.indexed(
        replace(record, version=record.version + 1, updated_at=moment) for record, _ in pairs
    )
    changes: list[Change] = [
        Revise(record=record, indexing=index, operation="enrich", left=not done)
        for (record, index), before, (_, done) in zip(indexed, batch, pairs, strict=True)
        if index.vector is not None and (done or not before.keywords)  # else nothing improves
    ]
    if not changes:
        return 0
    improved = {change.record.id for change in changes if isinstance(change, Revise)}
    changes += _batch_link_changes(run, [pair for pair in indexed if pair[0].id in improved])
    receipts = runtime.store.apply(run.scope.user, changes)
    return sum(receipt.outcome == "stored" for receipt in receipts[: len(improved)])


def _batch_link_changes(run: _Run, batch: Sequence[tuple[MemoryRecord, Indexing]]) -> list[Change]:
    """Links to similar memories, by the language model or else by rule."""
    snapshots: dict[str | None, Snapshot] = {}
    fresh = {record.id: record for record, _ in batch}
    linkable: list[tuple[MemoryRecord, Neighbours]] = []
    for record, index in batch:
        if record.session is None and index.vector is not None:
            if record.project not in snapshots:
                snapshots[record.project] = Snapshot(run.runtime, run.scope.user, record.project)
            nearest = [
                (fresh.get(other.id, other), cosine)
                for other, cosine in snapshots[record.project].nearest(index.vector, NEAREST + 1)
                if other.id != record.id and other.expired_at is None and time_said(other) <= time_said(record)
            ]
            if nearest:
                linkable.append((record, nearest))
    near = [
        (record, [other for other, cosine in nearest if cosine and cosine >= MIN_COSINE][:CANDIDATES])
        for record, nearest in linkable
    ]
    answers = _ask_links(run.consultant, near)
    changes: list[Change] = []
    for (record, nearest), answer in zip(linkable, answers, strict=True):
        proposed = propose_links(record, nearest) if answer is None else answer
        changes += link_changes(record, proposed, {other.id: other for other, _ in nearest})
    return changes


def _ask_links(
    consultant: Consultant, pairs: Sequence[tuple[MemoryRecord, Sequence[MemoryRecord]]]
) -> list[list[Link] | None]:
    """Links proposed by the language model for each memory; None without a model or an answer."""
    proposals: list[list[Link] | None] = [None] * len(pairs)
    if not consultant.available:
        return proposals
    from mnemic.llm import links

    trusted = {index: is_trusted(record.trust) for index, (record, others) in enumerate(pairs) if others}
    parts = prompt_groups(trusted, links.MOST_MEMORIES)
    answers = consultant.ask_all([lambda p=part: links.task([pairs[index] for index in p]) for part in parts])
    for part, answer in zip(parts, answers, strict=True):
        if answer is None:
            continue
        for index in part:
            proposals[index] = [link for link in answer if link.source == pairs[index][0].id]
    return proposals


def _describe_batch(consultant: Consultant, records: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, bool]]:
    """Described memories, and whether the description is final: by the language model if there is one."""
    if not consultant.available:
        return [(with_description(record), True) for record in records]
    from mnemic.llm import enrichment

    trusted = {index: is_trusted(record.trust) for index, record in enumerate(records)}
    parts = prompt_groups(trusted, enrichment.MOST_MEMORIES)
    answers = consultant.ask_all([lambda p=part: enrichment.task([records[index] for index in p]) for part in parts])
    described: dict[int, tuple[MemoryRecord, bool]] = {}
    for part, answer in zip(parts, answers, strict=True):
        for index, item in zip(part, answer or [None] * len(part), strict=True):
            record = records[index]
            record = with_description(record) if item is None else _with_enrichment(record, item)
            described[index] = record, answer is not None
    return [described[index] for index in trusted]


def _with_enrichment(record: MemoryRecord, description: enrichment.Enrichment) -> MemoryRecord:
    """Apply the language model's description; fields set by the author are kept, those set by rule are not."""
    ruled = ruled_fields(record)
    text: dict[str, Any] = {
        name: getattr(description, name) or getattr(record, name)
        for name in ("summary", "context", "keywords", "category", "related_files", "related_entities")
        if name in ruled or not getattr(record, name)
    }
    return replace(
        record, **text, tags=record.tags or description.tags,
        importance=record.importance if record.pinned else description.importance,
        salience=record.salience if record.pinned else description.importance,
        confidence=min(record.confidence, description.confidence),
    )  # fmt: skip
