"""Trust, set by the source of a text and at most that of its sources; and fences, which show what was recalled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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


_OPEN, _CLOSE = r"(?:<|&lt;|\\u003[cC]|\u2039)", r"(?:>|&gt;|\\u003[eE])"
_LOOSE = r"(?>(?:(?!\n[ \t>]*\n|\\n\\n)[\s\S])*)"
"""Up to an empty line, the text after an opening fence without a closing one."""


@lru_cache(maxsize=64)
def _fence(fence: str) -> re.Pattern[str]:
    word = re.escape(fence)
    begin = rf"{_OPEN}memory[ \t]{{1,3}}{word}{_CLOSE}"
    end = rf"{_OPEN}/memory[ \t]{{1,3}}{word}{_CLOSE}"
    quoted = r"(?:(?<=\n)|^)[ \t]*(?:>[ \t]?)+"
    inner = rf"(?>(?:(?!{end}|{begin})[\s\S])*)"
    return re.compile(rf"(?:{quoted})?{begin}(?:{inner}(?P<end>{end})|{_LOOSE})|(?:{quoted})?{end}")


def without_recalled(text: str, fence: str) -> str | None:
    """The text without the fenced blocks of this record; None when it has none.

    Also handles mail quotes, HTML and JSON escapes, and blocks without an end, which are removed up to the next empty
    line.

    Args:
        text: incoming text.
        fence: the word of the record's fences.
    """
    if fence not in text:
        return None
    rest, count = _fence(fence).subn("", text)
    return rest.strip() if count else None


def is_cut_off(text: str, fence: str) -> bool:
    """Whether a text has an unbalanced fence of this record, so that recalled text may remain in it.

    Args:
        text: incoming text.
        fence: the word of the record's fences.
    """
    return fence in text and any(match["end"] is None for match in _fence(fence).finditer(text))


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
