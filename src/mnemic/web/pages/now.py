"""Now: what is known of the user, what waits, and whether the record is sound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import InvalidInput, NotFound
from mnemic.memory import Memory
from mnemic.protocols import Progress
from mnemic.text.values import counted
from mnemic.text.values import now as present
from mnemic.types import Event, Link, MemoryRecord, Message
from mnemic.types.literals import Status
from mnemic.types.records import is_trusted
from mnemic.web.explorer import Explorer, Form

SHOWN, READ = 8, 60
"""Entries of a list, and most memories and events read for the lists."""
LATELY = timedelta(days=7)

_WORDS = {"remember": "new", "update": "edited", "archive": "forgotten", "restore": "restored"}
"""What a change is called, by its operation."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a memory: its text now, and before where something took its place."""

    at: datetime
    word: str
    id: str
    text: str
    before: str = ""


def overview(memory: Memory) -> Mapping[str, Any]:
    """What the page shows."""
    important = memory.list(order="importance", limit=READ)
    # what was stated before what was taken from messages, and what the assistant said last
    profile = sorted(important, key=lambda record: (bool(record.source_ids), record.source == "model_inference"))
    return {
        "stats": memory.stats(),
        "tiers": memory.admin.counts("status", status=get_args(Status)),
        "profile": [(record, _source(memory, record)) for record in profile[:SHOWN]],
        "changes": changes(memory),
        "doubtful": doubtful(memory, important),
        "preferences": dict(memory.preferences),
        "advice": memory.should_consolidate(),
    }


def _source(memory: Memory, record: MemoryRecord) -> Message | None:
    """The message that a memory was made of first."""
    for id_ in record.source_ids[:1]:
        with suppress(NotFound):
            message = memory.get(id_)
            return message if isinstance(message, Message) else None
    return None


def changes(memory: Memory) -> list[Change]:
    """What became of memories lately, the last first and new ones at the end; a replacement is one change."""
    since = present() - LATELY
    events = [
        event
        for operations in (["supersede", *_WORDS.keys() - {"remember"}], ["remember"])  # new ones are many
        for event in memory.admin.log(kinds=["memory"], operations=operations, limit=READ)
        if event.at >= since
    ]
    texts = {event.id: event.content or "" for event in events if event.operation != "supersede"}
    replaced = {event.detail.get("by") for event in events if event.operation == "supersede"}
    by_id: dict[str, Change] = {}
    for event in events:
        if event.operation == "supersede":
            by = str(event.detail.get("by") or "")
            word, text = ("replaced", texts.get(by) or _content(memory, by)) if by else ("ended", "")
            change = Change(event.at, word, by or event.id, text, event.content or "")
        elif event.id in replaced or (event.operation == "update" and not _rewords(memory, event)):
            continue
        else:
            change = Change(event.at, _WORDS[event.operation], event.id, event.content or "")
        by_id.setdefault(event.id, change)
    return sorted(by_id.values(), key=lambda change: change.word == "new")[:SHOWN]


def _rewords(memory: Memory, event: Event) -> bool:
    """Whether an update has another text than the version before: a statement that was said again is updated too."""
    with suppress(NotFound):
        before = [
            e.content for e in memory.history(event.id) if e.version is not None and e.version < (event.version or 0)
        ]
        return bool(before) and before[-1] != event.content
    return False


def _content(memory: Memory, id_: str) -> str:
    with suppress(NotFound):
        return memory.get(id_).content if id_ else ""
    return ""


def doubtful(memory: Memory, memories: Iterable[MemoryRecord]) -> list[tuple[MemoryRecord, str]]:
    """Memories that a person may want to confirm, each with the reason."""
    links = memory.admin.log(kinds=["memory"], operations=["link"], limit=READ)
    opposed = {event.id for event in links if event.detail.get("type") == "contradicts"}

    def reason(record: MemoryRecord) -> str:
        if record.id in opposed and _contradictions(memory, record.id):
            return "contradicts another"
        if not is_trusted(record.trust):
            return "from an untrusted source"
        source = _source(memory, record) if record.source == "model_inference" else None
        verbatim = source is not None and record.content in source.content
        return "" if verbatim or record.source != "model_inference" else "inferred by a model"

    reasons = ((record, why) for record in memories if not record.pinned and (why := reason(record)))
    return [*islice(reasons, SHOWN)]


def _contradictions(memory: Memory, id_: str) -> list[Link]:
    """The links of a memory to those that contradict it and still hold."""
    graph = memory.links.graph(id_, depth=1)
    live = {record.id for record in graph.memories if record.expired_at is None and record.status != "archived"}
    return [link for link in graph.links if link.type == "contradicts" and live >= {link.source, link.target}]


def page(ui: Explorer, request: Request) -> Response:
    """The first page."""
    return ui.render(request, "now.html", title="Now", **overview(ui.memory))


def job(ui: Explorer, request: Request) -> Response:
    """The progress of work, polled by the page itself."""
    work = ui.jobs.get(request.query_params.get("id", ""))
    if work is None:
        raise NotFound("There is no such work any more.")
    return ui.render(request, "job.html", title=work.name, job=work)


def confirm(ui: Explorer, _: Request, form: Form) -> str:
    """State a memory anew in the name of the user, in place of what was inferred or not trusted."""
    record = ui.memory.get(form.get("id", ""))
    if not isinstance(record, MemoryRecord):
        raise InvalidInput("Only memories can be confirmed: a message is evidence.")
    receipt = ui.memory.correct(record.id, record.content)[0]
    if receipt.outcome == "rejected":
        raise InvalidInput(receipt.reason)
    for link in _contradictions(ui.memory, receipt.id):
        ui.memory.links.remove(link.source, link.target, link.type)
    return "/"


def process(ui: Explorer, _request: Request, _form: Form) -> str:
    """Process waiting messages."""

    def work(progress: Progress) -> str:
        report = ui.memory.process(progress=progress)
        made = f"{counted({'episode': report.episodes})} and {counted({'memory': report.memories})}"
        return f"{counted({'message': report.messages})} became {made}."

    return ui.jobs.start("Processing messages", work)


def check(ui: Explorer, _request: Request, _form: Form) -> str:
    """Check every invariant of the record; changes nothing."""

    def work(_: Progress) -> str:
        report = ui.memory.admin.verify()
        checks = f"{counted({'check': len(report.checks)})} of {counted({'row': sum(report.checks.values())})}"
        return f"{checks}: no problems." if report.ok else f"{checks}. Problems: {'; '.join(report.findings)}"

    return ui.jobs.start("Checking the record", work)
