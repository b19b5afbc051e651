"""The explorer as an ASGI application."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mnemic.memory import Memory
from mnemic.web.access import Access, Guard
from mnemic.web.explorer import FORMS, Explorer
from mnemic.web.pages import answers, audit, consolidations, emotions, now, recall, records, revisions, timeline


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
        "/records": records.page, "/record": records.detail, "/audit": audit.page,
    }  # fmt: skip
    views = {
        "/": now.page, "/facet": records.facet, "/consolidations": consolidations.page, "/emotions": emotions.page,
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
            "/process": now.process, "/confirm": now.confirm, "/consolidate": consolidations.run, "/undo": consolidations.undo,
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
