"""Consolidations: what each did, the preview of the next, and undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import NotFound
from mnemic.memory import Memory
from mnemic.types import MemoryRecord
from mnemic.web.explorer import Explorer, Form
from mnemic.web.jobs import Progress

__all__ = ["done", "page", "run", "undo"]

EVENTS = 400
"""Most events read for the list."""


def page(ui: Explorer, request: Request) -> Response:
    """The list, newest first."""
    preview = ui.memory.consolidate(dry_run=True) if request.query_params.get("preview") else None
    planned = (
        [] if preview is None else [_cluster(ui.memory, c.promoted_id, c.source_ids) for c in preview.cluster_summaries]
    )
    return ui.render(
        request, "consolidations.html", title="Consolidations", done=done(ui.memory), preview=preview, planned=planned,
        advice=ui.memory.should_consolidate(),
    )  # fmt: skip


def done(memory: Memory) -> list[Mapping[str, Any]]:
    """The consolidations of the last events: when, and each memory that was promoted with those it absorbed."""
    events = memory.admin.log(kinds=["memory"], operations=["promote", "undo"], limit=EVENTS)
    undone = {event.detail.get("consolidation") for event in events if event.operation == "undo"}
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.operation == "promote" and (id_ := event.detail.get("consolidation")):
            one = found.setdefault(id_, {"id": id_, "at": event.at, "clusters": [], "undone": id_ in undone})
            one["clusters"].append(_cluster(memory, event.id, event.detail.get("sources", ())))
    return [*found.values()]


def _cluster(memory: Memory, id_: str, sources: Any) -> Mapping[str, Any]:
    """A promoted memory, and those that it absorbed."""
    return {"kept": _memory(memory, id_), "absorbed": [one for source in sources if (one := _memory(memory, source))]}


def _memory(memory: Memory, id_: str) -> MemoryRecord | None:
    try:
        found = memory.get(id_)
    except NotFound:
        return None
    return found if isinstance(found, MemoryRecord) else None


def run(ui: Explorer, _request: Request, _form: Form) -> str:
    """Run the next consolidation."""

    def work(_: Progress) -> str:
        report = ui.memory.consolidate()
        return f"{report.memories_promoted} memories became long-term, {report.memories_archived} were absorbed."

    return f"/job?id={ui.jobs.start('Consolidating', work).id}"


def undo(ui: Explorer, _: Request, form: Form) -> str:
    """Undo a consolidation."""
    ui.memory.undo(form.get("id", ""))
    return "/consolidations"
