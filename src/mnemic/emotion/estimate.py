"""Valence, arousal and confidence from words, punctuation and the vector of a text; and how like two moods are."""

from __future__ import annotations

import importlib
import math
import re
import warnings
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from zipfile import BadZipFile

import numpy as np

from mnemic.errors import ConfigurationError, InvalidInput
from mnemic.services.processes import process_lock
from mnemic.text.terms import STOP_WORDS
from mnemic.types import Emotion, Indexing, MemoryRecord
from mnemic.vectors import DEFAULT_MODELS, DIMENSION, MINILM, dot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

EMBEDDER = MINILM
"""The embedder whose vectors the regression was fitted on."""

FILE = "weights.npz"
"""What ``python -m benchmarks.quality.emotion fit`` wrote."""

FEATURES = (
    "negative", "positive", "compound", "strength", "most_positive", "most_negative", "positive_share", "negative_share",
    "polar_words", "exclamations", "questions", "ellipsis", "shouted", "shouted_share", "length", "stretched", "quoted",
    "digits", "ends_exclaiming", "amazed", "first_person", "second_person", "word_length", "opener",
)  # fmt: skip
"""The columns of `features_of`, in order."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted weights; all arrays are float32. n: features, m: centres.

    ``mean``, ``spread`` (n,): standardisation of the features. ``centres`` (m, 384 + n): centres of the Gaussian kernel, as
    vector and features. ``kernel`` (m, 2), ``linear`` (384 + n, 2), ``bias`` (2,): coefficients of the kernel values and of
    vector and features for valence and arousal. ``text_linear``, ``text_bias``: coefficients of the features-only model.
    ``scale`` (2,): kernel width, and weight of the features in it. ``neutral`` (2,): the ratings of a neutral text. ``sure``,
    ``text_sure`` (4,): logistic weights of strength, agreement and length, and the intercept. ``squares`` (m,): the squared
    lengths of the centres, computed on loading.
    """

    mean: NDArray[np.float32]
    spread: NDArray[np.float32]
    centres: NDArray[np.float32]
    kernel: NDArray[np.float32]
    linear: NDArray[np.float32]
    bias: NDArray[np.float32]
    text_linear: NDArray[np.float32]
    text_bias: NDArray[np.float32]
    scale: NDArray[np.float32]
    neutral: NDArray[np.float32]
    sure: NDArray[np.float32]
    text_sure: NDArray[np.float32]
    squares: NDArray[np.float32]


def complete(arrays: Mapping[str, NDArray[Any]]) -> Weights:
    """The weights from the arrays of a file, in float32."""
    names = [field.name for field in fields(Weights) if field.name != "squares"]
    single = {name: np.ascontiguousarray(arrays[name], np.float32) for name in names}
    return Weights(**single, squares=np.sum(single["centres"] ** 2, axis=1))


@lru_cache(maxsize=1)
def load() -> Weights:
    """The weights, read once.

    Raises:
        ConfigurationError: the file is missing or damaged.
    """
    try:
        with resources.files("mnemic.emotion").joinpath(FILE).open("rb") as file, np.load(file) as arrays:
            return complete(arrays)
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise ConfigurationError(
            f"The installed file mnemic/emotion/{FILE} is missing or damaged ({error}). Install mnemic again."
        ) from error


_READ = 10_000
"""Maximum characters read of a text."""

MAX_WORDS = 512  # maximum; the default embedder reads less
CHUNK = 64  # VADER's work grows with the square of a text's words

_WORD = re.compile(r"[A-Za-z]+(?:'[A-Za-z]+)*")
_STRETCHED = re.compile(r"([A-Za-z])\1\1")
_PLAIN = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u02bc": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2026": "...",
        "\ufe0f": "",
        "\u200d": "",
    }
)
_I = frozenset("i i'm i've i'd i'll me my mine myself".split())
_YOU = frozenset("you you're you've your yours yourself".split())
_OPENERS = frozenset("what how oh wow omg wtf damn".split())
_LOCK = process_lock()


@lru_cache(maxsize=1)
def _vader() -> Any:  # the package has no types
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it opens its lexicon in a deprecated way
        return cast("Any", importlib.import_module("vaderSentiment.vaderSentiment")).SentimentIntensityAnalyzer()


def _analyzer() -> Any:
    with _LOCK:  # two threads at once would both read the lexicon
        return _vader()


@lru_cache(maxsize=1)
def _after_emoji() -> re.Pattern[str]:
    emoji = "".join(re.escape(sign) for sign in _analyzer().emojis if len(sign) == 1)
    return re.compile(f"(?<=[{emoji}])(?=\\S)")


def _polarity(pieces: Sequence[str]) -> tuple[float, float, float]:
    """VADER's shares of negative and positive words and its compound score; for a long text the mean over its chunks."""
    score = _analyzer().polarity_scores
    totals = [0.0, 0.0, 0.0]
    for start in range(0, len(pieces), CHUNK):
        chunk = pieces[start : start + CHUNK]
        found: Mapping[str, float] = score(" ".join(chunk))
        share = len(chunk) / len(pieces)
        for at, name in enumerate(("neg", "pos", "compound")):
            totals[at] += share * found[name]
    return totals[0], totals[1], totals[2]


def _emphasis(text: str, found: Sequence[str], lexicon: Mapping[str, float]) -> tuple[float, ...]:
    upper = [word.lower() for word in found if word.isupper() and len(word) > 1]
    shouted = sum(word in lexicon or word in STOP_WORDS for word in upper)  # other capitals are names: NATO, HTTP
    return (
        1 - 0.5 ** text.count("!"), min(text.count("?"), 3) / 3, float("..." in text), min(shouted, 4) / 4,
        shouted / max(len(found), 1), min(math.log1p(len(found)), 4.5) / 4.5, float(_STRETCHED.search(text) is not None),
        float('"' in text), min(sum(map(str.isdigit, text)), 6) / 6, float(text.endswith("!")),
        float("!?" in text or "?!" in text),
    )  # fmt: skip


def features_of(text: str) -> NDArray[np.float32]:
    """The features of the regression, most of them between 0 and 1.

    Only the first 512 words of the first 10,000 characters are read; an emoji counts as one word, though VADER expands it.

    Returns:
        float32 array of shape (len(FEATURES),).
    """
    pieces = _after_emoji().sub(" ", text[:_READ].translate(_PLAIN)).split()[:MAX_WORDS]
    plain = " ".join(pieces)
    found = _WORD.findall(plain)
    lower = [word.lower() for word in found]
    n = max(len(found), 1)
    negative, positive, compound = _polarity(pieces)
    lexicon: Mapping[str, float] = _analyzer().lexicon
    polar = [lexicon[word] / 4 for word in lower if word in lexicon]
    up, down = [value for value in polar if value > 0], [-value for value in polar if value < 0]
    values = (
        negative, positive, compound, abs(compound), max(up, default=0.0), max(down, default=0.0), sum(up) / n, sum(down) / n,
        min(len(polar), 6) / 6, *_emphasis(plain, found, lexicon), float(not _I.isdisjoint(lower)),
        float(not _YOU.isdisjoint(lower)), min(sum(map(len, found)) / n, 10) / 10, float(not _OPENERS.isdisjoint(lower[:1])),
    )  # fmt: skip
    return np.array(values, np.float32)


LIMIT = 10.0  # standard deviations; outliers are clipped
KNEE = 0.8


def standardised(found: Floats, weights: Weights) -> Floats:
    """Standardised features, with a sum of squares of about 1: shape (n, features), float32."""
    scaled = np.clip((found - weights.mean) / weights.spread, -LIMIT, LIMIT)
    return (scaled / np.sqrt(len(FEATURES))).astype(np.float32)


def kernel(points: Floats, centres: Floats, squares: Floats, width: float) -> Floats:
    """The Gaussian of the distance of each point to each centre, in 0..1: shape (points, centres).

    Args:
        points: shape (n, d).
        centres: shape (m, d).
        squares: the squared lengths of the centres, shape (m,).
        width: the inverse width of the kernel.
    """
    apart = np.sum(points * points, axis=1)[:, None] + squares - 2 * dot(points, centres.T)
    return np.exp(-width * np.maximum(apart, 0))


def ratings(vectors: Floats, scaled: Floats, weights: Weights) -> Floats:
    """Valence and arousal relative to neutral, in points of the five-point scale.

    Args:
        vectors: unit vectors of the fitted embedder, shape (n, 384).
        scaled: standardised features, shape (n, features).
        weights: the fitted weights.

    Returns:
        float32 array of shape (n, 2).
    """
    width, share = (float(value) for value in weights.scale)
    near = kernel(np.hstack([vectors, share * scaled]), weights.centres, weights.squares, width)
    straight = dot(np.hstack([vectors, scaled]), weights.linear)
    return dot(near, weights.kernel) + straight + weights.bias - weights.neutral


def text_ratings(scaled: Floats, weights: Weights) -> Floats:
    """The same from the features only: less accurate, but independent of the embedder."""
    return dot(scaled, weights.text_linear) + weights.text_bias - weights.neutral


def bounded(found: Floats) -> Floats:
    """Ratings mapped to -1..1: one point of the scale is 1, compressed beyond 0.8."""
    size = np.abs(found)
    beyond = KNEE + (1 - KNEE) * np.tanh((size - KNEE) / (1 - KNEE))
    return np.copysign(np.where(size > KNEE, beyond, size), found)


def evidence(found: Floats, by_text: Floats, length: Floats) -> Floats:
    """Inputs of the confidence: distance from neutral, agreement with the features-only estimate, number of words.

    Args:
        found: the estimates, shape (n, 2).
        by_text: the features-only estimates, shape (n, 2).
        length: logarithm of the number of words, 0 to 1, shape (n,).

    Returns:
        float32 array of shape (n, 4); the last column is 1.
    """
    seen = np.ones((len(found), 4), np.float32)
    seen[:, 0] = np.abs(found).max(axis=1)
    seen[:, 1] = np.exp(-2 * np.abs(found - by_text).max(axis=1))
    seen[:, 2] = length
    return seen


def confidence(seen: Floats, sure: Floats) -> Floats:
    """2p - 1 for the probability p that the stronger of the two signs is right: 0 is chance, 1 is certain."""
    chance = 1 / (1 + np.exp(-np.clip((seen * sure).sum(axis=1), -30, 30)))
    return np.clip(2 * chance - 1, 0, 1)


NEUTRAL = Emotion(valence=0.0, arousal=0.0, confidence=0.0)
"""The emotion of an empty text, with confidence 0."""

FLOOR = 0.3  # of the larger of valence and arousal; below it a text is factual
REACH = 0.5  # distance on the plane at which two moods are still 61 % alike

_LENGTH = FEATURES.index("length")
_LATIN = "\u024f"
"""The last Latin letter."""


def emotion(text: str) -> Emotion:
    """Estimate the emotion of a text from its words and punctuation.

    Args:
        text: one or a few English sentences; of a long text the first 512 words are read.

    Returns:
        Valence and arousal in -1..1, about 0 for a neutral text, and a confidence in 0..1.

    Examples:
        >>> glad = emotion("We won the championship!")
        >>> glad.quadrant
        'excited'
        >>> emotion("") == NEUTRAL
        True
    """
    return emotions([text])[0]


def emotions(
    texts: Sequence[str], vectors: NDArray[np.float32] | None = None, model: str | None = None
) -> list[Emotion]:
    """Estimate the emotions of several texts, each on its own; see `emotion`.

    Args:
        texts: any number of texts.
        vectors: their embeddings, shape (len(texts), d); None uses only words and punctuation, which is less accurate. A row
            of zeros is a missing vector.
        model: the embedder of the vectors. Only those of the default model are used.

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
    letters = [char for char in text[:_READ] if char.isalpha()]
    share = sum(char <= _LATIN for char in letters) / len(letters) if letters else 1.0
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


def mean(moods: Sequence[Emotion]) -> Emotion | None:
    """The mean of the moods that show affect, weighted by confidence; None if none does."""
    shown = [mood for mood in moods if has_affect(mood)]
    total = sum(mood.confidence for mood in shown)
    if not total:
        return None
    valence = sum(mood.valence * mood.confidence for mood in shown) / total
    arousal = sum(mood.arousal * mood.confidence for mood in shown) / total
    return Emotion(valence=valence, arousal=arousal, confidence=total / len(shown))


def emotions_of(texts: Sequence[str], vectors: Sequence[Floats | None], model: str) -> list[Emotion]:
    """The emotion of texts, using their vectors where there are any."""
    width = next((len(vector) for vector in vectors if vector is not None), 0)
    rows = np.zeros((len(texts), width), np.float32)
    for row, vector in zip(rows, vectors, strict=True):
        if vector is not None and np.isfinite(vector).all():
            row[:] = vector
    return emotions(texts, rows if width else None, model)


def with_emotion(record: MemoryRecord, index: Indexing) -> MemoryRecord:
    """Set the emotion of a memory from its text."""
    return replace(record, emotion=emotions_of([record.content], [index.vector], index.model)[0])
