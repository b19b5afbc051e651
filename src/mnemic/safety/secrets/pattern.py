"""Patterns of secrets, matched in time linear in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mnemic.services.processes import cached_property

__all__ = ["Expression", "Match", "Pattern", "Span", "found"]

Match = re.Match[str]
Span = tuple[int, int, str]
"""Start, end and kind of a secret."""


class Expression:
    """A regular expression that is compiled when a text first needs it: most texts need none, and all take long."""

    def __init__(self, expression: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._expression, self._flags = expression, flags

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self._expression, self._flags)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """A pattern of secrets.

    Attributes:
        kind: the name in the mark.
        needles: strings of which one must be in the text; far cheaper to find than the expression.
        expression: the secret is one of its groups of `GROUPS`, or the whole match.
        holds: a final check of a match.
        least: least length of a word in the text.
        anywhere: the expression does not start with a needle and is tried everywhere.
    """

    kind: str
    needles: tuple[str, ...]
    expression: Expression
    holds: Callable[[Match], bool] | None = None
    least: int = 0
    anywhere: bool = False


GROUPS = ("secret", "escaped", "double", "single", "back", "bare")


def found(pattern: Pattern, text: str, sought: str) -> Iterator[Span]:
    """Spans of secrets of one pattern.

    A rejected match is skipped as a whole, which keeps the time linear.

    Args:
        pattern: the pattern.
        text: the text.
        sought: the text in the case of the needles, of the same length.
    """
    regex = pattern.expression.regex
    if pattern.anywhere:
        for match in regex.finditer(text):
            if pattern.holds is None or pattern.holds(match):
                yield (*_secret(match), pattern.kind)
        return
    for needle in pattern.needles:
        at = sought.find(needle)
        while at >= 0:
            match = regex.match(text, at)
            if match is not None and (pattern.holds is None or pattern.holds(match)):
                yield (*_secret(match), pattern.kind)
            at = sought.find(needle, at + len(needle) if match is None else max(match.end(), at + len(needle)))


def _secret(match: Match) -> tuple[int, int]:
    for name in GROUPS:
        if name in match.re.groupindex and match[name] is not None:
            return match.span(name)
    return match.span()
