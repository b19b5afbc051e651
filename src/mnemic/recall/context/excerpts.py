"""Excerpts: of a long text the passage that bears on a question, so that a prompt holds evidence and not beginnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms, query_terms
from mnemic.types import Hit

__all__ = ["excerpted", "passage"]

SHARE = 12
"""A text may take one part in so many of a budget; what is longer is excerpted."""
SHORTEST = 400
"""Characters that every text may take."""
PER_TOKEN = 4
"""Characters that a token of plain text has."""
READ = 100_000
"""Characters of a text in which the passage is looked for."""
PIECES = 4
"""A sentence longer than one part in so many of a passage is taken in pieces."""
ELLIPSIS = "[...]"


def excerpted(hits: Sequence[Hit], query: str, max_tokens: int) -> list[Hit]:
    """Hits whose long texts are cut to the passage that says most of the query, where not all of them fit whole.

    Args:
        hits: best first.
        query: what was asked.
        max_tokens: the budget of the whole prompt.
    """
    most = max(SHORTEST, PER_TOKEN * max_tokens // SHARE)
    if sum(len(hit.text) for hit in hits) <= PER_TOKEN * max_tokens:
        return list(hits)
    terms = query_terms(query)
    said = Counter(term for hit in hits for term in {*content_terms(hit.text[:READ])}.intersection(terms))
    weights = {term: math.log(1 + len(hits) / (0.5 + said[term])) for term in terms}
    return [replace(hit, text=passage(hit.text, weights, most)) if len(hit.text) > most else hit for hit in hits]


def passage(text: str, weights: Mapping[str, float], most: int) -> str:
    """The run of sentences and lines, up to ``most`` characters, that says most of some weighted terms; the first of equals.

    Code and lists are taken line by line.
    """
    spans = list(_spans(text[:READ], max(1, most // PIECES)))
    terms = [{*content_terms(text[begin:end])} & weights.keys() for begin, end in spans]
    best, first, last = 0.0, 0, 0
    for start in range(len(spans)):
        held = set[str]()
        for at in range(start, len(spans)) if terms[start] else ():
            if spans[at][1] - spans[start][0] > most:
                break
            held |= terms[at]
            worth = sum(weights[term] for term in held)
            if worth > best:
                best, first, last = worth, start, at
    return _filled(text, spans, first, last, most)


def _spans(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end, those that are longer than ``most`` in pieces."""
    begin = 0
    for line in text.splitlines(keepends=True):
        for part in sentences(line):
            found = text.find(part, begin)
            if found < 0:  # it was put together of pieces
                continue
            begin, end = found, found + len(part)
            while end - begin > most:
                space = text.rfind(" ", begin + 1, begin + most)
                cut = space + 1 if space > 0 else begin + most
                yield begin, cut
                begin = cut
            yield begin, end
            begin = end


def _filled(text: str, spans: Sequence[tuple[int, int]], first: int, last: int, most: int) -> str:
    """A run of spans with what follows it, then with what comes before it, as far as there is room."""
    if not spans:
        return text[:most]
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= most:
        last += 1
    while first > 0 and spans[last][1] - spans[first - 1][0] <= most:
        first -= 1
    before = f"{ELLIPSIS} " if first > 0 else ""
    after = f" {ELLIPSIS}" if last + 1 < len(spans) or len(text) > READ else ""
    return before + text[spans[first][0] : spans[last][1]].rstrip() + after
