"""Prompts in other forms: Markdown, XML and JSON, with facts under their episodes."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, cast, get_args

from mnemic.errors import InvalidInput
from mnemic.recall.context import packing
from mnemic.recall.context.packing import Background, Frame, Line
from mnemic.text.values import shown
from mnemic.types import Evidence, Hit, MemoryContext
from mnemic.types.literals import Style

Outline = dict[str, Any]
"""A prompt as JSON: ``preferences``, ``procedures``, ``episodes`` (with messages and facts), ``messages`` and ``facts``."""

SINGULAR = {
    "preferences": "preference", "procedures": "procedure", "episodes": "episode", "messages": "message", "facts": "fact",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StyledPrompt:
    """The lines of a context, to be rendered in a style within its budget."""

    lines: tuple[Line, ...]
    background: Background
    frame: Frame

    def __call__(self, style: Style) -> str:
        """The prompt; as many lines as fit, best first, or the beginning of the best one.

        Raises:
            InvalidInput: there is no such style.
        """
        if style not in get_args(Style):
            raise InvalidInput(f"style must be one of {list(get_args(Style))} or None, not {shown(style)}.")
        sizes = range(0 if self.frame.standing else 1, len(self.lines) + 1)
        fitting = bisect_left(sizes, x=True, key=lambda size: not self.frame.fits(self._text(style, self.lines[:size])))
        return self._text(style, self.lines[: sizes[fitting - 1]]) if fitting else self._beginning(style)

    def _beginning(self, style: Style) -> str:
        """As much of the best line as fits, without the title of its episode."""
        text = self.lines[0].shown if self.lines else ""

        def cut(size: int) -> str:
            line = replace(self.lines[0], shown=f"{text[:size]} ...")
            return self._text(style, [line], Background())

        size = bisect_left(range(1, len(text)), x=True, key=lambda size: not self.frame.fits(cut(size)))
        return cut(size) if size else ""

    def _text(self, style: Style, lines: Sequence[Line], background: Background | None = None) -> str:
        outline = _outline(lines, background or self.background, self.frame)
        match style:
            case "markdown":
                rows = _markdown(outline)
            case "xml":
                rows = [*_element("context", outline)]
            case "json":
                rows = [json.dumps(outline, ensure_ascii=False)]
        return replace(self.frame, preferences=(), procedures=()).render(rows)


def without_repeated(context: MemoryContext, other: MemoryContext) -> MemoryContext:
    """A context without what another one shows, and the lines that those of it contain, for a prompt that shows both."""
    prompt, other_prompt = context.render, other.render
    if not isinstance(prompt, StyledPrompt) or not isinstance(other_prompt, StyledPrompt):  # nothing was found
        return context
    shown, frame = {id_ for hit in other.hits for id_ in (hit.id, *hit.via)}, prompt.frame
    lines = [line for line in packing.uncovered(prompt.lines, other_prompt.lines) if line.hit.id not in shown]
    if len(lines) == len(prompt.lines):
        return context
    dropped = {line.hit.id for line in prompt.lines} - {line.hit.id for line in lines}
    text = packing.render_lines(lines, frame)
    return replace(
        context, text=text, prompt=packing.annotate(lines, prompt.background, frame) if text else "",
        hits=tuple(hit for hit in context.hits if hit.id not in dropped),
        memories=tuple(memory for memory in context.memories if memory.id not in dropped),
        token_count=frame.count(text) if text else 0, render=replace(prompt, lines=lines),
    )  # fmt: skip


def render_hits(frame: Frame, hits: Sequence[Hit], evidence: Evidence, style: Style | None) -> str:
    """Hits of a search as a prompt; empty without hits."""
    packed = packing.pack(hits, replace(frame, evidence=evidence))
    if style is None:
        return packed.context.text
    return StyledPrompt(packed.lines, Background(), replace(frame, evidence=evidence))(style)


def _outline(lines: Sequence[Line], background: Background, frame: Frame) -> Outline:
    """Lines in order of time, under their episode or their day; facts of episodes that are not shown stand apart."""
    messages = [line for line in packing.in_order(lines) if line.hit.kind != "memory"]
    facts = [line for line in packing.in_order(lines) if line.hit.kind == "memory"]
    keys = dict.fromkeys(_key(line.hit, background) for line in messages)
    sections = [
        _section(key, [line for line in messages if _key(line.hit, background) == key],
                 [line for line in facts if key[1] and line.hit.episode == key[1]], background, frame)
        for key in keys
    ]  # fmt: skip
    episodes = {key[1] for key in keys if key[1]}
    apart = [_entry(line, frame) for line in facts if line.hit.episode not in episodes]
    outline = {"episodes": sections, "facts": apart}
    return {**frame.standing, **{name: value for name, value in outline.items() if value}}


def _key(hit: Hit, background: Background) -> tuple[str, str]:
    """Where a line stands: the day, and the episode if it is known."""
    episode = (hit.id if hit.kind == "episode" else hit.episode) or ""
    return packing.day_of(hit.sent_at), episode if episode in background.episodes else ""


def _section(
    key: tuple[str, str], messages: Sequence[Line], facts: Sequence[Line], background: Background, frame: Frame
) -> Outline:
    day, id_ = key
    title = packing.heading_of(background.episodes[id_], frame.fence) if id_ else ""
    section = {
        "title": title, "day": day, "messages": [_entry(line, frame, dated=False) for line in messages],
        "facts": [_entry(line, frame) for line in facts],
    }  # fmt: skip
    return {name: value for name, value in section.items() if value}


def _entry(line: Line, frame: Frame, *, dated: bool = True) -> Outline:
    hit = line.hit
    speaker, text = packing.spoken(hit, frame.fence, line.shown)
    entry: Outline = {"speaker": speaker} if speaker else {}
    if dated and hit.sent_at:
        entry["date"] = packing.date_of(hit.sent_at)
    if not hit.current:
        entry["current"] = False
    return entry | {"text": f"{text}{packing.times_said(hit)}"}


def _element(name: str, value: Mapping[str, Any] | str, indent: str = "") -> Iterator[str]:
    """An element: scalars are attributes, ``text`` is the body, lists are children."""
    if isinstance(value, str):
        yield f"{indent}<{name}>{escape(value, quote=False)}</{name}>"
        return
    attributes = "".join(
        f' {key}="{escape(str(item).lower() if isinstance(item, bool) else item)}"'
        for key, item in value.items()
        if key != "text" and not isinstance(item, list)
    )
    children = [
        (child, item) for key, child in SINGULAR.items() for item in cast("list[Outline | str]", value.get(key, []))
    ]
    if not children:
        yield f"{indent}<{name}{attributes}>{escape(value.get('text', ''), quote=False)}</{name}>"
        return
    yield f"{indent}<{name}{attributes}>"
    for child, item in children:
        yield from _element(child, item, f"{indent}  ")
    yield f"{indent}</{name}>"


def _markdown(outline: Outline) -> list[str]:
    parts = list[str]()
    for name in ("preferences", "procedures"):
        parts += [f"## {name.capitalize()}", *(f"- {text}" for text in outline[name])] if name in outline else []
    for section in outline.get("episodes", ()):
        title = section.get("title")
        parts.append(f"## {title} ({section['day']})" if title else f"## {section['day']}")
        parts += [_item(entry) for entry in section["messages"]]
        if "facts" in section:
            parts += ["", "**Key facts**", *(_item(entry) for entry in section["facts"])]
    if "facts" in outline:
        parts += ["## Additional facts", *(_item(entry) for entry in outline["facts"])]
    return parts


def _item(entry: Outline) -> str:
    speaker = f"{entry['speaker']}: " if "speaker" in entry else ""
    date = f" ({entry['date']})" if "date" in entry else ""
    return f"- {speaker}{entry['text']}{date}{'' if entry.get('current', True) else ' [no longer current]'}"
