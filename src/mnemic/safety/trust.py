"""Trust, set by the source of a text and at most that of its sources; and fences, which show what was recalled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mnemic.types import Source
from mnemic.types.literals import UNTRUSTED

TRUST_OF_SOURCE: Mapping[Source, float] = {
    "direct_user": 1.0, "model_inference": 0.7, "tool_internal": 0.7, "document": 0.4, "tool_external": 0.3,
}  # fmt: skip
"""Default trust by source."""

REPEATED_TRUST = TRUST_OF_SOURCE["tool_external"]
"""Most trust of a text that repeats untrusted text."""

UNTRUSTED_SHARE = 0.3
"""Largest share of the hits of a search from one untrusted source."""


def is_trusted(trust: float | None) -> bool:
    """Whether a text is trusted; a message without a trust value is."""
    return trust is None or trust >= UNTRUSTED


def least_trust(trusts: Iterable[float | None]) -> float:
    """The trust of a text derived from several: the minimum; 1 for none."""
    return min((trust for trust in trusts if trust is not None), default=1.0)


@dataclass(slots=True)
class SourceQuota:
    """Limits the share of each untrusted source in a list of hits.

    Each source may have its share of ten hits at once, and one more whenever the list has grown enough, so that a
    longer list begins with the shorter one.

    Attributes:
        share: largest share of one source, 0 to 1; 1 is no limit.
    """

    share: float = UNTRUSTED_SHARE
    _admitted: Counter[str] = field(default_factory=Counter[str])

    def admits(self, source: str | None, through: int) -> bool:
        """Whether a hit may follow so many others; the source of trusted hits is None."""
        if source is None or self.share >= 1.0:
            return True
        return self._admitted[source] < max(round(self.share * 10), int(self.share * (through + 1)))

    def count(self, source: str | None) -> None:
        """Count an admitted hit of a source."""
        if source is not None:
            self._admitted[source] += 1


_ESCAPED = r"&(?>(?:amp;)*)#?\w{1,8};|%(?>(?:25)*)[0-9a-f]{2}|\\{1,4}(?:u00|x)[0-9a-f]{2}"
_OPEN = rf"(?:{_ESCAPED}|\\{{0,4}}[<\[\uff1c\ufe64\u2039])"
_CLOSE = rf"[\"']?(?:{_ESCAPED}|\\{{0,4}}[>\]\uff1e\ufe65\u203a])"
_SLASH = r"(?:\\{0,4}[/\uff0f]|%(?>(?:25)*)2f|&(?>(?:amp;)*)(?:#0*+47|#x0*+2f|sol);|\\{1,4}(?:u00|x)2f)"
_EMPTY_LINE = re.compile(r"\n[ \t>]*+\n|\\n\\n")


@lru_cache(maxsize=64)
def _fence(word: str) -> re.Pattern[str]:
    """A fence, known by its word: as it is, quoted as in mail, escaped, or in other brackets."""
    quotation = r"(?:(?:(?<=\n)|^)[ \t]*+(?>(?:>[ \t]?)+))?"
    return re.compile(
        rf"{quotation}{_OPEN}[ \t]{{0,3}}(?P<end>{_SLASH}[ \t]{{0,3}})?memory[^\n]{{1,24}}?{re.escape(word)}(?:{_CLOSE})?",
        re.IGNORECASE,
    )


def _blocks(text: str, word: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each fenced block, and whether it is whole; one without an end goes up to the next empty line."""
    begun: re.Match[str] | None = None
    for fence in _fence(word).finditer(text):
        if begun is not None:
            yield (begun.start(), fence.end(), True) if fence["end"] else (*_loose(begun, fence.start()), False)
        elif fence["end"]:
            yield (*fence.span(), False)
        begun = None if fence["end"] else fence
    if begun is not None:
        yield (*_loose(begun, len(text)), False)


def _loose(begun: re.Match[str], most: int) -> tuple[int, int]:
    empty = _EMPTY_LINE.search(begun.string, begun.end(), most)
    return begun.start(), empty.start() if empty else most


def _has(text: str, word: str) -> bool:
    return word in text or word.upper() in text


def without_recalled(text: str, fence: str) -> str | None:
    """The text without the fenced blocks of this record; None when it has none.

    Also handles mail quotes, escapes, and blocks without an end, which are removed up to the next empty line.

    Args:
        text: incoming text.
        fence: the word of the record's fences.
    """
    blocks = [*_blocks(text, fence)] if _has(text, fence) else []
    if not blocks:
        return None
    kept = zip((0, *(end for _, end, _ in blocks)), (*(start for start, _, _ in blocks), len(text)), strict=True)
    return "".join(text[start:end] for start, end in kept).strip()


def is_cut_off(text: str, fence: str) -> bool:
    """Whether a text has an unbalanced fence of this record, so that recalled text may remain in it.

    Args:
        text: incoming text.
        fence: the word of the record's fences.
    """
    return _has(text, fence) and not all(whole for *_, whole in _blocks(text, fence))


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a rendered context, and its heading."""

    heading: str
    text: str


def parsed(context: str, fence: str) -> Sequence[Item] | None:
    """The items of a rendered context, or None if it is not enclosed in fences of this record.

    Headings start in the first column, items with a hyphen, and continuation lines with two spaces.

    Args:
        context: the text of a context.
        fence: the word of the record's fences.
    """
    lines = context.split("\n")
    if len(lines) < 3 or lines[0] != f"<memory {fence}>" or lines[-1] != f"</memory {fence}>":
        return None
    heading, items, open_ = "", list[Item](), False
    for line in lines[2:-1]:
        if line.startswith("- "):
            items.append(Item(heading, line[2:]))
            open_ = True
        elif line.startswith("  "):
            if open_:
                items[-1] = Item(heading, f"{items[-1].text}\n{line[2:]}")
        elif line.endswith(":"):
            heading, open_ = line[:-1], False
        else:
            return None
    return items
