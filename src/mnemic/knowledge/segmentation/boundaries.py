"""Where one episode ends and the next begins: the subject shifts, time passes, or another session begins.

The global form finds the cut with the highest total: of each episode the length of its messages' summed unit vectors (long
when they agree) minus a price per episode, and of each beginning what the words around it say for one. One pass of dynamic
programming does it, in time proportional to messages times the longest episode. The causal form decides on the last message
alone, with the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from mnemic.knowledge.segmentation.cohesion import band, block_depth, embedded, lengths, unit_rows
from mnemic.knowledge.segmentation.turns import is_filler, is_greeting, turn
from mnemic.text.clock import to_micros
from mnemic.types import Message
from mnemic.vectors import dot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = [
    "LONGEST",
    "TIME_GAP",
    "WEIGHTS",
    "Signs",
    "Weights",
    "begins_episode",
    "boundaries",
    "cut",
    "signs",
    "stretches",
]

TIME_GAP = timedelta(minutes=30)
LONGEST = 40
"""Messages of the longest episode."""
BLOCK = 3
"""Messages before the last one that the causal form compares it with."""
NO_FILLER = 2.0
"""What an episode of nothing but filler loses: more than it can gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each sign counts for a beginning, in units of similarity.

    Attributes:
        price: of an episode, in the global form.
        causal_price: the same when only the past is known.
        near: similarity to the message before, against a beginning.
        depth: how deep the similarity of the neighbourhood dips.
        greets: the message greets.
        opens: it announces another subject.
        asks: it asks for something.
        replies: it replies.
        closes: it takes leave or thanks.
        closed: the message before did.
        awaited: the message before ends in a question that this one may answer.
        pause: a pause as long as ``time_gap``; shorter ones in proportion. Longer ones always begin an episode.
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
class Signs:
    """What is known of every place of one stretch: arrays of n rows."""

    sums: Floats
    near: Floats
    depth: Floats
    cues: Floats
    fill: NDArray[np.intp]


CUES = ("greets", "opens", "asks", "replies", "closes", "closed", "awaited", "pause", "unseen")


def boundaries(
    messages: Sequence[Message],
    vectors: Floats | None,
    *,
    time_gap: timedelta = TIME_GAP,
    weights: Weights = WEIGHTS,
) -> list[int]:
    """The positions at which a new episode begins, seen from the end: with all messages known.

    A change of session and a pause of ``time_gap`` or more always begin one, except that a word of thanks or assent after a
    pause stays with what it answers. No episode has more than 40 messages, and none is nothing but filler unless sessions
    leave no choice.

    Args:
        messages: in the order of time.
        vectors: their embeddings, shape (n, d), rows of zeros or NaN where one is missing; None when there are none.
        time_gap: the pause that ends an episode.
        weights: what each sign counts.

    Returns:
        Ascending positions; the first is 0. Empty for no messages.

    Raises:
        InvalidInput: the number of vectors is not that of the messages.
    """
    embedded(len(messages), vectors)
    found: list[int] = []
    for start, end in stretches(messages, time_gap):
        part = signs(messages[start:end], None if vectors is None else vectors[start:end], time_gap=time_gap)
        found += [start + at for at in cut(part, weights)]
    return found


def begins_episode(
    messages: Sequence[Message],
    vectors: Floats | None,
    *,
    time_gap: timedelta = TIME_GAP,
    weights: Weights = WEIGHTS,
) -> bool:
    """Whether the last message begins a new episode, knowing only those before it.

    Args:
        messages: the open episode so far, and the message in question.
        vectors: as for ``boundaries``.
        time_gap: the pause that ends an episode.
        weights: what each sign counts.

    Raises:
        InvalidInput: the number of vectors is not that of the messages.
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
    known = embedded(len(messages), vectors)[-len(recent) :]
    rows = unit_rows([m.content for m in recent], None if vectors is None else vectors[-len(recent) :])
    said = float(dot(_cues(recent, known, time_gap)[-1], _cue_weights(weights)))
    return _novelty(rows, weights) + said > weights.causal_price


def _novelty(rows: Floats, weights: Weights) -> float:
    """What the sum of the messages loses because the last points elsewhere, minus its likeness to the one before."""
    import numpy as np

    before = rows[:-1].sum(0)
    alone = float(np.linalg.norm(before)) + float(np.linalg.norm(rows[-1]))
    return alone - float(np.linalg.norm(before + rows[-1])) - weights.near * float(dot(rows[-2], rows[-1]))


def signs(messages: Sequence[Message], vectors: Floats | None, *, time_gap: timedelta = TIME_GAP) -> Signs:
    """The signs of messages that lie in one session without a long pause: what ``cut`` weighs."""
    import numpy as np

    rows = unit_rows([m.content for m in messages], vectors)
    known = embedded(len(messages), vectors)
    products = band(rows, LONGEST)
    sums = lengths(products)
    near = np.zeros(len(rows), np.float32)
    near[1:] = products[:-1, 1]
    fill = np.zeros(len(rows) + 1, np.intp)
    for at in range(len(rows) - 1, -1, -1):
        fill[at] = fill[at + 1] + 1 if is_filler(messages[at].content) else 0
    return Signs(sums, near, block_depth(products, sums), _cues(messages, known, time_gap), fill[:-1])


def _cues(messages: Sequence[Message], known: NDArray[np.bool_], time_gap: timedelta) -> Floats:
    """One row per message, one column per name in ``CUES``; the first has no message before it."""
    import numpy as np

    turns = [turn(m.content) for m in messages]
    found = np.zeros((len(messages), len(CUES)), np.float32)
    for at, own in enumerate(turns):
        found[at, :5] = own.greets, own.opens, own.asks, own.replies, own.closes
        if at:
            found[at, 5:7] = turns[at - 1].closes, turns[at - 1].waits
            found[at, 7] = min(_pause(messages[at - 1], messages[at]) / time_gap, 1.0) if time_gap else 0.0
    found[:, 8] = ~known
    return found


def _cue_weights(weights: Weights) -> Floats:
    import numpy as np

    return np.array([getattr(weights, name) for name in CUES], np.float32)


def cut(found: Signs, weights: Weights = WEIGHTS) -> list[int]:
    """The best cut of one stretch by its signs: the positions at which episodes begin, the first 0."""
    import numpy as np

    count, longest = len(found.near), LONGEST
    gains = (
        dot(found.cues, _cue_weights(weights)) + weights.depth * found.depth - weights.near * found.near - weights.price
    )
    gains[0] = 0.0
    only_filler = np.less_equal(np.arange(1, longest + 1), found.fill[:, None])
    totals: NDArray[np.float64] = (
        found.sums + gains[:, None] - np.where(only_filler, np.float32(NO_FILLER), np.float32(0))
    )
    ending = np.full(
        (count, longest), -np.inf
    )  # [end - 1, k - 1]: what the k messages up to ``end`` are worth as an episode
    for size in range(1, min(longest, count) + 1):
        ending[size - 1 :, size - 1] = totals[: count - size + 1, size - 1]
    best = np.full(count + longest, -np.inf)  # that of ``end`` messages stands at ``longest + end - 1``
    best[longest - 1] = 0.0
    back: list[int] = [0]
    for end in range(1, count + 1):
        scores: NDArray[np.float64] = best[end - 1 : end + longest - 1][::-1] + ending[end - 1]
        chosen = int(np.argmax(scores))
        best[longest + end - 1] = scores[chosen]
        back.append(end - 1 - chosen)
    places: list[int] = []
    at = count
    while at > 0:
        at = back[at]
        places.append(at)
    return places[::-1]


def _pause(before: Message, after: Message) -> timedelta:
    """The time between two messages, whichever came first; none where one of them has no time."""
    if before.sent_at is None or after.sent_at is None:
        return timedelta(0)
    return timedelta(microseconds=abs(to_micros(after.sent_at) - to_micros(before.sent_at)))


def stretches(messages: Sequence[Message], time_gap: timedelta) -> list[tuple[int, int]]:
    """Runs of messages of one session without a long pause, as (start, end).

    Filler alone after a pause stays with what is before it, unless it greets; a greeting goes with what follows.
    """
    if not messages:
        return []
    starts = [0]
    for at in range(1, len(messages)):
        same = messages[at - 1].session == messages[at].session
        if not same or _pause(messages[at - 1], messages[at]) >= time_gap:
            starts.append(at)
    ends = [*starts[1:], len(messages)]
    found: list[tuple[int, int]] = []
    for start, end in zip(starts, ends, strict=True):
        part = messages[start:end]
        joins = (
            found and messages[start - 1].session == messages[start].session and all(is_filler(m.content) for m in part)
        )
        if joins and not is_greeting(part[0].content):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found
