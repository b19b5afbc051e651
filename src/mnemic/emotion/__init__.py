"""Valence and arousal of English sentences, and the similarity of two moods: pure functions.

The weights were fitted on EmoBank; NOTICE.md in this folder has the method and the licence.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from mnemic.emotion.estimate import (
    READ,
    bounded,
    confidence,
    evidence,
    features_of,
    ratings,
    standardised,
    text_ratings,
)
from mnemic.emotion.weights import DIMENSION, EMBEDDER, FEATURES, load
from mnemic.errors import InvalidInput
from mnemic.types import Emotion
from mnemic.vectors import DEFAULT_MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["NEUTRAL", "emotion", "emotions", "has_affect", "similarity"]

NEUTRAL = Emotion(valence=0.0, arousal=0.0, confidence=0.0)
"""The emotion of an empty text, with confidence 0."""

FLOOR = 0.3  # of the larger of valence and arousal; below it a text is factual
REACH = 0.5  # distance on the plane at which two moods are still 61 % alike

_LENGTH = FEATURES.index("length")
_LETTER = re.compile(r"[^\W\d_]")
_FOREIGN = re.compile(r"[^\W\d_a-zA-Z\u00aa-\u024f]")  # a letter that is not Latin


def emotion(text: str, *, vector: NDArray[np.float32] | None = None, model: str | None = None) -> Emotion:
    """Estimate the emotion of a text.

    Args:
        text: one or a few English sentences; of a long text the first 512 words are read.
        vector: its embedding, shape (d,); None uses only words and punctuation.
        model: the embedder of the vector. Only vectors of the default model are used; with any other the estimate uses words
            and punctuation only, which is less accurate.

    Returns:
        Valence and arousal in -1..1, about 0 for a neutral text, and a confidence in 0..1.

    Raises:
        InvalidInput: the vector does not have the model's dimension, or contains a value that is not a finite number.

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
    """Estimate the emotions of several texts; equal to `emotion` of each.

    Args:
        texts: any number of texts.
        vectors: their embeddings, shape (len(texts), d), or None. A row of zeros is a missing vector.
        model: the embedder of the vectors.

    Raises:
        InvalidInput: the vectors have the wrong shape, or contain a value that is not a finite number.
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
    return [_to_emotion(text, *values) for text, *values in zip(texts, *bounded(found).T, sure, strict=True)]


def _to_emotion(text: str, valence: float, arousal: float, sure: float) -> Emotion:
    """An estimate as a value. The confidence is 0 for a blank text, and lower with letters of other scripts."""
    if not text.strip():
        return NEUTRAL
    text = text[:READ]
    letters, foreign = len(_LETTER.findall(text)), len(_FOREIGN.findall(text))
    share = 1 - foreign / letters if letters else 1.0
    return Emotion(valence=float(valence), arousal=float(arousal), confidence=float(sure) * share)


def _usable(vectors: NDArray[np.float32] | None, model: str | None, count: int) -> NDArray[np.float32] | None:
    """The vectors as unit rows, if they are of the model of the regression; else None."""
    if vectors is None or model not in DEFAULT_MODELS:
        return None
    rows = np.asarray(vectors, np.float32)
    if rows.shape != (count, DIMENSION):
        raise InvalidInput(
            f"The vectors have the shape {rows.shape}, but {count} texts of {EMBEDDER} have {(count, DIMENSION)}. "
            "Pass one vector per text, as the embedder returned it."
        )
    if not np.isfinite(rows).all():
        raise InvalidInput("A vector contains a value that is not a finite number. Embed the text again.")
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def similarity(a: Emotion, b: Emotion) -> float:
    """Similarity of two moods on the plane, in 0..1, weighted by the geometric mean of their confidences.

    1 is the same mood with full confidence; 0 an opposite mood, or one with confidence 0, so that an uncertain mood never
    raises a memory.
    """
    apart = math.hypot(a.valence - b.valence, a.arousal - b.arousal)
    return math.sqrt(a.confidence * b.confidence) * math.exp(-((apart / REACH) ** 2) / 2)


def has_affect(mood: Emotion) -> bool:
    """Whether a mood is usable: its confidence is above 0, and valence or arousal at least 0.3 from neutral."""
    return mood.confidence > 0 and max(abs(mood.valence), abs(mood.arousal)) >= FLOOR
