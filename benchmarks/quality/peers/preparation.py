"""Conversations as the talks that every peer is given, written where its processes read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.conversations import Conversation
from benchmarks.quality.peers.protocol import Talk, Turn
from benchmarks.speed import corpus
from mnemic.text.terms import STOP_WORDS
from mnemic.types import searchable

__all__ = ["COLD_STARTS", "LARGE", "prepare"]

LARGE = "large"
TIMED_QUESTIONS = 401
COLD_STARTS = 3


def _talk(name: str, held: corpus.Corpus) -> Talk:
    turns = [Turn(rendered=searchable(corpus.to_message(row)), **asdict(row)) for row in held.rows]
    now = max(datetime.fromisoformat(turn.sent_at) for turn in turns)
    return Talk(name, now.isoformat(), turns, held.questions, held.vectors, held.question_vectors)


def prepare(conversations: Sequence[Conversation], embedder: Any, rows: int, work: Path) -> list[str]:
    """Write a talk for each conversation, the large one of ``rows`` turns, the questions of cold starts, the stop words.

    The large talk holds the turns of all conversations and, up to ``rows``, turns recombined from their sentences; see
    ``benchmarks.speed.corpus``. Its questions are spread evenly over those of all conversations.

    Returns:
        The names of the conversations' talks, in order.
    """
    names = [f"talk-{number}" for number in range(len(conversations))]
    for name, conversation in zip(names, conversations, strict=True):
        _talk(name, corpus.prepare([conversation], embedder)).write(work)
    large = _talk(LARGE, corpus.grown(corpus.prepare(conversations, embedder, TIMED_QUESTIONS), rows))
    large.write(work)
    for number in range(COLD_STARTS):
        at = number * (len(large.questions) - 1) // COLD_STARTS
        asked = {"text": large.questions[at], "vector": large.question_vectors[at].tolist(), "now": large.now}
        (work / f"question-{number}.json").write_text(json.dumps(asked), encoding="utf-8")
    (work / "stop_words.txt").write_text("\n".join(sorted(STOP_WORDS)), encoding="utf-8")
    return names
