"""Messages to knowledge: what waits is cut into episodes, and what they tell that was not known becomes memories."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import Conflict, NotFound
from mnemic.knowledge import enrichment, episodes, segmentation
from mnemic.knowledge.candidates import candidates
from mnemic.knowledge.reconciliation import reconciled
from mnemic.knowledge.selection import SILENT
from mnemic.knowledge.snapshot import Snapshot
from mnemic.recall.mood import emotions_of
from mnemic.runtime.consultant import Consultant
from mnemic.runtime.runtime import Runtime
from mnemic.types import (
    AddEpisode,
    Archive,
    Change,
    Episode,
    MarkProcessed,
    Message,
    ProcessReport,
    Scope,
    SetEmotions,
    Waiting,
)

if TYPE_CHECKING:
    from mnemic.llm.narration import Narrative

__all__ = ["Progress", "process"]

Progress = Callable[[int, int], None]
Level = tuple[str | None, str | None]

STEP = 200
"""Messages of one conversation that are taken at a time; what they make is stored in one transaction."""
BEFORE = 20
"""Messages of the last episode that are looked at to see whether it goes on."""
MOST_REFINED = 200
"""Episodes of one call that are told again."""
RECENT = 5
"""Episodes that a new one may be merged with."""


@dataclass
class _Run:
    """One call of ``process``: what it works on, and what it has done."""

    runtime: Runtime
    scope: Scope
    zone: tzinfo
    total: int
    progress: Progress | None
    consultant: Consultant
    counts: dict[str, int] = field(default_factory=dict[str, int])
    known: dict[str | None, Snapshot] = field(default_factory=dict[str | None, Snapshot])
    described: set[str] = field(default_factory=set[str])

    @cached_property
    def background(self) -> Mapping[str, int]:
        return episodes.background(self.runtime, self.scope.user)

    def count(self, **more: int) -> None:
        for name, number in more.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def known_at(self, project: str | None) -> Snapshot:
        if project not in self.known:
            self.known[project] = Snapshot(self.runtime, self.scope.user, project)
        return self.known[project]


def process(
    runtime: Runtime,
    scope: Scope,
    zone: tzinfo,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    halted: Callable[[], bool] = lambda: False,
) -> ProcessReport:
    """Work through what waits now, conversation by conversation; one call at a time for each record of a process.

    What comes in meanwhile waits for the next call, so that this one ends however much others write.
    """
    began = time.monotonic()
    with runtime.processing:
        knowledge = runtime.store.knowledge
        total = sum(count for *_, count in knowledge.conversations(scope.user))
        consultant = Consultant(runtime)
        most = total if limit is None else min(total, limit)
        run = _Run(runtime, scope, zone, most, progress, consultant)
        left_before = knowledge.unrefined(scope.user, MOST_REFINED) if consultant.available else []
        _steps(run, halted)
        if not halted():
            _refine(run, left_before)
        done = enrichment.enrich_pending(
            runtime, consultant, scope, zone, limit=limit, halted=halted, already=run.described
        )
        run.count(enriched=done)
    left = sum(count for *_, count in runtime.store.knowledge.conversations(scope.user))
    seconds = time.monotonic() - began
    return ProcessReport(**run.counts, fallbacks=consultant.failed, waiting=left, seconds=seconds)


def _steps(run: _Run, halted: Callable[[], bool]) -> None:
    """One step after the other, always in the conversation whose messages wait longest: so a repeated run takes them in the
    order in which an uninterrupted one would have.

    Which wait is asked again only where the answer may have changed: to ask takes as long as there are messages that wait.
    """
    done: set[Level] = set()
    levels: list[Level] = []
    while (left := run.total - run.counts.get("messages", 0)) > 0 and not halted():
        if not levels:
            waiting = run.runtime.store.knowledge.conversations(run.scope.user)
            levels = [(project, session) for project, session, _ in reversed(waiting) if (project, session) not in done]
        if not levels:
            return
        level = levels.pop()
        more = _step(run, level, min(STEP, max(left, segmentation.LONGEST)))
        if more is None:
            done.add(level)
        elif more:  # what is left of it may have to wait for others now
            levels = []


def _step(run: _Run, level: Level, size: int) -> bool | None:
    """Take the next messages of a conversation; whether there may be more, and None where none could be taken."""
    knowledge = run.runtime.store.knowledge
    batch = knowledge.waiting(run.scope.user, level, size)
    if not batch:
        return None
    said = [waiting for waiting in batch if waiting.message.role not in SILENT]
    previous, opening = _open_episode(run, level, said)
    groups = episodes.groups(run.runtime, run.consultant, [w.message for w in said], _matrix(said))
    if len(batch) == size and len(groups) > 1:
        groups = groups[:-1]  # its end is not in sight yet: it waits for the next step
    taken = [[said[place] for place in group.places] for group in groups]
    records = [group.record for group in groups]
    if records and opening:
        records[0] = None  # it goes on with an episode, which is told again as a whole
    last = max((w.doc for group in taken for w in group), default=-1)
    try:
        _store(run, level, taken, records, previous if opening else None, _silent(batch, said, taken, last))
    except (Conflict, NotFound):  # another process took or erased them: it counts what became of them
        run.known.clear()
        return None
    return len(batch) == size


def _silent(
    batch: Sequence[Waiting], said: Sequence[Waiting], taken: Sequence[Sequence[Waiting]], last: int
) -> list[str]:
    """Ids of the messages that belong to no episode, as far as the step goes."""
    spoken = {w.doc for w in said}
    whole = sum(len(group) for group in taken) == len(said)
    return [str(w.message.id) for w in batch if w.doc not in spoken and (whole or w.doc < last)]


def _matrix(waiting: Sequence[Waiting]) -> NDArray[np.float32] | None:
    """The vectors of messages, rows of NaN where one is missing; None when there is none at all."""
    widths = {len(w.vector) for w in waiting if w.vector is not None}
    if len(widths) != 1:
        return None
    blank = np.full(widths.pop(), np.nan, np.float32)
    return np.stack([blank if w.vector is None else w.vector for w in waiting])


def _open_episode(run: _Run, level: Level, said: Sequence[Waiting]) -> tuple[Episode | None, bool]:
    """The last episode of the conversation, and whether the new messages go on with it."""
    knowledge, user = run.runtime.store.knowledge, run.scope.user
    for previous in knowledge.latest(user, level, 1) if said else ():
        before = knowledge.messages_of(user, previous)[-BEFORE:]
        if len(previous.message_ids) >= segmentation.LONGEST:
            return previous, False
        vectors = knowledge.vectors(user, [str(m.id) for m in before])
        seen = [Waiting(doc=-1, message=m, project=level[0], vector=vectors.get(str(m.id))) for m in before]
        seen.append(said[0])
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
) -> None:
    """Make episodes and memories of groups of messages and store them, all or nothing."""
    runtime, user, project = run.runtime, run.scope.user, level[0]
    messages = [[w.message for w in group] for group in groups]
    whole = [_whole(run, previous, messages[0]), *messages[1:]] if messages else []
    told = episodes.episodes(run.consultant, whole, level, records, against=run.background)
    if previous and told:
        told[0] = replace(told[0], episode=_continued(previous, told[0].episode))
    embedder = runtime.indexer.embedder
    known = run.known_at(project)
    indexing = runtime.indexer.indexing([one.episode for one in told], embedder)
    vectors = [index.vector for index in indexing]
    batch = candidates(runtime, run.consultant, user, list(zip(messages, told, vectors, strict=True)), known)
    found = reconciled(runtime, batch, known)
    run.described |= {new.record.id for new in batch.new if new.described}
    changes: list[Change] = []
    joined = {one.episode.id for one in told}  # those that go on are no longer what is stored of them
    for place, (one, index) in enumerate(zip(told, indexing, strict=True)):
        refine = one.unrefined or place in batch.unrefined
        changes += _with_merging(run, AddEpisode(record=one.episode, indexing=index, refine=refine), joined)
    changes += found.changes
    said = [w for group in groups for w in group]
    moods = emotions_of([w.message.content for w in said], [w.vector for w in said], embedder.id)
    changes.append(SetEmotions(emotions={str(w.message.id): mood for w, mood in zip(said, moods, strict=True)}))
    if silent:
        changes.append(MarkProcessed(ids=tuple(silent)))
    try:
        receipts = runtime.store.apply(user, changes, model=embedder.id)
    except BaseException:
        known.discard()
        raise
    if any(receipt.outcome in ("duplicate", "rejected") for receipt in receipts):
        known.discard()  # not everything that was learned is there under its own id
    known.settle()
    done = sum(map(len, groups)) + len(silent)
    run.count(messages=done, episodes=len(told), **found.counts)
    if run.progress:
        run.progress(min(run.counts["messages"], run.total), run.total)


def _whole(run: _Run, previous: Episode | None, group: Sequence[Message]) -> list[Message]:
    """A group of messages with those of the episode it goes on with."""
    before = run.runtime.store.knowledge.messages_of(run.scope.user, previous) if previous else []
    return [*before, *group]


def _continued(previous: Episode, told: Episode) -> Episode:
    """The next version of an episode."""
    return replace(
        told,
        id=previous.id,
        version=previous.version + 1,
        source_ids=previous.source_ids,
        created_at=previous.created_at,
    )


def _refine(run: _Run, left: Sequence[Episode]) -> None:
    """Tell again what the rules had to tell in the place of the language model, in an earlier run, if it answers now."""
    knowledge, user = run.runtime.store.knowledge, run.scope.user
    still = {episode.id: episode for episode in knowledge.unrefined(user, MOST_REFINED)} if left else {}
    for episode in (still[before.id] for before in left if before.id in still):
        messages = knowledge.messages_of(user, episode)
        level = (episode.project, episode.session)
        (told,) = episodes.episodes(run.consultant, [messages], level, against=run.background)
        told = replace(told, episode=_continued(episode, told.episode))
        embedder, known = run.runtime.indexer.embedder, run.known_at(episode.project)
        (index,) = run.runtime.indexer.indexing([told.episode], embedder)
        batch = candidates(run.runtime, run.consultant, user, [(messages, told, index.vector)], known)
        if told.unrefined or batch.unrefined:
            continue
        found = reconciled(run.runtime, batch, known)
        run.described |= {new.record.id for new in batch.new if new.described}
        changes = [AddEpisode(record=told.episode, indexing=index), *found.changes]
        try:
            run.runtime.store.apply(user, changes, model=embedder.id)
        except (Conflict, NotFound):  # it was changed or erased meanwhile; if it is there, it is told again next time
            known.discard()
            continue
        known.settle()
        run.count(**found.counts)


def _with_merging(run: _Run, change: AddEpisode, joined: set[str]) -> list[Change]:
    """An episode, joined with a recent one that tells the same: both stay as archived parents of the merged one.

    ``joined`` holds the ids of those that were merged in this step and are so no longer.
    """
    runtime, settings = run.runtime, run.runtime.settings.processing
    vector, episode = change.indexing.vector, change.record
    if not settings.enable_episode_merging or vector is None or episode.version > 1:
        return [change]
    knowledge = runtime.store.knowledge
    recent = [e for e in knowledge.recent(run.scope.user, episode.project, RECENT) if e.id not in {episode.id, *joined}]
    vectors = knowledge.vectors(run.scope.user, [e.id for e in recent])
    held = [e for e in recent if e.id in vectors and len(vectors[e.id]) == len(vector)]
    if not held:
        return [change]
    matrix = np.stack([vectors[e.id] for e in held])
    found = segmentation.most_similar(vector, matrix, settings.merge_similarity_threshold)
    if found is None:
        return [change]
    parent = held[found]
    joined.add(parent.id)
    messages = [*knowledge.messages_of(run.scope.user, parent)]
    messages += [m for m in knowledge.messages_of(run.scope.user, episode) if m.id not in parent.message_ids]
    merged = episodes.merged(run.consultant, parent, episode, messages, run.background)
    (indexing,) = runtime.indexer.indexing([merged.episode], runtime.indexer.embedder)
    refine = change.refine or merged.unrefined
    return [
        change, AddEpisode(record=merged.episode, indexing=indexing, refine=refine), Archive(id=parent.id, reason="merged"),
        Archive(id=episode.id, reason="merged"),
    ]  # fmt: skip
