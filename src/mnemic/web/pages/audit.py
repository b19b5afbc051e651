"""Audit: every event of the record, newest first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from mnemic.web.explorer import Explorer, whole

PAGE = 100


def page(ui: Explorer, request: Request) -> Response:
    """A page of events, of all operations or one."""
    query = request.query_params
    before = whole(query, "before", 0, 0, 2**53) or None
    operation = query.get("operation", "")
    events = ui.memory.admin.log(operations=[operation] if operation else None, before=before, limit=PAGE + 1)
    following = events[PAGE - 1].sequence if len(events) > PAGE else None
    return ui.listing(
        request,
        "audit.html",
        events[:PAGE],
        title="Audit",
        events=events[:PAGE],
        following=following,
        operation=operation,
    )
