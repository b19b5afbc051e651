"""What a person wrote in a text, apart from what a program printed: stack traces, logs, code outside of a fence."""

from __future__ import annotations

import re

_PRINTED = re.compile(
    r"""\s*(?:
    Traceback[ ]\(most[ ]recent | File[ ]"[^"]+",[ ]line[ ]\d | at[ ]\S+[ ]?\(\S+:\d+\) | (?:Caused[ ]by|panic):[ ]
    | (?:Exception[ ]in[ ].*)?\w\S*(?:Error|Exception|Warning):(?:\s|\Z)
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d | \[?\d\d:\d\d:\d\d\b
    )""",
    re.VERBOSE,
)
"""Beginnings of lines of stack traces and logs, which may go on in words."""
_NUMBER = re.compile(r"(?=\D*\d)[\W\d]+")
_CODE = re.compile(r"\w(?:[\\/_()\[\]$^~`]|::)+\w|\w\(|[{}<>|\\=]|\A[\"'(]*(?:[/~$]\w?|--\w)", re.ASCII)
_SYMBOL = re.compile(r"[=<>{}\[\]|\\/_#$%^&*~`@+;()]|(?<!\d):")
_MOST_SYMBOLS = 0.04
GAP = 2
"""Most lines between two printed ones that belong to the same output."""


def symbol_share(text: str) -> float:
    """The share of characters that are symbols."""
    return len(_SYMBOL.findall(text)) / max(len(text), 1)


def is_prose(line: str) -> bool:
    """Whether a line has few symbols, at most one in a short line: most lines of code, logs and tables have more."""
    return symbol_share(line) <= max(_MOST_SYMBOLS, 1 / max(len(line), 1))


def without_output(text: str) -> str:
    """A text without the lines that a program printed.

    A line was printed if it begins as one of a stack trace or a log, if at least half of its words are code, or if it
    stands, without a blank line, between two such lines or indented below one.
    """
    lines = text.splitlines()
    printed = [_is_printed(line) for line in lines]
    last: int | None = None
    for at, line in enumerate(lines):
        if not line.strip():
            last = None
        elif printed[at]:
            if last is not None and at - last <= GAP + 1:
                printed[last:at] = [True] * (at - last)
            last = at
        elif last == at - 1 and line[0].isspace():
            printed[at], last = True, at
    return "\n".join("" if out else line for line, out in zip(lines, printed, strict=True))


def _is_printed(line: str) -> bool:
    if _PRINTED.match(line):
        return True
    words = [word for word in line.split() if not _NUMBER.fullmatch(word)]
    return bool(words) and 2 * sum(_CODE.search(word) is not None for word in words) >= len(words)
