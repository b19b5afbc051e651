"""Logistic regressions on a text and its vector, whose weights are in a file of the package."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.text.english import bare_words
from mnemic.vectors import DEFAULT_MODELS, Floats, dot

READ = 200
"""Characters of a text whose phrases are read."""


@cache
def _weights(package: str, name: str) -> tuple[Floats, Mapping[str, float]]:
    """The weights in a file: of the ``vector`` and the intercept, packed, and of the ``phrases``, if it has any."""
    weights = json.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    return np.frombuffer(b64decode(weights["vector"]), "<f2").astype(np.float32), weights.get("phrases", {})


def pack(weights: NDArray[Any]) -> str:
    """Numbers as text, in half precision."""
    return b64encode(np.asarray(weights, "<f2").tobytes()).decode()


class LinearProbe:
    """A logistic regression on vectors of the default embedder.

    Args:
        package: the package of the file with the weights.
        name: the file.
    """

    def __init__(self, package: str, name: str) -> None:
        self._file = package, name

    @property
    def weights(self) -> Floats:
        """The weights of the features and the intercept, shape (d + 1,)."""
        return _weights(*self._file)[0]

    def log_odds(self, vectors: Floats, model: str | None) -> Floats:
        """The log odds of each vector.

        Args:
            vectors: shape (n, d).
            model: id of their embedder; all are 0 with one that the weights were not fitted on.

        Returns:
            Shape (n,).
        """
        weights = self.weights
        if model not in DEFAULT_MODELS or vectors.shape[1] != len(weights) - 1:
            return np.zeros(len(vectors), np.float32)
        return dot(vectors, weights[:-1]) + weights[-1]


class TextProbe:
    """A logistic regression on the vector of a text by the default embedder, and on its phrases.

    Args:
        package: the package of the file with the weights.
        name: the file.
    """

    def __init__(self, package: str, name: str) -> None:
        self._file, self.vector = (package, name), LinearProbe(package, name)

    def log_odds(self, texts: Sequence[str], vectors: Floats, model: str | None) -> Floats:
        """The log odds of n texts, shape (n,), given their vectors as for ``LinearProbe``."""
        odds, weights = self.vector.log_odds(vectors, model), _weights(*self._file)[1]
        if model in DEFAULT_MODELS:
            odds = odds + np.array([sum(weights.get(p, 0.0) for p in phrases(text)) for text in texts], np.float32)
        return odds


def phrases(text: str) -> frozenset[str]:
    """The words and the pairs of words of the first 200 characters of a text, in lower case."""
    words = bare_words(text[:READ])
    return frozenset((*words, *map(" ".join, pairwise(words))))
