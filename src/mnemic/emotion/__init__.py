"""Valence and arousal of a text, and how near two moods are: pure functions, in English, for whole sentences.

The numbers behind it were fitted on EmoBank; NOTICE.md in this folder says how, and under which licence they stand.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from mnemic.emotion.estimate import (
    FEATURES,
    READ,
    bounded,
    confidence,
    evidence,
    features_of,
    ratings,
    standardised,
    text_ratings,
)
from mnemic.emotion.weights import DIMENSION, EMBEDDER, load
from mnemic.errors import InvalidInput
from mnemic.types import Emotion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["NEUTRAL", "emotion", "emotions", "has_affect", "similarity"]

NEUTRAL = Emotion(valence=0.0, arousal=0.0, confidence=0.0)
"""What an empty text has: nothing is known of its mood."""

FLOOR = 0.3  # of the larger of valence and arousal: below it a text states rather than feels
REACH = 0.5  # distance on the plane at which two moods are still 61 % alike

_LENGTH = FEATURES.index("length")
_LETTER = re.compile(r"[^\W\d_]")
_FOREIGN = re.compile(r"[^\W\d_a-zA-Z\u00aa-\u024f]")  # a letter that is not Latin


def emotion(text: str, *, vector: NDArray[np.float32] | None = None, model: str | None = None) -> Emotion:
    """The mood that a text speaks of or speaks in.

    Args:
        text: a sentence or a few, in English; of a long text the first 512 words are read.
        vector: its embedding, shape (d,); None goes by the words and marks alone.
        model: the id of the embedder that made the vector. Only vectors of the default model are used; with any other,
            words and marks decide, less exactly.

    Returns:
        Valence and arousal in -1..1, about 0 for a neutral text, and a confidence in 0..1.

    Raises:
        InvalidInput: the vector does not have the model's dimension, or holds something that is not a number.

    Example:
        >>> glad = emotion("We won the championship!")
        >>> glad.quadrant
        'excited'
        >>> emotion("") == NEUTRAL
        True
    """
    return emotions([text], None if vector is None else np.asarray(vector)[None], model)[0]


def emotions(
    texts: Sequence[str], vectors: NDArray[np.float32] | None = None, model: str | None = None
) -> list[Emotion]:
    """The moods of several texts; each is what `emotion` says of it alone.

    Args:
        texts: any number of texts.
        vectors: their embeddings, shape (len(texts), d), or None. A row of zeros stands for a vector that is missing.
        model: the id of the embedder that made them.

    Raises:
        InvalidInput: the vectors do not have the shape that texts and model ask for, or hold something that is not a number.
    """
    if not texts:
        return []
    weights = load()
    columns = np.stack([features_of(text) for text in texts])
    scaled, length = standardised(columns, weights), columns[:, _LENGTH]
    by_text = text_ratings(scaled, weights)
    usable = _usable(vectors, model, len(texts))
    known = np.zeros(len(texts), bool) if usable is None else usable.any(axis=1)
    found, sure = by_text.copy(), np.zeros(len(texts), np.float32)
    if usable is not None and known.any():
        found[known] = ratings(usable[known], scaled[known], weights)
        sure[known] = confidence(evidence(found[known], by_text[known], length[known]), weights.sure)
    if not known.all():
        alone = by_text[~known]
        sure[~known] = confidence(evidence(alone, alone, length[~known]), weights.text_sure)
    return [_placed(text, *values) for text, *values in zip(texts, *bounded(found).T, sure, strict=True)]


def _placed(text: str, valence: float, arousal: float, sure: float) -> Emotion:
    """The estimate as a value; nothing is known of a blank text, and less the more of it is in another script."""
    if not text.strip():
        return NEUTRAL
    text = text[:READ]
    letters, foreign = len(_LETTER.findall(text)), len(_FOREIGN.findall(text))
    share = 1 - foreign / letters if letters else 1.0
    return Emotion(valence=float(valence), arousal=float(arousal), confidence=float(sure) * share)


def _usable(vectors: NDArray[np.float32] | None, model: str | None, count: int) -> NDArray[np.float32] | None:
    """The vectors with rows of length 1, if they are of the model that the regression knows."""
    if vectors is None or model != EMBEDDER:
        return None
    rows = np.asarray(vectors, np.float32)
    if rows.shape != (count, DIMENSION):
        raise InvalidInput(
            f"The vectors have the shape {rows.shape}, but {count} texts of {EMBEDDER} have {(count, DIMENSION)}. "
            "Give one vector for each text, as the embedder made it."
        )
    if not np.isfinite(rows).all():
        raise InvalidInput("A vector holds a value that is not a finite number. Embed the text again.")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def similarity(a: Emotion, b: Emotion) -> float:
    """How surely two moods are near each other on the plane, in 0..1.

    1 is the same mood, for certain. 0 is an opposite mood, or one that nothing is known of: a memory is never raised for
    a mood that it may not have. The confidences weigh in by their geometric mean.
    """
    apart = math.hypot(a.valence - b.valence, a.arousal - b.arousal)
    return math.sqrt(a.confidence * b.confidence) * math.exp(-((apart / REACH) ** 2) / 2)


def has_affect(mood: Emotion) -> bool:
    """Whether there is a mood to go by: sure of anything at all, and valence or arousal at least 0.3 from neutral."""
    return mood.confidence > 0 and max(abs(mood.valence), abs(mood.arousal)) >= FLOOR
