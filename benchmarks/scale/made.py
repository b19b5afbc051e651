"""Records that were made, not said: texts of Zipf words, unit vectors in clusters, a hundred users or one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

__all__ = ["DIMENSION", "Batch", "Made", "Question", "batches", "questions"]

DIMENSION, CLUSTERS, LATENT = 384, 2000, 48
VOCABULARY, WORDS = 20_000, (8, 40)
USERS = 100
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOISE = 0.02


@dataclass(frozen=True, slots=True)
class Batch:
    """The next rows, in the order they are stored; vectors have the shape (rows, 384)."""

    first: int
    texts: Sequence[str]
    vectors: np.ndarray


@dataclass(frozen=True, slots=True)
class Question:
    """Some words of a row of the user, and a vector near to that of the row."""

    text: str
    vector: np.ndarray


class Made:
    """Rows by their number: the same for every engine.

    Args:
        rows: how many.
        seed: of everything.
    """

    def __init__(self, rows: int, seed: int = 0) -> None:
        self.rows = rows
        self._random = np.random.default_rng(seed)
        self._centres = self._random.normal(size=(CLUSTERS, DIMENSION))
        self._latent = self._random.normal(size=(LATENT, DIMENSION))

    def vectors(self, count: int) -> np.ndarray:
        """The next vectors: 2,000 clusters of Zipf sizes, a latent space of 48, and noise."""
        random = self._random
        made = self._centres[random.zipf(1.3, size=count) % CLUSTERS] * 0.5
        made += random.normal(size=(count, LATENT)) @ self._latent * 0.15 + random.normal(size=(count, DIMENSION)) * 0.2
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    def texts(self, count: int) -> list[str]:
        """The next texts: 8 to 40 words each of a vocabulary of 20,000, the n-th word as often as 1/n."""
        lengths = self._random.integers(*WORDS, size=count)
        ranks = np.exp(self._random.random(int(lengths.sum())) * np.log(VOCABULARY)).astype(int)
        words, ends = [f"word{rank}" for rank in ranks], np.cumsum(lengths)
        return [" ".join(words[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def batches(made: Made, size: int = 2000) -> Iterator[Batch]:
    """All rows."""
    for first in range(0, made.rows, size):
        count = min(size, made.rows - first)
        yield Batch(first, made.texts(count), made.vectors(count))


def user(number: int, *, shared: bool) -> str:
    """Whose a row is: one of a hundred in turn, or one user's."""
    return f"user{number % USERS}" if shared else "user0"


def sent_at(number: int) -> datetime:
    """When a row was said: one each minute."""
    return BEGAN + timedelta(minutes=number)


def questions(texts: Sequence[str], vectors: np.ndarray, count: int, seed: int = 1) -> list[Question]:
    """Questions about rows of one user."""
    random = np.random.default_rng(seed)
    found: list[Question] = []
    for row in random.integers(len(texts), size=count):
        words = texts[row].split()
        near = vectors[row] + random.normal(size=DIMENSION).astype(np.float32) * NOISE
        text = " ".join(random.choice(words, size=min(6, len(words)), replace=False))
        found.append(Question(f"{text} q{len(found)}", near / np.linalg.norm(near)))
    return found
