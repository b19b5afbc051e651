"""Hits to prompt text within a token budget. Pure: the same hits, budget and counter give the same text."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.context.fitting import hopeless, roomy
from mnemic.context.rendering import day_of, fenced, line_of
from mnemic.protocols import TokenCounter
from mnemic.types import Evidence, Hit, MemoryContext, MemorySummary

__all__ = ["pack"]

LONGEST_WORD = 40


def _order(hit: Hit) -> tuple[bool, float, str, str]:
    moment = hit.sent_at
    return (moment is None, moment.timestamp() if moment else 0.0, hit.session or "", hit.id)


def _render(lines: Sequence[tuple[Hit, str]], fence: str, evidence: Evidence | None) -> str:
    """Lines in the order of time under the day they belong to, inside the fence."""
    parts: list[str] = []
    day: str | None = None
    for hit, line in sorted(lines, key=lambda pair: _order(pair[0])):
        if day_of(hit.sent_at) != day:
            day = day_of(hit.sent_at)
            parts.append(f"{day}:")
        parts.append(line)
    return fenced(parts, fence, evidence)


def _choose(
    hits: Sequence[Hit], budget: int, count: TokenCounter, fence: str, evidence: Evidence | None
) -> list[tuple[Hit, str]]:
    """Greedy by rank, so that a worse hit more never drops a better one; a hit that does not fit is passed over."""
    chosen: list[tuple[Hit, str]] = []
    days: set[str] = set()
    used = count(_render([], fence, evidence)) + 1
    for hit in hits:
        header = 0 if day_of(hit.sent_at) in days else count(f"{day_of(hit.sent_at)}:\n")
        for text in (hit.text, hit.summary):
            if text is None or hopeless(text, budget, count, fence):
                continue
            line = line_of(hit, fence, text)
            cost = header + count(line + "\n")
            if used + cost <= budget:
                chosen.append((hit, line))
                days.add(day_of(hit.sent_at))
                used += cost
                break
    return chosen


def _cut(hit: Hit, budget: int, count: TokenCounter, fence: str, evidence: Evidence | None) -> list[tuple[Hit, str]]:
    """The beginning of the best hit, when not even that fits whole."""

    def fits(size: int) -> bool:
        return count(_render([(hit, line_of(hit, fence, hit.text[:size] + " ..."))], fence, evidence)) <= budget

    low, high = 0, len(hit.text)
    if hopeless(hit.text, budget, count, fence):
        high = roomy(budget)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    space = hit.text.rfind(" ", max(low - LONGEST_WORD, 1), low)
    whole_words = hit.text[:space] if space > 0 else hit.text[:low]
    return [(hit, line_of(hit, fence, whole_words + " ..."))] if low else []


def pack(
    hits: Sequence[Hit], *, max_tokens: int, count: TokenCounter, fence: str, evidence: Evidence | None = None
) -> MemoryContext:
    """Choose hits for a budget and render them.

    Args:
        hits: best first.
        max_tokens: the budget, at least 1. The rendered text never exceeds it by ``count``.
        count: the tokenizer.
        fence: a word that marks the fence; occurrences inside the texts are blotted out.
        evidence: the grade that the text states; None states none.

    Returns:
        The context; empty text when nothing fits. ``truncated`` tells that a hit was left out or cut.
    """
    chosen = _choose(hits, max_tokens, count, fence, evidence)
    cut = not chosen and bool(hits)
    if cut:
        chosen = _cut(hits[0], max_tokens, count, fence, evidence)
    text = _render(chosen, fence, evidence) if chosen else ""
    while chosen and count(text) > max_tokens:  # tokens of a whole are not always the sum of its parts
        chosen = chosen[:-1]
        text = _render(chosen, fence, evidence) if chosen else ""
    taken = tuple(hit for hit, _ in chosen)
    return MemoryContext(
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
