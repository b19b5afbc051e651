"""What every page of the explorer needs: the memory, the templates, forms, files, the work under way, and who may come in."""

from __future__ import annotations

import csv
import hmac
import io
import json
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeAlias, cast
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from mnemic.errors import Conflict, InvalidInput, MnemicError, NotFound
from mnemic.memory import Memory
from mnemic.protocols import Progress
from mnemic.runtime.runtime import uncounted
from mnemic.text.markup import revealed, speaker_label
from mnemic.text.values import counted, jsonable, later, local, size
from mnemic.types import MemoryRecord, Record
from mnemic.web.access import Access


def environment(zone: tzinfo) -> Environment:
    """The templates; every value is escaped, and what it hides is shown, except by the filter ``exact``.

    Args:
        zone: of the times that are shown.
    """
    templates = Environment(
        loader=PackageLoader("mnemic.web"),
        autoescape=True,
        finalize=_revealed,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "short": _short,
        "bytes": size,
        "number": _number,
        "percent": _percent,
        "where": _where,
        "sentence": _sentence,
        "counted": _counted,
        "isolated": isolated,
        "speaker": speaker_label,
        "spoken": spoken,
        "exact": escape,
    }
    templates.filters.update(_times(zone) | filters)
    return templates


def _revealed(value: Any) -> Any:
    return revealed(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def isolated(value: object) -> Markup:
    """A stored value in its own direction, which cannot turn what stands around it."""
    return Markup('<bdi dir="auto">{}</bdi>').format(_revealed(value if isinstance(value, Markup) else str(value)))


def spoken(record: Record) -> str:
    """The text of a record; that of a memory after its speaker."""
    by = speaker_label(record) if isinstance(record, MemoryRecord) else ""
    return f"{by}: {record.content}" if by else record.content


def _times(zone: tzinfo) -> dict[str, Callable[[datetime | None], str]]:
    """The filters for times, in a zone."""

    def moment(time: datetime | None) -> str:
        return f"{local(time, zone).day} {local(time, zone):%b %Y, %H:%M}" if time else "-"

    def day(time: datetime | None) -> str:
        return f"{local(time, zone).day} {local(time, zone):%B %Y}" if time else "-"

    return {"moment": moment, "day": day}


def _short(text: str | None, most: int = 300) -> str:
    return text if text and len(text) <= most else f"{text[: most - 1]}…" if text else ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _counted(count: int, noun: str) -> str:
    return counted({noun: count})


def _percent(share: float) -> str:
    return f"{share:.0%}" if share == 0 or share >= 0.005 else "below 1%"


def _where(values: Mapping[str, Any]) -> str:
    """A query string of the values that are given."""
    return urlencode({name: value for name, value in values.items() if value not in (None, "", [])}, doseq=True)


Form: TypeAlias = Mapping[str, str]
Page: TypeAlias = Callable[["Explorer", Request], Response]
Action: TypeAlias = Callable[["Explorer", Request, Form], str]
"""A write; returns the page to go to."""


KEPT = 50
"""Most finished jobs that can still be looked at."""


@dataclass(slots=True)
class Job:
    """One piece of work: its name, progress, and how it ended."""

    id: str
    name: str
    done: int = 0
    total: int = 0
    result: str = ""
    error: str = ""
    ended: bool = False

    def progress(self, done: int, total: int) -> None:
        """Note how far it is."""
        self.done, self.total = done, total


@dataclass(slots=True)
class Jobs:
    """The work of one explorer, one piece at a time."""

    _jobs: dict[str, Job] = field(default_factory=dict[str, Job])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, name: str, work: Callable[[Progress], str]) -> str:
        """Start work on a thread, and return the page of its progress; ``work`` returns a sentence about its result.

        Raises:
            Conflict: other work is under way.
        """
        with self._lock:
            if busy := next((job for job in self._jobs.values() if not job.ended), None):
                raise Conflict(f"{busy.name} is under way. Try again when it has ended.")
            for old in [*self._jobs][: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old]
            id_ = secrets.token_urlsafe(9)
            job = self._jobs[id_] = Job(id_, name)
        threading.Thread(target=self._run, args=(job, work), name="mnemic-ui-job", daemon=True).start()
        return f"/job?id={id_}"

    @staticmethod
    def _run(job: Job, work: Callable[[Progress], str]) -> None:
        try:
            job.result = work(job.progress)
        except MnemicError as error:
            job.error = str(error)
        except Exception as error:  # noqa: BLE001 - shown on the page; a thread has no other reader
            job.error = f"{type(error).__name__}: {error}"
        finally:
            job.ended = True

    def get(self, id_: str) -> Job | None:
        """A job that is under way or ended not long ago."""
        return self._jobs.get(id_)


@dataclass(slots=True)
class Explorer:
    """What every page needs."""

    memory: Memory
    access: Access
    read_only: bool
    jobs: Jobs = field(default_factory=Jobs)
    templates: Environment = field(init=False)
    zone: tzinfo = field(init=False)

    def __post_init__(self) -> None:
        self.zone = self.memory.admin.settings.timezone
        self.templates = environment(self.zone)

    def listing(self, request: Request, name: str, rows: Sequence[object], **values: Any) -> Response:
        """A page that lists something, or its rows as a file where the address ends in ``.json`` or ``.csv``."""
        form = request.state.form
        return table(rows, form) if form else self.render(request, name, **values)

    def render(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        """A page from a template."""
        session = request.state.session
        base = request.scope.get("root_path", "")
        page = self.templates.get_template(name).render(
            base=base, path=request.url.path.removeprefix(base) or "/", csrf=self.access.csrf(session), memory=self.memory,
            read_only=self.read_only, zone=self.zone, static=False, query=request.query_params, **values,
        )  # fmt: skip
        return HTMLResponse(page, status)

    def page(self, view: Page, form: str = "") -> Callable[[Request], Awaitable[Response]]:
        """A route that reads; ``form`` is that of a file."""

        async def endpoint(request: Request) -> Response:
            request.state.form = form
            try:
                return await run_in_threadpool(uncounted()(view), self, request)
            except MnemicError as error:
                return self.refused(request, error)

        return endpoint

    def action(self, act: Action) -> Callable[[Request], Awaitable[Response]]:
        """A route that writes, with the word of the session in its form."""

        async def endpoint(request: Request) -> Response:
            form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
            if not hmac.compare_digest(form.get("csrf", "").encode(), self.access.csrf(request.state.session).encode()):
                message = "This form is not from this page. Nothing was done. Open the page again, and send it again."
                return self.render(request, "error.html", 403, title="Not done", error=message)
            try:
                target = await run_in_threadpool(act, self, request, form)
            except MnemicError as error:
                return self.refused(request, error)
            return RedirectResponse(f"{request.scope.get('root_path', '')}{target}", 303)

        return endpoint

    def not_found(self, request: Request, error: Exception) -> Response:
        """The error page for an address that does not exist, or does not take this method."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        message = (
            f"There is no page at {request.url.path}."
            if status == 404
            else "This address does not take this kind of request."
        )
        return self.render(request, "error.html", status, title="Not found", error=message)

    def refused(self, request: Request, error: MnemicError) -> Response:
        """The page of an error."""
        status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, InvalidInput) else 409
        return self.render(request, "error.html", status, title="Not done", error=str(error))


FORMS = ("json", "csv")
IN_FILE = 10_000
"""Most rows of a file: as many hits as a search has."""


def table(rows: Sequence[object], form: str) -> Response:
    """Records, hits or events as a file.

    In CSV a value that is not text is written as JSON, and a text that a spreadsheet would run as a formula begins with
    an apostrophe.

    Args:
        rows: dataclasses or mappings.
        form: one of ``FORMS``.
    """
    listed = [cast("Mapping[str, object]", jsonable(row)) for row in rows]
    if form == "json":
        return JSONResponse(listed)
    columns = list(dict.fromkeys(name for row in listed for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in listed)
    return Response(
        text.getvalue(), media_type="text/csv", headers={"content-disposition": 'attachment; filename="mnemic.csv"'}
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.lstrip().startswith(("=", "+", "-", "@")) else value


DAY = timedelta(days=1)


def day_of(text: str | None, zone: tzinfo) -> datetime | None:
    """The beginning of a day in a zone; None if none is given.

    Raises:
        InvalidInput: it is no date.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no date. Write it like 2026-03-09.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def next_day(day: datetime) -> datetime:
    """A day later; the same at the end of time."""
    return later(day, DAY)


def whole(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A whole number between two bounds; outside of them the nearer bound."""
    try:
        return min(max(int(query.get(name) or default), least), most)
    except ValueError:
        raise InvalidInput(f"{name} must be a whole number.") from None


def number(query: Mapping[str, str], name: str) -> float | None:
    """A number; None if none is given."""
    try:
        return float(query[name]) if query.get(name) else None
    except ValueError:
        raise InvalidInput(f"{name} must be a number.") from None


def href(base: str | None, id_: str | None) -> str:
    """The page of a record; empty without a server."""
    return "" if base is None else f"{base}/record?id={quote(id_ or '', safe='')}"
