"""One way to know a secret, and how it is looked for in time that grows with the text alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Match", "Pattern", "Span", "found"]

Match = re.Match[str]
Span = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """One way to know a secret.

    Attributes:
        kind: the name it is redacted under.
        needles: strings of which one must be in the text; they are far cheaper to look for than the expression.
        regex: the secret is one of its groups of `GROUPS`, or all of it.
        holds: has the last word on what the expression found.
        least: characters without a space that the text must hold in a row somewhere.
        anywhere: the expression does not begin with a needle: it is tried at every place.
    """

    kind: str
    needles: tuple[str, ...]
    regex: re.Pattern[str]
    holds: Callable[[Match], bool] | None = None
    least: int = 0
    anywhere: bool = False


GROUPS = ("secret", "escaped", "double", "single", "back", "bare")


def found(pattern: Pattern, text: str, sought: str) -> Iterator[Span]:
    """Where a text holds secrets of one kind.

    A match that turns out to be none is passed over as a whole, so that nothing is read twice from far apart.

    Args:
        pattern: what to look for.
        text: where.
        sought: the text as the needles are written: itself, or in lower case, of the same length.
    """
    if pattern.anywhere:
        for match in pattern.regex.finditer(text):
            if pattern.holds is None or pattern.holds(match):
                yield (*_secret(match), pattern.kind)
        return
    for needle in pattern.needles:
        at = sought.find(needle)
        while at >= 0:
            match = pattern.regex.match(text, at)
            if match is not None and (pattern.holds is None or pattern.holds(match)):
                yield (*_secret(match), pattern.kind)
            at = sought.find(needle, at + len(needle) if match is None else max(match.end(), at + len(needle)))


def _secret(match: Match) -> tuple[int, int]:
    for name in GROUPS:
        if name in match.re.groupindex and match[name] is not None:
            return match.span(name)
    return match.span()
