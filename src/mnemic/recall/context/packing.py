"""Hits to prompt text within a token budget. Pure: the same hits, budget and counter give the same text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mnemic.protocols import TokenCounter
from mnemic.recall.context.budget import hopeless, roomy
from mnemic.recall.context.lines import day_of, fenced, line_of
from mnemic.types import Evidence, Hit, MemoryContext, MemorySummary

__all__ = ["Line", "Packed", "by_day", "pack"]

LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Line:
    """A hit and the line that shows it; no text where the line of another hit says the same.

    ``whole`` tells that the line shows the text of the hit, not its summary or beginning.
    """

    hit: Hit
    text: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Packed:
    """A context, and the lines it is made of, best first."""

    context: MemoryContext
    lines: tuple[Line, ...]


def _order(line: Line) -> tuple[bool, float, str, str]:
    hit = line.hit
    moment = hit.sent_at
    return (moment is None, moment.timestamp() if moment else 0.0, hit.session or "", hit.id)


def by_day(lines: Iterable[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Lines in the order of time, with the day they belong to."""
    shown = sorted((line for line in lines if line.text), key=_order)
    for day, told in groupby(shown, key=lambda line: day_of(line.hit.sent_at)):
        yield day, list(told)


def _render(lines: Iterable[Line], fence: str, evidence: Evidence | None) -> str:
    """Lines under their days, inside the fence."""
    parts = [part for day, told in by_day(lines) for part in (f"{day}:", *(line.text for line in told))]
    return fenced(parts, fence, evidence)


def _choose(hits: Sequence[Hit], budget: int, count: TokenCounter, fence: str, evidence: Evidence | None) -> list[Line]:
    """Greedy by rank, so that a worse hit more never drops a better one; a hit that does not fit is passed over."""
    chosen: list[Line] = []
    shown: dict[str, list[int]] = {}
    used = count(_render([], fence, evidence)) + 1
    for hit in hits:
        day = day_of(hit.sent_at)
        if any(_says(chosen[at], hit) for at in shown.get(day, ())):
            chosen.append(Line(hit, ""))
            continue
        header = 0 if day in shown else count(f"{day}:\n")
        for text in (hit.text, hit.summary):
            if text is None or hopeless(text, budget, count, fence):
                continue
            line = Line(hit, line_of(hit, fence, text), text is hit.text)
            within = [at for at in shown.get(day, ()) if _says(line, chosen[at].hit)]
            cost = header + count(line.text + "\n") - sum(count(chosen[at].text + "\n") for at in within)
            if used + cost <= budget:
                for at in within:
                    chosen[at] = replace(chosen[at], text="", whole=False)
                shown[day] = [at for at in shown.get(day, ()) if at not in within] + [len(chosen)]
                chosen.append(line)
                used += cost
                break
    return chosen


def _says(line: Line, other: Hit) -> bool:
    """Whether a line tells all that another hit of its day does: a message, the memory taken from it, or the reverse."""
    hit = line.hit
    return (
        line.whole
        and {hit.kind, other.kind} == {"message", "memory"}
        and hit.trust >= other.trust
        and bool(hit.superseded_by) == bool(other.superseded_by)
        and _within(other.text.strip(), hit.text)
    )


def _within(part: str, whole: str) -> bool:
    """Whether a text stands in another between words."""
    at = whole.find(part)
    while at >= 0:
        around = whole[at - 1 : at] + whole[at + len(part) : at + len(part) + 1]
        if not any(char.isalnum() for char in around):
            return True
        at = whole.find(part, at + 1)
    return False


def _shortened(lines: Sequence[Line]) -> list[Line]:
    """Lines without the last that shows something, and without those that only it told."""
    last = max(at for at, line in enumerate(lines) if line.text)
    left = [line for at, line in enumerate(lines) if at != last]
    return [line for line in left if line.text or any(_says(one, line.hit) for one in left)]


def _cut(hit: Hit, budget: int, count: TokenCounter, fence: str, evidence: Evidence | None) -> list[Line]:
    """The beginning of the best hit, when not even that fits whole."""

    def fits(size: int) -> bool:
        return count(_render([Line(hit, line_of(hit, fence, hit.text[:size] + " ..."))], fence, evidence)) <= budget

    low, high = 0, len(hit.text)
    if hopeless(hit.text, budget, count, fence):
        high = roomy(budget)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    space = hit.text.rfind(" ", max(low - LONGEST_WORD, 1), low)
    whole_words = hit.text[:space] if space > 0 else hit.text[:low]
    return [Line(hit, line_of(hit, fence, whole_words + " ..."))] if low else []


def pack(
    hits: Sequence[Hit], *, max_tokens: int, count: TokenCounter, fence: str, evidence: Evidence | None = None
) -> Packed:
    """Choose hits for a budget and render them.

    Args:
        hits: best first.
        max_tokens: the budget, at least 1. The rendered text never exceeds it by ``count``.
        count: the tokenizer.
        fence: a word that marks the fence; occurrences inside the texts are blotted out.
        evidence: the grade that the text states; None states none.

    Returns:
        The context, and its lines; empty text when nothing fits. ``truncated`` tells that a hit was left out or cut. A memory
        whose words stand in a message that is shown has no line of its own.
    """
    chosen = _choose(hits, max_tokens, count, fence, evidence)
    cut = not chosen and bool(hits)
    if cut:
        chosen = _cut(hits[0], max_tokens, count, fence, evidence)
    text = _render(chosen, fence, evidence) if chosen else ""
    while chosen and count(text) > max_tokens:  # tokens of a whole are not always the sum of its parts
        chosen = _shortened(chosen)
        text = _render(chosen, fence, evidence) if chosen else ""
    taken = tuple(line.hit for line in chosen)
    context = MemoryContext(
        text=text,
        memories=tuple(
            MemorySummary(
                id=h.id,
                summary=h.summary or h.text,
                content=h.text,
                importance=0.5 if h.importance is None else h.importance,
            )
            for h in taken
        ),
        hits=taken,
        token_count=count(text) if text else 0,
        truncated=cut or len(taken) < len(hits),
    )
    return Packed(context, tuple(chosen))
