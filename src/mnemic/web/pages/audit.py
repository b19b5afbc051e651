"""Audit: every event of the record, newest first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from mnemic.web.explorer import Explorer
from mnemic.web.fields import whole

PAGE = 100


def page(ui: Explorer, request: Request) -> Response:
    """A page of events, of all operations or one."""
    given = request.query_params
    before = whole(given, "before", 0, 0, 2**53) or None
    operation = given.get("operation", "")
    found = ui.memory.admin.log(operations=[operation] if operation else None, before=before, limit=PAGE + 1)
    following = found[PAGE - 1].sequence if len(found) > PAGE else None
    return ui.listing(
        request,
        "audit.html",
        found[:PAGE],
        title="Audit",
        events=found[:PAGE],
        following=following,
        operation=operation,
    )
