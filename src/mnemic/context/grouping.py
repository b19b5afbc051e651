"""Hits as facts under the episodes they come from: what ``to_prompt`` shows once messages were processed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.context.fitting import hopeless
from mnemic.context.rendering import date_of, day_of, fenced, heading_of, line_of, marked
from mnemic.protocols import TokenCounter
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms
from mnemic.types import Episode, Evidence, Hit, MemoryRecord

__all__ = ["Grouped", "Replaced", "covers", "group"]

STORY = 200
"""Characters of the story of an episode."""
FIRST = 4_000
"""Characters of it in which its first sentence is looked for."""
CHEAPER = 0.7
"""A fact is told instead of the message it was made from when it takes no more than this share of its length ..."""
COVERED = 0.7
"""... and has at least this share of its words, and all of its numbers."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Replaced:
    """What the hits of a context refer to.

    Attributes:
        facts: memories by id: those made from the hits, and those that took the place of one.
        before: what memories replaced, by their id.
    """

    facts: Mapping[str, MemoryRecord] = field(default_factory=dict[str, MemoryRecord])
    before: Mapping[str, Sequence[MemoryRecord]] = field(default_factory=dict[str, Sequence[MemoryRecord]])


@dataclass(frozen=True, slots=True)
class Grouped:
    """A prompt, and the ids of the hits that it shows."""

    text: str = ""
    shown: tuple[str, ...] = ()


@dataclass(slots=True)
class _Section:
    """An episode in the prompt, or a day of what belongs to none."""

    heading: str
    began: datetime | None
    story: str = ""
    lines: list[tuple[Hit, str]] = field(default_factory=list[tuple[Hit, str]])

    def rendered(self) -> list[str]:
        """Its lines in the order they were said."""
        told = [line for _, line in sorted(self.lines, key=_when)]
        return [f"{self.heading}:", *([f"  {self.story}"] if self.story else []), *told]


def _when(pair: tuple[Hit, str]) -> tuple[float, str]:
    hit = pair[0]
    return (hit.sent_at.timestamp() if hit.sent_at else 0.0, hit.id)


def group(
    hits: Sequence[Hit],
    stories: Mapping[str, Episode],
    known: Replaced,
    *,
    max_tokens: int,
    count: TokenCounter,
    fence: str,
    evidence: Evidence | None = None,
) -> Grouped:
    """Render hits under the episodes they come from, and what belongs to none under its day.

    Args:
        hits: best first; what does not fit is passed over.
        stories: episodes by id.
        known: the memories behind the hits and what they replaced.
        max_tokens: the budget, at least 1; the text never exceeds it by ``count``.
        count: the tokenizer.
        fence: see ``pack``.
        evidence: see ``pack``.

    Returns:
        The text, empty when nothing fits. The story of an episode is left out where the lines below it say the same.
    """
    sections: dict[tuple[str, ...], _Section] = {}
    used = count(fenced([], fence, evidence)) + 1
    for hit in hits:
        episode = stories.get(hit.episode or "")
        key = ("episode", episode.id) if episode else ("day", day_of(_moment(hit, known)))
        section = sections.get(key) or _opened(episode, _moment(hit, known), fence)
        if any(hopeless(text, max_tokens, count, fence) for text in _texts(hit, known)):
            continue
        lines = _told(hit, known, day=key[1] if episode is None else None, fence=fence)
        if section.story and covers(" ".join([*(line for _, line in section.lines), *lines]), section.story):
            used -= count(f"  {section.story}\n") if section.lines else 0
            section.story = ""
        opening = 0 if section.lines else count("\n".join(section.rendered()) + "\n")
        cost = opening + count("\n".join(lines) + "\n")
        if used + cost > max_tokens and section.story and not section.lines:
            section.story = ""
            cost = count(f"{section.heading}:\n") + count("\n".join(lines) + "\n")
        if used + cost <= max_tokens:
            sections[key] = section
            section.lines += [(hit, line) for line in lines]
            used += cost
    text = _rendered(sections, fence, evidence)
    while sections and count(text) > max_tokens:  # tokens of a whole are not always the sum of its parts
        last = next(reversed(sections))
        sections[last].lines.pop()
        if not sections[last].lines:
            del sections[last]
        text = _rendered(sections, fence, evidence)
    shown = {hit.id for section in sections.values() for hit, _ in section.lines}
    return Grouped(text, tuple(hit.id for hit in hits if hit.id in shown)) if sections else Grouped()


def _opened(episode: Episode | None, moment: datetime | None, fence: str) -> _Section:
    if episode is None:
        return _Section(day_of(moment), moment and moment.replace(hour=0, minute=0, second=0, microsecond=0))
    first = next(iter(sentences(episode.content[:FIRST])), "")
    story = first if len(first) <= STORY else first[: first.rfind(" ", 0, STORY)] + " ..."
    heading = f"{heading_of(episode.title, fence)} ({day_of(episode.started_at)})"
    return _Section(heading, episode.started_at, marked(story, episode, fence))


def _moment(hit: Hit, known: Replaced) -> datetime | None:
    """When a hit was said, or when a fact that nobody said began to hold."""
    fact = known.facts.get(hit.id) if hit.kind == "memory" else None
    return fact.said_at or _from(fact) if fact else hit.sent_at


def _told(hit: Hit, known: Replaced, *, day: str | None, fence: str) -> list[str]:
    """The lines of a hit: its own words, or the facts made from it where these are shorter."""
    if facts := _facts(hit, known):
        return [_fact(fact, known, dated=day not in (None, day_of(_from(fact))), fence=fence) for fact in facts]
    return [line_of(hit, fence) + (_since(hit, known, fence) if hit.kind != "memory" else "")]


def _facts(hit: Hit, known: Replaced) -> list[MemoryRecord]:
    """The facts that are told instead of a hit's own words."""
    if hit.kind == "memory" and hit.id in known.facts:
        return [known.facts[hit.id]]
    facts = [known.facts[id_] for id_ in hit.via if id_ in known.facts]
    told = " ".join(fact.content for fact in facts)
    return facts if hit.kind == "memory" or (len(told) <= CHEAPER * len(hit.text) and covers(told, hit.text)) else []


def covers(told: str, text: str) -> bool:
    """Whether hardly anything of a text is missing in what is told instead of it."""
    if {*_NUMBER.findall(text)} - {*_NUMBER.findall(told)}:
        return False
    terms = set(content_terms(text))
    return len(terms & set(content_terms(told))) >= COVERED * len(terms)


def _texts(hit: Hit, known: Replaced) -> list[str]:
    """All that the lines of a hit show."""
    if facts := _facts(hit, known):
        return [record.content for fact in facts for record in (fact, *known.before.get(fact.id, ()))]
    return [hit.text, *(fact.content for fact in _later(hit, known) if hit.kind != "memory")]


def _later(hit: Hit, known: Replaced) -> list[MemoryRecord]:
    return [known.facts[id_] for id_ in hit.superseded_by if id_ in known.facts]


def _since(hit: Hit, known: Replaced, fence: str) -> str:
    """What took the place of what a message says."""
    later = _later(hit, known)
    return "".join(f" (now{_began(fact, ', since ')}: {marked(fact.content, fact, fence)})" for fact in later)


def _fact(fact: MemoryRecord, known: Replaced, *, dated: bool, fence: str) -> str:
    said = f" ({_began(fact)})" if dated and _began(fact) else ""
    until = f" (until {date_of(fact.invalid_at)})" if fact.invalid_at else ""
    before = "".join(f" (before: {marked(old.content, old, fence)})" for old in known.before.get(fact.id, ()))
    return f"- {marked(fact.content, fact, fence)}{said}{until}{before}"


def _began(fact: MemoryRecord, word: str = "") -> str:
    """Since when a fact holds, unless its own words say so: they are as exact as it was told."""
    began = _from(fact)
    return "" if fact.valid_at and f"{began.year:04d}" in fact.content else f"{word}{date_of(began)}"


def _from(fact: MemoryRecord) -> datetime:
    return fact.valid_at or fact.said_at or fact.created_at


def _rendered(sections: Mapping[tuple[str, ...], _Section], fence: str, evidence: Evidence | None) -> str:
    """Episodes and days in the order they began."""

    def began(key: tuple[str, ...]) -> tuple[bool, float, tuple[str, ...]]:
        moment = sections[key].began
        return (moment is None, moment.timestamp() if moment else 0.0, key)

    lines = [line for key in sorted(sections, key=began) for line in sections[key].rendered()]
    return fenced(lines, fence, evidence)
