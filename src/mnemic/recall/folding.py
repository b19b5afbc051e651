"""Hits: records with their scores; what says the same takes one place and names the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.text.differences import differs
from mnemic.types import Episode, Hit, Message, Stored
from mnemic.vectors import dot

__all__ = [
    "SAME",
    "Folded",
    "falling",
    "hit_from",
]

STEP = 1 - 1e-6
"""What a hit scores at most beside the one before it: whoever sorts by score keeps the order."""


def hit_from(stored: Stored, score: float, scores: dict[str, float]) -> Hit:
    """A record with its score and the values behind it."""
    value = stored.value
    if isinstance(value, Message):
        assert value.id is not None
        return Hit(
            id=value.id, kind="message", text=value.content, score=score, scores=scores, message_ids=(value.id,),
            session=value.session, project=stored.project, role=value.role, speaker=value.name or value.role,
            sent_at=value.sent_at, status=stored.status, metadata=value.metadata,
            source=value.source or "direct_user", trust=1.0 if value.trust is None else value.trust,
        )  # fmt: skip
    if isinstance(value, Episode):
        return Hit(
            id=value.id, kind="episode", text=value.content, score=score, scores=scores, session=value.session,
            project=value.project, sent_at=value.started_at, status=value.status, summary=value.title,
            metadata=value.metadata, episode=value.id, source=value.source, trust=value.trust,
        )  # fmt: skip
    return Hit(
        id=value.id, kind="memory", text=value.content, score=score, scores=scores, session=value.session,
        project=value.project, sent_at=value.said_at or value.created_at, valid_at=value.valid_at,
        invalid_at=value.invalid_at, status=value.status, type=value.type, importance=value.importance,
        summary=value.summary, tags=value.tags, speaker=value.speaker, metadata=value.metadata, source=value.source,
        trust=value.trust,
    )  # fmt: skip


def falling(hits: Sequence[Hit], probability: float) -> tuple[Hit, ...]:
    """Hits in their order, with scores of 0 to 1 that fall down the list.

    A score is the probability that the result holds what was asked for, times the hit's share of the best sum of signals,
    and always less than the score before it: what was put lower for being out of date must not come back to the top.
    """
    best = max((hit.score for hit in hits), default=0.0)
    score, scored = probability, list[Hit]()
    for hit in hits:
        share = hit.score / best if best > 0 else 1.0
        score = max(0.0, min(score * STEP, probability * share))
        scored.append(replace(hit, score=score))
    return tuple(scored)


LONGEST = 1_000
"""Characters: longer texts are never folded, because embedders do not read them whole."""

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")

_HARMLESS = frozenset("really very just so quite well oh please actually indeed truly also too the a an".split())

SAME = 0.95
"""Cosine from which two texts may be restatements; ``text.differs`` has the last word."""


class Folded:
    """Hits taken in order of rank.

    A memory whose sources all are hits already is told with the first of them (``via``); a restatement of a hit by the same
    speaker is named by it (``similar``), and its message counts as evidence of the hit when the words are the same.
    """

    def __init__(self) -> None:
        self.hits: dict[str, Hit] = {}
        self._vectors = np.empty((0, 0), np.float32)

    def take(self, hit: Hit, vector: NDArray[np.float32], sources: Sequence[str]) -> str:
        """Add a hit, or attach it to one that carries it; the id under which it is told."""
        if sources and all(source in self.hits for source in sources):
            carrier = self.hits[sources[0]]
            self.hits[carrier.id] = replace(carrier, via=(*carrier.via, hit.id))
            return carrier.id
        if (leader := self._said_before(hit, vector)) is not None:
            same = leader.text.split() == hit.text.split()
            evidence = (*leader.message_ids, *hit.message_ids) if same else leader.message_ids
            self.hits[leader.id] = replace(leader, similar=(*leader.similar, hit.id), message_ids=evidence)
            return leader.id
        self._keep(vector)
        self.hits[hit.id] = hit
        return hit.id

    def _said_before(self, hit: Hit, vector: NDArray[np.float32]) -> Hit | None:
        """The best hit that this one restates."""
        if not self.hits:
            return None
        close = np.flatnonzero(dot(self._vectors[: len(self.hits)], vector) >= SAME)
        leaders = list(self.hits.values()) if len(close) else ()
        return next((leaders[i] for i in close if _restates(leaders[i], hit)), None)

    def _keep(self, vector: NDArray[np.float32]) -> None:
        """The vector of the next hit beside those of the others."""
        held = len(self.hits)
        if held == len(self._vectors):
            grown = np.empty((max(64, 2 * held), len(vector)), np.float32)
            if held:
                grown[:held] = self._vectors
            self._vectors = grown
        self._vectors[held] = vector


def _restates(leader: Hit, hit: Hit) -> bool:
    """Whether a hit adds nothing: the same speaker says the same words in the same order.

    A vector cannot tell "I owe you" from "you owe me", nor what comes after the part of a text that a model reads: so the
    words decide, small ones included.
    """
    if (leader.kind, leader.speaker) != (hit.kind, hit.speaker) or max(len(leader.text), len(hit.text)) > LONGEST:
        return False
    return _said(hit.text) == _said(leader.text) and not differs(leader.text, hit.text)


def _said(text: str) -> list[str]:
    """The words of a text in order, without those that change nothing."""
    return [word for word in _WORD.findall(text.lower()) if word not in _HARMLESS]
