"""Memories, messages and episodes: lists with filters and counts, and one record with its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import accumulate
from typing import Any, cast, get_args

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import InvalidInput, NotFound
from mnemic.memory import Memory
from mnemic.text.values import later
from mnemic.types import Episode, Kind, MemoryRecord, MemoryType, Message, Record, Status, kind_of
from mnemic.types.records import last_transition
from mnemic.web.drawings import neighbourhood
from mnemic.web.explorer import IN_FILE, Explorer, day_of, href, next_day, number, whole
from mnemic.web.pages.answers import contexts_of

PAGE = 50
"""Records on a page."""
KINDS = ("memory", "message", "episode")
FACETS = {
    "memory": ("status", "type", "category", "tag", "speaker", "project", "trust"),
    "message": ("status", "role", "speaker", "session", "project", "trust"),
    "episode": ("status", "session", "project", "trust"),
}
"""The fields whose values are counted, by kind."""
VALUES = 8
"""Values of a field that are shown."""
_PAGING = ("by", "offset", "before", "skip")
"""What an address says besides filters."""


def page(ui: Explorer, request: Request) -> Response:
    """A page of records; with words, the best hits instead."""
    query = request.query_params
    kind, memory, filters = _selected(ui, query)
    words = query.get("q", "").strip()
    most = IN_FILE if request.state.form else PAGE
    records: Sequence[Any]
    if words:
        records, following, total = memory.search(words, k=most, kinds=[kind], **filters), None, None
    else:
        first = not query.get("offset") and not query.get("before")
        total = sum(memory.admin.counts("status", kind=kind, **filters).values()) if first else None
        records, following = _record_page(memory, ui.zone, kind, query, filters, most)
    return ui.listing(
        request, "records.html", records, title="Records", kind=kind, kinds=KINDS, records=records, following=following,
        words=words, types=get_args(MemoryType), statuses=get_args(Status), facets=() if words else FACETS[kind], total=total,
        narrowed=bool(words or any(value for name, value in query.items() if name != "kind")),
    )  # fmt: skip


def facet(ui: Explorer, request: Request) -> Response:
    """The values of one field among the records that the other filters select, with their numbers."""
    by = request.query_params.get("by", "")
    field = {"trust": "min_trust"}.get(by, by)
    query = {name: value for name, value in request.query_params.items() if name not in {field, *_PAGING}}
    kind, memory, filters = _selected(ui, query)
    if by not in FACETS[kind]:
        raise InvalidInput(f"by must be one of {list(FACETS[kind])}.")
    if by == "status":
        filters["status"] = get_args(Status)
    counts = memory.admin.counts(by, kind=kind, limit=VALUES + 1, **filters)  # pyright: ignore[reportArgumentType] - one of FACETS
    values = [(value, count, {**query, field: value}) for value, count in counts.items()]
    if by == "trust":  # the filter is a least value
        ordered = sorted((cast("float", value), count) for value, count in counts.items())
        sums = accumulate(count for _, count in reversed(ordered))
        values = [
            (f"{value:g} or more", count, {**query, field: value})
            for (value, _), count in zip(reversed(ordered), sums, strict=True)
        ]
    return ui.render(
        request, "facet.html", title="Counts", by=by, field=field, values=values[:VALUES], more=len(values) > VALUES
    )


def _selected(ui: Explorer, query: Mapping[str, str]) -> tuple[Kind, Memory, dict[str, Any]]:
    """The kind of records, whose they are, and the filters of a query."""
    kind = cast("Kind", query.get("kind") or "memory")
    if kind not in KINDS:
        raise InvalidInput(f"kind must be one of {list(KINDS)}.")
    until = day_of(query.get("until"), ui.zone)
    values = {
        "since": day_of(query.get("since"), ui.zone), "until": next_day(until) if until else None,
        "session": query.get("session") or None, "speaker": query.get("speaker") or None,
        "status": [query["status"]] if query.get("status") else None, "min_trust": number(query, "min_trust"),
    }  # fmt: skip
    if kind == "message":
        values["role"] = query.get("role") or None
    if kind == "memory":
        values |= {
            "types": [query["type"]] if query.get("type") else None, "category": query.get("category") or None,
            "tags": [query["tag"]] if query.get("tag") else None, "min_importance": number(query, "min_importance"),
        }  # fmt: skip
        if query.get("ended"):
            values["include_expired"] = True
    filters = {name: value for name, value in values.items() if value is not None}
    if not query.get("project"):
        return kind, ui.memory, filters
    return kind, ui.memory.scoped(project=query["project"]), filters | {"reach": "project"}


def _record_page(
    memory: Memory, zone: tzinfo, kind: Kind, query: Mapping[str, str], filters: dict[str, Any], most: int
) -> tuple[Sequence[Any], Mapping[str, Any] | None]:
    """A page of at most so many records, and what the link to the next one adds to the query."""
    if kind == "memory":
        offset = whole(query, "offset", 0, 0, 10**9)
        order = query.get("order") or "newest"
        records = memory.list(order=order, limit=most + 1, offset=offset, **filters)  # pyright: ignore[reportArgumentType] - checked there
        return records[:most], {"offset": offset + most} if len(records) > most else None
    before, skip = day_of(query.get("before"), zone), whole(query, "skip", 0, 0, 10**9)
    if before is not None:
        filters["until"] = later(before, timedelta(microseconds=1))
    reach, times = most + skip + 1, list[datetime | None]()
    if kind == "message":
        found = memory.messages(limit=reach, **filters)
        records = memory.admin.without_forgotten(found[::-1][skip : skip + most])
        times += [message.sent_at for message in records]
    else:
        found = memory.episodes(limit=reach, **filters)
        records = found[::-1][skip : skip + most]
        times += [episode.started_at for episode in records]
    if len(found) < reach or not times or times[-1] is None:
        return records, None
    again = skip if times[0] == times[-1] == before else 0  # those of one time fill more than a page
    return records, {"before": times[-1].isoformat(), "skip": again + times.count(times[-1])}


def detail(ui: Explorer, request: Request) -> Response:
    """One record with its history, its sources and its links."""
    record = ui.memory.get(request.query_params.get("id", ""))
    base = request.scope.get("root_path", "")
    answers = contexts_of(ui.memory, record)[:PAGE]
    shown = details(ui.memory, record, base)
    return ui.listing(request, "record.html", shown["events"], title="Record", answers=answers, **shown)


def details(memory: Memory, record: Record, base: str) -> Mapping[str, Any]:
    """What the page of a record shows."""
    id_ = str(record.id)
    drawing = None
    if isinstance(record, MemoryRecord):
        graph = memory.links.graph(id_, depth=1)
        if graph.links:
            drawing = neighbourhood(graph, id_, {m.id: href(base, m.id) for m in graph.memories})
    events = memory.history(id_)
    sources = (
        record.message_ids
        if isinstance(record, Episode)
        else record.source_ids
        if isinstance(record, MemoryRecord)
        else ()
    )
    last = last_transition(events)
    archived = last is not None and last.operation in ("archive", "absorb")
    quarantined = last is not None and archived and bool(last.detail.get("quarantine"))
    return {
        "record": record, "kind": kind_of(record), "events": events[::-1], "drawing": drawing,
        "sources": [known for source in sources[:PAGE] if (known := _existing(memory, source))],
        "forgotten": archived and not quarantined, "quarantined": quarantined,
    }  # fmt: skip


def is_forgotten(memory: Memory, id_: str) -> bool:
    """Whether a record is forgotten, or in quarantine."""
    try:
        last = last_transition(memory.history(id_))
    except NotFound:  # erased
        return False
    return last is not None and last.operation == "archive"


def listed(memory: Memory, id_: str) -> Record:
    """A record among others: a message without what was forgotten of it."""
    record = memory.get(id_)
    return memory.admin.without_forgotten([record])[0] if isinstance(record, Message) else record


def _existing(memory: Memory, id_: str) -> Record | None:
    try:
        return listed(memory, id_)
    except NotFound:
        return None
