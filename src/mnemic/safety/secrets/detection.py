"""Detection of secrets: cheap tests first, so that an ordinary text costs microseconds."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Sequence

from mnemic.safety.secrets.pattern import Pattern, Span, found
from mnemic.safety.secrets.surroundings import ADJACENT_PATTERNS, ANYWHERE, CONTEXT_PATTERNS, columns
from mnemic.safety.secrets.tokens import NUMBERS, TOKENS

__all__ = ["KINDS", "MARK", "Finder", "pieces", "without_marks"]

KINDS = frozenset(pattern.kind for pattern in (*TOKENS, *CONTEXT_PATTERNS, *ADJACENT_PATTERNS, *NUMBERS))
"""Every known kind of secret."""

LEAST = 16
"""Least length of a word that may be a token."""
PASSES = 20
"""Most passes over a text while there is something to redact."""

MARK = re.compile(r"\[redacted: ([a-z0-9-]{1,40})\]")
"""The mark of a redacted secret."""
LONGEST_MARK = 53

_DIGITS = re.compile(r"\d(?:[ .\n-]{0,3}\d){8}")


class Finder:
    """Looks for secrets of the chosen kinds.

    Args:
        kinds: the kinds to look for.
        extra: further patterns.
    """

    def __init__(self, kinds: Collection[str], extra: Sequence[Pattern] = ()) -> None:
        self._tokens = [(n, pattern) for pattern in TOKENS if pattern.kind in kinds for n in pattern.needles]
        self._said = [
            (n, pattern)
            for pattern in (*CONTEXT_PATTERNS, *ADJACENT_PATTERNS)
            if pattern.kind in kinds
            for n in pattern.needles
        ]
        self._kinds = frozenset(kinds)
        self._anywhere = [pattern for pattern in ANYWHERE if pattern.kind in kinds]
        self._numbers = [pattern for pattern in NUMBERS if pattern.kind in kinds]
        self._extra = list(extra)
        self._words = _shortest({needle for needle, _ in self._said})

    def redacted(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The text with each secret replaced by ``[redacted: kind]``, and the distinct kinds in order."""
        kinds: dict[str, None] = {}
        for _ in range(PASSES):
            spans = self._spans(text)
            if not spans:
                break
            kinds |= dict.fromkeys(kind for *_, kind in spans)
            text = _without(text, spans)
        return text, tuple(kinds)

    def _spans(self, text: str) -> list[Span]:
        """Spans of secrets, disjoint and in order."""
        unseen = without_marks(text)
        spans = [span for pattern in self._extra for span in found(pattern, unseen, unseen)]
        plain, places = _plain(text)
        for start, end, kind in self._known(plain):
            spans.append((places[start], places[end - 1] + 1, kind) if places else (start, end, kind))
        return _merged(spans) if spans else spans

    def _known(self, text: str) -> list[Span]:
        """Spans of secrets of built-in kinds in a normalised text."""
        whole, text = text, without_marks(text)
        spans = [span for pattern in self._anywhere for span in found(pattern, text, text)]
        if len(text) >= LEAST and (longest := max(map(len, text.split()), default=0)) >= LEAST:
            for pattern in dict.fromkeys([pattern for needle, pattern in self._tokens if needle in text]):
                if pattern.least <= longest:
                    spans += found(pattern, text, text)
        low = _folded(text)
        if any([word in low for word in self._words]):  # noqa: C419 - a list is faster than a generator here
            for pattern in dict.fromkeys([pattern for needle, pattern in self._said if needle in low]):
                spans += found(pattern, text, low)
            spans += [span for span in columns(whole) if span[2] in self._kinds]
        if _DIGITS.search(text):
            for pattern in self._numbers:
                spans += found(pattern, text, text)
        return spans


def pieces(text: str, clean: Callable[[str], str], size: int = 500_000) -> list[str]:
    """Split a text into pieces that fit a record. A long text is redacted first, so that no secret spans two pieces.

    Args:
        text: the text.
        clean: ``Memory.admin.redacted``.
        size: most characters of a piece, at least 100. A shorter text is returned unchanged as one piece.

    Example:
        >>> [len(piece) for piece in pieces("word " * 120_000, str)]
        [500000, 100000]
    """
    if len(text) <= size:
        return [text]
    text, parts = clean(text), list[str]()
    while len(text) > size:
        over = [m.start() for m in MARK.finditer(text, size - LONGEST_MARK, size + LONGEST_MARK) if m.end() > size]
        cut = min([size, *over])
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text]


def without_marks(text: str) -> str:
    """A text with each mark replaced by as many line feeds, so that marks are never matched or cut."""
    return MARK.sub(lambda mark: "\n" * len(mark[0]), text) if "[redacted: " in text else text


_HIDDEN = re.compile("\r(?=\n)|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_PLAIN = {
    **{wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x3000), " "),
    **dict.fromkeys((0x2010, 0x2011, 0x2012), "-"),
}


def _plain(text: str) -> tuple[str, Sequence[int]]:
    """Normalise a text: no invisible characters, normal-width letters and spaces, line feeds.

    Returns:
        The text, and the original position of each character; empty if unchanged.
    """
    if text.isascii() and "\r" not in text:
        return text, ()
    text = text.translate(_PLAIN)
    shown, places, at = list[str](), array("L"), 0
    for hidden in _HIDDEN.finditer(text):
        shown.append(text[at : hidden.start()])
        places.extend(range(at, hidden.start()))
        at = hidden.end()
    if not shown:
        return text, ()
    places.extend(range(at, len(text)))
    return "".join((*shown, text[at:])), places


def _folded(text: str) -> str:
    """The text in lower case, with unchanged positions."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _shortest(needles: Collection[str]) -> tuple[str, ...]:
    """The needles that contain no other: a text without these has none at all."""
    return tuple(sorted(n for n in needles if not any(other != n and other in n for other in needles)))


def _merged(spans: list[Span]) -> list[Span]:
    """Merge overlapping spans; the earlier pattern gives the kind."""
    order = {id(span): place for place, span in enumerate(spans)}
    merged: list[Span] = []
    places: list[int] = []
    for span in sorted(spans):
        place = order[id(span)]
        if merged and span[0] < merged[-1][1]:
            start, end, kind = merged[-1]
            merged[-1] = (start, max(end, span[1]), span[2] if place < places[-1] else kind)
            places[-1] = min(place, places[-1])
        else:
            merged.append(span)
            places.append(place)
    return merged


def _without(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in spans:
        parts += text[at:start], f"[redacted: {kind}]"
        at = end
    return "".join((*parts, text[at:]))
