"""How the texts of a store are ranked for a query: by meaning where there are vectors, lifted by the words they share."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["blended", "clean", "cosines", "terms", "unit_rows", "word_scores"]

K1, B = 1.2, 0.75

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[぀-ヿ㐀-鿿가-힣豈-﫿฀-๿]+")
"""Scripts that set no spaces between words."""


def clean(text: str) -> str:
    """A text that can be written as UTF-8: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def terms(text: str) -> list[str]:
    """The words of a text without case and accents; scripts without spaces give pairs of characters."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", clean(text).casefold()) if not unicodedata.combining(c))
    plain = unicodedata.normalize("NFC", bare)
    found = _WORD.findall(_UNSPACED.sub(" ", plain))
    for run in _UNSPACED.findall(plain):
        found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return found


def word_scores(
    query: Sequence[str], lengths: Mapping[int, int], postings: Iterable[tuple[str, int, int]]
) -> dict[int, float]:
    """BM25 as a share of the best a text could have: 0 to 1, among the given texts and by their statistics alone.

    Args:
        query: the terms asked for.
        lengths: how many terms each text has, of every text that may be found.
        postings: (term, text, count) of the terms asked for; texts without a length are left out.
    """
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for term, text, count in postings:
        if text in lengths:
            counts[term][text] = count
    if not counts:
        return {}
    mean = sum(lengths.values()) / len(lengths) or 1.0
    asked = Counter(query)
    weight = {t: asked[t] * math.log1p((len(lengths) - len(h) + 0.5) / (len(h) + 0.5)) for t, h in counts.items()}
    unseen = math.log1p((len(lengths) + 0.5) / 0.5)
    best = sum(weight.get(term, times * unseen) for term, times in asked.items()) * (K1 + 1)
    scores: defaultdict[int, float] = defaultdict(float)
    for term, held in counts.items():
        for text, count in held.items():
            slowed = count + K1 * (1 - B + B * lengths[text] / mean)
            scores[text] += weight[term] * count * (K1 + 1) / slowed / best
    return dict(scores)


def unit_rows(vectors: Sequence[Sequence[float]] | Vectors) -> Vectors:
    """Rows of length one as float32; a row of zeros stays one."""
    rows = np.asarray(vectors, dtype=np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1).astype(np.float32)


def cosines(rows: Vectors, query: Vectors) -> list[float]:
    """The cosine of each unit row with a unit vector."""
    return np.einsum("ij,j->i", rows, query).tolist()


def blended(cosine: float | None, words: float, weight: float) -> float | None:
    """One score: the cosine, lifted towards one by the words a text shares with the query; None when there is neither."""
    if cosine is None:
        return words or None
    return cosine + weight * words * (1 - cosine)
