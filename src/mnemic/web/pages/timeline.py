"""Timeline: what was said when, and what was true and known on a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import NotFound
from mnemic.memory import Memory
from mnemic.types import MemoryRecord
from mnemic.web.drawings import Bar, Tick, timeline
from mnemic.web.explorer import Explorer
from mnemic.web.fields import DAY, day_of, href, local, next_day

TICKS, BARS, LISTED, CHAINS = 400, 24, 30, 10
"""Most messages and periods drawn, memories listed, and replacements told."""


def page(ui: Explorer, request: Request) -> Response:
    """The timeline with its two clocks."""
    given = request.query_params
    base = request.scope.get("root_path", "")
    values = history(
        ui.memory, base, since=day_of(given.get("since"), ui.zone), until=day_of(given.get("until"), ui.zone),
        at=given.get("at"), known=given.get("known"),
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
    messages = memory.messages(limit=TICKS, **window)
    episodes = memory.episodes(limit=BARS, **window)
    memories = memory.list(order="importance", limit=BARS, include_expired=True, **window)
    moments = [
        *(m.sent_at for m in messages if m.sent_at), *(e.started_at for e in episodes),
        *(began for record in memories if (began := _begin(record))),
    ]  # fmt: skip
    if not moments:
        return {"drawing": None, "then": [], "chains": [], "days": 0, "since": since, "until": until}
    zone = memory.admin.settings.timezone
    begin = (since or local(min(moments), zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    end = next_day(until or local(max(moments), zone))
    days = max((end - begin).days, 1)
    day = _day(at, begin, days, max(begin, end - DAY))
    day_known = None if known == str(days) else _day(known, begin, days, None)  # the right end: whenever
    then = memory.list(
        order="importance", limit=LISTED, at=next_day(day), known_at=next_day(day_known) if day_known else None
    )
    ticks = [
        Tick(m.sent_at, f"{m.name or m.role}: {m.content}", href(base, m.id), "person" if m.role == "user" else "other")
        for m in messages
        if m.sent_at
    ]
    bars = [Bar(e.started_at, e.ended_at, e.title, href(base, e.id), "episode") for e in episodes]
    bars += [
        Bar(_begin(m), m.invalid_at or m.expired_at, m.spoken, href(base, m.id), "memory") for m in reversed(memories)
    ]
    return {
        "drawing": timeline(begin, end, ticks, bars, day), "then": then, "chains": _chains(memory, begin, end),
        "days": days, "begin": begin, "day": day, "known": day_known, "offset": (day - begin).days,
        "known_offset": (day_known - begin).days if day_known else days, "since": since, "until": until,
        "cut": len(messages) == TICKS or len(memories) == BARS,
    }  # fmt: skip


def _begin(record: MemoryRecord) -> datetime:
    return record.valid_at or record.said_at or record.created_at


def _day(text: str | None, begin: datetime, days: int, default: datetime | None) -> Any:
    """A day by its date or its number."""
    if text and text.isdecimal():
        return begin + min(int(text), days - 1) * DAY
    return day_of(text, begin.tzinfo or UTC) or default


def _chains(memory: Memory, begin: datetime, end: datetime) -> list[Mapping[str, Any]]:
    """What was replaced last, newest first: the old statement, the new one if there is one, when and why."""
    found: list[Mapping[str, Any]] = []
    for event in memory.admin.log(kinds=["memory"], operations=["supersede"], limit=CHAINS):
        old = memory.get(event.id)
        try:
            new = memory.get(str(event.detail["by"])) if event.detail.get("by") else None
        except NotFound:
            new = None
        at = (old.invalid_at or old.expired_at if isinstance(old, MemoryRecord) else None) or event.at
        if begin <= at <= end:
            found.append({"old": old, "new": new, "at": at, "reason": event.detail.get("reason", "")})
    return found
