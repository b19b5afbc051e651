"""One user among many: whether others' rows cost time, move a score, or hide evidence."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.conversations import Conversation, Question
from benchmarks.quality import metrics
from benchmarks.speed import corpus
from benchmarks.speed.children import known_texts
from benchmarks.speed.measures import Timings
from benchmarks.vectors import PreparedEmbedder
from mnemic import Memory

__all__ = ["measure"]

SLICES = 10


def measure(conversations: Sequence[Conversation], embedder: Any, foreign: int) -> dict[str, Any]:
    """The first conversation as one user among ``foreign`` rows of a hundred others, beside the same conversation alone.

    The conversation's rows are written in ten slices between those of the others. The others hold turns of the remaining
    conversations and made-up ones; each owns 1 % of the foreign rows, and one of them is timed too.
    """
    mine = corpus.prepare(conversations[:1], embedder)
    rest = corpus.grown(corpus.prepare(conversations[1:], embedder), foreign)
    questions = conversations[0].questions
    alone, apart = _filled(mine, None, questions), _filled(mine, rest, questions)
    same_ids = sum(a["ids"] == b["ids"] for a, b in zip(alone["hits"], apart["hits"], strict=True))
    same_scores = sum(a == b for a, b in zip(alone["hits"], apart["hits"], strict=True))
    return {
        "conversation": conversations[0].name, "rows_of_the_conversation": len(mine.rows), "foreign_rows": foreign,
        "questions": len(questions), "alone": alone["search"], "among_others": apart["search"],
        "R@10_alone": alone["R@10"], "R@10_among_others": apart["R@10"],
        "R@10_difference": round(apart["R@10"] - alone["R@10"], 4),
        "questions_with_the_same_hits": same_ids, "questions_with_identical_scores": same_scores,
        "user_with_1_percent": apart["one_percent"],
    }  # fmt: skip


def _filled(mine: corpus.Corpus, rest: corpus.Corpus | None, questions: Sequence[Question]) -> dict[str, Any]:
    texts, vectors = known_texts(mine)
    if rest is not None:
        more, others = known_texts(rest)
        texts, vectors = [*texts, *more], np.concatenate([vectors, others])
    embedder = PreparedEmbedder(texts, vectors)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "memory", user="ana", embedder=embedder, durability="NORMAL") as memory,
    ):
        _write(memory, mine, rest)
        found = _asked(memory, questions)
        if rest is not None:
            owner = memory.scoped(user="other 50")
            found["one_percent"] = {"rows": owner.stats().messages, **_timed(owner, rest.questions).summary()}
    return found | {"texts_without_vector": embedder.unknown}


def _write(memory: Memory, mine: corpus.Corpus, rest: corpus.Corpus | None) -> None:
    """The conversation in slices, each after a tenth of the other users."""
    slices = np.array_split(np.arange(len(mine.rows)), SLICES)
    for number, part in enumerate(slices):
        if rest is not None:
            for other in range(number * 100 // SLICES, (number + 1) * 100 // SLICES):
                size = len(rest.rows) // 100
                rows = rest.rows[other * size : (other + 1) * size]
                memory.scoped(user=f"other {other}").add([corpus.to_message(row) for row in rows])
        memory.add([corpus.to_message(mine.rows[int(i)]) for i in part])


def _asked(memory: Memory, questions: Sequence[Question]) -> dict[str, Any]:
    timings, hits, recall = Timings(), [], []
    memory.search(questions[0].text)
    for question in questions:
        result = timings.of(memory.search, question.text)
        ranked = metrics.distinct(i for hit in result for i in hit.message_ids)
        recall.append(metrics.fraction(question.gold, ranked[:10]))
        hits.append({"ids": [h.id for h in result], "scores": [(h.score, dict(h.scores)) for h in result]})
    return {"search": timings.summary(), "hits": hits, "R@10": round(100 * float(np.mean(recall)), 4)}


def _timed(memory: Memory, questions: Sequence[str]) -> Timings:
    timings = Timings()
    memory.search(questions[0])
    for text in questions:
        timings.of(memory.search, text)
    return timings
