"""Timeline: what was said when, and what was true and known on a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import NotFound
from mnemic.memory import Memory
from mnemic.text.markup import speaker_label
from mnemic.text.values import local
from mnemic.text.values import now as present
from mnemic.types import MemoryRecord
from mnemic.web.drawings import Bar, Column, Lane, Tick, timeline
from mnemic.web.explorer import DAY, Explorer, day_of, href, next_day, spoken
from mnemic.web.pages.records import is_forgotten

COLUMNS, TICKS, BARS, LISTED, CHAINS = 100, 80, 24, 30, 10
"""Most periods of the histogram, single messages, memories drawn, memories listed, and replacements told."""


def page(ui: Explorer, request: Request) -> Response:
    """The timeline with its two clocks."""
    query = request.query_params
    base = request.scope.get("root_path", "")
    values = history(
        ui.memory, base, since=day_of(query.get("since"), ui.zone), until=day_of(query.get("until"), ui.zone),
        at=query.get("at"), known=query.get("known"),
    )  # fmt: skip
    return ui.listing(request, "timeline.html", values["then"], title="Timeline", **values)


def history(
    memory: Memory,
    base: str | None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    at: str | None = None,
    known: str | None = None,
) -> Mapping[str, Any]:
    """What the page shows.

    Args:
        memory: whose.
        base: where the application is mounted; None without a server.
        since: the left end; by default the first of what is drawn.
        until: the right end, by default now.
        at: a day, or the number of days after the left end, on which things were true.
        known: the same for what was known.
    """
    window: dict[str, Any] = {"since": since, "until": next_day(until) if until else None}
    counts = memory.admin.histogram(most=COLUMNS, **window)
    memories = memory.list(order="importance", limit=BARS, include_expired=True, **window)
    chains = _chains(memory, since, window["until"])
    moments = [start for start, _ in counts] + [_begin(m) for m in memories] + [chain["at"] for chain in chains]
    if not moments:
        return {"drawing": None, "then": [], "chains": [], "days": 0, "since": since, "until": until}
    zone = memory.admin.settings.timezone
    begin = (since or local(min(moments), zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    end = next_day(until or local(max(moments), zone))
    days = max((end - begin).days, 1)
    today = local(present(), zone).replace(hour=0, minute=0, second=0, microsecond=0)
    day = _day(at, begin, days, max(begin, min(today, end - DAY)))
    day_known = None if known == str(days) else _day(known, begin, days, None)  # the right end: whenever
    then = memory.list(
        order="importance", limit=LISTED, at=next_day(day), known_at=next_day(day_known) if day_known else None
    )
    total = sum(count for _, count in counts)
    ticks = [
        Tick(m.sent_at, f"{speaker_label(m)}: {m.content}", href(base, m.id), "person" if m.role == "user" else "other")
        for m in (memory.admin.without_forgotten(memory.messages(**window)) if total <= TICKS else ())
        if m.sent_at
    ]
    columns = [Column(a, b, count, _zoomed(base, a, b)) for (a, count), (b, _) in pairwise(counts)]
    replaced = {
        record.id: record
        for chain in chains
        for record in (chain["old"], chain["new"])
        if isinstance(record, MemoryRecord)
    }
    lanes = lanes_of({**{record.id: record for record in memories}, **replaced}.values(), base)
    if total <= TICKS and (episodes := memory.episodes(limit=BARS, **window)):
        lanes.append(
            Lane("episodes", [Bar(e.started_at, e.ended_at, e.title, href(base, e.id), "episode") for e in episodes])
        )
    return {
        "drawing": timeline(begin, end, columns, ticks, lanes, day), "then": then, "chains": chains,
        "days": days, "begin": begin, "day": day, "known": day_known, "offset": (day - begin).days,
        "known_offset": (day_known - begin).days if day_known else days, "since": since, "until": until,
        "cut": total > TICKS or len(memories) == BARS, "single": bool(ticks),
    }  # fmt: skip


def _zoomed(base: str | None, begin: datetime, end: datetime) -> str:
    """The timeline of one period."""
    last = max(begin, end - timedelta(microseconds=1))
    return "" if base is None else f"{base}/timeline?since={begin.date().isoformat()}&until={last.date().isoformat()}"


def lanes_of(memories: Iterable[MemoryRecord], base: str | None) -> list[Lane]:
    """Memories of one key, or that replaced each other, one after the other; then the others by category."""
    records = sorted(memories, key=_begin)
    ids = {record.id for record in records}
    group = {record.id: record.id for record in records}

    def root(id_: str) -> str:
        while group[id_] != id_:
            id_ = group[id_]
        return id_

    keys: dict[tuple[str | None, str], str] = {}
    for record in records:
        if record.key is not None:
            group[root(record.id)] = root(keys.setdefault((record.project, record.key), record.id))
        for after in record.superseded_by:
            if after in ids:
                group[root(after)] = root(record.id)
    groups: dict[str, list[MemoryRecord]] = {}
    for record in records:
        groups.setdefault(root(record.id), []).append(record)
    chains = sorted((g for g in groups.values() if len(g) > 1), key=lambda g: _begin(g[-1]), reverse=True)
    lanes = [
        Lane(
            next((m.key for m in chain if m.key), chain[-1].category or chain[-1].type),
            [_bar(m, base) for m in chain],
            successive=True,
        )
        for chain in chains
    ]
    others: dict[str, list[Bar]] = {}
    for (record,) in (g for g in groups.values() if len(g) == 1):
        others.setdefault(record.key or record.category or record.type, []).append(_bar(record, base))
    return lanes + [Lane(name, bars) for name, bars in sorted(others.items(), key=lambda item: -len(item[1]))]


def _bar(record: MemoryRecord, base: str | None) -> Bar:
    return Bar(_begin(record), record.invalid_at or record.expired_at, spoken(record), href(base, record.id), "memory")


def _begin(record: MemoryRecord) -> datetime:
    return record.valid_at or record.said_at or record.created_at


def _day(text: str | None, begin: datetime, days: int, default: datetime | None) -> Any:
    """A day by its date or its number."""
    if text and text.isdecimal():
        return begin + min(int(text), days - 1) * DAY
    return day_of(text, begin.tzinfo or UTC) or default


def _chains(memory: Memory, since: datetime | None, until: datetime | None) -> list[Mapping[str, Any]]:
    """What was replaced last, newest first: the old statement, the new one if there is one, when and why."""
    chains: list[Mapping[str, Any]] = []
    for event in memory.admin.log(kinds=["memory"], operations=["supersede"], limit=CHAINS):
        old = memory.get(event.id)
        if is_forgotten(memory, event.id):
            continue
        try:
            new = memory.get(str(event.detail["by"])) if event.detail.get("by") else None
        except NotFound:
            new = None
        if new is not None and is_forgotten(memory, str(new.id)):
            new = None
        moment = (old.invalid_at or old.expired_at if isinstance(old, MemoryRecord) else None) or event.at
        if (since is None or since <= moment) and (until is None or moment < until):
            chains.append({"old": old, "new": new, "at": moment, "reason": event.detail.get("reason", "")})
    return chains
