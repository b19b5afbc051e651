"""Logistic regressions on a text and its vector, whose weights are in a file of the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import pairwise

import numpy as np

from mnemic.text.english import bare_words
from mnemic.vectors import DEFAULT_MODELS, Floats, LinearProbe

READ = 200
"""Characters of a text whose phrases are read."""


class TextProbe:
    """A logistic regression on the vector of a text by the default embedder, and on its phrases.

    Args:
        package: the package of the file.
        name: the file, with the weights of the ``vector``, packed, and of the ``phrases``.
    """

    def __init__(self, package: str, name: str) -> None:
        self._package, self._name = package, name
        self._weights: tuple[LinearProbe, Mapping[str, float]] | None = None

    @property
    def weights(self) -> tuple[LinearProbe, Mapping[str, float]]:
        """The weights of the vector with the intercept, and those of the phrases."""
        if self._weights is None:
            weights = json.loads(files(self._package).joinpath(self._name).read_text(encoding="utf-8"))
            self._weights = LinearProbe(weights["vector"]), weights["phrases"]
        return self._weights

    def log_odds(self, texts: Sequence[str], vectors: Floats, model: str | None) -> Floats:
        """The log odds of each text.

        Args:
            texts: n texts.
            vectors: their vectors, shape (n, d).
            model: id of their embedder; all are 0 with one that the weights were not fitted on.

        Returns:
            Shape (n,).
        """
        vector, weights = self.weights
        odds = vector.log_odds(vectors, model)
        if model in DEFAULT_MODELS:
            odds = odds + np.array([sum(weights.get(p, 0.0) for p in phrases(text)) for text in texts], np.float32)
        return odds


def phrases(text: str) -> frozenset[str]:
    """The words and the pairs of words of the first 200 characters of a text, in lower case."""
    words = bare_words(text[:READ])
    return frozenset((*words, *map(" ".join, pairwise(words))))
