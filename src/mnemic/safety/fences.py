"""Fences of recalled text in prompts: detects it in incoming text, so that it is not stored again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_OPEN, _CLOSE = r"(?:<|&lt;|\\u003[cC]|\u2039)", r"(?:>|&gt;|\\u003[eE])"
_LOOSE = r"(?:(?!\n[ \t>]*\n|\\n\\n)[\s\S])*+"
"""Up to an empty line, the text after an opening fence without a closing one."""


@lru_cache(maxsize=64)
def _fence(fence: str) -> re.Pattern[str]:
    word = re.escape(fence)
    begin = rf"{_OPEN}memory[ \t]{{1,3}}{word}{_CLOSE}"
    end = rf"{_OPEN}/memory[ \t]{{1,3}}{word}{_CLOSE}"
    quoted = r"(?:(?<=\n)|^)[ \t]*(?:>[ \t]?)+"
    inner = rf"(?:(?!{end}|{begin})[\s\S])*+"
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
