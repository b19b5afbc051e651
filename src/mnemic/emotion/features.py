"""What a text shows of a mood by its words and marks: VADER's polarity, emphasis, who speaks."""

from __future__ import annotations

import importlib
import math
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mnemic.services.process import process_lock
from mnemic.text.terms import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["FEATURES", "READ", "features_of"]

FEATURES = (
    "negative", "positive", "compound", "strength", "most_positive", "most_negative", "positive_share", "negative_share",
    "polar_words", "exclamations", "questions", "ellipsis", "shouted", "shouted_share", "length", "stretched", "quoted",
    "digits", "ends_exclaiming", "amazed", "first_person", "second_person", "word_length", "opener",
)  # fmt: skip
"""The columns of `features_of`, in order."""

READ = 10_000
"""Characters that are read of a text."""

MAX_WORDS = 512  # as for characters; the default embedder sees less
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
        warnings.simplefilter("ignore", DeprecationWarning)  # it opens its lexicon in a way that Python is giving up
        return cast("Any", importlib.import_module("vaderSentiment.vaderSentiment")).SentimentIntensityAnalyzer()


def _analyzer() -> Any:
    with _LOCK:  # two threads at once would both read the lexicon
        return _vader()


@lru_cache(maxsize=1)
def _after_emoji() -> re.Pattern[str]:
    emoji = "".join(re.escape(sign) for sign in _analyzer().emojis if len(sign) == 1)
    return re.compile(f"(?<=[{emoji}])(?=\\S)")


def _polarity(pieces: Sequence[str]) -> tuple[float, float, float]:
    """VADER's share of negative and of positive words and its compound score; of a long text, the mean over its chunks."""
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
    """The numbers that a regression reads, most of them between 0 and 1.

    Only the first 512 words of the first 10,000 characters are read; an emoji is a word, because VADER reads it as several.

    Returns:
        float32 array of shape (len(FEATURES),).
    """
    pieces = _after_emoji().sub(" ", text[:READ].translate(_PLAIN)).split()[:MAX_WORDS]
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
