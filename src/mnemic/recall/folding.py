"""Hits: records with their scores, restatements folded into one hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mnemic.text.differences import restates
from mnemic.types import Episode, Hit, Message, Stored
from mnemic.vectors import dot

DECREMENT = 1 - 1e-6
"""Factor between consecutive scores, so that sorting by score keeps the order."""


def hit_from(stored: Stored, score: float, scores: dict[str, float]) -> Hit:
    """A record as a hit, with its score and signal values."""
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


def descending_scores(hits: Sequence[Hit], probability: float) -> tuple[Hit, ...]:
    """Hits in the same order, with descending scores of 0 to 1.

    A score is the probability that the result holds the answer, times the hit's share of the best sum of signals, and
    always less than the score before it: an outdated hit that was ranked lower must not return to the top.
    """
    best = max((hit.score for hit in hits), default=0.0)
    score, scored = probability, list[Hit]()
    for hit in hits:
        share = hit.score / best if best > 0 else 1.0
        score = max(0.0, min(score * DECREMENT, probability * share))
        scored.append(replace(hit, score=score))
    return tuple(scored)


LONGEST = 1_000
"""Characters; longer texts are never folded, because embedders truncate them."""

SAME = 0.9
"""Least cosine of restatements; ``text.restates`` decides."""


class FoldedHits:
    """Collects hits in order of rank and folds redundant ones.

    A memory whose sources are all hits is listed in the ``via`` of the first; a restatement of a hit by the same
    speaker in its ``similar``, and as evidence (``message_ids``) when the words are the same.
    """

    def __init__(self) -> None:
        self.hits: dict[str, Hit] = {}
        self._vectors = np.empty((0, 0), np.float32)

    def add(self, hit: Hit, vector: NDArray[np.float32], sources: Sequence[str]) -> str:
        """Add a hit, or fold it into another one; returns the id of the hit that holds it."""
        if sources and all(source in self.hits for source in sources):
            carrier = self.hits[sources[0]]
            self.hits[carrier.id] = replace(carrier, via=(*carrier.via, hit.id))
            return carrier.id
        if (leader := self._restated_by(hit, vector)) is not None:
            same = leader.text.split() == hit.text.split()
            evidence = (*leader.message_ids, *hit.message_ids) if same else leader.message_ids
            last = max(filter(None, (leader.last_said_at or leader.sent_at, hit.sent_at)), default=None)
            self.hits[leader.id] = replace(
                leader, similar=(*leader.similar, hit.id), message_ids=evidence, last_said_at=last
            )
            return leader.id
        self._store_vector(vector)
        self.hits[hit.id] = hit
        return hit.id

    def _restated_by(self, hit: Hit, vector: NDArray[np.float32]) -> Hit | None:
        """The best hit that says the same."""
        if not self.hits:
            return None
        close = np.flatnonzero(dot(self._vectors[: len(self.hits)], vector) >= SAME)
        leaders = list(self.hits.values()) if len(close) else ()
        return next((leaders[i] for i in close if _restates(leaders[i], hit)), None)

    def _store_vector(self, vector: NDArray[np.float32]) -> None:
        """Append the vector of the next hit; the matrix doubles as it grows."""
        held = len(self.hits)
        if held == len(self._vectors):
            grown = np.empty((max(64, 2 * held), len(vector)), np.float32)
            if held:
                grown[:held] = self._vectors
            self._vectors = grown
        self._vectors[held] = vector


def _restates(leader: Hit, hit: Hit) -> bool:
    """Whether a hit adds nothing: the same speaker says the same.

    Vectors cannot distinguish "I owe you" from "you owe me", nor read the truncated part of a text, so the words
    decide.
    """
    if (leader.kind, leader.speaker) != (hit.kind, hit.speaker) or max(len(leader.text), len(hit.text)) > LONGEST:
        return False
    return restates(leader.text, hit.text)
