"""Memories, messages and episodes: lists with filters and counts, and one record with its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from itertools import accumulate
from typing import Any, cast, get_args

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import InvalidInput, NotFound
from mnemic.memory import Memory
from mnemic.text.values import later
from mnemic.types import Episode, Event, Kind, MemoryRecord, MemoryType, Message, Status
from mnemic.types.literals import TRANSITIONS
from mnemic.web.drawings import neighbourhood
from mnemic.web.explorer import Explorer
from mnemic.web.fields import day_of, href, next_day, number, whole
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
_PLACE = ("by", "offset", "before", "except")
"""What an address says besides filters."""


def page(ui: Explorer, request: Request) -> Response:
    """A page of records; with words, the best hits instead."""
    given = request.query_params
    kind, memory, filters = _selected(ui, given)
    words = given.get("q", "").strip()
    found: Sequence[Any]
    if words:
        found, following, total = memory.search(words, k=PAGE, kinds=[kind], **filters), None, None
    else:
        first = not given.get("offset") and not given.get("before")
        total = sum(memory.admin.counts("status", kind=kind, **filters).values()) if first else None
        found, following = _listed(memory, ui.zone, kind, given, filters)
    return ui.listing(
        request, "records.html", found, title="Records", kind=kind, kinds=KINDS, found=found, following=following,
        words=words, types=get_args(MemoryType), statuses=get_args(Status), facets=() if words else FACETS[kind], total=total,
        narrowed=bool(words or any(value for name, value in given.items() if name != "kind")),
    )  # fmt: skip


def facet(ui: Explorer, request: Request) -> Response:
    """The values of one field among the records that the other filters select, with their numbers."""
    by = request.query_params.get("by", "")
    field = {"trust": "min_trust"}.get(by, by)
    given = {name: value for name, value in request.query_params.items() if name not in {field, *_PLACE}}
    kind, memory, filters = _selected(ui, given)
    if by not in FACETS[kind]:
        raise InvalidInput(f"by must be one of {list(FACETS[kind])}.")
    if by == "status":
        filters["status"] = get_args(Status)
    counts = memory.admin.counts(by, kind=kind, limit=VALUES + 1, **filters)  # pyright: ignore[reportArgumentType] - one of FACETS
    values = [(value, count, {**given, field: value}) for value, count in counts.items()]
    if by == "trust":  # the filter is a least value
        ordered = sorted((cast("float", value), count) for value, count in counts.items())
        sums = accumulate(count for _, count in reversed(ordered))
        values = [
            (f"{value:g} or more", count, {**given, field: value})
            for (value, _), count in zip(reversed(ordered), sums, strict=True)
        ]
    return ui.render(
        request, "facet.html", title="Counts", by=by, field=field, values=values[:VALUES], more=len(values) > VALUES
    )


def _selected(ui: Explorer, given: Mapping[str, str]) -> tuple[Kind, Memory, dict[str, Any]]:
    """The kind of records, whose they are, and the filters of a query."""
    kind = cast("Kind", given.get("kind") or "memory")
    if kind not in KINDS:
        raise InvalidInput(f"kind must be one of {list(KINDS)}.")
    until = day_of(given.get("until"), ui.zone)
    found = {
        "since": day_of(given.get("since"), ui.zone), "until": next_day(until) if until else None,
        "session": given.get("session") or None, "speaker": given.get("speaker") or None,
        "status": [given["status"]] if given.get("status") else None, "min_trust": number(given, "min_trust"),
    }  # fmt: skip
    if kind == "message":
        found["role"] = given.get("role") or None
    if kind == "memory":
        found |= {
            "types": [given["type"]] if given.get("type") else None, "category": given.get("category") or None,
            "tags": [given["tag"]] if given.get("tag") else None, "min_importance": number(given, "min_importance"),
        }  # fmt: skip
        if given.get("ended"):
            found["include_expired"] = True
    filters = {name: value for name, value in found.items() if value is not None}
    if not given.get("project"):
        return kind, ui.memory, filters
    return kind, ui.memory.scoped(project=given["project"]), filters | {"reach": "project"}


def _listed(
    memory: Memory, zone: tzinfo, kind: Kind, given: Mapping[str, str], filters: dict[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any] | None]:
    """A page of records, and what the link to the next one adds to the query."""
    if kind == "memory":
        offset = whole(given, "offset", 0, 0, 10**9)
        order = given.get("order") or "newest"
        found = memory.list(order=order, limit=PAGE + 1, offset=offset, **filters)  # pyright: ignore[reportArgumentType] - checked there
        return found[:PAGE], {"offset": offset + PAGE} if len(found) > PAGE else None
    before = day_of(given.get("before"), zone)
    if before is not None:
        filters["until"] = later(before, timedelta(microseconds=1))
        filters["exclude"] = given.get("except", "").split(" ")
    if kind == "message":
        messages = memory.messages(limit=PAGE + 1, **filters)
        found = memory.admin.without_forgotten(messages[-PAGE:][::-1])
        more, last = len(messages) > PAGE, found[-1].sent_at if found else None
        ids = [str(message.id) for message in found if message.sent_at == last]
    else:
        episodes = memory.episodes(limit=PAGE + 1, **filters)
        found = episodes[-PAGE:][::-1]
        more, last = len(episodes) > PAGE, found[-1].started_at if found else None
        ids = [episode.id for episode in found if episode.started_at == last]
    return found, {"before": last.isoformat(), "except": " ".join(ids)} if more and last else None


def one(ui: Explorer, request: Request) -> Response:
    """One record with its history, its sources and its links."""
    record = ui.memory.get(request.query_params.get("id", ""))
    base = request.scope.get("root_path", "")
    answers = contexts_of(ui.memory, record)[:PAGE]
    shown = details(ui.memory, record, base)
    return ui.listing(request, "record.html", shown["events"], title="Record", answers=answers, **shown)


def details(memory: Memory, record: Message | Episode | MemoryRecord, base: str) -> Mapping[str, Any]:
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
    last = _last_transition(events)
    gone = last is not None and last.operation in ("archive", "absorb")
    quarantined = last is not None and gone and bool(last.detail.get("quarantine"))
    return {
        "record": record, "kind": _kind(record), "events": events[::-1], "drawing": drawing,
        "sources": [found for source in sources[:PAGE] if (found := _known(memory, source))],
        "forgotten": gone and not quarantined, "quarantined": quarantined,
    }  # fmt: skip


def _kind(record: object) -> str:
    return "message" if isinstance(record, Message) else "episode" if isinstance(record, Episode) else "memory"


def _last_transition(events: Sequence[Event]) -> Event | None:
    """The last event that took a record out of searches or brought it back."""
    return next((event for event in reversed(events) if event.operation in TRANSITIONS), None)


def is_forgotten(memory: Memory, id_: str) -> bool:
    """Whether a record is forgotten, or in quarantine."""
    try:
        last = _last_transition(memory.history(id_))
    except NotFound:  # erased
        return False
    return last is not None and last.operation == "archive"


def listed(memory: Memory, id_: str) -> Message | Episode | MemoryRecord:
    """A record among others: a message without what was forgotten of it."""
    found = memory.get(id_)
    return memory.admin.without_forgotten([found])[0] if isinstance(found, Message) else found


def _known(memory: Memory, id_: str) -> Message | Episode | MemoryRecord | None:
    try:
        return listed(memory, id_)
    except NotFound:
        return None
