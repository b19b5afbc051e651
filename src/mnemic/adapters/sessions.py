"""What a session should know at its start, within a budget, for clients that show it as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemic.aio import AsyncMemory
from mnemic.types import Link, MemoryContext, MemoryRecord

LINE = 240
"""Characters of a memory at the start of a session."""
TRUSTED = 0.5
"""Least trust of what a session starts with."""
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_LINE = 45
MOST_LINES = 10
MOST_CENTRAL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """What a session should know at its start, as text and as values.

    Attributes:
        context: all of it as text for a prompt, with the latest messages.
        important: memories, most important first.
        recent: the newest of the others.
        links: the links around the important memories, counted by type.
        central: the memories with the most of these links, and how many.
        token_count: of all, about.
        truncated: whether more is remembered.
    """

    context: MemoryContext
    important: Sequence[MemoryRecord]
    recent: Sequence[MemoryRecord]
    links: Mapping[str, int]
    central: Sequence[tuple[MemoryRecord, int]]
    token_count: int
    truncated: bool


async def session_start(memory: AsyncMemory, max_tokens: int) -> SessionStart:
    """What is important, and what came last, take at most a quarter of the budget each as values; the text has the rest."""
    first = await memory.list(order="importance", limit=MOST_LINES, min_trust=TRUSTED)
    important = _fitting(first, max_tokens // 4)
    shown = {record.id for record in important}
    latest = await memory.list(order="newest", limit=2 * MOST_LINES + 1, min_trust=TRUSTED)
    recent = _fitting([r for r in latest if r.id not in shown][:MOST_LINES], max_tokens // 4)
    listed = _tokens([*important, *recent])
    context = await memory.get_memory_context(max_tokens=max_tokens - listed)
    shown |= {entry.id for entry in (*recent, *context.hits)}
    links, central = await _linked(memory, first)
    return SessionStart(
        context=context, important=important, recent=recent, links=links, central=central,
        token_count=context.token_count + listed, truncated=context.truncated or any(r.id not in shown for r in latest),
    )  # fmt: skip


def _fitting(records: Iterable[MemoryRecord], max_tokens: int) -> list[MemoryRecord]:
    """The first records of which lines fit about so many tokens."""
    fitting: list[MemoryRecord] = []
    for record in records:
        if _tokens([*fitting, record]) > max_tokens:
            break
        fitting.append(record)
    return fitting


def _tokens(records: Sequence[MemoryRecord]) -> int:
    return sum(min(len(record.content), LINE) // CHARACTERS_PER_TOKEN + TOKENS_PER_LINE for record in records)


async def _linked(
    memory: AsyncMemory, records: Sequence[MemoryRecord]
) -> tuple[Mapping[str, int], Sequence[tuple[MemoryRecord, int]]]:
    """The links around records by type, and the memories with the most."""
    by_id = {record.id: record for record in records}
    links: set[Link] = set()
    for record in records:
        graph = await memory.links.graph(record.id, depth=1)
        links |= {*graph.links}
        by_id |= {r.id: r for r in graph.memories if r.expired_at is None and r.trust >= TRUSTED}
    ends = Counter(end for link in links for end in (link.source, link.target) if end in by_id)
    return Counter(link.type for link in links), [(by_id[id_], n) for id_, n in ends.most_common(MOST_CENTRAL)]
