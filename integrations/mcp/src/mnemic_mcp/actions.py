"""What the tools of all profiles do: a call of the memory, and its answer in the shape of the protocol."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from mnemic import (
    AsyncMemory,
    ConsolidationReport,
    Episode,
    Hit,
    InvalidInput,
    Link,
    MemoryRecord,
    Message,
    Project,
    Receipt,
    Receipts,
    Stats,
    quoted,
)
from mnemic_mcp.answers import (
    Advice,
    Cluster,
    Context,
    Counts,
    Edge,
    Evidence,
    Found,
    GraphAnswer,
    Hub,
    MemoryContextAnswer,
    MemoryLine,
    Overview,
    Place,
    Recalled,
    Removed,
    Report,
    Spared,
    Stored,
)

__all__ = [
    "ALL_TEXT",
    "about",
    "advised",
    "consolidated",
    "context",
    "forgotten",
    "graph",
    "memory_context",
    "recalled",
    "record",
    "record_lines",
    "start",
    "stored",
]

ALL_TEXT = 40_000
"""Characters of all texts of one answer: clients refuse answers that are much longer."""

SHORTEST = 400
LINE = 240
CHARACTERS_PER_TOKEN = 4
TOKENS_OF_A_FRAME = 45
MOST_LINES = 10
BELIEVED = 0.5
"""What is trusted less is found when it is asked for, and no session starts with it."""

_FIXED = frozenset({"id", "message_ids", "source_ids", "type", "status", "source"})
"""Fields of a record that are words of ours, or that clients hand back as they are."""
_TEXTS = frozenset({"content", "title", "summary", "context"})
_WORD = re.compile(r"[\w-]+")


def _share(count: int) -> int:
    """Characters that each of so many texts may have."""
    return max(SHORTEST, ALL_TEXT // max(count, 1))


def _said(text: str, of: Hit | Message | Episode | MemoryRecord) -> str:
    """A text that belongs to a record, marked as the record's own words are."""
    trust = 1.0 if of.trust is None else of.trust
    return quoted(Hit(id="", kind="memory", text=text, score=0.0, source=of.source or "direct_user", trust=trust))


def _label(text: str, of: Hit | Message | Episode | MemoryRecord) -> str:
    """A tag or a name that belongs to a record; a single word needs no mark."""
    return text if _WORD.fullmatch(text) else _said(text, of)


def _hit_line(hit: Hit, characters: int) -> Found:
    return Found(
        id=hit.id, kind=hit.kind, text=quoted(hit, characters), date=hit.valid_at or hit.sent_at,
        speaker=hit.speaker and _label(hit.speaker, hit), type=hit.type, importance=hit.importance,
        tags=[_label(tag, hit) for tag in hit.tags], replaced_by=[*hit.superseded_by], cut=len(hit.text) > characters,
    )  # fmt: skip


def _record_line(record: MemoryRecord, characters: int) -> Found:
    return Found(
        id=record.id, kind="memory", text=quoted(record, characters), date=record.said_at or record.created_at,
        type=record.type, importance=round(record.importance, 3), tags=[_label(tag, record) for tag in record.tags],
        cut=len(record.content) > characters,
    )  # fmt: skip


def record(found: Message | Episode | MemoryRecord) -> dict[str, Any]:
    """All of a record: its texts are marked like those of a hit, and nothing in it passes for more than text."""
    values: dict[str, Any] = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    return {name: value if name in _FIXED else _quoted_within(name, value, found) for name, value in values.items()}


def _quoted_within(name: str, value: object, of: Message | Episode | MemoryRecord) -> object:
    """The value of a field with every text in it quoted."""
    if isinstance(value, str):
        return _said(value, of) if name in _TEXTS else _label(value, of)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {_label(key, of): _quoted_within(name, item, of) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_quoted_within(name, item, of) for item in cast("Sequence[object]", value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)  # numbers
    return value


def record_lines(records: Sequence[MemoryRecord]) -> list[Found]:
    """Memories as lines of an answer."""
    share = _share(len(records))
    return [_record_line(record, share) for record in records]


def stored(receipt: Receipt) -> Stored:
    """A receipt.

    Raises:
        InvalidInput: the write was refused.
    """
    if receipt.outcome == "rejected":
        raise InvalidInput(receipt.reason)
    return Stored(id=receipt.id, outcome=receipt.outcome, reason=quoted(receipt.reason))


def forgotten(receipts: Receipts, *, dry_run: bool) -> Removed:
    """What was removed, or would be, and what was not."""
    gone = [r for r in receipts if r.outcome != "rejected"]
    return Removed(
        removed=[] if dry_run else [r.id for r in gone],
        would_remove=[Spared(id=r.id, reason=r.reason) for r in gone] if dry_run else [],
        kept=[Spared(id=r.id, reason=r.reason) for r in receipts.rejected],
    )


async def recalled(
    memory: AsyncMemory,
    query: str,
    limit: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    tags: Sequence[str] | None = None,
) -> Recalled:
    """What is found for a query."""
    result = await memory.search(query, k=limit, since=since, until=until, tags=tags)
    return Recalled(evidence=result.evidence, found=[_hit_line(hit, _share(len(result))) for hit in result])


async def context(memory: AsyncMemory, query: str, max_tokens: int, min_evidence: Evidence, mood: str = "") -> Context:
    """What is found for a query and in a mood, as text that fits a budget."""
    felt = await memory.emotion(mood) if mood else None
    packed = await memory.get_memory_context(query, max_tokens=max_tokens, min_evidence=min_evidence, mood=felt)
    return Context(
        text=packed.to_prompt(), token_count=packed.token_count, truncated=packed.truncated, evidence=packed.evidence
    )


async def memory_context(
    memory: AsyncMemory, query: str, max_tokens: int, min_evidence: Evidence
) -> MemoryContextAnswer:
    """What is found for a query: as memories, and as text that fits the budget."""
    packed = await memory.get_memory_context(query, max_tokens=max_tokens, min_evidence=min_evidence)
    lines = [
        MemoryLine(
            id=m.id,
            summary=quoted(dataclasses.replace(hit, text=m.summary)),
            content=quoted(hit),
            importance=round(m.importance, 3),
        )
        for m, hit in zip(packed.memories, packed.hits, strict=True)
    ]
    return MemoryContextAnswer(
        memories=lines, token_count=packed.token_count, truncated=packed.truncated, text=packed.to_prompt()
    )


def _tokens(lines: Sequence[Found]) -> int:
    return sum(len(line.text) // CHARACTERS_PER_TOKEN + TOKENS_OF_A_FRAME for line in lines)


def _fitting(records: Iterable[MemoryRecord], max_tokens: int) -> list[Found]:
    """The first lines that fit about so many tokens."""
    lines: list[Found] = []
    for line in (_record_line(record, LINE) for record in records):
        if _tokens([*lines, line]) > max_tokens:
            break
        lines.append(line)
    return lines


def about(memory: AsyncMemory, project: Project | None) -> list[str]:
    """What the memory's project is, in a line; no line without one."""
    name = memory.scope.project if project is None else project.name
    return [": ".join(["Project", quoted(name), *_description(project)])] if name else []


def _description(project: Project | None) -> list[str]:
    """What a file of the project says of it: whoever wrote that, it is not the user's word."""
    if project is None or not project.description:
        return []
    return [quoted(Hit(id="", kind="memory", text=project.description, score=0.0, source="document", trust=0.0))]


def _place(memory: AsyncMemory, project: Project | None, stats: Stats) -> Place:
    scope = memory.scope
    name = scope.project if project is None else project.name
    return Place(
        name=name and quoted(name), id=scope.project, description="".join(_description(project)),
        root="" if project is None else str(project.root), user=scope.user, counts=_counts(stats),
    )  # fmt: skip


async def start(memory: AsyncMemory, max_tokens: int, project: Project | None = None) -> Context:
    """What a new session should know, in about so many tokens.

    A third is for what is important, a third for what came last, and the rest for the latest messages, verbatim.
    """
    stats = await memory.stats()
    first = await memory.list(order="importance", limit=MOST_LINES, min_trust=BELIEVED)
    important = _fitting(first, max_tokens // 3)
    shown = {line.id for line in important}
    latest = await memory.list(order="newest", limit=2 * MOST_LINES + 1, min_trust=BELIEVED)
    recent = _fitting([r for r in latest if r.id not in shown][:MOST_LINES], max_tokens // 3)
    listed = _tokens([*important, *recent])
    said = await memory.get_memory_context(kinds=("message",), max_tokens=max(max_tokens - listed, 1))
    return Context(
        text=said.to_prompt(),
        token_count=said.token_count + listed,
        truncated=said.truncated or len(latest) > len(important) + len(recent),
        evidence="strong" if important or said else "none",
        project=_place(memory, project, stats),
        important=important,
        recent=recent,
        graph=await _overview(memory, first),
    )


def _counts(stats: Stats) -> Counts:
    """How much there is."""
    tiers = stats.memories
    return Counts(
        messages=stats.messages,
        episodes=stats.episodes,
        short_term=tiers.get("short_term", 0) + tiers.get("consolidating", 0),
        long_term=tiers.get("long_term", 0),
        archived=tiers.get("archived", 0),
        links=stats.links,
    )


async def _overview(memory: AsyncMemory, records: Sequence[MemoryRecord]) -> Overview:
    """The links around the most important memories."""
    known = {record.id: record for record in records}
    links: set[Link] = set()
    for record in records:
        near = await memory.links.graph(record.id, depth=1)
        links |= {*near.links}
        known |= {other.id: other for other in near.memories if other.expired_at is None and other.trust >= BELIEVED}
    ends = Counter(end for link in links for end in (link.source, link.target) if end in known)
    central = [Hub(id=id_, text=quoted(known[id_], LINE), links=n) for id_, n in ends.most_common(5)]
    return Overview(links=dict(Counter(link.type for link in links)), central=central)


async def graph(memory: AsyncMemory, id: str, depth: int) -> GraphAnswer:
    """What a memory is linked to."""
    found = await memory.links.graph(id, depth=depth)
    known = {record.id: record for record in found.memories}
    return GraphAnswer(memories=record_lines(found.memories), links=[_edge(link, known) for link in found.links])


def _edge(link: Link, known: Mapping[str, MemoryRecord]) -> Edge:
    """A link; its reason may quote both ends, and is no more to be trusted than either of them."""
    ends = [known[end] for end in (link.source, link.target) if end in known]
    reason = _said(link.reason, min(ends, key=lambda end: end.trust)) if ends and link.reason else quoted(link.reason)
    return Edge(source=link.source, target=link.target, type=link.type, strength=link.strength, reason=reason)


async def consolidated(
    memory: AsyncMemory, importance_threshold: float | None = None, similarity_threshold: float | None = None
) -> Report:
    """One cycle of consolidation, after what waits was processed."""
    await memory.process()
    return _report(
        await memory.consolidate(importance_threshold=importance_threshold, similarity_threshold=similarity_threshold)
    )


def _report(report: ConsolidationReport) -> Report:
    clusters = [
        Cluster(
            promoted_id=c.promoted_id, source_ids=[*c.source_ids], cluster_size=c.cluster_size,
            avg_importance=round(c.avg_importance, 3), dominant_type=c.dominant_type,
        )
        for c in report.cluster_summaries
    ]  # fmt: skip
    return Report(
        id=report.id, clusters_formed=report.clusters_formed, memories_promoted=report.memories_promoted,
        memories_archived=report.memories_archived, memories_skipped=report.memories_skipped,
        contradictions=report.contradictions, duration_seconds=round(report.duration_seconds, 3),
        cluster_summaries=clusters,
    )  # fmt: skip


async def advised(memory: AsyncMemory) -> Advice:
    """Whether consolidation has work to do."""
    return Advice(**dataclasses.asdict(await memory.should_consolidate()))
