"""The explorer's views as one file that needs no server and no network."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup

from mnemic.memory import Memory
from mnemic.text.values import now as present
from mnemic.web.drawings import plane
from mnemic.web.explorer import environment
from mnemic.web.pages import consolidations, emotions, now, timeline

MEMORIES, EVENTS = 500, 200
"""Most memories and events in a report."""


def report(memory: Memory) -> str:
    """A page of HTML with its style and drawings inside, without script.

    Args:
        memory: whose records are shown: those of its user.
    """
    style = files("mnemic.web").joinpath("static", "style.css").read_text("utf-8")
    felt = [(record.emotion, record.spoken, "") for record in emotions.felt(memory) if record.emotion]
    zone = memory.admin.settings.timezone
    return environment(zone).get_template("report.html").render(
        memory=memory, base="", static=True, read_only=True, csrf="", made=present(), zone=zone, most=MEMORIES,
        memories=memory.list(order="importance", limit=MEMORIES), cycles=consolidations.cycles(memory), feeling=plane(felt),
        events=memory.admin.log(limit=EVENTS), style=Markup(style),  # noqa: S704 - our own file
        style_hash=f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}",
        **now.overview(memory), **timeline.history(memory, None),
    )  # fmt: skip
