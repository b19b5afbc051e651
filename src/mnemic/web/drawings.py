"""Drawings as SVG, without script and inline style: colours come from the style sheet by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from markupsafe import Markup, escape

from mnemic.text.markup import revealed
from mnemic.text.values import one_line
from mnemic.types import Emotion, Graph

WIDTH = 1000
ROW = 20
LABEL = 60
"""Most characters of a label in a drawing."""
NEIGHBOURS = 12
"""Most memories around one in a drawing."""


@dataclass(frozen=True, slots=True)
class Column:
    """How many messages were said in a period."""

    start: datetime
    end: datetime
    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment on the timeline: a message."""

    at: datetime
    label: str
    href: str
    kind: str = "message"


@dataclass(frozen=True, slots=True)
class Bar:
    """A period on the timeline: an episode or a memory; ``end`` is None while it lasts."""

    start: datetime
    end: datetime | None
    label: str
    href: str
    kind: str


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars under one name.

    Attributes:
        name: of the lane.
        bars: in order of their start.
        successive: each bar takes the place of the one before: they share a row, and the hand-over is marked.
    """

    name: str
    bars: Sequence[Bar]
    successive: bool = False


def _text(text: str) -> Markup:
    """A text in a drawing."""
    return escape(revealed(text))


def _svg(width: float, height: float, title: str, parts: Iterable[str], name: str) -> Markup:
    body = "".join(parts)
    role = "group" if "<a " in body else "img"
    return Markup(  # noqa: S704 - every text in the parts is escaped
        f'<svg class="{name}" viewBox="0 0 {width:.0f} {height:.0f}" role="{role}" aria-label="{_text(title)}">{body}</svg>'
    )


def _titled(href: str, title: str, shape: str) -> str:
    """Shapes with a title, linked to a page if there is one; the arrow keys lead from one to the next."""
    parts = f"<title>{_text(title)}</title>{shape}"
    return f'<a href="{escape(href)}">{parts}</a>' if href else f"<g>{parts}</g>"


LETTER = 6.4
"""Width of a letter of a label."""
PEAK = 48
"""Height of the longest column."""


def timeline(
    begin: datetime,
    end: datetime,
    columns: Sequence[Column],
    ticks: Sequence[Tick],
    lanes: Sequence[Lane],
    day: datetime | None = None,
) -> Markup:
    """Messages as columns and ticks, and lanes of episodes and memories over one axis, with a line at a day.

    Args:
        begin: the left end.
        end: the right end, after ``begin``.
        columns: how many messages were said when.
        ticks: single messages, where there are few.
        lanes: what was true, or talked about, from when to when.
        day: where the line stands.
    """
    span = max((end - begin).total_seconds(), 1.0)

    def x(moment: datetime) -> float:
        return min(max((moment - begin).total_seconds() / span, 0.0), 1.0) * WIDTH

    parts = list(_axis(begin, end))
    top = 22 + PEAK
    most = max((column.count for column in columns), default=0)
    for column in columns:
        left, height = x(column.start), PEAK * column.count / most if most else 0.0
        if column.count:
            width = max(x(column.end) - left - 1, 1.5)
            shape = (
                f'<rect class="column" x="{left:.1f}" y="{top - max(height, 2):.1f}" width="{width:.1f}" '
                f'height="{max(height, 2):.1f}"/>'
            )
            title = f"{column.count:,} message{'s' if column.count != 1 else ''} from {_date(column.start)}"
            parts.append(_titled(column.href, title, shape))
    top += 6
    for tick in ticks:
        shape = f'<rect class="tick {tick.kind}" x="{x(tick.at):.1f}" y="{top}" width="3" height="12" rx="1"/>'
        parts.append(_titled(tick.href, one_line(tick.label, 120), shape))
    top += 20 if ticks else 6
    for lane in lanes:
        parts.append(f'<text class="axis lane" x="4" y="{top + 9}">{_text(one_line(lane.name, LABEL))}</text>')
        drawn, rows = (_successive if lane.successive else _packed)(lane.bars, x, top + 14)
        parts += drawn
        top += 14 + rows * ROW + 4
    if day is not None:
        parts.append(f'<line class="now" x1="{x(day):.1f}" x2="{x(day):.1f}" y1="16" y2="{top:.0f}"/>')
    return _svg(WIDTH, top + 4, "Messages, episodes and memories over time", parts, "timeline")


def _successive(bars: Sequence[Bar], x: Callable[[datetime], float], top: float) -> tuple[list[str], int]:
    """Values that follow each other, in one row, with a mark where one hands over to the next; and the number of rows."""
    parts: list[str] = []
    ends = [*(x(after.start) for after in bars[1:]), None]
    for bar, end in zip(bars, ends, strict=True):
        left = x(bar.start)
        right = end if end is not None else WIDTH if bar.end is None else x(bar.end)
        parts.append(_rect(bar, left, right - left, top))
        if room := int((right - left - 12) / LETTER) - 1:
            label = one_line(bar.label, max(room, 1)) if room > 2 else ""
            parts.append(f'<text class="label" x="{left + 8:.1f}" y="{top + 11}">{_text(label)}</text>')
    for before, bar, middle in zip(bars, bars[1:], ends, strict=False):
        title = f"{before.label} → {bar.label}, {_date(bar.start)}"
        shape = f'<circle class="handover" cx="{middle:.1f}" cy="{top + 7}" r="5"/>'
        parts.append(_titled(bar.href, title, shape))
    return parts, 1


def _packed(bars: Sequence[Bar], x: Callable[[datetime], float], top: float) -> tuple[list[str], int]:
    """Bars with their labels, each in the first row where it touches no other; and the number of rows."""
    parts: list[str] = []
    free: list[float] = []
    for bar in bars:
        left, right = x(bar.start), WIDTH if bar.end is None else x(bar.end)
        width = max(right - left, 4.0)
        letters = LETTER * len(one_line(bar.label, LABEL))
        # a label begins with its bar, or ends with it where the drawing ends
        late = left + letters > WIDTH
        first, last = (min(left, right - 10 - letters), right) if late else (left, left + max(width, letters))
        row = next((n for n, taken in enumerate(free) if taken <= first), len(free))
        free[row : row + 1] = [last + 8]
        y = top + row * ROW
        parts.append(_rect(bar, left, width, y))
        anchor, label_x = ("end", right - 5) if late else ("start", left + 5)
        label = _text(one_line(bar.label, LABEL))
        parts.append(f'<text class="label" x="{label_x:.1f}" y="{y + 11}" text-anchor="{anchor}">{label}</text>')
    return parts, len(free)


def _rect(bar: Bar, left: float, width: float, top: float) -> str:
    open_ = " open" if bar.end is None else ""
    shape = f'<rect class="bar {bar.kind}{open_}" x="{left:.1f}" y="{top}" width="{max(width, 4.0):.1f}" height="14" rx="3"/>'
    return _titled(bar.href, one_line(bar.label, 200), shape)


def _date(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"


def _axis(begin: datetime, end: datetime) -> Iterable[str]:
    steps = 6
    form = "%b %Y" if end - begin > timedelta(days=3) else "%b %H:%M"
    for step in range(steps + 1):
        moment = begin + (end - begin) * step / steps
        x = WIDTH * step / steps
        anchor = "start" if step == 0 else "end" if step == steps else "middle"
        yield f'<line class="grid" x1="{x:.0f}" x2="{x:.0f}" y1="16" y2="2000"/>'
        yield f'<text class="axis" x="{x:.0f}" y="11" text-anchor="{anchor}">{moment.day} {moment:{form}}</text>'


def shares(contributions: Mapping[str, float], best: float) -> Markup:
    """One stacked bar of what each signal adds; what takes away stands to its right.

    Args:
        contributions: by signal.
        best: the sum of the longest bar of the list, which takes the whole width.
    """
    parts: list[str] = []
    left, scale = 0.0, 400 / best if best > 0 else 0.0
    for name, value in sorted(contributions.items(), key=lambda part: -part[1]):
        width = abs(value) * scale
        kind = "taken" if value < 0 else f"signal {name}"
        parts.append(
            f'<rect class="{escape(kind)}" x="{left:.1f}" y="0" width="{max(width, 0.5):.1f}" height="10">'
            f"<title>{_text(name)} {value:+.3f}</title></rect>"
        )
        left += width
    summary = ", ".join(f"{name} {value:+.2f}" for name, value in contributions.items())
    return _svg(480, 10, f"Signals: {summary}", parts, "shares")


def plane(points: Iterable[tuple[Emotion, str, str]], mood: Emotion | None = None) -> Markup:
    """The plane of valence (left to right) and arousal (bottom to top), a point for each (emotion, label, link)."""
    size, half = 420, 190

    def position(emotion: Emotion) -> tuple[float, float]:
        return size / 2 + emotion.valence * half, size / 2 - emotion.arousal * half

    parts = [
        f'<rect class="field" x="20" y="20" width="{2 * half}" height="{2 * half}" rx="6"/>',
        f'<line class="grid" x1="20" x2="{size - 20}" y1="{size / 2}" y2="{size / 2}"/>',
        f'<line class="grid" x1="{size / 2}" x2="{size / 2}" y1="20" y2="{size - 20}"/>',
        *(
            f'<text class="axis" x="{x}" y="{y}" text-anchor="{anchor}">{name}</text>'
            for name, x, y, anchor in (
                ("distressed", 28, 36, "start"), ("excited", size - 28, 36, "end"), ("low", 28, size - 28, "start"),
                ("content", size - 28, size - 28, "end"),
            )
        ),
    ]  # fmt: skip
    for emotion, label, href in points:
        x, y = position(emotion)
        circle = (
            f'<circle class="point {emotion.quadrant}" cx="{x:.1f}" cy="{y:.1f}" r="{4 + 3 * emotion.confidence:.1f}"/>'
        )
        parts.append(_titled(href, one_line(label, LABEL), circle))
    if mood is not None:
        x, y = position(mood)
        parts.append(f'<circle class="mood" cx="{x:.1f}" cy="{y:.1f}" r="10"/>')
    return _svg(size, size, "Valence and arousal of memories", parts, "plane")


EDGE = 12
"""From the middle of a node to where an arrow ends."""
OUTWARD = 0.6
"""Where the word on a link of the centre stands, as a share of the way outward: the text of the centre is below it."""
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def neighbourhood(graph: Graph, centre: str, href: Mapping[str, str]) -> Markup:
    """A memory and its nearest neighbours by links, at most twelve; an arrow leads to what a link is about.

    Args:
        graph: the memories and links.
        centre: the id of the memory in the middle.
        href: the page of each memory.
    """
    around = [record for record in graph.memories if record.id != centre][:NEIGHBOURS]
    positions = {centre: (300.0, 170.0)}
    for n, record in enumerate(around):
        angle = 2 * math.pi * n / len(around) - math.pi / 2
        positions[record.id] = (300 + 210 * math.cos(angle), 170 + 125 * math.sin(angle))
    parts = [_TIP]
    for link in graph.links:
        if link.source in positions and link.target in positions:
            (x1, y1), (x2, y2) = positions[link.source], positions[link.target]
            distance = math.dist((x1, y1), (x2, y2)) or 1.0
            x2, y2 = x2 - EDGE * (x2 - x1) / distance, y2 - EDGE * (y2 - y1) / distance
            share = {link.source: OUTWARD, link.target: 1 - OUTWARD}.get(centre, 0.5)
            tip = "" if link.type == "contradicts" else ' marker-end="url(#tip)"'
            title = f"{link.type} {link.strength:.2f} {one_line(link.reason, 200)}"
            parts.append(
                f'<line class="link {link.type}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"{tip}>'
                f"<title>{_text(title)}</title></line>"
                f'<text class="axis" x="{x1 + share * (x2 - x1):.0f}" y="{y1 + share * (y2 - y1):.0f}" text-anchor="middle">'
                f"{_text(link.type)}</text>"
            )
    texts = {record.id: record.content for record in graph.memories}
    for id_, (x, y) in positions.items():
        kind = "centre" if id_ == centre else "node"
        label = _text(one_line(texts.get(id_, id_), 28))
        parts.append(
            f'<a href="{escape(href[id_])}" aria-label="{label}"><circle class="{kind}" cx="{x:.0f}" cy="{y:.0f}" r="9">'
            f"<title>{_text(one_line(texts.get(id_, id_), 200))}</title></circle>"
            f'<text class="label" x="{x:.0f}" y="{y + 24:.0f}" text-anchor="middle">{label}</text></a>'
        )
    return _svg(600, 340, "Linked memories", parts, "neighbourhood")
