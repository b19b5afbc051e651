"""Rows to fill a store with: real turns first, then turns recombined from their sentences, up to any number."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.conversations import Conversation
from mnemic import Message
from mnemic.types import searchable

__all__ = ["Corpus", "Row", "grown", "of_twenty_words", "prepare", "read", "read_questions", "to_message"]

SEED = 7
TURNS_A_SESSION = 20
NOISE = 0.35
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Row:
    """One turn. ``sent_at`` is an ISO date."""

    id: str
    session: str
    speaker: str
    text: str
    sent_at: str
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Rows with their unit vectors (n, d), and questions with theirs (q, d)."""

    rows: Sequence[Row]
    vectors: np.ndarray
    questions: Sequence[str]
    question_vectors: np.ndarray

    def write(self, folder: Path) -> None:
        """Put it where child processes can read it."""
        folder.mkdir(parents=True, exist_ok=True)
        rows = [list(asdict(row).values()) for row in self.rows]
        (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        (folder / "questions.json").write_text(json.dumps(list(self.questions)), encoding="utf-8")
        np.save(folder / "vectors.npy", self.vectors)
        np.save(folder / "question_vectors.npy", self.question_vectors)


def read(folder: Path) -> Corpus:
    """What ``Corpus.write`` wrote."""
    rows = [Row(*values) for values in json.loads((folder / "rows.json").read_text(encoding="utf-8"))]
    return Corpus(rows, np.load(folder / "vectors.npy"), *read_questions(folder))


def read_questions(folder: Path) -> tuple[list[str], np.ndarray]:
    """The questions with their vectors, without the rows."""
    return json.loads((folder / "questions.json").read_text(encoding="utf-8")), np.load(folder / "question_vectors.npy")


def to_message(row: Row) -> Message:
    """The row as Mnemic takes it."""
    return Message(
        role=row.role, name=row.speaker or None, content=row.text, id=row.id, session=row.session,
        sent_at=datetime.fromisoformat(row.sent_at),
    )  # fmt: skip


def prepare(conversations: Sequence[Conversation], embedder: Any, questions: int | None = None) -> Corpus:
    """The turns of conversations with their vectors, and questions spread evenly over what is asked of them."""
    messages = [message for c in conversations for message in c.messages]
    asked = [question.text for c in conversations for question in c.questions]
    if questions is not None and questions < len(asked):
        asked = [asked[int(i)] for i in np.linspace(0, len(asked) - 1, questions)]
    vectors = embedder.embed([searchable(message) for message in messages])
    asked_vectors = embedder.embed(asked, kind="query")
    rows = [
        Row(m.id or "", m.session or "", m.name or "", m.content, m.sent_at.isoformat() if m.sent_at else "", m.role)
        for m in messages
    ]
    return Corpus(rows, np.asarray(vectors, np.float32), asked, np.asarray(asked_vectors, np.float32))


def grown(real: Corpus, size: int) -> Corpus:
    """The corpus cut or grown to ``size`` rows.

    A made-up turn is one to three sentences, each from a turn drawn at random (seed 7), said by the speaker of the first
    of them: words are as frequent as in the real turns, so the postings of a question grow with the corpus. Its vector is
    a random mixture of the vectors of those turns with noise of .35 its length, normalised. Sessions are 20 turns long,
    one a day.
    """
    more = size - len(real.rows)
    if more <= 0:
        return replace(real, rows=real.rows[:size], vectors=real.vectors[:size])
    draw = np.random.default_rng(SEED)
    sentences = [(at, s) for at, row in enumerate(real.rows) for s in _SENTENCE.split(row.text) if s]
    begun = max(datetime.fromisoformat(row.sent_at) for row in real.rows)
    counts, picks = draw.integers(1, 4, more), draw.integers(0, len(sentences), (more, 3))
    rows: list[Row] = []
    for i in range(more):
        parts = [sentences[p] for p in picks[i, : counts[i]]]
        day, first = i // TURNS_A_SESSION, real.rows[parts[0][0]]
        moment = begun + timedelta(days=day + 1, minutes=i % TURNS_A_SESSION)
        text = " ".join(sentence for _, sentence in parts)
        rows.append(Row(f"made:{i}", f"made:session_{day}", first.speaker, text, moment.isoformat(), first.role))
    vectors = np.concatenate([real.vectors, _mixed(real.vectors, sentences, counts, picks, draw)])
    return replace(real, rows=[*real.rows, *rows], vectors=vectors)


def _mixed(
    vectors: np.ndarray, sentences: Sequence[tuple[int, str]], counts: np.ndarray, picks: np.ndarray, draw: Any
) -> np.ndarray:
    """Unit vectors: mixtures of the vectors of the turns that were drawn, and noise."""
    turn_of = np.array([at for at, _ in sentences])
    weights = draw.random(picks.shape) * (np.arange(picks.shape[1]) < counts[:, None])
    mixed = np.zeros((len(picks), vectors.shape[1]), np.float32)
    for column in range(picks.shape[1]):
        mixed += weights[:, column, None].astype(np.float32) * vectors[turn_of[picks[:, column]]]
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    noise = draw.standard_normal(mixed.shape, dtype=np.float32)
    mixed += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


def of_twenty_words(corpus: Corpus) -> Corpus:
    """The same rows with texts of exactly 20 words each, cut or filled up from the rows that follow."""
    words = [row.text.split() for row in corpus.rows]
    filled: list[Row] = []
    for i, row in enumerate(corpus.rows):
        text, at = list(words[i]), i
        while len(text) < 20:
            at = (at + 1) % len(words)
            text += words[at]
        filled.append(replace(row, text=" ".join(text[:20])))
    return replace(corpus, rows=filled)
