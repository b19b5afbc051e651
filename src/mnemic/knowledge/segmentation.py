"""Segmentation of messages into episodes, without a model; and which episodes to merge."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from mnemic.text.terms import content_terms
from mnemic.text.values import to_micros
from mnemic.types import Message
from mnemic.vectors import Floats, Mask, dot

READ_CHARS = 2_000
"""Characters at the beginning and at the end of a message that are searched for cues."""

LONGEST_FILLER = 300
_GREETING = r"(?:hi|hello|hey|heya|hiya|howdy|greetings|yo|good (?:morning|afternoon|evening))"
_LEAD = r"(?:oh|well|so|and|hey|ok|okay|right|yeah|yes|hmm|but)"
_GREETS = re.compile(rf"\W*{_GREETING}\b", re.IGNORECASE)
_OPENS = re.compile(
    rf"""(?:^|[.!?]\W{{1,5}})(?:{_LEAD},?\ +)*(?:
      by\ the\ way | btw | anyways?\b(?!\ (?:you|it|that|to)) | anyhow | (?:speaking|talking)\ of
      | that\ reminds\ me | guess\ what | before\ i\ forget
      | on\ (?:another|a\ (?:different|separate|side|related|lighter|happier))\ (?:note|topic|subject)
      | (?:another|one\ (?:more|other|last)|a\ different|the\ other|next|new)\ (?:thing|question|topic|subject|matter|issue)\b
      | (?:(?:to|let'?s|let\ me|can\ we|could\ we)\ )?(?:chang|switch)(?:e|ing)?\ (?:the\ )?(?:subjects?|topics?|gears)
      | moving\ on\b | let'?s\ (?:talk\ about|discuss|turn\ to|move\ on) | (?:can|could)\ we\ (?:talk\ about|discuss)
      | unrelated(?:ly)?\b | off[- ]topic | totally\ (?:different|unrelated)
      | i(?:\ also|'ve\ also|'ve|\ have)?\ (?:wanted|meant|been\ meaning)\ to\ (?:ask|tell|mention|talk)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKS = re.compile(
    r"""\b(?:
      i(?:\ am|['\u2019]m|m)?\ (?:(?:also|really|just)\ )?(?:need|want|looking|wanna|seeking|interested)
      | i\ would\ (?:also\ |really\ )?like
      | i['\u2019]d\ (?:also\ |really\ )?like | (?:can|could)\ you
      | please\ (?:find|help|book|give|tell|show|schedule|set|make|send|write|check|look|explain)
      | find\ (?:me|a|the) | (?:give|get|tell|show|help|remind)\ me | set\ (?:up\ )?(?:a|an|the) | schedule
      | what(?:['\u2019]s|\ is|\ are|\ will|\ was|\ time|\ do\ you|\ kind) | where(?:['\u2019]s|\ is|\ are|\ can|\ do)
      | when(?:['\u2019]s|\ is|\ does)
      | how\ (?:do|can|should|would)\ (?:i|we|you) | (?:is|are)\ there | (?:do|have|are|did)\ you | (?:will|is)\ it
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REPLIES = re.compile(
    r"""\W*(?:yes|yeah|yea|yep|yup|no|nope|nah|not|sure|ok|okay|great|good|cool|nice|thanks|thank|that|it|they|this|those|these|ha
      |haha|lol|ah|oh|wow|awesome|amazing|perfect|sounds|i\ do|i\ did|i\ am|i['\u2019]m|me\ too|same|really|absolutely
      |definitely|totally|exactly|of\ course|actually|maybe|well|right|true|he|she|and|but|because|or|alright
      |you['\u2019]re|there|just|sorry|glad|congrat\w*|no\ problem|my\ pleasure|how\ about|what\ about)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CLOSES = re.compile(
    r"""\b(?:anything\ else | any\ other | you(?:['\u2019]re|r|\ are)?\ (?:(?:very|most|so|always|quite)\ )?welcome
      | thank(?:s|\ you) | (?:good\ ?)?bye | good\ ?night
      | have\ an?\ (?:\w+\ )?(?:day|night|evening|weekend|time|trip|one|stay|meal)
      | see\ (?:you|ya) | catch\ you\ later | talk\ (?:to\ you\ )?(?:later|soon) | ttyl | take\ care | enjoy | glad\ i\ could
      | happy\ to\ help | that(?:['\u2019]s|\ is|\ will\ be|\ should\ be|['\u2019]ll\ be)?\ all)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_FILLER_TERMS = frozenset(
    content_terms(
        """hi heya hiya yo hello howdy greetings morning afternoon evening night bye goodbye thank welcome please sorry
        yes yep yup nope nah sure great good nice cool fine well awesome amazing wonderful lovely perfect excellent
        fantastic haha hahaha lol right true indeed exactly absolutely definitely totally course alright glad happy
        today day sounds see talk later soon care take anything else help problem worries pleasure back hear know
        understand interesting agree hmm hm ah aha uh um hope enjoy weekend chat dear friend guys everyone going tell
        buddy mate always actually maybe guess think done bit ha yay bro dude man anytime appreciate ttyl cya assist
        question let"""
    )
)
_MOST_FILLER_WORDS = 25


def turn(text: str) -> dict[str, bool]:
    """The dialogue cues of a message, by name.

    ``greets``: it starts with a greeting. ``opens``: it announces another subject ("by the way", "another thing"). ``asks``: it
    asks for or wants something. ``replies``: it starts like an answer or a comment. ``closes``: it thanks, takes leave, or asks
    whether there is anything else. ``waits``: it ends in a question that expects an answer, and does not close.
    """
    head, tail = text[:READ_CHARS], text[-READ_CHARS:].rstrip()
    if tail.endswith("]"):  # a note such as an image caption
        tail = tail[: max(tail.rfind("["), 0)].rstrip()
    cues = {
        "greets": _GREETS.match(head), "opens": _OPENS.search(head), "asks": _ASKS.search(head),
        "replies": _REPLIES.match(head), "closes": _CLOSES.search(tail),
    }  # fmt: skip
    waits = tail.endswith(("?", "\uff1f")) and not cues["closes"]
    return {name: match is not None for name, match in cues.items()} | {"waits": waits}


def is_filler(text: str) -> bool:
    """Whether a message is only greeting, thanks, agreement or farewell, which makes no episode."""
    if len(text) > LONGEST_FILLER or any(map(str.isdigit, text)):
        return False
    terms = content_terms(text)
    return len(terms) <= _MOST_FILLER_WORDS and all(term in _FILLER_TERMS for term in terms)


def is_greeting(text: str) -> bool:
    """Whether a message is a mere greeting, which belongs to what follows."""
    return bool(_GREETS.match(text[:READ_CHARS])) and is_filler(text)


WORDS_SHARE = 0.2
"""Share of common words in a similarity; the rest is the embedding."""
WORD_SLOTS = 512
READ_FOR_TERMS = 4_000
"""Characters of a message read for words."""


def has_embedding(count: int, vectors: Floats | None) -> Mask:
    """Which messages have an embedding: a row that is finite and not all zeros."""
    if vectors is None:
        return np.zeros(count, np.bool_)
    return np.logical_and(np.isfinite(vectors).all(axis=1), np.any(vectors != 0, axis=1))


def unit_rows(texts: Sequence[str], vectors: Floats | None) -> Floats:
    """One vector per message, of embedding and words, whose products are similarities.

    Args:
        texts: the messages' texts.
        vectors: their embeddings, shape (n, d); for rows of zeros or NaN only words count.

    Returns:
        Shape (n, d + 512): rows of length 1, shorter where a part is missing.
    """
    words = _word_rows(texts)
    if vectors is None:
        return words
    embedded = has_embedding(len(texts), vectors)
    size = vectors.shape[1]
    rows = np.empty((len(texts), size + WORD_SLOTS), np.float32)
    rows[:, :size] = vectors
    rows[~embedded, :size] = 0.0
    scale = np.sqrt(1 - WORDS_SHARE) / np.where(embedded, _row_lengths(rows[:, :size]), 1)
    rows[:, :size] *= scale.astype(np.float32)[:, None]
    rows[:, size:] = words * np.where(embedded, np.sqrt(WORDS_SHARE), 1).astype(np.float32)[:, None]
    return rows


def _row_lengths(rows: Floats) -> Floats:
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))


def _word_rows(texts: Sequence[str]) -> Floats:
    """The distinct content words of each text, hashed to signed slots, at length 1."""
    rows = np.zeros((len(texts), WORD_SLOTS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for term in set(content_terms(text[:READ_FOR_TERMS])):
            code = zlib.crc32(term.encode())
            row[code % WORD_SLOTS] += 1.0 if code >> 31 else -1.0
    norms = _row_lengths(rows)
    return (rows / np.where(norms > 0, norms, 1)[:, None]).astype(np.float32, copy=False)


def band(rows: Floats, width: int) -> Floats:
    """The product of each row with those after it: ``band[i, d]`` is row i times row i + d, 0 beyond the end."""
    gram = np.zeros((len(rows), width), np.float32)
    for distance in range(min(width, len(rows))):
        gram[: len(rows) - distance, distance] = np.einsum("ij,ij->i", rows[: len(rows) - distance], rows[distance:])
    return gram


def lengths(products: Floats) -> Floats:
    """The norm of the summed vectors of every run: ``lengths[i, k - 1]`` of the k messages from i on, 0 beyond the end.

    A run on one subject sums to a long vector; mixed subjects cancel.
    """
    count, width = products.shape
    added = np.cumsum(np.concatenate([products[:, :1], 2 * products[:, 1:]], axis=1), axis=1, dtype=np.float64)
    norms = np.zeros((count, width), np.float32)
    squares = np.zeros(count + 1)
    for size in range(1, min(width, count) + 1):
        runs = count - size + 1
        squares[:runs] = squares[1 : runs + 1] + added[:runs, size - 1]
        norms[:runs, size - 1] = np.sqrt(np.maximum(squares[:runs], 0))
        squares[runs:] = 0
    return norms


def block_depth(products: Floats, sums: Floats) -> Floats:
    """The depth of each gap: how far the similarity of the blocks around it dips below its peaks on both sides.

    TextTiling's depth score (Hearst, Computational Linguistics 23(1), 1997) over blocks of two messages; 0 at place 0.
    """
    count = len(products)
    depths = np.zeros(count, np.float32)
    if count < 2:
        return depths
    near = np.zeros(count)
    near[1:] = products[:-1, 1]
    for distance in (2, 3):
        if products.shape[1] > distance:
            near[distance:] += products[: count - distance, distance]
    if products.shape[1] > 2:
        near[1:-1] += products[:-2, 2]
    before = np.concatenate([[1.0, sums[0, 0]], sums[: count - 2, 1]])
    after = np.concatenate([sums[:-1, 1], sums[-1:, 0]])
    similarity = (near / np.maximum(before * after, 1e-6))[1:]
    left, right = _peaks(similarity), _peaks(similarity[::-1])[::-1]
    depths[1:] = left + right - 2 * similarity
    return depths


def _peaks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value, the peak of the slope to its left."""
    peaks = values.copy()
    for index in range(1, len(values)):
        if values[index - 1] >= values[index]:
            peaks[index] = peaks[index - 1]
    return peaks


TIME_GAP = timedelta(minutes=30)
LONGEST = 40
"""Messages of the longest episode."""
BLOCK = 3
"""Messages before the last one that the causal form uses."""
NO_FILLER = 2.0
"""Penalty of an episode of only filler: more than it can gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of boundary features, in units of similarity.

    Attributes:
        price: cost of an episode, in the global form.
        causal_price: the same when only the past is known.
        near: similarity to the message before, against a boundary.
        depth: depth of the gap.
        greets: the message greets.
        opens: it announces another subject.
        asks: it asks for something.
        replies: it replies.
        closes: it takes leave or thanks.
        closed: the message before did.
        awaited: the message before ends in a question that this one may answer.
        pause: a pause as long as ``time_gap``; shorter ones in proportion. Longer ones are always a boundary.
        unseen: the message has no embedding, and seems less similar than it is.
    """

    price: float = 1.0
    causal_price: float = 0.6
    near: float = 0.8
    depth: float = 0.3
    greets: float = 0.4
    opens: float = 0.7
    asks: float = 0.35
    replies: float = -0.1
    closes: float = -0.4
    closed: float = 0.25
    awaited: float = -0.3
    pause: float = 0.3
    unseen: float = -0.3


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class BoundaryFeatures:
    """Features of every position in one stretch: arrays of n rows."""

    sums: Floats
    near: Floats
    depth: Floats
    cues: Floats
    fill: NDArray[np.intp]


CUES = ("greets", "opens", "asks", "replies", "closes", "closed", "awaited", "pause", "unseen")


def boundaries(messages: Sequence[Message], vectors: Floats | None, *, time_gap: timedelta = TIME_GAP) -> list[int]:
    """The positions at which a new episode starts, when all messages are known.

    A change of session and a pause of ``time_gap`` or more always start one, except that thanks or agreement after a
    pause stays with what it answers. No episode has more than 40 messages, and none is only filler unless sessions
    force it.

    Args:
        messages: in the order of time.
        vectors: their embeddings, shape (n, d), rows of zeros or NaN where one is missing; None without any.
        time_gap: the pause that ends an episode.

    Returns:
        Ascending positions; the first is 0. Empty for no messages.
    """
    starts: list[int] = []
    for start, end in stretches(messages, time_gap):
        part = boundary_features(
            messages[start:end], None if vectors is None else vectors[start:end], time_gap=time_gap
        )
        starts += [start + index for index in cut(part)]
    return starts


def begins_episode(
    messages: Sequence[Message],
    vectors: Floats | None,
    *,
    time_gap: timedelta = TIME_GAP,
    weights: Weights = WEIGHTS,
) -> bool:
    """Whether the last message starts a new episode, given only those before it.

    Args:
        messages: the open episode and the message in question.
        vectors: as for ``boundaries``.
        time_gap: the pause that ends an episode.
        weights: of the features.
    """
    if len(messages) < 2:
        return bool(messages)
    before, last = messages[-2], messages[-1]
    filler = is_filler(last.content)
    if before.session != last.session or len(messages) > LONGEST:
        return True
    if _pause(before, last) >= time_gap:
        return not filler or is_greeting(last.content)
    if filler or all(is_filler(m.content) for m in messages[:-1]):
        return False
    recent = messages[-BLOCK - 1 :]
    embedded = has_embedding(len(messages), vectors)[-len(recent) :]
    rows = unit_rows([m.content for m in recent], None if vectors is None else vectors[-len(recent) :])
    cue_score = float(dot(_cues(recent, embedded, time_gap)[-1], _cue_weights(weights)))
    return _novelty(rows, weights) + cue_score > weights.causal_price


def _novelty(rows: Floats, weights: Weights) -> float:
    """Loss of the summed length because the last message points elsewhere, minus its similarity to the one before."""
    before = rows[:-1].sum(0)
    alone = float(np.linalg.norm(before)) + float(np.linalg.norm(rows[-1]))
    return alone - float(np.linalg.norm(before + rows[-1])) - weights.near * float(dot(rows[-2], rows[-1]))


def boundary_features(
    messages: Sequence[Message], vectors: Floats | None, *, time_gap: timedelta = TIME_GAP
) -> BoundaryFeatures:
    """The boundary features of messages of one session without a long pause; ``cut`` weighs them."""
    rows = unit_rows([m.content for m in messages], vectors)
    embedded = has_embedding(len(messages), vectors)
    products = band(rows, LONGEST)
    sums = lengths(products)
    near = np.zeros(len(rows), np.float32)
    near[1:] = products[:-1, 1]
    fill = np.zeros(len(rows) + 1, np.intp)
    for index in range(len(rows) - 1, -1, -1):
        fill[index] = fill[index + 1] + 1 if is_filler(messages[index].content) else 0
    return BoundaryFeatures(sums, near, block_depth(products, sums), _cues(messages, embedded, time_gap), fill[:-1])


def _cues(messages: Sequence[Message], embedded: Mask, time_gap: timedelta) -> Floats:
    """One row per message, one column per name in ``CUES``; the first has no message before it."""
    turns = [turn(m.content) for m in messages]
    cues = np.zeros((len(messages), len(CUES)), np.float32)
    for index, current in enumerate(turns):
        cues[index, :5] = [current[name] for name in CUES[:5]]
        if index:
            cues[index, 5:7] = turns[index - 1]["closes"], turns[index - 1]["waits"]
            cues[index, 7] = min(_pause(messages[index - 1], messages[index]) / time_gap, 1.0) if time_gap else 0.0
    cues[:, 8] = ~embedded
    return cues


def _cue_weights(weights: Weights) -> Floats:
    return np.array([getattr(weights, name) for name in CUES], np.float32)


def cut(part: BoundaryFeatures, weights: Weights = WEIGHTS) -> list[int]:
    """The best segmentation of one stretch, by dynamic programming: the start positions, the first 0."""
    count, longest = len(part.near), LONGEST
    gains = (
        dot(part.cues, _cue_weights(weights)) + weights.depth * part.depth - weights.near * part.near - weights.price
    )
    gains[0] = 0.0
    only_filler = np.less_equal(np.arange(1, longest + 1), part.fill[:, None])
    totals: NDArray[np.float64] = (
        part.sums + gains[:, None] - np.where(only_filler, np.float32(NO_FILLER), np.float32(0))
    )
    ending = np.full((count, longest), -np.inf)  # [end - 1, k - 1]: score of an episode of the k messages up to ``end``
    for size in range(1, min(longest, count) + 1):
        ending[size - 1 :, size - 1] = totals[: count - size + 1, size - 1]
    best = np.full(count + longest, -np.inf)  # the score of ``end`` messages is at ``longest + end - 1``
    best[longest - 1] = 0.0
    back: list[int] = [0]
    for end in range(1, count + 1):
        scores: NDArray[np.float64] = best[end - 1 : end + longest - 1][::-1] + ending[end - 1]
        chosen = int(np.argmax(scores))
        best[longest + end - 1] = scores[chosen]
        back.append(end - 1 - chosen)
    starts: list[int] = []
    position = count
    while position > 0:
        position = back[position]
        starts.append(position)
    return starts[::-1]


def _pause(before: Message, after: Message) -> timedelta:
    """The time between two messages in either order; zero if one has no time."""
    if before.sent_at is None or after.sent_at is None:
        return timedelta(0)
    return timedelta(microseconds=abs(to_micros(after.sent_at) - to_micros(before.sent_at)))


def stretches(messages: Sequence[Message], time_gap: timedelta) -> list[tuple[int, int]]:
    """Runs of messages of one session without a long pause, as (start, end).

    Filler after a pause belongs to what precedes it, a greeting to what follows.
    """
    if not messages:
        return []
    starts = [0]
    for index in range(1, len(messages)):
        same = messages[index - 1].session == messages[index].session
        if not same or _pause(messages[index - 1], messages[index]) >= time_gap:
            starts.append(index)
    ends = [*starts[1:], len(messages)]
    runs: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        part = messages[start:end]
        joins = (
            runs and messages[start - 1].session == messages[start].session and all(is_filler(m.content) for m in part)
        )
        if joins and not is_greeting(part[0].content):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


MERGE_THRESHOLD = 0.9


def most_similar(vector: Floats, candidates: Floats, threshold: float = MERGE_THRESHOLD) -> int | None:
    """The row of the candidate most similar to a new episode, the first of equals; None if none is similar enough.

    Args:
        vector: the embedding of the new episode, shape (d,), of length 1.
        candidates: those of recent episodes, shape (n, d), of length 1, or of zeros, which never match.
        threshold: the least cosine, -1 to 1.
    """
    cosines = np.where(candidates.any(axis=1), dot(candidates, vector), -np.inf)
    best = int(cosines.argmax())
    return best if cosines[best] >= threshold - 1e-6 else None
