"""The explorer as an ASGI application, and as one file that needs no server and no network."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mnemic.memory import Memory
from mnemic.text.values import now as present
from mnemic.types import Event, MemoryRecord
from mnemic.web.access import Access, Guard
from mnemic.web.drawings import plane
from mnemic.web.explorer import FORMS, Explorer, environment, spoken
from mnemic.web.pages import answers, emotions, events, now, recall, records, revisions, timeline
from mnemic.web.pages.records import is_forgotten, listed


def app(memory: Memory, *, read_only: bool = False, access: Access | None = None) -> Starlette:
    """The explorer of one handle, to be served or mounted in a Starlette or FastAPI application.

    Args:
        memory: whose records are shown: those of its user.
        read_only: without the routes that write.
        access: who may come in, and by which host names. By default everybody on this machine who reaches the application:
            mount it behind your own login, and name your hosts with ``Access(hosts=["example.org"])``.

    Examples:
        >>> from starlette.applications import Starlette
        >>> from starlette.routing import Mount
        >>> site = Starlette(routes=[Mount("/memory", app(Memory(":memory:", user="ana")))])
    """
    ui = Explorer(memory, access or Access(), read_only)
    lists = {
        "/timeline": timeline.page, "/recall": recall.page, "/answers": answers.page, "/answer": answers.detail,
        "/records": records.page, "/record": records.detail, "/audit": events.audit,
    }  # fmt: skip
    views = {
        "/": now.page, "/facet": records.facet, "/consolidations": events.consolidations, "/emotions": emotions.page,
        "/job": now.job,
    }  # fmt: skip
    routes = [
        *(Route(path, ui.page(view)) for path, view in (views | lists).items()),
        *(Route(f"{path}.{form}", ui.page(view, form)) for path, view in lists.items() for form in FORMS),
        Route("/recall.md", ui.page(recall.markdown)),
        Route("/check", ui.action(now.check), methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("mnemic.web", "static")])),
    ]
    if not read_only:
        writes = {
            "/process": now.process, "/confirm": now.confirm, "/consolidate": events.run, "/undo": events.undo,
            "/edit": revisions.edit, "/correct": revisions.correct, "/end": revisions.end, "/take-back": revisions.take_back,
            "/pin": revisions.pin, "/forget": revisions.forget, "/erase": revisions.erase,
            "/restore": revisions.restore, "/quarantine": revisions.quarantine, "/release": revisions.release,
        }  # fmt: skip
        routes += [Route(path, ui.action(act), methods=["POST"]) for path, act in writes.items()]
        looks = {
            "/forgetting": revisions.forgetting,
            "/correcting": revisions.correcting,
            "/changed": revisions.changed,
        }
        routes += [Route(path, ui.page(view)) for path, view in looks.items()]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, ui.access)],
        exception_handlers={404: ui.not_found, 405: ui.not_found},
    )


MEMORIES, EVENTS = 500, 200
"""Most memories and events in a report."""


def report(memory: Memory) -> str:
    """A page of HTML with its style and drawings inside, without script.

    Args:
        memory: whose records are shown: those of its user.
    """
    style = files("mnemic.web").joinpath("static", "style.css").read_text("utf-8")
    felt = [(record.emotion, spoken(record), "") for record in emotions.felt(memory) if record.emotion]
    zone = memory.admin.settings.timezone
    shown = now.overview(memory)
    shown = {**shown, "changes": [one for one in shown["changes"] if not is_forgotten(memory, one.id)]}
    return environment(zone).get_template("report.html").render(
        memory=memory, base="", static=True, read_only=True, csrf="", made=present(), zone=zone, most=MEMORIES,
        memories=memory.list(order="importance", limit=MEMORIES), cycles=events.cycles(memory), feeling=plane(felt),
        events=[_shown(memory, event) for event in memory.admin.log(limit=EVENTS)], style=Markup(style),  # noqa: S704 - our own file
        style_hash=f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}",
        **shown, **timeline.history(memory, None),
    )  # fmt: skip


def _shown(memory: Memory, event: Event) -> Event:
    """An event without what is forgotten: the file is for others."""
    if not event.content:
        return event
    if is_forgotten(memory, event.id):
        return replace(event, content=None, detail={name: v for name, v in event.detail.items() if name != "reason"})
    record = listed(memory, event.id)
    return event if isinstance(record, MemoryRecord) else replace(event, content=record.content)
