"""Memories, messages and episodes: lists with filters, one record with its history, and what can be done to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from itertools import accumulate
from typing import Any, Unpack, cast, get_args
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import Conflict, InvalidInput, NotFound
from mnemic.memory import Memory
from mnemic.text.values import later
from mnemic.text.values import now as present
from mnemic.types import Episode, Filters, Kind, MemoryRecord, MemoryType, Message, Status
from mnemic.web.drawings import neighbourhood
from mnemic.web.explorer import Explorer, Form
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
PROMPT = 600
"""Tokens of the prompts before and after a change."""
_INSTANT = timedelta(microseconds=1)
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
        filters["until"] = later(before, _INSTANT)
        filters["exclude"] = given.get("except", "").split(" ")
    if kind == "message":
        messages = memory.messages(limit=PAGE + 1, **filters)
        found = messages[-PAGE:][::-1]
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
    last = next(
        (event for event in reversed(events) if event.operation in ("archive", "absorb", "restore", "undo")), None
    )
    gone = last is not None and last.operation in ("archive", "absorb")
    quarantined = last is not None and gone and bool(last.detail.get("quarantine"))
    return {
        "record": record, "kind": _kind(record), "events": events[::-1], "drawing": drawing,
        "sources": [found for source in sources[:PAGE] if (found := _known(memory, source))],
        "forgotten": gone and not quarantined, "quarantined": quarantined,
    }  # fmt: skip


def _kind(record: object) -> str:
    return "message" if isinstance(record, Message) else "episode" if isinstance(record, Episode) else "memory"


def _known(memory: Memory, id_: str) -> Message | Episode | MemoryRecord | None:
    try:
        return memory.get(id_)
    except NotFound:
        return None


def _back(id_: str) -> str:
    return f"/record?id={quote(id_, safe='')}"


def edit(ui: Explorer, _: Request, form: Form) -> str:
    """Write the next version of a memory."""
    record = ui.memory.get(form.get("id", ""))
    if not isinstance(record, MemoryRecord):
        raise InvalidInput("Only memories can be edited: evidence is never rewritten.")
    _check_version(record, form)
    changes: dict[str, Any] = {}
    content = _lines(form.get("content", ""))
    if content != _lines(record.content):
        changes["content"] = content
    if (category := form.get("category", "").strip() or None) != record.category:
        changes["category"] = category
    if (tags := _tags(form.get("tags", ""))) != _tags(", ".join(record.tags)):
        changes["tags"] = tags
    if (importance := number(form, "importance")) is not None and abs(importance - record.importance) > 0.005:
        changes["importance"] = importance
    if changes:
        ui.memory.update(record.id, **changes)
    return _back(record.id)


def _lines(text: str) -> str:
    """A text with the line ends that browsers change."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def correcting(ui: Explorer, request: Request) -> Response:
    """What a correction means, before it is done: what it replaces, and the prompt that says it today."""
    given = request.query_params
    record = ui.memory.get(given.get("id", ""))
    statement = given.get("statement", "").strip()
    if not statement:
        raise InvalidInput("There is no statement. Write what is true instead.")
    plan, question = ui.memory.correct(str(record.id), statement, dry_run=True), _question(given, record)
    return ui.render(
        request, "correcting.html", title="Correct", record=record, statement=statement, plan=plan,
        version=given.get("version", ""), question=question, prompt=_prompt(ui.memory, question),
    )  # fmt: skip


def correct(ui: Explorer, _: Request, form: Form) -> str:
    """Replace a record by what is true, and show what changed."""
    record = ui.memory.get(form.get("id", ""))  # an id that is gone would be read as a description
    _check_version(record, form)
    receipt = ui.memory.correct(str(record.id), form.get("statement", "").strip())[0]
    if receipt.outcome == "rejected":
        raise InvalidInput(receipt.reason)
    return _changed(receipt.id, _question(form, record))


def end(ui: Explorer, _: Request, form: Form) -> str:
    """Let a memory be true until now, and show what changed."""
    record = ui.memory.get(form.get("id", ""))
    ui.memory.update(str(record.id), invalid_at=present())
    return _changed(str(record.id), _question(form, record))


def changed(ui: Explorer, request: Request) -> Response:
    """The prompt before a change and now."""
    record = ui.memory.get(request.query_params.get("id", ""))
    question = _question(request.query_params, record)
    replaced = _replaced(ui.memory, str(record.id))
    if not isinstance(record, MemoryRecord):
        raise InvalidInput("Messages and episodes do not change.")
    ended = record.invalid_at
    then = Filters(at=ended - _INSTANT) if ended else Filters(known_at=record.created_at - _INSTANT)
    return ui.render(
        request, "changed.html", title="Changed", record=record, question=question, replaced=replaced, ended=ended,
        before=_prompt(ui.memory, question, **then), now=_prompt(ui.memory, question),
    )  # fmt: skip


def take_back(ui: Explorer, _: Request, form: Form) -> str:
    """Forget a correction, so that what it replaced holds again; or let a memory that was ended hold again."""
    id_ = form.get("id", "")
    if replaced := _replaced(ui.memory, id_):
        ui.memory.forget(ids=[id_], reason="the correction was taken back")
        receipts = ui.memory.restore(*replaced)
        if receipts.rejected:
            raise Conflict(receipts.rejected[0].reason)
        return _back(receipts[0].id)
    ui.memory.update(id_, invalid_at=None)
    return _back(id_)


def _replaced(memory: Memory, id_: str) -> list[str]:
    """The ids of the memories that one took the place of."""
    links = memory.links.graph(id_, depth=1).links
    return [link.target for link in links if link.type == "supersedes" and link.source == id_]


def _question(given: Mapping[str, str], record: Message | Episode | MemoryRecord) -> str:
    """The question whose prompt is looked at; the words of the record where none was asked."""
    return given.get("q", "").strip() or record.content[:500]


def _prompt(memory: Memory, question: str, **then: Unpack[Filters]) -> str:
    return memory.get_memory_context(question, max_tokens=PROMPT, **then).to_prompt()


def _changed(id_: str, question: str) -> str:
    return f"/changed?id={quote(id_, safe='')}&q={quote(question, safe='')}"


def _check_version(record: Message | Episode | MemoryRecord, form: Form) -> None:
    """Refuse to change a memory that was changed since the page was opened."""
    if isinstance(record, MemoryRecord) and form.get("version", "") != str(record.version):
        raise Conflict(
            f"This memory was changed meanwhile: it is version {record.version} now. Nothing was saved. Open it again, and "
            "edit what it shows then."
        )


def pin(ui: Explorer, _: Request, form: Form) -> str:
    """Pin a memory at the importance that it has, or let its importance change again."""
    record = ui.memory.get(form.get("id", ""))
    if isinstance(record, MemoryRecord):
        ui.memory.update(record.id, importance=None if record.pinned else record.importance)
    return _back(str(record.id))


def forgetting(ui: Explorer, request: Request) -> Response:
    """What forgetting a record means, or several, before it is done."""
    ids = request.query_params.getlist("id")
    base = request.scope.get("root_path", "")
    if len(ids) > 1:
        records = [ui.memory.get(id_) for id_ in ids[:PAGE]]
        return ui.render(request, "forget_several.html", title="Forget", records=records, ids=json.dumps(ids[:PAGE]))
    if not ids:
        raise InvalidInput("No record is selected. Go back, and select what should be forgotten.")
    record = ui.memory.get(ids[0])
    question = _question(request.query_params, record)
    return ui.render(
        request, "forget.html", title="Forget", word=str(record.id)[-6:], question=question,
        prompt=_prompt(ui.memory, question), **details(ui.memory, record, base),
    )  # fmt: skip


def forget(ui: Explorer, _: Request, form: Form) -> str:
    """Forget a record, or several; they can be restored."""
    ids = [form["id"]] if "id" in form else _ids(form.get("ids", ""))
    ui.memory.forget(ids=ids, reason=form.get("reason", ""))
    return _back(ids[0]) if len(ids) == 1 else "/audit?operation=archive"


def _ids(text: str) -> list[str]:
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list):
        raise InvalidInput("The form names no records. Nothing was done.")
    return [str(id_) for id_ in cast("list[object]", found)]


def erase(ui: Explorer, _: Request, form: Form) -> str:
    """Erase a record and what was derived from it, for good, once the end of its id was typed."""
    id_ = form.get("id", "")
    if not id_ or form.get("word", "").strip() != id_[-6:]:
        raise InvalidInput("Type the last six characters of the id to erase it for good. Nothing was erased.")
    ui.memory.forget(ids=[id_], hard=True)
    return "/audit?operation=erase"


def restore(ui: Explorer, _: Request, form: Form) -> str:
    """Restore a forgotten record."""
    ui.memory.restore(form.get("id", ""))
    return _back(form.get("id", ""))


def quarantine(ui: Explorer, _: Request, form: Form) -> str:
    """Exclude a record, and what was derived from it, from searches."""
    ui.memory.admin.quarantine([form.get("id", "")], reason=form.get("reason", ""))
    return _back(form.get("id", ""))


def release(ui: Explorer, _: Request, form: Form) -> str:
    """Release a record from quarantine."""
    ui.memory.admin.release([form.get("id", "")])
    return _back(form.get("id", ""))
