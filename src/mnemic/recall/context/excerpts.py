"""Of long texts the passages that bear on the query, in the room that a budget leaves.

Pure: the same hits, budget and counter give the same excerpts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from mnemic.recall.context.packing import Frame, choose
from mnemic.text.differences import CUT
from mnemic.text.sentences import READ, Span, spans
from mnemic.text.terms import content_terms, query_terms
from mnemic.types import Hit

SHARE = 12
"""A long text gets at least 1/12 of the budget, even if no room is left for the last hits then."""
SHORTEST = 400
"""Least characters of an excerpt."""
SLIGHTLY = 1.25
"""A text that is longer by less than this factor stays whole: the cut would save a few tokens and lose its end."""
PER_TOKEN, HEADING = 4, 10
"""Characters per token of plain text, which logs and code have fewer of; tokens for the day and the speaker of a hit."""
SAMPLE = 4_000
"""Characters of a long text whose tokens are counted."""
CAUTION = (0.9, 0.8, 0.6)
"""Shares of the free room that are tried, since the tokens of passages are estimated; the rest is left to notes."""
LEAST_RELEVANCE = 0.01
"""Hits of less relevance get as much room as one of this."""
PASSAGES, APART, WORTH = 8, 250, 0.75
"""Most passages of an excerpt, and its characters for each; one of 3/4 of the worth of the best counts however few they are."""
PIECES, PIECE = 4, 200
"""A sentence longer than 1/4 of an excerpt, or than 200 characters, is split."""
BETWEEN = f" {CUT} "
MEANING = 0.6
"""Worth of the passage nearest by meaning, in that of the terms of the best sentence."""
REPEATED = 0.5
"""Worth of a term that one passage has already, to the next one."""


def with_excerpts(hits: Sequence[Hit], query: str, frame: Frame) -> list[Hit]:
    """Cut long hits to the passages that say most of the query, unless all hits fit whole.

    What the least excerpts leave of the budget goes to the cut hits by their relevance, until it is used or they are whole.
    Without a query, long hits are cut to their beginning.

    Args:
        hits: best first.
        query: the query.
        frame: the prompt.
    """
    if _fit(hits, frame):
        return list(hits)
    weights = _weights(hits, query)
    most = max(SHORTEST, PER_TOKEN * frame.max_tokens // SHARE)
    least = [len(hit.text) if len(hit.text) <= SLIGHTLY * most else most for hit in hits]
    cut = _cut(hits, weights, least)
    for share in CAUTION if weights and _fit(cut, frame) else ():
        more = _cut(hits, weights, _sizes(hits, least, share, frame))
        if _fit(more, frame):
            return more
    return cut


def shortened(hits: Sequence[Hit], query: str, most: int) -> list[Hit]:
    """Cut hits of more than ``most`` characters to the passages that say most of the query."""
    if all(len(hit.text) <= most for hit in hits):
        return list(hits)
    return _cut(hits, _weights(hits, query), [most] * len(hits))


def _weights(hits: Sequence[Hit], query: str) -> dict[str, float]:
    """The weights of the terms of a query: less for those that many of the hits have."""
    terms = query_terms(query)
    counts = Counter(term for hit in hits for term in {*content_terms(hit.text[:READ])}.intersection(terms))
    return {term: math.log(1 + len(hits) / (0.5 + counts[term])) for term in terms}


def _fit(hits: Sequence[Hit], frame: Frame) -> bool:
    """Whether all hits fit whole."""
    if sum(len(hit.text) for hit in hits) > 2 * PER_TOKEN * frame.max_tokens:  # not worth counting
        return False
    lines = choose(hits, frame)
    return len(lines) == len(hits) and all(line.whole or not line.text for line in lines)


def _cut(hits: Sequence[Hit], weights: Mapping[str, float], sizes: Sequence[int]) -> list[Hit]:
    """The hits, each with an excerpt of so many characters if it has more."""
    return [
        replace(hit, text=excerpt(hit.text, weights, size, hit.passage or "")) if len(hit.text) > size else hit
        for hit, size in zip(hits, sizes, strict=True)
    ]


def _sizes(hits: Sequence[Hit], least: Sequence[int], share: float, frame: Frame) -> list[int]:
    """Characters for each hit: at least so many, more by relevance, and no more than it has."""
    free = share * (frame.max_tokens - frame.count(frame.render(())) - HEADING * len(hits))
    samples = [hit.text[:SAMPLE] for hit in hits]
    cost = [max(1, frame.count(sample)) / max(1, len(sample)) for sample in samples]

    def sizes_at(level: float) -> list[int]:
        rooms = (level * max(hit.relevance, LEAST_RELEVANCE) / price for hit, price in zip(hits, cost, strict=True))
        return [min(len(hit.text), max(low, int(room))) for hit, low, room in zip(hits, least, rooms, strict=True)]

    low, high = 0.0, frame.max_tokens / LEAST_RELEVANCE
    for _ in range(32):
        middle = (low + high) / 2
        fits = sum(size * price for size, price in zip(sizes_at(middle), cost, strict=True)) <= free
        low, high = (middle, high) if fits else (low, middle)
    return sizes_at(low)


def excerpt(text: str, weights: Mapping[str, float], most: int, nearest: str = "") -> str:
    """The passages of a text that say most of the query, up to ``most`` characters, in the order of the text.

    Each is the run of sentences and lines with the highest weight of terms that the earlier ones lack; then all grow
    evenly to what is around them. Without a term it is the beginning. Code and lists are split by line.

    Args:
        text: the text.
        weights: of the terms of the query.
        most: characters of the excerpt.
        nearest: the passage of the text that is nearest to the query by meaning; it counts like most of the terms.
    """
    parts = [*spans(text[:READ], max(1, min(most // PIECES, PIECE)))]
    if not parts:
        return text[:most]
    widths = [following[0] - span[0] for span, following in pairwise(parts)] + [parts[-1][1] - parts[-1][0]]
    runs = _runs(widths, _worths(text, parts, weights, nearest), most)
    return _spans_text(text, parts, _expand(widths, runs or [range(1)], most))


def _worths(text: str, parts: Sequence[Span], weights: Mapping[str, float], nearest: str) -> list[dict[str, float]]:
    """The terms of each span with their weight: that among the hits, and more for those that are rare in the text."""
    terms = [{*content_terms(text[begin:end])} & weights.keys() for begin, end in parts]
    counts = Counter(term for span_terms in terms for term in span_terms)
    rarity = {term: weights[term] * math.log(1 + len(parts) / (0.5 + counts[term])) for term in counts}
    worths = [{term: rarity[term] for term in span_terms} for span_terms in terms]
    if nearest and (start := text.find(nearest)) >= 0:
        worth = MEANING * (max(sum(span_worths.values()) for span_worths in worths) or 1.0)
        for (begin, end), span_worths in zip(parts, worths, strict=True):
            if begin < start + len(nearest) and end > start:
                span_worths[nearest] = worth
    return worths


def _runs(widths: Sequence[int], worths: Sequence[Mapping[str, float]], most: int) -> list[range]:
    """Runs of spans, best first, within their share of the room."""
    runs, least, many = list[range](), 0.0, max(1, most // APART)
    room, factors = most, {term: 1.0 for span_worths in worths for term in span_worths}
    while len(runs) < PASSAGES:
        worth, best = _best_run(widths, worths, factors, min(room, most // many), runs)
        if not best or (worth < least and len(runs) >= many):
            break
        runs.append(best)
        least = least or WORTH * worth
        room -= sum(widths[index] for index in best) + len(BETWEEN)
        for term in {term for index in best for term in worths[index]}:
            factors[term] *= REPEATED
    return runs


def _best_run(
    widths: Sequence[int], worths: Sequence[Mapping[str, float]], factors: Mapping[str, float], most: int,
    taken: Sequence[range],
) -> tuple[float, range]:  # fmt: skip
    """The run apart from those taken with the highest worth, and that; the first of equals, no longer than it must be."""
    highest, best_run = 0.0, range(0)
    for start in range(len(widths)):
        run_worths, room = dict[str, float](), most
        for index in range(start, len(widths)) if worths[start] else ():
            room -= widths[index]
            if room < 0 or any(index in run for run in taken):
                break
            run_worths |= worths[index]
            if (worth := sum(weight * factors[term] for term, weight in run_worths.items())) > highest:
                highest, best_run = worth, range(start, index + 1)
    return highest, best_run


def _expand(widths: Sequence[int], passages: Sequence[range], most: int) -> list[int]:
    """The spans of passages, and evenly what follows and precedes each, within ``most`` characters; ascending."""
    shown = {index for passage in passages for index in passage}
    room = most - sum(widths[index] for index in shown) - len(BETWEEN) * (len(passages) - 1)
    open_ = [[passage.start - 1, passage.stop] for passage in passages]
    grows = True
    while grows:
        grows = False
        for ends in open_:
            for side, step in ((1, 1), (0, -1)):
                index = ends[side]
                if index in shown or (0 <= index < len(widths) and widths[index] <= room):
                    room -= 0 if index in shown else widths[index]
                    shown.add(index)
                    ends[side] += step
                    grows = True
    return sorted(shown)


def _spans_text(text: str, parts: Sequence[Span], shown: Sequence[int]) -> str:
    """The text of spans, with a mark for what is left out."""
    pieces = [text[parts[shown[0]][0] : parts[shown[0]][1]]]
    for last, index in pairwise(shown):
        gap = text[parts[last][1] : parts[index][0]] if index == last + 1 else BETWEEN
        pieces += [gap, text[parts[index][0] : parts[index][1]]]
    before = f"{CUT} " if shown[0] > 0 else ""
    after = f" {CUT}" if shown[-1] + 1 < len(parts) or len(text) > READ else ""
    return before + "".join(pieces).rstrip() + after
