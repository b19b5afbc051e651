"""The explorer's views as one file that needs no server and no network."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup

from mnemic.memory import Memory
from mnemic.text.values import now as present
from mnemic.types import Event, MemoryRecord
from mnemic.web.drawings import plane
from mnemic.web.explorer import environment, spoken
from mnemic.web.pages import consolidations, emotions, now, timeline
from mnemic.web.pages.records import is_forgotten, listed

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
        memories=memory.list(order="importance", limit=MEMORIES), cycles=consolidations.cycles(memory), feeling=plane(felt),
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
