"""Now: what is known of the user, what waits, and whether the record is sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mnemic.errors import NotFound
from mnemic.memory import Memory
from mnemic.web.explorer import Explorer, Form
from mnemic.web.jobs import Progress

SHOWN = 8
"""Memories in each list."""


@dataclass(frozen=True, slots=True)
class _Started:
    """Where the page of a job is."""

    id: str

    @property
    def path(self) -> str:
        return f"/job?id={self.id}"


def overview(memory: Memory) -> Mapping[str, Any]:
    """What the page shows."""
    return {
        "stats": memory.stats(),
        "important": memory.list(order="importance", limit=SHOWN),
        "recent": memory.list(order="newest", limit=SHOWN),
        "preferences": dict(memory.preferences),
        "advice": memory.should_consolidate(),
    }


def page(ui: Explorer, request: Request) -> Response:
    """The first page."""
    return ui.render(request, "now.html", title="Now", **overview(ui.memory))


def job(ui: Explorer, request: Request) -> Response:
    """The progress of work, polled by the page itself."""
    found = ui.jobs.get(request.query_params.get("id", ""))
    if found is None:
        raise NotFound("There is no such work any more.")
    return ui.render(request, "job.html", title=found.name, job=found)


def process(ui: Explorer, _request: Request, _form: Form) -> str:
    """Process waiting messages."""

    def work(progress: Progress) -> str:
        report = ui.memory.process(progress=progress)
        return f"{report.messages} messages became {report.episodes} episodes and {report.memories} memories."

    return _Started(ui.jobs.start("Processing messages", work).id).path


def check(ui: Explorer, _request: Request, _form: Form) -> str:
    """Check every invariant of the record; changes nothing."""

    def work(_: Progress) -> str:
        report = ui.memory.admin.verify()
        checks = f"{len(report.checks)} checks of {sum(report.checks.values()):,} rows"
        return f"{checks}: no findings." if report.ok else f"{checks}. Findings: {'; '.join(report.findings)}"

    return _Started(ui.jobs.start("Checking the record", work).id).path
