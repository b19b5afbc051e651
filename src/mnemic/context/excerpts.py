"""Excerpts: of a long text the passage that bears on a question, so that a prompt holds evidence and not beginnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import wrap

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
    long = max(1, most // PIECES)
    parts = [piece for line in text[:READ].splitlines() for part in sentences(line) for piece in wrap(part, long)]
    terms = [{*content_terms(part)} & weights.keys() for part in parts]
    best, found = 0.0, (0, 1)
    for start in range(len(parts)):
        if start and not terms[start]:
            continue
        held, size = set[str](), 0
        for end in range(start, len(parts)):
            size += len(parts[end]) + 1
            if size > most and end > start:
                break
            held |= terms[end]
            worth = sum(weights[term] for term in held)
            if worth > best:
                best, found = worth, (start, end + 1)
    return _filled(parts, *found, most)


def _filled(parts: Sequence[str], start: int, end: int, most: int) -> str:
    """A run of parts with what follows it, then with what comes before it, as far as there is room."""
    size = sum(len(part) + 1 for part in parts[start:end])
    while end < len(parts) and size + len(parts[end]) < most:
        size += len(parts[end]) + 1
        end += 1
    while start > 0 and size + len(parts[start - 1]) < most:
        start -= 1
        size += len(parts[start]) + 1
    before = f"{ELLIPSIS} " if start > 0 else ""
    after = f" {ELLIPSIS}" if end < len(parts) else ""
    return before + "\n".join(parts[start:end]) + after
