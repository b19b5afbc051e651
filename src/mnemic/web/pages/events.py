"""What happened: every event of the record; and consolidations, what each did, the preview of the next, and undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mnemic.memory import Memory
from mnemic.protocols import Progress
from mnemic.text.values import counted
from mnemic.web.explorer import IN_FILE, Explorer, Form, whole

LISTED, EVENTS, PLANNED = 100, 400, 12
"""Events of a page, most events read for the list of consolidations, and promotions of a preview that are shown."""


def audit(ui: Explorer, request: Request) -> Response:
    """A page of events, of all operations or one."""
    query = request.query_params
    before = whole(query, "before", 0, 0, 2**53) or None
    operation = query.get("operation", "")
    most = IN_FILE if request.state.form else LISTED
    events = ui.memory.admin.log(operations=[operation] if operation else None, before=before, limit=most + 1)
    following = events[most - 1].sequence if len(events) > most else None
    return ui.listing(
        request,
        "audit.html",
        events[:most],
        title="Audit",
        events=events[:most],
        following=following,
        operation=operation,
    )


def consolidations(ui: Explorer, request: Request) -> Response:
    """The consolidations, newest first."""
    if not request.query_params.get("preview"):
        return ui.render(
            request, "consolidations.html", title="Consolidations", cycles=cycles(ui.memory), preview=None,
            advice=ui.memory.should_consolidate(),
        )  # fmt: skip
    preview = ui.memory.consolidate(dry_run=True)
    planned = [
        {"kept": ui.memory.get(c.promoted_id).content, "absorbed": [ui.memory.get(id_).content for id_ in c.source_ids]}
        for c in preview.cluster_summaries[:PLANNED]
    ]
    return ui.render(request, "consolidations.html", title="Consolidations", preview=preview, planned=planned)


def cycles(memory: Memory) -> list[Mapping[str, Any]]:
    """The consolidations of the last events: when, and each memory that was promoted with those it absorbed."""
    events = memory.admin.log(kinds=["memory"], operations=["promote", "absorb", "undo"], limit=EVENTS)
    undone = {event.detail.get("consolidation") for event in events if event.operation == "undo"}
    absorbed: dict[tuple[str, str], list[str]] = {}
    for event in events:
        if event.operation == "absorb" and event.content:
            absorbed.setdefault((event.detail["consolidation"], event.detail["into"]), []).append(event.content)
    by_id: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.operation == "promote" and (id_ := event.detail.get("consolidation")):
            cycle = by_id.setdefault(id_, {"id": id_, "at": event.at, "clusters": [], "undone": id_ in undone})
            cycle["clusters"].append({"kept": event.content, "absorbed": absorbed.get((id_, event.id), [])})
    return [*by_id.values()]


def run(ui: Explorer, _request: Request, _form: Form) -> str:
    """Run the next consolidation."""

    def work(_: Progress) -> str:
        report = ui.memory.consolidate()
        return f"{counted({'memory': report.memories_promoted})} promoted to long-term, {report.memories_archived:,} absorbed."

    return ui.jobs.start("Consolidating", work)


def undo(ui: Explorer, _: Request, form: Form) -> str:
    """Undo a consolidation."""
    ui.memory.undo(form.get("id", ""))
    return "/consolidations"
