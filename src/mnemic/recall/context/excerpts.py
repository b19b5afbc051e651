"""Excerpts: the passage of a long text that is relevant to a query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mnemic.text.differences import CUT
from mnemic.text.sentences import sentences
from mnemic.text.terms import content_terms, query_terms
from mnemic.types import Hit

SHARE = 12
"""A text longer than 1/12 of the budget is excerpted."""
SHORTEST = 400
"""Least characters of an excerpt."""
SLIGHTLY = 1.25
"""A text that is longer by less than this factor stays whole: the cut would save a few tokens and lose its end."""
PER_TOKEN = 4
"""Characters per token of plain text."""
READ = 100_000
"""Characters of a text that are searched for the passage."""
PIECES = 4
"""A sentence longer than 1/4 of a passage is split."""


def with_excerpts(hits: Sequence[Hit], query: str, max_tokens: int) -> list[Hit]:
    """Cut long hits to the passage that covers most of the query, unless all hits fit whole.

    Args:
        hits: best first.
        query: the query.
        max_tokens: the budget of the whole prompt.
    """
    most = max(SHORTEST, PER_TOKEN * max_tokens // SHARE)
    if sum(len(hit.text) for hit in hits) <= PER_TOKEN * max_tokens:
        return list(hits)
    terms = query_terms(query)
    said = Counter(term for hit in hits for term in {*content_terms(hit.text[:READ])}.intersection(terms))
    weights = {term: math.log(1 + len(hits) / (0.5 + said[term])) for term in terms}
    return [
        replace(hit, text=passage(hit.text, weights, most)) if len(hit.text) > SLIGHTLY * most else hit for hit in hits
    ]


def passage(text: str, weights: Mapping[str, float], most: int) -> str:
    """The run of sentences and lines, up to ``most`` characters, with the highest weight of terms; the first of equals.

    Code and lists are split by line.
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
    return _expand(text, spans, first, last, most)


def _spans(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a text; those longer than ``most`` are split."""
    begin = 0
    for line in text.splitlines(keepends=True):
        for part in sentences(line):
            found = text.find(part, begin)
            if found < 0:  # joined from several lines
                continue
            begin, end = found, found + len(part)
            while end - begin > most:
                space = text.rfind(" ", begin + 1, begin + most)
                cut = space + 1 if space > 0 else begin + most
                yield begin, cut
                begin = cut
            yield begin, end
            begin = end


def _expand(text: str, spans: Sequence[tuple[int, int]], first: int, last: int, most: int) -> str:
    """Expand a run of spans to what follows, then to what precedes it, within ``most`` characters."""
    if not spans:
        return text[:most]
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= most:
        last += 1
    while first > 0 and spans[last][1] - spans[first - 1][0] <= most:
        first -= 1
    before = f"{CUT} " if first > 0 else ""
    after = f" {CUT}" if last + 1 < len(spans) or len(text) > READ else ""
    return before + text[spans[first][0] : spans[last][1]].rstrip() + after
