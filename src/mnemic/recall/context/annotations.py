"""What a prompt says beside its evidence, as far as there is room: what holds instead, titles of episodes, their stories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mnemic.protocols import TokenCounter
from mnemic.recall.context.budget import hopeless
from mnemic.recall.context.lines import date_of, day_of, fenced, heading_of, inert, marked
from mnemic.recall.context.packing import Line, by_day
from mnemic.text.sentences import sentences
from mnemic.types import Episode, Evidence, MemoryRecord
from mnemic.types.literals import UNTRUSTED

__all__ = ["Background", "annotate"]

STORY = 200
"""Characters of the story of an episode, and of its title."""
FIRST = 4_000
"""Characters of it in which its first sentence is looked for."""

Place = tuple[str, str]
"""The day and the episode that a title stands over, or the id of the hit that a note stands behind, and nothing."""


@dataclass(frozen=True, slots=True)
class Background:
    """What the hits of a context refer to.

    Attributes:
        episodes: those that hits belong to, by id.
        memories: those among the hits, and those that took the place of one, by id.
        replaced: what memories replaced, by their id.
    """

    episodes: Mapping[str, Episode] = field(default_factory=dict[str, Episode])
    memories: Mapping[str, MemoryRecord] = field(default_factory=dict[str, MemoryRecord])
    replaced: Mapping[str, Sequence[MemoryRecord]] = field(default_factory=dict[str, Sequence[MemoryRecord]])


def annotate(
    lines: Sequence[Line],
    background: Background,
    *,
    max_tokens: int,
    count: TokenCounter,
    fence: str,
    evidence: Evidence | None = None,
) -> str:
    """The lines of a prompt with what there is room for beside them; none of them gives way.

    First what took the place of what they say, then titles of the episodes they come from, then stories, each in the order
    of rank. What the lines say already is not said again.

    Args:
        lines: as ``pack`` chose them, best first.
        background: what they refer to.
        max_tokens: the budget, at least 1; the text never exceeds it by ``count``.
        count: the tokenizer.
        fence: see ``pack``.
        evidence: see ``pack``.

    Returns:
        The text; empty when there is nothing to add or no room.
    """
    said = "\n".join(line.text for line in lines)
    used = count(_rendered(lines, [], fence, evidence))
    taken: list[tuple[Place, str]] = []
    for place, text in (
        *_notes(lines, background, said, max_tokens, count, fence),
        *_headings(lines, background, said, fence),
    ):
        cost = count(f"{text}\n")
        if used + cost <= max_tokens:
            taken.append((place, text))
            used += cost
    while taken:
        text = _rendered(lines, taken, fence, evidence)
        if count(text) <= max_tokens:
            return text
        taken.pop()  # tokens of a whole are not always the sum of its parts
    return ""


def _notes(
    lines: Sequence[Line], background: Background, said: str, budget: int, count: TokenCounter, fence: str
) -> Iterator[tuple[Place, str]]:
    """What stands behind lines: since when, until when, what was so before, what is so now."""
    for line in lines:
        hit = line.hit
        record = background.memories.get(hit.id)
        others = (
            [background.memories[id_] for id_ in hit.superseded_by if id_ in background.memories]
            if record is None
            else background.replaced.get(hit.id, ())
        )
        told = [
            (other, inert(other.content, fence))
            for other in others
            if not hopeless(other.content, budget, count, fence)
        ]
        new = [other for other, text in told if text not in said]
        if record is None:
            notes = [f" (now{_began(other, ', since ')}: {marked(other.content, other, fence)})" for other in new]
        else:
            since = _began(record)
            notes = [f" ({since})"] if since and since != date_of(hit.sent_at) else []
            notes += [f" (until {date_of(record.invalid_at)})"] if record.invalid_at else []
            notes += [f" (before: {marked(other.content, other, fence)})" for other in new]
        yield from (((hit.id, ""), note) for note in notes if line.text)


def _began(fact: MemoryRecord, word: str = "") -> str:
    """Since when a fact holds, unless its own words say so: they are as exact as it was told."""
    began = fact.valid_at or fact.said_at or fact.created_at
    return "" if fact.valid_at and f"{began.year:04d}" in fact.content else f"{word}{date_of(began)}"


def _headings(lines: Sequence[Line], background: Background, said: str, fence: str) -> Iterator[tuple[Place, str]]:
    """Titles of the episodes of lines, then their stories; nothing of an episode that is not trusted."""
    told: dict[Place, Episode] = {}
    for line in lines:
        episode = background.episodes.get(line.hit.episode or "")
        if line.text and episode is not None and episode.trust >= UNTRUSTED:
            told.setdefault((day_of(line.hit.sent_at), episode.id), episode)
    below = said.casefold()
    for place, episode in told.items():
        title = heading_of(episode.title[:STORY], fence)
        if title and title.casefold() not in below:
            yield place, f"{title}:"
    for place, episode in told.items():
        first = next(iter(sentences(episode.content[:FIRST])), "")
        story = inert(first if len(first) <= STORY else f"{first[: first.rfind(' ', 0, STORY)]} ...", fence)
        if story and story.casefold() not in below:
            yield place, f"  {story}"


def _rendered(lines: Sequence[Line], added: Sequence[tuple[Place, str]], fence: str, evidence: Evidence | None) -> str:
    """The lines of each day, those of an episode together, with what was added."""
    beside: dict[Place, list[str]] = {}
    for place, text in added:
        beside.setdefault(place, []).append(text)
    parts: list[str] = []
    for day, told in by_day(lines):
        parts.append(f"{day}:")
        sections: dict[str, list[str]] = {"": []}
        for line in told:
            episode = line.hit.episode or ""
            key = episode if (day, episode) in beside else ""
            sections.setdefault(key, list(beside.get((day, episode), ()))).append(
                line.text + "".join(beside.get((line.hit.id, ""), ()))
            )
        parts += [text for section in sections.values() for text in section]
    return fenced(parts, fence, evidence)
